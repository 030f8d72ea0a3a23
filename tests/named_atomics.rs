//! Tracked atomics with a name are variables of properties, in process and in traces.
#![cfg(feature = "check")]

#[path = "programs/outcome.rs"]
mod outcome;
mod process;
#[path = "programs/properties.rs"]
mod properties;

use std::sync::Barrier;

use aerodrome::check::{Checker, EngineKind};
use aerodrome::lattice::{Error, Lattice, Limits, Outcome};
use aerodrome::report::Report;
use aerodrome::sync::atomic::*;
use aerodrome::trace::{self, Event, Names, Op, Semantics, Tables};
use aerodrome::watch::Watched;
use aerodrome::{atomic_block, thread};

use self::outcome::{accesses, between, only, silent};
use self::process::{Directory, child, is_child, run};
use self::properties::{contains, failure, states};

const SAFE_LANDING: &str = "start(landing) -> [approved, !radio)";

/// The flight controller of the paper, on ordinary atomics.
struct Flight {
    landing: AtomicBool,
    approved: AtomicU8,
    radio: AtomicI64,
}

impl Flight {
    fn new() -> Self {
        let flight = Flight {
            landing: AtomicBool::new(false),
            approved: AtomicU8::new(0),
            radio: AtomicI64::new(1),
        };
        aerodrome::name(&flight.landing, "landing");
        aerodrome::name(&flight.approved, "approved");
        aerodrome::name(&flight.radio, "radio");
        flight
    }

    fn land(&self) {
        // Not tracked: makes the schedule certain and orders nothing.
        let landed = Barrier::new(2);
        thread::scope(|s| {
            s.spawn(|| {
                let radio = self.radio.load(Ordering::Relaxed);
                self.approved.store(radio as u8, Ordering::Relaxed);
                if self.approved.load(Ordering::Relaxed) == 1 {
                    self.landing.swap(true, Ordering::Relaxed);
                }
                landed.wait();
            });
            s.spawn(|| {
                landed.wait();
                while self.radio.load(Ordering::Relaxed) == 1 {
                    self.radio.fetch_sub(1, Ordering::Relaxed);
                }
            });
        });
    }
}

#[test]
fn a_property_of_named_atomics_finds_the_runs_that_the_paper_lists() {
    let text = failure(|| {
        aerodrome::property!(SAFE_LANDING);
        Flight::new().land();
    });
    contains(
        &text,
        &[
            "verdict:  violated in 2 of 3 consistent runs; the observed run has the property\n",
            "explored: 3 events and 6 states, 3 runs\n",
            "tests/named_atomics.rs:",
        ],
    );
    assert_eq!(
        states(&text, "violating run 1 of 2", 3),
        [["0", "1", "1"], ["0", "1", "0"], ["1", "1", "0"]]
    );
}

/// A number of each width breaks a property, and says with which value.
#[test]
fn atomics_of_every_type_have_values() {
    macro_rules! breaks {
        ($($Atomic:ident $last:expr, $value:literal;)*) => {$(
            let text = failure(|| {
                let x = $Atomic::new(Default::default());
                aerodrome::name(&x, "x");
                aerodrome::property!("x == 0");
                x.store($last, Ordering::Release);
            });
            contains(&text, &["explored: 1 event and 2 states, 1 run\n", concat!("x = ", $value)]);
        )*};
    }
    breaks! {
        AtomicBool true, "1 ";
        AtomicI8 i8::MIN, "-128 ";
        AtomicU8 u8::MAX, "255 ";
        AtomicI16 i16::MIN, "-32768 ";
        AtomicU16 u16::MAX, "65535 ";
        AtomicI32 i32::MIN, "-2147483648 ";
        AtomicU32 u32::MAX, "4294967295 ";
        AtomicI64 i64::MIN, "-9223372036854775808 ";
        AtomicU64 i64::MAX as u64, "9223372036854775807 ";
        AtomicIsize -3, "-3 ";
        AtomicUsize 3, "3 ";
    }
}

#[test]
fn a_pointer_is_its_address() {
    let mut plan = 7;
    let text = failure(|| {
        let next = AtomicPtr::new(&raw mut plan);
        aerodrome::name(&next, "next");
        aerodrome::property!("next != 0");
        next.store(std::ptr::null_mut(), Ordering::Release);
    });
    contains(&text, &["next = 0", "the observed run is one of them"]);
}

