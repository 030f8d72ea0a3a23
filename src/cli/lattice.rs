//! `aerodrome lattice`: does a property hold in every run that is consistent with the trace?

use std::ops::ControlFlow;

use clap::Args;

use super::feed::feed;
use super::{Failure, Input, Terminal, Verdict, print};
use crate::lattice::{Lattice, Limits, Property};

/// Check a property on every run that is consistent with the trace
///
/// Checks a temporal property on every run that is consistent with the causal order of the trace,
/// and shows the runs that break it beside what was observed.
#[derive(Args)]
#[command(after_long_help = "\
Formulas, from the loosest operator to the tightest:
  p -> q   p || q   p && q   p since q   previously p   once p   historically p
  a == b  !=  <  <=  >  >=   + -   *   !p  -a
  [p, q) is true when p was true once and q has been false from then on; start(p) and end(p) when
  p became so just now. Names are those of variables; a name that is a word of the language, or no
  word at all, stands in single quotes.
The trace gives a variable's values: in STD, `val(1)` before a write. `born(x)` after one, or else
the first such write, gives the value that the variable begins with. A program's trace has the
values of `Watched` variables and of atomics with a name.

Exit code: 0 the property holds, 1 some run breaks it, 2 the input or the usage is wrong.

Example:
  aerodrome lattice --property 'start(landing) -> [approved, !radio)' flight.std")]
pub(super) struct Arguments {
    /// The trace, or `-`
    file: String,
    /// What must hold in every state of every run
    #[arg(long, value_name = "FORMULA")]
    property: String,
    /// How many states of one level are explored at most [default: 10000, and fewer where more than
    /// 20 threads write at once]
    #[arg(long, value_name = "N", value_parser = number)]
    width: Option<usize>,
    /// How many violating runs are shown at most [default: 8]
    #[arg(long, value_name = "N", value_parser = number)]
    runs: Option<usize>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// The lattice for Graphviz: the observed run bold, violating runs red; its first 500 states
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    #[command(flatten)]
    input: Input,
}

/// How many states `--dot` draws: more than anyone can read.
const DRAWN_STATES: usize = 500;

pub(super) fn run(arguments: Arguments, terminal: &Terminal) -> Result<Verdict, Failure> {
    let property: Property = arguments
        .property
        .parse()
        .map_err(|error| Failure::Usage(format!("--property: {error}")))?;
    let mut limits = Limits::default();
    if let Some(width) = arguments.width {
        // Who asks for it waits for it.
        (limits.width, limits.comparisons) = (width, usize::MAX);
    }
    limits.counterexamples = arguments.runs.unwrap_or(limits.counterexamples);
    if arguments.dot {
        limits.graph = DRAWN_STATES;
    }
    let file = arguments.file;
    let mut source = arguments.input.open(&file)?;
    let mut lattice = Lattice::new(property, limits);
    let mut failure = None;
    feed(
        source.as_mut(),
        None,
        terminal.progress(&file),
        |_, counts, position, names| {
            let Some(event) = counts else {
                return ControlFlow::Continue(());
            };
            match lattice.step(&event, position, names) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        },
    )?;
    let outcome = match failure {
        Some(error) => Err(error),
        None => lattice.finish(),
    };
    let outcome = outcome.map_err(|error| Failure::Property(file, Box::new(error)))?;
    let names = source.names();
    if let Some(graph) = &outcome.graph {
        print(&graph.dot(&outcome.property, &outcome.variables, names))?;
    } else if arguments.json {
        print(&(outcome.json(names) + "\n"))?;
    } else {
        terminal.tell(&outcome.text(names))?;
    }
    Ok(if outcome.holds() {
        Verdict::Clean
    } else {
        Verdict::Violation
    })
}

fn number(value: &str) -> Result<usize, String> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("expected a number from 1, found `{value}`"))
}
