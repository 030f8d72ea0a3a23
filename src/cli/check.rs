//! `aerodrome check`: is the trace conflict serializable?

use std::ops::ControlFlow;

use clap::Args;

use super::feed::{Run, feed_runs};
use super::report::{Pages, window_bytes};
use super::{Failure, Input, Reading, Terminal, Verdict, complain, one_of, print};
use crate::check::{Checker, EngineKind, Violation};
use crate::json::{Text, ToJson, object};
use crate::report::source::{self, Workspace};
use crate::report::text::{self, Style};
use crate::report::window::Window;
use crate::report::{Extras, Report, Split, groups};
use crate::trace::{Error, Fault, Source, Tables};

/// How many violations of a trace are reported: nobody reads more, and each takes a few KiB. The
/// others are counted.
const REPORTS: usize = 10_000;

/// How many events of the window the page of a trace shows.
const EVENTS_ON_A_PAGE: usize = 100_000;

/// Say whether a serial order of the transactions explains the trace
///
/// Says whether a serial order of the transactions explains the trace, and shows the cycle where
/// there is none.
#[derive(Args)]
#[command(after_help = "\
Exit code: 0 serializable, 1 a violation, 2 the input or the usage is wrong. With --all, an .aero
file that is cut off is judged up to there: 1 a violation, 2 none so far.

Examples:
  aerodrome check run.aero
  aerodrome check --all --json crashed.aero")]
pub(super) struct Arguments {
    /// The trace, or `-`
    file: String,
    /// Go on after a violation; the same one again is counted, not shown
    #[arg(long)]
    all: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pages: Pages,
    #[command(flatten)]
    check: CheckFile,
}

/// How a file is checked.
#[derive(Args, Default)]
pub(super) struct CheckFile {
    #[command(flatten)]
    check: Check,
    #[command(flatten)]
    input: Input,
}

/// How a trace is checked.
#[derive(Args, Default)]
pub(super) struct Check {
    /// exact, the default, reports every cycle at the event that closes it
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = one_of::<EngineKind>(EngineKind::ALL.iter().map(|kind| kind.name())))]
    engine: Option<EngineKind>,
    #[command(flatten)]
    pub(super) reading: Reading,
}

/// How much of a trace is checked, and kept.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Go on after a violation, and be content with what there is of a file that is cut off.
    pub(super) all: bool,
    /// The bytes of events that are kept for the reports.
    pub(super) window: Option<usize>,
}

/// What the check of a trace found.
pub(super) struct Checked {
    /// How many events were read.
    pub(super) events: u64,
    /// The violations, the first [`REPORTS`].
    pub(super) reports: Vec<Report>,
    /// How many other violations there are.
    pub(super) left_out: u64,
    /// The blocks that were split by waits.
    pub(super) splits: Vec<Split>,
    /// Where the file ends too early.
    pub(super) cut_off: Option<Error>,
}

impl Checked {
    /// How many violations there are.
    pub(super) fn violations(&self) -> u64 {
        self.reports.len() as u64 + self.left_out
    }

    /// That not all of these are reported.
    pub(super) fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            let left_out = self.left_out;
            format!("{left_out} more violations are counted and not shown")
        })
    }
}

impl ToJson for Checked {
    fn write(&self, out: &mut String) {
        let verdict = if self.reports.is_empty() {
            "serializable"
        } else {
            "violation"
        };
        object(
            out,
            &[
                ("verdict", &verdict),
                ("events", &self.events),
                ("violations", &self.reports),
                ("left_out", &(self.left_out > 0).then_some(self.left_out)),
                ("cut_off", &self.cut_off.as_ref().map(Text)),
            ],
        );
    }
}

impl CheckFile {
    /// Whether the input is said to be a trace.
    pub(super) fn has_format(&self) -> bool {
        self.input.format.is_some()
    }