#[test]
fn the_value_at_the_naming_is_the_first_one() {
    let x = AtomicI32::new(0);
    aerodrome::property!("x >= 3 && y == 8");
    x.store(3, Ordering::Relaxed);
    aerodrome::name(&x, "x");
    x.fetch_add(1, Ordering::Relaxed);
    let y = AtomicI32::new(8);
    aerodrome::name(&y, "y");
}

#[test]
fn a_property_that_is_declared_later_knows_the_value() {
    let x = AtomicI32::new(0);
    aerodrome::name(&x, "x");
    x.store(3, Ordering::Relaxed);
    aerodrome::property!("x == 3");
}

/// In a process of its own, where nobody has looked at events before.
#[test]
fn the_first_property_of_a_process_knows_the_values() {
    run(&mut child("child_declares_late")).expect_code(0);
}

#[test]
fn child_declares_late() {
    if !is_child() {
        return;
    }
    let (x, y, huge) = (AtomicI32::new(0), AtomicI32::new(0), AtomicU64::new(0));
    aerodrome::name(&x, "x");
    aerodrome::name(&y, "y");
    aerodrome::name(&huge, "huge");
    x.store(3, Ordering::Relaxed);
    atomic_block! {
        y.store(4, Ordering::Relaxed);
        y.fetch_add(1, Ordering::Relaxed);
    }
    huge.store(u64::MAX, Ordering::Relaxed);
    {
        aerodrome::property!("x == 3 && y == 5");
    }
    let text = failure(|| {
        aerodrome::property!("huge == 0");
    });
    contains(&text, &["expected `huge` to begin with a value"]);
}

#[test]
fn the_same_name_again_changes_nothing() {
    let text = failure(|| {
        let x = AtomicI32::new(0);
        aerodrome::property!("x == 0");
        aerodrome::name(&x, "x");
        aerodrome::name(&x, "x");
        x.store(1, Ordering::Relaxed);
        aerodrome::name(&x, "x");
    });
    contains(&text, &["explored: 1 event and 2 states, 1 run\n"]);
}

#[test]
fn another_name_makes_another_variable() {
    let text = failure(|| {
        let x = AtomicI32::new(0);
        aerodrome::name(&x, "old");
        aerodrome::property!("old == 0 && young < 2");
        aerodrome::name(&x, "young");
        x.store(1, Ordering::Relaxed);
        x.store(2, Ordering::Relaxed);
    });
    contains(
        &text,
        &["explored: 2 events and 3 states, 1 run\n", "young = 2"],
    );
    assert_eq!(
        states(&text, "violating run 1 of 1", 2).last().unwrap(),
        &["0", "2"]
    );
}

#[test]
fn two_of_one_name_are_an_error_where_a_property_speaks_of_it() {
    let text = failure(|| {
        aerodrome::property!("twin == 0");
        let (a, b) = (AtomicU8::new(0), AtomicU8::new(0));
        aerodrome::name(&a, "twin");
        aerodrome::name(&b, "twin");
    });
    contains(&text, &["expected one variable", "`twin`"]);
    aerodrome::property!("single == 0");
    let (a, b, single) = (AtomicU8::new(0), AtomicU8::new(0), AtomicU8::new(0));
    aerodrome::name(&a, "other twin");
    aerodrome::name(&b, "other twin");
    aerodrome::name(&single, "single");
    a.store(1, Ordering::Relaxed);
    b.store(1, Ordering::Relaxed);
}

#[test]
fn an_atomic_continues_a_dropped_one_of_its_name() {
    let text = failure(|| {
        aerodrome::property!("heir <= 1");
        for first in [0, 1, 2] {
            let heir = AtomicU16::new(first);
            aerodrome::name(&heir, "heir");
            heir.fetch_sub(first, Ordering::Relaxed);
        }
    });
    // Two writes, for the first one changes nothing, and the births of two that are not the first.
    contains(
        &text,
        &["explored: 4 events and 5 states, 1 run\n", "heir = 2"],
    );
}

