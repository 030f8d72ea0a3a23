//! What can be wrong with a trace, and where.

use std::fmt;
use std::io;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole: it cannot be opened, or has ended.
    File,
    /// A line of a text, counted from 1.
    Line(u64),
    /// A byte of a binary file, counted from 0.
    Offset(u64),
}

/// Why a trace cannot be read or is no trace.
#[derive(Debug)]
pub enum Fault {
    /// The operating system reported an error.
    Io(io::Error),
    /// The text does not parse, the binary file is damaged, or the trace is not well formed.
    Mismatch {
        /// What may stand here.
        expected: String,
        /// What stands here.
        found: String,
    },
    /// A binary file ends before its end marker: the process that wrote it died, or the file was
    /// cut. Everything before the place is good and has been read.
    Truncated {
        /// What may stand here.
        expected: String,
        /// What stands here.
        found: String,
    },
}

/// An error with its file and place.
///
/// ```
/// use aerodrome::trace::{Format, StdReader, Source};
///
/// let mut source = StdReader::new("a.std", &b"T0|r(x)|1\nT0|fly(x)|2\n"[..]);
/// let error = source.fill(&mut Vec::new()).unwrap_err();
/// assert!(error.to_string().starts_with("a.std:2: expected an operation ("));
/// assert!(error.to_string().ends_with("found `fly(x)`"));
/// ```
#[derive(Debug)]
pub struct Error {
    /// The file's name as it was given.
    pub file: String,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub fault: Fault,
}

impl Error {
    /// Something else was found than may stand at the place.
    pub fn mismatch(
        file: &str,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let (expected, found) = (expected.into(), found.into());
        Self::new(file, place, Fault::Mismatch { expected, found })
    }

    /// The file ends too early.
    pub fn truncated(
        file: &str,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let (expected, found) = (expected.into(), found.into());
        Self::new(file, place, Fault::Truncated { expected, found })
    }

    /// The system refused.
    pub fn io(file: &str, error: io::Error) -> Self {
        Self::new(file, Place::File, Fault::Io(error))
    }

    fn new(file: &str, place: Place, fault: Fault) -> Self {
        let file = file.to_owned();
        Self { file, place, fault }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::File => write!(f, "{}: ", self.file)?,
            Place::Line(line) => write!(f, "{}:{line}: ", self.file)?,
            Place::Offset(offset) => write!(f, "{}: byte {offset}: ", self.file)?,
        }
        match &self.fault {
            Fault::Io(error) => write!(f, "{error}"),
            Fault::Mismatch { expected, found } => write!(f, "expected {expected}, found {found}"),
            Fault::Truncated { expected, found } => {
                write!(f, "the file is cut off: expected {expected}, found {found}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Io(error) => Some(error),
            Fault::Mismatch { .. } | Fault::Truncated { .. } => None,
        }
    }
}
