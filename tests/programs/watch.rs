//! Properties of watched variables, checked in process.

#[path = "../../examples/landing.rs"]
mod landing;
#[path = "../../examples/xyz.rs"]
mod xyz;

use std::sync::Barrier;

use aerodrome::sync::atomic::{AtomicU32, Ordering};
use aerodrome::thread;
use aerodrome::watch::Watched;

use crate::properties::{contains, failure, states};

#[test]
fn landing_has_three_runs_over_six_states_of_which_two_violate() {
    let text = failure(landing::main);
    contains(
        &text,
        &[
            "property violation\n\nproperty: start(landing) -> [approved, !radio)\n",
            "verdict:  violated in 2 of 3 consistent runs; the observed run has the property\n",
            "explored: 3 events and 6 states, 3 runs\n",
            "examples/landing.rs:",
        ],
    );
    assert_eq!(
        states(&text, "violating run 1 of 2", 3),
        [["0", "1", "1"], ["0", "1", "0"], ["1", "1", "0"]]
    );
    assert_eq!(
        states(&text, "violating run 2 of 2", 3),
        [
            ["0", "0", "1"],
            ["0", "0", "0"],
            ["0", "1", "0"],
            ["1", "1", "0"]
        ]
    );
}

#[test]
fn example_two_has_three_runs_of_which_another_than_the_observed_one_violates() {
    let text = failure(xyz::main);
    contains(
        &text,
        &[
            "verdict:  violated in 1 of 3 consistent runs; the observed run has the property\n",
            "explored: 4 events and 7 states, 3 runs\n",
        ],
    );
    assert_eq!(
        states(&text, "violating run 1 of 1", 3),
        [
            ["0", "0", "0"],
            ["0", "1", "0"],
            ["0", "1", "1"],
            ["1", "1", "1"]
        ]
    );
}

#[test]
fn a_property_that_holds_in_every_run_says_nothing() {
    static DONE: Watched<u32> = Watched::<u32>::new("done", 0);
    aerodrome::property!("done <= 2 && (start(done == 2) -> previously done == 1)");
    thread::scope(|s| {
        s.spawn(|| DONE.fetch_add(1));
        s.spawn(|| DONE.fetch_add(1));
    });
}

#[test]
fn a_property_that_is_declared_after_a_variable_was_used_knows_its_value() {
    static LEVEL: Watched<i32> = Watched::<i32>::new("level", 0);
    LEVEL.set(5);
    let text = failure(|| {
        aerodrome::property!("level > 5 || level == 5 && !start(level == 5)");
        LEVEL.set(6);
        LEVEL.set(4);
    });
    contains(
        &text,
        &[
            "explored: 2 events and 3 states, 1 run\n",
            "the observed run is one of them",
        ],
    );
}

#[test]
fn a_property_knows_what_was_written_since_the_one_before_it() {
    static GAUGE: Watched<i32> = Watched::<i32>::new("gauge", 0);
    let used = AtomicU32::new(0);
    aerodrome::name(&used, "used");
    GAUGE.set(0);
    for round in 1..4 {
        {
            aerodrome::property!("gauge >= 0 && used >= 0");
        }
        // Nobody looks at what happens here, but for the values.
        thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..100 {
                    aerodrome::atomic_block! {
                        GAUGE.set(2 * round);
                        used.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        });
        let text = failure(|| {
            aerodrome::property!("gauge == 0 && used == 0");
        });
        let (gauge, used) = ((2 * round).to_string(), (100 * round).to_string());
        assert_eq!(
            states(&text, "violating run 1 of 1", 2),
            [[gauge.as_str(), used.as_str()]]
        );
    }
}

#[test]
fn locks_keep_critical_sections_in_their_order() {
    static LEFT: Watched<i64> = Watched::<i64>::new("left", 0);
    static RIGHT: Watched<i64> = Watched::<i64>::new("right", 0);
    let lock = aerodrome::sync::Mutex::new(());
    let turn = Barrier::new(2);
    aerodrome::property!("right -> left");
    thread::scope(|s| {
        s.spawn(|| {
            let guard = lock.lock().unwrap();
            LEFT.set(1);
            drop(guard);
            turn.wait();
        });
        s.spawn(|| {
            turn.wait();
            let _guard = lock.lock().unwrap();
            RIGHT.set(1);
        });
    });
}

#[test]
fn a_malformed_property_fails_at_once_and_points_at_the_place() {
    let text = failure(|| {
        aerodrome::property!("x -> [y, z");
    });
    assert_eq!(
        text,
        "malformed property: expected `)`, found the end of the property\n  |\n  | x -> [y, z\n  |           ^"
    );
}

#[test]
fn a_name_that_no_variable_has_fails_the_test() {
    static KNOWN: Watched<i32> = Watched::<i32>::new("known", 0);
    let text = failure(|| {
        aerodrome::property!("known >= 0 && unknown == 1");
        KNOWN.set(1);
    });
    contains(
        &text,
        &[
            "expected the name of a variable whose values are known, found `unknown`",
            "known",
        ],
    );
}

#[test]
fn a_value_outside_i64_fails_at_the_place() {
    static HUGE: Watched<u64> = Watched::<u64>::new("huge", 0);
    let text = failure(|| HUGE.set(u64::MAX));
    assert_eq!(
        text,
        "`huge` became 18446744073709551615: expected a value of i64, which is at most 9223372036854775807"
    );
}
