//! Minimal prediction against the brute-force judge, and on traces written by hand.

use crate::common::*;
use aerodrome::predict::{AnalysisKind, LockState as State, Locks, Options, Outcome, Predictor};
use aerodrome::predict::{Tier, conflict};
use aerodrome::trace::{Event, StrandId};
use std::cell::Cell;
use std::collections::BTreeSet;

fn minimal(trace: &[Event]) -> Outcome {
    predict(trace, &[AnalysisKind::Minimal])
}

/// Does a prediction stand for what some schedule has? The algorithm keeps one witness for each
/// object, strand, class of access, lockset and acquisition history, of what comes between and of
/// the places that it can come to; and where a strand holds nothing between its two accesses, that
/// place stands for the others.
fn stands_for(judge: &Judge, trace: &[Event], predicted: &Triple, meeting: &Meeting) -> bool {
    let at = |position: u64| trace[position as usize - 1];
    let (&[first, between, second], &([mine, theirs, _], _)) = (predicted, meeting);
    let meanwhile = judge.held_meanwhile(meeting);
    at(between).target == at(theirs).target
        && at(between).strand == at(theirs).strand
        && at(first).strand == at(mine).strand
        && class(at(between).op) == class(at(theirs).op)
        && judge.held_at(between) == judge.held_at(theirs)
        && judge
            .held_between(first, second)
            .iter()
            .any(|held| held.is_empty() || held == meanwhile)
}

/// No prediction that the judge does not know, each with a schedule that shows it; and, where the
/// trace is to be explained whole, one that stands for everything that the judge finds. Says
/// whether the judge finds anything.
fn judged(trace: &[Event], whole: bool) -> Result<bool, String> {
    let judge = Judge::new(trace);
    let meetings = judge.meetings();
    let known: BTreeSet<Triple> = meetings.iter().map(|&(triple, _)| triple).collect();
    let mut predicted = BTreeSet::new();
    for prediction in &minimal(trace).predictions {
        let triple = [0, 1, 2].map(|at| prediction.accesses[at].access.position);
        if !known.contains(&triple) {
            return Err(format!("{triple:?} is predicted, but no schedule has it"));
        }
        if prediction.tier != Tier::Predicted {
            return Err(format!("{triple:?} was not checked"));
        }
        let schedule = judge.play(&prediction.schedule)?;
        if !judge.minimal_of(&schedule).contains(&triple) {
            return Err(format!(
                "the schedule {schedule:?} does not show {triple:?}"
            ));
        }
        predicted.insert(triple);
    }
    let covered = |meeting: &&Meeting| {
        let mut predicted = predicted.iter();
        predicted.any(|triple| stands_for(&judge, trace, triple, meeting))
    };
    match meetings.iter().find(|meeting| whole && !covered(meeting)) {
        None => Ok(!known.is_empty()),
        Some(missed) => Err(format!(
            "nothing stands for {missed:?}\nheld at the one between: {:?}\nheld meanwhile: {:?}\npredicted: {predicted:?}",
            judge.held_at(missed.0[1]),
            judge.held_meanwhile(missed),
        )),
    }
}

const SMALL: Shape = Shape {
    strands: 2,
    objects: 1,
    locks: 2,
    length: 10,
    plain: true,
    ordered: true,
    order: false,
};

#[test]
fn the_judge_finds_what_a_list_of_all_schedules_shows() {
    for seed in 0..traces(300) {
        let shape = Shape {
            length: 6,
            order: seed % 2 == 0,
            plain: seed % 3 == 0,
            ordered: false,
            ..SMALL
        };
        let trace = random_trace(&mut Random(seed), shape);
        let judge = Judge::new(&trace);
        let mut found = BTreeSet::new();
        if judge.schedules(20_000, |schedule| found.extend(judge.minimal_of(schedule))) {
            assert_eq!(judge.minimal(), found, "seed {seed}\n{}", show(&trace));
        }
    }
}

#[test]
fn cav_2009_theorem_1_the_prediction_is_what_the_judge_finds_where_locks_have_an_order() {
    let (plain, length) = (false, 12);
    let shapes = [
        SMALL,
        Shape {
            strands: 3,
            objects: 2,
            length: 7,
            ..SMALL
        },
        Shape {
            locks: 3,
            length,
            plain,
            ..SMALL
        },
        Shape {
            strands: 3,
            locks: 3,
            length: 8,
            plain,
            ..SMALL
        },
    ];
    let violations = Cell::new(0);
    on_random_traces(6_000, &shapes, |trace| {
        let found = judged(trace, true)?;
        violations.set(violations.get() + u64::from(found));
        Ok(())
    });
    println!("{} of them have a violation", violations.get());
    assert!(violations.get() >= traces(6_000) / 8, "{violations:?}");
}