/// Runs each on a thread that aerodrome did not fork, as a harness runs tests; all live until all
/// have ended.
fn side_by_side(tests: &[&(dyn Fn(&Barrier) + Sync)]) {
    let barrier = &Barrier::new(tests.len());
    std::thread::scope(|s| {
        for test in tests {
            s.spawn(move || test(barrier));
        }
    });
}

#[test]
fn tests_that_run_side_by_side_have_each_their_own() {
    let test = |barrier: &Barrier| {
        let text = failure(|| {
            let depth = AtomicI32::new(0);
            aerodrome::property!("depth < 2");
            aerodrome::name(&depth, "depth");
            barrier.wait();
            depth.fetch_add(1, Ordering::Relaxed);
            barrier.wait();
            depth.fetch_add(1, Ordering::Relaxed);
            barrier.wait();
        });
        contains(
            &text,
            &["explored: 2 events and 3 states, 1 run\n", "depth = 2"],
        );
        barrier.wait();
    };
    side_by_side(&[&test, &test, &test]);
}

#[test]
fn a_static_that_another_test_was_first_to_touch_is_known_by_its_value() {
    static SHARED: AtomicI32 = AtomicI32::new(0);
    static UNTOUCHED: AtomicI32 = AtomicI32::new(0);
    side_by_side(&[&|_| {
        aerodrome::name(&SHARED, "shared");
        SHARED.store(5, Ordering::Relaxed);
        aerodrome::name(&UNTOUCHED, "untouched");
    }]);
    let text = failure(|| {
        aerodrome::property!("shared >= 5 && untouched == 0");
        side_by_side(&[&|_| SHARED.store(7, Ordering::Relaxed)]);
        SHARED.fetch_sub(1, Ordering::Relaxed);
        SHARED.fetch_sub(2, Ordering::Relaxed);
    });
    // What another test does meanwhile is not of this one.
    contains(
        &text,
        &["explored: 2 events and 3 states, 1 run\n", "shared = 4"],
    );
    aerodrome::property!("shared == 4");
    assert_eq!(SHARED.load(Ordering::Relaxed), 4);
}

#[test]
fn a_value_outside_i64_fails_where_a_property_speaks_of_it() {
    const TEXT: &str = "`huge` became 18446744073709551615: expected a value of i64, which is at most 9223372036854775807";
    let huge = AtomicU64::new(0);
    aerodrome::name(&huge, "huge");
    huge.store(u64::MAX, Ordering::Relaxed);
    huge.fetch_add(1, Ordering::Relaxed);
    {
        aerodrome::property!("huge == 0");
        huge.store(0, Ordering::Relaxed);
    }
    let text = failure(|| {
        aerodrome::property!("huge == 0");
        huge.fetch_sub(1, Ordering::Relaxed);
    });
    assert_eq!(text, TEXT);
    let text = failure(|| {
        aerodrome::property!("huge == 0");
    });
    contains(
        &text,
        &["expected `huge` to begin with a value, found none that was recorded"],
    );
    let text = failure(|| {
        let another = AtomicU64::new(u64::MAX);
        aerodrome::property!("enormous == 0");
        aerodrome::name(&another, "enormous");
    });
    contains(&text, &["`enormous` became 18446744073709551615"]);
}

#[test]
fn what_has_no_values_is_said_to_have_none() {
    let text = failure(|| {
        let lock = aerodrome::sync::Mutex::new(1);
        aerodrome::name(&lock, "lock");
        aerodrome::property!("lock == 1");
        *lock.lock().unwrap() = 2;
    });
    contains(
        &text,
        &[
            "writes `lock`: expected its value before it, found none",
            "only integers of i64 and truth values are recorded",
        ],
    );
}

/// A write of another between two reads; `prepare` may give the atomic a name.
fn torn_read(prepare: fn(&AtomicU32)) {
    let value = AtomicU32::new(0);
    prepare(&value);
    between(
        |wait| {
            atomic_block! {
                value.load(Ordering::Relaxed);
                wait();
                value.load(Ordering::Relaxed);
                value.fetch_add(1, Ordering::Relaxed);
            }
        },
        || {
            value.store(1, Ordering::Relaxed);
            value.store(2, Ordering::Relaxed);
        },
    );
}

