//! `aerodrome convert`: a trace in another format.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;

use super::feed::feed;
use super::late_names::LateNames;
use super::progress::Progress;
use super::{Failure, Input, Terminal, Verdict, one_of};
use crate::trace::{AeroWriter, Event, Format, Names, Semantics, Source, StdWriter};

/// Write a trace in another format
///
/// What got its name after its first use has it from the beginning, where IN is a file.
#[derive(Args)]
#[command(after_help = "\
Exit code: 0 OUT is written, 2 the input or the usage is wrong.

Examples:
  aerodrome convert run.aero run.std
  aerodrome convert run.aero - | less")]
pub(super) struct Arguments {
    /// The trace to read, or `-`
    #[arg(value_name = "IN")]
    input: String,
    /// The trace to write; its format is that of its extension, .std or .aero, that of `-` is STD
    #[arg(value_name = "OUT")]
    output: String,
    #[command(flatten)]
    from: Input,
    /// The format of OUT
    #[arg(long, value_name = "FORMAT", value_parser = one_of::<Format>(["std", "aero"]))]
    to: Option<Format>,
}

enum Writer<W: Write> {
    Std(StdWriter<W>),
    Aero(AeroWriter<W>),
}

impl<W: Write> Writer<W> {
    fn new(format: Format, out: W, semantics: Semantics) -> io::Result<Self> {
        Ok(match format {
            Format::Aero => Writer::Aero(AeroWriter::new(out, semantics)?),
            Format::Std | Format::Csv | Format::RoadRunner => Writer::Std(StdWriter::new(out)),
        })
    }

    fn event(&mut self, event: &Event, names: &dyn Names) -> io::Result<()> {
        match self {
            Writer::Std(writer) => writer.event(event, names),
            Writer::Aero(writer) => writer.event_with(event, names),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Writer::Std(writer) => writer.finish().map(drop),
            Writer::Aero(writer) => writer.finish().map(drop),
        }
    }
}

pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<Verdict, Failure> {
    let Arguments {
        input,
        output,
        from,
        to,
    } = arguments;
    let to = match to.or_else(|| Format::of_name(output)) {
        Some(format @ (Format::Csv | Format::RoadRunner)) => {
            let message = format!("expected std or aero for OUT, found {}", format.name());
            return Err(Failure::Usage(message));
        }
        Some(format) => format,
        None if output == "-" => Format::Std,
        None => {
            let message =
                format!("expected OUT to end with .std or .aero, or --to, found `{output}`");
            return Err(Failure::Usage(message));
        }
    };
    let mut source = from.open(input)?;
    // One name for one thing: it is to be known before the first line. What is not a file cannot be
    // read twice.
    let late = if source.names_late() && Path::new(input).is_file() {
        LateNames::read(from.open(input)?.as_mut())
    } else {
        LateNames::default()
    };
    let shown = if output == "-" {
        "standard output"
    } else {
        output
    };
    let failure = |error| Failure::Output(shown.to_owned(), error);
    let target = Target::new(output);
    let out = target.create().map_err(failure)?;
    let progress = terminal.progress(input);
    let written = copy(source.as_mut(), late, progress, to, out, shown);
    target.finish(written.is_ok()).map_err(failure)?;
    written.map(|()| Verdict::Clean)
}

fn copy(
    source: &mut dyn Source,
    mut late: LateNames,
    progress: Progress,
    to: Format,
    out: Box<dyn Write>,
    shown: &str,
) -> Result<(), Failure> {
    let failure = |error| Failure::Output(shown.to_owned(), error);
    let mut writer = Writer::new(to, out, source.semantics()).map_err(failure)?;
    let mut broken = None;
    feed(source, None, progress, |event, _, _, names| {
        let written = writer.event(event, &late.with(names));
        late.pass(event);
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                broken = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    match broken {
        Some(error) => Err(failure(error)),
        None => writer.finish().map_err(failure),
    }
}

/// Where the output goes. A file comes into being whole or not at all.
enum Target {
    Output,
    /// A pipe or a device.
    Direct(PathBuf),
    File {
        path: PathBuf,
        partial: PathBuf,
    },
}

impl Target {
    fn new(output: &str) -> Self {
        let path = PathBuf::from(output);
        if output == "-" {
            Target::Output
        } else if path.exists() && !path.is_file() {
            Target::Direct(path)
        } else {
            let partial = PathBuf::from(format!("{output}.partial"));
            Target::File { path, partial }
        }
    }

    fn create(&self) -> io::Result<Box<dyn Write>> {
        Ok(match self {
            Target::Output => Box::new(io::stdout().lock()),
            Target::Direct(path) => Box::new(File::create(path)?),
            Target::File { partial, .. } => Box::new(File::create(partial)?),
        })
    }

    fn finish(&self, whole: bool) -> io::Result<()> {
        match self {
            Target::File { path, partial } if whole => fs::rename(partial, path),
            Target::File { partial, .. } => fs::remove_file(partial),
            Target::Output | Target::Direct(_) => Ok(()),
        }
    }
}
