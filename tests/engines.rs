//! The engines against the oracle, on random traces.

#![cfg(feature = "trace")]

mod common;

use aerodrome::check::{Engine, Exact};
use aerodrome::trace::Event;
use common::{Mix, Oracle, check, for_random_traces};

const PAPER: Mix = Mix {
    events: 40,
    extended: false,
    recorded: false,
};
const EXTENDED: Mix = Mix {
    events: 60,
    extended: true,
    recorded: false,
};

/// The engine finds the first cycle at the oracle's event, and tells it and all later ones right.
fn is_exact(engine: &mut dyn Engine, events: &[Event]) -> Result<(), String> {
    let oracle = Oracle::new(events);
    let mut first = None;
    for (event, position) in events.iter().zip(1..) {
        if let Some(violation) = engine.step(*event, position) {
            first = first.or(Some(position));
            check(violation.event == position, || {
                "the position of the closing event is wrong".into()
            })?;
            oracle
                .verify(&violation)
                .map_err(|error| format!("{error}: {violation:?}"))?;
        }
    }
    check(first == oracle.first, || {
        format!("the oracle says {:?}, the engine {first:?}", oracle.first)
    })
}

#[test]
fn exact_finds_the_first_cycle_of_the_papers_traces_at_its_event() {
    for_random_traces(0..20_000, PAPER, |events| {
        is_exact(&mut Exact::new(), events)
    });
}

#[test]
fn exact_finds_the_first_cycle_of_any_trace_at_its_event() {
    for_random_traces(100_000..130_000, EXTENDED, |events| {
        is_exact(&mut Exact::new(), events)
    });
}

#[test]
fn random_traces_are_of_both_sorts() {
    let violations = |mix| {
        (0..1_000)
            .filter(|&seed| {
                Oracle::new(&common::random_trace(seed, mix))
                    .first
                    .is_some()
            })
            .count()
    };
    assert!(
        (200..800).contains(&violations(PAPER)),
        "{}",
        violations(PAPER)
    );
    assert!(
        (200..800).contains(&violations(EXTENDED)),
        "{}",
        violations(EXTENDED)
    );
}