#[test]
fn cav_2009_theorem_1_the_prediction_is_what_the_judge_finds_where_nothing_deadlocks() {
    let deadlocks = Cell::new(0);
    let check = |trace: &[Event]| {
        let free = Judge::new(trace).deadlock_free();
        deadlocks.set(deadlocks.get() + u32::from(!free));
        judged(trace, free).map(drop)
    };
    let shared = Shape {
        length: 10,
        plain: false,
        ..CROSSWISE
    };
    on_random_traces(2_000, &[CROSSWISE, shared], check);
    println!("{} of them can deadlock", deadlocks.get());
}

/// Two strands that take three locks in any order.
const CROSSWISE: Shape = Shape {
    locks: 3,
    length: 12,
    ordered: false,
    ..SMALL
};

#[test]
fn cav_2009_lemma_3_two_strands_can_stand_where_locksets_and_acquisition_histories_allow() {
    let (mut apart, mut together, mut by_histories) = (0, 0, 0);
    for seed in 0..traces(2_000) {
        let trace = random_trace(&mut Random(seed), CROSSWISE);
        let mut locks = Locks::default();
        // For each strand: its lock states after so many of its events.
        let mut states = [vec![State::FREE], vec![State::FREE]];
        for (&event, position) in trace.iter().zip(1..) {
            locks.step(event, position);
            states[event.strand.0 as usize].push(locks.state(StrandId(event.strand.0)));
        }
        let reachable = Judge::new(&trace).reachable();
        for (i, &e) in states[0].iter().enumerate() {
            for (j, &f) in states[1].iter().enumerate() {
                let can_meet = reachable.contains(&vec![i as u8, j as u8]);
                let trace = || format!("seed {seed}: {i} and {j}\n{}", show(&trace));
                assert_eq!(locks.compatible(e, f), can_meet, "{}", trace());
                apart += u32::from(!can_meet);
                together += u32::from(can_meet);
                by_histories += u32::from(!can_meet && locks.disjoint(e, f));
            }
        }
    }
    println!("{together} pairs of places, {apart} apart, {by_histories} by their histories alone");
    assert!(together > 10_000 && apart > 10_000 && by_histories > 100);
}

#[test]
fn cav_2009_section_5_all_violations_between_neighbours_are_predicted_on_request() {
    let shape = Shape {
        strands: 3,
        locks: 3,
        length: 7,
        ..SMALL
    };
    let options = Options {
        all: true,
        ..Options::default()
    };
    let mut more = 0;
    for seed in 0..traces(1_500) {
        let trace = random_trace(&mut Random(seed), shape);
        let judge = Judge::new(&trace);
        // Each access has a site of its own. Between neighbours among the accesses that conflict
        // with the one between is enough: what lies between others lies between such.
        let at = |position: u64| trace[position as usize - 1];
        let are_neighbours = |&[first, between, second]: &Triple| {
            let mut inner = (first + 1..second).map(at);
            !inner.any(|event| {
                let own = event.strand == at(first).strand;
                let same = event.target == at(first).target;
                own && same && conflict(event.op, at(between).op)
            })
        };
        let expected: BTreeSet<Triple> = judge.minimal().into_iter().collect();
        let expected: BTreeSet<Triple> = expected.into_iter().filter(are_neighbours).collect();
        let predictor = Predictor::with_rules(&[AnalysisKind::Minimal], options);
        let found = predict_by(predictor, &trace).predictions;
        let triple = |found: &aerodrome::predict::Prediction| {
            [0, 1, 2].map(|at| found.accesses[at].access.position)
        };
        let predicted: BTreeSet<Triple> = found.iter().map(triple).collect();
        assert_eq!(predicted, expected, "seed {seed}\n{}", show(&trace));
        more += usize::from(minimal(&trace).predictions.len() < expected.len());
    }
    assert!(
        more > 50,
        "{more} traces have more than one witness a lock state"
    );
}

