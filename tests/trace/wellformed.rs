//! Which traces are traces: every rule with the message that a user sees.

use crate::common::{admitted, to_aero};

/// `T0 r(x), T1 fork(T2)` as STD, a line an event.
fn text(terse: &str) -> String {
    terse
        .split(", ")
        .map(|event| {
            let (strand, operation) = event.split_once(' ').expect("a strand and an operation");
            format!("{strand}|{operation}|1\n")
        })
        .collect()
}

fn events(terse: &str) -> Vec<String> {
    admitted("a.std", text(terse).as_bytes()).expect("it is a trace")
}

fn error(terse: &str) -> String {
    admitted("a.std", text(terse).as_bytes())
        .expect_err("it is no trace")
        .to_string()
}

#[test]
fn every_broken_rule_is_named_with_its_line() {
    let cases = [
        (
            "T0 rel(L)",
            "a.std:1: expected T0 to hold L, found rel(L) by T0",
        ),
        (
            "T0 acq(L), T1 rel(L)",
            "a.std:2: expected T1 to hold L, found rel(L) by T1",
        ),
        (
            "T0 acq(L), T0 rel(L), T0 rel(L)",
            "a.std:3: expected T0 to hold L, found rel(L) by T0",
        ),
        (
            "T0 acq(L), T1 acq(L)",
            "a.std:2: expected L to be free, but T0 holds it, found acq(L) by T1",
        ),
        (
            "T0 acq(L), T1 acqs(L)",
            "a.std:2: expected L to be free, but T0 holds it, found acqs(L) by T1",
        ),
        (
            "T0 acq(L), T0 acqs(L)",
            "a.std:2: expected T0 not to hold L exclusively, found acqs(L) by T0",
        ),
        (
            "T0 acqs(L), T1 acq(L)",
            "a.std:2: expected L to be free, but T0 holds it shared, found acq(L) by T1",
        ),
        (
            "T0 acqs(L), T1 acqs(L), T0 up(L)",
            "a.std:3: expected L to be free, but T1 holds it shared, found up(L) by T0",
        ),
        (
            "T0 acqs(L), T1 up(L)",
            "a.std:2: expected T1 to hold L shared, found up(L) by T1",
        ),
        (
            "T0 acqs(L), T0 rel(L)",
            "a.std:2: expected T0 to hold L, found rel(L) by T0",
        ),
        (
            "T0 acq(L), T0 rels(L)",
            "a.std:2: expected T0 to hold L shared, found rels(L) by T0",
        ),
        (
            "T0 acqs(L), T1 acqs(L), T2 rels(L)",
            "a.std:3: expected T2 to hold L shared, found rels(L) by T2",
        ),
        (
            "T0 acqs(L), T0 down(L)",
            "a.std:2: expected T0 to hold L, found down(L) by T0",
        ),
        (
            "T0 end(m)",
            "a.std:1: expected a begin of T0 before its end, found end(m) by T0",
        ),
        (
            "T0 begin, T0 end, T0 end",
            "a.std:3: expected a begin of T0 before its end, found end by T0",
        ),
        (
            "T0 begin, T1 end",
            "a.std:2: expected a begin of T1 before its end, found end by T1",
        ),
        (
            "T0 fork(T1), T0 join(T1), T1 r(x)",
            "a.std:3: expected no event of T1 after its join, found r(x) by T1",
        ),
        (
            "T0 quit, T0 r(x)",
            "a.std:2: expected no event of T0 after its exit, found r(x) by T0",
        ),
        (
            "T1 r(x), T0 fork(T1)",
            "a.std:2: expected the fork of T1 before any event or fork of T1, found fork(T1) by T0",
        ),
        (
            "T0 fork(T1), T2 fork(T1)",
            "a.std:2: expected the fork of T1 before any event or fork of T1, found fork(T1) by T2",
        ),
        (
            "T0 fork(T0)",
            "a.std:1: expected another strand to fork T0, found fork(T0) by T0",
        ),
        (
            "T0 join(T0)",
            "a.std:1: expected the join of another strand, found join(T0) by T0",
        ),
        (
            "T0 fork(T1), T1 begin, T0 join(T1), T0 fork(T1)",
            "a.std:4: expected the former T1 to have ended its block before it was joined, found fork(T1) by T0",
        ),
        (
            "T0 recv(m)",
            "a.std:1: expected a send of m before its receipt, found recv(m) by T0",
        ),
        (
            "T0 send(m), T1 recv(m), T1 recv(m)",
            "a.std:3: expected a send of m before its receipt, found recv(m) by T1",
        ),
        (
            "T0 send(m), T1 send(m)",
            "a.std:2: expected m to be sent once, found send(m) by T1",
        ),
        (
            "T0 acq(L), T0 retire.lock(L), T0 rel(L)",
            "a.std:3: expected T0 to hold L, found rel(L) by T0",
        ),
    ];
    for (terse, expected) in cases {
        assert_eq!(error(terse), expected, "{terse}");
    }
}

