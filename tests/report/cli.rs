//! The command: `aerodrome check` tells violations as reports, `aerodrome report` turns reports and
//! traces into all forms.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use aerodrome::report::{groups, json, text};
use serde_json::Value;

use crate::cases;

/// No serial order of the two transfers explains it, from its sixth event on.
const TRACE: &str = "\
t1|begin(transfer)|1
t2|begin(audit)|2
t1|w(x)|3
t2|r(x)|4
t2|w(y)|5
t1|r(y)|6
t1|end(transfer)|7
t2|end(audit)|8
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

fn aerodrome(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
        .args(arguments)
        .env_remove("AERODROME_WINDOW")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn check_tells_the_cycle_as_text() {
    let output = aerodrome(&["check", "--format", "std", "-"], TRACE);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.starts_with("error: `transfer` is not atomic\n"),
        "{text}"
    );
    for line in [
        "note: (1) writes `x` in transaction `transfer` on thread `t1`",
        "--> event 3, site 3",
        "violation: 6 events read",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn check_gives_reports_as_json() {
    let output = aerodrome(&["check", "--format", "std", "--json", "-"], TRACE);
    assert_eq!(output.status.code(), Some(1));
    let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (&answer["verdict"], &answer["events"]),
        (&"violation".into(), &6.into())
    );
    let violation = &answer["violations"][0];
    assert_eq!(
        (&violation["event"], &violation["blame"]),
        (&6.into(), &0.into())
    );
    assert_eq!(violation["transactions"][0]["block"]["name"], "transfer");
    assert_eq!(violation["edges"].as_array().unwrap().len(), 2);
    assert_eq!(
        json::read(violation.to_string().as_bytes()).unwrap().len(),
        1,
        "it is a report"
    );

    let output = aerodrome(&["check", "--format", "std", "--json", "-"], &TRACE[..49]);
    assert_eq!(output.status.code(), Some(0));
    let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        answer,
        serde_json::json!({ "verdict": "serializable", "events": 3, "violations": [] })
    );
}

#[test]
fn a_trace_becomes_a_page_and_sarif() {
    let folder = Folder::new("cli-trace");
    let trace = folder.file("rho2.std", TRACE);
    let (page, log) = (folder.0.join("out.html"), folder.0.join("out.sarif"));
    let output = aerodrome(
        &[
            "report",
            path(&trace),
            "--html",
            path(&page),
            "--sarif",
            path(&log),
        ],
        "",
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stdout(&output), "");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("`transfer` is not atomic"));
    // The window's events are on the page: the begin of the other transaction is no access of the
    // cycle.
    assert!(page.contains("[2,1,\"begin\","), "{page}");
    let log: Value = serde_json::from_str(&std::fs::read_to_string(log).unwrap()).unwrap();
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "two-objects");
}

#[test]
fn reports_of_a_run_become_text_a_page_and_sarif() {
    let folder = Folder::new("cli-json");
    let lines: String = cases::all()
        .iter()
        .map(|(_, report)| json::line(report))
        .collect();
    let file = folder.file("report.json", &lines);
    let output = aerodrome(&["report", path(&file)], "");
    let reports: Vec<_> = cases::all().into_iter().map(|(_, it)| it).collect();
    let expected: Vec<String> = groups(&reports)
        .iter()
        .map(|group| text::render_group(group, &text::Style::plain()))
        .collect();
    // `write-write-read` and `write-write-write` are of the same blocks and objects.
    assert!(expected.len() < reports.len());
    assert_eq!(stdout(&output), expected.join("\n"));
    let from_stdin = aerodrome(&["report", "-", "--text"], &lines);
    assert_eq!(stdout(&from_stdin), stdout(&output));
    let log = aerodrome(&["report", "-", "--sarif", "-"], &lines);
    let log: Value = serde_json::from_str(&stdout(&log)).unwrap();
    assert_eq!(
        log["runs"][0]["results"].as_array().unwrap().len(),
        cases::all().len()
    );
}

#[test]
fn no_report_is_no_violation() {
    let folder = Folder::new("cli-empty");
    let file = folder.file("report.json", "");
    assert_eq!(
        stdout(&aerodrome(&["report", path(&file)], "")),
        "no violation\n"
    );
    let log = aerodrome(&["report", path(&file), "--sarif", "-"], "");
    let log: Value = serde_json::from_str(&stdout(&log)).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn what_cannot_be_read_or_written_is_said_and_ends_with_two() {
    let folder = Folder::new("cli-bad");
    let good = json::line(&cases::all()[0].1);
    let damaged = folder.file(
        "damaged.json",
        &format!("{good}{}\n", &good[..good.len() / 2]),
    );
    let file = folder.file("report.json", &good);
    let nowhere = folder.0.join("no/such/folder/out.html");
    let cases: [(&[&str], &str); 5] = [
        (
            &["report", path(&damaged)],
            "damaged.json: line 2: expected a report as a JSON object",
        ),
        (&["report", "no-such-file.json"], "no-such-file.json"),
        (
            &["report", path(&file), "--html", path(&nowhere)],
            "out.html",
        ),
        (&["report", path(&file), "--frob"], "frob"),
        (&["report"], "<FILE>"),
    ];
    for (arguments, expected) in cases {
        let output = aerodrome(arguments, "");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn a_broken_line_is_named_and_the_other_reports_are_shown() {
    let folder = Folder::new("cli-broken");
    let [one, two] = [0, 1].map(|case| json::line(&cases::all()[case].1));
    // Half a line ends where the disk was full, perhaps within a character.
    let half = &two.as_bytes()[..two.len() / 2];
    let file = folder.0.join("report.json");
    let lines = [one.as_bytes(), half, b"\xc3\n", two.as_bytes()].concat();
    std::fs::write(&file, lines).unwrap();
    let html = folder.0.join("page.html");
    let arguments = ["report", path(&file), "--text", "--html", path(&html)];
    let output = aerodrome(&arguments, "");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    let expected = "report.json: line 2: expected a report as a JSON object";
    assert!(said.contains(expected), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let expected: Vec<String> = [0, 1]
        .map(|case| text::render(&cases::all()[case].1, &text::Style::plain()))
        .into();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        expected.join("\n")
    );
    let page = std::fs::read_to_string(html).unwrap();
    assert_eq!(page.matches("\"schema\":1").count(), 2);
}
