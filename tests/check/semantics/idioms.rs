//! The rules of retries and waits on usual idioms, each beside a bug that it must not hide.
//!
//! A trace is written as `strand op object site, ..`, with the STD format's names of operations.
//! Under every engine, `silent` traces are serializable and `reported` ones are not.

use aerodrome::check::{Checker, EngineKind};
use aerodrome::trace::{Event, Op, Semantics, SiteId, Update};

use super::{BARE, KINDS, LOCK};
use crate::common::event;

fn parse(step: &str) -> Event {
    let words: Vec<&str> = step.split_whitespace().collect();
    let number = |word: &str| -> u32 { word.parse().expect("a number") };
    let op = match words[1] {
        "begin" => Op::Begin,
        "end" => Op::End,
        "split" => Op::Split,
        "restart" => Op::Restart,
        "pause" => Op::Pause,
        "r" => Op::Read,
        "w" => Op::Write,
        "rw" => Op::ReadWrite,
        "add" => Op::Update(Update::Add),
        "reach" => Op::Reach,
        "leave" => Op::Leave,
        "channel" => Op::Update(Update::Channel),
        "init" => Op::Update(Update::Init),
        "vain.swap" => Op::Vain(Update::Swap),
        "vain.max" => Op::Vain(Update::Max),
        "cas" => Op::CompareExchange,
        "cas.failed" => Op::CompareExchangeFailed,
        "busy" => Op::Busy,
        "acq" => Op::Acquire,
        "rel" => Op::Release,
        "send" => Op::Send,
        "recv" => Op::Recv,
        "retire" => Op::Retire,
        other => panic!("no operation: {other}"),
    };
    let target = match words.get(2) {
        None => 0,
        Some(&"lock") => LOCK,
        Some(&"bare") => BARE,
        Some(&"m1") => 100,
        Some(&"m2") => 101,
        Some(&"m3") => 102,
        // A variable is a letter.
        Some(name) => u32::from(name.as_bytes()[0] - b'a'),
    };
    Event {
        site: words
            .get(3)
            .map_or(SiteId::NONE, |site| SiteId(number(site))),
        ..event(number(words[0]), op, target)
    }
}

fn verdicts(trace: &str) -> Vec<bool> {
    let events: Vec<Event> = trace.split(',').map(parse).collect();
    let judge = |&engine: &EngineKind| {
        let mut checker = Checker::new(engine, Semantics::Rust);
        let mut found = false;
        for (&event, position) in events.iter().zip(1..) {
            found |= checker.step(event, position, &KINDS).is_some();
        }
        found | checker.finish(&KINDS).is_some()
    };
    EngineKind::ALL.iter().map(judge).collect()
}

#[track_caller]
fn silent(trace: &str) {
    assert_eq!(verdicts(trace), [false; EngineKind::ALL.len()], "{trace}");
}

#[track_caller]
fn reported(trace: &str) {
    assert_eq!(verdicts(trace), [true; EngineKind::ALL.len()], "{trace}");
}

#[test]
fn a_push_that_reloads_is_silent() {
    // t: the top of a stack; n: a node that nobody else knows.
    silent(
        "0 begin, 0 r t 1, 0 w n 2, 1 cas t 9, 0 cas.failed t 3,
         0 r t 1, 0 w n 2, 0 cas t 3, 0 end",
    );
}

#[test]
fn a_loop_that_takes_the_returned_value_is_silent() {
    silent(
        "0 begin, 0 r x 1, 1 cas x 9, 0 cas.failed x 2, 1 cas x 9, 0 cas.failed x 2, 0 cas x 2, 0 end",
    );
    silent("0 begin, 0 add y 8, 0 r x 1, 1 cas x 9, 0 cas.failed x 2, 0 cas x 2, 0 end");
    silent("0 begin, 0 r x 1, 1 w x 9, 0 cas x 2, 0 end");
}

#[test]
fn a_popped_node_that_was_pushed_again_is_reported() {
    // The next node n was read before 1 took the top away, changed n, and put it back.
    reported(
        "0 begin, 0 r t 1, 0 r n 2, 1 cas t 9, 1 w n 9, 1 cas t 9,
         0 cas t 3, 0 end",
    );
    // Read again after the failure, it is what the exchange answers for.
    silent(
        "0 begin, 0 r t 1, 0 r n 2, 1 cas t 9, 1 w n 9, 1 cas t 9, 0 cas.failed t 3,
         0 r t 1, 0 r n 2, 0 cas t 3, 0 end",
    );
}

