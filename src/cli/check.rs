//! `aerodrome check`: is the trace conflict serializable?

use std::ops::ControlFlow;

use clap::Args;

use super::feed::feed_runs;
use super::report::{Pages, window_bytes};
use super::{Failure, Reading, Terminal, Verdict, complain, one_of, print};
use crate::check::{Checker, EngineKind};
use crate::json::{Text, ToJson, object};
use crate::report::source::Workspace;
use crate::report::text::{self, Style};
use crate::report::window::Window;
use crate::report::{Extras, Report, Split, groups};
use crate::trace::{Error, Fault};

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
    check: Check,
}

/// How a trace is checked.
#[derive(Args, Default)]
pub(super) struct Check {
    /// exact, the default, reports every cycle at the event that closes it
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = one_of::<EngineKind>(EngineKind::ALL.iter().map(|kind| kind.name())))]
    engine: Option<EngineKind>,
    #[command(flatten)]
    reading: Reading,
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
    events: u64,
    /// The violations.
    pub(super) reports: Vec<Report>,
    /// The blocks that were split by waits.
    splits: Vec<Split>,
    /// Where the file ends too early.
    pub(super) cut_off: Option<Error>,
}

impl ToJson for Checked {
    fn write(&self, out: &mut String) {
        let verdict = match self.reports.is_empty() {
            true => "serializable",
            false => "violation",
        };
        object(
            out,
            &[
                ("verdict", &verdict),
                ("events", &self.events),
                ("violations", &self.reports),
                ("cut_off", &self.cut_off.as_ref().map(Text)),
            ],
        );
    }
}

impl Check {
    /// Whether the input is said to be a trace.
    pub(super) fn has_format(&self) -> bool {
        self.reading.input.format.is_some()
    }

    /// Checks a trace.
    pub(super) fn run(
        self,
        file: &str,
        extent: Extent,
        terminal: &Terminal,
    ) -> Result<Checked, Failure> {
        let mut source = self.reading.input.open(file)?;
        let semantics = self.reading.semantics.unwrap_or(source.semantics());
        let mut checker = Checker::new(self.engine.unwrap_or_default(), semantics);
        let mut reports: Vec<Report> = Vec::new();
        let mut window = extent.window.map(Window::new);
        let mut events = 0;
        let read = feed_runs(
            source.as_mut(),
            self.reading.not_atomic()?.as_mut(),
            terminal.progress(file),
            |run, names| {
                let mut taken = 0;
                while taken < run.count {
                    let (rest, position) = (&run.events[taken..], run.position + taken as u64);
                    let left = match &mut window {
                        None => run.count - taken,
                        Some(window) => {
                            window.push(rest[0], position);
                            1
                        }
                    };
                    let (count, violation) = checker.run(rest, left, position, names);
                    taken += count;
                    if let Some(violation) = violation {
                        let extras = extras(window.as_ref(), reports.len());
                        reports.push(Report::new(&violation, names, &extras));
                        if !extent.all {
                            return ControlFlow::Break(taken);
                        }
                    }
                }
                events = run.position - 1 + run.taken as u64;
                ControlFlow::Continue(())
            },
        );
        let cut_off = match read {
            Ok(read) => {
                events = read;
                None
            }
            Err(error) if extent.all && matches!(error.fault, Fault::Truncated { .. }) => {
                Some(error)
            }
            Err(error) => return Err(error.into()),
        };
        while extent.all || reports.is_empty() {
            let Some(violation) = checker.finish(source.names()) else {
                break;
            };
            let extras = extras(window.as_ref(), reports.len());
            reports.push(Report::new(&violation, source.names(), &extras));
        }
        for (report, count) in reports.iter_mut().zip(checker.counts()) {
            report.repeats = count.saturating_sub(1);
        }
        let workspace = Workspace::find();
        let reports = reports
            .into_iter()
            .map(|report| report.with_sources(&workspace))
            .collect();
        Ok(Checked {
            events,
            reports,
            splits: Split::all(&checker, source.names()),
            cut_off,
        })
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
    text += &match (checked.reports.len(), &checked.cut_off) {
        (0, None) => format!("serializable: {events} events\n"),
        (0, Some(_)) => format!("serializable: {events} events, as far as the file goes\n"),
        (1, _) => format!("violation: {events} events read\n"),
        (count, _) => format!("{count} violations: {events} events read\n"),
    };
    text
}
