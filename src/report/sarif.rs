//! Reports as SARIF 2.1.0, for code hosts that annotate pull requests.
//!
//! A result stands at its block; every access of the cycle is a related location, and a step of the
//! code flow, which has one thread flow for each strand. The fingerprint does not change when lines
//! are moved.

use serde_json::{Map, Value, json};

use super::pattern::{Kind, Pattern};
use super::{Place, Report, Tier, source, words};

/// The schema that the output is valid against.
pub const SCHEMA_URI: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What every rule is about.
const NO_ORDER: &str = "No serial order of the atomic blocks explains this execution.";

/// One SARIF log with one run of all reports, indented, ending with a newline.
pub fn render(reports: &[Report]) -> String {
    let mut rules: Vec<Pattern> = Vec::new();
    let results: Vec<Value> = reports
        .iter()
        .map(|report| {
            let rule = rule_of(report.pattern);
            let index = rules
                .iter()
                .position(|known| *known == rule)
                .unwrap_or_else(|| {
                    rules.push(rule);
                    rules.len() - 1
                });
            result(report, rule, index)
        })
        .collect();
    let log = json!({
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "aerodrome",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| describe(*rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log)
        .expect("the log has only string keys and finite numbers");
    text.push('\n');
    text
}

/// An update is a write as far as rules go, and a chain is a chain, however long.
fn rule_of(pattern: Pattern) -> Pattern {
    let plain = |kind: Kind| {
        if kind.changes() {
            Kind::Write
        } else {
            Kind::Read
        }
    };
    match pattern {
        Pattern::OneObject(first, middle, last) => {
            Pattern::OneObject(plain(first), plain(middle), plain(last))
        }
        Pattern::Chain(_) => Pattern::Chain(3),
        other => other,
    }
}

fn rule_id(rule: Pattern) -> String {
    match rule {
        Pattern::Chain(_) => "chain".to_string(),
        rule => rule.to_string(),
    }
}

fn describe(rule: Pattern) -> Value {
    let (name, short) = match rule {
        Pattern::OneObject(first, middle, last) => {
            match (first.changes(), middle.changes(), last.changes()) {
                (false, _, true) => (
                    "StaleCheck",
                    "Another thread changed what the block had checked before it acted on it.",
                ),
                (false, _, false) => (
                    "UnstableRead",
                    "Another thread changed what the block read twice.",
                ),
                (true, false, _) => (
                    "HalfDone",
                    "Another thread saw what the block was still changing.",
                ),
                (true, true, false) => (
                    "ForeignValue",
                    "The block read back what another thread had written over its value.",
                ),
                (true, true, true) => (
                    "MixedWrites",
                    "Another thread's change fell between two changes of the block.",
                ),
            }
        }
        Pattern::TwoObjects => (
            "TwoObjects",
            "Two objects that belong together were not changed or read together.",
        ),
        Pattern::LockOrder => (
            "LockGivenUp",
            "Another thread had the lock that the block gave up and took again.",
        ),
        Pattern::Order => (
            "Order",
            "The block waits for what another thread does after its beginning.",
        ),
        Pattern::Chain(_) => (
            "Chain",
            "Several transactions of other threads together came into the middle of the block.",
        ),
        Pattern::Cancelled => (
            "CancelledHalfWay",
            "A future was dropped after a part of what belongs together was written.",
        ),
        Pattern::Unknown => (
            "NotSerializable",
            "No order of the transactions explains the run.",
        ),
    };
    json!({
        "id": rule_id(rule),
        "name": name,
        "shortDescription": { "text": short },
        "fullDescription": { "text": format!("{short} {NO_ORDER}") },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["concurrency", "atomicity"] },
    })
}

fn result(report: &Report, rule: Pattern, index: usize) -> Value {
    let level = match report.tier {
        Tier::Observed => "error",
        Tier::Predicted => "warning",
        Tier::Potential => "note",
    };
    let mut text = format!("{}: {}.", report.message, report.explanation);
    if let Some(help) = report.help.first() {
        text.push_str(&format!(" Help: {help}."));
    }
    let related: Vec<Value> = report
        .accesses
        .iter()
        .map(|access| {
            let told = Some(told(report, access.number));
            location(report, access.place.as_ref(), Some(access.number), told)
        })
        .collect();
    let at = place(report);
    let mut result = json!({
        "ruleId": rule_id(rule),
        "ruleIndex": index,
        "level": level,
        "message": { "text": text },
        "locations": [location(report, at, None, None)],
        "partialFingerprints": { "aerodromeCycle/v1": report.fingerprint() },
        "occurrenceCount": report.repeats + 1,
        "properties": {
            "tier": report.tier.name(),
            "pattern": report.pattern.to_string(),
            "event": report.event,
            "test": report.test,
        },
    });
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
        result["codeFlows"] = json!([{
            "message": { "text": report.explanation },
            "threadFlows": flows(report),
        }]);
    }
    result
}

