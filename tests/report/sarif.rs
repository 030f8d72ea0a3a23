//! SARIF: as the standard's types have it, and complete.

use aerodrome::report::{Report, json, sarif};
use aerodrome_sarif::error;
use serde_json::{Value, json as value};

use crate::cases;

fn log(reports: &[Report]) -> Value {
    serde_json::from_str(&sarif::render(reports)).unwrap()
}

fn reports() -> Vec<Report> {
    cases::all().into_iter().map(|(_, report)| report).collect()
}

#[test]
fn the_log_of_every_case_is_valid() {
    for (name, report) in cases::all() {
        assert_eq!(error(&log(&[report])), None, "{name}");
    }
    assert_eq!(error(&log(&reports())), None);
    assert_eq!(log(&reports())["version"], "2.1.0");
    assert_eq!(error(&log(&[])), None);
}

#[test]
fn the_validator_sees_what_is_wrong() {
    let log = log(&reports()[..1]);
    let damaged = |pointer: &str, value: Value| {
        let mut log = log.clone();
        *log.pointer_mut(pointer).unwrap() = value;
        error(&log).unwrap_or_default()
    };
    let result = "/runs/0/results/0";
    for (pointer, value, complaint) in [
        ("/runs/0/tool/driver", value!({}), "missing field `name`"),
        (
            &format!("{result}/level"),
            value!("fatal"),
            "unknown variant `fatal`",
        ),
        (
            &format!("{result}/message"),
            value!({ "txt": "x" }),
            "is known",
        ),
        (
            &format!("{result}/relatedLocations/0/id"),
            value!("one"),
            "expected i64",
        ),
    ] {
        let error = damaged(pointer, value);
        assert!(error.contains(complaint), "{pointer}: {error}");
    }
}

#[test]
fn every_access_is_a_related_location_and_a_step() {
    for (name, report) in cases::all() {
        let log = log(std::slice::from_ref(&report));
        let result = &log["runs"][0]["results"][0];
        if report.accesses.is_empty() {
            assert!(result.get("codeFlows").is_none());
            continue;
        }
        let related = result["relatedLocations"].as_array().unwrap();
        let mut steps: Vec<u64> = result["codeFlows"][0]["threadFlows"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|flow| flow["locations"].as_array().unwrap())
            .map(|step| step["executionOrder"].as_u64().unwrap())
            .collect();
        steps.sort_unstable();
        let numbers: Vec<u64> = (1..=report.accesses.len() as u64).collect();
        assert_eq!(steps, numbers, "{name}");
        assert_eq!(
            related
                .iter()
                .map(|location| location["id"].as_u64().unwrap())
                .collect::<Vec<_>>(),
            numbers
        );
    }
}

#[test]
fn paths_are_relative_to_the_source_root_and_escaped() {
    let (_, mut report) = cases::all().remove(0);
    let mut value: Value = serde_json::from_str(&json::line(&report)).unwrap();
    value["accesses"][0]["place"]["file"] = "src/a b/ü.rs".into();
    report = serde_json::from_value(value).unwrap();
    let log = log(&[report]);
    let result = &log["runs"][0]["results"][0];
    let artifact = &result["relatedLocations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(artifact["uri"], "src/a%20b/%C3%BC.rs");
    assert_eq!(artifact["uriBaseId"], "%SRCROOT%");
    assert_eq!(
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "tests/report/fixtures/bank.rs"
    );
}

#[test]
fn the_fingerprint_stays_when_lines_move_and_differs_between_cycles() {
    let reports = reports();
    let mut moved = reports[0].clone();
    let mut value: Value = serde_json::from_str(&json::line(&moved)).unwrap();
    for place in value["accesses"].as_array_mut().unwrap() {
        place["place"]["line"] = (place["place"]["line"].as_u64().unwrap() + 100).into();
    }
    for excerpt in value["excerpts"].as_array_mut().unwrap() {
        excerpt["line"] = (excerpt["line"].as_u64().unwrap() + 100).into();
    }
    moved = serde_json::from_value(value).unwrap();
    assert_eq!(moved.fingerprint(), reports[0].fingerprint());
    assert_ne!(reports[0].fingerprint(), reports[1].fingerprint());
}
