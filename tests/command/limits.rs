//! Traces that are larger in one way than any program is: what they cost.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{Folder, run};

/// What a command took: the time of its processor and its memory, in MiB.
struct Cost {
    time: Duration,
    memory: i64,
}

/// Runs the command on a trace, and measures it. Time of the processor, because the machine may be
/// busy.
#[expect(
    clippy::zombie_processes,
    reason = "`wait4` waits for it and measures it"
)]
fn cost(name: &str, arguments: &[&str], trace: &str) -> Cost {
    let folder = Folder::new(name);
    let child = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
        .args(arguments)
        .arg(folder.file("a.std", trace))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = child.id() as libc::pid_t;
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // What the kernel counts as its most includes that of this process, from before the `exec`.
    let mut memory = 0;
    let usage = loop {
        // SAFETY: our own child, which nobody else waits for, and room for both answers.
        let ended = unsafe { libc::wait4(id, &mut status, libc::WNOHANG, usage.as_mut_ptr()) };
        if ended == id {
            // SAFETY: the call has filled it.
            break unsafe { usage.assume_init() };
        }
        assert_eq!(ended, 0, "{arguments:?}");
        memory = peak_of(id).unwrap_or(memory);
        std::thread::sleep(Duration::from_millis(2));
    };
    assert_eq!(status, 0, "{arguments:?}");
    let seconds = usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 / 1e6;
    Cost {
        time: Duration::from_secs_f64(seconds),
        memory,
    }
}

/// The most memory that a process has had so far, in MiB.
fn peak_of(process: libc::pid_t) -> Option<i64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: i64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// So many transactions are open, and touch the same few variables in turn.
#[test]
fn thousands_of_open_transactions_are_judged_in_seconds() {
    const OPEN: usize = 3_000;
    let mut trace = String::new();
    for strand in 0..OPEN {
        let _ = writeln!(trace, "T{strand}|begin(b)|1");
    }
    for variable in 0..OPEN / 100 {
        for strand in 0..OPEN {
            let op = if (strand + variable) % 3 > 0 {
                "r"
            } else {
                "w"
            };
            let _ = writeln!(trace, "T{strand}|{op}(x{variable})|2");
        }
    }
    let cost = cost("open", &["check"], &trace);
    assert!(cost.time < Duration::from_secs(12), "{:?}", cost.time);
}

/// Two strands hold so many locks at once, and take them the other way round.
#[test]
fn thousands_of_nested_locks_are_predicted_from_in_seconds() {
    const LOCKS: usize = 3_000;
    let mut trace = String::new();
    for (strand, reverse, op) in [("T0", false, "r"), ("T1", true, "w")] {
        for at in 0..LOCKS {
            let lock = if reverse { LOCKS - 1 - at } else { at };
            let _ = writeln!(trace, "{strand}|acq(L{lock})|{lock}");
        }
        for at in 0..LOCKS {
            let _ = writeln!(trace, "{strand}|{op}(x)|{at}");
        }
        for lock in 0..LOCKS {
            let _ = writeln!(trace, "{strand}|rel(L{lock})|0");
        }
    }
    let cost = cost("nested", &["predict"], &trace);
    assert!(cost.time < Duration::from_secs(12), "{:?}", cost.time);
}

/// Each strand comes after all before it, so it knows of all of them.
#[test]
fn clocks_of_thousands_of_strands_share_their_memory() {
    for (engine, strands, limit) in [("aerodrome", 20_000, 300), ("aerodrome-basic", 4_000, 60)] {
        let mut trace = String::new();
        for strand in 0..strands {
            for op in ["begin(b)", "r(x)", "w(x)", "end"] {
                let _ = writeln!(trace, "T{strand}|{op}|1");
            }
        }
        let cost = cost(engine, &["check", "--engine", engine], &trace);
        assert!(cost.memory < limit, "{engine}: {} MiB", cost.memory);
    }
}

/// Each strand writes a variable of its own, and the property is of all of them.
#[test]
fn a_lattice_of_hundreds_of_threads_is_cut_short_and_says_so() {
    const VARIABLES: usize = 200;
    let mut trace = String::new();
    for value in 0..3 {
        for strand in 0..VARIABLES {
            let _ = writeln!(trace, "T{strand}|val({value})|0\nT{strand}|w(v{strand})|1");
        }
    }
    let sum: Vec<String> = (0..VARIABLES).map(|number| format!("v{number}")).collect();
    let property = sum.join(" + ") + " >= 0";
    let arguments = ["lattice", "--property", &property];
    let cost = cost("lattice", &arguments, &trace);
    assert!(cost.time < Duration::from_secs(60), "{:?}", cost.time);
    let folder = Folder::new("lattice-says");
    let said = run(&[&arguments[..], &[&folder.file("a.std", trace)]].concat()).out;
    assert!(
        said.contains("holds in every consistent run that was explored"),
        "{said}"
    );
    let why = "a level of the lattice has more states than are kept";
    assert!(said.contains(why), "{said}");
}

#[test]
fn more_violations_than_anybody_reads_are_counted() {
    const VIOLATIONS: usize = 10_003;
    let mut trace = String::new();
    for number in 0..VIOLATIONS {
        let _ = writeln!(
            trace,
            "T0|begin(b)|1\nT0|r(x)|2{number}\nT1|w(x)|3\nT0|w(x)|4{number}\nT0|end|5"
        );
    }
    let folder = Folder::new("violations");
    let file = folder.file("a.std", trace);
    let ran = run(&["check", "--all", &file]);
    assert_eq!(ran.code, 1);
    let end =
        "note: 3 more violations are counted and not shown\n10003 violations: 50015 events read\n";
    assert!(
        ran.out.ends_with(end),
        "{}",
        &ran.out[ran.out.len() - 200..]
    );
    let ran = run(&["check", "--all", "--json", &file]);
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(answer["violations"].as_array().unwrap().len(), 10_000);
    assert_eq!(answer["left_out"], 3);
}
