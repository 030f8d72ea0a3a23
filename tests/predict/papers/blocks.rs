//! The kernels' shapes, agreement with every interleaving, and a look at what is kept.

use super::examples::{atomic, papers};
use super::notation::{feed, one_block, positions, predicted, run, run_in, trace, with_room};
use super::published::interleavings::{Kept, Verdict, exhaustive};
use super::published::serial::Equivalence;
use aerodrome::predict::blocks::{Blocks, Bounds};
use aerodrome::predict::{Analysis, AnalysisKind, Context, Minimal, Outcome, Tier};

fn blocks(text: &str) -> Outcome {
    predicted(AnalysisKind::Blocks, text)
}

#[test]
fn tse_2006_heldmid_keeps_two_accesses_out_that_could_each_come_between() {
    // Strand 1 holds `l` from one write to the other. Neither read is made under it, but it is
    // taken and given back between them, so that not both can come between the writes; `m` keeps
    // the writes from coming between the reads.
    let writer = "1: [ +m +l Wx -m Wy -l ]";
    let apart = [writer, "2: [ +m Rx +l -l Ry -m ]"].join(";");
    let together = [writer, "2: [ +m Rx Ry -m ]"].join(";");
    let without = |text: &str| {
        let bounds = Bounds {
            schedules: 0,
            ..Bounds::default()
        };
        run(Box::new(Blocks::with(bounds)), &trace(text)).predictions
    };
    assert!(atomic(&apart));
    assert!(without(&apart).is_empty(), "{:#?}", without(&apart));
    assert!(blocks(&apart).predictions.is_empty());
    assert!(!atomic(&together));
    assert!(!papers(&together).found.is_empty());
    assert_eq!(without(&together).len(), 1);
    assert_eq!(blocks(&together).predictions[0].tier, Tier::Predicted);
}

#[test]
fn where_the_skeleton_has_no_room_a_cycle_is_potential() {
    let text = "1: [ +l Rx -l +l Ry -l ]; 2: [ Wx Wy ]";
    let with_room = |room| {
        let now = with_room(room);
        run_in(now, Box::new(Blocks::new()), &trace(text)).predictions
    };
    // Four lock events and two transactions.
    assert_eq!(with_room(6)[0].tier, Tier::Predicted);
    let found = with_room(5);
    assert_eq!(found[0].tier, Tier::Potential);
    assert!(found[0].schedule.is_empty());
    assert!(found[0].notes[0].contains("schedule not checked"));
}

#[test]
fn a_transaction_that_was_split_is_scheduled_from_the_split_on() {
    // A waiting loop in one block, as it is lowered: at each split a transaction ends and the next
    // begins. The window must not go back to the loop's start.
    let mut events = trace("1: [");
    let turns = 30_000;
    for _ in 0..turns {
        events.extend(trace("1: +l -l ] ["));
    }
    let positions: Vec<u64> = (0..events.len() as u64)
        // Of four events a turn, the end and the begin have one position.
        .map(|at| 1 + at - at / 4)
        .collect();
    let tail = trace("1: Rx Ry ]; 2: [ Wx Wy ]");
    let last = positions[positions.len() - 1];
    let mut now = Context::default();
    let mut blocks = Blocks::new();
    let all = events.iter().chain(&tail);
    for (&event, position) in all.zip(positions.into_iter().chain(last + 1..)) {
        now.step(event, position);
        blocks.step(event, position, &mut now);
    }
    let found = blocks.finish(&mut now).predictions;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].tier, Tier::Predicted, "{:?}", found[0].notes);
}

const READER: &str = "1: [ +i Ri -i +f Rf -f ]";
const WRITER: &str = "2: [ +i Wi -i >m ]";
const CLEANER: &str = "3: [ ] [ <m +f Wf -f ]";

#[test]
fn cache_open_missed_reader_writer_and_cleaner_in_turn_are_predicted_with_the_message_in_order() {
    let text = [
        "0: fork1 fork2 fork3",
        READER,
        WRITER,
        CLEANER,
        "0: join2 join3 join1",
    ]
    .join(";");
    let found = blocks(&text).predictions;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].pattern, "a cycle of 3 transactions");
    assert_eq!(found[0].tier, Tier::Predicted);
    // The reader looks the name up, the writer replaces it, the cleaner removes the file, the
    // reader does not find it.
    let strands: Vec<u32> = found[0]
        .accesses
        .iter()
        .map(|step| step.access.strand.0)
        .collect();
    assert_eq!(strands, [1, 2, 3, 1]);
    let strands: Vec<u32> = found[0].schedule.iter().map(|run| run.strand.0).collect();
    assert_eq!(strands, [0, 3, 1, 2, 3, 1], "{:?}", found[0].schedule);
}

