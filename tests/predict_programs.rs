//! What is predicted of programs: correct ones, none of which may fail, and their buggy neighbours,
//! all of which must, in each of twenty runs.
#![cfg(feature = "check")]

mod process;

use std::collections::HashMap;
use std::process::Command;
use std::sync::mpsc;

use aerodrome::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use aerodrome::sync::{Arc, Condvar, Mutex, OnceLock};
use aerodrome::{atomic_block, restart, thread};

const RUNS: usize = 20;

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

/// Two steps where one was meant.
fn bump(number: &AtomicUsize) {
    atomic_block! {
        let value = number.load(SeqCst);
        number.store(value + 1, SeqCst);
    }
}

fn add_twice(data: &Mutex<u64>) {
    let value = *data.lock().unwrap();
    *data.lock().unwrap() = value + 1;
}

/// A number is handed over with a flag. Who gives it away may go on using it, or not.
fn hand_over(goes_on: bool) {
    let (number, is_given) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let first = || {
        bump(&number);
        is_given.store(1, SeqCst);
        if goes_on {
            bump(&number);
        }
    };
    in_turn(first, || {
        assert_eq!(is_given.load(SeqCst), 1);
        number.store(9, SeqCst);
    });
}

/// A block asks a cell, which another thread sets: once, or twice and trusts in the same answer.
fn ask_cell(twice: bool) {
    let cell = OnceLock::new();
    let first = || {
        atomic_block! {
            let is_new = cell.get().is_none();
            if twice {
                assert_eq!(is_new, cell.get().is_none());
            }
        }
    };
    in_turn(first, || cell.set(1).unwrap());
}

/// Asks a cell, counts, and asks again.
fn ask_act_ask(twice: bool) {
    let (cell, count) = (OnceLock::new(), AtomicUsize::new(0));
    let first = || {
        atomic_block! {
            if cell.get().is_none() {
                count.fetch_add(1, SeqCst);
            }
            if twice {
                assert!(cell.get().is_none());
            }
        }
    };
    in_turn(first, || cell.set(1).unwrap());
}

