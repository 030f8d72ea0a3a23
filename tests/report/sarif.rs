//! SARIF: valid against the schema of the standard, and complete.

use aerodrome::report::{Report, sarif};
use serde_json::Value;

use crate::cases;

/// As much of JSON Schema (draft 7) as the SARIF schema uses; anything else in a schema is an error.
struct Schema {
    root: Value,
}

impl Schema {
    fn sarif() -> Schema {
        Schema {
            root: serde_json::from_str(include_str!("sarif-2.1.0.schema.json")).unwrap(),
        }
    }

    fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.root, value, "", &mut errors);
        errors
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().unwrap() {
            let mut fail = |what: String| errors.push(format!("{at}: {what}"));
            match keyword.as_str() {
                "$schema" | "$id" | "title" | "description" | "default" | "definitions" => {}
                "$ref" => {
                    let name = rule
                        .as_str()
                        .unwrap()
                        .strip_prefix("#/definitions/")
                        .unwrap();
                    self.check(&self.root["definitions"][name], value, at, errors);
                }
                "type" => {
                    let fits = |name: &str| match name {
                        "object" => value.is_object(),
                        "array" => value.is_array(),
                        "string" => value.is_string(),
                        "boolean" => value.is_boolean(),
                        "integer" => value.is_i64() || value.is_u64(),
                        "number" => value.is_number(),
                        "null" => value.is_null(),
                        other => panic!("type {other}"),
                    };
                    let wanted = rule
                        .as_array()
                        .cloned()
                        .unwrap_or_else(|| vec![rule.clone()]);
                    if !wanted.iter().any(|name| fits(name.as_str().unwrap())) {
                        fail(format!("{value} is not of type {rule}"));
                    }
                }
                "enum" => {
                    if !rule.as_array().unwrap().contains(value) {
                        fail(format!("{value} is none of {rule}"));
                    }
                }
                "required" => {
                    for name in rule.as_array().unwrap() {
                        if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                            fail(format!("{name} is missing"));
                        }
                    }
                }
                "properties" => {
                    for (name, property) in rule.as_object().unwrap() {
                        if let Some(inner) = value.get(name) {
                            self.check(property, inner, &format!("{at}/{name}"), errors);
                        }
                    }
                }
                "additionalProperties" => {
                    let Some(object) = value.as_object() else {
                        continue;
                    };
                    for (name, inner) in object
                        .iter()
                        .filter(|(name, _)| schema["properties"].get(name).is_none())
                    {
                        match rule {
                            Value::Bool(true) => {}
                            Value::Bool(false) => {
                                errors.push(format!("{at}: {name} is not allowed"))
                            }
                            rule => self.check(rule, inner, &format!("{at}/{name}"), errors),
                        }
                    }
                }
                "items" => {
                    for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, inner, &format!("{at}/{i}"), errors);
                    }
                }
                "minItems" => {
                    if value
                        .as_array()
                        .is_some_and(|list| (list.len() as u64) < rule.as_u64().unwrap())
                    {
                        fail(format!("fewer than {rule} items"));
                    }
                }
                "uniqueItems" => {
                    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                    if rule == true && (1..list.len()).any(|i| list[..i].contains(&list[i])) {
                        fail("an item is there twice".to_string());
                    }
                }
                "minimum" => {
                    if value
                        .as_f64()
                        .is_some_and(|number| number < rule.as_f64().unwrap())
                    {
                        fail(format!("{value} is less than {rule}"));
                    }
                }
                "maximum" => {
                    if value
                        .as_f64()
                        .is_some_and(|number| number > rule.as_f64().unwrap())
                    {
                        fail(format!("{value} is more than {rule}"));
                    }
                }
                "anyOf" | "oneOf" => {
                    let fits = |inner: &Value| {
                        let mut errors = Vec::new();
                        self.check(inner, value, at, &mut errors);
                        errors.is_empty()
                    };
                    let count = rule
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter(|inner| fits(inner))
                        .count();
                    if count == 0 || keyword == "oneOf" && count > 1 {
                        fail(format!("{keyword}: {count} of the alternatives fit"));
                    }
                }
                "format" => {
                    let text = value.as_str().unwrap_or_default();
                    let allowed = |c: char| {
                        c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c)
                    };
                    match rule.as_str().unwrap() {
                        "uri" if !text.contains(':') || !text.chars().all(allowed) => {
                            fail(format!("{text} is no URI"))
                        }
                        "uri-reference" if !text.chars().all(allowed) => {
                            fail(format!("{text} is no URI reference"))
                        }
                        "uri" | "uri-reference" => {}
                        "date-time" => fail("a date is not expected here".to_string()),
                        other => panic!("format {other}"),
                    }
                }
                // Ours have none of the properties that have patterns (GUIDs, MIME types, versions of other tools).
                "pattern" => fail(format!("{value} would have to match {rule}")),
                other => panic!("the schema uses {other}"),
            }
        }
    }
}

