//! `aerodrome predict`: what would other schedules of the same run show?

use std::ops::ControlFlow;

use lexopt::{Arg, Parser};

use super::feed::NotAtomic;
use super::progress::Progress;
use super::{Failure, Verdict, files, format, open, print, semantics};
use crate::predict::reduction::Rules;
use crate::predict::{AnalysisKind, Feed, Forecast};

const HELP: &str = "\
Says what other schedules of the same run would show: violations, deadlocks, races. What it finds was not observed.

Usage: aerodrome predict [OPTIONS] FILE

Options:
      --analysis minimal,blocks,reduction,deadlock
                                which analyses, all by default:
                                minimal    two accesses of a transaction and another thread's between them, with a
                                           schedule that was replayed
                                blocks     the same for any number of transactions and objects
                                reduction  transactions that are not reducible, and races: hints
                                deadlock   locks taken in a circle
      --rules tse2006|rv2003    what reduction leaves out: by tse2006, the default, critical sections that only touch
                                what nobody changes or nobody else uses; by rv2003 nothing, for more hints
      --semantics rust|paper    how locks, updates, waiting and forks are read; what the trace says by default,
                                which for .std, .csv and .rr is paper
      --not-atomic FILE         blocks that are not transactions: a name a line, as in begin(..)
      --format FORMAT           std, csv, rr or aero, where neither the content of FILE nor its name tells it
      --json                    one JSON object
  -h, --help                    this page

Exit code: 0 minimal and blocks predict nothing, 1 they do, 2 the input or the usage is wrong.
";

pub(super) fn run(mut parser: Parser) -> Result<Verdict, Failure> {
    let (mut kinds, mut rules) = (AnalysisKind::ALL.to_vec(), Rules::default());
    let (mut given, mut forced, mut asked, mut not_atomic, mut json) =
        (Vec::new(), None, None, None, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => given.push(file),
            Arg::Long("analysis") => {
                let names = parser.value()?;
                let parsed: Result<_, String> =
                    names.to_string_lossy().split(',').map(str::parse).collect();
                kinds = parsed.map_err(|error| Failure::Usage(format!("--analysis: {error}")))?;
            }
            Arg::Long("rules") => {
                let name = parser.value()?;
                let parsed = name.to_string_lossy().parse();
                rules = parsed.map_err(|error| Failure::Usage(format!("--rules: {error}")))?;
            }
            Arg::Long("semantics") => asked = Some(semantics(&parser.value()?)?),
            Arg::Long("not-atomic") => {
                not_atomic = Some(NotAtomic::read(&parser.value()?.to_string_lossy())?);
            }
            Arg::Long("format") => forced = Some(format(&parser.value()?)?),
            Arg::Long("json") => json = true,
            Arg::Long("help") | Arg::Short('h') => return print(HELP),
            _ => return Err(arg.unexpected().into()),
        }
    }
    let [file] = files(given, ["FILE"])?;
    let mut source = open(&file, forced)?;
    let semantics = asked.unwrap_or(source.semantics());
    let mut feed = Feed::new(semantics, &kinds, rules);
    let events = super::feed::feed(
        source.as_mut(),
        not_atomic.as_mut(),
        Progress::new(&file),
        |_, event, position, names| {
            if let Some(event) = event {
                feed.step(event, position, names);
            }
            ControlFlow::Continue(())
        },
    )?;
    let forecast = feed.finish(source.names());
    print(&if json {
        super::json(&forecast)
    } else {
        text(&forecast, events)
    })?;
    Ok(if forecast.fails() {
        Verdict::Violation
    } else {
        Verdict::Clean
    })
}

fn text(forecast: &Forecast, events: u64) -> String {
    if forecast.is_empty() {
        format!("{forecast}nothing predicted from {events} events\n")
    } else {
        forecast.to_string()
    }
}