#[test]
fn cav_2009_lemma_1_a_schedule_is_not_minimally_serializable_iff_an_access_comes_between_two() {
    let mut violations = 0;
    for seed in 0..traces(200) {
        let trace = random_trace(&mut Random(seed), Shape { length: 5, ..SMALL });
        let judge = Judge::new(&trace);
        judge.schedules(2_000, |schedule| {
            let is_serializable = has_serial_order(&trace, schedule);
            let between = judge.minimal_of(schedule);
            assert_eq!(
                is_serializable,
                between.is_empty(),
                "{schedule:?}\n{}",
                show(&trace)
            );
            violations += u32::from(!is_serializable);
        });
    }
    assert!(violations > 500, "{violations}");
}

/// Definition 2: can the transactions be made whole by swapping neighbours that do not depend on
/// each other? Of two strands and one variable, as definition 4 wants it: an order of any two
/// transactions is given by their first dependent accesses, and no two may be ordered both ways,
/// directly or by others.
fn has_serial_order(trace: &[Event], schedule: &[u64]) -> bool {
    use aerodrome::trace::Op;
    let at = |position: u64| trace[position as usize - 1];
    let mut number = 0;
    let mut open = [None; 2];
    let mut owners = vec![0; trace.len() + 1];
    for (event, position) in trace.iter().zip(1..) {
        let own = &mut open[event.strand.0 as usize];
        if event.op == Op::Begin || own.is_none() {
            number += 1;
        }
        owners[position] = own.unwrap_or(number);
        match event.op {
            Op::Begin => {
                *own = Some(number);
                owners[position] = number;
            }
            Op::End => *own = None,
            _ => {}
        }
    }
    let mut before = vec![vec![false; number + 1]; number + 1];
    for (late, &f) in schedule.iter().enumerate() {
        for &e in &schedule[..late] {
            let (a, b) = (at(e), at(f));
            let depend = a.strand == b.strand || a.target == b.target && conflict(a.op, b.op);
            let (a, b) = (owners[e as usize], owners[f as usize]);
            before[a][b] |= depend && a != b;
        }
    }
    for via in 0..=number {
        for a in 0..=number {
            for b in 0..=number {
                before[a][b] |= before[a][via] && before[via][b];
            }
        }
    }
    (0..=number).all(|it| !before[it][it])
}

#[test]
fn cav_2009_lemma_2_three_events_can_come_in_a_row_iff_two_strands_can_stand_between() {
    let mut possible = 0;
    for seed in 0..traces(600) {
        let trace = random_trace(&mut Random(seed), CROSSWISE);
        let judge = Judge::new(&trace);
        if !judge.deadlock_free() {
            continue;
        }
        let known = judge.minimal();
        let reachable = judge.reachable();
        for triple in judge.candidates() {
            let can_stand = reachable
                .iter()
                .any(|place| judge.stands_between(place, &triple));
            let text = || format!("seed {seed}: {triple:?}\n{}", show(&trace));
            assert_eq!(known.contains(&triple), can_stand, "{}", text());
            possible += u32::from(can_stand);
        }
    }
    assert!(possible > 500, "{possible}");
}

#[test]
fn with_forks_joins_signals_and_messages_every_prediction_is_right_and_none_is_missing() {
    let shape = Shape {
        order: true,
        plain: false,
        ..SMALL
    };
    let three = Shape {
        strands: 3,
        length: 6,
        ..shape
    };
    let check = |trace: &[Event]| judged(trace, Judge::new(trace).deadlock_free()).map(drop);
    on_random_traces(2_000, &[shape, three], check);
}

#[test]
fn a_write_of_another_strand_that_came_late_is_predicted_between_check_and_act() {
    let run = trace(
        "0 begin, 0 acq l, 0 r x, 0 rel l, 0 acq l, 0 w x, 0 rel l, 0 end, 1 acq l, 1 w x, 1 rel l",
    );
    let outcome = minimal(&run);
    let [prediction] = &outcome.predictions[..] else {
        panic!("one prediction: {outcome:?}")
    };
    assert_eq!(prediction.pattern, "read, write, write");
    assert_eq!(
        prediction
            .accesses
            .iter()
            .map(|step| step.access.position)
            .collect::<Vec<_>>(),
        [3, 10, 6]
    );
    assert!(
        prediction
            .accesses
            .iter()
            .all(|step| step.held.len() == 1 && step.held[0].lock.0 == u32::from(b'l' - b'a'))
    );
    let begins: Vec<_> = prediction
        .accesses
        .iter()
        .map(|step| step.transaction.as_ref().and_then(|t| t.begin))
        .collect();
    assert_eq!(begins, [Some(1), None, Some(1)]);
    let schedule: Vec<(u32, u64)> = prediction
        .schedule
        .iter()
        .map(|run| (run.strand.0, run.to))
        .collect();
    assert_eq!(
        schedule,
        [(0, 4), (1, 11), (0, 6)],
        "the other strand lets go of the lock before the first goes on"
    );
    assert!(outcome.notes.is_empty());
}

