//! Recorded events read under a semantics, rule by rule of `docs/rules.md`.

mod idioms;

use crate::common::{Kinds, Mix, check, event, for_random_traces, well_formed};
use aerodrome::check::{Checker, EngineKind, Lowering, Retries};
use aerodrome::trace::{Event, ObjectKind, Op, Semantics, Update};

const X: u32 = 1;
const Y: u32 = 2;
/// A `Mutex<T>`.
const LOCK: u32 = 30;
/// A `Mutex<()>`.
const BARE: u32 = 40;
const A: u32 = 900;
const B: u32 = 901;

const KINDS: Kinds = Kinds(|id| match id {
    LOCK => ObjectKind::Lock,
    BARE => ObjectKind::BareLock,
    _ => ObjectKind::Variable,
});

fn begin(strand: u32) -> Event {
    event(strand, Op::Begin, A)
}
fn end(strand: u32) -> Event {
    event(strand, Op::End, A)
}
fn read(strand: u32, object: u32) -> Event {
    event(strand, Op::Read, object)
}
fn write(strand: u32, object: u32) -> Event {
    event(strand, Op::Write, object)
}
fn fork(strand: u32, child: u32) -> Event {
    event(strand, Op::Fork, child)
}
fn join(strand: u32, child: u32) -> Event {
    event(strand, Op::Join, child)
}
fn split(strand: u32) -> Event {
    event(strand, Op::Split, 0)
}
fn restart(strand: u32) -> Event {
    event(strand, Op::Restart, 0)
}

/// When each violation was given out, and which event had closed it.
fn given_out(semantics: Semantics, trace: &[Event]) -> Vec<(usize, u64)> {
    let mut checker = Checker::new(EngineKind::Exact, semantics);
    let mut result = Vec::new();
    for (i, &event) in trace.iter().enumerate() {
        let found = checker.step(event, i as u64 + 1, &KINDS);
        result.extend(found.map(|violation| (i + 1, violation.event)));
    }
    while let Some(violation) = checker.finish(&KINDS) {
        result.push((trace.len() + 1, violation.event));
    }
    result
}

fn rust(trace: &[Event]) -> Vec<(usize, u64)> {
    given_out(Semantics::Rust, trace)
}

fn paper(trace: &[Event]) -> Vec<(usize, u64)> {
    given_out(Semantics::Paper, trace)
}

fn lowered(trace: &[Event]) -> Vec<Event> {
    let (mut retries, mut lowering) = (Retries::new(), Lowering::new(Semantics::Rust));
    let mut result = Vec::new();
    let mut lower = |event, ()| lowering.lower(event, &mut |event| result.push(event));
    for &event in trace {
        retries.take(event, (), &mut lower);
    }
    retries.flush_all(&mut lower);
    result
}

/// Strand 0 is in a block; strand 1 locks in the middle of it.
fn locked_twice(lock: u32) -> Vec<Event> {
    let section = |strand| {
        [
            event(strand, Op::Acquire, lock),
            event(strand, Op::Release, lock),
        ]
    };
    [
        [begin(0)].as_slice(),
        &section(0),
        &section(1),
        &section(0),
        &[end(0)],
    ]
    .concat()
}

#[test]
fn a_lock_around_data_orders_under_paper_only() {
    assert_eq!(rust(&locked_twice(LOCK)), []);
    assert_eq!(paper(&locked_twice(LOCK)), [(6, 6)]);
}

#[test]
fn a_lock_around_nothing_orders_under_either() {
    assert_eq!(rust(&locked_twice(BARE)), [(6, 6)]);
    assert_eq!(paper(&locked_twice(BARE)), [(6, 6)]);
}

