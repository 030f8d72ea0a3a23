//! Guards that another strand than the one that took the lock touches or gives back: nothing
//! tracked says when they went over.
//!
//! A lock and its content have one number, so `w l` touches what `l` guards.

use crate::common::*;
use aerodrome::predict::{AnalysisKind, Outcome, Tier};
use aerodrome::trace::{Event, Op};
use std::collections::BTreeSet;

const SURE: [AnalysisKind; 2] = [AnalysisKind::Minimal, AnalysisKind::Blocks];

/// The positions of what is predicted.
fn found(outcome: &Outcome) -> Vec<Vec<u64>> {
    let predicted = outcome.predictions.iter();
    let predicted = predicted.filter(|found| found.tier == Tier::Predicted);
    let positions = predicted.map(|found| {
        let steps = found.accesses.iter();
        steps.map(|step| step.access.position).collect()
    });
    positions.collect()
}

#[track_caller]
fn predicted(text: &str, expected: &[&[u64]]) {
    for kinds in [&SURE[..], &SURE[..1], &SURE[1..]] {
        let outcome = predict(&trace(text), kinds);
        assert_eq!(
            found(&outcome),
            expected,
            "{kinds:?} of {text}: {outcome:#?}"
        );
        assert_eq!(outcome.predictions.len(), expected.len(), "{outcome:#?}");
    }
}

/// Strand 2 gives back what strand 1 took, and writes `x` under the lock.
const GIVES_BACK: &str = "2 rel l, 2 acq l, 2 w l, 2 w x, 2 rel l";

#[test]
fn a_block_after_the_holders_last_touch_is_not_under_the_lock() {
    let start = "0 fork 1, 0 fork 2, 1 acq l, 1 w l, 1 begin, 1 r x, 1 w x, 1 end, ";
    predicted(&[start, GIVES_BACK].concat(), &[&[6, 12, 7]]);
    // Where the merge had the release first, the same is seen.
    let early = "0 fork 1, 0 fork 2, 1 acq l, 1 w l, 2 rel l, 1 begin, 1 r x, 1 w x, 1 end, \
                 2 acq l, 2 w x, 2 rel l";
    predicted(early, &[&[7, 11, 8]]);
    // The holder never touched the content.
    let bare = "1 acq l, 1 begin, 1 r x, 1 w x, 1 end, 2 rel l, 2 acq l, 2 w x, 2 rel l";
    predicted(bare, &[&[3, 8, 4]]);
}

#[test]
fn a_block_before_the_holders_last_touch_is_under_the_lock() {
    let start = "1 acq l, 1 begin, 1 r x, 1 w x, 1 end, 1 w l, ";
    predicted(&[start, GIVES_BACK].concat(), &[]);
    // Between two touches, too.
    let start = "1 acq l, 1 w l, 1 begin, 1 r x, 1 w x, 1 end, 1 w l, ";
    predicted(&[start, GIVES_BACK].concat(), &[]);
    // The touch is what makes the difference.
    let start = "1 acq l, 1 w l, 1 begin, 1 r x, 1 w x, 1 end, ";
    predicted(&[start, GIVES_BACK].concat(), &[&[4, 10, 5]]);
}

#[test]
fn what_the_other_strand_does_from_its_first_touch_to_the_release_is_under_the_lock() {
    let third = "3 acq l, 3 w x, 3 rel l";
    let touches = "1 acq l, 1 w l, 2 w l, 2 begin, 2 r x, 2 w x, 2 end, 2 rel l, ";
    predicted(&[touches, third].concat(), &[]);
    // Before its first touch it need not have the guard.
    let before = "1 acq l, 1 w l, 2 begin, 2 r x, 2 w x, 2 end, 2 w l, 2 rel l, ";
    predicted(&[before, third].concat(), &[&[4, 10, 5]]);
    let after = "1 acq l, 1 w l, 2 w l, 2 rel l, 2 begin, 2 r x, 2 w x, 2 end, ";
    predicted(&[after, third].concat(), &[&[6, 10, 7]]);
}

#[test]
fn a_lock_on_its_way_cannot_be_taken() {
    // The guard goes to strand 2 and comes back while the block of strand 1 is under way.
    let there_and_back = "1 begin, 1 acq l, 1 r x, 1 r l, 2 r l, 1 r l, 1 w x, 1 rel l, 1 end, ";
    let third = "3 acq l, 3 w x, 3 rel l";
    predicted(&[there_and_back, third].concat(), &[]);
    let content = "3 acq l, 3 w l, 3 rel l";
    predicted(&[there_and_back, content].concat(), &[]);
    // Strand 2 gives it back, and strand 1 takes it again.
    let taken_again = "1 begin, 1 acq l, 1 r x, 1 r l, 2 r l, 2 rel l, 1 acq l, 1 w x, 1 rel l, \
                       1 end, ";
    predicted(&[taken_again, third].concat(), &[&[3, 12, 8]]);
}

