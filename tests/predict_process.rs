//! `AERODROME_PREDICT` from end to end: this test binary runs itself, test by test, as a user's
//! `cargo test` would.
#![cfg(feature = "check")]

mod process;

use std::process::{Command, Output};
use std::sync::mpsc;

use aerodrome::cell::Tracked;
use aerodrome::sync::Mutex;
use aerodrome::sync::atomic::{AtomicBool, Ordering};
use aerodrome::{atomic, thread};

struct Account {
    balance: Mutex<u64>,
}

#[atomic]
impl Account {
    /// Looks in one critical section, takes in the next.
    fn withdraw(&self, amount: u64) {
        let balance = *self.balance.lock().unwrap();
        if balance >= amount {
            *self.balance.lock().unwrap() = balance - amount;
        }
    }

    fn deposit(&self, amount: u64) {
        *self.balance.lock().unwrap() += amount;
    }
}

/// Runs both on threads of their own, the second when the first is done. std's own channel orders
/// nothing that counts.
fn in_turn(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    let (done, wait) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            first();
            done.send(()).unwrap();
        });
        scope.spawn(move || {
            wait.recv().unwrap();
            second();
        });
    });
}

fn account() -> Account {
    let account = Account {
        balance: Mutex::new(100),
    };
    aerodrome::name(&account.balance, "balance");
    account
}

/// Atomic in this run, and in no run in which the deposit comes in between.
#[aerodrome::test]
fn breakable() {
    if !process::is_child() {
        return;
    }
    let account = account();
    in_turn(|| account.withdraw(10), || account.deposit(5));
}

/// The same in a test that knows nothing of aerodrome.
#[test]
fn breakable_plain() {
    if !process::is_child() {
        return;
    }
    let account = account();
    in_turn(|| account.withdraw(10), || account.deposit(5));
}

/// Not reducible, and atomic all the same: the other thread changes the second account first.
#[aerodrome::test]
fn hinted() {
    if !process::is_child() {
        return;
    }
    let (one, two) = (account(), account());
    in_turn(
        || {
            aerodrome::atomic_block! {
                one.deposit(5);
                two.deposit(5);
            }
        },
        || {
            two.deposit(7);
            one.deposit(7);
        },
    );
}

/// Looks twice and sees the same: nothing happened in between, and nothing kept it from happening.
#[aerodrome::test]
fn looks_twice() {
    if !process::is_child() {
        return;
    }
    let flag = AtomicBool::new(false);
    in_turn(
        || {
            aerodrome::atomic_block! {
                assert_eq!(flag.load(Ordering::SeqCst), flag.load(Ordering::SeqCst));
            }
        },
        || flag.store(true, Ordering::SeqCst),
    );
}

/// Two threads change a cell without a lock, one after the other.
#[aerodrome::test]
fn unguarded() {
    if !process::is_child() {
        return;
    }
    let total = Tracked::new(1);
    // SAFETY: `in_turn` lets one of them end before the other begins.
    let add = || unsafe { total.with_mut(|total| *total += 1) };
    in_turn(add, add);
}

fn run(test: &str, predict: &str) -> (Output, String) {
    run_with(test, predict, "1")
}

fn run_with(test: &str, predict: &str, hints: &str) -> (Output, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(process::CHILD, "1")
        .env("AERODROME_PREDICT", predict)
        .env("AERODROME_HINTS", hints)
        .env("AERODROME_QUIET", "1")
        .env_remove("AERODROME")
        .output()
        .unwrap();
    let text =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let text = text.concat();
    assert!(text.contains("running 1 test"), "{text}");
    (output, text)
}

/// The accesses, numbered, and the schedule, which passes them in that order.
#[track_caller]
fn shows_the_prediction(level: &str, text: &str) {
    let headline = "`Account::withdraw` is not atomic under another schedule of this run\n";
    let headline = format!("{level}: {headline}");
    let parts = [
        &*headline,
        "\nnote: (1) reads `balance` in transaction `Account::withdraw` on thread `",
        "let balance = *self.balance.lock().unwrap();\n",
        "\nnote: (2) writes `balance` in transaction `Account::deposit` on thread `",
        "\nnote: (3) writes `balance` in transaction `Account::withdraw` on thread `",
        "\nnote: a schedule that shows it\n",
        ": (1)\n",
        ": (2)\n",
        ": (3)\n",
        "\nhelp: lock `balance` once and hold the guard from (1) to (3)\n",
    ];
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("`{part}` is not in its place in\n{text}");
        };
        // A line's end may begin the next.
        rest = &rest[rest.len() - after.len() - usize::from(part.ends_with('\n'))..];
    }
}

/// What the headline of a prediction says.
const PREDICTED: &str = "is not atomic under another schedule of this run";

#[test]
fn off_says_nothing() {
    for test in ["breakable", "breakable_plain", "hinted"] {
        let (output, text) = run(test, "off");
        assert!(output.status.success(), "{text}");
        assert!(!text.contains(PREDICTED), "{text}");
        assert!(!text.contains("hint: "), "{text}");
    }
}

#[test]
fn warn_prints_the_three_accesses_and_the_schedule_and_the_test_passes() {
    for test in ["breakable", "breakable_plain"] {
        let (output, text) = run(test, "warn");
        assert!(output.status.success(), "{text}");
        shows_the_prediction("warning", &text);
        // Standard output comes first in the text. The harness's lines are whole.
        assert!(text.contains("test result: ok. 1 passed"), "{text}");
        assert!(text.contains(&format!("test {test} ... ok\n")), "{text}");
    }
}