/// Nothing is kept of a lock around data, so its number's next owner is a lock like any other.
#[test]
fn events_of_a_lock_around_data_may_be_left_out_under_rust() {
    const NEXT: Kinds = Kinds(|_| ObjectKind::BareLock);
    let section = |strand| {
        [
            event(strand, Op::AcquireShared, LOCK),
            event(strand, Op::ReleaseShared, LOCK),
        ]
    };
    let trace = [
        [begin(0)].as_slice(),
        &section(0),
        &[event(1, Op::Acquire, LOCK), event(1, Op::Release, LOCK)],
        &section(0),
        &[write(0, X), end(0)],
    ]
    .concat();
    for strand in [0, 1] {
        let mut checker = Checker::new(EngineKind::Exact, Semantics::Rust);
        // The release is left out.
        let shared = event(strand, Op::AcquireShared, LOCK);
        assert_eq!(checker.step(shared, 1, &KINDS), None);
        let retired = event(2, Op::Retire, LOCK);
        assert_eq!(checker.step(retired, 2, &KINDS), None);
        let found: Vec<u64> = (3..)
            .zip(&trace)
            .filter_map(|(position, &event)| checker.step(event, position, &NEXT))
            .map(|violation| violation.event)
            .collect();
        assert_eq!(found, [8], "shared by {strand}");
    }
}

#[test]
fn updates_of_one_kind_commute_under_rust_only() {
    let update = |strand, kind| event(strand, Op::Update(kind), X);
    let same = [
        begin(0),
        update(0, Update::Add),
        update(1, Update::Add),
        update(0, Update::Add),
        end(0),
    ];
    assert_eq!(rust(&same), []);
    assert_eq!(paper(&same), [(4, 4)]);
    let different = [
        begin(0),
        update(0, Update::Add),
        update(1, Update::Or),
        update(0, Update::Add),
        end(0),
    ];
    assert_eq!(rust(&different), [(4, 4)]);
}

/// Strand 0 comes between what 2 does: it may not have come after 2 because of X.
fn around_a_vain_update(x_of_2: Op, x_of_0: Op) -> Vec<Event> {
    vec![
        event(1, Op::Update(Update::Or), X),
        begin(2),
        event(2, x_of_2, X),
        begin(0),
        event(0, x_of_0, X),
        write(0, Y),
        end(0),
        read(2, Y),
        end(2),
    ]
}

#[test]
fn a_vain_update_commutes_with_reads_vain_ones_and_its_own_kind() {
    let vain = Op::Vain(Update::Or);
    for other in [
        Op::Read,
        Op::Vain(Update::Add),
        Op::Vain(Update::Swap),
        Op::Update(Update::Or),
    ] {
        assert_eq!(rust(&around_a_vain_update(vain, other)), [], "{other:?}");
        assert_eq!(rust(&around_a_vain_update(other, vain)), [], "{other:?}");
    }
    for other in [Op::Write, Op::ReadWrite, Op::Update(Update::Add)] {
        let [found] = rust(&around_a_vain_update(vain, other))[..] else {
            panic!("{other:?} orders");
        };
        assert_eq!(found.1, 8, "{other:?}");
        assert_eq!(
            rust(&around_a_vain_update(other, vain)).len(),
            1,
            "{other:?}"
        );
    }
}

#[test]
fn every_updater_of_a_new_kind_comes_after_all_of_the_old_kind() {
    let update = |strand, kind| event(strand, Op::Update(kind), X);
    // Strand 0 adds; 1 and 2 subtract; each of them tells 0 afterwards.
    for teller in [1, 2] {
        let trace = [
            begin(0),
            update(0, Update::Add),
            update(1, Update::Or),
            update(2, Update::Or),
            write(teller, Y),
            read(0, Y),
            write(0, 5),
        ];
        assert_eq!(rust(&trace), [(8, 6)], "told by {teller}");
    }
}

#[test]
fn a_split_ends_the_transaction_under_rust_only() {
    let trace = [
        begin(0),
        write(0, X),
        split(0),
        write(1, X),
        write(0, X),
        end(0),
    ];
    assert_eq!(rust(&trace), []);
    assert_eq!(paper(&trace), [(5, 5)]);
    assert_eq!(
        lowered(&[begin(0), split(0), end(0)]),
        [begin(0), end(0), begin(0), end(0)]
    );
    assert_eq!(lowered(&[split(0)]), []);
}

