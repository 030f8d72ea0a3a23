//! The papers' own examples, with the verdicts that their text gives.
//!
//! RV 2003 is Wang and Stoller, "Run-Time Analysis for Atomicity", TSE 2006 their "Runtime Analysis
//! of Atomicity for Multithreaded Programs". Each test says in its own words what the text says of
//! the example, and asserts it of the analysis that the text speaks of: reduction by the rules of
//! the paper, `published::blocks` for the comparison of blocks, [`exhaustive`] for the definition
//! itself. Where the analyses as they run by default say something else, the test says what and
//! why: theorem 2 of TSE 2006 leaves out regions that RV 2003 counts, and the engines decide
//! conflict and not view serializability.

use super::notation::{movers, object, objects, positions, predicted, run_in, trace, with_room};
use super::published::blocks::{self as pairs, Finding, Findings};
use super::published::interleavings::{Kept, Verdict, exhaustive};
use super::published::reduction::{RaceTest, When, forms, not_reducible, races};
use super::published::serial::{Equivalence, Reading};
use super::published::views::inconsistent;
use crate::common::predict_by;
use aerodrome::predict::blocks::Blocks;
use aerodrome::predict::reduction::Rules;
use aerodrome::predict::{AnalysisKind, Minimal, Outcome, Predictor, Tier};
use aerodrome::trace::Op::{Read, Write};
use aerodrome::trace::{Event, ObjectId};

/// The comparison of 1v-blocks and 2v-blocks: theorem 5.4 of RV 2003, theorem 4 of TSE 2006.
pub(crate) fn papers(text: &str) -> Findings {
    pairs::compare(&trace(text))
}

/// The block-based analysis as it runs by default.
fn blocks(text: &str) -> Outcome {
    predicted(AnalysisKind::Blocks, text)
}

/// What blocks and their sandwiches come to where no schedule can be looked for.
fn without_schedules(text: &str) -> Outcome {
    let events = trace(text);
    let mut outcome = run_in(with_room(0), Box::new(Minimal::new()), &events);
    outcome.extend(run_in(with_room(0), Box::new(Blocks::new()), &events));
    outcome
}

/// Has the trace, as it stands, an equivalent serial one?
fn explained(text: &str) -> bool {
    let events: Vec<(Event, u64)> = trace(text).into_iter().zip(1..).collect();
    Reading::of(&events).serializable(Equivalence::View)
}

/// What reduction reports by these rules. It judges by pairs of accesses, and must agree with the
/// published algorithm.
fn reduction(rules: Rules, text: &str) -> Outcome {
    let predictor = Predictor::with_rules(&[AnalysisKind::Reduction], rules);
    let outcome = predict_by(predictor, &trace(text));
    let published = not_reducible(offline(RaceTest::Pairwise, rules, text));
    assert_eq!(movers(&outcome), published, "{rules:?} on {text}");
    outcome
}

/// How the events of each transaction move, those included that are reducible.
fn offline(test: RaceTest, rules: Rules, text: &str) -> Vec<String> {
    forms(&trace(text), test, rules, When::Offline)
}

/// Those that are not reducible, where each event is judged when it comes.
fn online(rules: Rules, text: &str) -> Vec<String> {
    let test = RaceTest::Multilockset;
    not_reducible(forms(&trace(text), test, rules, When::Online))
}

/// The 1v-blocks of `x`.
fn one_variable_blocks(text: &str) -> Vec<pairs::Shown> {
    pairs::one_variable_blocks(&trace(text), ObjectId(object("x")))
}

fn interleavings(text: &str, kept: Kept) -> Verdict {
    exhaustive(&trace(text), kept, Equivalence::View, 100_000)
}

/// The papers' general algorithm: no two blocks make a violation, nor does any interleaving of the
/// initial reads and final writes. It must agree with the definition, which is about all
/// interleavings of all accesses.
pub(crate) fn atomic(text: &str) -> bool {
    let general = papers(text).found.is_empty()
        && interleavings(text, Kept::InitialAndFinal) == Verdict::Atomic;
    let defined = interleavings(text, Kept::All);
    assert_ne!(defined, Verdict::CutShort, "{text}");
    assert_eq!(general, defined == Verdict::Atomic, "{text}: {defined:?}");
    general
}