    /// Checks a trace.
    pub(super) fn run(
        self,
        file: &str,
        extent: Extent,
        terminal: &Terminal,
    ) -> Result<Checked, Failure> {
        let mut source = self.input.open(file)?;
        let mut checking = self.check.begin(source.as_ref(), extent);
        let read = feed_runs(
            source.as_mut(),
            self.check.reading.not_atomic()?.as_mut(),
            terminal.progress(file),
            |run, names| checking.take(&run, names),
        );
        let cut_off = match read {
            Ok(_) => None,
            Err(error) if extent.all && matches!(error.fault, Fault::Truncated { .. }) => {
                Some(error)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(checking.finish(source.names(), cut_off))
    }
}

impl Check {
    /// Begins to check a trace.
    pub(super) fn begin(&self, source: &dyn Source, extent: Extent) -> Checking {
        let semantics = self.reading.semantics.unwrap_or(source.semantics());
        Checking {
            checker: Checker::new(self.engine.unwrap_or_default(), semantics),
            window: extent.window.map(Window::new),
            all: extent.all,
            reports: Vec::new(),
            left_out: 0,
            events: 0,
        }
    }
}

/// A check that is under way.
pub(super) struct Checking {
    checker: Checker,
    window: Option<Window>,
    /// Go on after a violation.
    all: bool,
    reports: Vec<Report>,
    left_out: u64,
    events: u64,
}

impl Checking {
    /// Takes the next events. Breaks after a violation, unless all are wanted.
    pub(super) fn take(&mut self, run: &Run<'_>, names: &Tables) -> ControlFlow<usize> {
        let mut taken = 0;
        while taken < run.count {
            let (rest, position) = (&run.events[taken..], run.position + taken as u64);
            let left = match &mut self.window {
                None => run.count - taken,
                Some(window) => {
                    window.push(rest[0], position);
                    1
                }
            };
            let (count, violation) = self.checker.run(rest, left, position, names);
            taken += count;
            if let Some(violation) = violation {
                self.report(&violation, names);
                if !self.all {
                    self.events = run.position - 1 + taken as u64;
                    return ControlFlow::Break(taken);
                }
            }
        }
        self.events = run.position - 1 + run.taken as u64;
        ControlFlow::Continue(())
    }

    fn report(&mut self, violation: &Violation, names: &Tables) {
        if self.reports.len() == REPORTS {
            self.left_out += 1;
            return;
        }
        let extras = Extras {
            restarted_in_vain: self.checker.restarted_in_vain(violation),
            ..extras(self.window.as_ref(), self.reports.len())
        };
        self.reports.push(Report::new(violation, names, &extras));
    }

    /// How many violations there are so far.
    pub(super) fn found(&self) -> u64 {
        self.reports.len() as u64 + self.left_out
    }

    /// There are no more events.
    pub(super) fn finish(mut self, names: &Tables, cut_off: Option<Error>) -> Checked {
        while self.all || self.reports.is_empty() {
            let Some(violation) = self.checker.finish(names) else {
                break;
            };
            self.report(&violation, names);
        }
        for (report, count) in self.reports.iter_mut().zip(self.checker.counts()) {
            report.repeats = count.saturating_sub(1);
        }
        Checked {
            events: self.events,
            reports: source::attach_all(self.reports, &Workspace::find()),
            left_out: self.left_out,
            splits: Split::all(&self.checker, names),
            cut_off,
        }
    }
}

/// The first report has the most events of the window, so that many of them stay readable as a
/// file.
fn extras(window: Option<&Window>, reports: usize) -> Extras<'_> {
    const AT_LEAST: usize = 1_000;
    Extras {
        window,
        events: match window {
            None => 0,
            Some(_) => (EVENTS_ON_A_PAGE / (reports + 1)).max(AT_LEAST),
        },
        ..Extras::default()
    }
}

pub(super) fn run(arguments: Arguments, terminal: &Terminal) -> Result<Verdict, Failure> {
    let pages = arguments.pages;
    let extent = Extent {
        all: arguments.all,
        window: pages.wanted().then(window_bytes).transpose()?,
    };
    let checked = arguments.check.run(&arguments.file, extent, terminal)?;
    if arguments.json {
        print(&super::json(&checked))?;
    } else if !pages.wanted() {
        terminal.tell(&text(&checked, &terminal.style()))?;
    }
    pages.write(&checked.reports)?;
    match (checked.reports.is_empty(), checked.cut_off) {
        (true, None) => Ok(Verdict::Clean),
        (true, Some(error)) => Err(error.into()),
        (false, cut_off) => {
            cut_off.iter().for_each(|error| complain(error));
            Ok(Verdict::Violation)
        }
    }
}

/// The answer for people.
fn text(checked: &Checked, style: &Style) -> String {
    let events = checked.events;
    let mut text: String = groups(&checked.reports)
        .iter()
        .map(|group| text::render_group(group, style) + "\n")
        .collect();
    for split in &checked.splits {
        text += &format!("note: {split}\n");
    }
    if let Some(note) = checked.note() {
        text += &format!("note: {note}\n");
    }
    text += &match (checked.violations(), &checked.cut_off) {
        (0, None) => format!("serializable: {events} events\n"),
        (0, Some(_)) => format!("serializable: {events} events, as far as the file goes\n"),
        (1, _) => format!("violation: {events} events read\n"),
        (count, _) => format!("{count} violations: {events} events read\n"),
    };
    text
}
