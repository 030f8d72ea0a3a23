//! Block-based and reduction-based prediction against the brute-force judge.

use crate::common::*;
use aerodrome::check::{Engine, Exact};
use aerodrome::predict::reduction::Rules;
use aerodrome::predict::{AnalysisKind, Options, Outcome, Prediction, Predictor, Tier};
use aerodrome::trace::{Event, Op};
use std::collections::BTreeSet;

const SHAPES: [Shape; 4] = [
    Shape {
        strands: 2,
        objects: 2,
        locks: 2,
        length: 7,
        plain: true,
        ordered: true,
        order: false,
    },
    Shape {
        strands: 3,
        objects: 2,
        locks: 2,
        length: 4,
        plain: true,
        ordered: true,
        order: true,
    },
    Shape {
        strands: 2,
        objects: 2,
        locks: 3,
        length: 8,
        plain: false,
        ordered: true,
        order: true,
    },
    Shape {
        strands: 3,
        objects: 3,
        locks: 2,
        length: 5,
        plain: false,
        ordered: true,
        order: true,
    },
];

/// The variable, the strands and what comes between, of sandwiches.
fn kinds(
    trace: &[Event],
    triples: impl IntoIterator<Item = Triple>,
) -> BTreeSet<(u32, u32, u32, Op)> {
    let at = |position: u64| trace[position as usize - 1];
    let kind = |[e1, f, _]: Triple| {
        let (mine, theirs) = (at(e1), at(f));
        let class = class(theirs.op);
        (theirs.target, mine.strand.0, theirs.strand.0, class)
    };
    triples.into_iter().map(kind).collect()
}

fn sandwich(prediction: &Prediction) -> Option<Triple> {
    let positions: Vec<u64> = prediction
        .accesses
        .iter()
        .map(|step| step.access.position)
        .collect();
    positions.try_into().ok()
}

/// Does the exact engine see a violation when the events come in this order?
fn violates(trace: &[Event], schedule: &[u64]) -> bool {
    let mut engine = Exact::new();
    let events = schedule
        .iter()
        .map(|&position| trace[position as usize - 1]);
    let seen = events.filter(|event| {
        !matches!(
            event.op,
            Op::Acquire | Op::Release | Op::AcquireShared | Op::ReleaseShared
        )
    });
    seen.zip(1..)
        .any(|(event, position)| engine.step(event, position).is_some())
}

/// Every prediction has a schedule that can be played and violates, and nothing that the judge
/// finds is missed.
fn blocks_hold(trace: &[Event]) -> Result<(), String> {
    let judge = Judge::new(trace);
    let outcome = predict(trace, &[AnalysisKind::Blocks]);
    for prediction in &outcome.predictions {
        if prediction.tier != Tier::Predicted {
            return Err(format!("{prediction:#?} was not checked"));
        }
        let schedule = judge.play(&prediction.schedule)?;
        if !violates(trace, &schedule) {
            return Err(format!(
                "the schedule {schedule:?} does not show {prediction:#?}"
            ));
        }
    }
    let expected = kinds(trace, judge.minimal());
    let predicted = kinds(trace, outcome.predictions.iter().filter_map(sandwich));
    let missed: Vec<_> = expected.difference(&predicted).collect();
    if missed.is_empty() {
        Ok(())
    } else {
        Err(format!("missed {missed:?}"))
    }
}

#[test]
fn blocks_miss_nothing_that_the_judge_finds_and_every_prediction_can_be_played() {
    on_random_traces(6_000, &SHAPES, blocks_hold);
}

#[test]
fn blocks_hold_where_deadlocks_are_possible_because_schedules_are_looked_for() {
    let crosswise = SHAPES.map(|shape| Shape {
        ordered: false,
        ..shape
    });
    on_random_traces(2_000, &crosswise, blocks_hold);
}

/// The blocks of the transactions that a reduction hint is about.
fn hinted(outcome: &Outcome) -> BTreeSet<u32> {
    let block = |prediction: &Prediction| prediction.accesses[0].transaction.as_ref()?.block;
    outcome
        .predictions
        .iter()
        .filter_map(block)
        .map(|block| block.0)
        .collect()
}