/// What the text, or the theorem that it applies, says of two transactions.
struct Says<'a> {
    text: &'a str,
    /// The transactions' movers by theorems 4.2 and 4.3 of RV 2003.
    forms: [&'a str; 2],
    /// Those of them that are not of the form of theorem 4.1: what reduction reports.
    reported: &'a [&'a str],
    /// What the block-based algorithm concludes.
    atomic: bool,
}

impl Says<'_> {
    #[track_caller]
    fn hold(&self) {
        let text = self.text;
        let forms = offline(RaceTest::Pairwise, Rules::Rv2003, text);
        assert_eq!(forms, self.forms, "the forms of {text}");
        let outcome = reduction(Rules::Rv2003, text);
        assert_eq!(movers(&outcome), self.reported, "reduction of {text}");
        // Two transactions: the comparison of blocks decides, without the interleavings.
        let pairs = papers(text).found;
        assert_eq!(
            pairs.is_empty(),
            self.atomic,
            "blocks of {text}: {pairs:#?}"
        );
        assert_eq!(atomic(text), self.atomic, "{text}");
    }
}

#[test]
fn rv_2003_examples_1_and_2_a_read_beside_a_read_and_write_is_atomic_in_all_three_traces() {
    Says {
        text: "1: [ Rx Wx ]; 2: [ Rx ]",
        // The first read meets no other strand's write: by theorem 4.3 it is free of races.
        forms: ["BN", "N"],
        reported: &[],
        atomic: true,
    }
    .hold();
    // Two of the three are serial, and the one between is equivalent to the last.
    for all in [
        "1: [ Rx Wx ]; 2: [ Rx ]",
        "1: [ Rx; 2: [ Rx ]; 1: Wx ]",
        "2: [ Rx ]; 1: [ Rx Wx ]",
    ] {
        assert!(explained(all), "{all}");
    }
}

#[test]
fn rv_2003_example_3_setters_of_two_coordinates_are_free_of_races_and_not_atomic() {
    let text = "1: [ +l Wx -l +l Wy -l ]; 2: [ +l Wx -l +l Wy -l ]";
    Says {
        text,
        forms: ["RBLRBL", "RBLRBL"],
        reported: &["RBLRBL", "RBLRBL"],
        atomic: false,
    }
    .hold();
    assert!(reduction(Rules::Rv2003, text).races.is_empty());
    // The text's schedule ends with the x of one and the y of the other.
    assert!(!explained(
        "1: [ +l Wx -l; 2: [ +l Wx -l +l Wy -l ]; 1: +l Wy -l ]"
    ));
    let found = blocks(text).predictions;
    assert_eq!(found.len(), 1);
    assert_eq!(
        objects(&found[0]),
        [ObjectId(object("x")), ObjectId(object("y"))]
    );
}

#[test]
fn rv_2003_section_2_a_getter_without_lock_races_with_the_setter_and_is_atomic() {
    let text = "1: [ +l Wx -l ]; 2: [ Rx ]";
    Says {
        text,
        forms: ["RNL", "N"],
        reported: &[],
        atomic: true,
    }
    .hold();
    assert_eq!(reduction(Rules::Rv2003, text).races.len(), 1);
    assert!(blocks(text).predictions.is_empty());
}

#[test]
fn rv_2003_example_4_readers_under_a_lock_are_atomic_though_not_view_consistent() {
    let text = "1: [ +l Rx Ry -l ]; 2: [ +l Rx -l +l Ry -l ]";
    Says {
        text,
        forms: ["RBBL", "RBLRBL"],
        reported: &["RBLRBL"],
        atomic: true,
    }
    .hold();
    // By default regions that only read are left out.
    assert!(movers(&reduction(Rules::Tse2006, text)).is_empty());
    assert!(blocks(text).predictions.is_empty());
}

#[test]
fn rv_2003_example_5_a_write_between_a_read_and_a_write_is_not_atomic_though_view_consistent() {
    let text = "1: [ +l Wx -l ]; 2: [ +l Rx -l +l Wx -l ]";
    Says {
        text,
        forms: ["RBL", "RBLRBL"],
        reported: &["RBLRBL"],
        atomic: false,
    }
    .hold();
    assert_eq!(blocks(text).predictions[0].pattern, "read, write, write");
}

