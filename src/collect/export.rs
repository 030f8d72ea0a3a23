//! Where the merged events go as they are: into a trace file, and to an observer outside.
//!
//! What fails is given up; the complaint that comes back is for the user.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use super::config::Config;
use super::observer::{self, Observer};
use crate::observe::{Process, Stream};
use crate::trace::AeroWriter;

type Trace = AeroWriter<BufWriter<File>>;

/// The variable that says how many events a trace may have, their names included.
const BOUND: &str = "AERODROME_TRACE_EVENTS";

/// The trace file and the observer, as far as they are wanted.
#[derive(Default)]
pub(super) struct Export {
    trace: Option<Trace>,
    /// How much more the trace may have, where it has a bound.
    left: Option<u64>,
    /// Nothing while nothing was recorded, and after the observer was given up.
    observer: Option<Observer>,
    /// The observer's.
    address: String,
    /// The observer was given up.
    pub(super) has_lost_observer: bool,
}

impl Export {
    /// Begins the trace that the settings ask for.
    pub(super) fn open_trace(&mut self, config: &Config) -> Result<(), String> {
        let Some(directory) = &config.trace else {
            return Ok(());
        };
        let trace = create_trace(directory)
            .and_then(|file| AeroWriter::new(BufWriter::new(file), config.semantics));
        let refused = |error| {
            let directory = directory.display();
            format!("AERODROME_TRACE: no trace can be written into `{directory}`: {error}")
        };
        self.trace = Some(trace.map_err(refused)?);
        let bound = std::env::var(BOUND).ok();
        let wrong = |found| format!("{BOUND}: expected a number of events, found `{found}`");
        let parse = |text: String| text.parse().map_err(|_| wrong(text));
        self.left = bound.map(parse).transpose()?;
        Ok(())
    }

    /// Begins to send the events, if the settings ask for that.
    pub(super) fn connect(&mut self, config: &Config) -> Result<(), String> {
        let Some(address) = &config.observer else {
            return Ok(());
        };
        let refused = |error| {
            let reason = observer::explain(&error);
            format!(
                "AERODROME_OBSERVER: no observer can be reached at `{address}`: {reason}; \
                 this process judges by itself"
            )
        };
        let observer = Observer::connect(address, config.semantics).map_err(refused)?;
        self.observer = Some(observer);
        self.address = address.to_string();
        Ok(())
    }

    /// Whether a trace is written.
    pub(super) fn has_trace(&self) -> bool {
        self.trace.is_some()
    }

    #[inline]
    pub(super) fn write(
        &mut self,
        what: impl FnOnce(&mut Trace) -> io::Result<()>,
    ) -> Result<(), String> {
        let Some(trace) = &mut self.trace else {
            return Ok(());
        };
        match &mut self.left {
            Some(0) => return self.end_at_bound(),
            Some(left) => *left -= 1,
            None => {}
        }
        what(trace).map_err(|error| {
            self.trace = None;
            format!("the trace ends here, it could not be written: {error}")
        })
    }

    #[cold]
    fn end_at_bound(&mut self) -> Result<(), String> {
        self.finish_trace()?;
        Err(format!("the trace ends here, as {BOUND} says"))
    }

    #[inline]
    pub(super) fn send(
        &mut self,
        what: impl FnOnce(&mut AeroWriter<Stream>) -> io::Result<()>,
    ) -> Result<(), String> {
        let writer = self.observer.as_mut().map(|it| &mut it.writer);
        match writer.map(what) {
            Some(Err(error)) => Err(self.give_up_observer(&error)),
            _ => Ok(()),
        }
    }

    /// What comes now cannot be judged here, without what went before.
    #[cold]
    fn give_up_observer(&mut self, error: &io::Error) -> String {
        self.observer = None;
        self.has_lost_observer = true;
        let (address, reason) = (&self.address, observer::explain(error));
        format!("the observer at `{address}` is given up: {reason}; checking is off from here on")
    }

    /// There are no more events for the trace.
    pub(super) fn finish_trace(&mut self) -> Result<(), String> {
        let Some(trace) = self.trace.take() else {
            return Ok(());
        };
        match trace.finish() {
            Ok(_) => Ok(()),
            Err(error) => Err(format!(
                "the trace could not be written to its end: {error}"
            )),
        }
    }

    /// There are no more events for the observer.
    pub(super) fn finish_observer(&mut self) -> Result<(), String> {
        match self.observer.take().map(Observer::finish) {
            Some(Err(error)) => Err(self.give_up_observer(&error)),
            _ => Ok(()),
        }
    }
}

/// A new file, named after the program and the process. Processes of several containers, and a
/// program that another has replaced, may have the same number.
fn create_trace(directory: &Path) -> io::Result<File> {
    std::fs::create_dir_all(directory)?;
    let Process { id, program } = Process::this();
    let mut name = format!("{program}-{id}.aero");
    for number in 2.. {
        match File::create_new(directory.join(&name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                name = format!("{program}-{id}-{number}.aero");
            }
            created => return created,
        }
    }
    unreachable!("no folder has so many files")
}
