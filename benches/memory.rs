//! What checking costs in memory while many strands or many objects are alive.
//!
//! Each line is a process of its own, with std's types and with aerodrome's. What is resident is
//! read while all are alive and the collector has taken every record; the difference is ours. The
//! threads' own stacks are in both.

use std::process::Command;

const THREADS: usize = 10_000;
/// Objects of each thread.
const OWN: [usize; 2] = [64, 1];
const OBJECTS: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, kind, load] = &arguments[..] {
        let resident = match (kind.as_str(), load.as_str()) {
            ("std", "objects") => with_std::objects(),
            ("std", own) => with_std::threads(own.parse().expect("objects of a thread")),
            (_, "objects") => with_aerodrome::objects(),
            (_, own) => with_aerodrome::threads(own.parse().expect("objects of a thread")),
        };
        println!("{resident}");
        return;
    }
    println!("| alive | std, MiB | aerodrome, MiB | bytes more for each |");
    println!("|---|---|---|---|");
    for own in OWN {
        let threads = format!("{THREADS} threads of {own} objects");
        line(&own.to_string(), &threads, THREADS);
    }
    line("objects", &format!("{OBJECTS} objects"), OBJECTS);
}

/// A line of the table.
fn line(load: &str, what: &str, count: usize) {
    let [plain, checked] = ["std", "aerodrome"].map(|kind| {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program).args([kind, load]).output();
        let output = output.expect("a process").stdout;
        let text = String::from_utf8(output).expect("a number");
        text.trim().parse::<u64>().expect("a number of bytes")
    });
    let more = checked.saturating_sub(plain) / count as u64;
    let [plain, checked] = [plain, checked].map(|bytes| bytes >> 20);
    println!("| {what} | {plain} | {checked} | {more} |");
}

/// The bytes of this process that are in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a size") << 10
}

/// The loads, on the types of one crate.
macro_rules! loads {
    ($name:ident, $from:ident) => {
        mod $name {
            use super::{OBJECTS, THREADS, resident};
            use $from::sync::{Barrier, Mutex};
            use $from::thread;

            fn locks(count: usize) -> Vec<Mutex<u64>> {
                let locks: Vec<Mutex<u64>> = (0..count).map(|at| Mutex::new(at as u64)).collect();
                for lock in &locks {
                    *lock.lock().unwrap() += 1;
                }
                locks
            }

            /// What is resident when the collector has had time to take everything.
            fn at_rest() -> u64 {
                ::std::thread::sleep(::std::time::Duration::from_millis(500));
                resident()
            }

            pub(super) fn objects() -> u64 {
                let locks = locks(OBJECTS);
                let resident = at_rest();
                drop(locks);
                resident
            }

            pub(super) fn threads(own: usize) -> u64 {
                let (ready, done) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
                thread::scope(|scope| {
                    for _ in 0..THREADS {
                        let (ready, done) = (&ready, &done);
                        let run = move || {
                            let locks = locks(own);
                            ready.wait();
                            done.wait();
                            drop(locks);
                        };
                        let builder = thread::Builder::new().stack_size(64 << 10);
                        builder.spawn_scoped(scope, run).expect("a thread");
                    }
                    ready.wait();
                    let resident = at_rest();
                    done.wait();
                    resident
                })
            }
        }
    };
}

loads!(with_std, std);
loads!(with_aerodrome, aerodrome);