#[test]
fn a_name_changes_no_verdict() {
    let steps = |report: Report| {
        accesses(&report)
            .into_iter()
            .map(|(op, _, line)| (op, line))
    };
    let without: Vec<_> = steps(only(|| torn_read(|_| {}))).collect();
    let with: Vec<_> = steps(only(|| torn_read(|value| aerodrome::name(value, "value")))).collect();
    assert_eq!(with, without);
}

/// The other block comes after the first one's write. A name that it gives, or a watched variable
/// that it is the first to touch, is no write that the first one's reads would come after.
fn born_between() {
    let watched = Watched::<i32>::new("watched", 0);
    let (ready, named) = (AtomicU32::new(0), AtomicU32::new(0));
    named.load(Ordering::Relaxed);
    between(
        |wait| {
            atomic_block! {
                ready.store(1, Ordering::Relaxed);
                wait();
                watched.get();
                named.load(Ordering::Relaxed);
            }
        },
        || {
            atomic_block! {
                ready.load(Ordering::Relaxed);
                aerodrome::name(&named, "named");
                watched.get();
            }
        },
    );
}

#[test]
fn a_birth_is_no_access() {
    silent(born_between);
}

// Traces.

/// Runs a child that leaves a trace.
fn recorded(test: &str) -> (Directory, String) {
    let directory = Directory::new();
    run(child(test).env("AERODROME_TRACE", directory.path())).expect_code(0);
    let trace = directory.trace();
    (directory, trace)
}

/// Feeds a trace, as the command does.
fn feed(trace: &str, mut take: impl FnMut(Event, u64, &Tables)) {
    let mut source = trace::open(trace, None).unwrap();
    let (mut rules, mut batch, mut position) = (source.rules(), Vec::new(), 0);
    while source.fill(&mut batch).unwrap() {
        for event in &batch {
            position += 1;
            if let Some(event) = rules.admit(event).unwrap() {
                take(event, position, source.names());
            }
        }
    }
}

/// What a property says of a trace.
fn explored(trace: &str, property: &str) -> Result<Outcome, Error> {
    let mut lattice = Lattice::new(property.parse().unwrap(), Limits::default());
    let mut verdict = Ok(());
    feed(trace, |event, position, names| {
        if verdict.is_ok() {
            verdict = lattice.step(&event, position, names);
        }
    });
    verdict.and_then(|()| lattice.finish())
}

#[test]
fn a_trace_has_the_values_of_named_atomics() {
    let (_directory, trace) = recorded("child_lands");
    let outcome = explored(&trace, SAFE_LANDING).unwrap();
    assert_eq!((outcome.runs, outcome.violating, outcome.states), (3, 2, 6));
    assert_eq!(outcome.initial, [0, 0, 1]);
    assert!(!outcome.observed_broken);
}

#[test]
fn child_lands() {
    if !is_child() {
        return;
    }
    Flight::new().land();
}

/// The commands take such a trace, and none but `lattice` finds anything in it.
#[test]
#[cfg(feature = "cli")]
fn every_command_reads_such_a_trace() {
    let (directory, trace) = recorded("child_lands");
    let text = directory.path().join("flight.std");
    let command =
        |arguments: &[&str]| run(process::clean(env!("CARGO_BIN_EXE_aerodrome")).args(arguments));
    for trace in [&trace, text.to_str().unwrap()] {
        let lattice = command(&["lattice", "--property", SAFE_LANDING, trace]).expect_code(1);
        contains(
            &lattice.stdout,
            &[
                "violated in 2 of 3",
                "explored: 3 events and 6 states, 3 runs\n",
            ],
        );
        for name in ["check", "predict", "stats"] {
            command(&[name, trace]).expect_code(0);
        }
        if !text.exists() {
            command(&["convert", trace, text.to_str().unwrap()]).expect_code(0);
        }
    }
}

