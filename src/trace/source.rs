//! Where events come from.

use std::fs::File;
use std::io::{self, Read};
use std::str::FromStr;

use super::aero::{self, AeroReader};
use super::rapid::{CsvReader, RoadRunnerReader, StdReader, is_printed};
use super::{Error, Event, Malformed, Place, Semantics, Tables, WellFormed};

/// A trace that is read from its beginning to its end, in bounded memory.
pub trait Source {
    /// Clears the batch and fills it with the next events; false when there are none.
    ///
    /// A batch never spans the redefinition of a number, so that [`names`](Source::names) fits all
    /// its events until the next call. After an error there is nothing more to read.
    fn fill(&mut self, batch: &mut Vec<Event>) -> Result<bool, Error>;

    /// The names behind the numbers of the last batch.
    fn names(&self) -> &Tables;

    /// How the trace asks to be read.
    fn semantics(&self) -> Semantics;

    /// The file's name as it was given.
    fn file(&self) -> &str;

    /// Where the event with this index in the last batch stands.
    fn place(&self, index: usize) -> Place;

    /// How many bytes have been taken in, to show progress.
    fn consumed(&self) -> u64;

    /// Whether a lock may be given back by another strand than the one that took it.
    fn guards_move(&self) -> bool {
        false
    }

    /// Whether an object may get its name after its first event.
    fn names_late(&self) -> bool {
        false
    }

    /// The rules that the trace keeps.
    fn rules(&self) -> WellFormed {
        if self.guards_move() {
            WellFormed::with_moving_guards()
        } else {
            WellFormed::new()
        }
    }

    /// The error for an event of the last batch that is not well formed.
    fn malformed(&self, index: usize, malformed: &Malformed) -> Error {
        let (expected, found) = malformed.explain(self.names());
        Error::mismatch(self.file(), self.place(index), expected, found)
    }
}

/// How a trace is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line an event, as the RAPID tool has them: `T0|r(V123)|345`.
    Std,
    /// A line an event and a column a thread.
    Csv,
    /// The log of RoadRunner's printing tool: `@  Rd(0,@05.value_I)  Final  Test.java:50:7`.
    RoadRunner,
    /// The binary format.
    Aero,
}

impl Format {
    /// The name that [`FromStr`] understands, which is a file's extension.
    pub fn name(self) -> &'static str {
        match self {
            Format::Std => "std",
            Format::Csv => "csv",
            Format::RoadRunner => "rr",
            Format::Aero => "aero",
        }
    }

    /// The format that a file's name asks for.
    pub fn of_name(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        extension.to_ascii_lowercase().parse().ok()
    }

    /// The format of a file that begins so. A text is taken for STD unless its first line can only
    /// be another's.
    fn of_content(beginning: &[u8]) -> Self {
        if beginning.starts_with(&aero::MAGIC) {
            return Format::Aero;
        }
        let mut lines = beginning.split(|&byte| byte == b'\n');
        let line = lines
            .find(|line| !line.trim_ascii().is_empty())
            .unwrap_or_default();
        if line.contains(&b'|') {
            Format::Std
        } else if is_printed(line) || line.starts_with(b"[main: ") {
            Format::RoadRunner
        } else if line.contains(&b',') {
            Format::Csv
        } else {
            Format::Std
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "std" => Ok(Format::Std),
            "csv" => Ok(Format::Csv),
            "rr" => Ok(Format::RoadRunner),
            "aero" => Ok(Format::Aero),
            _ => Err(format!("expected std, csv, rr or aero, found `{name}`")),
        }
    }
}

/// Opens a trace: a file, or standard input for `-`.
///
/// Where no format is given, the magic number of a binary trace decides, then the file's extension
/// (`.std`, `.csv`, `.rr`, `.aero`), then the first line.
pub fn open(path: &str, format: Option<Format>) -> Result<Box<dyn Source>, Error> {
    if path == "-" {
        return from_reader("standard input", io::stdin().lock(), format);
    }
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    from_reader(path, file, format)
}

/// A trace from anything that can be read. The name stands in errors, and its extension tells the
/// format where nothing else does.
pub fn from_reader<'a>(
    name: &str,
    mut input: impl Read + 'a,
    format: Option<Format>,
) -> Result<Box<dyn Source + 'a>, Error> {
    let mut beginning = Vec::new();
    if format.is_none() {
        input
            .by_ref()
            .take(4096)
            .read_to_end(&mut beginning)
            .map_err(|error| Error::io(name, error))?;
    }
    let format = format.unwrap_or_else(|| match Format::of_content(&beginning) {
        Format::Aero => Format::Aero,
        text => Format::of_name(name).unwrap_or(text),
    });
    let input = io::Cursor::new(beginning).chain(input);
    Ok(match format {
        Format::Std => Box::new(StdReader::new(name, input)),
        Format::Csv => Box::new(CsvReader::new(name, input)),
        Format::RoadRunner => Box::new(RoadRunnerReader::new(name, input)),
        Format::Aero => Box::new(AeroReader::new(name, input)?),
    })
}
