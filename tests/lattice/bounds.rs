//! Runs that are too many, levels that are too wide, events that come too late.

use crate::traces::{VARIABLES, event, explore, write};
use aerodrome::lattice::Limits;
use aerodrome::trace::{Event, Op};

fn births() -> Vec<Event> {
    (0..3).flat_map(|variable| write(0, variable, 0)).collect()
}

/// Three strands that know nothing of each other.
fn unsynchronized(events: i64) -> Vec<Event> {
    births()
        .into_iter()
        .chain(
            (1..=events)
                .flat_map(|value| (0..3).flat_map(move |strand| write(strand, strand, value))),
        )
        .collect()
}

#[test]
fn a_level_that_is_too_wide_is_narrowed_and_that_is_said() {
    let limits = Limits {
        width: 5,
        ..Limits::default()
    };
    let outcome = explore(
        "x >= 0 && y >= 0 && z >= 0",
        limits,
        &VARIABLES,
        &unsynchronized(10),
    )
    .unwrap();
    assert!(outcome.narrowed && !outcome.late && outcome.holds());
    assert!(
        outcome.runs >= 1 && outcome.states <= 31 * 5,
        "{} runs",
        outcome.runs
    );
    let text = outcome.text(&*VARIABLES);
    assert!(
        text.contains("verdict:  holds in every consistent run that was explored\n"),
        "{text}"
    );
    let first = format!(
        ", the first {} runs: a level of the lattice has more states than are kept\n",
        outcome.runs
    );
    assert!(text.contains(&first), "{text}");
}

#[test]
fn the_observed_run_survives_any_bound() {
    for width in 1..4 {
        let limits = Limits {
            width,
            history: 0,
            window: 0,
            ..Limits::default()
        };
        let outcome = explore("x < 10", limits, &VARIABLES, &unsynchronized(10)).unwrap();
        assert!(outcome.observed_broken && !outcome.holds());
        let last = outcome.counterexamples[0].steps.last().unwrap();
        assert_eq!((last.event.variable, last.event.value), (0, 10));
    }
}

#[test]
fn an_event_that_comes_too_late_is_said_to_and_one_that_could_not_come_earlier_is_not() {
    let busy: Vec<Event> = births()
        .into_iter()
        .chain((1..=100).flat_map(|value| write(1, 0, value)))
        .collect();
    let limits = Limits {
        window: 10,
        ..Limits::default()
    };
    let concurrent = [busy.as_slice(), &write(2, 1, 1)].concat();
    let outcome = explore("y == 0 || x > 50", limits, &VARIABLES, &concurrent).unwrap();
    assert!(outcome.late && outcome.holds());
    assert!(outcome.text(&*VARIABLES).contains(
        "the first 11 runs: an event is concurrent with more events than are waited for"
    ));
    let joined = [busy.as_slice(), &[event(2, Op::Join, 1)], &write(2, 1, 1)].concat();
    let outcome = explore("y == 0 || x > 50", limits, &VARIABLES, &joined).unwrap();
    assert!(!outcome.late && outcome.holds() && outcome.runs == 1);
    let outcome = explore(
        "y == 0 || x > 50",
        Limits::default(),
        &VARIABLES,
        &concurrent,
    )
    .unwrap();
    assert_eq!(
        (outcome.runs, outcome.violating, outcome.complete()),
        (101, 51, true)
    );
}

#[test]
fn more_runs_than_a_number_can_say_are_called_so() {
    let outcome = explore(
        "x + y >= 0",
        Limits::default(),
        &VARIABLES,
        &unsynchronized(100),
    )
    .unwrap();
    assert!(outcome.complete());
    // Only x and y are relevant: two independent chains of a hundred.
    assert_eq!((outcome.events, outcome.states), (200, 101 * 101));
    let text = outcome.text(&*VARIABLES);
    assert!(
        text.contains("explored: 200 events and 10201 states, more than 10^38 runs\n"),
        "{text}"
    );
}

#[test]
fn a_counterexample_further_back_than_is_kept_says_so() {
    // x is out of step for long, and only then the property looks at it.
    let trace = unsynchronized(30);
    let limits = Limits {
        history: 20,
        width: 50,
        ..Limits::default()
    };
    let outcome = explore(
        "y < 25 || once (x == 3 && y == 0)",
        limits,
        &VARIABLES,
        &trace,
    )
    .unwrap();
    assert!(outcome.observed_broken);
    let property = "x < 29 || !once (x == 3 && y == 0)";
    let outcome = explore(property, limits, &VARIABLES, &trace).unwrap();
    assert!(!outcome.observed_broken && !outcome.holds());
    let run = &outcome.counterexamples[0];
    assert!(!run.as_observed && run.before > 0);
    assert!(
        outcome
            .text(&*VARIABLES)
            .contains("in some consistent order")
    );
}
