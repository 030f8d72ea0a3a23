//! Two atomics read apart: a mean computed from a sum and a count that do not belong together.
//!
//! ```text
//! cargo run --example stats --features check            # shows the report
//! cargo run --example stats --features check -- fixed   # both under one lock: silent
//! ```

use std::sync::Barrier; // std's, because the program under test has none

use aerodrome::sync::Mutex;
use aerodrome::sync::atomic::{AtomicU64, Ordering};
use aerodrome::thread;

#[derive(Default)]
struct Stats {
    sum: AtomicU64,
    count: AtomicU64,
    both: Mutex<(u64, u64)>,
}

impl Stats {
    #[aerodrome::atomic]
    fn add(&self, value: u64) {
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    #[aerodrome::atomic]
    fn mean(&self, meanwhile: impl FnOnce()) -> u64 {
        let sum = self.sum.load(Ordering::Relaxed);
        meanwhile();
        sum / self.count.load(Ordering::Relaxed)
    }

    #[aerodrome::atomic]
    fn add_fixed(&self, value: u64) {
        let mut both = self.both.lock().unwrap();
        *both = (both.0 + value, both.1 + 1);
    }

    #[aerodrome::atomic]
    fn mean_fixed(&self, meanwhile: impl FnOnce()) -> u64 {
        let (sum, count) = *self.both.lock().unwrap();
        meanwhile();
        sum / count
    }
}

fn main() {
    let fixed = std::env::args().nth(1).as_deref() == Some("fixed");
    let stats = Stats::default();
    aerodrome::name(&stats.sum, "sum");
    aerodrome::name(&stats.count, "count");
    let add = if fixed { Stats::add_fixed } else { Stats::add };
    add(&stats, 10);

    // The second value is added while the mean is being computed.
    let (begun, added) = (Barrier::new(2), Barrier::new(2));
    let mean = thread::scope(|s| {
        s.spawn(|| {
            begun.wait();
            add(&stats, 30);
            added.wait();
        });
        let meanwhile = || {
            begun.wait();
            added.wait();
        };
        if fixed {
            stats.mean_fixed(meanwhile)
        } else {
            stats.mean(meanwhile)
        }
    });
    println!("the mean is {mean}");
}
