//! The papers' examples and verdicts.

use super::{RaceTest, Reduction};
use crate::predict::Outcome;
use crate::predict::notation::{run, trace};

fn offline(text: &str) -> Outcome {
    run(Box::new(Reduction::offline()), &trace(text))
}

fn tested(test: RaceTest, text: &str) -> Outcome {
    run(Box::new(Reduction::offline().with(test)), &trace(text))
}

fn online(text: &str) -> Outcome {
    run(Box::new(Reduction::online()), &trace(text))
}

fn patterns(outcome: &Outcome) -> Vec<&str> {
    outcome
        .predictions
        .iter()
        .map(|found| found.pattern.trim_start_matches("not reducible: "))
        .collect()
}

#[test]
fn rv_2003_example_1_one_racy_access_in_each_transaction_is_reducible_and_two_are_not() {
    // The read and the write race with the other's read: NN, though the set is atomic.
    let outcome = offline("1: [ Rx Wx ]; 2: [ Rx ]");
    assert_eq!(patterns(&outcome), ["NN"]);
    assert_eq!(outcome.races.len(), 1);
    assert!(offline("1: [ Wx ]; 2: [ Rx ]").predictions.is_empty());
}

#[test]
fn rv_2003_example_3_race_free_setters_are_not_reducible() {
    let outcome = offline("1: [ +l Wx -l +l Wy -l ]; 2: [ +l Wx -l +l Wy -l ]");
    assert_eq!(patterns(&outcome), ["RBLRBL", "RBLRBL"]);
    assert!(outcome.races.is_empty());
}

#[test]
fn rv_2003_example_4_regions_that_only_read_are_left_out() {
    assert!(
        offline("1: [ +l Rx Ry -l ]; 2: [ +l Rx -l +l Ry -l ]")
            .predictions
            .is_empty()
    );
}

#[test]
fn rv_2003_example_5_only_the_transaction_with_two_regions_is_not_reducible() {
    let outcome = offline("1: [ +l Wx -l ]; 2: [ +l Rx -l +l Wx -l ]");
    assert_eq!(patterns(&outcome), ["RBLRBL"]);
}

#[test]
fn rv_2003_example_6_is_race_free_pair_by_pair_and_not_by_one_lock() {
    let text = "1: [ +l Wx -l Rx ]; 2: [ +l Rx -l ]";
    let outcome = tested(RaceTest::Pairwise, text);
    assert!(outcome.predictions.is_empty() && outcome.races.is_empty());
    assert_eq!(patterns(&tested(RaceTest::Lockset, text)), ["RNLN"]);
}

#[test]
fn rv_2003_examples_7_to_9_are_the_false_alarms_that_the_text_names() {
    assert_eq!(patterns(&offline("1: [ Wx Wx ]; 2: [ Wx ]")), ["NN"]);
    // RBLN in the text of 2003; since theorem 2, the region that only reads is left out.
    assert!(
        offline("1: [ +l Rx -l Wy ]; 2: [ +l Rx -l Wy ]")
            .predictions
            .is_empty()
    );
    let outcome = offline("1: [ +l Wx Rx -l +l Wx -l ]; 2: [ +l Wx Rx -l +l Wx -l ]");
    // Several accesses of a variable without races are one B.
    assert_eq!(patterns(&outcome), ["RBLRBL", "RBLRBL"]);
}

#[test]
fn tse_2006_figures_1_and_5_the_vector_is_not_reducible_and_the_clearing_is() {
    let outcome = offline("1: [ +v Rc -v +v Rc Re Rc Rc -v ]; 2: [ +v Rc We Wc -v ]");
    assert_eq!(patterns(&outcome), ["RBLRBBL"]);
    assert_eq!(
        outcome.predictions[0]
            .accesses
            .iter()
            .map(|step| step.access.position)
            .collect::<Vec<_>>(),
        [4, 5]
    );
    assert!(outcome.races.is_empty());
}

#[test]
fn tse_2006_figure_4_multilockset_finds_no_race_and_with_t4_a_false_one() {
    let readers = "3: [ +a Rx -a ]; 2: [ +b Rx -b ];";
    let first = format!("{readers} 1: [ +a +b Wx Wx -b -a ]");
    for test in [RaceTest::Multilockset, RaceTest::Pairwise] {
        assert!(tested(test, &first).predictions.is_empty());
    }
    // No one lock is held at all accesses.
    assert!(!tested(RaceTest::Lockset, &first).predictions.is_empty());
    let fourth = format!("{readers} 4: [ Rx +a +b Wx -b -a ]");
    assert!(
        !tested(RaceTest::Multilockset, &fourth)
            .predictions
            .is_empty()
    );
    assert!(tested(RaceTest::Pairwise, &fourth).races.is_empty());
    assert!(tested(RaceTest::Pairwise, &fourth).predictions.is_empty());
}

