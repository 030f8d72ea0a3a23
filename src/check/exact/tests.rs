use super::*;
use crate::trace::{SiteId, StrandId};

fn event(strand: u32, op: Op, target: u32) -> Event {
    Event {
        strand: StrandId(strand),
        target,
        site: SiteId::NONE,
        op,
    }
}

/// Feeds the events after those of before; the position of the first violation.
fn feed(engine: &mut Exact, position: &mut u64, events: &[Event]) -> Option<u64> {
    let mut first = None;
    for &event in events {
        *position += 1;
        let found = engine.step(event, *position);
        first = first.or(found.map(|found| found.event));
    }
    first
}

#[test]
fn strands_that_are_gone_cost_nothing() {
    let (mut engine, mut position) = (Exact::new(), 0);
    for round in 0..20_000 {
        let child = 1 + round % 5;
        let trace = [
            event(0, Op::Fork, child),
            event(child, Op::Begin, 1),
            event(child, Op::Write, round % 10),
            event(child, Op::End, 1),
            if round % 2 == 0 {
                event(0, Op::Join, child)
            } else {
                event(child, Op::Exit, 0)
            },
        ];
        assert_eq!(feed(&mut engine, &mut position, &trace), None);
    }
    assert!(engine.graph.slots() <= 6, "{}", engine.graph.slots());
}

#[test]
fn strands_forked_in_an_open_transaction_cost_nothing_once_it_ends() {
    let (mut engine, mut position) = (Exact::new(), 0);
    for _ in 0..10 {
        feed(&mut engine, &mut position, &[event(0, Op::Begin, 1)]);
        for child in 1..1_000 {
            // Forked by another strand that comes after the open transaction.
            let trace = [
                event(0, Op::Fork, child),
                event(child, Op::Write, 5),
                event(child, Op::Exit, 0),
            ];
            feed(&mut engine, &mut position, &trace);
        }
        feed(&mut engine, &mut position, &[event(0, Op::End, 1)]);
    }
    assert!(engine.graph.slots() <= 1_001, "{}", engine.graph.slots());
}

#[test]
fn one_transaction_that_stays_open_does_not_make_memory_grow() {
    let (mut engine, mut position) = (Exact::new(), 0);
    feed(
        &mut engine,
        &mut position,
        &[event(0, Op::Begin, 1), event(0, Op::Write, 0)],
    );
    let mut sizes = Vec::new();
    for round in 0..200_000 {
        let strand = 1 + round % 7;
        let trace = [
            event(strand, Op::Begin, 1),
            event(strand, Op::Read, round % 10),
            event(strand, Op::Write, (round + 1) % 10),
            event(strand, Op::Read, 50),
            event(strand, Op::End, 1),
        ];
        assert_eq!(feed(&mut engine, &mut position, &trace), None);
        if round % 100_000 == 50_000 {
            sizes.push((engine.graph.size(), engine.lists.size()));
        }
    }
    assert_eq!(sizes[0], sizes[1]);
    // And the order is still known.
    assert_eq!(
        feed(&mut engine, &mut position, &[event(0, Op::Write, 3)]),
        Some(position)
    );
}

#[test]
fn a_transaction_is_known_by_its_block_however_many_its_strand_has_had_since() {
    let (mut engine, mut position) = (Exact::new(), 0);
    let opening = [
        event(0, Op::Begin, 1),
        event(0, Op::Read, 0),
        event(1, Op::Begin, 2),
        event(1, Op::Write, 5),
        event(1, Op::Write, 0),
        event(1, Op::End, 2),
    ];
    assert_eq!(feed(&mut engine, &mut position, &opening), None);
    for _ in 0..200_000 {
        let round = [
            event(1, Op::Begin, 3),
            event(1, Op::Read, 0),
            event(1, Op::End, 3),
        ];
        assert_eq!(feed(&mut engine, &mut position, &round), None);
    }
    assert!(engine.graph.size() < 40_000, "{}", engine.graph.size());
    let found = engine.step(event(0, Op::Read, 5), position + 1);
    let of: Vec<_> = found
        .expect("a cycle")
        .transactions
        .iter()
        .map(|it| (it.strand.0, it.block.map(|block| block.0), it.begin))
        .collect();
    assert_eq!(of, [(0, Some(1), Some(1)), (1, Some(2), Some(3))]);
}

#[test]
fn a_strand_whose_indices_run_out_goes_on_in_another_slot() {
    let (mut engine, mut position) = (Exact::new(), 0);
    let opening = [
        event(0, Op::Begin, 1),
        event(0, Op::Write, 0),
        event(1, Op::Read, 0),
    ];
    assert_eq!(feed(&mut engine, &mut position, &opening), None);
    engine.graph.use_up_indices(StrandId(1));
    // Each of these moves strand 1 a little further.
    for _ in 0..5 {
        let round = [
            event(1, Op::Begin, 1),
            event(1, Op::Write, 1),
            event(1, Op::End, 1),
        ];
        assert_eq!(feed(&mut engine, &mut position, &round), None);
    }
    assert_eq!(engine.graph.slots(), 3);
    position += 1;
    let found = engine
        .step(event(0, Op::Read, 1), position)
        .expect("a cycle through both slots of strand 1");
    let strands: Vec<_> = found
        .transactions
        .iter()
        .map(|transaction| transaction.strand.0)
        .collect();
    assert_eq!(strands, [0, 1, 1]);
    for edge in &found.edges {
        assert!(edge.from.position < edge.to.position, "{edge:?}");
    }
}

#[test]
fn a_retired_object_orders_nothing() {
    let (mut engine, mut position) = (Exact::new(), 0);
    let trace = [
        event(0, Op::Begin, 1),
        event(0, Op::Write, 7),
        event(1, Op::Retire, 7),
        event(1, Op::Write, 7),
        event(0, Op::Write, 7),
    ];
    assert_eq!(feed(&mut engine, &mut position, &trace[..4]), None);
    assert_eq!(
        feed(
            &mut engine,
            &mut position,
            &[event(1, Op::Retire, 7), trace[4]]
        ),
        None
    );
}
