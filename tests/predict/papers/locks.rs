//! Lock states: which strands can stand where at the same time.

use aerodrome::predict::{Hold, LockState, Locks};
use aerodrome::trace::{Event, ObjectId, Op, SiteId, StrandId};

fn event(strand: u32, op: Op, lock: u32) -> Event {
    Event {
        strand: StrandId(strand),
        target: lock,
        site: SiteId::NONE,
        op,
    }
}

fn run(events: &[(u32, Op, u32)]) -> (Locks, LockState, LockState) {
    let mut locks = Locks::default();
    for (at, &(strand, op, lock)) in events.iter().enumerate() {
        locks.step(event(strand, op, lock), at as u64 + 1);
    }
    let (a, b) = (locks.state(StrandId(0)), locks.state(StrandId(1)));
    (locks, a, b)
}

#[test]
fn two_holders_of_one_lock_exclude_each_other_unless_both_share_it() {
    let (locks, a, b) = run(&[(0, Op::Acquire, 5), (1, Op::Acquire, 5)]);
    assert!(!locks.disjoint(a, b));
    let (locks, a, b) = run(&[(0, Op::AcquireShared, 5), (1, Op::Acquire, 5)]);
    assert!(!locks.disjoint(a, b));
    let (locks, a, b) = run(&[(0, Op::AcquireShared, 5), (1, Op::AcquireShared, 5)]);
    assert!(locks.compatible(a, b));
    let (locks, a, b) = run(&[
        (0, Op::Acquire, 5),
        (0, Op::Downgrade, 5),
        (1, Op::AcquireShared, 5),
    ]);
    assert!(locks.compatible(a, b));
    let (locks, a, b) = run(&[
        (0, Op::AcquireShared, 5),
        (0, Op::Upgrade, 5),
        (1, Op::AcquireShared, 5),
    ]);
    assert!(!locks.compatible(a, b));
}

#[test]
fn locks_taken_crosswise_are_not_compatible_though_the_locksets_are_disjoint() {
    let crosswise = [
        (0, Op::Acquire, 1),
        (0, Op::Acquire, 2),
        (0, Op::Release, 2),
        (1, Op::Acquire, 2),
        (1, Op::Acquire, 1),
        (1, Op::Release, 1),
    ];
    let (locks, a, b) = run(&crosswise);
    assert!(locks.disjoint(a, b));
    assert!(!locks.compatible(a, b));
    let (locks, a, b) = run(&crosswise[..4]);
    assert!(
        locks.compatible(a, b),
        "only one of them took the other's lock"
    );
}

#[test]
fn a_history_that_grows_for_long_leads_to_no_more_states() {
    let mut locks = Locks::default();
    locks.step(event(0, Op::Acquire, 0), 1);
    let count = |locks: &mut Locks, from: u32| {
        for lock in from..from + 100 {
            locks.step(event(0, Op::Acquire, lock), 2);
            locks.step(event(0, Op::Release, lock), 3);
        }
        (locks.count(), locks.state(StrandId(0)))
    };
    let (_, early) = count(&mut locks, 1);
    let (before, _) = count(&mut locks, 1);
    let (after, late) = count(&mut locks, 1);
    assert_eq!((before, early), (after, late));
}

#[test]
fn equal_locksets_with_equal_histories_are_one_state_whatever_happened_before() {
    let (mut locks, a, _) = run(&[(0, Op::Acquire, 1), (0, Op::Acquire, 2)]);
    locks.step(event(0, Op::Release, 2), 3);
    locks.step(event(0, Op::Release, 1), 4);
    assert_eq!(locks.state(StrandId(0)), LockState::FREE);
    locks.step(event(0, Op::Acquire, 1), 5);
    locks.step(event(0, Op::Acquire, 2), 6);
    assert_eq!(locks.state(StrandId(0)), a);
    assert_eq!(locks.not_nested(), None);
}

#[test]
fn a_release_out_of_order_is_noticed_at_its_position() {
    let (locks, a, _) = run(&[
        (0, Op::Acquire, 1),
        (0, Op::Acquire, 2),
        (0, Op::Release, 1),
    ]);
    assert_eq!(locks.not_nested(), Some(3));
    assert_eq!(
        locks.held(a),
        &[Hold {
            lock: ObjectId(2),
            shared: false
        }]
    );
}

#[test]
fn a_lock_shared_twice_under_one_number_is_free_after_two_releases() {
    let (mut locks, a, _) = run(&[(0, Op::AcquireShared, 1), (0, Op::AcquireShared, 1)]);
    locks.step(event(0, Op::ReleaseShared, 1), 3);
    assert_eq!(locks.state(StrandId(0)), a);
    locks.step(event(0, Op::ReleaseShared, 1), 4);
    assert_eq!(locks.state(StrandId(0)), LockState::FREE);
}
