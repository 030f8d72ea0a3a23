//! Reports as JSON: one object a line, one line a report.
//!
//! # The schema, version 1
//!
//! | key | what |
//! |---|---|
//! | `schema` | 1. A reader refuses what it does not know; keys may be added without a new number |
//! | `tier` | `"observed"`, `"predicted"` or `"potential"` |
//! | `message` | the headline |
//! | `pattern` | `"read-write-write"` and its like (three of `read`, `write`, `update`), `"two-objects"`, `"lock-order"`, `"order"`, `"chain-3"` and up, `"unknown"` |
//! | `explanation` | what is wrong, in a sentence |
//! | `chain` | the cycle step by step; only where it has more than two parties |
//! | `help` | what to do, best first |
//! | `event` | the position of the event that closed the cycle, from 1 |
//! | `blame` | the transaction to blame, an index into `transactions` |
//! | `transactions` | in the cycle's order: `block` (`name`, `place`; absent outside any block), `strand`, `begin` (a position), `place`, `panicked` |
//! | `edges` | `edges[i]` leads from `transactions[i]` to the next, the last one to the first: `from` and `to` are numbers of accesses |
//! | `accesses` | in the order in which they happened: `number` (from 1), `position`, `transaction` (an index), `strand`, `op`, `object` (an index), `place`, `backtrace` (`function`, `place`) |
//! | `objects` | `kind`, `name`, `type`, `created` (a place) |
//! | `test` | the test or family |
//! | `repeats` | how often the same came up again |
//! | `excerpts` | source lines: `file`, `line` (of the first), `text` (a list) |
//! | `window` | the events around: tables `strands`, `blocks`, `objects`, `places`; `events`, each `[position, strand, op, target, place]` with indices into the tables; `gaps` (`at`, `events`, `open`: `[strand, block, begin]`) where events were left out or transactions are open already; `missing` (`from`, `to`, `events`, `bytes`) what the window had no room for |
//!
//! A place is `{"file": .., "line": .., "column": ..}`, counted from 1, or `{"label": ..}` where a trace has nothing
//! better. What is absent is not known.
//!
//! # Several processes
//!
//! A test runner may run each test in its own process, all appending to one file. [`append`] opens the file for appending,
//! takes an exclusive lock on it, and writes the line in one piece.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::Path;

use super::{Report, SCHEMA};
use crate::trace::Target;

/// The report as one line of JSON, with its newline.
pub fn line(report: &Report) -> String {
    let mut line =
        serde_json::to_string(report).expect("a report has only string keys and finite numbers");
    line.push('\n');
    line
}

/// Appends reports to a file, making it and the folders above it where needed. Safe against other processes that do
/// the same.
pub fn append<'a>(path: &Path, reports: impl IntoIterator<Item = &'a Report>) -> io::Result<()> {
    let lines: String = reports.into_iter().map(line).collect();
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    // A short write would let another process in between; on a file system without locks, appending in one piece has
    // to do.
    let locked = file.lock().is_ok();
    let written = file.write_all(lines.as_bytes()).and_then(|()| file.flush());
    if locked {
        file.unlock()?;
    }
    written
}

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
    let mut reports = Vec::new();
    for (i, line) in input.lines().enumerate() {
        let line = line.map_err(Error::Io)?;
        if line.trim().is_empty() {
            continue;
        }
        let report = parse(&line).map_err(|message| Error::Line {
            number: i + 1,
            message,
        })?;
        reports.push(report);
    }
    Ok(reports)
}

fn parse(line: &str) -> Result<Report, String> {
    #[derive(serde::Deserialize)]
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
    let within = |what: &str, index: usize, length: usize| {
        (index < length)
            .then_some(())
            .ok_or_else(|| format!("{what} {index} does not exist, there are {length}"))
    };
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
    let Some(window) = &report.window else {
        return Ok(());
    };
    for super::window::Row(_, strand, op, target, place) in &window.events {
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
        for super::window::Inside(strand, block, _) in &gap.open {
            within("window: strand", *strand, window.strands.len())?;
            within("window: block", *block, window.blocks.len())?;
        }
    }
    Ok(())
}