#[test]
fn rv_2003_example_6_theorem_4_3_shows_it_atomic_and_theorem_4_4_cannot() {
    let text = "1: [ +l Wx -l Rx ]; 2: [ +l Rx -l ]";
    Says {
        text,
        forms: ["RBLB", "RBL"],
        reported: &[],
        atomic: true,
    }
    .hold();
    assert!(reduction(Rules::Rv2003, text).races.is_empty());
    // One of the reads holds nothing.
    let coarse = offline(RaceTest::Lockset, Rules::Rv2003, text);
    assert_eq!(coarse, ["RNLN", "RNL"]);
    assert_eq!(not_reducible(coarse), ["RNLN"]);
}

#[test]
fn rv_2003_example_7_all_three_writes_race_reduction_reports_nn_and_blocks_show_it_atomic() {
    let text = "1: [ Wx Wx ]; 2: [ Wx ]";
    Says {
        text,
        forms: ["NN", "N"],
        reported: &["NN"],
        atomic: true,
    }
    .hold();
    // By default conflicts decide, and not what is seen: the write comes between two others.
    assert_eq!(blocks(text).predictions[0].pattern, "write, write, write");
}

#[test]
fn rv_2003_example_8_reduction_reports_rbln_twice_and_blocks_show_it_atomic() {
    let text = "1: [ +l Rx -l Wy ]; 2: [ +l Rx -l Wy ]";
    Says {
        text,
        forms: ["RBLN", "RBLN"],
        reported: &["RBLN", "RBLN"],
        atomic: true,
    }
    .hold();
    // By default the region is left out: nobody writes x, so that it has no effect (theorem 2 of
    // TSE 2006), and N is left.
    let forms = offline(RaceTest::Pairwise, Rules::Tse2006, text);
    assert_eq!(forms, ["N", "N"]);
    assert!(movers(&reduction(Rules::Tse2006, text)).is_empty());
    assert!(blocks(text).predictions.is_empty());
    // So it is where every event is judged when it comes; x is read-only from the start, y is
    // strand 1's own at first.
    assert_eq!(online(Rules::Rv2003, text), ["RBLN"]);
    assert!(online(Rules::Tse2006, text).is_empty());
}

#[test]
fn rv_2003_example_9_reduction_reports_rbblrbl_twice_and_blocks_show_it_atomic() {
    let text = "1: [ +l Wx Rx -l +l Wx -l ]; 2: [ +l Wx Rx -l +l Wx -l ]";
    Says {
        text,
        forms: ["RBBLRBL", "RBBLRBL"],
        reported: &["RBBLRBL", "RBBLRBL"],
        atomic: true,
    }
    .hold();
    // Both accesses of the first region count, by the later rules and tests as well.
    for test in [RaceTest::Multilockset, RaceTest::Pairwise] {
        assert_eq!(
            offline(test, Rules::Tse2006, text),
            ["RBBLRBL", "RBBLRBL"],
            "{test:?}"
        );
    }
    // By default conflicts decide: the other's region comes between the two.
    let found = blocks(text).predictions;
    let mut patterns: Vec<&str> = found.iter().map(|found| &*found.pattern).collect();
    patterns.sort_unstable();
    patterns.dedup();
    assert_eq!(patterns, ["read, write, write", "write, read, write"]);
}

#[test]
fn rv_2003_example_10_with_a_potential_deadlock_disjoint_locksets_are_not_enough() {
    // h12 = {k} and held(e3) = {l} are disjoint, and yet e3 cannot come between e1 and e2.
    let text = "1: [ +k +l -l Rx Rx -k ]; 2: [ +l +k -k Wx -l ]";
    assert!(!papers(text).found.is_empty());
    assert_eq!(interleavings(text, Kept::All), Verdict::Atomic);
    let deadlocks = predicted(AnalysisKind::Deadlock, text).deadlocks;
    assert_eq!(deadlocks.len(), 1);
    // So whoever goes by locksets alone says that deadlocks make it doubtful; by default a schedule
    // is wanted, and none is found. Acquisition histories tell without one.
    assert!(papers(text).is_doubtful);
    assert!(without_schedules(text).predictions.is_empty());
    // Cycles of two variables go by locksets.
    let two = without_schedules("1: [ +k +l -l Rx Ry -k ]; 2: [ +l +k -k Wx Wy -l ]");
    assert!(doubtful(&two), "{two:#?}");
    assert!(blocks(text).predictions.is_empty());
    // Without the potential for deadlock, the locksets are enough.
    let straight = "1: [ +k +l -l Rx Rx -k ]; 2: [ +l Wx -l ]";
    assert_eq!(positions(&blocks(straight).predictions[0]), [5, 11, 6]);
}