#[test]
fn a_guard_that_is_lent_still_protects_what_the_lender_does() {
    // Strand 2 reads through a reference to the guard of strand 1, which holds the lock meanwhile.
    let lent = "1 acq l, 1 fork 2, 1 begin, 1 r x, 2 r l, 1 w x, 1 end, 1 join 2, 1 rel l, ";
    predicted(&[lent, "3 acq l, 3 w x, 3 rel l"].concat(), &[]);
    predicted(&[lent, "3 w x"].concat(), &[&[4, 10, 6]]);
}

#[test]
fn a_guard_may_go_through_three_strands() {
    let fourth = "4 acq l, 4 w x, 4 rel l";
    // Strand 2 touches between, and strand 3 gives back.
    let between = "1 acq l, 1 w l, 2 w l, 2 begin, 2 r x, 2 w x, 2 end, 2 w l, 3 rel l, ";
    predicted(&[between, fourth].concat(), &[]);
    let after = "1 acq l, 1 w l, 2 w l, 2 begin, 2 r x, 2 w x, 2 end, 3 rel l, ";
    predicted(&[after, fourth].concat(), &[&[5, 10, 6]]);
    let last = "1 acq l, 1 w l, 2 w l, 3 w l, 3 begin, 3 r x, 3 w x, 3 end, 3 rel l, ";
    predicted(&[last, fourth].concat(), &[]);
}

#[test]
fn shared_guards_move_as_well() {
    let block = "1 begin, 1 r x, 1 w x, 1 end, ";
    let writer = "2 rels l, 2 acq l, 2 w x, 2 rel l";
    predicted(
        &["1 acqs l, 1 r l, ", block, writer].concat(),
        &[&[4, 9, 5]],
    );
    predicted(&["1 acqs l, ", block, "1 r l, ", writer].concat(), &[]);
    // A reader does not keep a reader out, wherever the guard is.
    let reader = "2 rels l, 3 acqs l, 3 w x, 3 rels l";
    predicted(
        &["1 acqs l, ", block, "1 r l, ", reader].concat(),
        &[&[3, 9, 4]],
    );
    // Taken exclusively, given back shared.
    let downgraded = "1 acq l, 1 w l, 1 begin, 1 r x, 1 w x, 1 end, 2 down l, 2 rels l, ";
    predicted(
        &[downgraded, "3 acq l, 3 w x, 3 rel l"].concat(),
        &[&[4, 10, 5]],
    );
}

#[test]
fn the_holder_may_have_ended_before_its_guard_is_touched() {
    let start = "0 fork 1, 0 fork 2, 1 acq l, 1 w l, 1 begin, 1 r x, 1 w x, 1 end, 0 join 1, ";
    predicted(&[start, GIVES_BACK].concat(), &[&[6, 13, 7]]);
    // A strand that is forked only after the join.
    let start = "0 fork 1, 1 acq l, 1 w l, 1 begin, 1 r x, 1 w x, 1 end, 0 join 1, 0 fork 2, ";
    predicted(&[start, GIVES_BACK].concat(), &[]);
}

#[test]
fn where_the_last_touch_is_too_long_ago_the_lock_is_handed_over_later() {
    let far = |before: &str, after: &str| {
        let others = "0 w y, ".repeat(5000);
        predict(&trace(&[before, &others, after].concat()), &SURE)
    };
    let start = "1 acq l, 1 w l, 1 begin, 1 r x, 1 w x, 1 end, ";
    // The block has left the window: it counts as made under the lock.
    let early = far(start, GIVES_BACK);
    assert_eq!(found(&early), Vec::<Vec<u64>>::new());
    let note = "a guard went to another thread more than 4096 events after its last use: \
                may be incomplete";
    assert_eq!(early.notes, [note]);
    // The block is in the window.
    let block = "1 begin, 1 r x, 1 w x, 1 end, ";
    let late = far("1 acq l, 1 w l, ", &[block, GIVES_BACK].concat());
    assert_eq!(found(&late), [[5004, 5010, 5005]]);
    assert_eq!(late.notes, [note]);
    // Without a guard that moves there is no note.
    let own = far("1 acq l, 1 w l, ", &[block, "1 rel l"].concat());
    assert!(own.notes.is_empty());
}

