//! Reports read from JSON: what is not known is refused, and so is what does not fit together.

use std::borrow::Cow;
use std::io::{self, BufRead};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::super::SCHEMA;
use super::{Inside, Report, Row, Slice};
use crate::trace::{ObjectKind, Op, TABLE, Target};

/// Why reports could not be read.
#[derive(Debug)]
pub enum Error {
    /// The input could not be read.
    Io(io::Error),
    /// A line is not a report.
    Line {
        /// From 1.
        number: usize,
        /// What was expected, and what was found.
        message: String,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Line { number, message } => write!(f, "line {number}: {message}"),
        }
    }
}

impl std::error::Error for Error {}

/// Reads reports, one a line; empty lines are skipped.
///
/// ```
/// use aerodrome::report::json;
///
/// assert!(json::read(&b""[..]).unwrap().is_empty());
/// let error = json::read(&b"{\"schema\": 9}\n"[..]).unwrap_err();
/// assert_eq!(error.to_string(), "line 1: expected a report of schema 1, found schema 9");
/// ```
pub fn read(input: impl BufRead) -> Result<Vec<Report>, Error> {
    reports(input).collect()
}

/// The reports one by one, for whoever goes on after a line that is none: a process that was killed
/// leaves half of one.
///
/// ```
/// use aerodrome::report::json;
///
/// let lines = json::reports(&b"{\"schema\": 1, \"mess\n\n{\"schema\": 9}\n"[..]);
/// let broken: Vec<_> = lines.filter_map(Result::err).map(|error| error.to_string()).collect();
/// assert!(broken[0].starts_with("line 1: expected a report as a JSON object: EOF"));
/// assert_eq!(broken[1], "line 3: expected a report of schema 1, found schema 9");
/// ```
pub fn reports(input: impl BufRead) -> impl Iterator<Item = Result<Report, Error>> {
    let lines = (1..).zip(input.split(b'\n'));
    lines.filter_map(|(number, line)| match line {
        Ok(line) if line.trim_ascii().is_empty() => None,
        Ok(line) => Some(parse(&line).map_err(|message| Error::Line { number, message })),
        Err(error) => Some(Err(Error::Io(error))),
    })
}

fn parse(line: &[u8]) -> Result<Report, String> {
    // The end of half a line may be half a character.
    let line = &*String::from_utf8_lossy(line);
    #[derive(Deserialize)]
    struct Version {
        schema: Option<u64>,
    }
    let version: Version = serde_json::from_str(line)
        .map_err(|error| format!("expected a report as a JSON object: {error}"))?;
    match version.schema {
        Some(schema) if schema == u64::from(SCHEMA) => {}
        Some(schema) => {
            return Err(format!(
                "expected a report of schema {SCHEMA}, found schema {schema}"
            ));
        }
        None => {
            return Err(format!(
                "expected a report of schema {SCHEMA}, found an object without \"schema\""
            ));
        }
    }
    let report: Report = serde_json::from_str(line).map_err(|error| error.to_string())?;
    consistent(&report)?;
    Ok(report)
}

/// Indices point at something, so that nothing that renders a report has to doubt them.
fn consistent(report: &Report) -> Result<(), String> {
    if !report.transactions.is_empty() {
        within(
            "blame: transaction",
            report.blame,
            report.transactions.len(),
        )?;
    }
    if !report.edges.is_empty() && report.edges.len() != report.transactions.len() {
        return Err(format!(
            "{} edges for {} transactions",
            report.edges.len(),
            report.transactions.len()
        ));
    }
    for (i, access) in report.accesses.iter().enumerate() {
        if access.number != i + 1 {
            return Err(format!(
                "accesses: expected number {}, found {}",
                i + 1,
                access.number
            ));
        }
        within(
            "accesses: transaction",
            access.transaction,
            report.transactions.len(),
        )?;
        if let Some(object) = access.object {
            within("accesses: object", object, report.objects.len())?;
        }
    }
    for number in report.edges.iter().flat_map(|edge| [edge.from, edge.to]) {
        within(
            "edges: access",
            number.wrapping_sub(1),
            report.accesses.len(),
        )?;
    }
    report.window.as_ref().map_or(Ok(()), consistent_window)
}

fn within(what: &str, index: usize, length: usize) -> Result<(), String> {
    (index < length)
        .then_some(())
        .ok_or_else(|| format!("{what} {index} does not exist, there are {length}"))
}

/// The same of the window.
fn consistent_window(window: &Slice) -> Result<(), String> {
    for Row(_, strand, op, target, place) in &window.events {
        within("window: strand", *strand, window.strands.len())?;
        if let Some(target) = target {
            match op.row().target {
                Target::Block => within("window: block", *target, window.blocks.len())?,
                Target::Strand => within("window: strand", *target, window.strands.len())?,
                Target::Object(_) => within("window: object", *target, window.objects.len())?,
                Target::Value | Target::Nothing => {
                    return Err(format!(
                        "window: {} has no target, found {target}",
                        op.row().report
                    ));
                }
            }
        }
        if let Some(place) = place {
            within("window: place", *place, window.places.len())?;
        }
    }
    for gap in &window.gaps {
        within("window: gap before event", gap.at, window.events.len() + 1)?;
        for Inside(strand, block, _) in &gap.open {
            within("window: strand", *strand, window.strands.len())?;
            within("window: block", *block, window.blocks.len())?;
        }
    }
    Ok(())
}

pub(in crate::report) fn operation<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Op, D::Error> {
    let known = TABLE.iter().map(|row| (row.op, row.report));
    one_of("operation", known, deserializer)
}

pub(in crate::report) fn kind<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ObjectKind, D::Error> {
    let known = ObjectKind::ALL.iter().map(|kind| (*kind, kind.name()));
    one_of("kind of object", known, deserializer)
}

/// The one of this name; the error lists all names.
fn one_of<'de, T, D: Deserializer<'de>>(
    what: &str,
    known: impl Iterator<Item = (T, &'static str)> + Clone,
    deserializer: D,
) -> Result<T, D::Error> {
    let name = Cow::<str>::deserialize(deserializer)?;
    let mut found = known.clone().filter(|(_, known)| *known == name);
    found.next().map(|(value, _)| value).ok_or_else(|| {
        let known: Vec<&str> = known.map(|(_, name)| name).collect();
        D::Error::custom(format!(
            "unknown {what} \"{name}\", expected one of {}",
            known.join(", ")
        ))
    })
}
