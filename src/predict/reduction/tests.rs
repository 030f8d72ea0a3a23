//! What moves which way, and what is kept of it.

use super::{RaceTest, Reduction, Rules};
use crate::predict::notation::{feed, movers, one_block, run, trace};
use crate::predict::{Analysis, Context, Outcome};

fn offline(text: &str) -> Outcome {
    run(Box::new(Reduction::offline()), &trace(text))
}

fn tested(test: RaceTest, text: &str) -> Outcome {
    run(Box::new(Reduction::offline().with(test)), &trace(text))
}

fn online(text: &str) -> Outcome {
    run(Box::new(Reduction::online()), &trace(text))
}

/// How the events of each transaction move, those included that are reducible.
pub(in crate::predict) fn forms(mut reduction: Reduction, text: &str) -> Vec<String> {
    let mut now = Context::default();
    feed(&mut now, &mut reduction, &trace(text));
    let forms = reduction.forms(&now).into_iter();
    forms.map(|(_, form)| form.movers).collect()
}

#[test]
fn one_racy_access_in_each_transaction_is_reducible_and_two_are_not() {
    assert!(offline("1: [ Wx ]; 2: [ Rx ]").predictions.is_empty());
    assert_eq!(movers(&offline("1: [ Wx Wx ]; 2: [ Rx ]")), ["NN"]);
}

#[test]
fn pair_by_pair_each_sort_of_access_is_judged_by_itself_and_by_locksets_the_variable() {
    // Only the write under no lock races, and only with the other strand's read.
    let text = "1: [ +l Wx -l Rx Wx ]; 2: [ +l Rx -l ]";
    assert_eq!(forms(Reduction::offline(), text), ["RBLBN", "RNL"]);
    for test in [RaceTest::Lockset, RaceTest::Multilockset] {
        let coarse = Reduction::offline().with(test);
        assert_eq!(forms(coarse, text), ["RNLNN", "RNL"], "{test:?}");
    }
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
fn by_the_first_papers_rules_every_region_counts_and_no_lock_moves_both_ways() {
    let by = |rules, text: &str| {
        let outcome = run(Box::new(Reduction::offline().by(rules)), &trace(text));
        movers(&outcome).len()
    };
    for text in [
        // Empty, read-only, thread-local; a lock of one strand, a lock under a lock.
        "1: [ +l -l +l -l ]; 2: +l -l",
        "1: [ +l Rx -l +l Rx -l ]; 2: +l Rx -l",
        "1: [ +l Wx -l +l Wx -l ]; 2: +l -l",
        "1: [ +m Wx -m +m Wx -m ]; 2: [ Ry ]",
        "1: [ +l +k Wx -k +k Wx -k -l ]; 2: +l +k Wx -k -l",
    ] {
        assert_eq!(by(Rules::Tse2006, text), 0, "{text}");
        assert_eq!(by(Rules::Rv2003, text), 1, "{text}");
    }
    assert_eq!("rv2003".parse(), Ok(Rules::Rv2003));
    assert_eq!(
        "rv2004".parse::<Rules>().unwrap_err(),
        "expected one of rv2003, tse2006, found `rv2004`"
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
    assert_eq!(movers(&offline(text)), ["RBLRBL", "RBLRBL"]);
    assert_eq!(movers(&online(text)), ["RBLRBL"]);
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
        movers(&offline("2: [ +l Wx -l >n; 3: <n +l Wx -l >m; 2: <m ]")),
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
    let (mut now, mut reduction) = (Context::default(), Reduction::offline());
    let text = format!("1: [ {} ];", "+l Wx Ry -l ".repeat(50)).repeat(3) + "2: [ +l Wx -l ]";
    feed(&mut now, &mut reduction, &one_block(&text));
    assert_eq!(reduction.words.len(), 2);
    assert!(reduction.words.keys().all(|(_, tokens)| tokens.len() <= 8));
    let outcome = Box::new(reduction).finish(&mut now);
    assert_eq!(outcome.predictions.len(), 1);
    assert_eq!(outcome.predictions[0].count, 3);
}
