//! `aerodrome predict`: its text, its JSON, its exit codes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

const RUN: &str = "\
T0|begin(withdraw)|1
T0|acq(l)|2
T0|r(balance)|3
T0|rel(l)|4
T0|acq(l)|5
T0|w(balance)|6
T0|rel(l)|7
T0|end(withdraw)|8
T1|acq(l)|9
T1|w(balance)|10
T1|rel(l)|11
";

fn predict(arguments: &[&str], trace: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
        .arg("predict")
        .args(arguments)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that refuses its arguments does not read.
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(trace.as_bytes());
    child.wait_with_output().expect("the command ends")
}

#[test]
fn a_prediction_shows_the_accesses_the_locks_and_the_schedule_and_exits_with_1() {
    let output = predict(&["--analysis", "minimal"], RUN);
    assert_eq!(output.status.code(), Some(1));
    let expected = "\
predicted, not observed: `withdraw` is not atomic under another schedule of this run
  read, write, write (minimal)
  (1) thread `T0` reads `balance` at site 3 (event 3), in transaction `withdraw`, holding `l`
  (2) thread `T1` writes `balance` at site 10 (event 10), holding `l`
  (3) thread `T0` writes `balance` at site 6 (event 6), in transaction `withdraw`, holding `l`
  a schedule that shows it:
    thread `T0` runs up to event 4: (1)
    thread `T1` runs up to event 11: (2)
    thread `T0` runs up to event 6: (3)

";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn json_has_the_same_content() {
    let output = predict(&["--analysis", "minimal", "--json"], RUN);
    assert_eq!(output.status.code(), Some(1));
    let forecast: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let violation = &forecast["violations"][0];
    assert_eq!(violation["tier"], "predicted");
    assert_eq!(violation["accesses"][1]["position"], 10);
    assert_eq!(violation["accesses"][1]["locks"][0]["lock"]["name"], "l");
    assert_eq!(violation["schedule"][2]["to"], 6);
}

#[test]
fn predictions_become_a_page_and_sarif_in_the_order_of_the_schedule() {
    let output = predict(&["--analysis", "minimal", "--sarif", "-"], RUN);
    assert_eq!(output.status.code(), Some(1));
    let log: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(
        (results.len(), &results[0]["level"]),
        (1, &"warning".into())
    );
    let text = results[0]["message"]["text"].as_str().unwrap();
    assert!(
        text.contains("is not atomic under another schedule of this run"),
        "{text}"
    );
    let steps = results[0]["relatedLocations"].as_array().unwrap();
    let told: Vec<&str> = steps
        .iter()
        .map(|it| it["message"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for (step, thread) in told.iter().zip(["`T0`", "`T1`", "`T0`"]) {
        assert!(step.contains(thread), "{told:?}");
    }

    let page = predict(&["--analysis", "minimal,reduction", "--html", "-"], RUN);
    assert_eq!(page.status.code(), Some(1));
    let page = String::from_utf8_lossy(&page.stdout);
    assert!(
        page.contains("is not atomic under another schedule of this run"),
        "{page}"
    );
}

#[test]
fn nothing_predicted_exits_with_0_and_a_deadlock_alone_does_too() {
    let output = predict(
        &["--analysis", "minimal,deadlock"],
        "T0|w(x)|1\nT1|w(x)|2\n",
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "nothing predicted from 2 events\n"
    );
    let circle = "T0|acq(a)|1\nT0|acq(b)|2\nT0|rel(b)|3\nT0|rel(a)|4\nT1|acq(b)|5\nT1|acq(a)|6\nT1|rel(a)|7\nT1|rel(b)|8\n";
    let output = predict(&["--analysis", "deadlock"], circle);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .starts_with("potential deadlock, not observed: 2 threads")
    );
}

#[test]
fn by_the_rules_of_2003_a_region_that_only_reads_counts_and_the_exit_code_stays_0() {
    // A locked read and an unlocked write in each of two transactions.
    let transaction = "T|begin(a)|1\nT|acq(l)|2\nT|r(x)|3\nT|rel(l)|4\nT|w(y)|5\nT|end(a)|6\n";
    let run = transaction.replace("T|", "T0|") + &transaction.replace("T|", "T1|");
    let hinted = |rules: &[&str]| {
        let arguments = [&["--analysis", "reduction"], rules].concat();
        let output = predict(&arguments, &run);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stdout).contains("not reducible: RBLN")
    };
    assert!(hinted(&["--rules", "rv2003"]));
    assert!(!hinted(&["--rules", "tse2006"]));
    assert!(!hinted(&[]));
}

