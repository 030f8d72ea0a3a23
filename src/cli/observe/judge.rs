//! One connection: the trace of a process, judged while it arrives.

use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;

use crate::cli::check::{Check, Checked, Checking, Extent};
use crate::cli::feed::{NotAtomic, Run, feed_runs};
use crate::cli::predict::reports;
use crate::cli::progress::Progress;
use crate::cli::report::{Pages, window_bytes};
use crate::cli::{Failure, Terminal, say};
use crate::lattice::{self, Lattice, Limits, Property};
use crate::observe::{Process, Stream};
use crate::predict::{AnalysisKind, Feed, Forecast, Options};
use crate::report::Report;
use crate::trace::{AeroReader, Error, Source, Tables};

/// How processes are judged.
pub(super) struct Judge {
    check: Check,
    extent: Extent,
    not_atomic: Option<NotAtomic>,
    predict: bool,
    properties: Vec<Property>,
    /// Whether a violation is told as soon as it is found.
    tell: bool,
}

/// What a process did.
pub(super) struct Judged {
    /// The process, or the number of its connection.
    pub(super) name: String,
    /// Whether a process has connected, and not something that sends neither a greeting nor a trace.
    pub(super) is_process: bool,
    /// Its violations. It is cut off unless the process has sent its trace to the end.
    pub(super) checked: Checked,
    pub(super) forecast: Option<Forecast>,
    /// The predictions as reports.
    pub(super) predicted: Vec<Report>,
    /// For each property.
    pub(super) properties: Vec<Result<Decided, lattice::Error>>,
}

/// What became of a property.
pub(super) struct Decided {
    pub(super) holds: bool,
    pub(super) text: String,
    pub(super) json: String,
}

/// Larger than any frame that a process sends.
const BUFFER: usize = 1 << 17;

impl Judge {
    pub(super) fn new(
        check: Check,
        predict: bool,
        properties: &[String],
        pages: &Pages,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        let parse = |text: &String| text.parse::<Property>();
        let properties: Result<_, _> = properties.iter().map(parse).collect();
        let window = pages.wanted().then(window_bytes).transpose()?;
        Ok(Self {
            extent: Extent { all: true, window },
            not_atomic: check.reading.not_atomic()?,
            check,
            predict,
            properties: properties
                .map_err(|error| Failure::Usage(format!("--property: {error}")))?,
            tell: !terminal.quiet,
        })
    }

    /// Judges a connection to its end. Nothing if it has sent nothing.
    pub(super) fn judge(&self, stream: Stream, number: u64) -> Option<Judged> {
        let mut input = BufReader::with_capacity(BUFFER, stream);
        let mut name = unnamed(number);
        let mut is_process = false;
        let opened = input.fill_buf().map(|start| start.is_empty());
        if let Ok(true) = opened {
            return None;
        }
        let source = opened
            .and_then(|_| Process::read(&mut input))
            .map_err(|error| Error::io(&name, error))
            .and_then(|process| {
                if let Some(process) = process {
                    is_process = true;
                    name = process.to_string();
                }
                AeroReader::new(&name, input)
            });
        Some(match source {
            Ok(source) => self.judge_trace(source, name),
            Err(error) => Judged {
                is_process,
                ..Judged::unread(name, error)
            },
        })
    }

    fn judge_trace(&self, mut source: AeroReader<BufReader<Stream>>, name: String) -> Judged {
        let mut under_way = self.begin(&source);
        let progress = Progress::new(&name, false);
        let mut not_atomic = self.not_atomic.clone();
        let read = feed_runs(&mut source, not_atomic.as_mut(), progress, |run, names| {
            let before = under_way.checking.found();
            under_way.take(&run, names);
            if self.tell && under_way.checking.found() > before {
                say(&format!("{name}: a violation"));
            }
            ControlFlow::Continue(())
        });
        under_way.finish(name, source.names(), read.err())
    }

    fn begin(&self, source: &dyn Source) -> UnderWay {
        let semantics = self.check.reading.semantics.unwrap_or(source.semantics());
        let feed = || Feed::new(semantics, &AnalysisKind::ALL, Options::brief());
        let lattice = |property: &Property| Ok(Lattice::new(property.clone(), Limits::default()));
        UnderWay {
            checking: self.check.begin(source, self.extent),
            feed: self.predict.then(feed),
            lattices: self.properties.iter().map(lattice).collect(),
        }
    }
}

/// Everything that is asked of a trace.
struct UnderWay {
    checking: Checking,
    feed: Option<Feed>,
    /// An error is the verdict already.
    lattices: Vec<Result<Lattice, lattice::Error>>,
}

impl UnderWay {
    fn take(&mut self, run: &Run<'_>, names: &Tables) {
        // It goes on after violations.
        let _ = self.checking.take(run, names);
        if self.feed.is_none() && self.lattices.is_empty() {
            return;
        }
        for (event, position) in run.events[..run.count].iter().zip(run.position..) {
            if let Some(feed) = &mut self.feed {
                feed.step(*event, position, names);
            }
            for decided in &mut self.lattices {
                if let Ok(lattice) = decided {
                    if let Err(error) = lattice.step(event, position, names) {
                        *decided = Err(error);
                    }
                }
            }
        }
    }

    /// There are no more events, because of that error if there is one.
    fn finish(self, name: String, names: &Tables, cut_off: Option<Error>) -> Judged {
        let mut checked = self.checking.finish(names, cut_off);
        let (mut forecast, mut predicted) = (None, Vec::new());
        if let Some(feed) = self.feed {
            let predictions = feed.predictions(names);
            forecast = Some(Forecast::new(&predictions, names));
            predicted = reports(&predictions, names);
        }
        for report in checked.reports.iter_mut().chain(&mut predicted) {
            report.test = Some(name.clone());
        }
        let decide = |lattice: Result<Lattice, _>| {
            let outcome = lattice.and_then(Lattice::finish)?;
            Ok(Decided {
                holds: outcome.holds(),
                text: outcome.text(names),
                json: outcome.json(names),
            })
        };
        Judged {
            name,
            is_process: true,
            checked,
            forecast,
            predicted,
            properties: self.lattices.into_iter().map(decide).collect(),
        }
    }
}

/// What a connection is called whose process is not known.
fn unnamed(number: u64) -> String {
    format!("connection {number}")
}

impl Judged {
    /// A connection that could not be judged for this reason.
    pub(super) fn failed(
        number: u64,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let name = unnamed(number);
        let error = Error::io(&name, io::Error::other(reason));
        Self::unread(name, error)
    }

    /// A connection without a trace.
    fn unread(name: String, error: Error) -> Self {
        Self {
            name,
            is_process: true,
            checked: Checked {
                events: 0,
                reports: Vec::new(),
                left_out: 0,
                splits: Vec::new(),
                cut_off: Some(error),
            },
            forecast: None,
            predicted: Vec::new(),
            properties: Vec::new(),
        }
    }
}
