//! `aerodrome lattice`, from a trace file to its words and exit codes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The flight controller of the paper: approval, landing, and then the radio goes down.
const FLIGHT: &str = "\
main|val(0)|0
main|w(landing)|1
main|val(0)|0
main|w(approved)|1
main|val(1)|0
main|w(radio)|1
controller|r(radio)|2
controller|val(1)|0
controller|w(approved)|3
controller|r(approved)|4
controller|val(1)|0
controller|w(landing)|5
watch|r(radio)|6
watch|val(0)|0
watch|w(radio)|7
";

const PROPERTY: &str = "start(landing) -> [approved, !radio)";

fn lattice(arguments: &[&str], trace: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
        .arg("lattice")
        .args(arguments)
        .args(["--format", "std", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read the trace.
    let _ = child.stdin.take().unwrap().write_all(trace.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn refused(arguments: &[&str], trace: &str, expected: &str) {
    let output = lattice(arguments, trace);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}

#[test]
fn violating_runs_are_shown_beside_the_observed_one() {
    let output = lattice(&["--property", PROPERTY], FLIGHT);
    assert_eq!(output.status.code(), Some(1));
    let expected = "\
property: start(landing) -> [approved, !radio)
verdict:  violated in 2 of 3 consistent runs; the observed run has the property
explored: 3 events and 6 states, 3 runs

violating run 1 of 2
  event  strand      write                       at  landing  approved  radio
                     after 1 event, as observed            0         1      1
     15  watch       radio = 0                   7         0         1      0
     12  controller  landing = 1                 5         1         1      0  <- broken
  observed instead:
                     after 1 event, as observed            0         1      1
     12  controller  landing = 1                 5         1         1      1
     15  watch       radio = 0                   7         1         1      0

violating run 2 of 2
  event  strand      write                 at  landing  approved  radio
                     in the initial state            0         0      1
     15  watch       radio = 0             7         0         0      0
      9  controller  approved = 1          3         0         1      0
     12  controller  landing = 1           5         1         1      0  <- broken
  observed instead:
                     in the initial state            0         0      1
      9  controller  approved = 1          3         0         1      1
     12  controller  landing = 1           5         1         1      1
     15  watch       radio = 0             7         1         1      0
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn a_property_that_holds_exits_with_zero() {
    let output = lattice(&["--property", "landing -> approved"], FLIGHT);
    assert_eq!(output.status.code(), Some(0));
    let expected = "\
property: landing -> approved
verdict:  holds in every consistent run
explored: 2 events and 3 states, 1 run
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn json_has_counts_and_runs() {
    let output = lattice(&["--property", PROPERTY, "--json", "--runs", "1"], FLIGHT);
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["runs"], &json["violating_runs"], &json["states"]),
        (&3.into(), &2.into(), &6.into())
    );
    assert_eq!(json["counterexamples"].as_array().unwrap().len(), 1);
}

#[test]
fn dot_draws_the_lattice() {
    let output = lattice(&["--property", PROPERTY, "--dot"], FLIGHT);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("digraph lattice {\n") && text.ends_with("}\n"),
        "{text}"
    );
    assert!(
        text.contains("s0 -> s2 [label=\"watch: radio = 0\", color=red];"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_decided_is_said_with_the_place() {
    refused(
        &["--property", "landing ->"],
        FLIGHT,
        "error: --property: expected a formula, found the end of the property\n  |\n  | landing ->\n  |           ^\n\
         `aerodrome --help` says how it is used\n",
    );
    refused(
        &["--property", "landing -> aproved"],
        FLIGHT,
        "error: -: expected the name of a variable whose values are known, found `aproved`\n  |\n  \
         | landing -> aproved\n  |            ^^^^^^^\n  = names that have values: approved, landing, radio\n",
    );
    refused(
        &["--property", "x > 0"],
        "a|val(1)|0\na|w(x)|1\nb|w(x)|2\n",
        "error: -: event 3 writes `x`: expected its value before it, found none\n  \
         = only integers of i64 and truth values are recorded\n",
    );
    refused(
        &[],
        FLIGHT,
        "error: the following required arguments were not provided:\n  --property <FORMULA>\n\n\
         Usage: aerodrome lattice --property <FORMULA> --format <FORMAT> <FILE>\n\n\
         For more information, try '--help'.\n",
    );
    refused(
        &["--property", "x > 0", "--width", "0"],
        FLIGHT,
        "error: invalid value '0' for '--width <N>': expected a number from 1, found `0`\n\n\
         For more information, try '--help'.\n",
    );
}