#[test]
fn a_join_of_a_strand_from_outside_splits() {
    let trace = [
        fork(0, 5),
        begin(0),
        write(0, X),
        write(5, X),
        join(0, 5),
        read(0, X),
        end(0),
    ];
    assert_eq!(rust(&trace), []);
    assert_eq!(paper(&trace), [(5, 5), (6, 6)]);
    assert_eq!(
        lowered(&trace),
        [
            fork(0, 5),
            begin(0),
            write(0, X),
            write(5, X),
            end(0),
            begin(0),
            join(0, 5),
            read(0, X),
            end(0)
        ]
    );
}

#[test]
fn a_restart_forgets_what_was_read() {
    let torn = |last| {
        [
            begin(0),
            read(0, X),
            write(1, X),
            write(1, Y),
            read(0, Y),
            last,
        ]
    };
    assert_eq!(rust(&torn(restart(0))), []);
    assert_eq!(rust(&torn(end(0))), [(6, 5)]);
    for last in [write(0, 9), split(0), read(0, 9)] {
        assert_eq!(rust(&torn(last)), [(7, 5)], "at the end of the trace");
    }
    assert_eq!(paper(&torn(restart(0))), [(5, 5)]);
}

#[test]
fn what_was_read_before_a_restart_closes_no_cycle_later_either() {
    // A sequence lock's reader looks while the writer is at work, sees that it must look again, and
    // only then does the writer go on.
    let retried = |looks_again: bool| {
        let mut trace = vec![
            begin(1),
            write(1, X),
            begin(0),
            read(0, X),
            read(0, Y),
            restart(0),
        ];
        trace.extend(looks_again.then_some(read(0, X)));
        trace.extend([write(1, Y), write(1, X), end(1), read(0, Y), end(0)]);
        trace
    };
    assert_eq!(rust(&retried(false)), []);
    assert_eq!(paper(&retried(false)), [(7, 7), (8, 8)]);
    // What is read after the restart counts: the new X, before the writer is through with it.
    assert_eq!(rust(&retried(true)), [(12, 9)]);
}

#[test]
fn a_transaction_that_has_waited_for_its_turn_is_still_seen() {
    // 0 fails to take the flag X from 1, takes it later, and comes between what 1 does with it.
    let trace = [
        begin(1),
        event(1, Op::ReadWrite, X),
        begin(0),
        restart(0),
        read(0, X),
        restart(0),
        write(1, X),
        event(0, Op::ReadWrite, X),
        write(0, X),
        end(0),
        event(1, Op::ReadWrite, X),
        end(1),
    ];
    assert_eq!(rust(&trace), [(11, 11)]);
}

#[test]
fn a_restart_after_a_write_does_nothing() {
    let trace = [
        begin(0),
        write(0, 9),
        read(0, X),
        write(1, X),
        restart(0),
        read(0, X),
        end(0),
    ];
    assert_eq!(rust(&trace), [(7, 6)]);
}

#[test]
fn a_violation_waits_for_the_end_of_the_blocks_that_looked() {
    // 1 reads X before 0 writes it, and Y after 0 wrote that: 0 closes no cycle, 1 does, and 2 has
    // nothing to do with it.
    let trace = [
        begin(2),
        begin(1),
        read(1, X),
        begin(0),
        write(0, X),
        write(0, Y),
        read(1, Y),
        end(0),
        write(2, 9),
        end(1),
    ];
    assert_eq!(rust(&trace), [(10, 7)]);
}

#[test]
fn a_validated_read_is_silent_when_the_writer_closes_the_cycle() {
    // The reader has seen Y new; the writer then changes X, which the reader has seen old.
    let trace = [
        begin(1),
        begin(0),
        write(1, Y),
        read(0, Y),
        read(0, X),
        write(1, X),
        restart(0),
        end(0),
        end(1),
    ];
    assert_eq!(rust(&trace), []);
    let trace = [
        begin(1),
        begin(0),
        write(1, Y),
        read(0, Y),
        read(0, X),
        write(1, X),
        end(0),
        end(1),
    ];
    assert_eq!(rust(&trace), [(7, 6)]);
}

