//! Potential deadlocks: lock orders that go round in a circle.

use crate::common::*;
use aerodrome::predict::AnalysisKind;

/// For each deadlock, the positions of (what is held, what is wanted) around the circle.
fn deadlocks(text: &str) -> Vec<Vec<(u64, u64)>> {
    let outcome = predict(&trace(text), &[AnalysisKind::Deadlock]);
    let circle = |waits: &[aerodrome::predict::Wait]| {
        waits
            .iter()
            .map(|wait| (wait.held.position, wait.wanted.position))
            .collect()
    };
    outcome
        .deadlocks
        .iter()
        .map(|deadlock| circle(&deadlock.waits))
        .collect()
}

const FORTH: &str = "0 acq a, 0 acq b, 0 rel b, 0 rel a";
const BACK: &str = "1 acq b, 1 acq a, 1 rel a, 1 rel b";

#[test]
fn two_locks_taken_in_both_orders_are_reported_with_their_sites() {
    assert_eq!(deadlocks(&format!("{FORTH}, {BACK}")), [[(1, 2), (5, 6)]]);
}

#[test]
fn one_order_is_no_deadlock_and_neither_are_two_orders_of_one_strand() {
    assert!(deadlocks(&format!("{FORTH}, {}", FORTH.replace('0', "1"))).is_empty());
    assert!(deadlocks(&format!("{FORTH}, {}", BACK.replace('1', "0"))).is_empty());
}

#[test]
fn a_gate_lock_that_both_hold_lets_only_one_in() {
    assert!(
        deadlocks(&format!(
            "0 acq g, {FORTH}, 0 rel g, 1 acq g, {BACK}, 1 rel g"
        ))
        .is_empty()
    );
    assert_eq!(
        deadlocks(&format!(
            "0 acqs g, {FORTH}, 0 rels g, 1 acqs g, {BACK}, 1 rels g"
        ))
        .len(),
        1,
        "shared"
    );
}

#[test]
fn two_upgrades_of_one_lock_do_not_wait_for_each_other() {
    // Of those who can upgrade, one at a time has the lock, as parking_lot has it.
    let upgrade = "0 acqs a, 0 up a, 0 rel a";
    assert!(deadlocks(&format!("{upgrade}, {}", upgrade.replace('0', "1"))).is_empty());
    // A reader keeps the upgrade waiting.
    assert_eq!(
        deadlocks(&format!(
            "0 acq b, {upgrade}, 0 rel b, 1 acqs a, 1 acq b, 1 rel b, 1 rels a"
        ))
        .len(),
        1
    );
}

#[test]
fn strands_that_never_run_side_by_side_do_not_deadlock() {
    assert!(deadlocks(&format!("{FORTH}, 0 fork 1, {BACK}")).is_empty());
    assert!(deadlocks(&format!("{FORTH}, 0 send m, 1 recv m, {BACK}")).is_empty());
    assert_eq!(deadlocks(&format!("0 fork 1, {FORTH}, {BACK}")).len(), 1);
}

#[test]
fn a_circle_of_three_is_found_once() {
    let circle = "0 acq a, 0 acq b, 0 rel b, 0 rel a, 1 acq b, 1 acq c, 1 rel c, 1 rel b, 2 acq c, 2 acq a, 2 rel a, 2 rel c";
    assert_eq!(deadlocks(circle), [[(1, 2), (5, 6), (9, 10)]]);
    // A gate that only two of the three hold is enough.
    let gated = "0 acq g, 0 acq a, 0 acq b, 0 rel b, 0 rel a, 0 rel g, 1 acq b, 1 acq c, 1 rel c, 1 rel b, \
                 2 acq g, 2 acq c, 2 acq a, 2 rel a, 2 rel c, 2 rel g";
    assert!(deadlocks(gated).is_empty());
}

#[test]
fn readers_do_not_wait_for_readers() {
    let shared = "0 acqs a, 0 acqs b, 0 rels b, 0 rels a, 1 acqs b, 1 acqs a, 1 rels a, 1 rels b";
    assert!(deadlocks(shared).is_empty());
    let mixed = "0 acqs a, 0 acq b, 0 rel b, 0 rels a, 1 acqs b, 1 acq a, 1 rel a, 1 rels b";
    assert_eq!(deadlocks(mixed).len(), 1);
}

#[test]
fn every_deadlock_that_the_judge_runs_into_is_predicted_for_two_strands_and_none_else() {
    let (mut with, mut without) = (0, 0);
    for seed in 0..traces(1_000) {
        let shape = Shape {
            strands: 2,
            objects: 1,
            locks: 3,
            length: 10,
            plain: seed % 2 == 0,
            ordered: false,
            order: false,
        };
        let run = random_trace(&mut Random(seed), shape);
        let predicted = !predict(&run, &[AnalysisKind::Deadlock])
            .deadlocks
            .is_empty();
        assert_eq!(
            predicted,
            !Judge::new(&run).deadlock_free(),
            "seed {seed}\n{}",
            show(&run)
        );
        if predicted { with += 1 } else { without += 1 }
    }
    assert!(with > 20 && without > 20, "{with} with, {without} without");
}
