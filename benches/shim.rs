//! What checking costs a program: the same loads on std's types and on aerodrome's, in turn, in one run.
//!
//! A round is a whole run, judged to its end. What is printed is the ratio of the medians; `README.md` says how to read it.

use std::time::{Duration, Instant};

/// The loads, written once: `$sync` and `$thread` are where the types come from, `$atomic` marks a block.
macro_rules! loads {
    ($name:ident, $sync:path, $thread:path, $atomic:path) => {
        mod $name {
            use $atomic as atomic;
            use $sync as sync;
            use $thread as thread;

            use std::hint::black_box;
            use sync::atomic::{AtomicU64, Ordering};
            use sync::{Mutex, RwLock, mpsc};

            pub(crate) fn uncontended_lock() {
                let counter = Mutex::new(0_u64);
                for _ in 0..400_000 {
                    atomic! { *counter.lock().unwrap() += 1; }
                }
                black_box(counter.into_inner().unwrap());
            }

            pub(crate) fn own_locks() {
                let counters: [_; 4] = std::array::from_fn(|_| Mutex::new(0_u64));
                thread::scope(|s| {
                    for counter in &counters {
                        s.spawn(move || {
                            for _ in 0..200_000 {
                                atomic! { *counter.lock().unwrap() += 1; }
                            }
                        });
                    }
                });
            }

            pub(crate) fn contended_lock() {
                let counter = Mutex::new(0_u64);
                thread::scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|| {
                            for _ in 0..50_000 {
                                atomic! { *counter.lock().unwrap() += 1; }
                            }
                        });
                    }
                });
            }

            pub(crate) fn bank() {
                let accounts: Vec<_> = (0..1_000).map(|_| Mutex::new(1_000_i64)).collect();
                thread::scope(|s| {
                    for thread in 0..4_u64 {
                        let accounts = &accounts;
                        s.spawn(move || {
                            let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread + 1);
                            for _ in 0..50_000 {
                                random ^= random << 13;
                                random ^= random >> 7;
                                random ^= random << 17;
                                let (a, b) =
                                    (random as usize % 1_000, (random >> 32) as usize % 1_000);
                                if a == b {
                                    continue;
                                }
                                atomic! {
                                    let mut first = accounts[a.min(b)].lock().unwrap();
                                    let mut second = accounts[a.max(b)].lock().unwrap();
                                    *first -= 1;
                                    *second += 1;
                                }
                            }
                        });
                    }
                });
            }

            pub(crate) fn mostly_reads() {
                let value = RwLock::new(0_u64);
                thread::scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|| {
                            for i in 0..50_000 {
                                atomic! {
                                    if i % 10 == 0 {
                                        *value.write().unwrap() += 1;
                                    } else {
                                        black_box(*value.read().unwrap());
                                    }
                                }
                            }
                        });
                    }
                });
            }

            pub(crate) fn contended_fetch_add() {
                let counter = AtomicU64::new(0);
                thread::scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|| {
                            for _ in 0..100_000 {
                                atomic! { counter.fetch_add(1, Ordering::Relaxed); }
                            }
                        });
                    }
                });
            }

            pub(crate) fn repeated_loads() {
                let flag = AtomicU64::new(1);
                thread::scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|| {
                            for _ in 0..1_000 {
                                atomic! {
                                    for _ in 0..1_000 {
                                        black_box(flag.load(Ordering::Acquire));
                                    }
                                }
                            }
                        });
                    }
                });
            }

            pub(crate) fn spawn_and_join() {
                let counter = Mutex::new(0_u64);
                for _ in 0..1_000 {
                    thread::scope(|s| {
                        s.spawn(|| {
                            atomic! { *counter.lock().unwrap() += 1; }
                        });
                    });
                }
            }

            pub(crate) fn ping_pong() {
                let (ping, pong_in) = mpsc::channel();
                let (pong, ping_in) = mpsc::channel();
                thread::scope(|s| {
                    s.spawn(move || {
                        for ball in pong_in {
                            if pong.send(ball).is_err() {
                                break;
                            }
                        }
                    });
                    for ball in 0..10_000_u64 {
                        ping.send(ball).unwrap();
                        assert_eq!(ping_in.recv().unwrap(), ball);
                    }
                    drop(ping);
                });
            }
        }
    };
}

macro_rules! plain_block {
    ($($body:tt)*) => {{ $($body)* }};
}
use plain_block as plain;

loads!(with_std, std::sync, std::thread, super::plain);
loads!(
    with_aerodrome,
    aerodrome::sync,
    aerodrome::thread,
    aerodrome::atomic_block
);

/// A load's name, the ratio that it is to stay below, and the load on std's types and on ours.
type Load = (&'static str, f64, fn(), fn());

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn time(load: impl FnOnce()) -> Duration {
    let start = Instant::now();
    load();
    start.elapsed()
}

fn main() {
    let loads: [Load; 9] = [
        (
            "uncontended lock in a transaction",
            1.6,
            with_std::uncontended_lock,
            with_aerodrome::uncontended_lock,
        ),
        (
            "four threads, a lock each",
            3.0,
            with_std::own_locks,
            with_aerodrome::own_locks,
        ),
        (
            "four threads, one lock",
            3.0,
            with_std::contended_lock,
            with_aerodrome::contended_lock,
        ),
        (
            "bank, two locks a transfer",
            3.0,
            with_std::bank,
            with_aerodrome::bank,
        ),
        (
            "RwLock, 90% reads",
            3.0,
            with_std::mostly_reads,
            with_aerodrome::mostly_reads,
        ),
        (
            "contended fetch_add",
            5.0,
            with_std::contended_fetch_add,
            with_aerodrome::contended_fetch_add,
        ),
        (
            "repeated atomic loads",
            10.0,
            with_std::repeated_loads,
            with_aerodrome::repeated_loads,
        ),
        (
            "spawn and join",
            1.3,
            with_std::spawn_and_join,
            with_aerodrome::spawn_and_join,
        ),
        (
            "channel ping-pong",
            1.3,
            with_std::ping_pong,
            with_aerodrome::ping_pong,
        ),
    ];
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let rounds = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(15);
    let words: Vec<_> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-') && argument.parse::<usize>().is_err())
        .collect();
    println!(
        "{:<36} {:>10} {:>10} {:>7} {:>7}",
        "load", "std", "aerodrome", "ratio", "target"
    );
    for (name, target, plain, checked) in loads {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let (mut plains, mut checkeds) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            plains.push(time(plain));
            checkeds.push(time(|| {
                let outcome = aerodrome::check(checked);
                assert!(
                    outcome.is_serializable(),
                    "{name}: {:?}",
                    outcome.violations
                );
            }));
        }
        let (plain, checked) = (median(plains), median(checkeds));
        let ratio = checked.as_secs_f64() / plain.as_secs_f64();
        println!("{name:<36} {plain:>10.2?} {checked:>10.2?} {ratio:>7.2} {target:>7.1}");
    }
}
