//! Every engine against the judge.

use std::cell::Cell;

use aerodrome::check::{Checker, EngineKind};
use aerodrome::trace::{Event, Semantics};

use super::checker::{checker, singly};
use super::judge::{Table, counting};
use super::{RECORDED, programs};
use crate::common::{Mix, check, closed, for_random_traces, for_traces, well_formed};

/// How many traces of each sort are judged: `AERODROME_JUDGED`.
fn judged() -> u64 {
    let given = std::env::var("AERODROME_JUDGED").ok();
    let given = given.map(|given| given.parse().expect("a number of traces"));
    given.unwrap_or(10_000)
}

/// What the judge has seen, so that the traces are known to be of all sorts.
#[derive(Default)]
struct Tally {
    traces: Cell<u64>,
    cycles: Cell<u64>,
    /// Cycles of more than three transactions.
    long: Cell<u64>,
    /// Traces with looks that do not count, and with pauses that are waits.
    looks: Cell<u64>,
    waits: Cell<u64>,
}

impl Tally {
    fn count(it: &Cell<u64>, holds: bool) {
        it.set(it.get() + u64::from(holds));
    }

    /// Every engine's verdict is the judge's.
    fn judge(&self, events: &[Event]) -> Result<(), String> {
        let events = &closed(events);
        let counted = counting(events);
        let expected = Table::first_cycle(&counted.events);
        for &engine in EngineKind::ALL {
            for has_groups in [false, true] {
                let checker = match has_groups {
                    true => checker(engine, Semantics::Rust),
                    false => Checker::new(engine, Semantics::Rust),
                };
                let findings = singly(checker, events).given_out;
                let found = findings.iter().map(|(_, violation)| violation.event).min();
                // `aerodrome` finds a cycle when all but one of its transactions have ended, and
                // groups do not wait for each other.
                let agrees = match engine {
                    EngineKind::Exact | EngineKind::Velodrome if !has_groups => found == expected,
                    _ => found.is_some() == expected.is_some(),
                };
                check(agrees, || {
                    format!("{engine} at {found:?}, the judge at {expected:?}")
                })?;
                if engine == EngineKind::Exact && !has_groups {
                    let first = findings.first();
                    let length = first.map_or(0, |(_, violation)| violation.transactions.len());
                    Tally::count(&self.long, length > 3);
                }
            }
        }
        Tally::count(&self.traces, true);
        Tally::count(&self.cycles, expected.is_some());
        Tally::count(&self.looks, counted.dropped > 0);
        Tally::count(&self.waits, counted.waits > 0);
        Ok(())
    }

    /// At least one in so many traces is of each sort.
    fn assert_mixed(&self, [cycles, without, long, looks, waits]: [u64; 5]) {
        let traces = self.traces.get();
        for (sort, count, one_in) in [
            ("a cycle", self.cycles.get(), cycles),
            ("no cycle", traces - self.cycles.get(), without),
            (
                "a cycle of more than three transactions",
                self.long.get(),
                long,
            ),
            ("looks that do not count", self.looks.get(), looks),
            ("pauses that are waits", self.waits.get(), waits),
        ] {
            println!("{count} of {traces} have {sort}");
            assert!(count > traces / one_in, "{count} of {traces} have {sort}");
        }
    }
}

#[test]
fn every_engine_finds_what_the_judge_finds_in_random_events() {
    let tally = Tally::default();
    for_random_traces(0..judged(), RECORDED, |events| tally.judge(events));
    tally.assert_mixed([10, 10, 100, 10, 20]);
}

#[test]
fn every_engine_finds_what_the_judge_finds_where_guards_move() {
    let tally = Tally::default();
    let mix = Mix {
        guards_move: true,
        ..RECORDED
    };
    let seeds = 1_000_000..1_000_000 + judged();
    for_random_traces(seeds, mix, |events| tally.judge(events));
    tally.assert_mixed([10, 10, 100, 10, 20]);
}

#[test]
fn every_engine_finds_what_the_judge_finds_in_runs_of_programs() {
    let tally = Tally::default();
    for_traces(
        0..judged(),
        |seed| programs::run(seed, 120),
        true,
        |events| {
            let possible = well_formed(events, true);
            check(possible == events, || {
                format!("only {possible:?} are possible")
            })?;
            tally.judge(events)
        },
    );
    tally.assert_mixed([10, 10, 500, 10, 20]);
}
