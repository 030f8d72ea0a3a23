//! JSON: what is written is what is read, whoever writes at the same time.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::Command;

use aerodrome::report::json;

use crate::cases;

#[test]
fn a_report_survives_json() {
    for (name, report) in cases::all() {
        let line = json::line(&report);
        assert_eq!(line.matches('\n').count(), 1, "{name}: one line");
        let read = json::read(line.as_bytes()).unwrap();
        assert_eq!(read, [report], "{name}");
    }
}

#[test]
fn the_keys_are_the_documented_ones() {
    let (_, report) = cases::all()
        .into_iter()
        .find(|(name, _)| *name == "read-write-write")
        .unwrap();
    let value: serde_json::Value = serde_json::from_str(&json::line(&report)).unwrap();
    assert_eq!(value["schema"], 1);
    assert_eq!(value["tier"], "observed");
    assert_eq!(value["pattern"], "read-write-write");
    assert_eq!(value["blame"], 0);
    assert_eq!(
        value["transactions"][0]["block"]["name"],
        "Account::withdraw"
    );
    assert_eq!(value["transactions"][1]["strand"], "bob");
    assert_eq!(
        value["edges"],
        serde_json::json!([{"from": 1, "to": 2}, {"from": 2, "to": 3}])
    );
    assert_eq!(value["accesses"][1]["op"], "write");
    assert_eq!(
        value["objects"][0]["type"],
        "aerodrome::sync::mutex::Mutex<u64>"
    );
    assert_eq!(
        value["accesses"][0]["place"]["file"],
        "tests/report/fixtures/bank.rs"
    );
}

#[test]
fn what_is_no_report_is_refused_with_its_line() {
    let good = json::line(&cases::all()[0].1);
    let damage = |from: &str, to: &str| format!("{good}\n{}", good.replacen(from, to, 1));
    let cases = [
        (
            "nonsense".to_string(),
            "line 1: expected a report as a JSON object",
        ),
        (
            damage("\"schema\":1", "\"schema\":2"),
            "line 3: expected a report of schema 1, found schema 2",
        ),
        (
            damage("\"schema\":1,", ""),
            "line 3: expected a report of schema 1, found an object without \"schema\"",
        ),
        (
            damage("\"blame\":0", "\"blame\":7"),
            "line 3: blame: transaction 7 does not exist, there are 2",
        ),
        (damage("\"from\":1", "\"from\":0"), "does not exist"),
        (
            damage("\"op\":\"read\"", "\"op\":\"frob\""),
            "unknown operation \"frob\", expected one of read, write",
        ),
        (
            damage("read-write-write", "read-write"),
            "unknown pattern \"read-write\"",
        ),
    ];
    for (text, expected) in cases {
        let error = json::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Not a test of its own: what each of the processes below does.
#[test]
fn append_as_told() {
    if !crate::process::is_child() {
        return;
    }
    let path =
        PathBuf::from(std::env::var_os("REPORT_TEST_FILE").expect("started by the other test"));
    let (_, mut report) = cases::all()
        .into_iter()
        .find(|(name, _)| *name == "chain-of-three")
        .unwrap();
    report.test = Some(std::env::var("REPORT_TEST_NAME").unwrap());
    // Longer than what one write to a file is sure to put down in one piece.
    report.explanation = "x".repeat(300_000);
    for _ in 0..10 {
        json::append(&path, [&report]).unwrap();
    }
}

#[test]
fn sixteen_processes_append_to_one_file() {
    let folder = std::env::temp_dir().join(format!("aerodrome-report-{}", std::process::id()));
    let path = folder.join("made/on/the/way/report.json");
    let children: Vec<_> = (0..16)
        .map(|i| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "json::append_as_told", "--quiet"])
                .env(crate::process::CHILD, "1")
                .env("REPORT_TEST_FILE", &path)
                .env("REPORT_TEST_NAME", format!("process {i}"))
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let reports = json::read(BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(reports.len(), 160);
    for i in 0..16 {
        let name = format!("process {i}");
        assert_eq!(
            reports
                .iter()
                .filter(|report| report.test.as_ref() == Some(&name))
                .count(),
            10
        );
    }
}
