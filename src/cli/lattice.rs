//! `aerodrome lattice`: does a property hold in every run that is consistent with the trace?

use std::ffi::OsString;
use std::ops::ControlFlow;

use lexopt::{Arg, Parser};

use super::feed::feed;
use super::progress::Progress;
use super::{Failure, Verdict, files, format, open, print};
use crate::lattice::{Lattice, Limits, Property};

const HELP: &str = "\
Checks a temporal property on every run that is consistent with the causal order of the trace, and shows the runs that
break it beside what was observed.

Usage: aerodrome lattice [OPTIONS] --property FORMULA FILE

Options:
      --property FORMULA     what must hold in every state of every run, such as 'start(landing) -> [approved, !radio)'
      --width N              how many states of one level are explored at most (10000)
      --runs N               how many violating runs are shown at most (8)
      --format FORMAT        std, csv, rr or aero, where neither the content of FILE nor its name tells it
      --json                 one JSON object
      --dot                  the lattice for Graphviz: the observed run bold, violating runs red; its first 500 states
  -h, --help                 this page

Formulas, from the loosest operator to the tightest:
  p -> q   p || q   p && q   p since q   previously p   once p   historically p   a == b != < <= > >=   + -   *   !p  -a
  [p, q) is true when p was true once and q has been false from then on; start(p) and end(p) when p became so just now.
  Names are those of variables; a name that is a word of the language, or no word at all, stands in single quotes.
The trace gives a variable's values: in STD, `val(1)` before a write. `born(x)` after one, or else the first such write, gives
the value that the variable begins with. A program's trace has the values of `Watched` variables and of atomics with a name.

Exit code: 0 the property holds, 1 some run breaks it, 2 the input or the usage is wrong.
";

/// How many states `--dot` draws: more than anyone can read.
const DRAWN_STATES: usize = 500;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Text,
    Json,
    Dot,
}

pub(super) fn run(mut parser: Parser) -> Result<Verdict, Failure> {
    let (mut given, mut forced, mut property) = (Vec::new(), None, None);
    let mut output = Output::Text;
    let mut limits = Limits::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => given.push(file),
            Arg::Long("property") => property = Some(parser.value()?),
            Arg::Long("width") => limits.width = number("--width", &parser.value()?)?,
            Arg::Long("runs") => limits.counterexamples = number("--runs", &parser.value()?)?,
            Arg::Long("format") => forced = Some(format(&parser.value()?)?),
            Arg::Long("json") => output = Output::Json,
            Arg::Long("dot") => output = Output::Dot,
            Arg::Long("help") | Arg::Short('h') => return print(HELP),
            _ => return Err(arg.unexpected().into()),
        }
    }
    let Some(property) = property else {
        return Err(Failure::Usage(
            "expected --property FORMULA, found none".to_owned(),
        ));
    };
    let property: Property = property
        .to_string_lossy()
        .parse()
        .map_err(|error| Failure::Usage(format!("--property: {error}")))?;
    let [file] = files(given, ["FILE"])?;
    if output == Output::Dot {
        limits.graph = DRAWN_STATES;
    }
    let mut source = open(&file, forced)?;
    let mut lattice = Lattice::new(property, limits);
    let mut failure = None;
    feed(
        source.as_mut(),
        None,
        Progress::new(&file),
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
    print(&match output {
        Output::Text => outcome.text(names),
        Output::Json => outcome.json(names) + "\n",
        Output::Dot => {
            let graph = outcome.graph.as_ref().expect("the limits ask for it");
            graph.dot(&outcome.property, &outcome.variables, names)
        }
    })?;
    Ok(if outcome.holds() {
        Verdict::Clean
    } else {
        Verdict::Violation
    })
}

fn number(option: &str, value: &OsString) -> Result<usize, Failure> {
    let value = value.to_string_lossy();
    value
        .parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| {
            Failure::Usage(format!(
                "{option}: expected a number from 1, found `{value}`"
            ))
        })
}