#[test]
fn deny_fails_the_test_with_the_same_report() {
    for test in ["breakable", "breakable_plain"] {
        let (output, text) = run(test, "deny");
        assert_eq!(output.status.code(), Some(101), "{text}");
        assert!(
            text.contains("test result: FAILED. 0 passed; 1 failed"),
            "{text}"
        );
        assert!(text.contains("predicted atomicity violation\n"), "{text}");
        shows_the_prediction("error", &text);
    }
}

/// Standard output and standard error in one, as a terminal or a log of CI shows them.
#[test]
#[cfg(unix)]
fn nothing_is_written_into_the_lines_of_the_harness() {
    for test in ["breakable", "breakable_plain"] {
        let output = Command::new("sh")
            .args(["-c", "exec \"$0\" --exact \"$1\" --test-threads=1 2>&1"])
            .arg(std::env::current_exe().unwrap())
            .arg(test)
            .env(process::CHILD, "1")
            .env("AERODROME_PREDICT", "warn")
            .env_remove("AERODROME")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (harness, told) = text.split_once("test result: ").expect("a result");
        assert_eq!(
            harness,
            format!("\nrunning 1 test\ntest {test} ... ok\n\n"),
            "{text}"
        );
        shows_the_prediction("warning", told);
    }
}

#[test]
fn that_a_block_is_not_reducible_is_not_told_in_a_test() {
    for predict in ["warn", "deny"] {
        let (output, text) = run("hinted", predict);
        assert!(output.status.success(), "{predict}: {text}");
        assert!(!text.contains("hint: "), "{predict}: {text}");
        assert!(!text.contains(PREDICTED), "{predict}: {text}");
    }
    let (_, text) = run("breakable", "warn");
    assert!(text.contains(PREDICTED), "{text}");
    assert!(!text.contains("hint: "), "{text}");
}

#[test]
fn where_hints_are_off_errors_alone_are_told() {
    let (_, text) = run_with("breakable", "warn", "0");
    shows_the_prediction("warning", &text);
    let (_, text) = run_with("unguarded", "warn", "0");
    assert!(!text.contains("race: "), "{text}");
}

#[test]
fn a_second_look_at_an_atomic_counts_though_it_saw_nothing_new() {
    let (output, text) = run("looks_twice", "deny");
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert!(
        text.contains("the block saw two different values of one thing\n"),
        "{text}"
    );
    assert!(run("looks_twice", "off").0.status.success());
}

#[test]
fn races_are_told_of_cells_and_not_of_atomics() {
    let race = "race: nothing keeps these two apart\n";
    let (output, text) = run("unguarded", "warn");
    assert!(output.status.success(), "{text}");
    assert!(text.contains(race), "{text}");
    let (_, text) = run("looks_twice", "warn");
    assert!(text.contains(PREDICTED), "{text}");
    assert!(!text.contains(race), "{text}");
}

#[test]
fn a_value_that_is_none_is_refused_with_those_that_are() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "breakable"])
        .env(process::CHILD, "1")
        .env("AERODROME_PREDICT", "maybe")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("AERODROME_PREDICT: expected `off` or `warn` or `deny`, found `maybe`"),
        "{text}"
    );
}

/// What is predicted, and what is hinted of other blocks: the headlines.
#[cfg(feature = "cli")]
fn findings(text: &str) -> Vec<&str> {
    let headlines = |heads: &[&str]| {
        let lines = text.lines();
        let found = lines.filter_map(|line| heads.iter().find_map(|&head| line.strip_prefix(head)));
        found.collect::<Vec<_>>()
    };
    let mut found = headlines(&["warning: ", "predicted, not observed: "]);
    let mut hints = headlines(&["hint: "]);
    let is_told = |hint: &str| {
        let block = hint.split(" may not").next().expect("a part");
        found.iter().any(|line| line.starts_with(block))
    };
    hints.retain(|hint| !is_told(hint));
    found.extend(hints);
    found
}

#[test]
#[cfg(feature = "cli")]
fn the_command_finds_in_the_trace_of_a_run_what_the_run_found_itself() {
    for (test, asked) in [
        ("breakable", ""),
        ("looks_twice", ""),
        ("hinted", "--hints"),
    ] {
        let folder = std::env::temp_dir().join(format!("{}-{test}", std::process::id()));
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", test])
            .env(process::CHILD, "1")
            .env("AERODROME_PREDICT", "warn")
            .env("AERODROME_TRACE", &folder)
            .output()
            .unwrap();
        let own = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut files = std::fs::read_dir(&folder).unwrap();
        let file = files.next().expect("a trace").unwrap().path();
        let output = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
            .arg("predict")
            .args(Some(asked).filter(|it| !it.is_empty()))
            .arg(file)
            .output()
            .unwrap();
        let offline = String::from_utf8_lossy(&output.stdout).into_owned();
        std::fs::remove_dir_all(folder).unwrap();
        let (own, offline) = (findings(&own), findings(&offline));
        if asked.is_empty() {
            assert!(!own.is_empty(), "{test}");
            assert_eq!(own, offline, "{test}");
        } else {
            assert!(own.is_empty(), "{test}: {own:?}");
            let hint = offline
                .iter()
                .any(|line| line.contains("may not be atomic"));
            assert!(hint, "{test}: {offline:?}");
        }
    }
}
