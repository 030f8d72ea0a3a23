//! The checker against its simplest form, event by event and in runs.

use std::collections::HashMap;

use aerodrome::check::{Checker, Engine, EngineKind, Lowering, Retries, Violation};
use aerodrome::trace::{BlockId, Event, Op, Semantics, SiteId, StrandId};

use super::{KINDS, RECORDED, is_for_engine};
use crate::common::{Random, check, for_random_traces};

/// What a checker gives out, at which event, and how often each occurred; and where transactions
/// are open at the end.
#[derive(Debug, PartialEq)]
pub(crate) struct Findings {
    pub(crate) given_out: Vec<(u64, Violation)>,
    counts: Vec<u64>,
    open: Vec<Option<u64>>,
}

impl Findings {
    fn new(mut checker: Checker, mut given_out: Vec<(u64, Violation)>) -> Findings {
        let open = (0..8)
            .map(|strand| checker.open_since(StrandId(strand)))
            .collect();
        while let Some(violation) = checker.finish(&KINDS) {
            given_out.push((0, *violation));
        }
        Findings {
            given_out,
            counts: checker.counts().to_vec(),
            open,
        }
    }
}

/// Strands with even numbers are of one group, the others of another.
fn group(strand: StrandId) -> u32 {
    strand.0 % 2
}

pub(crate) fn checker(engine: EngineKind, semantics: Semantics) -> Checker {
    let mut checker = Checker::new(engine, semantics);
    for strand in (0..8).map(StrandId) {
        checker.set_group(strand, group(strand));
    }
    checker
}

pub(crate) fn singly(mut checker: Checker, events: &[Event]) -> Findings {
    let mut given_out = Vec::new();
    for (&event, position) in events.iter().zip(1..) {
        let found = checker.step(event, position, &KINDS);
        given_out.extend(found.map(|violation| (position, *violation)));
    }
    Findings::new(checker, given_out)
}

fn in_runs(
    engine: EngineKind,
    semantics: Semantics,
    events: &[Event],
    random: &mut Random,
) -> Findings {
    let (mut checker, mut given_out) = (checker(engine, semantics), Vec::new());
    let mut at = 0;
    while at < events.len() {
        let left = (events.len() - at) as u64;
        let count = 1 + random.below(left) as usize;
        let (taken, found) = checker.run(&events[at..], count, at as u64 + 1, &KINDS);
        assert!(
            found.is_some() || taken == count,
            "a run ends where something is found"
        );
        at += taken;
        given_out.extend(found.map(|violation| (at as u64, *violation)));
    }
    Findings::new(checker, given_out)
}

/// What makes two violations one: block, entry, exit and object.
type Key = (Option<BlockId>, SiteId, SiteId, Option<u32>);

fn key(violation: &Violation, event: &Event) -> Key {
    let (n, blame) = (violation.edges.len(), violation.blame);
    let block = violation.transactions[blame].block;
    if n == 0 {
        return (block, event.site, SiteId::NONE, None);
    }
    let (entry, exit) = (
        violation.edges[(blame + n - 1) % n].to,
        violation.edges[blame].from,
    );
    let object = entry.object.map(|object| object.0);
    (block, entry.site, exit.site, object)
}

/// The checker in its simplest form: all that a trace is lowered to goes to the engine.
fn plainly(engine: EngineKind, semantics: Semantics, events: &[Event]) -> Findings {
    let (mut lowering, mut engine) = (Lowering::new(semantics), engine.engine());
    let mut retries = Retries::new();
    for strand in (0..8).map(StrandId) {
        retries.set_group(strand, group(strand));
    }
    let mut since: HashMap<StrandId, u64> = HashMap::new();
    let (mut given_out, mut ready) = (Vec::new(), Vec::new());
    let (mut known, mut counts): (HashMap<Key, usize>, Vec<u64>) = Default::default();
    let mut open = vec![None; 8];
    for step in 0..=events.len() {
        let mut counting = Vec::new();
        let position = step as u64 + 1;
        let Some(&event) = events.get(step) else {
            open = (0..8)
                .map(|strand| since.get(&StrandId(strand)).copied())
                .collect();
            retries.flush_all(&mut |event, position| counting.push((event, position)));
            step_all(
                &mut lowering,
                engine.as_mut(),
                semantics,
                &counting,
                &mut |violation, event| {
                    count(violation, event, &mut known, &mut counts, &mut ready);
                },
            );
            break;
        };
        match event.op {
            Op::Begin => drop(since.insert(event.strand, position)),
            Op::End | Op::Exit => drop(since.remove(&event.strand)),
            Op::Split => drop(since.get_mut(&event.strand).map(|since| *since = position)),
            _ => {}
        }
        match semantics {
            Semantics::Paper => counting.push((event, position)),
            Semantics::Rust if is_for_engine(&event, semantics) => {
                retries.take(event, position, &mut |event, position| {
                    counting.push((event, position))
                });
            }
            Semantics::Rust => retries.pass_over(event),
        }
        step_all(
            &mut lowering,
            engine.as_mut(),
            semantics,
            &counting,
            &mut |violation, event| {
                count(violation, event, &mut known, &mut counts, &mut ready);
            },
        );
        if !ready.is_empty() {
            given_out.push((position, ready.remove(0)));
        }
    }
    given_out.extend(ready.into_iter().map(|violation| (0, violation)));
    Findings {
        given_out,
        counts,
        open,
    }
}

fn step_all(
    lowering: &mut Lowering,
    engine: &mut dyn Engine,
    semantics: Semantics,
    counting: &[(Event, u64)],
    found: &mut dyn FnMut(Violation, &Event),
) {
    for (event, position) in counting {
        let mut lowered = Vec::new();
        lowering.lower(*event, &mut |event| lowered.push(event));
        for it in lowered
            .into_iter()
            .filter(|it| is_for_engine(it, semantics))
        {
            if let Some(violation) = engine.step(it, *position) {
                found(*violation, event);
            }
        }
    }
}

fn count(
    violation: Violation,
    event: &Event,
    known: &mut HashMap<Key, usize>,
    counts: &mut Vec<u64>,
    ready: &mut Vec<Violation>,
) {
    let number = *known.entry(key(&violation, event)).or_insert_with(|| {
        ready.push(violation);
        counts.push(0);
        counts.len() - 1
    });
    counts[number] += 1;
}

#[test]
fn the_checker_is_its_simplest_form_event_by_event_and_in_runs() {
    let late = std::cell::Cell::new(0);
    for_random_traces(0..10_000, RECORDED, |events| {
        let mut random = Random(events.len() as u64);
        for &engine in EngineKind::ALL {
            for semantics in [Semantics::Rust, Semantics::Paper] {
                let expected = plainly(engine, semantics, events);
                let singly = singly(checker(engine, semantics), events);
                check(singly == expected, || {
                    format!("{engine} {semantics:?}: {singly:?}\ninstead of {expected:?}")
                })?;
                let in_runs = in_runs(engine, semantics, events, &mut random);
                check(in_runs == expected, || {
                    format!("{engine} {semantics:?} in runs: {in_runs:?}\ninstead of {expected:?}")
                })?;
                let is_late = |(at, violation): &(u64, Violation)| *at != violation.event;
                late.set(late.get() + u32::from(expected.given_out.iter().any(is_late)));
            }
        }
        Ok(())
    });
    assert!(
        late.get() > 100,
        "{} traces have a violation that waits",
        late.get()
    );
}