#[test]
fn reduction_misses_nothing_that_the_judge_finds_and_its_false_alarms_are_counted() {
    let (mut alarms, mut alarms_2003, mut silent, mut real) = (0, 0, 0, 0);
    for seed in 0..traces(6_000) {
        let trace = random_trace(&mut Random(seed), SHAPES[seed as usize % SHAPES.len()]);
        let by = |rules| {
            let predictor = Predictor::with_rules(&[AnalysisKind::Reduction], rules);
            hinted(&predict_by(predictor, &trace))
        };
        let (hinted, hinted_2003) = (by(Rules::Tse2006), by(Rules::Rv2003));
        assert!(
            hinted.is_subset(&hinted_2003),
            "seed {seed}: the later rules only leave hints out: {hinted:?}, {hinted_2003:?}\n{}",
            show(&trace)
        );
        // Each strand's transactions are runs of one block, which has the strand's number and one
        // more.
        for [e1, ..] in Judge::new(&trace).minimal() {
            let block = trace[e1 as usize - 1].strand.0 + 1;
            assert!(
                hinted.contains(&block),
                "seed {seed}: {e1}\n{}",
                show(&trace)
            );
        }
        let violations = predict(&trace, &[AnalysisKind::Blocks]).predictions.len();
        match (hinted.is_empty(), violations) {
            (true, 0) => silent += 1,
            (true, _) => panic!("seed {seed}: a cycle without a hint\n{}", show(&trace)),
            (false, 0) => alarms += 1,
            (false, _) => real += 1,
        }
        alarms_2003 += u32::from(violations == 0 && !hinted_2003.is_empty());
    }
    println!(
        "reduction: {real} traces with a violation, {alarms} false alarms, {silent} silent; \
         by the rules of 2003 {alarms_2003} false alarms"
    );
    assert!(real > 500 && silent > 500, "{real} {alarms} {silent}");
}

/// So many transactions, each of a strand of its own, that share a variable with the next one.
fn ring(transactions: u32) -> Vec<Event> {
    let work = |strand: u32| {
        let next = (strand + 1) % transactions;
        format!("{strand} begin, {strand} w x{strand}, {strand} w x{next}, {strand} end")
    };
    let text: Vec<String> = (0..transactions).map(work).collect();
    let name = |index: u32| char::from(b'a' + index as u8).to_string();
    let text = (0..transactions).fold(text.join(", "), |text, index| {
        text.replace(&format!("x{index}"), &name(index))
    });
    trace(&text)
}

#[test]
fn in_brief_no_cycle_of_more_than_three_transactions_is_told() {
    let kinds = [AnalysisKind::Blocks];
    for (transactions, told) in [(2, true), (3, true), (4, false)] {
        let run = ring(transactions);
        let all = predict_by(Predictor::new(&kinds), &run);
        let pattern = format!("a cycle of {transactions} transactions");
        let mut patterns = all.predictions.iter().map(|found| &found.pattern);
        assert!(patterns.all(|found| *found == pattern), "{all:?}");
        assert!(!all.predictions.is_empty(), "{pattern}");
        let brief = predict_by(Predictor::with_rules(&kinds, Options::brief()), &run);
        assert_eq!(!brief.predictions.is_empty(), told, "{pattern}: {brief:?}");
        assert!(brief.notes.is_empty(), "{:?}", brief.notes);
    }
}

#[test]
fn in_brief_reduction_tells_of_races_alone() {
    let run = trace(
        "0 begin, 0 acq l, 0 r x, 0 rel l, 0 acq l, 0 w x, 0 rel l, 0 r y, 0 end, \
         1 acq l, 1 w x, 1 rel l, 1 w y",
    );
    let kinds = [AnalysisKind::Reduction];
    let all = predict_by(Predictor::new(&kinds), &run);
    assert!(all.predictions[0].pattern.starts_with("not reducible"));
    let brief = predict_by(Predictor::with_rules(&kinds, Options::brief()), &run);
    assert!(brief.predictions.is_empty(), "{:?}", brief.predictions);
    assert_eq!(brief.races, all.races);
    assert_eq!(brief.races.len(), 1);
}