#[test]
fn a_lock_that_is_let_go_only_inside_the_gap_counts() {
    // At both accesses l is held; between them it is not.
    let gap = "0 begin, 0 acq l, 0 r x, 0 rel l, 0 acq m, 0 rel m, 0 acq l, 0 r x, 0 rel l, 0 end";
    assert_eq!(
        minimal(&trace(&format!("{gap}, 1 acq l, 1 w x, 1 rel l")))
            .predictions
            .len(),
        1
    );
    // Where it is not, nothing can come between.
    let whole = "0 begin, 0 acq l, 0 r x, 0 acq m, 0 rel m, 0 r x, 0 rel l, 0 end";
    assert_eq!(
        minimal(&trace(&format!("{whole}, 1 acq l, 1 w x, 1 rel l"))).predictions,
        []
    );
}

#[test]
fn locks_taken_crosswise_exclude_a_violation_that_locksets_alone_would_allow() {
    let crosswise = "0 acq l, 0 begin, 0 acq m, 0 rel m, 0 r x, 0 r x, 0 end, 0 rel l, \
                     1 acq m, 1 acq l, 1 rel l, 1 w x, 1 rel m";
    assert_eq!(minimal(&trace(crosswise)).predictions, []);
    let straight =
        "0 acq l, 0 begin, 0 acq m, 0 rel m, 0 r x, 0 r x, 0 end, 0 rel l, 1 acq m, 1 w x, 1 rel m";
    assert_eq!(minimal(&trace(straight)).predictions.len(), 1);
}

#[test]
fn order_by_fork_join_signal_and_message_excludes_impossible_schedules() {
    let broken = "0 begin, 0 r x, 0 w x, 0 end";
    for (ordered, sort) in [
        (format!("{broken}, 0 fork 1, 1 w x"), "fork"),
        (format!("1 w x, 0 join 1, {broken}"), "join"),
        (format!("{broken}, 0 send m, 1 recv m, 1 w x"), "message"),
        (
            format!("1 w x, 1 signal b, 0 signal b, 1 await b, 0 await b, {broken}"),
            "barrier",
        ),
        (
            format!("{broken}, 0 send m, 2 recv m, 2 send n, 1 recv n, 1 w x"),
            "two messages",
        ),
    ] {
        assert_eq!(minimal(&trace(&ordered)).predictions, [], "{sort}");
    }
    for (free, sort) in [
        (format!("0 fork 1, {broken}, 1 w x"), "fork before"),
        (format!("{broken}, 1 w x, 0 join 1"), "join after"),
        (
            format!("0 send m, {broken}, 1 recv m, 1 w x"),
            "message before",
        ),
        (
            format!("{broken}, 1 w x, 0 send m, 1 recv m"),
            "message after",
        ),
    ] {
        assert_eq!(minimal(&trace(&free)).predictions.len(), 1, "{sort}");
    }
}

#[test]
fn readers_of_a_shared_lock_do_not_exclude_each_other() {
    let run = "0 begin, 0 acqs l, 0 r x, 0 r x, 0 rels l, 0 end";
    assert_eq!(
        minimal(&trace(&format!("{run}, 1 acqs l, 1 w x, 1 rels l")))
            .predictions
            .len(),
        1
    );
    assert_eq!(
        minimal(&trace(&format!("{run}, 1 acq l, 1 w x, 1 rel l"))).predictions,
        []
    );
    // Held exclusively before, it was shared once: that is where the other comes.
    let both =
        format!("0 begin, 0 acq l, 0 r x, 0 r x, 0 rel l, 0 end, {run}, 1 acqs l, 1 w x, 1 rels l");
    assert_eq!(minimal(&trace(&both)).predictions.len(), 1);
}

