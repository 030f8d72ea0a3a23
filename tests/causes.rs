//! Violations with one cause are told once, with the places of the others, and fail every test that
//! has them.
#![cfg(feature = "check")]

mod process;

use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

use aerodrome::report::{Group, groups, text};
use aerodrome::sync::Mutex;
use aerodrome::{atomic, thread};

struct Cache {
    entries: Mutex<u64>,
    hits: Mutex<String>,
}

/// Where the housekeeper is let in.
struct Gap {
    open: Sender<()>,
    closed: Receiver<()>,
}

impl Gap {
    fn pass(&self) {
        self.open.send(()).unwrap();
        self.closed.recv().unwrap();
    }
}

impl Cache {
    /// Looks twice, at other lines in each round.
    #[atomic]
    fn get(&self, round: u32, gap: &Gap) {
        match round {
            0 => {
                let before = *self.entries.lock().unwrap();
                gap.pass();
                assert_ne!(before, *self.entries.lock().unwrap());
            }
            1 => {
                let before = *self.entries.lock().unwrap();
                gap.pass();
                *self.entries.lock().unwrap() = before;
            }
            _ => {
                *self.entries.lock().unwrap() = 7;
                gap.pass();
                assert_ne!(7, *self.entries.lock().unwrap());
            }
        }
    }

    /// The same, on an object of another type.
    #[atomic]
    fn count(&self, gap: &Gap) {
        let before = self.hits.lock().unwrap().len();
        gap.pass();
        assert_ne!(before, self.hits.lock().unwrap().len());
    }

    #[atomic]
    fn keep_house(&self) {
        *self.entries.lock().unwrap() += 1;
    }

    #[atomic]
    fn note(&self) {
        self.hits.lock().unwrap().push('x');
    }
}

/// Three violations of `get` and `keep_house`, and then one of `count` and `note`.
fn run() {
    let cache = Cache {
        entries: Mutex::new(0),
        hits: Mutex::new(String::new()),
    };
    let (open, opened) = channel();
    let (close, closed) = channel();
    let gap = Gap { open, closed };
    let cache = &cache;
    thread::scope(|s| {
        s.spawn(move || {
            // To the end, or until the other has panicked.
            for round in opened.iter().zip(0..).map(|(_, round)| round) {
                match round {
                    3 => cache.note(),
                    _ => cache.keep_house(),
                }
                close.send(()).unwrap();
            }
        });
        let gap = gap;
        for round in 0..3 {
            cache.get(round, &gap);
        }
        cache.count(&gap);
    });
}

#[test]
fn reports_are_grouped_by_blocks_and_classes_of_objects() {
    let violations = aerodrome::check(run).violations;
    assert_eq!(violations.len(), 4, "{violations:?}");
    let found = groups(&violations);
    let counts: Vec<u64> = found.iter().map(Group::count).collect();
    assert_eq!(counts, [3, 1]);
    assert_eq!(found[0].report, &violations[0]);
    let told = text::render_group(&found[0], &text::Style::plain());
    let line = "2 more violations have the same blocks and objects:";
    assert!(told.contains(line), "{told}");
    let between = |first: u32, second: u32| {
        let place = |line| format!("tests/causes.rs:{line}:");
        told.lines().any(|line| {
            line.contains("between ")
                && line.contains(&place(first))
                && line.contains(&place(second))
        })
    };
    assert!(between(43, 45) && between(48, 50), "{told}");
    let alone = text::render_group(&found[1], &text::Style::plain());
    assert_eq!(alone, text::render(&violations[3], &text::Style::plain()));
}

fn children() -> Command {
    let mut command = process::clean(std::env::current_exe().unwrap());
    command.args(["--nocapture", "--test-threads=1", "child_"]);
    command
}

#[test]
fn the_log_tells_a_cause_once_for_each_test() {
    let ended = process::run(children().env("AERODROME", "log")).expect_code(0);
    for (text, times) in [
        ("error: `Cache::get` is not atomic", 2),
        ("error: `Cache::count` is not atomic", 2),
        // On a line of its own, or with the first where they came together.
        ("between tests/causes.rs:43:", 2),
        ("between tests/causes.rs:48:", 2),
    ] {
        assert_eq!(ended.count(text), times, "{text}: {}", ended.output());
    }
}

#[test]
fn every_test_with_the_cause_fails() {
    let ended = process::run(&mut children()).expect_code(101);
    assert_eq!(ended.count("0 passed; 2 failed"), 1, "{}", ended.output());
}

#[test]
fn child_first() {
    if process::is_child() {
        run();
    }
}

#[test]
fn child_second() {
    if process::is_child() {
        run();
    }
}
