//! What checking costs a program: the same loads on std's types and on aerodrome's, in turn, in one
//! run.
//!
//! A round is a whole run, judged to its end. What is printed is the ratio of the medians;
//! `README.md` says how to read it.

mod loads;

use std::time::{Duration, Instant};

use loads::{loads, plain_block};

loads!(with_std, std::sync, std::thread, super::plain_block);
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
    let loads: [Load; 10] = [
        (
            "uncontended lock in a transaction",
            1.6,
            with_std::uncontended_lock,
            with_aerodrome::uncontended_lock,
        ),
        (
            "the same, with 50 ns of work between",
            1.15,
            with_std::lock_and_work,
            with_aerodrome::lock_and_work,
        ),
        (
            "four threads, a lock each",
            2.0,
            with_std::own_locks,
            with_aerodrome::own_locks,
        ),
        (
            "four threads, one lock",
            2.0,
            with_std::contended_lock,
            with_aerodrome::contended_lock,
        ),
        (
            "bank, two locks a transfer",
            2.5,
            with_std::bank,
            with_aerodrome::bank,
        ),
        (
            "RwLock, 90% reads",
            1.5,
            with_std::mostly_reads,
            with_aerodrome::mostly_reads,
        ),
        (
            "contended fetch_add",
            3.0,
            with_std::contended_fetch_add,
            with_aerodrome::contended_fetch_add,
        ),
        (
            "repeated atomic loads",
            5.0,
            with_std::repeated_loads,
            with_aerodrome::repeated_loads,
        ),
        (
            "spawn and join",
            1.2,
            with_std::spawn_and_join,
            with_aerodrome::spawn_and_join,
        ),
        (
            "channel ping-pong",
            1.2,
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
        println!("{name:<36} {plain:>10.2?} {checked:>10.2?} {ratio:>7.2} {target:>7.2}");
    }
}
