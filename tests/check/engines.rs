//! The engines against the oracle, on random traces.

use std::cell::Cell;

use crate::common::{Mix, Oracle, check, closed, event, for_random_traces};
use aerodrome::check::{Aerodrome, AerodromeBasic, Engine, EngineKind, Exact, Velodrome};
use aerodrome::trace::{Event, Op};

const PAPER: Mix = Mix {
    events: 40,
    extended: false,
    recorded: false,
    guards_move: false,
};
const EXTENDED: Mix = Mix {
    events: 60,
    extended: true,
    recorded: false,
    guards_move: false,
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

/// The trace without what is part of no cycle: events outside of blocks and whole transactions,
/// while no other transaction is open. Each event with its position in the whole trace.
fn without_quiet(events: &[Event]) -> Vec<(Event, u64)> {
    let mut kept = Vec::new();
    let mut open = 0;
    let mut rest = events.iter().copied().zip(1..).collect::<Vec<_>>();
    rest.reverse();
    while let Some((event, position)) = rest.pop() {
        if open == 0 && event.op == Op::Begin {
            let whole = rest
                .iter()
                .rev()
                .take_while(|(next, _)| next.strand == event.strand && next.op != Op::Fork)
                .position(|(next, _)| next.op == Op::End);
            if let Some(end) = whole {
                rest.truncate(rest.len() - end - 1);
                continue;
            }
        }
        let concerns_strands = matches!(event.op, Op::Fork | Op::Join | Op::Exit);
        if open == 0 && event.op != Op::Begin && !concerns_strands && event.op != Op::Retire {
            continue;
        }
        match event.op {
            Op::Begin => open += 1,
            Op::End => open -= 1,
            _ => {}
        }
        kept.push((event, position));
    }
    kept
}

#[test]
fn what_is_whole_while_no_transaction_is_open_is_part_of_no_cycle() {
    let (all, left) = (Cell::new(0), Cell::new(0));
    for_random_traces(200_000..220_000, EXTENDED, |events| {
        let kept = without_quiet(events);
        all.set(all.get() + events.len());
        left.set(left.get() + kept.len());
        let first = |kind: EngineKind, events: &[(Event, u64)]| {
            let mut engine = kind.engine();
            let mut events = events.iter();
            events.find_map(|&(event, position)| engine.step(event, position).map(|_| position))
        };
        let (expected, found) = (Oracle::new(events).first, first(EngineKind::Exact, &kept));
        check(found == expected, || {
            format!("the oracle says {expected:?}, the engine {found:?} of what is left")
        })?;
        let events = closed(events);
        let expected = Oracle::new(&events).first.is_some();
        for &kind in &EngineKind::ALL[1..] {
            let found = first(kind, &without_quiet(&events)).is_some();
            check(found == expected, || {
                format!("the oracle says {expected:?}, {kind} {found:?} of what is left")
            })?;
        }
        Ok(())
    });
    let (all, left) = (all.get(), left.get());
    assert!(left < all * 9 / 10, "{left} of {all} events are left");
}

#[test]
fn a_run_ends_with_the_first_cycle() {
    for_random_traces(0..2_000, EXTENDED, |events| {
        let oracle = Oracle::new(events);
        for kind in EngineKind::ALL {
            let (taken, found) = kind.engine().run(events, 1);
            let stepped = {
                let mut engine = kind.engine();
                let mut all = events.iter().zip(1..);
                all.find_map(|(event, position)| engine.step(*event, position))
            };
            check(found == stepped, || {
                format!("{kind} finds {found:?} in a run, {stepped:?} step by step")
            })?;
            let expected = found.as_ref().map_or(events.len(), |it| it.event as usize);
            check(taken == expected, || {
                format!("{kind} says that it took {taken} of {expected}")
            })?;
            if *kind == EngineKind::Exact {
                check(found.map(|it| it.event) == oracle.first, || {
                    format!("{kind} does not end at {:?}", oracle.first)
                })?;
            }
        }
        Ok(())
    });
}

#[test]
fn random_traces_are_of_both_sorts() {
    let violations = |mix| {
        (0..1_000)
            .filter(|&seed| {
                Oracle::new(&crate::common::random_trace(seed, mix))
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

#[test]
fn velodrome_finds_the_first_cycle_of_the_papers_traces_at_its_event() {
    for_random_traces(0..20_000, PAPER, |events| {
        is_exact(&mut Velodrome::new(), events)
    });
}

#[test]
fn velodrome_finds_the_first_cycle_of_any_trace_at_its_event() {
    for_random_traces(200_000..230_000, EXTENDED, |events| {
        is_exact(&mut Velodrome::new(), events)
    });
}

/// The engine finds a violation by the end of the trace if there is one, and not before the oracle;
/// what it blames is a transaction of the trace that is open, or just ends.
fn has_the_verdict(engine: &mut dyn Engine, events: &[Event]) -> Result<(), String> {
    let events = closed(events);
    let oracle = Oracle::new(&events);
    let mut first = None;
    for (event, position) in events.iter().zip(1..) {
        if let Some(violation) = engine.step(*event, position) {
            first = first.or(Some(position));
            check(violation.event == position, || {
                "the position of the closing event is wrong".into()
            })?;
            let blamed = &violation.transactions[violation.blame];
            let begin = blamed
                .begin
                .and_then(|begin| events.get(begin as usize - 1));
            check(
                begin.is_some_and(|event| {
                    (event.op, event.strand, event.site) == (Op::Begin, blamed.strand, blamed.site)
                        && Some(event.block()) == blamed.block
                }),
                || format!("blames {blamed:?}"),
            )?;
        }
    }
    check(
        first.is_some() == oracle.first.is_some() && first >= oracle.first,
        || format!("the oracle says {:?}, the engine {first:?}", oracle.first),
    )
}

#[test]
fn asplos_2020_theorem_3_holds_after_the_reductions_of_section_4_3() {
    for_random_traces(0..20_000, PAPER, |events| {
        has_the_verdict(&mut Aerodrome::new(), events)
    });
}

#[test]
fn aerodrome_has_the_verdict_on_any_trace_once_its_transactions_are_closed() {
    for_random_traces(300_000..330_000, EXTENDED, |events| {
        has_the_verdict(&mut Aerodrome::new(), events)
    });
}

#[test]
fn asplos_2020_theorem_3_algorithm_1_is_sound_and_complete_on_closed_traces() {
    for_random_traces(0..20_000, PAPER, |events| {
        has_the_verdict(&mut AerodromeBasic::new(), events)
    });
}

#[test]
fn aerodrome_basic_has_the_verdict_on_any_trace_once_its_transactions_are_closed() {
    for_random_traces(300_000..330_000, EXTENDED, |events| {
        has_the_verdict(&mut AerodromeBasic::new(), events)
    });
}

#[test]
fn the_reductions_of_aerodrome_move_no_verdict() {
    for_random_traces(400_000..430_000, EXTENDED, |events| {
        let first = |engine: &mut dyn Engine| {
            let found = engine.run(events, 1).1?;
            Some((found.event, found.transactions))
        };
        let reduced = first(&mut Aerodrome::new());
        let published = first(&mut AerodromeBasic::new());
        check(reduced == published, || {
            format!("{reduced:?} with reductions, {published:?} as published")
        })
    });
}

/// The first violation of each engine, in the order of [`EngineKind::ALL`].
fn firsts(trace: &[Event]) -> Vec<Option<u64>> {
    let first = |kind: &EngineKind| {
        let mut engine = kind.engine();
        trace
            .iter()
            .zip(1..)
            .find_map(|(event, position)| engine.step(*event, position))
            .map(|found| found.event)
    };
    EngineKind::ALL.iter().map(first).collect()
}

#[test]
fn an_order_inherited_from_before_the_transaction_counts() {
    let trace = [
        event(0, Op::Begin, 900),
        event(0, Op::Write, 1),
        event(1, Op::Read, 1),
        event(1, Op::Begin, 900),
        event(1, Op::Write, 2),
        event(1, Op::End, 900),
        event(0, Op::Read, 2),
    ];
    assert_eq!(firsts(&trace), [Some(7); EngineKind::ALL.len()]);
}

#[test]
fn a_grandchild_of_an_open_transaction_comes_after_it() {
    let trace = [
        event(0, Op::Begin, 900),
        event(0, Op::Fork, 3),
        event(3, Op::Fork, 4),
        event(4, Op::Begin, 900),
        event(4, Op::Write, 1),
        event(4, Op::End, 900),
        event(0, Op::Read, 1),
    ];
    assert_eq!(firsts(&trace), [Some(7); EngineKind::ALL.len()]);
}

#[test]
fn a_strand_that_did_nothing_may_be_forked_and_joined_in_a_transaction() {
    let idle = [
        event(0, Op::Begin, 900),
        event(0, Op::Fork, 3),
        event(0, Op::Join, 3),
        event(0, Op::End, 900),
    ];
    assert_eq!(firsts(&idle), [None; EngineKind::ALL.len()]);
    let busy = [
        event(0, Op::Begin, 900),
        event(0, Op::Fork, 3),
        event(3, Op::Read, 1),
        event(0, Op::Join, 3),
    ];
    assert_eq!(firsts(&busy), [Some(4); EngineKind::ALL.len()]);
}

/// Strand 3 gives back what 0 took: so 0 comes before 3, and 2 by way of both before 1.
#[test]
fn a_lock_whose_guard_was_moved_is_released_after_its_acquire() {
    let trace = [
        event(1, Op::Begin, 900),
        event(1, Op::Write, 7),
        event(2, Op::Acquire, 1),
        event(2, Op::Read, 7),
        event(2, Op::Release, 1),
        event(0, Op::Acquire, 1),
        event(3, Op::Release, 1),
        event(1, Op::Acquire, 1),
    ];
    assert_eq!(firsts(&trace), [Some(8); EngineKind::ALL.len()]);
}
