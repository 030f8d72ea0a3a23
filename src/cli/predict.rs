//! `aerodrome predict`: what would other schedules of the same run show?

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use clap::Args;

use super::report::Pages;
use super::{Failure, Input, Reading, Terminal, Verdict, one_of, print};
use crate::predict::reduction::Rules;
use crate::predict::{AnalysisKind, Feed, Forecast, Options, Prediction, Predictions};
use crate::report::Report;
use crate::report::source::{self, Workspace};
use crate::trace::{BlockId, Source, Tables};

/// Say what other schedules of the same run would show
///
/// Says what other schedules of the same run would show: violations, deadlocks, races. What it
/// finds was not observed.
#[derive(Args)]
#[command(after_long_help = "\
Analyses:
  minimal    two accesses of a transaction and another thread's between them, with a schedule that
             was replayed
  blocks     the same for any number of transactions and objects
  reduction  transactions that are not reducible, and races: hints
  deadlock   locks taken in a circle

Without --analysis, --all, --rules and --hints it tells what a test is told: no transaction that is
only not reducible, no cycle of four transactions and more, and races of cells alone.

With --cascade, reduction and deadlock look first. If they show every transaction atomic, that is
all. Otherwise the trace is read again for the other two, and hints are told for the blocks that
these find broken.

Exit code: 0 minimal and blocks predict nothing, 1 they do, 2 the input or the usage is wrong.

Examples:
  aerodrome predict run.aero
  aerodrome predict --analysis minimal,deadlock --sarif predicted.sarif run.aero")]
pub(super) struct Arguments {
    /// The trace, or `-`
    file: String,
    /// Which analyses, separated by commas; all by default, in brief
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[arg(value_parser = one_of::<AnalysisKind>(AnalysisKind::ALL.map(AnalysisKind::name)))]
    analysis: Vec<AnalysisKind>,
    /// What reduction leaves out: by tse2006, the default, critical sections that only touch what
    /// nobody changes or nobody else uses; by rv2003 nothing, for more hints; by escape also what a
    /// thread does with an object before it can have told another of it; by online the same as by
    /// tse2006, with each event judged by the run so far
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = one_of::<Rules>(Rules::ALL.map(Rules::name)))]
    rules: Option<Rules>,
    /// All violations of minimal: one for each two accesses of a block and one between them, by
    /// their places in the source; without it, accesses under the same locks stand for each other
    #[arg(long)]
    all: bool,
    /// What may well be no fault, too: transactions that are not reducible, cycles of four
    /// transactions and more, and races of atomics
    #[arg(long)]
    hints: bool,
    /// Search for schedules only if reduction leaves a doubt, and tell its hints only where the
    /// search agrees
    #[arg(long, conflicts_with = "analysis")]
    cascade: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    input: Input,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pages: Pages,
}

pub(super) fn run(arguments: Arguments, terminal: &Terminal) -> Result<Verdict, Failure> {
    let kinds = match &arguments.analysis[..] {
        [] => &AnalysisKind::ALL,
        asked => asked,
    };
    let (predictions, source, events) = if arguments.cascade {
        cascade(&arguments, terminal)?
    } else {
        predict(&arguments, kinds, terminal)?
    };
    let forecast = Forecast::new(&predictions, source.names());
    if arguments.json {
        print(&(forecast.json() + "\n"))?;
    } else if !arguments.pages.wanted() {
        terminal.tell(&text(&forecast, events))?;
    }
    if arguments.pages.wanted() {
        arguments
            .pages
            .write(&reports(&predictions, source.names()))?;
    }
    let verdict = if forecast.fails() {
        Verdict::Violation
    } else {
        Verdict::Clean
    };
    // The process ends, and all of its memory with it.
    std::mem::forget((forecast, predictions, source));
    Ok(verdict)
}

/// The predictions as reports, with their source lines.
pub(super) fn reports(predictions: &Predictions, names: &Tables) -> Vec<Report> {
    let names = predictions.names(names);
    let found = predictions.outcome.predictions.iter();
    let reports = found.map(|prediction| prediction.report(&names));
    source::attach_all(reports, &Workspace::find())
}

/// What some analyses found, the trace, and how many events it has.
type Read = (Predictions, Box<dyn Source>, u64);

fn predict(
    arguments: &Arguments,
    kinds: &[AnalysisKind],
    terminal: &Terminal,
) -> Result<Read, Failure> {
    let file = &arguments.file;
    let mut not_atomic = arguments.reading.not_atomic()?;
    let mut source = arguments.input.open(file)?;
    let semantics = arguments.reading.semantics.unwrap_or(source.semantics());
    let rules = arguments.rules.unwrap_or_default();
    let all = arguments.all;
    let is_asked = !arguments.analysis.is_empty() || arguments.rules.is_some();
    let brief = !(is_asked || all || arguments.hints || arguments.cascade);
    let mut feed = Feed::new(semantics, kinds, Options { rules, all, brief });
    let events = super::feed::feed_runs(
        source.as_mut(),
        not_atomic.as_mut(),
        terminal.progress(file),
        |run, names| {
            feed.steps(&run.events[..run.count], run.position, names);
            ControlFlow::Continue(())
        },
    )?;
    let predictions = feed.predictions(source.names());
    Ok((predictions, source, events))
}

/// RV 2003, section 5: the cheaper analysis first, the other for what it cannot show atomic.
fn cascade(arguments: &Arguments, terminal: &Terminal) -> Result<Read, Failure> {
    if arguments.file == "-" {
        let why = "--cascade may read the trace twice: expected a file, found `-`";
        return Err(Failure::Usage(why.to_owned()));
    }
    let first = [AnalysisKind::Reduction, AnalysisKind::Deadlock];
    let read = predict(arguments, &first, terminal)?;
    let outcome = &read.0.outcome;
    // Reduction shows transactions atomic only where nothing can deadlock.
    if outcome.predictions.is_empty() && outcome.deadlocks.is_empty() {
        return Ok(read);
    }
    let mut read = predict(arguments, &AnalysisKind::ALL, terminal)?;
    let found = &mut read.0.outcome.predictions;
    let is_hint = |found: &Prediction| found.analysis == AnalysisKind::Reduction;
    let broken = found.iter().filter(|&found| !is_hint(found));
    let broken: BTreeSet<BlockId> = broken.flat_map(blocks).collect();
    found.retain(|found| !is_hint(found) || blocks(found).any(|it| broken.contains(&it)));
    Ok(read)
}

/// The blocks that a prediction is about.
fn blocks(found: &Prediction) -> impl Iterator<Item = BlockId> + '_ {
    let transactions = found.accesses.iter().map(|step| &step.transaction);
    transactions.filter_map(|it| it.as_ref()?.block)
}

fn text(forecast: &Forecast, events: u64) -> String {
    if forecast.is_empty() {
        format!("{forecast}nothing predicted from {events} events\n")
    } else {
        forecast.to_string()
    }
}
