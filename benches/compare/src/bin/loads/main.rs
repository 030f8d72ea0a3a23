//! `loads [ROUNDS] [WORD..]`: the loads on std's types and on those of the peer that this was built
//! for, in turn. Prints a line a load: its name, and the two medians in nanoseconds.

#[path = "../../../../loads/mod.rs"]
mod loads;
mod peer;

use std::time::Instant;

use loads::{loads, plain_block};

loads!(with_std, std::sync, std::thread, super::plain_block);
loads!(with_peer, super::peer::sync, super::peer::thread, super::peer::block);

/// A load's name, whether it is locks that it uses, and the load on std's types and on the peer's.
type Load = (&'static str, bool, fn(), fn());

macro_rules! load {
    ($name:literal, $locks:literal, $load:ident) => {
        ($name, $locks, with_std::$load, with_peer::$load)
    };
}

const LOADS: [Load; 10] = [
    load!("uncontended lock in a transaction", true, uncontended_lock),
    load!("the same, with 50 ns of work between", true, lock_and_work),
    load!("four threads, a lock each", true, own_locks),
    load!("four threads, one lock", true, contended_lock),
    load!("bank, two locks a transfer", true, bank),
    load!("RwLock, 90% reads", true, mostly_reads),
    load!("contended fetch_add", false, contended_fetch_add),
    load!("repeated atomic loads", false, repeated_loads),
    load!("spawn and join", true, spawn_and_join),
    load!("channel ping-pong", false, ping_pong),
];

fn main() {
    let (rounds, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.parse::<usize>().is_ok());
    let rounds = rounds.first().and_then(|rounds| rounds.parse().ok()).unwrap_or(15);
    for (name, locks, plain, checked) in LOADS {
        let wanted = words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
        if !wanted || !(locks || peer::MORE_THAN_LOCKS) {
            continue;
        }
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..rounds {
            times[0].push(time(plain));
            times[1].push(time(|| peer::run(checked)));
        }
        let [plain, checked] = times.map(median);
        println!("{name}\t{plain}\t{checked}");
    }
}

fn time(load: impl FnOnce()) -> u128 {
    let begun = Instant::now();
    load();
    begun.elapsed().as_nanos()
}

fn median(mut times: Vec<u128>) -> u128 {
    times.sort_unstable();
    times[times.len() / 2]
}