/// A reader counts itself in and out. Who has seen none writes in two steps, though one may come
/// meanwhile; or it writes when the reader has ended.
fn count_readers(asks_for_none: bool) {
    let (readers, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let number = AtomicUsize::new(0);
    let first = || {
        readers.fetch_add(1, SeqCst);
        assert_eq!(number.load(SeqCst), 0);
        readers.fetch_sub(1, SeqCst);
        ended.store(1, SeqCst);
    };
    in_turn(first, || {
        let may = if asks_for_none {
            readers.load(SeqCst) == 0
        } else {
            ended.load(SeqCst) == 1
        };
        if may {
            atomic_block! {
                number.store(1, SeqCst);
                number.store(2, SeqCst);
            }
        }
    });
}

/// Looks into a channel in a block, and finds nothing: again and again, or once.
fn poll(again: bool) {
    let (sender, receiver) = aerodrome::sync::mpsc::channel();
    let receiver = Mutex::new(receiver);
    let first = || {
        let receiver = receiver.lock().unwrap();
        atomic_block! {
            for _ in 0..1 + usize::from(again) {
                assert!(receiver.try_recv().is_err());
            }
        }
    };
    in_turn(first, || {
        atomic_block! {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        }
    });
}

/// Threads take turns, which each waits for. The turn is passed on after the work or before it.
fn turns(passes_on_early: bool, by_condvar: bool) {
    const ROUNDS: usize = 4;
    let (turn, data) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (held, changed) = (Mutex::new(0), Condvar::new());
    let wait = |me: usize| {
        if by_condvar {
            let mut now = held.lock().unwrap();
            while *now % 2 != me {
                now = changed.wait(now).unwrap();
            }
        } else {
            while turn.load(SeqCst) % 2 != me {
                thread::yield_now();
            }
        }
    };
    let pass_on = || {
        if by_condvar {
            *held.lock().unwrap() += 1;
            changed.notify_all();
        } else {
            turn.fetch_add(1, SeqCst);
        }
    };
    let work = |me: usize| {
        for _ in 0..ROUNDS {
            wait(me);
            if passes_on_early {
                pass_on();
                bump(&data);
            } else {
                bump(&data);
                pass_on();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| work(0));
        scope.spawn(|| work(1));
    });
}

/// Reads a version, works, and writes if the version is the same; else it starts anew. Or it
/// writes in any case.
fn optimistic(compares: bool) {
    let state = Mutex::new((0_u64, 0_u64));
    let (read, written) = (mpsc::channel(), mpsc::channel());
    let update = |pause: &dyn Fn()| {
        atomic_block! {
            loop {
                let seen = *state.lock().unwrap();
                pause();
                let mut now = state.lock().unwrap();
                if compares && now.0 != seen.0 {
                    drop(now);
                    restart();
                    continue;
                }
                *now = (seen.0 + 1, seen.1 + 1);
                break;
            }
        }
    };
    thread::scope(|scope| {
        let update = &update;
        let (read_by, wait_read) = read;
        let (written_by, wait_written) = written;
        scope.spawn(move || {
            let is_first = std::cell::Cell::new(true);
            update(&|| {
                if is_first.take() {
                    read_by.send(()).unwrap();
                    wait_written.recv().unwrap();
                }
            });
        });
        scope.spawn(move || {
            wait_read.recv().unwrap();
            update(&|| {});
            written_by.send(()).unwrap();
        });
    });
}

#[derive(Default)]
struct Entry {
    sum: u64,
    count: u64,
}

/// An entry is filled in two steps and put into a registry, after that or before.
fn publish(early: bool) {
    let registry: Mutex<HashMap<u64, Arc<Mutex<Entry>>>> = Mutex::default();
    let find = || Arc::clone(registry.lock().unwrap().entry(1).or_default());
    let first = || {
        let fill = |entry: &Mutex<Entry>| {
            atomic_block! {
                entry.lock().unwrap().sum = 7;
                entry.lock().unwrap().count = 1;
            }
        };
        if early {
            fill(&find());
        } else {
            let entry = Arc::default();
            fill(&entry);
            registry.lock().unwrap().insert(1, entry);
        }
    };
    in_turn(first, || {
        let entry = find();
        let entry = entry.lock().unwrap();
        assert_eq!(entry.sum, 7 * entry.count);
    });
}

/// Data is claimed under a lock while it is used, or not.
fn claim(claims: bool) {
    let (claimed, data) = (Mutex::new(false), Mutex::new(0));
    let work = || {
        while claims && std::mem::replace(&mut *claimed.lock().unwrap(), true) {
            thread::yield_now();
        }
        atomic_block! {
            add_twice(&data);
        }
        if claims {
            *claimed.lock().unwrap() = false;
        }
    };
    in_turn(work, work);
}

type Program = (&'static str, fn(bool), bool);

/// Each with what makes it buggy.
const PROGRAMS: &[Program] = &[
    ("hand_over", hand_over, true),
    ("ask_cell", ask_cell, true),
    ("ask_act_ask", ask_act_ask, true),
    ("count_readers", count_readers, true),
    ("poll", poll, false),
    ("turns by spinning", |buggy| turns(buggy, false), true),
    ("turns by a condvar", |buggy| turns(buggy, true), true),
    ("optimistic", optimistic, false),
    ("publish", publish, true),
    ("claim", claim, false),
];

fn judge(predicts: bool) {
    let mut wrong = Vec::new();
    for &(name, program, buggy) in PROGRAMS {
        for run in 0..RUNS {
            let outcome = aerodrome::check(|| program(!buggy));
            let fails = outcome.forecast.as_ref().is_some_and(|it| it.fails());
            if !outcome.violations.is_empty() || fails {
                let told = outcome.forecast.map(|it| it.to_string());
                wrong.push(format!(
                    "{name}, correct, run {run}: {:?} {}",
                    outcome.violations.first().map(|it| &it.message),
                    told.unwrap_or_default()
                ));
                break;
            }
        }
        for run in 0..RUNS {
            let outcome = aerodrome::check(|| program(buggy));
            let fails = outcome.forecast.as_ref().is_some_and(|it| it.fails());
            if predicts && outcome.violations.is_empty() && !fails {
                let told = outcome.forecast.map(|it| it.to_string());
                wrong.push(format!("{name}, buggy, run {run}: {told:?}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn correct_programs_are_silent_without_prediction() {
    if !process::is_child() {
        judge(false);
    }
}

#[test]
fn programs_with_prediction() {
    if process::is_child() {
        judge(true);
    }
}

#[test]
fn correct_programs_are_silent_with_prediction_and_buggy_ones_are_all_found() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "programs_with_prediction"])
        .env(process::CHILD, "1")
        .env("AERODROME_PREDICT", "warn")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}