/// Runs `predict` on a trace in a file.
fn predict_file(arguments: &[&str], trace: &str) -> Output {
    let name = format!(
        "aerodrome-cascade-{}-{}.std",
        std::process::id(),
        trace.len()
    );
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, trace).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_aerodrome"));
    let output = command.arg("predict").args(arguments).arg(&path).output();
    std::fs::remove_file(&path).expect("still there");
    output.expect("the command ends")
}

#[test]
fn the_cascade_searches_where_reduction_has_doubts_and_tells_hints_that_the_search_confirms() {
    let told = |arguments: &[&str], trace: &str| {
        let output = predict_file(arguments, trace);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (
            output.status.code(),
            text.contains("(minimal)"),
            text.contains("not reducible"),
        )
    };
    // The search agrees with the hint.
    assert_eq!(told(&["--cascade"], RUN), (Some(1), true, true));
    // Reduction hints at what the search shows atomic: two reads of what nobody writes, and then
    // what the other only reads.
    let alarm = "\
T0|begin(publish)|1
T0|w(a)|2
T0|w(b)|3
T0|end(publish)|4
T1|r(b)|5
";
    assert_eq!(told(&[], alarm), (Some(0), false, false));
    let alarm = alarm.replace("T1|r(b)|5", "T1|r(b)|5\nT2|r(a)|6");
    assert_eq!(told(&["--hints"], &alarm), (Some(0), false, true));
    assert_eq!(told(&["--cascade"], &alarm), (Some(0), false, false));
    // All transactions are reducible.
    let reducible = RUN.replace("T0|rel(l)|4\nT0|acq(l)|5\n", "");
    assert_eq!(told(&["--cascade"], &reducible), (Some(0), false, false));
}

#[test]
fn all_violations_are_told_by_their_places_on_request() {
    let count = |arguments: &[&str], trace: &str| {
        let output = predict(&[&["--analysis", "minimal"], arguments].concat(), trace);
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.matches("predicted, not observed").count()
    };
    // Two writes under the same lock, any of which can come between.
    let twice = RUN.replace("T1|rel(l)|11", "T1|w(balance)|11\nT1|rel(l)|12");
    assert_eq!(count(&[], &twice), 1);
    assert_eq!(count(&["--all"], &twice), 2);
    // More than are looked at by default.
    let writes: String = (20..420)
        .map(|site| format!("T1|w(balance)|{site}\n"))
        .collect();
    let many = RUN.replace("T1|rel(l)|11", &format!("{writes}T1|rel(l)|11"));
    assert_eq!(count(&["--all"], &many), 401);
}

#[test]
fn the_cascade_wants_a_file_and_no_list_of_analyses() {
    let refused = |arguments: &[&str]| {
        let output = predict(arguments, RUN);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = refused(&["--cascade"]);
    assert!(text.contains("expected a file, found `-`"), "{text}");
    let text = refused(&["--cascade", "--analysis", "blocks"]);
    assert!(text.contains("cannot be used with"), "{text}");
}

#[test]
fn bad_input_unknown_analyses_and_unknown_rules_exit_with_2_and_say_why() {
    for (option, known) in [
        ("--analysis", "minimal, blocks, reduction, deadlock"),
        ("--rules", "rv2003, tse2006, escape, online"),
    ] {
        let output = predict(&[option, "magic"], RUN);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let expected = format!("invalid value 'magic' for '{option} ");
        assert!(message.contains(&expected), "{message}");
        assert!(
            message.contains(&format!("possible values: {known}")),
            "{message}"
        );
    }
    assert_eq!(
        predict(&[], "T0|rel(l)|1\n").status.code(),
        Some(2),
        "a release without its acquire"
    );
}
