//! What is said when the process ends: one line about the run, and one about each block that saw nothing.
#![cfg(feature = "check")]

use std::path::{Path, PathBuf};
use std::process::Command;

use aerodrome::sync::Mutex;
use aerodrome::{atomic, atomic_block, thread};

/// What the ignored test of this name says on standard error, and its exit code, when run by itself under these settings.
fn run_alone(test: &str, settings: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test]);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AERODROME")) {
        command.env_remove(name);
    }
    let output = command.envs(settings.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (text, output.status.code())
}

/// The lines that are ours.
fn ours(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("aerodrome: "))
        .collect()
}

/// A new folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[atomic]
fn add(balance: &Mutex<u64>) {
    *balance.lock().unwrap() += 1;
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn two_transactions() {
    let balance = Mutex::new(0);
    add(&balance);
    add(&balance);
}

#[test]
fn a_line_about_the_run_ends_it() {
    let (text, code) = run_alone("two_transactions", &[]);
    let lines = ours(&text);
    let [line] = lines[..] else { panic!("{text}") };
    let words: Vec<&str> = line.split(", ").collect();
    let ["1 test", events, "2 transactions", "0 violations"] = words[..] else {
        panic!("{line}")
    };
    let (count, unit) = events.split_once(' ').unwrap();
    assert!(
        count.parse::<u64>().unwrap() >= 6 && unit == "events",
        "{line}"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn nothing_is_said_where_it_is_to_be_quiet() {
    for test in ["two_transactions", "blocks_without_anything_tracked"] {
        assert_eq!(
            run_alone(test, &[("AERODROME_QUIET", "1")]),
            (String::new(), Some(0))
        );
    }
}

#[test]
fn nothing_is_said_where_checking_is_off() {
    assert_eq!(
        run_alone("two_transactions", &[("AERODROME", "off")]),
        (String::new(), Some(0))
    );
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn nothing_at_all() {}

#[test]
fn nothing_is_said_where_nothing_was_tracked() {
    assert_eq!(run_alone("nothing_at_all", &[]), (String::new(), Some(0)));
}

fn violate() {
    let balance = &Mutex::new(0);
    let (looked, written) = (&std::sync::Barrier::new(2), &std::sync::Barrier::new(2));
    thread::scope(|s| {
        s.spawn(move || {
            atomic_block!(name = "look twice", {
                let before = *balance.lock().unwrap();
                looked.wait();
                written.wait();
                assert_ne!(before, *balance.lock().unwrap());
            })
        });
        s.spawn(move || {
            looked.wait();
            *balance.lock().unwrap() += 1;
            written.wait();
        });
    });
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn a_violation() {
    violate();
}

#[test]
fn the_line_counts_violations_and_names_the_report_where_there_is_one() {
    let (text, code) = run_alone("a_violation", &[]);
    let line = *ours(&text).last().unwrap();
    assert!(line.ends_with(", 1 violation"), "{text}");
    assert_eq!(code, Some(101));

    let report = folder("names_the_report").join("report.json");
    let path = report.to_str().unwrap();
    let (text, _) = run_alone("a_violation", &[("AERODROME_REPORT", path)]);
    let line = *ours(&text).last().unwrap();
    assert!(
        line.ends_with(&format!(", 1 violation (report: {path})")),
        "{text}"
    );
    assert!(report.is_file());

    // Nothing was written, so there is nothing to point at.
    let report = folder("names_no_report").join("report.json");
    let path = report.to_str().unwrap();
    let (text, _) = run_alone("two_transactions", &[("AERODROME_REPORT", path)]);
    assert!(
        ours(&text).last().unwrap().ends_with(", 0 violations"),
        "{text}"
    );
    assert!(!report.exists());
}

#[atomic]
fn untracked(balance: &std::sync::Mutex<u64>) -> u64 {
    *balance.lock().unwrap()
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn blocks_without_anything_tracked() {
    let balance = std::sync::Mutex::new(0);
    for _ in 0..3 {
        untracked(&balance);
    }
    atomic_block!(name = "sum", { untracked(&balance) + 1 });
}

#[test]
fn a_block_in_which_nothing_is_tracked_is_told_once() {
    let (text, code) = run_alone("blocks_without_anything_tracked", &[]);
    let lines = ours(&text);
    let [function, block] = lines[..] else {
        panic!("{text}")
    };
    for (line, name) in [(function, "untracked"), (block, "sum")] {
        let place = format!("nothing in `{name}` ({}:", file!());
        assert!(line.starts_with(&place), "{line}");
        assert!(
            line.ends_with(") is tracked: is an import still `std::sync`?"),
            "{line}"
        );
    }
    assert_eq!(code, Some(0));
}

#[atomic]
fn sometimes(balance: Option<&Mutex<u64>>) {
    balance
        .into_iter()
        .for_each(|balance| *balance.lock().unwrap() += 1);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn a_block_that_returns_early_at_first() {
    sometimes(None);
    sometimes(Some(&Mutex::new(0)));
    sometimes(None);
}

#[test]
fn a_block_that_tracked_something_once_is_not_told() {
    let (text, _) = run_alone("a_block_that_returns_early_at_first", &[]);
    let lines = ours(&text);
    let [line] = lines[..] else { panic!("{text}") };
    assert!(line.ends_with(", 1 transaction, 0 violations"), "{line}");
}