#[test]
fn a_limit_that_is_read_before_the_loop_is_reported() {
    reported(
        "0 begin, 0 r l 1, 0 r x 2, 1 w l 9, 1 cas x 9, 0 cas.failed x 3,
         0 r x 2, 0 cas x 3, 0 end",
    );
    silent(
        "0 begin, 0 r l 1, 0 r x 2, 1 w l 9, 1 cas x 9, 0 cas.failed x 3,
         0 r l 1, 0 r x 2, 0 cas x 3, 0 end",
    );
}

#[test]
fn an_insertion_that_succeeds_on_another_link_is_silent() {
    let failed = "0 begin, 0 r a 1, 0 r b 2, 1 w a 9, 1 cas b 9, 0 cas.failed b 3";
    silent(&format!("{failed}, 0 r a 1, 0 r c 2, 0 cas c 3, 0 end"));
    // It goes on from where it was, without a look at `a`.
    reported(&format!("{failed}, 0 r b 2, 0 cas b 3, 0 end"));
}

#[test]
fn a_failed_exchange_after_which_nothing_is_tried_again_hides_nothing() {
    reported("0 begin, 0 r y 1, 1 w y 9, 1 w x 9, 0 cas.failed x 2, 0 w z 3, 0 end");
    reported(
        "0 begin, 0 r y 1, 0 r x 2, 1 w y 9, 0 cas.failed x 3, 0 r x 2, 0 cas x 3, 0 w y 4, 0 end",
    );
}

#[test]
fn an_exchange_hides_no_look_that_was_acted_on() {
    // `x` was written after it was read: the loop may have lost what 1 wrote.
    reported("0 begin, 0 r x 1, 1 w x 9, 0 w x 2, 0 cas.failed x 3, 0 cas x 3, 0 end");
}

#[test]
fn a_version_that_is_bumped_late_is_reported() {
    let read = "0 begin, 0 r v 1, 0 r a 2, 0 r b 3, 0 r v 4, 0 end";
    reported(&format!(
        "1 begin, 1 w a 8, {read}, 1 w b 8, 1 w v 8, 1 end"
    ));
    // A reader that sees another version looks at all again.
    silent(
        "1 begin, 1 w v 8, 1 w a 8, 0 begin, 0 r v 1, 0 r a 2, 0 r b 3, 0 restart,
         1 w b 8, 1 w v 8, 1 end, 0 r v 1, 0 r a 2, 0 r b 3, 0 r v 4, 0 end",
    );
}

#[test]
fn waiting_by_hand_splits_the_block_also_where_it_has_written() {
    let waits = "0 begin, 0 w a 1, 0 r f 2, 0 pause, 1 r a 9, 1 w f 9";
    silent(&format!("{waits}, 0 r f 2, 0 w b 3, 0 end"));
    // At another place of the source, too: `while !f { spin } if f`.
    silent(&format!("{waits}, 0 r f 4, 0 end"));
}

#[test]
fn a_lost_update_around_a_delay_is_reported() {
    reported("0 begin, 0 r x 1, 0 pause, 1 w x 9, 0 w x 2, 0 end");
    reported("0 begin, 0 r x 1, 0 pause, 1 w x 9, 0 r y 2, 0 w x 3, 0 end");
    reported("0 begin, 0 r x 1, 0 pause, 1 rw x 9, 0 rw x 2, 0 end");
}

#[test]
fn a_wait_divides_what_came_before_it_from_what_follows() {
    // As a Condvar's wait does: the run's summary tells that the block was split.
    silent("0 begin, 0 r l 1, 0 r f 2, 0 pause, 1 w l 9, 1 w f 9, 0 r f 2, 0 end");
    silent("0 begin, 0 r x 1, 0 r f 2, 0 pause, 1 w x 9, 0 r f 2, 0 w x 3, 0 end");
    // And after the wait everything counts again.
    reported("0 begin, 0 r f 2, 0 pause, 0 r f 2, 0 r x 3, 1 w x 9, 0 w x 4, 0 end");
}

#[test]
fn a_loop_that_comes_around_and_gives_up_is_silent() {
    // A bounded queue: t is its tail, a and b the stamps of slots. The tail that the exchange found
    // is of a slot that is not free.
    let tried = "0 begin, 0 r t 1, 0 r a 2, 1 begin, 1 r a 2, 1 cas t 3, 0 cas.failed t 3";
    silent(&format!("{tried}, 1 w a 4, 1 end, 0 r b 2, 0 end"));
    // The tail counts: another slot was filled since.
    reported(&format!(
        "{tried}, 1 w a 4, 1 w b 9, 1 end, 2 begin, 2 w b 8, 2 w t 8, 2 end, 0 r b 2, 0 end"
    ));
    // It gives up at once, or goes on with something else.
    reported(&format!("{tried}, 1 w a 4, 1 end, 0 end"));
    reported(&format!("{tried}, 1 w a 4, 1 end, 0 r b 5, 0 end"));
}

