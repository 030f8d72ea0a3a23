//! The paper's two examples, as traces.

use crate::traces::{VARIABLES, event, explore, names, write};
use aerodrome::lattice::{Limits, Outcome};
use aerodrome::trace::{Event, Op, Tables};
use std::sync::LazyLock;

static FLIGHT: LazyLock<Tables> = LazyLock::new(|| names(&["landing", "approved", "radio"]));

fn flight() -> Outcome {
    checked("start(landing) -> [approved, !radio)")
}

/// Approval, landing, and only then the radio goes down.
fn checked(property: &str) -> Outcome {
    let [landing, approved, radio] = [0, 1, 2];
    let trace: Vec<Event> = [
        write(0, landing, 0).to_vec(),
        write(0, approved, 0).to_vec(),
        write(0, radio, 1).to_vec(),
        // if (radio == 0) { approved = 0 } else { approved = 1 }
        vec![event(1, Op::Read, radio)],
        write(1, approved, 1).to_vec(),
        // if (approved) { landing = 1 }
        vec![event(1, Op::Read, approved)],
        write(1, landing, 1).to_vec(),
        // while (radio) { checkRadio() }
        vec![event(2, Op::Read, radio)],
        write(2, radio, 0).to_vec(),
        vec![event(2, Op::Read, radio)],
    ]
    .concat();
    let limits = Limits {
        graph: 100,
        ..Limits::default()
    };
    explore(property, limits, &FLIGHT, &trace).unwrap()
}

fn xyz() -> Outcome {
    let [x, y, z] = [0, 1, 2];
    let trace: Vec<Event> = [
        write(0, x, -1).to_vec(),
        write(0, y, 0).to_vec(),
        write(0, z, 0).to_vec(),
        // x++
        vec![event(1, Op::Read, x)],
        write(1, x, 0).to_vec(),
        // z = x + 1
        vec![event(2, Op::Read, x)],
        write(2, z, 1).to_vec(),
        // y = x + 1, which reads x before the other strand's x++ and writes y after it
        vec![event(1, Op::Read, x)],
        vec![event(2, Op::Read, x)],
        write(2, x, 1).to_vec(),
        write(1, y, 1).to_vec(),
    ]
    .concat();
    explore(
        "x > 0 -> [y == 0, y > z)",
        Limits::default(),
        &VARIABLES,
        &trace,
    )
    .unwrap()
}

fn states(outcome: &Outcome, run: usize) -> Vec<Vec<i64>> {
    let run = &outcome.counterexamples[run];
    std::iter::once(&run.start)
        .chain(run.steps.iter().map(|step| &step.state))
        .map(|state| state.to_vec())
        .collect()
}

#[test]
fn landing_has_three_runs_over_six_states_of_which_two_violate() {
    let outcome = flight();
    assert_eq!((outcome.runs, outcome.states, outcome.violating), (3, 6, 2));
    assert!(!outcome.observed_broken);
    assert!(outcome.complete());
    assert_eq!(outcome.counterexamples.len(), 2);
    // The radio goes down between approval and landing.
    assert_eq!(outcome.counterexamples[0].before, 1);
    assert_eq!(states(&outcome, 0), [[0, 1, 1], [0, 1, 0], [1, 1, 0]]);
    // The radio goes down before approval.
    assert_eq!(outcome.counterexamples[1].before, 0);
    assert_eq!(
        states(&outcome, 1),
        [[0, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]]
    );
}

#[test]
fn a_radio_that_must_live_as_long_as_the_landing_fails_in_the_observed_run_too() {
    let outcome = checked("landing -> [approved, !radio)");
    assert_eq!(
        (outcome.runs, outcome.violating, outcome.observed_broken),
        (3, 3, true)
    );
}

#[test]
fn landing_reads_as_a_table_of_events_and_states() {
    let expected = "\
property: start(landing) -> [approved, !radio)
verdict:  violated in 2 of 3 consistent runs; the observed run has the property
explored: 3 events and 6 states, 3 runs

violating run 1 of 2
  event  strand  write                       at  landing  approved  radio
                 after 1 event, as observed            0         1      1
     15  T2      radio = 0                             0         1      0
     12  T1      landing = 1                           1         1      0  <- broken
  observed instead:
                 after 1 event, as observed            0         1      1
     12  T1      landing = 1                           1         1      1
     15  T2      radio = 0                             1         1      0

violating run 2 of 2
  event  strand  write                 at  landing  approved  radio
                 in the initial state            0         0      1
     15  T2      radio = 0                       0         0      0
      9  T1      approved = 1                    0         1      0
     12  T1      landing = 1                     1         1      0  <- broken
  observed instead:
                 in the initial state            0         0      1
      9  T1      approved = 1                    0         1      1
     12  T1      landing = 1                     1         1      1
     15  T2      radio = 0                       1         1      0
";
    assert_eq!(flight().text(&*FLIGHT), expected);
}

#[test]
fn landing_is_drawn_with_the_observed_run_and_the_violating_ones() {
    let outcome = flight();
    let expected = "\
digraph lattice {
  label=\"start(landing) -> [approved, !radio)\\nstates are (landing, approved, radio)\";
  labelloc=t;
  node [shape=box, fontname=monospace];
  s0 [label=\"(0, 0, 1)\", style=bold];
  s1 [label=\"(0, 1, 1)\", style=bold];
  s2 [label=\"(0, 0, 0)\"];
  s3 [label=\"(1, 1, 1)\", style=bold];
  s4 [label=\"(0, 1, 0)\"];
  s5 [label=\"(1, 1, 0)\", style=bold, color=red, peripheries=2];
  s0 -> s1 [label=\"T1: approved = 1\", style=bold, color=red];
  s0 -> s2 [label=\"T2: radio = 0\", color=red];
  s1 -> s3 [label=\"T1: landing = 1\", style=bold];
  s1 -> s4 [label=\"T2: radio = 0\", color=red];
  s2 -> s4 [label=\"T1: approved = 1\", color=red];
  s3 -> s5 [label=\"T2: radio = 0\", style=bold];
  s4 -> s5 [label=\"T1: landing = 1\", color=red];
}
";
    assert_eq!(
        outcome
            .graph
            .unwrap()
            .dot(&outcome.property, &outcome.variables, &*FLIGHT),
        expected
    );
}

#[test]
fn landing_as_json_has_the_counts_and_the_runs() {
    let json: serde_json::Value = serde_json::from_str(&flight().json(&*FLIGHT)).unwrap();
    assert_eq!(json["holds"], false);
    assert_eq!(json["observed_holds"], true);
    assert_eq!(json["complete"], true);
    assert_eq!(
        (&json["runs"], &json["violating_runs"], &json["states"]),
        (&3.into(), &2.into(), &6.into())
    );
    assert_eq!(json["counterexamples"][0]["steps"][0]["strand"], "T2");
    assert_eq!(json["counterexamples"][0]["steps"][0]["variable"], "radio");
    assert_eq!(
        json["counterexamples"][0]["steps"][1]["state"],
        serde_json::json!([1, 1, 0])
    );
}

#[test]
fn example_two_has_three_runs_of_which_another_than_the_observed_one_violates() {
    let outcome = xyz();
    assert_eq!((outcome.runs, outcome.states, outcome.violating), (3, 7, 1));
    assert!(!outcome.observed_broken);
    assert_eq!(outcome.initial, [-1, 0, 0]);
    // y is written before z, so that y > z for a while; then x becomes positive.
    assert_eq!(outcome.counterexamples.len(), 1);
    assert_eq!(
        states(&outcome, 0),
        [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1]]
    );
}
