//! Tests that run side by side in one process: only the one with the bug fails, and its message is
//! in its own output.

#![cfg(feature = "check")]

mod process;

use std::process::Command;

use self::process::{Ended, run};

/// What the buggy test's report says, and no other.
const REPORT: &str = "`read_twice` is not atomic";

/// The tests that the others run: they meet, so that they really run at the same time, and share a
/// variable.
mod fixture {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use aerodrome::sync::Mutex;
    use aerodrome::{atomic_block, thread};

    static SHARED: Mutex<u64> = Mutex::new(0);
    static HERE: AtomicU32 = AtomicU32::new(0);

    /// Waits for the other tests; not for ever, as they may be in other processes.
    fn meet(round: u32) {
        HERE.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        while HERE.load(Ordering::Relaxed) < 4 * round && start.elapsed() < Duration::from_secs(1) {
            std::thread::yield_now();
        }
    }

    fn work() {
        meet(1);
        for _ in 0..100 {
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| atomic_block! { *SHARED.lock().unwrap() += 1; });
                }
            });
        }
        meet(2);
    }

    /// Reads a variable twice, with a write of another thread in between.
    fn read_twice() {
        let value = Mutex::new(0);
        atomic_block! {
            let before = *value.lock().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| *value.lock().unwrap() = 1);
            });
            assert_ne!(before, *value.lock().unwrap());
        }
    }

    #[test]
    fn sound() {
        if !crate::process::is_child() {
            return;
        }
        work();
    }

    #[aerodrome::test]
    fn sound_and_marked() {
        if !crate::process::is_child() {
            return;
        }
        work();
    }

    #[test]
    fn unsound() {
        if !crate::process::is_child() {
            return;
        }
        work();
        read_twice();
        // A plain test is judged where it joins its threads.
        thread::spawn(|| ()).join().unwrap();
    }

    #[aerodrome::test]
    fn unsound_and_marked() {
        if !crate::process::is_child() {
            return;
        }
        work();
        read_twice();
    }
}

/// The part of a harness's output that is a test's own.
#[track_caller]
fn output_of<'a>(test: &str, all: &'a str) -> &'a str {
    let title = format!("---- {test} stdout ----");
    let (_, after) = all
        .split_once(&title)
        .unwrap_or_else(|| panic!("no output of {test} in:\n{all}"));
    let end = after
        .find("\n---- ")
        .or_else(|| after.find("\nfailures:"))
        .unwrap_or(after.len());
    &after[..end]
}

#[test]
fn only_the_test_with_the_bug_fails_and_says_why_in_its_own_output() {
    for _ in 0..5 {
        let mut command = process::clean(std::env::current_exe().unwrap());
        command.args(["--test-threads=4", "fixture::"]);
        let ended = run(&mut command).expect_code(101);
        let all = ended.output();
        for (test, verdict) in [
            ("sound", "ok"),
            ("sound_and_marked", "ok"),
            ("unsound", "FAILED"),
            ("unsound_and_marked", "FAILED"),
        ] {
            let line = format!("test fixture::{test} ... {verdict}");
            assert!(all.contains(&line), "{line} in:\n{all}");
        }
        for test in ["fixture::unsound", "fixture::unsound_and_marked"] {
            assert_eq!(output_of(test, &all).matches(REPORT).count(), 1, "{all}");
        }
        assert_eq!(ended.count(REPORT), 2, "nowhere else:\n{all}");
    }
}

#[test]
fn under_nextest_too() {
    let version = Command::new("cargo")
        .args(["nextest", "--version"])
        .output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("skipped: cargo nextest is not installed");
        return;
    }
    let ended = nextest();
    let all = ended.output();
    for (test, verdict) in [
        ("sound", "PASS"),
        ("sound_and_marked", "PASS"),
        ("unsound", "FAIL"),
        ("unsound_and_marked", "FAIL"),
    ] {
        let found = all.lines().any(|line| {
            line.trim_start().starts_with(verdict)
                && line.trim_end().ends_with(&format!(" fixture::{test}"))
        });
        assert!(found, "{verdict} {test} in:\n{all}");
    }
    assert_eq!(ended.count(REPORT), 2, "{all}");
    assert_eq!(ended.code, Some(100), "{all}");
}

/// Runs the fixtures of this very binary, so that nothing is built anew.
fn nextest() -> Ended {
    let directory = process::Directory::new();
    let root = env!("CARGO_MANIFEST_DIR");
    let metadata = Command::new("cargo")
        .args([
            "metadata",
            "--format-version=1",
            "--no-deps",
            "--offline",
            "--all-features",
        ])
        .current_dir(root)
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let package = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "aerodrome")
        .unwrap();
    let binaries = serde_json::json!({
        "rust-build-meta": {
            "target-directory": metadata["target_directory"],
            "base-output-directories": [],
            "non-test-binaries": {},
            "build-script-out-dirs": {},
            "linked-paths": [],
            "target-platforms": [],
            "target-platform": null,
        },
        "rust-binaries": {
            "aerodrome::side_by_side": {
                "binary-id": "aerodrome::side_by_side",
                "binary-name": "side_by_side",
                "package-id": package["id"],
                "kind": "test",
                "binary-path": std::env::current_exe().unwrap(),
                "build-platform": "target",
            },
        },
    });
    let write = |name: &str, value: &serde_json::Value| {
        let path = directory.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path
    };
    let mut command = process::clean("cargo");
    command
        .args(["nextest", "run", "--no-fail-fast", "--color=never"])
        .arg("--cargo-metadata")
        .arg(write("cargo.json", &metadata))
        .arg("--binaries-metadata")
        .arg(write("binaries.json", &binaries))
        .arg("fixture::")
        .env_remove("NEXTEST")
        .env_remove("NEXTEST_RUN_ID")
        .current_dir(root);
    run(&mut command)
}
