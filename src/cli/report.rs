//! `aerodrome report`: reports of a run, or of a trace, in the form that is wanted.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};

use lexopt::{Arg, Parser, ValueExt};

use super::check::Options;
use super::{Failure, Verdict, files, print};
use crate::report::source::Workspace;
use crate::report::text::{self, Style};
use crate::report::window::{self, Window};
use crate::report::{Report, html, json, sarif};
use crate::trace::Error;

/// How many events of the window the page of a trace shows.
const EVENTS_ON_A_PAGE: usize = 100_000;

const HELP: &str = "\
Shows reports: of a run (the file that AERODROME_REPORT names), or of a trace, which is checked first.

Usage: aerodrome report [OPTIONS] FILE

Options:
      --text               as text on standard output (the default where nothing else is asked for)
      --html OUT           as a page that shows the interleaving, in one file
      --sarif OUT          as SARIF 2.1.0, for code hosts
      --engine, --semantics, --not-atomic, --format
                           how a trace is checked: see `aerodrome check --help`
  -h, --help               this page

OUT may be `-`, standard output. How much of a trace is kept for the page: AERODROME_WINDOW, in bytes (64M).
Exit code: 0 the reports are written, whatever they say, 2 the input or the usage is wrong.
";

pub(super) fn run(mut parser: Parser) -> Result<Verdict, Failure> {
    let mut options = Options::new(true);
    let (mut given, mut as_text) = (Vec::new(), false);
    let mut outputs: Vec<(String, Form)> = Vec::new();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => given.push(file),
            Arg::Long("text") => as_text = true,
            Arg::Long("html") => outputs.push((parser.value()?.string()?, html::render)),
            Arg::Long("sarif") => outputs.push((parser.value()?.string()?, sarif::render)),
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
    let reports = if !options.has_format() && is_json(&file)? {
        read(&file)?
    } else {
        options.window = Some((Window::new(window_bytes()?), EVENTS_ON_A_PAGE));
        options.check(&file)?.reports
    };
    if as_text || outputs.is_empty() {
        let style = Style::detect(&io::stdout());
        let text: Vec<String> = reports
            .iter()
            .map(|report| text::render(report, &style))
            .collect();
        print(&match text.is_empty() {
            true => "no violation\n".to_owned(),
            false => text.join("\n"),
        })?;
    }
    for (out, render) in outputs {
        let content = render(&reports);
        if out == "-" {
            print(&content)?;
        } else {
            fs::write(&out, content).map_err(|error| Failure::Output(out, error))?;
        }
    }
    Ok(Verdict::Clean)
}

type Form = fn(&[Report]) -> String;

fn window_bytes() -> Result<usize, Failure> {
    const NAME: &str = "AERODROME_WINDOW";
    match std::env::var_os(NAME).filter(|text: &OsString| !text.is_empty()) {
        None => Ok(window::DEFAULT_BYTES),
        Some(text) => window::parse_bytes(&text.to_string_lossy())
            .map_err(|error| Failure::Usage(format!("{NAME}: {error}"))),
    }
}

/// No trace starts with a brace. What is looked at of standard input is still there for whoever reads it next.
fn is_json(file: &str) -> Result<bool, Failure> {
    let mut stdin = io::stdin().lock();
    let mut opened;
    let input: &mut dyn BufRead = if file == "-" {
        &mut stdin
    } else {
        opened = BufReader::new(File::open(file).map_err(|error| Error::io(file, error))?);
        &mut opened
    };
    let start = input.fill_buf().map_err(|error| Error::io(file, error))?;
    let text = start.iter().find(|byte| !byte.is_ascii_whitespace());
    Ok(text == Some(&b'{') || (start.is_empty() && file.ends_with(".json")))
}

fn read(file: &str) -> Result<Vec<Report>, Failure> {
    let result = if file == "-" {
        json::read(io::stdin().lock())
    } else {
        let opened = File::open(file).map_err(|error| Error::io(file, error))?;
        json::read(BufReader::new(opened))
    };
    let workspace = Workspace::find();
    match result {
        Ok(reports) => Ok(reports
            .into_iter()
            .map(|report| report.with_sources(&workspace))
            .collect()),
        Err(json::Error::Io(error)) => Err(Error::io(file, error).into()),
        Err(error @ json::Error::Line { .. }) => Err(Failure::Report(file.to_owned(), error)),
    }
}
