//! What is said when the process ends: one line about the run, and one about each block that saw
//! nothing.
#![cfg(feature = "check")]

mod process;

use std::path::{Path, PathBuf};
use std::process::Command;

use aerodrome::sync::atomic::{AtomicU64, Ordering};
use aerodrome::sync::{Mutex, mpsc};
use aerodrome::{atomic, atomic_block, thread};

/// What the test of this name says on standard error, and its exit code, when run by itself under
/// these settings.
fn run_alone(test: &str, settings: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // With one thread the harness would run the test on its own, whose name is no test's.
    command.args(["--exact", "--test-threads=2", test]);
    command.env(process::CHILD, "1");
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
fn two_transactions() {
    if !process::is_child() {
        return;
    }
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
fn nothing_at_all() {}

#[test]
fn nothing_is_said_where_nothing_was_tracked() {
    if !process::is_child() {
        return;
    }
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
fn a_violation() {
    if !process::is_child() {
        return;
    }
    violate();
}

#[test]
fn a_violation_three_times() {
    if !process::is_child() {
        return;
    }
    (0..3).for_each(|_| violate());
}

#[test]
fn what_is_told_once_is_counted_as_often_as_it_happened() {
    let (text, code) = run_alone("a_violation_three_times", &[("AERODROME", "log")]);
    assert_eq!(text.matches("error: `look twice` is not atomic").count(), 1);
    let line = *ours(&text).last().unwrap();
    assert!(line.ends_with(", 1 violation, 2 repeats"), "{text}");
    assert_eq!(code, Some(0));
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
fn blocks_without_anything_tracked() {
    if !process::is_child() {
        return;
    }
    let balance = std::sync::Mutex::new(0);
    for _ in 0..3 {
        untracked(&balance);
    }
    let sum = atomic_block!(name = "sum", { untracked(&balance) + 1 });
    assert_eq!(sum, 1);
}

#[test]
fn blocks_in_which_nothing_is_tracked_are_told_on_one_line() {
    let (text, code) = run_alone("blocks_without_anything_tracked", &[]);
    let [line] = ours(&text)[..] else {
        panic!("{text}")
    };
    for part in [
        format!("nothing in `untracked` ({}:", file!()),
        format!(") and `sum` ({}:", file!()),
    ] {
        assert!(line.contains(&part), "{line}");
    }
    assert!(
        line.ends_with(") is tracked: is an import still `std::sync`?"),
        "{line}"
    );
    assert_eq!(code, Some(0));
}

struct Half {
    balance: Mutex<u64>,
    limit: u64,
}

#[atomic]
impl Half {
    fn new(limit: u64) -> Self {
        let balance = Mutex::new(0);
        Half { balance, limit }
    }

    fn limit(&self) -> u64 {
        self.limit
    }

    fn deposit(&self) {
        *self.balance.lock().unwrap() += 1;
    }
}

struct Plain(std::sync::Mutex<u64>);

#[atomic]
impl Plain {
    fn deposit(&self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn methods_with_and_without_anything_tracked() {
    if !process::is_child() {
        return;
    }
    let half = Half::new(1);
    assert_eq!(half.limit(), 1);
    half.deposit();
    Plain(std::sync::Mutex::new(0)).deposit();
}

#[test]
fn constructors_and_getters_beside_a_tracked_method_are_not_told() {
    let (text, _) = run_alone("methods_with_and_without_anything_tracked", &[]);
    let [line, _summary] = ours(&text)[..] else {
        panic!("{text}")
    };
    assert!(line.starts_with("nothing in `Plain::deposit` ("), "{line}");
    assert_eq!(line.matches(file!()).count(), 1, "{line}");
}

#[atomic]
fn sometimes(balance: Option<&Mutex<u64>>) {
    balance
        .into_iter()
        .for_each(|balance| *balance.lock().unwrap() += 1);
}

#[test]
fn a_block_that_returns_early_at_first() {
    if !process::is_child() {
        return;
    }
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

/// Where [`add_when_told`] waits.
const WAIT: u32 = line!() + 6;

#[atomic]
fn add_when_told(balance: &Mutex<u64>, told: &mpsc::Receiver<u64>, waits: bool) {
    *balance.lock().unwrap() += 1;
    if waits {
        let more = told.recv().unwrap();
        *balance.lock().unwrap() += more;
    }
}

#[test]
fn a_block_that_waits() {
    if !process::is_child() {
        return;
    }
    let balance = Mutex::new(0);
    let (tell, told) = mpsc::channel();
    for round in 0..5 {
        tell.send(round).unwrap();
        add_when_told(&balance, &told, round % 2 == 0);
    }
}

#[test]
fn a_block_that_was_split_by_a_wait_is_told_with_where_and_how_often() {
    let (text, code) = run_alone("a_block_that_waits", &[]);
    let lines = ours(&text);
    let [split, summary] = lines[..] else {
        panic!("{text}")
    };
    let block = format!("`add_when_told` ({}:", file!());
    assert!(split.starts_with(&block), "{split}");
    let wait = format!(" waited at {}:{WAIT}:", file!());
    assert!(split.contains(&wait), "{split}");
    let end = " 3 times: what comes before and after a wait is not judged as one";
    assert!(split.ends_with(end), "{split}");
    assert!(summary.contains(" 5 transactions, "), "{summary}");
    assert_eq!(code, Some(0));
    // As quiet as everything else.
    let (text, _) = run_alone("a_block_that_waits", &[("AERODROME_QUIET", "1")]);
    assert!(ours(&text).is_empty(), "{text}");
}

#[atomic]
fn try_again(count: &AtomicU64) {
    for _ in 0..3 {
        count.load(Ordering::Relaxed);
        aerodrome::restart();
    }
    count.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_block_that_restarts() {
    if !process::is_child() {
        return;
    }
    try_again(&AtomicU64::new(0));
}

#[test]
fn a_block_that_restarts_is_not_told() {
    let (text, code) = run_alone("a_block_that_restarts", &[]);
    let lines = ours(&text);
    let [summary] = lines[..] else {
        panic!("{text}")
    };
    assert!(summary.contains("0 violations"), "{summary}");
    assert_eq!(code, Some(0));
}

#[test]
#[cfg(feature = "cli")]
fn the_command_tells_which_blocks_were_split_as_well() {
    let folder = folder("split");
    let setting = ("AERODROME_TRACE", folder.to_str().unwrap());
    let (text, code) = run_alone("a_block_that_waits", &[setting]);
    assert_eq!(code, Some(0), "{text}");
    let mut traces = std::fs::read_dir(&folder).unwrap();
    let trace = traces.next().unwrap().unwrap().path();
    let output = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
        .arg("check")
        .arg(trace)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let split = ours(&text)[0];
    assert!(said.contains(&format!("note: {split}\n")), "{said}");
}
