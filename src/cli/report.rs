//! `aerodrome report`: reports of a run, or of a trace, in the form that is wanted.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};

use clap::Args;

use super::check::{CheckFile, Extent};
use super::{Failure, Terminal, Verdict, complain, print, say};
use crate::report::source::{self, Workspace};
use crate::report::text;
use crate::report::window;
use crate::report::{Report, groups, html, json, sarif};
use crate::trace::Error;

/// Show reports as text, as a page, or as SARIF
///
/// Shows the reports of a run (the file that AERODROME_REPORT names), or of a trace, which is
/// checked first.
#[derive(Args)]
#[command(after_help = "\
How much of a trace is kept for the page: AERODROME_WINDOW, in bytes (64M).
A line that is no report, which a process leaves that is killed while it writes, is named.
Exit code: 0 the reports are written, whatever they say, 2 the input or the usage is wrong.

Examples:
  aerodrome report target/reports.json
  aerodrome report --html page.html --sarif out.sarif target/reports.json")]
pub(super) struct Arguments {
    /// The reports or the trace, or `-`
    file: String,
    /// As text on standard output; the default where nothing else is asked for
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    pages: Pages,
    #[command(flatten)]
    check: CheckFile,
}

/// Reports for others than the reader of the terminal.
#[derive(Args)]
pub(super) struct Pages {
    /// As a page that shows the interleaving, in one file; `-` is standard output
    #[arg(long, value_name = "OUT")]
    html: Option<String>,
    /// As SARIF 2.1.0, for code hosts; `-` is standard output
    #[arg(long, value_name = "OUT")]
    sarif: Option<String>,
}

impl Pages {
    pub(super) fn wanted(&self) -> bool {
        self.html.is_some() || self.sarif.is_some()
    }

    pub(super) fn write(&self, reports: &[Report]) -> Result<(), Failure> {
        let forms = [
            (&self.html, html::render as fn(&[Report]) -> String),
            (&self.sarif, sarif::render),
        ];
        for (out, render) in forms {
            match out.as_deref() {
                None => {}
                Some("-") => drop(print(&render(reports))?),
                Some(out) => fs::write(out, render(reports))
                    .map_err(|error| Failure::Output(out.to_owned(), error))?,
            }
        }
        Ok(())
    }
}

pub(super) fn run(arguments: Arguments, terminal: &Terminal) -> Result<Verdict, Failure> {
    let Arguments {
        file,
        text,
        pages,
        check,
    } = arguments;
    let (reports, wrong) = if !check.has_format() && is_json(&file)? {
        read(&file)?
    } else {
        let extent = Extent {
            all: true,
            window: Some(window_bytes()?),
        };
        let checked = check.run(&file, extent, terminal)?;
        if let Some(note) = checked.note() {
            say(&format!("note: {note}"));
        }
        let cut_off = checked.cut_off.map(Failure::from);
        (checked.reports, cut_off.into_iter().collect())
    };
    if text || !pages.wanted() {
        let style = terminal.style();
        let text: Vec<String> = groups(&reports)
            .iter()
            .map(|group| text::render_group(group, &style))
            .collect();
        print(&if text.is_empty() {
            "no violation\n".to_owned()
        } else {
            text.join("\n")
        })?;
    }
    pages.write(&reports)?;
    wrong.iter().for_each(|failure| complain(failure));
    Ok(if wrong.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Code(2)
    })
}

pub(super) fn window_bytes() -> Result<usize, Failure> {
    const NAME: &str = "AERODROME_WINDOW";
    match std::env::var_os(NAME).filter(|text: &OsString| !text.is_empty()) {
        None => Ok(window::DEFAULT_BYTES),
        Some(text) => window::parse_bytes(&text.to_string_lossy())
            .map_err(|error| Failure::Usage(format!("{NAME}: {error}"))),
    }
}

/// No trace starts with a brace. What is looked at of standard input is still there for whoever
/// reads it next.
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

/// The reports of a file, and what is wrong with lines that are none.
fn read(file: &str) -> Result<(Vec<Report>, Vec<Failure>), Failure> {
    let input: Box<dyn BufRead> = if file == "-" {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file).map_err(|error| Error::io(file, error))?;
        Box::new(BufReader::new(opened))
    };
    let (mut reports, mut wrong) = (Vec::new(), Vec::new());
    for report in json::reports(input) {
        match report {
            Ok(report) => reports.push(report),
            Err(json::Error::Io(error)) => return Err(Error::io(file, error).into()),
            Err(error @ json::Error::Line { .. }) => {
                wrong.push(Failure::Report(file.to_owned(), error));
            }
        }
    }
    Ok((source::attach_all(reports, &Workspace::find()), wrong))
}