#[test]
fn rv_2003_examples_11_and_12_the_transaction_has_two_blocks() {
    let (k, l) = (ObjectId(object("k")), ObjectId(object("l")));
    assert_eq!(
        one_variable_blocks("1: [ +k Rx +l Wx Rx -l -k ]"),
        [
            // By (a), the last access before the write, and by (b), the initial read and the final
            // write.
            (
                (Read, false),
                Some((Write, true)),
                [vec![k], vec![k, l], vec![k]]
            ),
            // By (a) alone: the read and the write before it.
            (
                (Write, true),
                Some((Read, false)),
                [vec![k, l], vec![k, l], vec![k, l]]
            ),
        ]
    );
}

#[test]
fn rv_2003_example_13_the_initial_read_and_the_final_write_make_the_block_that_shows_it() {
    let text = "1: [ +l Rx Wx -l Wx ]; 2: [ +l Wx -l ]";
    Says {
        text,
        forms: ["RBBLN", "RNL"],
        reported: &["RBBLN"],
        atomic: false,
    }
    .hold();
    // The text's schedule has the other's write between the two writes.
    assert!(!explained("1: [ +l Rx Wx -l; 2: [ +l Wx -l ]; 1: Wx ]"));
    // Without condition (b) there would be no block for it: from the first read to the last write.
    let found = papers(text).found;
    let shown: Vec<&[u64]> = found.iter().map(|found| &*found.positions).collect();
    assert_eq!(shown, [[3, 10, 6]]);
    assert_eq!(found[0].pattern, "read, write, write");
}

#[test]
fn rv_2003_example_14_six_reads_make_one_block() {
    let l = || vec![ObjectId(object("l"))];
    assert_eq!(
        one_variable_blocks("1: [ +l Rx Rx Rx Rx Rx Rx -l ]"),
        [((Read, false), Some((Read, false)), [l(), l(), l()])]
    );
}

#[test]
fn rv_2003_example_15_reads_of_the_own_write_between_two_writes_are_atomic() {
    // A block of the two reads, or a read compared with the block of the writes, would show a read
    // between two writes.
    Says {
        text: "1: [ +l Wx Rx Rx -l ]; 2: [ +l Wx -l +l Wx -l ]",
        forms: ["RBBBL", "RBLRBL"],
        reported: &["RBLRBL"],
        atomic: true,
    }
    .hold();
}

#[test]
fn rv_2003_example_16_and_tse_2006_example_6_three_transactions_are_not_atomic_though_any_two_are()
{
    let all = ["1: [ Wx Wy ]", "2: [ Rx Wz ]", "3: [ Rz Ry ]"];
    let text = all.join(";");
    assert!(!atomic(&text));
    assert!(papers(&text).found.is_empty(), "by pairs of blocks");
    // The text's schedule: each must come before the next, and the last before the first.
    assert!(!explained("1: [ Wx; 2: [ Rx Wz ]; 3: [ Rz Ry ]; 1: Wy ]"));
    assert_eq!(movers(&reduction(Rules::Rv2003, &text)), ["NN", "NN", "NN"]);
    for out in 0..3 {
        let two: Vec<&str> = (0..3).filter(|&at| at != out).map(|at| all[at]).collect();
        assert!(atomic(&two.join(";")), "without {}", all[out]);
        assert!(blocks(&two.join(";")).predictions.is_empty());
    }
    let found = blocks(&text).predictions;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].pattern, "a cycle of 3 transactions");
    assert_eq!(found[0].tier, Tier::Predicted);
    assert_eq!(positions(&found[0]), [2, 6, 7, 10, 11, 3]);
}