#[test]
fn a_room_that_is_checked_and_locked_again_is_reported() {
    let section = |strand, op| format!("{strand} acq lock, {strand} {op} lock, {strand} rel lock");
    let (check, other, act) = (section(0, "r"), section(1, "rw"), section(0, "rw"));
    reported(&format!("0 begin, {check}, {other}, {act}, 0 end"));
    // Polling: it pauses and looks again.
    silent(&format!("0 begin, {check}, 0 pause, {other}, {act}, 0 end"));
}

#[test]
fn a_try_lock_loop_is_silent() {
    silent(
        "0 begin, 0 w a 1, 1 acq lock, 0 busy lock 2, 0 pause, 1 rw lock, 1 r a 9, 1 rel lock,
         0 acq lock 2, 0 rw lock, 0 rel lock, 0 end",
    );
    reported(
        "0 begin, 0 r x 1, 1 acq lock, 0 busy lock 2, 0 pause, 1 w x 9, 1 rel lock, 0 w x 3, 0 end",
    );
}

#[test]
fn a_swap_lock_is_silent_and_does_not_hide_what_it_does_not_guard() {
    let spins = "1 begin, 1 rw f 9, 0 begin, 0 vain.swap f 1, 0 pause, 1 rw d 9, 1 w f 9, 1 end";
    silent(&format!("{spins}, 0 rw f 1, 0 rw d 2, 0 w f 3, 0 end"));
    reported(
        "0 begin, 0 r d 5, 1 rw f 9, 0 vain.swap f 1, 1 w d 9, 1 w f 9, 0 rw f 2, 0 w d 3, 0 end",
    );
}

#[test]
fn a_block_that_only_tries_in_vain_is_silent() {
    let (held, freed) = ("1 begin, 1 cas f 8", "1 w f 9, 1 end");
    for tried in [
        "0 cas.failed f 1",
        "0 vain.swap f 1",
        // More than once, with and without a pause.
        "0 cas.failed f 1, 0 pause, 0 cas.failed f 1",
        "0 vain.swap f 1, 0 vain.swap f 1",
    ] {
        silent(&format!("{held}, 0 begin, {tried}, 0 end, {freed}"));
        // It does something else, or looks at something else.
        for other in ["add s 2", "r s 2", "send m1", "acq bare"] {
            reported(&format!(
                "{held}, 0 begin, {tried}, 0 {other}, 0 end, {freed}"
            ));
        }
    }
    reported(&format!("{held}, 0 begin, 0 vain.max f 1, 0 end, {freed}"));
    reported(&format!("{held}, 0 begin, 0 r f 1, 0 end, {freed}"));
}

#[test]
fn a_vain_update_that_is_made_again_elsewhere_counts() {
    silent("0 begin, 0 vain.max x 1, 1 w x 9, 0 vain.max x 1, 0 end");
    reported("0 begin, 0 vain.max x 1, 1 w x 9, 0 vain.max x 2, 0 end");
}

#[test]
fn half_a_batch_that_was_drained_is_reported() {
    let first = "1 begin, 1 channel c 8, 1 send m1, 0 begin, 0 recv m1, 0 channel c 1, 0 r c 1";
    let second = "1 channel c 8, 1 send m2, 1 end";
    // The vain try_recv ended the loop: the second message was not there yet.
    reported(&format!("{first}, 0 pause, 0 w z 2, {second}, 0 end"));
    // It polls until all of the batch is there.
    silent(&format!(
        "{first}, 0 pause, {second}, 0 recv m2, 0 channel c 1, 0 w z 2, 0 end"
    ));
}

#[test]
fn a_receive_of_the_answer_to_the_blocks_own_message_is_a_wait() {
    let asked = "0 begin, 0 r a 1, 0 channel c 2, 0 send m1, 1 recv m1, 1 channel c 8";
    let answered = "1 channel d 9, 1 send m2, 0 recv m2, 0 channel d 3";
    silent(&format!("{asked}, 1 w a 9, {answered}, 0 w a 4, 0 end"));
    // The answer is passed on by a third strand, which also looks at the channel.
    let passed_on = "1 send m2, 2 recv m2, 2 r d 8, 2 send m3, 0 recv m3, 0 channel d 3";
    silent(&format!("{asked}, {passed_on}, 0 w a 4, 0 end"));
    // What comes after the answer is judged.
    let after = "0 r b 5, 1 w b 9, 0 w b 6, 0 end";
    reported(&format!("{asked}, {answered}, {after}"));
    // A message that answers nothing, or another block's message, is no wait.
    reported("0 begin, 0 w a 1, 1 r a 9, 1 send m2, 0 recv m2, 0 channel d 3, 0 w a 4, 0 end");
    let before = "0 begin, 0 send m1, 0 end, 1 recv m1, 0 begin, 0 r a 1, 1 w a 9";
    reported(&format!("{before}, {answered}, 0 w a 4, 0 end"));
}

