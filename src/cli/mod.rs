//! The `aerodrome` command: one file a subcommand, and what they share.
//!
//! Exit codes: 0 where all is well, 1 where something was found, 2 where the input or the usage is wrong.

mod check;
mod convert;
mod feed;
mod late_names;
mod lattice;
mod predict;
mod progress;
mod report;
mod stats;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};

use crate::json::{self, ToJson};
use crate::trace::{self, Error, Format, Semantics, Source};

const HELP: &str = "\
aerodrome: finds atomicity bugs in traces of concurrent programs

Usage: aerodrome <COMMAND> [OPTIONS] FILE

Commands:
  check    say whether a serial order of the transactions explains the trace
  predict  say what other schedules of the same run would show
  lattice  check a property on every run that is consistent with the trace
  stats    count what is in the trace
  convert  write the trace in another format
  report   show reports as text, as a page, or as SARIF

`aerodrome COMMAND --help` says more. FILE is a trace (.std, .csv, .rr, or .aero, which AERODROME_TRACE makes a program write), `-` standard
input; `report` also takes the file that AERODROME_REPORT names.
Exit code: 0 all is well, 1 a violation was found, 2 the input or the usage is wrong.
";

/// What a subcommand found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Clean,
    Violation,
}

/// Why a subcommand gave up.
#[derive(Debug)]
enum Failure {
    Usage(String),
    Trace(Error),
    /// The property cannot be decided on this trace.
    Property(String, Box<crate::lattice::Error>),
    Output(String, io::Error),
    Report(String, crate::report::json::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) => {
                write!(f, "{message}\n`aerodrome --help` says how it is used")
            }
            Failure::Trace(error) => write!(f, "{error}"),
            Failure::Property(file, error) => write!(f, "{file}: {error}"),
            Failure::Output(file, error) => write!(f, "{file}: {error}"),
            Failure::Report(file, error) => write!(f, "{file}: {error}"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Trace(error)
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Failure::Usage(error.to_string())
    }
}

/// Runs the command that the process was called with.
pub fn main() -> ExitCode {
    match run(Parser::from_env()) {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Violation) => ExitCode::from(1),
        // Whoever reads has seen enough.
        Err(Failure::Output(_, error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // There is nobody to tell that nobody can be told.
            let _ = writeln!(io::stderr(), "error: {failure}");
            ExitCode::from(2)
        }
    }
}

fn run(mut parser: Parser) -> Result<Verdict, Failure> {
    match parser.next()? {
        Some(Arg::Value(command)) => match command.to_str() {
            Some("check") => check::run(parser),
            Some("predict") => predict::run(parser),
            Some("lattice") => lattice::run(parser),
            Some("stats") => stats::run(parser),
            Some("convert") => convert::run(parser),
            Some("report") => report::run(parser),
            Some("help") => print(HELP),
            _ => Err(Failure::Usage(format!(
                "expected a command (check, predict, lattice, stats, convert or report), found `{}`",
                command.display()
            ))),
        },
        Some(Arg::Long("help") | Arg::Short('h')) => print(HELP),
        Some(Arg::Long("version") | Arg::Short('V')) => {
            print(concat!("aerodrome ", env!("CARGO_PKG_VERSION"), "\n"))
        }
        Some(arg) => Err(arg.unexpected().into()),
        None => Err(Failure::Usage(
            "expected a command: check, predict, lattice, stats, convert or report".to_owned(),
        )),
    }
}

/// Writes to standard output. A reader that has seen enough closes the pipe, which changes no verdict.
fn print(text: &str) -> Result<Verdict, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Output("standard output".to_owned(), error))
        }
        _ => Ok(Verdict::Clean),
    }
}

/// A value as JSON, with a line's end.
fn json(value: &impl ToJson) -> String {
    json::to_string(value) + "\n"
}

/// The positional arguments of a subcommand, by their names.
fn files<const N: usize>(given: Vec<OsString>, names: [&str; N]) -> Result<[String; N], Failure> {
    let count = given.len();
    let files: Vec<String> = given
        .into_iter()
        .map(|file| file.string())
        .collect::<Result<_, _>>()?;
    files.try_into().map_err(|_| {
        Failure::Usage(format!(
            "expected {}, found {count} files",
            names.join(" and ")
        ))
    })
}

fn format(value: &OsString) -> Result<Format, Failure> {
    value
        .to_string_lossy()
        .parse()
        .map_err(|message| Failure::Usage(format!("--format: {message}")))
}

fn semantics(value: &OsString) -> Result<Semantics, Failure> {
    match value.to_str() {
        Some("rust") => Ok(Semantics::Rust),
        Some("paper") => Ok(Semantics::Paper),
        _ => Err(Failure::Usage(format!(
            "--semantics: expected rust or paper, found `{}`",
            value.display()
        ))),
    }
}

fn open(path: &str, format: Option<Format>) -> Result<Box<dyn Source>, Failure> {
    Ok(trace::open(path, format)?)
}