#[test]
fn theorem_2_leaves_out_regions_with_harmless_accesses_only() {
    // `y` is strand 1's own.
    assert!(
        offline("1: [ +l Wx -l +l Wy -l +l +k -k -l ]; 2: [ +l Wx -l ]; 3: +k -k +l -l")
            .predictions
            .is_empty()
    );
    assert!(
        !offline("1: [ +l Wx -l +l Wy -l ]; 2: [ +l Wx Wy -l ]")
            .predictions
            .is_empty()
    );
}

#[test]
fn thread_local_and_protected_locks_move_both_ways() {
    // `m` is used by strand 1 alone.
    assert!(
        offline("1: [ +m Wx -m +l Wx -l ]; 2: [ Ry ]")
            .predictions
            .is_empty()
    );
    // `k` is always taken under `l`.
    let nested = "1: [ +l +k Wx -k +k Wx -k -l ]; 2: [ +l +k Wx -k -l ]";
    assert!(offline(nested).predictions.is_empty());
    assert!(
        !offline(&format!("{nested}; 3: +k Rx -k"))
            .predictions
            .is_empty()
    );
    // Given back before the lock that it protects, it protects nothing.
    assert!(
        !offline("1: [ +l +k Wx -l -k +k Wx -k ]; 2: [ +l +k Wx -l -k ]")
            .predictions
            .is_empty()
    );
}

#[test]
fn the_online_variant_misses_what_only_later_events_show() {
    // When strand 1 runs, nobody else has touched lock or variable.
    let text = "1: [ +l Rx -l +l Wx -l ]; 2: [ +l Rx -l +l Wx -l ]";
    assert_eq!(patterns(&offline(text)), ["RBLRBL", "RBLRBL"]);
    assert_eq!(patterns(&online(text)), ["RBLRBL"]);
    assert!(
        online("1: [ +l Wx -l ]; 2: [ +l Wx -l +l Rz -l ]")
            .predictions
            .is_empty()
    );
}

#[test]
fn order_takes_races_away_and_messages_move() {
    assert!(
        offline("0: fork1; 1: [ Rx Wx ]; 0: join1 fork2; 2: [ Rx Wx ]")
            .races
            .is_empty()
    );
    assert_eq!(
        offline("0: fork1 fork2; 1: [ Rx Wx ]; 2: [ Rx Wx ]")
            .races
            .len(),
        1
    );
    // Receive, work, send.
    assert!(
        offline("1: >m; 2: [ <m +l Wx -l >n ]; 3: <n +l Wx -l")
            .predictions
            .is_empty()
    );
    assert_eq!(
        patterns(&offline("2: [ +l Wx -l >n; 3: <n +l Wx -l >m; 2: <m ]")),
        ["RBLLR"]
    );
}

#[test]
fn shared_locks_protect_readers_from_writers_only() {
    assert!(
        offline("1: [ s+l Rx s-l ]; 2: [ +l Wx -l ]")
            .races
            .is_empty()
    );
    for test in [
        RaceTest::Lockset,
        RaceTest::Multilockset,
        RaceTest::Pairwise,
    ] {
        assert_eq!(
            tested(test, "1: [ s+l Rx s-l ]; 2: [ s+l Wx s-l ]")
                .races
                .len(),
            1,
            "{test:?}"
        );
        assert_eq!(
            tested(test, "1: [ s+l Rx s-l ]; 2: [ +l Wx -l ]")
                .races
                .len(),
            0,
            "{test:?}"
        );
    }
}

#[test]
fn updates_of_one_kind_do_not_race_and_different_ones_do() {
    let outcome = offline("1: [ Ax Ax ]; 2: Ax");
    assert!(outcome.races.is_empty() && outcome.predictions.is_empty());
    assert_eq!(offline("1: [ Ax Ax ]; 2: Sx").races.len(), 1);
}

#[test]
fn equal_transactions_and_repeated_sections_are_kept_once() {
    let mut now = crate::predict::Context::default();
    let mut reduction = Reduction::offline();
    let text = format!("1: [ {} ];", "+l Wx Ry -l ".repeat(50)).repeat(3) + "2: [ +l Wx -l ]";
    for (event, position) in trace(&text).iter().zip(1..) {
        let event = crate::trace::Event {
            target: if event.op == crate::trace::Op::Begin {
                1
            } else {
                event.target
            },
            ..*event
        };
        now.step(event, position);
        crate::predict::Analysis::step(&mut reduction, event, position, &mut now);
    }
    assert_eq!(reduction.words.len(), 2);
    assert!(reduction.words.keys().all(|(_, tokens)| tokens.len() <= 8));
    let outcome = crate::predict::Analysis::finish(Box::new(reduction), &mut now);
    assert_eq!(outcome.predictions.len(), 1);
    assert_eq!(outcome.predictions[0].count, 3);
}