#[test]
fn a_queue_that_is_not_empty_and_then_is_reported() {
    reported("0 begin, 0 r c 1, 1 channel c 9, 0 r c 2, 0 pause, 0 end, 1 w z 9");
}

#[test]
fn sends_and_receives_commute_and_initialisations_do() {
    silent("0 begin, 0 channel c 1, 1 channel c 9, 0 channel c 2, 0 end");
    silent("0 begin, 0 init a 1, 1 begin, 1 init b 9, 1 init a 9, 1 end, 0 init b 2, 0 end");
    // Found empty, and then initialised by another: a look that counts.
    reported("0 begin, 0 r a 1, 1 init a 9, 0 r a 2, 0 end");
}

#[test]
fn what_was_seen_before_a_wait_and_not_looked_at_again_counts() {
    let waits = "1 begin, 1 w b 9, 0 begin, 0 r b 1, 0 r a 2, 0 split, 1 w a 9, 1 end";
    reported(&format!("{waits}, 0 r b 1, 0 end").replace("0 r b 1, 0 end", "0 end"));
    silent(&format!("{waits}, 0 r b 1, 0 r a 2, 0 end"));
}

#[test]
fn writing_what_was_read_before_a_try_in_vain_is_no_look_again() {
    // A reader that could not become the writer: it gives up its lock, and writes all the same.
    for tries in [
        "0 busy lock 2, 0 pause",
        "0 busy lock 2, 0 pause, 0 busy lock 2, 0 pause",
    ] {
        let rest = "1 acq lock, 1 rw lock 9, 1 rel lock, 0 acq lock 3";
        let before = format!("0 begin, 0 r lock 1, {tries}, {rest}");
        reported(&format!("{before}, 0 w lock 4, 0 rel lock, 0 end"));
        // One that reads again.
        silent(&format!(
            "{before}, 0 r lock 4, 0 w lock 5, 0 rel lock, 0 end"
        ));
        silent(&format!("{before}, 0 rw lock 4, 0 rel lock, 0 end"));
        // One that had not read it.
        let before = format!("0 begin, {tries}, {rest}");
        silent(&format!("{before}, 0 w lock 4, 0 rel lock, 0 end"));
    }
}

#[test]
fn what_reaches_zero_comes_before_what_leaves_it() {
    let found = "1 begin, 1 acq lock, 1 r lock, 1 leave a, 1 add a, 1 rel lock, 1 end";
    let removed = "0 acq lock, 0 rw lock, 0 rel lock, 0 end";
    reported(&format!("0 begin, 0 reach a, 0 add a, {found}, {removed}"));
    silent(&format!("0 begin, 0 add a, {found}, {removed}"));
    // Who finds it before zero is reached, and who counts down as well.
    silent("0 begin, 0 r b, 1 leave a, 1 add a, 0 reach a, 0 add a, 0 r b, 0 end");
    silent("0 begin, 0 w b, 1 begin, 1 w b, 1 add a, 1 end, 0 reach a, 0 add a, 0 end");
    reported("0 begin, 0 send m1, 1 recv m1, 1 reach a, 1 add a, 0 leave a, 0 add a, 0 end");
    silent("0 begin, 0 leave a, 0 add a, 0 send m1, 1 recv m1, 1 reach a, 1 add a, 0 end");
}

#[test]
fn all_exchanges_of_a_lock_word_may_lead_to_waiting_and_those_of_another_do_not() {
    let before = "0 begin, 0 r c, 1 begin, 1 rw a, 1 w c, 1 end, 0 r a 1, 0 cas a 2";
    // Two marks of one word.
    silent(&format!("{before}, 0 cas a 3, 0 split, 0 r a 1, 0 end"));
    // Another word was written after it.
    reported(&format!("{before}, 0 cas b 3, 0 split, 0 r a 1, 0 end"));
}

#[test]
fn a_message_that_was_lost_and_its_number_sent_again_answers_nothing() {
    let asked = "0 begin, 0 r a 1, 0 send m1, 1 recv m1, 1 w a, 1 send m2";
    silent(&format!("{asked}, 0 recv m2, 0 r a 2, 0 end"));
    reported(&format!(
        "{asked}, 1 retire m2, 2 send m2, 0 recv m2, 0 r a 2, 0 end"
    ));
}