#[test]
fn every_operation_that_stores_is_recorded_with_its_value() {
    let (_directory, trace) = recorded("child_operates");
    let mut values = Vec::new();
    let mut announced = None;
    feed(&trace, |event, _, names| match event.op {
        Op::Value => announced = Some(event.value()),
        Op::Read | Op::CompareExchangeFailed | Op::Vain(_) => assert_eq!(announced, None),
        _ => {
            if let Some(value) = announced.take() {
                let name = names.object(event.object()).name;
                values.push((event.op == Op::Born, name.unwrap(), value));
            }
        }
    });
    let (births, writes): (Vec<_>, Vec<_>) = values.into_iter().partition(|(birth, ..)| *birth);
    assert_eq!(
        births,
        [(true, "x".to_string(), 1), (true, "flag".to_string(), 0)]
    );
    let values: Vec<i64> = writes.into_iter().map(|(.., value)| value).collect();
    // An update that changes nothing stores nothing.
    let of_x = [5, 5, 7, 6, 9, 3, 6, 12, 24, 25, 4, 7, 6, -3];
    assert_eq!(values, [&of_x[..], &[1, 0, 1, 0, 1, 0]].concat());
}

#[test]
fn child_operates() {
    if !is_child() {
        return;
    }
    const ORDER: Ordering = Ordering::SeqCst;
    let x = AtomicI64::new(0);
    x.store(1, ORDER);
    aerodrome::name(&x, "x");
    atomic_block! {
        // Two in a row that nothing comes between, of which that of another atomic would be left
        // out.
        x.store(5, ORDER);
        x.store(5, ORDER);
        x.fetch_add(2, ORDER);
        x.fetch_sub(1, ORDER);
        x.swap(9, ORDER);
    }
    assert_eq!(x.compare_exchange(9, 3, ORDER, ORDER), Ok(9));
    assert_eq!(x.compare_exchange(9, 3, ORDER, ORDER), Err(3));
    assert_eq!(x.fetch_update(ORDER, ORDER, |value| Some(value * 2)), Ok(3));
    assert_eq!(x.fetch_update(ORDER, ORDER, |_| None), Err(6));
    assert_eq!(x.try_update(ORDER, ORDER, |value| Some(value * 2)), Ok(6));
    assert_eq!(x.update(ORDER, ORDER, |value| value * 2), 12);
    x.fetch_max(25, ORDER);
    x.fetch_min(4, ORDER);
    x.fetch_and(6, ORDER);
    x.fetch_or(3, ORDER);
    x.fetch_xor(1, ORDER);
    x.fetch_nand(2, ORDER);
    let flag = AtomicBool::new(false);
    aerodrome::name(&flag, "flag");
    flag.fetch_or(true, ORDER);
    flag.fetch_and(false, ORDER);
    flag.fetch_xor(true, ORDER);
    flag.fetch_nand(true, ORDER);
    flag.fetch_not(ORDER);
    flag.store(false, ORDER);
}

#[test]
fn offline_no_birth_is_an_access_either() {
    let (_directory, trace) = recorded("child_is_born_between");
    let mut births = 0;
    for &kind in EngineKind::ALL {
        let mut checker = Checker::new(kind, Semantics::Rust);
        feed(&trace, |event, position, names| {
            births += usize::from(event.op == Op::Born);
            let violation = checker.step(event, position, names);
            assert!(violation.is_none(), "{violation:#?}");
        });
        assert!(checker.finish(&Tables::new()).is_none());
    }
    assert_eq!(births, 2 * EngineKind::ALL.len());
}

#[test]
fn child_is_born_between() {
    if !is_child() {
        return;
    }
    born_between();
}

#[test]
fn a_name_that_came_late_is_in_the_trace() {
    let (_directory, trace) = recorded("child_names_late");
    let late = explored(&trace, "late == 1").unwrap();
    assert_eq!((&late.initial[..], late.events), (&[1][..], 1));
    assert!(late.observed_broken);
    let mut names = Vec::new();
    feed(&trace, |event, _, tables| {
        if matches!(event.op, Op::Write | Op::Acquire) {
            names.push(tables.object(event.object()).name);
        }
    });
    let known = |name: &str| Some(name.to_string());
    assert_eq!(names, [None, None, None, known("late"), known("lock")]);
}

#[test]
fn child_names_late() {
    if !is_child() {
        return;
    }
    let (lock, late) = (aerodrome::sync::Mutex::new(0), AtomicI8::new(0));
    drop(lock.lock());
    atomic_block! { late.store(0, Ordering::Relaxed); }
    late.store(1, Ordering::Relaxed);
    aerodrome::name(&lock, "lock");
    aerodrome::name(&late, "late");
    late.store(2, Ordering::Relaxed);
    drop(lock.lock());
}