#[test]
fn rv_2003_section_5_3_the_listed_pairs_of_two_variable_blocks_are_not_atomic() {
    // The transactions and the interleaving that the text's layout shows.
    for (text, layout) in [
        (
            "1: [ Wx Wy ]; 2: [ Wx Wy ]",
            "1: [ Wx; 2: [ Wx Wy ]; 1: Wy ]",
        ),
        (
            "1: [ Wx Wy ]; 2: [ Wy Wx ]",
            "1: [ Wx; 2: [ Wy Wx ]; 1: Wy ]",
        ),
        (
            "1: [ Rx Wy ]; 2: [ Wy Wx ]",
            "1: [ Rx; 2: [ Wy Wx ]; 1: Wy ]",
        ),
        (
            "1: [ Rx Wy ]; 2: [ Wy Wx ]",
            "2: [ Wy; 1: [ Rx Wy ]; 2: Wx ]",
        ),
        (
            "1: [ Rx Wy ]; 2: [ Wx Ry ]",
            "1: [ Rx; 2: [ Wx Ry ]; 1: Wy ]",
        ),
        (
            "1: [ Rx Ry ]; 2: [ Wy Wx ]",
            "1: [ Rx; 2: [ Wy Wx ]; 1: Ry ]",
        ),
    ] {
        assert!(!explained(layout), "{layout}");
        assert!(!papers(text).found.is_empty(), "{text}");
        assert!(!atomic(text), "{text}");
        assert_eq!(blocks(text).predictions.len(), 1, "{text}");
    }
    // Two regions let the writes in between, one does not.
    let writer = "1: [ +l Wx Wy -l ]; ";
    for (reader, is_atomic) in [
        ("2: [ +l Rx -l +l Ry -l ]", false),
        ("2: [ +l Rx Ry -l ]", true),
    ] {
        let text = writer.to_string() + reader;
        assert_eq!(atomic(&text), is_atomic, "{text}");
        assert_eq!(blocks(&text).predictions.is_empty(), is_atomic, "{text}");
    }
}

/// `new Vector(v1)`: `v1.size()` and `v1.toArray(..)` take the lock one after the other. `c` is
/// `v1.elementCount`, `e` is `v1.elementData`, `d` the new vector's own data.
const CONSTRUCTOR: &str = "1: [ +v Rc -v Wd +v Rc Re Rc Rc -v ]";
/// `v1.removeAllElements()`, and to its variables `v1.add(o)`.
const CLEAR: &str = "2: [ +v Rc We Wc -v ]";

#[test]
fn tse_2006_figures_1_and_7_blocks_report_the_count_that_is_cleared_between_size_and_to_array() {
    let text = [CONSTRUCTOR, CLEAR].join(";");
    assert!(!atomic(&text));
    // The diagnosis of figure 7: read in `size`, written by the other thread, read in `toArray`.
    let found = blocks(&text).predictions;
    assert_eq!(found[0].pattern, "read, write, read");
    assert_eq!(objects(&found[0]), [ObjectId(object("c"))]);
    assert_eq!(positions(&found[0]), [3, 17, 7]);
    assert_eq!(found[0].tier, Tier::Predicted);
    let pairs = papers(&text).found;
    let count = |found: &&Finding| found.objects == [ObjectId(object("c"))];
    let diagnosed = pairs.iter().find(count).expect("a pair of blocks of c");
    let shown = &diagnosed.positions;
    assert!(
        [3, 17, 7].iter().all(|position| shown.contains(position)),
        "{shown:?}"
    );
}

#[test]
fn tse_2006_figures_1_5_and_7_reduction_reports_the_constructors_two_regions() {
    let text = [CONSTRUCTOR, CLEAR].join(";");
    for test in [RaceTest::Multilockset, RaceTest::Pairwise] {
        // The count is accessed more than once: two of the three both-movers of a region.
        let forms = offline(test, Rules::Tse2006, &text);
        assert_eq!(forms, ["RBLRBBBL", "RBBBL"], "{test:?}");
        assert_eq!(races(&trace(&text), test), 0, "{test:?}");
    }
    let outcome = reduction(Rules::Tse2006, &text);
    assert_eq!(movers(&outcome), ["RBLRBBBL"]);
    // Where `size` gives the lock back and `toArray` takes it again.
    assert_eq!(positions(&outcome.predictions[0]), [4, 6]);
    assert!(outcome.races.is_empty());
}