#[test]
fn who_is_given_a_lock_does_not_wait_for_it() {
    let deadlocks = |text: &str| predict(&trace(text), &[AnalysisKind::Deadlock]).deadlocks;
    let other = "3 acq l, 3 acq m, 3 rel m, 3 rel l";
    let given = "1 acq l, 2 acq m, 2 w l, 2 rel l, 2 rel m, ";
    assert!(deadlocks(&[given, other].concat()).is_empty());
    // It holds the lock from then on, since its first touch.
    let other = "3 acq m, 3 acq l, 3 rel l, 3 rel m";
    let given = "1 acq l, 2 w l, 2 acq m, 2 rel m, 2 rel l, ";
    let found = deadlocks(&[given, other].concat());
    assert_eq!(found.len(), 1, "{found:#?}");
    let held: BTreeSet<u64> = found[0]
        .waits
        .iter()
        .map(|wait| wait.held.position)
        .collect();
    assert_eq!(held, BTreeSet::from([2, 6]));
}

/// A trace with guards that move, as it is recorded, and the same with the messages that hand them
/// over. Sites tell the events apart in both.
fn random(random: &mut Random) -> (Trace, Trace, Carried) {
    let strands = 2 + random.below(2);
    let (mut whole, mut carried) = (Trace::new(), Carried::new());
    let mut held: Option<(u32, bool)> = None;
    let mut is_open = vec![false; strands as usize];
    let lock = LOCKS;
    for at in 0.. {
        let strand = random.below(strands);
        let is_over = at > 13;
        let mut push = |op, target| whole.push(event(strand, op, target, at + 1));
        match (random.below(8), held) {
            (0, None) if !is_over => {
                let shared = random.chance(4);
                held = Some((strand, shared));
                push(
                    if shared {
                        Op::AcquireShared
                    } else {
                        Op::Acquire
                    },
                    lock,
                );
            }
            (0..=2, Some((holder, shared))) => {
                if holder != strand {
                    let message = MESSAGES + at;
                    let touched = |event: &Event| event.strand.0 == holder && event.target == lock;
                    let last = whole.iter().rposition(touched).expect("it took it");
                    whole.insert(last + 1, event(holder, Op::Send, message, 0));
                    whole.push(event(strand, Op::Recv, message, 0));
                    carried.insert(message, (lock, shared));
                    held = Some((strand, shared));
                }
                let gives_back = is_over || random.chance(2);
                let op = match (gives_back, shared) {
                    (false, false) => Op::Write,
                    (false, true) => Op::Read,
                    (true, false) => Op::Release,
                    (true, true) => Op::ReleaseShared,
                };
                whole.push(event(strand, op, lock, at + 1));
                held = held.filter(|_| !gives_back);
            }
            (3, _) if is_open[strand as usize] || !is_over => {
                let is_open = &mut is_open[strand as usize];
                push(if *is_open { Op::End } else { Op::Begin }, 1);
                *is_open = !*is_open;
            }
            (4.., _) if !is_over => {
                push(
                    if random.chance(3) {
                        Op::Read
                    } else {
                        Op::Write
                    },
                    random.below(2),
                );
            }
            _ => {}
        }
        if is_over && held.is_none() && !is_open.contains(&true) {
            break;
        }
    }
    let recorded = whole.iter().copied();
    let recorded =
        recorded.filter(|event| !carried.contains_key(&event.target) || event.site.0 > 0);
    (recorded.collect(), whole, carried)
}

#[test]
fn on_random_traces_the_prediction_is_what_the_judge_finds() {
    let (mut moved, mut violations, mut missed) = (0, 0, 0);
    for seed in 0..traces(2000) {
        let (recorded, whole, carried) = random(&mut Random(seed));
        moved += usize::from(!carried.is_empty());
        let judge = Judge::with_carried(&whole, carried);
        let sites = |trace: &[Event], triple: [u64; 3]| {
            triple.map(|position| trace[position as usize - 1].site.0)
        };
        let known = judge.minimal().into_iter();
        let known: BTreeSet<[u32; 3]> = known.map(|triple| sites(&whole, triple)).collect();
        violations += usize::from(!known.is_empty());
        let outcome = predict(&recorded, &SURE[..1]);
        for positions in found(&outcome) {
            let triple = sites(&recorded, [0, 1, 2].map(|at| positions[at]));
            assert!(
                known.contains(&triple),
                "seed {seed}: {triple:?} is predicted, but no schedule has it\n{}",
                show(&whole)
            );
        }
        // What is handed over has to arrive, so what a deadlock follows may be missed.
        let is_missed = !known.is_empty() && outcome.predictions.is_empty();
        assert!(
            !is_missed || !judge.deadlock_free(),
            "seed {seed}: nothing is predicted, but {known:?}\n{}",
            show(&whole)
        );
        missed += usize::from(is_missed);
    }
    assert!(missed * 100 < violations, "{missed} of {violations}");
    assert!(moved > 1000 && violations > 500, "{moved} {violations}");
}