#[test]
fn in_a_binary_file_the_place_is_a_byte() {
    let text = text("T0 r(x), T0 rel(L)");
    let mut source = aerodrome::trace::from_reader("a.std", text.as_bytes(), None).unwrap();
    let aero = to_aero(source.as_mut()).unwrap();
    // The headers (32), strand, object and site (16, 24 and 16), the first event (8), and the lock
    // (24).
    assert_eq!(
        admitted("a.aero", &aero).unwrap_err().to_string(),
        "a.aero: byte 120: expected T0 to hold L, found rel(L) by T0"
    );
}

#[test]
fn what_is_cut_off_at_the_end_is_fine() {
    let all = "T0 begin(m), T0 acq(L), T0 fork(T1), T1 acqs(M), T1 begin, T0 send(n)";
    assert_eq!(events(all).len(), 6);
}

#[test]
fn a_strand_may_be_forked_again_after_its_join_and_joined_by_several() {
    let all = "T0 fork(T1), T1 r(x), T0 join(T1), T2 join(T1), T0 fork(T1), T1 r(x), T0 join(T1)";
    assert_eq!(events(all).len(), 7);
    // Never forked, never seen, and waited for.
    assert_eq!(events("T0 join(T9), T0 fork(T9), T9 r(x)").len(), 3);
}

#[test]
fn nested_blocks_and_reentrant_acquires_count_once() {
    assert_eq!(
        events("T0 begin(a), T0 begin(b), T0 r(x), T0 end(b), T0 r(y), T0 end(a), T0 begin(c)"),
        [
            "T0 begin(a)",
            "T0 r(x)",
            "T0 r(y)",
            "T0 end(a)",
            "T0 begin(c)"
        ]
    );
    assert_eq!(
        events("T0 acq(L), T0 acq(L), T0 rel(L), T0 rel(L), T1 acq(L)"),
        ["T0 acq(L)", "T0 rel(L)", "T1 acq(L)"]
    );
    assert_eq!(
        events(
            "T0 acqs(L), T1 acqs(L), T2 acqs(L), T1 acqs(L), T1 rels(L), T1 rels(L), T0 rels(L), T2 up(L), T2 down(L), T2 rels(L), T0 acq(L)"
        ),
        [
            "T0 acqs(L)",
            "T1 acqs(L)",
            "T2 acqs(L)",
            "T1 rels(L)",
            "T0 rels(L)",
            "T2 up(L)",
            "T2 down(L)",
            "T2 rels(L)",
            "T0 acq(L)"
        ]
    );
}

#[test]
fn a_retired_lock_is_free_for_the_next_that_gets_its_name() {
    assert_eq!(events("T0 acq(L), T0 retire.lock(L), T1 acq(L)").len(), 3);
    assert_eq!(
        events("T0 acqs(L), T1 acqs(L), T0 retire.lock(L), T1 acq(L), T1 rel(L)").len(),
        5
    );
    assert_eq!(
        events("T0 send(m), T0 retire(m), T0 send(m), T1 recv(m)").len(),
        4
    );
}

#[test]
fn a_recorded_trace_may_have_a_lock_given_back_by_another_strand() {
    let moved = [
        "T0 acq(L), T1 rel(L), T1 acq(L), T1 rel(L)",
        "T0 acqs(L), T1 acqs(L), T2 rels(L), T1 rels(L), T2 acq(L)",
        "T0 acqs(L), T1 up(L), T2 down(L), T0 rels(L)",
    ];
    for terse in moved {
        assert!(error(terse).contains("to hold L"), "{terse}");
        let text = text(terse);
        let mut source = aerodrome::trace::from_reader("a.std", text.as_bytes(), None).unwrap();
        let aero = to_aero(source.as_mut()).unwrap();
        let all = admitted("a.aero", &aero).unwrap();
        assert_eq!(all.len(), terse.split(", ").count(), "{all:?}");
    }
    let text = text("T0 acq(L), T1 rel(L), T0 rel(L)");
    let mut source = aerodrome::trace::from_reader("a.std", text.as_bytes(), None).unwrap();
    let aero = to_aero(source.as_mut()).unwrap();
    let error = admitted("a.aero", &aero).unwrap_err().to_string();
    assert!(
        error.contains("expected T0 to hold L, found rel(L) by T0"),
        "{error}"
    );
}
