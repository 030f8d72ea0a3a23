//! What moves which way, and what is kept of it.

use super::notation::{feed, movers, one_block, predicted, run, trace};
use super::published::reduction::{RaceTest, When, forms, not_reducible, races};
use crate::common::{Random, Shape, random_trace};
use aerodrome::predict::reduction::{Reduction, Rules};
use aerodrome::predict::{Analysis, AnalysisKind, Context, Outcome};

fn offline(text: &str) -> Outcome {
    predicted(AnalysisKind::Reduction, text)
}

/// What the published algorithm reports where each event is judged when it comes.
fn online(text: &str) -> Vec<String> {
    let (test, rules) = (RaceTest::Multilockset, Rules::default());
    not_reducible(forms(&trace(text), test, rules, When::Online))
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
    let forms = |test| forms(&trace(text), test, Rules::default(), When::Offline);
    assert_eq!(forms(RaceTest::Pairwise), ["RBLBN", "RNL"]);
    assert_eq!(movers(&offline(text)), ["RBLBN"]);
    for test in [RaceTest::Lockset, RaceTest::Multilockset] {
        assert_eq!(forms(test), ["RNLNN", "RNL"], "{test:?}");
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
        let outcome = run(Box::new(Reduction::by(rules)), &trace(text));
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
        "expected one of rv2003, tse2006, escape, online, found `rv2004`"
    );
}

#[test]
fn what_is_done_to_an_object_before_it_escapes_does_not_count() {
    let by = |rules, text: &str| {
        let outcome = run(Box::new(Reduction::by(rules)), &trace(text));
        (movers(&outcome).len(), outcome.races.len())
    };
    // Strand 1 fills in two fields without a lock, then stores a reference to them under one.
    let shared = "2: +l Rp -l [ +l Rx Wy -l ]";
    let made = format!("1: [ Wx Wy +l Wp -l ]; {shared}");
    assert_eq!(by(Rules::Tse2006, &made), (2, 2));
    assert_eq!(by(Rules::Escape, &made), (0, 0));
    // What it does afterwards counts.
    let later = format!("1: [ Wx Wy +l Wp -l Wx Wy ]; {shared}");
    assert_eq!(by(Rules::Escape, &later), (2, 2));
    // What was written before only is read-only after that.
    let read_only = "1: Wx +l Wp -l; 2: +l Rp -l [ +l Rx -l +l Rx -l ]; 1: +l Rx -l";
    assert_eq!(by(Rules::Tse2006, read_only), (1, 1));
    assert_eq!(by(Rules::Escape, read_only), (0, 0));
    // A change of another object may tell of the first one.
    assert_eq!(by(Rules::Escape, "1: Wx Wy Wx; 2: +l Wx -l").1, 1);
    // Fork, send and signal tell, too; only the strand that comes first makes the object.
    for told in ["fork3", ">m", "!s", "+l -l"] {
        let text = format!("1: Wx {told} Wx; 2: Wx");
        assert_eq!(by(Rules::Escape, &text).1, 1, "{text}");
    }
    assert_eq!(by(Rules::Escape, "1: Wx Wx; 2: Wx").1, 0);
}

#[test]
fn escape_analysis_takes_hints_and_races_away_and_adds_none() {
    let shape = Shape {
        strands: 3,
        objects: 3,
        locks: 2,
        length: 8,
        plain: false,
        ordered: true,
        order: true,
    };
    let mut fewer = 0;
    for seed in 0..1_000 {
        let events = random_trace(&mut Random(seed), shape);
        let [all, escaped] = [Rules::Tse2006, Rules::Escape].map(|rules| {
            let outcome = run(Box::new(Reduction::by(rules)), &events);
            let hints: u64 = outcome.predictions.iter().map(|found| found.count).sum();
            (hints, outcome.races.len())
        });
        assert!(
            escaped.0 <= all.0 && escaped.1 <= all.1,
            "{seed}: {escaped:?} {all:?}"
        );
        fewer += u32::from(escaped < all);
    }
    assert!(fewer > 50, "{fewer}");
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
    assert_eq!(online(text), ["RBLRBL"]);
    assert!(online("1: [ +l Wx -l ]; 2: [ +l Wx -l +l Rz -l ]").is_empty());
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
        let both_shared = trace("1: [ s+l Rx s-l ]; 2: [ s+l Wx s-l ]");
        assert_eq!(races(&both_shared, test), 1, "{test:?}");
        let apart = trace("1: [ s+l Rx s-l ]; 2: [ +l Wx -l ]");
        assert_eq!(races(&apart, test), 0, "{test:?}");
    }
    let both_shared = offline("1: [ s+l Rx s-l ]; 2: [ s+l Wx s-l ]");
    assert_eq!(both_shared.races.len(), 1);
}

#[test]
fn updates_of_one_kind_do_not_race_and_different_ones_do() {
    let outcome = offline("1: [ Ax Ax ]; 2: Ax");
    assert!(outcome.races.is_empty() && outcome.predictions.is_empty());
    assert_eq!(offline("1: [ Ax Ax ]; 2: Sx").races.len(), 1);
}

#[test]
fn equal_transactions_and_repeated_sections_are_kept_once() {
    let (mut now, mut reduction) = (Context::default(), Reduction::new());
    let text = format!("1: [ {} ];", "+l Wx Ry -l ".repeat(50)).repeat(3) + "2: [ +l Wx -l ]";
    feed(&mut now, &mut reduction, &one_block(&text));
    assert!(reduction.kept() <= 8 + 3, "{}", reduction.kept());
    let outcome = reduction.finish(&mut now);
    assert_eq!(outcome.predictions.len(), 1);
    assert_eq!(outcome.predictions[0].count, 3);
}

#[test]
fn on_random_traces_the_hints_are_those_of_the_published_algorithm() {
    let shape = Shape {
        strands: 2,
        objects: 2,
        locks: 2,
        length: 8,
        plain: false,
        ordered: true,
        order: true,
    };
    let mut hints = 0;
    let mut missed = 0;
    for seed in 0..1500 {
        let mut counts = Vec::new();
        let mut events = random_trace(&mut Random(seed), shape);
        // Each transaction is of a block of its own, and without sites nothing is merged.
        for (event, number) in events.iter_mut().zip(1..) {
            event.site = aerodrome::trace::SiteId(number);
        }
        for (rules, published, when) in [
            (Rules::Rv2003, Rules::Rv2003, When::Offline),
            (Rules::Tse2006, Rules::Tse2006, When::Offline),
            (Rules::Online, Rules::Tse2006, When::Online),
        ] {
            let found = run(Box::new(Reduction::by(rules)), &events).predictions;
            let found: u64 = found.iter().map(|found| found.count).sum();
            let published = forms(&events, RaceTest::Pairwise, published, when);
            let published = not_reducible(published);
            let trace = crate::common::show(&events);
            assert_eq!(
                found,
                published.len() as u64,
                "{seed} {published:?}\n{trace}"
            );
            hints += found;
            counts.push(found);
        }
        missed += counts[1] - counts[2];
    }
    assert!(hints > 1000, "{hints}");
    assert!(missed > 100, "{missed}");
}