#[test]
fn a_forked_strand_works_for_the_transaction() {
    let trace = [
        begin(0),
        write(0, X),
        fork(0, 5),
        write(5, X),
        read(5, Y),
        join(0, 5),
        read(0, X),
        end(0),
    ];
    assert_eq!(rust(&trace), []);
    assert_eq!(paper(&trace), [(6, 6), (7, 7)]);
    assert_eq!(
        lowered(&trace),
        [
            begin(0),
            write(0, X),
            write(0, X),
            read(0, Y),
            read(0, X),
            end(0)
        ]
    );
    let disturbed = [begin(0), write(0, X), fork(0, 5), write(1, X), write(5, X)];
    assert_eq!(rust(&disturbed), [(5, 5)]);
}

#[test]
fn a_grandchild_works_for_the_transaction_too() {
    let trace = [
        begin(0),
        fork(0, 5),
        fork(5, 6),
        write(6, X),
        join(5, 6),
        join(0, 5),
        end(0),
    ];
    assert_eq!(lowered(&trace), [begin(0), write(0, X), end(0)]);
}

#[test]
fn a_worker_is_a_strand_after_the_transaction_once_that_ends() {
    let trace = [
        begin(0),
        fork(0, 5),
        read(5, X),
        end(0),
        write(5, X),
        join(0, 5),
    ];
    assert_eq!(
        lowered(&trace),
        [
            begin(0),
            read(0, X),
            fork(0, 5),
            end(0),
            write(5, X),
            join(0, 5)
        ]
    );
}

#[test]
fn the_rest_of_a_workers_block_is_a_transaction() {
    let inner = |op| event(5, op, B);
    let trace = [
        begin(0),
        fork(0, 5),
        inner(Op::Begin),
        read(5, X),
        end(0),
        write(5, X),
        inner(Op::End),
        write(5, Y),
    ];
    assert_eq!(
        lowered(&trace),
        [
            begin(0),
            read(0, X),
            fork(0, 5),
            inner(Op::Begin),
            end(0),
            write(5, X),
            inner(Op::End),
            write(5, Y)
        ]
    );
}

#[test]
fn a_worker_that_outlives_the_transaction_takes_its_locks_along() {
    let lock = |strand, op| event(strand, op, LOCK);
    let trace = [
        begin(0),
        fork(0, 5),
        lock(5, Op::Acquire),
        end(0),
        lock(5, Op::Release),
    ];
    assert_eq!(
        lowered(&trace),
        [
            begin(0),
            lock(0, Op::Acquire),
            lock(0, Op::Release),
            fork(0, 5),
            lock(5, Op::Acquire),
            end(0),
            lock(5, Op::Release)
        ]
    );
}

#[test]
fn a_worker_keeps_no_lock_whose_guard_has_moved() {
    let lock = |strand, op| event(strand, op, BARE);
    let trace = [
        begin(0),
        fork(0, 5),
        lock(5, Op::Acquire),
        lock(1, Op::Release),
        end(0),
        write(5, X),
    ];
    assert_eq!(
        lowered(&trace),
        [
            begin(0),
            lock(0, Op::Acquire),
            lock(1, Op::Release),
            fork(0, 5),
            end(0),
            write(5, X)
        ]
    );
    let left_behind = [
        begin(0),
        fork(0, 5),
        lock(5, Op::Acquire),
        event(5, Op::Exit, 0),
        end(0),
        lock(1, Op::Release),
    ];
    assert!(!lowered(&left_behind).contains(&lock(5, Op::Acquire)));
}

#[test]
fn a_worker_that_waits_splits_the_transaction() {
    let trace = [
        begin(0),
        fork(0, 5),
        write(5, X),
        split(5),
        write(5, Y),
        write(0, Y),
        end(0),
    ];
    assert_eq!(
        lowered(&trace),
        [
            begin(0),
            write(0, X),
            fork(0, 5),
            end(0),
            begin(0),
            write(5, Y),
            write(0, Y),
            end(0)
        ]
    );
}

#[test]
fn a_workers_write_counts_for_the_transaction() {
    let trace = [begin(0), fork(0, 5), write(5, X), restart(0), end(0)];
    assert_eq!(lowered(&trace), [begin(0), write(0, X), fork(0, 5), end(0)]);
}

#[test]
fn a_worker_joined_by_a_stranger_comes_before_it() {
    let trace = [
        begin(0),
        fork(0, 5),
        write(5, X),
        join(1, 5),
        write(1, Y),
        read(0, Y),
        end(0),
    ];
    assert_eq!(rust(&trace), [(7, 6)]);
}