#[test]
fn cache_open_chain_an_overlap_without_a_cycle_is_predicted() {
    let text = "0: fork1 fork2 fork3; 1: [ +i Ri -i; 2: [ +i Wi -i >m ]; 1: +f Rf -f ]; \
                3: [ ] [ <m +f Wf -f ]";
    let found = blocks(text).predictions;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].pattern, "a cycle of 3 transactions");
    assert_eq!(found[0].tier, Tier::Predicted);
}

#[test]
fn cache_open_fixed_is_silent() {
    let text = [
        "0: fork1 fork2 fork3",
        "1: [ +i Ri +f Rf -f -i ]",
        WRITER,
        CLEANER,
    ]
    .join(";");
    assert!(blocks(&text).predictions.is_empty());
}

#[test]
fn order_by_join_by_an_outer_lock_and_by_a_message_is_silent() {
    // Spawned after the join.
    assert!(
        blocks("0: fork1; 1: [ Rx Wx ]; 0: join1 fork2; 2: [ Rx Wx ]")
            .predictions
            .is_empty()
    );
    // A lock taken before the transactions begin.
    assert!(
        blocks("1: +a [ +c Wc -c +o Wo -o ] -a; 2: +a [ +c Rc -c +o Ro -o ] -a")
            .predictions
            .is_empty()
    );
    // A message after the transaction.
    assert!(
        blocks("1: [ Wc Wo ] >m; 2: <m [ Rc Ro ]")
            .predictions
            .is_empty()
    );
    // A barrier.
    assert!(
        blocks("1: [ Wc Wo ] !b; 2: ?b [ Rc Ro ]")
            .predictions
            .is_empty()
    );
    // The same without any of these.
    assert_eq!(blocks("1: [ Wc Wo ]; 2: [ Rc Ro ]").predictions.len(), 1);
}

#[test]
fn a_message_inside_a_transaction_can_close_a_cycle_with_one_conflict() {
    let found = blocks("1: [ Rx; 2: [ Wx >m ]; 1: <m ]").predictions;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].tier, Tier::Predicted);
    assert!(
        blocks("1: [ Rx; 2: >m [ Wx ]; 1: <m ]")
            .predictions
            .is_empty()
    );
}

#[test]
fn updates_of_one_kind_do_not_break_a_transaction_and_others_do() {
    assert!(blocks("1: [ Ax Ax ]; 2: Ax").predictions.is_empty());
    assert!(blocks("1: [ As Ac ]; 2: [ As Ac ]").predictions.is_empty());
    assert_eq!(blocks("1: [ Ax Ax ]; 2: Sx").predictions.len(), 1);
    assert!(blocks("1: [ Rx Ax ]; 2: Ax").predictions.is_empty());
    // Two strands look at a counter and then raise it: neither add falls between what it conflicts
    // with, both together do.
    assert_eq!(
        blocks("1: [ Rx Ax ]; 2: [ Rx Ax ]").predictions[0].pattern,
        "a cycle of 2 transactions"
    );
    assert_eq!(blocks("1: [ Ay Ry Ax ]; 2: [ Rx Ay ]").predictions.len(), 1);
    assert!(!blocks("1: [ Sx Ax Sx ]; 2: Ax").predictions.is_empty());
    assert_eq!(blocks("1: [ As Ac ]; 2: [ Rs Rc ]").predictions.len(), 1);
}

#[test]
fn shared_locks_let_readers_in_and_keep_writers_out() {
    assert!(
        blocks("1: [ s+l Rx Ry s-l ]; 2: [ +l Wx Wy -l ]")
            .predictions
            .is_empty()
    );
    assert!(
        !blocks("1: [ s+l Rx Ry s-l ]; 2: [ s+l Wx Wy s-l ]")
            .predictions
            .is_empty()
    );
    // Upgraded on the way, nobody comes between; released and taken again, somebody does.
    assert!(
        blocks("1: [ s+l Rx ^l Wx -l ]; 2: [ +l Wx -l ]")
            .predictions
            .is_empty()
    );
    assert!(
        !blocks("1: [ s+l Rx s-l +l Wx -l ]; 2: [ +l Wx -l ]")
            .predictions
            .is_empty()
    );
    // Downgraded, a reader may come: it sees the first write and not the second, which needs the
    // lock again.
    assert!(
        blocks("1: [ +l Wx vl Rx s-l ]; 2: [ s+l Rx s-l ]")
            .predictions
            .is_empty()
    );
}