/// Where a reader is led to first: the blamed block, or its first access.
fn place(report: &Report) -> Option<&Place> {
    let block = report.blamed().and_then(|blamed| {
        let block = blamed.block.as_ref();
        let place = block.and_then(|block| block.place.as_ref());
        place.or(blamed.place.as_ref())
    });
    let mut accesses = report.accesses.iter();
    let first = accesses.find(|access| access.transaction == report.blame);
    let first = first.and_then(|access| access.place.as_ref());
    let mut places = [block, first].into_iter().flatten();
    places
        .find(|place| matches!(place, Place::Source { .. }))
        .or(first)
}

fn told(report: &Report, number: usize) -> String {
    let Some(access) = report.access(number) else {
        return String::new();
    };
    format!("({number}) {}", words::told(report, access))
}

/// One thread flow for each strand, its steps numbered across all of them.
fn flows(report: &Report) -> Vec<Value> {
    let mut strands: Vec<&str> = Vec::new();
    for access in &report.accesses {
        if !strands.contains(&access.strand.as_str()) {
            strands.push(&access.strand);
        }
    }
    strands
        .into_iter()
        .map(|strand| {
            let steps: Vec<Value> = report
                .accesses
                .iter()
                .filter(|access| access.strand == strand)
                .map(|access| {
                    let told = Some(told(report, access.number));
                    json!({
                        "executionOrder": access.number,
                        "importance": "essential",
                        "location": location(report, access.place.as_ref(), None, told),
                    })
                })
                .collect();
            json!({
                "id": strand,
                "message": { "text": format!("thread `{strand}`") },
                "locations": steps,
            })
        })
        .collect()
}

fn location(
    report: &Report,
    place: Option<&Place>,
    id: Option<usize>,
    message: Option<String>,
) -> Value {
    let mut location = Map::new();
    if let Some(id) = id {
        location.insert("id".into(), id.into());
    }
    if let Some(message) = message {
        location.insert("message".into(), json!({ "text": message }));
    }
    match place {
        Some(Place::Source { file, line, column }) => {
            let mut region =
                json!({ "startLine": (*line).max(1), "startColumn": (*column).max(1) });
            if let Some(text) = report.line(file, *line) {
                let span = source::span(text, *column);
                let before = text[..span.end].chars().count();
                region["endColumn"] = (before + 1).max(*column as usize).into();
                region["snippet"] = json!({ "text": text });
            }
            location.insert(
                "physicalLocation".into(),
                json!({ "artifactLocation": artifact(file), "region": region }),
            );
        }
        Some(Place::Label { label }) => {
            location.insert(
                "logicalLocations".into(),
                json!([{ "name": label, "fullyQualifiedName": label }]),
            );
        }
        None => {}
    }
    Value::Object(location)
}

fn artifact(file: &str) -> Value {
    let path = file.replace('\\', "/");
    let uri = encode(&path);
    if path.starts_with('/') {
        json!({ "uri": format!("file://{uri}") })
    } else if path.get(1..3) == Some(":/") {
        json!({ "uri": format!("file:///{uri}") })
    } else {
        json!({ "uri": uri, "uriBaseId": "%SRCROOT%" })
    }
}

fn encode(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char)
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