/// Strand 0 is in a block that 1's comes after. 1 lets a worker live on, is over, and its number
/// goes to a strand that joins the worker.
#[test]
fn a_worker_joined_by_the_next_owner_of_its_masters_number_comes_before_it() {
    for over in [event(1, Op::Exit, 0), join(2, 1)] {
        let trace = [
            begin(0),
            write(0, X),
            fork(2, 1),
            begin(1),
            read(1, X),
            fork(1, 5),
            end(1),
            over,
            fork(3, 1),
            join(1, 5),
            write(1, Y),
            read(0, Y),
        ];
        assert_eq!(rust(&trace), [(13, 12)], "{:?}", over.op);
    }
}

#[test]
fn a_workers_value_stays_with_its_write() {
    let value = |strand| event(strand, Op::Value, 7);
    let trace = [
        begin(0),
        fork(0, 5),
        value(5),
        write(0, X),
        write(5, Y),
        join(0, 5),
        end(0),
    ];
    assert_eq!(
        lowered(&trace),
        [begin(0), write(0, X), value(0), write(0, Y), end(0)]
    );
}

#[test]
fn messages_and_signals_order_under_either() {
    for (before, after) in [(Op::Send, Op::Recv), (Op::Signal, Op::Await)] {
        let trace = [
            begin(0),
            event(0, before, 100),
            event(1, after, 100),
            write(1, X),
            read(0, X),
            end(0),
        ];
        assert_eq!(rust(&trace), [(6, 5)]);
        assert_eq!(paper(&trace), [(5, 5)]);
        let unrelated = [
            begin(0),
            event(0, before, 100),
            event(1, before, 101),
            event(0, after, 101),
        ];
        assert_eq!(rust(&unrelated), []);
    }
}

#[test]
fn repeats_are_counted() {
    let mut checker = Checker::new(EngineKind::Exact, Semantics::Rust);
    let round = [begin(0), write(0, X), write(1, X), write(0, X), end(0)];
    let mut given_out = 0;
    for (&event, position) in round.iter().cycle().take(50).zip(1..) {
        given_out += checker.step(event, position, &KINDS).iter().count();
    }
    assert_eq!(checker.finish(&KINDS), None);
    assert_eq!((given_out, checker.counts()), (1, [10].as_slice()));
}

const RECORDED: Mix = Mix {
    events: 60,
    extended: true,
    recorded: true,
    guards_move: false,
};

/// No engine sees it.
fn is_decided_before(op: Op) -> bool {
    matches!(
        op,
        Op::Split
            | Op::Restart
            | Op::Pause
            | Op::Busy
            | Op::CompareExchange
            | Op::CompareExchangeFailed
    )
}

#[test]
fn what_is_lowered_is_well_formed() {
    for_random_traces(0..20_000, RECORDED, |events| {
        let lowered = lowered(events);
        check(
            !lowered.iter().any(|event| is_decided_before(event.op)),
            || "not plain".into(),
        )?;
        let possible = well_formed(&lowered, false);
        check(possible == lowered, || {
            format!("{lowered:?} has more than {possible:?}")
        })
    });
}

/// Without forks and joins of strands, splits and restarts there is no difference but in updates
/// and locks.
#[test]
fn paper_changes_nothing_but_updates() {
    for_random_traces(0..1_000, RECORDED, |events| {
        let mut lowering = Lowering::new(Semantics::Paper);
        let mut result = Vec::new();
        for &event in events {
            lowering.lower(event, &mut |event| result.push(event));
        }
        let expected: Vec<_> = events
            .iter()
            .filter(|event| {
                use Op::{Busy, Leave, Pause, Reach, Restart, Split};
                !matches!(event.op, Split | Restart | Pause | Busy | Reach | Leave)
            })
            .map(|&event| Event {
                op: match event.op {
                    Op::Update(_) | Op::Vain(_) | Op::CompareExchange => Op::ReadWrite,
                    Op::CompareExchangeFailed => Op::Read,
                    op => op,
                },
                ..event
            })
            .collect();
        check(result == expected, || format!("{result:?}"))
    });
}
