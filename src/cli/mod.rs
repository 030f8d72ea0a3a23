//! The `aerodrome` command: one file a subcommand, and what they share.
//!
//! Exit codes: 0 where all is well, 1 where something was found, 2 where the input or the usage is
//! wrong.

mod check;
mod convert;
mod feed;
mod late_names;
mod lattice;
mod manual;
mod observe;
mod predict;
mod progress;
mod report;
mod stats;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand};

use crate::json::{self, ToJson};
use crate::report::text::Style;
use crate::trace::shown::clean_lines;
use crate::trace::{self, Error, Format, Semantics, Source};

/// Finds atomicity bugs in traces of concurrent programs.
///
/// FILE is a trace (.std, .csv, .rr, or .aero, which AERODROME_TRACE makes a program write), `-`
/// standard input; `report` also takes the file that AERODROME_REPORT names.
#[derive(Parser)]
#[command(
    name = "aerodrome",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "\
Exit code: 0 all is well, 1 a violation was found, 2 the input or the usage is wrong.

Examples:
  aerodrome check run.aero                is the trace serializable?
  aerodrome report --html page.html run.aero
  aerodrome completions bash > /etc/bash_completion.d/aerodrome")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    terminal: Terminal,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Arguments),
    Predict(predict::Arguments),
    Lattice(lattice::Arguments),
    Observe(observe::Arguments),
    Stats(stats::Arguments),
    Convert(convert::Arguments),
    Report(report::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

/// What every command says on the terminal.
#[derive(Args)]
struct Terminal {
    /// When to use colours; by default on a terminal, unless NO_COLOR or CI is set
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    #[arg(hide_default_value = true)]
    color: ColorChoice,
    /// No verdict in words, which the exit code gives as well, and no progress
    #[arg(short, long, global = true)]
    quiet: bool,
}

impl Terminal {
    /// How reports look on standard output.
    fn style(&self) -> Style {
        let detected = Style::detect(&io::stdout());
        Style {
            colour: match self.color {
                ColorChoice::Auto => detected.colour,
                ColorChoice::Always => true,
                ColorChoice::Never => false,
            },
            ..detected
        }
    }

    /// Prints a verdict in words, unless nobody wants to read it.
    fn tell(&self, text: &str) -> Result<(), Failure> {
        if self.quiet {
            Ok(())
        } else {
            print(text).map(drop)
        }
    }

    /// Shows how much of the input has been read.
    fn progress(&self, input: &str) -> progress::Progress {
        progress::Progress::new(input, !self.quiet && io::stderr().is_terminal())
    }
}

/// What a subcommand found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Clean,
    Violation,
    /// Something else that only the exit code is left to say.
    Code(u8),
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

/// Runs the command that the process was called with.
pub fn main() -> ExitCode {
    let Arguments { command, terminal } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help and the version are no error; whatever it is, a closed pipe changes no exit code.
        Err(answer) => {
            let _ = answer.print();
            return ExitCode::from(if answer.use_stderr() { 2 } else { 0 });
        }
    };
    match run(command, &terminal) {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Violation) => ExitCode::from(1),
        Ok(Verdict::Code(code)) => ExitCode::from(code),
        // The reader has closed the pipe.
        Err(Failure::Output(_, error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            complain(&failure);
            ExitCode::from(2)
        }
    }
}

fn run(command: Command, terminal: &Terminal) -> Result<Verdict, Failure> {
    match command {
        Command::Check(arguments) => check::run(arguments, terminal),
        Command::Predict(arguments) => predict::run(arguments, terminal),
        Command::Lattice(arguments) => lattice::run(arguments, terminal),
        Command::Observe(arguments) => observe::run(arguments, terminal),
        Command::Stats(arguments) => stats::run(&arguments, terminal),
        Command::Convert(arguments) => convert::run(&arguments, terminal),
        Command::Report(arguments) => report::run(arguments, terminal),
        Command::Completions(arguments) => manual::completions(&arguments),
        Command::Man(arguments) => manual::page(&arguments),
    }
}

fn complain(what: &dyn fmt::Display) {
    say(&format!("error: {what}"));
}

/// Says something on standard error. It may have names of files and programs in it.
fn say(text: &str) {
    // If standard error cannot be written to, nothing else can be done.
    let _ = writeln!(io::stderr(), "{}", clean_lines(text));
}

/// Writes to standard output. A reader that has seen enough closes the pipe, which changes no
/// verdict.
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

/// What a trace is read as.
#[derive(Args, Clone, Default)]
struct Input {
    /// Where neither the content of the file nor its name tells it
    #[arg(long, value_name = "FORMAT")]
    #[arg(value_parser = one_of::<Format>(["std", "csv", "rr", "aero"]))]
    format: Option<Format>,
}

impl Input {
    fn open(&self, path: &str) -> Result<Box<dyn Source>, Failure> {
        Ok(trace::open_ahead(path, self.format)?)
    }
}

/// What in a trace counts, and how.
#[derive(Args, Clone, Default)]
struct Reading {
    /// How locks, updates, waiting and forks are read; what the trace says by default, which for
    /// .std, .csv and .rr is paper
    #[arg(long, value_name = "NAME", value_parser = semantics())]
    semantics: Option<Semantics>,
    /// Blocks that are not transactions: a name a line, as in begin(..)
    #[arg(long, value_name = "FILE")]
    not_atomic: Option<String>,
}

impl Reading {
    fn not_atomic(&self) -> Result<Option<feed::NotAtomic>, Failure> {
        self.not_atomic
            .as_deref()
            .map(feed::NotAtomic::read)
            .transpose()
    }
}

/// A value that has one of these names.
fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: fmt::Display> + Clone + Send + Sync + 'static,
{
    let parse = |name: String| name.parse::<T>().map_err(|error| error.to_string());
    PossibleValuesParser::new(names).try_map(parse)
}

fn semantics() -> impl TypedValueParser<Value = Semantics> {
    PossibleValuesParser::new(["rust", "paper"]).map(|name| match name.as_str() {
        "rust" => Semantics::Rust,
        _ => Semantics::Paper,
    })
}
