//! Where events come from.

use std::fs::File;
use std::io::{self, Read};

use super::aero::{self, AeroReader};
use super::by_name::names;
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

// The names are files' extensions.
names!(Format, 4: Std = "std", Csv = "csv", RoadRunner = "rr", Aero = "aero");

impl Format {
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

/// Opens a trace: a file, or standard input for `-`.
///
/// Where no format is given, the magic number of a binary trace decides, then the file's extension
/// (`.std`, `.csv`, `.rr`, `.aero`), then the first line.
pub fn open(path: &str, format: Option<Format>) -> Result<Box<dyn Source>, Error> {
    let (name, input) = input(path)?;
    from_reader(name, input, format)
}

/// As [`open`], and a text is read and parsed on a thread of its own, some batches ahead.
///
/// ```
/// use aerodrome::trace;
///
/// # let path = std::env::temp_dir().join(format!("{}.std", std::process::id()));
/// # let path = path.to_str().unwrap();
/// std::fs::write(path, "T0|begin|1\nT0|w(x)|2\nT0|end|3\n")?;
/// let mut source = trace::open_ahead(path, None)?;
/// let mut batch = Vec::new();
/// assert!(source.fill(&mut batch)?);
/// assert_eq!(batch.len(), 3);
/// assert!(!source.fill(&mut batch)?);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_ahead(path: &str, format: Option<Format>) -> Result<Box<dyn Source>, Error> {
    let (name, input) = input(path)?;
    let (format, input) = recognise(name, input, format)?;
    Ok(match format {
        Format::Std => Box::new(StdReader::new(name, input).ahead()?),
        Format::Csv => Box::new(CsvReader::new(name, input).ahead()?),
        Format::RoadRunner => Box::new(RoadRunnerReader::new(name, input).ahead()?),
        Format::Aero => Box::new(AeroReader::new(name, input)?),
    })
}

/// A trace from anything that can be read. The name stands in errors, and its extension tells the
/// format where nothing else does.
pub fn from_reader<'a>(
    name: &str,
    input: impl Read + 'a,
    format: Option<Format>,
) -> Result<Box<dyn Source + 'a>, Error> {
    let (format, input) = recognise(name, input, format)?;
    Ok(match format {
        Format::Std => Box::new(StdReader::new(name, input)),
        Format::Csv => Box::new(CsvReader::new(name, input)),
        Format::RoadRunner => Box::new(RoadRunnerReader::new(name, input)),
        Format::Aero => Box::new(AeroReader::new(name, input)?),
    })
}

/// The input that a path stands for, and its name in errors.
fn input(path: &str) -> Result<(&str, Box<dyn Read + Send>), Error> {
    if path == "-" {
        return Ok(("standard input", Box::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    Ok((path, Box::new(file)))
}

/// The format of the input, and all of the input.
fn recognise<R: Read>(
    name: &str,
    mut input: R,
    format: Option<Format>,
) -> Result<(Format, impl Read + use<R>), Error> {
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
    Ok((format, io::Cursor::new(beginning).chain(input)))
}