fn reports() -> Vec<Report> {
    cases::all().into_iter().map(|(_, report)| report).collect()
}

#[test]
fn the_log_of_every_case_is_valid() {
    let schema = Schema::sarif();
    for (name, report) in cases::all() {
        let log: Value = serde_json::from_str(&sarif::render(&[report])).unwrap();
        assert_eq!(schema.errors(&log), [""; 0], "{name}");
    }
    let all: Value = serde_json::from_str(&sarif::render(&reports())).unwrap();
    assert_eq!(schema.errors(&all), [""; 0]);
    let none: Value = serde_json::from_str(&sarif::render(&[])).unwrap();
    assert_eq!(schema.errors(&none), [""; 0]);
}

#[test]
fn the_validator_sees_what_is_wrong() {
    let schema = Schema::sarif();
    let log: Value = serde_json::from_str(&sarif::render(&reports()[..1])).unwrap();
    let damaged = |pointer: &str, value: Value| {
        let mut log = log.clone();
        *log.pointer_mut(pointer).unwrap() = value;
        schema.errors(&log)
    };
    assert!(!damaged("/version", "2.0.0".into()).is_empty());
    assert!(!damaged("/runs/0/results/0/level", "fatal".into()).is_empty());
    assert!(
        !damaged(
            "/runs/0/results/0/message",
            serde_json::json!({ "txt": "x" })
        )
        .is_empty()
    );
    assert!(
        !damaged(
            "/runs/0/results/0/locations/0/physicalLocation/region/startLine",
            0.into()
        )
        .is_empty()
    );
    assert!(!damaged("/runs/0/results/0/relatedLocations/0/id", "one".into()).is_empty());
    assert!(!damaged("/runs/0/tool/driver", serde_json::json!({})).is_empty());
}

#[test]
fn every_access_is_a_related_location_and_a_step() {
    for (name, report) in cases::all() {
        let log: Value =
            serde_json::from_str(&sarif::render(std::slice::from_ref(&report))).unwrap();
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
    let mut value = serde_json::to_value(&report).unwrap();
    value["accesses"][0]["place"]["file"] = "src/a b/ü.rs".into();
    report = serde_json::from_value(value).unwrap();
    let log: Value = serde_json::from_str(&sarif::render(&[report])).unwrap();
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
    let mut value = serde_json::to_value(&moved).unwrap();
    for place in value["accesses"].as_array_mut().unwrap() {
        place["place"]["line"] = (place["place"]["line"].as_u64().unwrap() + 100).into();
    }
    for excerpt in value["excerpts"].as_array_mut().unwrap() {
        excerpt["line"] = (excerpt["line"].as_u64().unwrap() + 100).into();
    }
    moved = serde_json::from_value(value).unwrap();
    assert_eq!(sarif::fingerprint(&moved), sarif::fingerprint(&reports[0]));
    assert_ne!(
        sarif::fingerprint(&reports[0]),
        sarif::fingerprint(&reports[1])
    );
}