#[test]
fn accesses_outside_blocks_make_cycles_by_their_strands_own_order() {
    let found = blocks("1: [ Rx Ry ]; 2: Wx Wy").predictions;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].pattern, "a cycle of 3 transactions");
    assert!(
        blocks("1: [ Rx Ry ]; 2: Wy Wx").predictions.is_empty(),
        "both before or both after, or only the second is new"
    );
    assert!(blocks("1: Rx Ry; 2: Wx Wy").predictions.is_empty());
}

#[test]
fn memory_follows_the_distinct_blocks() {
    let once = "1: [ +l Rx Wx -l ]; 2: [ +l Rx -l ];";
    let mut counts = Vec::new();
    for times in [2, 200] {
        let events = one_block(&once.repeat(times));
        let (mut blocks, mut minimal) = (Blocks::new(), Minimal::new());
        feed(&mut Context::default(), &mut blocks, &events);
        feed(&mut Context::default(), &mut minimal, &events);
        counts.push((blocks.kept(), minimal.kept()));
    }
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn the_bound_on_comparisons_is_said() {
    let bounds = Bounds {
        comparisons: 3,
        ..Bounds::default()
    };
    let outcome = run(
        Box::new(Blocks::with(bounds)),
        &trace("1: [ Wx Wy ]; 2: [ Rx Wz ]; 3: [ Rz Ry ]"),
    );
    assert!(
        outcome.notes[0].contains("cut short after 3 comparisons"),
        "{:?}",
        outcome.notes
    );
}

/// A small trace of 2 or 3 strands with nested locks, run one strand after the other.
fn random(seed: u64, operations: &[&str]) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut lines = Vec::new();
    for strand in 0..2 + draw(2) {
        let mut line = format!("{strand}:");
        let mut held: Vec<&str> = Vec::new();
        for _ in 0..1 + draw(2) {
            let block = draw(4) > 0;
            line += if block { " [" } else { "" };
            for _ in 0..1 + draw(4) {
                match draw(5) {
                    0 if held.len() < 2 => {
                        // In one order only: no deadlock is possible.
                        let locks: Vec<&str> = ["k", "l"]
                            .into_iter()
                            .filter(|lock| held.iter().all(|h| h < lock))
                            .collect();
                        if let Some(lock) = locks.get(draw(2).min(locks.len().saturating_sub(1))) {
                            held.push(lock);
                            line += &format!(" +{lock}");
                        }
                    }
                    1 if !held.is_empty() => line += &format!(" -{}", held.pop().unwrap()),
                    _ => {
                        line += &format!(
                            " {}{}",
                            operations[draw(operations.len())],
                            ["x", "y"][draw(2)]
                        )
                    }
                }
            }
            line += if block { " ]" } else { "" };
        }
        while let Some(lock) = held.pop() {
            line += &format!(" -{lock}");
        }
        lines.push(line);
    }
    lines.join(";")
}

#[test]
fn blocks_find_a_violation_exactly_where_some_interleaving_has_one() {
    let (mut violations, mut cut_short) = (0, 0);
    for seed in 1..=4000 {
        let operations: &[&str] = if seed % 2 == 0 {
            &["R", "W"]
        } else {
            &["R", "W", "A", "S", "X"]
        };
        let text = random(seed, operations);
        let found = blocks(&text).predictions;
        assert!(
            found.iter().all(|found| found.tier == Tier::Predicted),
            "{text}"
        );
        match exhaustive(&trace(&text), Kept::All, Equivalence::Conflict, 20_000) {
            Verdict::CutShort => cut_short += 1,
            Verdict::Atomic => assert!(
                found.is_empty(),
                "{text}: {:?} {:?}",
                positions(&found[0]),
                found[0].schedule
            ),
            Verdict::NotAtomic(witness) => {
                violations += 1;
                assert!(!found.is_empty(), "{text}: {witness:?}");
            }
        }
    }
    assert!(
        violations > 1000 && cut_short < 100,
        "{violations} {cut_short}"
    );
}