#[test]
fn updates_of_one_kind_commute_and_conflict_with_all_else() {
    let with = |ops: &str| {
        minimal(&trace(ops))
            .predictions
            .iter()
            .map(|p| p.pattern.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(with("0 begin, 0 add x, 0 add x, 0 end, 1 add x"), [""; 0]);
    assert_eq!(
        with("0 begin, 0 add x, 0 add x, 0 end, 1 or x"),
        ["update, update, update"]
    );
    assert_eq!(with("0 begin, 0 r x, 0 add x, 0 end, 1 add x"), [""; 0]);
    assert_eq!(
        with("0 begin, 0 r x, 0 r x, 0 end, 1 add x"),
        ["read, update, read"]
    );
    assert_eq!(
        with("0 begin, 0 r x, 0 add x, 0 r x, 0 end, 1 add x"),
        ["read, update, read"]
    );
    assert_eq!(
        with("0 begin, 0 add x, 0 add x, 0 end, 1 r x"),
        ["update, read, update"]
    );
    assert_eq!(
        with("0 begin, 0 rw x, 0 end, 1 w x"),
        [""; 0],
        "nothing comes between a read and a write in one step"
    );
}

#[test]
fn two_owners_of_one_number_are_not_mixed_up() {
    // The object retires between; the other strand's write is to another object.
    assert_eq!(
        minimal(&trace("0 begin, 0 r x, 0 w x, 0 end, 0 retire x, 1 w x")).predictions,
        []
    );
    // So does a lock: the two do not exclude each other.
    let locks =
        "0 begin, 0 acq l, 0 r x, 0 r x, 0 rel l, 0 end, 0 retire l, 1 acq l, 1 w x, 1 rel l";
    assert_eq!(minimal(&trace(locks)).predictions.len(), 1);
    // What was found before the object retired stays found.
    assert_eq!(
        minimal(&trace(
            "0 begin, 0 r x, 0 w x, 0 end, 1 w x, 1 retire x, 1 w x"
        ))
        .predictions
        .len(),
        1
    );
    // A strand's number is given to another, which is not after the first one's join.
    assert_eq!(
        minimal(&trace(
            "0 fork 1, 1 begin, 1 r x, 1 r x, 1 end, 0 join 1, 0 fork 1, 1 w x"
        ))
        .predictions,
        []
    );
}

#[test]
fn locks_that_are_not_nested_are_said_to_be_and_nothing_wrong_is_claimed() {
    let hand_over_hand = "0 begin, 0 acq l, 0 r x, 0 acq m, 0 rel l, 0 r x, 0 rel m, 0 end, \
                          1 acq l, 1 acq m, 1 w x, 1 rel m, 1 rel l";
    let outcome = minimal(&trace(hand_over_hand));
    assert_eq!(outcome.predictions, []);
    assert!(
        outcome.notes[0].starts_with("not nested: may be incomplete"),
        "{:?}",
        outcome.notes
    );
}

#[test]
fn a_third_strand_that_passes_a_message_on_is_part_of_the_schedule() {
    let run = "2 acq l, 2 send m, 2 rel l, 0 begin, 0 acq l, 0 r x, 0 rel l, 0 r x, 0 end, 1 recv m, 1 w x";
    let outcome = minimal(&trace(run));
    assert_eq!(outcome.predictions.len(), 1);
    assert!(
        outcome.predictions[0]
            .schedule
            .iter()
            .any(|run| run.strand.0 == 2)
    );
    assert_eq!(judged(&trace(run), true), Ok(true));
}

#[test]
fn a_strand_that_only_accesses_and_is_joined_is_part_of_the_schedule() {
    let run = trace("0 begin, 0 r x, 0 w x, 0 end, 2 w y, 1 join 2, 1 w x");
    let outcome = minimal(&run);
    assert_eq!(outcome.predictions.len(), 1);
    let schedule = &outcome.predictions[0].schedule;
    assert!(schedule.iter().any(|run| run.strand.0 == 2), "{schedule:?}");
}

#[test]
fn findings_that_look_alike_are_counted_not_repeated() {
    let mut run = trace("0 begin, 0 r x, 0 w x, 0 end, 1 w x, 0 begin, 0 r y, 0 w y, 0 end, 1 w y");
    let (first, second) = run.split_at_mut(5);
    second
        .iter_mut()
        .zip(first)
        .for_each(|(later, earlier)| later.site = earlier.site);
    let outcome = minimal(&run);
    assert_eq!(outcome.predictions.len(), 1);
    assert_eq!(outcome.predictions[0].count, 2);
}