#[test]
fn tse_2006_figure_4_multilockset_finds_no_race_with_t1_and_a_false_one_with_t4_and_blocks_none() {
    let readers = "3: [ +a Rx -a ]; 2: [ +b Rx -b ];";
    let (with_t1, with_t4) = (
        format!("{readers} 1: [ +a +b Wx Wx -b -a ]"),
        format!("{readers} 4: [ Rx +a +b Wx -b -a ]"),
    );
    let alarms = |test, text: &str| not_reducible(offline(test, Rules::Tse2006, text)).len();
    for (text, lockset, multilockset) in [(&with_t1, 1, 0), (&with_t4, 1, 1)] {
        // No one lock is held at all accesses, as the older algorithms want.
        assert_eq!(alarms(RaceTest::Lockset, text), lockset, "{text}");
        assert_eq!(alarms(RaceTest::Multilockset, text), multilockset, "{text}");
        assert_eq!(alarms(RaceTest::Pairwise, text), 0, "{text}");
        assert!(
            movers(&reduction(Rules::Tse2006, text)).is_empty(),
            "{text}"
        );
        assert!(atomic(text), "{text}");
        assert!(papers(text).found.is_empty(), "{text}");
        assert!(blocks(text).predictions.is_empty(), "{text}");
    }
}

#[test]
fn tse_2006_examples_1_and_2_a_write_makes_both_blocks_not_atomic_and_a_read_neither() {
    let transaction = "1: [ +k Rx +l Wx Rx -l -k ]; ";
    let with = |other: &str| papers(&(transaction.to_string() + other)).found;
    let written = with("2: [ Wx ]");
    // One finding for each block.
    let mut patterns: Vec<&str> = written.iter().map(|found| &*found.pattern).collect();
    patterns.sort_unstable();
    assert_eq!(patterns, ["read, write, write", "write, write, read"]);
    assert!(with("2: [ Rx ]").is_empty());
}

#[test]
fn tse_2006_example_3_is_told_as_a_potential_deadlock_and_not_as_a_violation() {
    let text = "1: [ +k +l -l Wx -k ]; 2: [ +l +k -k Rx Rx -l ]";
    assert!(blocks(text).predictions.is_empty());
    assert_eq!(interleavings(text, Kept::All), Verdict::Atomic);
    let deadlocks = predicted(AnalysisKind::Deadlock, text).deadlocks;
    let [deadlock] = deadlocks.as_slice() else {
        panic!("one potential deadlock: {deadlocks:#?}")
    };
    let wanted = deadlock.waits.iter().map(|wait| wait.wanted.position);
    assert_eq!(wanted.collect::<Vec<_>>(), [3, 10]);
    // By locksets alone the write comes between the reads: whoever goes by them says that deadlocks
    // make this doubtful.
    assert!(papers(text).is_doubtful);
    assert!(without_schedules(text).predictions.is_empty());
    let two = without_schedules("1: [ +k +l -l Wx Wy -k ]; 2: [ +l +k -k Rx Ry -l ]");
    assert!(doubtful(&two), "{two:#?}");
    // In one order, it can come between, and no note casts doubt on it.
    let sound = "1: [ +k +l -l Wx -k ]; 2: [ +k -k Rx Rx ]";
    assert!(!papers(sound).found.is_empty());
    assert!(!papers(sound).is_doubtful);
}

/// Something is found, all of it is potential, and a note says that deadlocks are possible.
fn doubtful(outcome: &Outcome) -> bool {
    let mut found = outcome.predictions.iter();
    let mut notes = outcome.notes.iter();
    found.len() > 0
        && found.all(|found| found.tier == Tier::Potential)
        && notes.any(|note| note.contains("deadlocks are possible"))
}

#[test]
fn tse_2006_example_4_a_write_and_three_reads_make_one_block() {
    let nothing = || [Vec::new(), Vec::new(), Vec::new()];
    assert_eq!(
        one_variable_blocks("1: [ Wx Rx Rx Rx ]"),
        [((Write, true), Some((Read, false)), nothing())]
    );
}

#[test]
fn tse_2006_example_5_blocks_of_two_variables_are_made_of_initial_reads_and_final_writes() {
    let (x, y) = (ObjectId(object("x")), ObjectId(object("y")));
    // The first write of y and the last read of x take no part: so the blocks are read and write,
    // and write and write.
    assert_eq!(
        pairs::kept_of_transactions(&trace("1: [ Rx Wy Wx Wy Rx ]")),
        [vec![(Read, x), (Write, x), (Write, y)]]
    );
}

#[test]
fn rv_2003_section_2_example_4_is_not_view_consistent_and_example_5_is() {
    let readers = "1: [ +l Rx Ry -l ]; 2: [ +l Rx -l +l Ry -l ]";
    assert_eq!(inconsistent(&trace(readers)), [1]);
    let lost = "1: [ +l Wx -l ]; 2: [ +l Rx -l +l Wx -l ]";
    assert!(inconsistent(&trace(lost)).is_empty());
}
