//! `aerodrome check`: is the trace conflict serializable?

use std::io;
use std::ops::ControlFlow;

use lexopt::{Arg, Parser};

use super::feed::{NotAtomic, feed_runs};
use super::progress::Progress;
use super::{Failure, Verdict, files, format, open, print, semantics};
use crate::check::{Checker, EngineKind};
use crate::json::{ToJson, object};
use crate::report::source::Workspace;
use crate::report::text::{self, Style};
use crate::report::window::Window;
use crate::report::{Extras, Report, Split};
use crate::trace::{Format, Semantics};

const HELP: &str = "\
Says whether a serial order of the transactions explains the trace, and shows the cycle where there is none.

Usage: aerodrome check [OPTIONS] FILE

Options:
      --engine exact|aerodrome|aerodrome-basic|velodrome
                                exact (the default) reports every cycle at the event that closes it
      --semantics rust|paper    how locks, updates, waiting and forks are read; what the trace says by default,
                                which for .std, .csv and .rr is paper
      --not-atomic FILE         blocks that are not transactions: a name a line, as in begin(..)
      --all                     go on after a violation; the same one again is counted, not shown
      --format FORMAT           std, csv, rr or aero, where neither the content of FILE nor its name tells it
      --json                    one JSON object
  -h, --help                    this page

Exit code: 0 serializable, 1 a violation, 2 the input or the usage is wrong.
";

/// How a trace is checked.
#[derive(Default)]
pub(super) struct Options {
    engine: EngineKind,
    semantics: Option<Semantics>,
    not_atomic: Option<NotAtomic>,
    format: Option<Format>,
    all: bool,
    /// What is kept of the trace for the reports, and how many events of it go into the first of them.
    pub(super) window: Option<(Window, usize)>,
}

/// What the check of a trace found.
pub(super) struct Checked {
    /// How many events were read.
    pub(super) events: u64,
    /// The violations.
    pub(super) reports: Vec<Report>,
    /// The blocks that were split by waits.
    splits: Vec<Split>,
}

struct Answer<'a> {
    verdict: &'static str,
    events: u64,
    violations: &'a [Report],
}

impl ToJson for Answer<'_> {
    fn write(&self, out: &mut String) {
        object(
            out,
            &[
                ("verdict", &self.verdict),
                ("events", &self.events),
                ("violations", &self.violations),
            ],
        );
    }
}

impl Options {
    /// The defaults; `all`: go on after the first violation.
    pub(super) fn new(all: bool) -> Self {
        Self {
            all,
            ..Self::default()
        }
    }

    /// Takes an option of the check, with its value; whether it was one.
    pub(super) fn take(&mut self, name: &str, parser: &mut Parser) -> Result<bool, Failure> {
        match name {
            "engine" => {
                let name = parser.value()?;
                self.engine = name
                    .to_string_lossy()
                    .parse()
                    .map_err(|error| Failure::Usage(format!("--engine: {error}")))?;
            }
            "semantics" => {
                self.semantics = Some(semantics(&parser.value()?)?);
            }
            "not-atomic" => {
                self.not_atomic = Some(NotAtomic::read(&parser.value()?.to_string_lossy())?);
            }
            "format" => self.format = Some(format(&parser.value()?)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the input is said to be a trace.
    pub(super) fn has_format(&self) -> bool {
        self.format.is_some()
    }

    /// Checks a trace.
    pub(super) fn check(mut self, file: &str) -> Result<Checked, Failure> {
        let mut source = open(file, self.format)?;
        let semantics = self.semantics.unwrap_or(source.semantics());
        let mut checker = Checker::new(self.engine, semantics);
        let mut reports: Vec<Report> = Vec::new();
        let mut window = self.window.take();
        let events = feed_runs(
            source.as_mut(),
            self.not_atomic.as_mut(),
            Progress::new(file),
            |run, names| {
                let mut taken = 0;
                while taken < run.count {
                    let (events, position) = (&run.events[taken..], run.position + taken as u64);
                    let left = match &mut window {
                        None => run.count - taken,
                        Some((window, _)) => {
                            window.push(events[0], position);
                            1
                        }
                    };
                    let (count, violation) = checker.run(events, left, position, names);
                    taken += count;
                    if let Some(violation) = violation {
                        let extras = extras(&window, reports.len());
                        reports.push(Report::new(&violation, names, &extras));
                        if !self.all {
                            return ControlFlow::Break(taken);
                        }
                    }
                }
                ControlFlow::Continue(())
            },
        )?;
        while self.all || reports.is_empty() {
            let Some(violation) = checker.finish(source.names()) else {
                break;
            };
            let extras = extras(&window, reports.len());
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
        let splits = Split::all(&checker, source.names());
        Ok(Checked {
            events,
            reports,
            splits,
        })
    }
}

/// The first report has the most events of the window, so that many of them stay readable as a file.
fn extras(window: &Option<(Window, usize)>, reports: usize) -> Extras<'_> {
    const AT_LEAST: usize = 1_000;
    Extras {
        window: window.as_ref().map(|(window, _)| window),
        events: window
            .as_ref()
            .map_or(0, |(_, events)| (events / (reports + 1)).max(AT_LEAST)),
        ..Extras::default()
    }
}

pub(super) fn run(mut parser: Parser) -> Result<Verdict, Failure> {
    let mut options = Options::new(false);
    let (mut given, mut json) = (Vec::new(), false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => given.push(file),
            Arg::Long("all") => options.all = true,
            Arg::Long("json") => json = true,
            Arg::Long("help") | Arg::Short('h') => return print(HELP),
            Arg::Long(name) => {
                let name = name.to_owned();
                if !options.take(&name, &mut parser)? {
                    return Err(Arg::Long(&name).unexpected().into());
                }
            }
            _ => return Err(arg.unexpected().into()),
        }
    }
    let [file] = files(given, ["FILE"])?;
    let Checked {
        events,
        reports,
        splits,
    } = options.check(&file)?;
    let (verdict, word) = match reports.is_empty() {
        true => (Verdict::Clean, "serializable"),
        false => (Verdict::Violation, "violation"),
    };
    print(&if json {
        super::json(&Answer {
            verdict: word,
            events,
            violations: &reports,
        })
    } else {
        tell(events, &reports, &splits)
    })?;
    Ok(verdict)
}

/// The answer for people.
fn tell(events: u64, reports: &[Report], splits: &[Split]) -> String {
    let style = Style::detect(&io::stdout());
    let mut text: String = reports
        .iter()
        .map(|report| text::render(report, &style) + "\n")
        .collect();
    for split in splits {
        text += &format!("note: {split}\n");
    }
    text += &match reports.len() {
        0 => format!("serializable: {events} events\n"),
        1 => format!("violation: {events} events read\n"),
        count => format!("{count} violations: {events} events read\n"),
    };
    text
}
