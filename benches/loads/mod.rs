//! Small programs that do little but synchronise, for what checking costs.

/// The loads, written once: `$sync` and `$thread` are where the types come from, `$atomic` marks a
/// block.
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

            pub(crate) fn lock_and_work() {
                let counter = Mutex::new(0_u64);
                let mut random = 0x9e37_79b9_7f4a_7c15_u64;
                for _ in 0..400_000 {
                    // Each step waits for the one before: about 50 ns in all.
                    for _ in 0..30 {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                    }
                    atomic! { *counter.lock().unwrap() += random & 1; }
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

/// A block that nobody checks.
macro_rules! plain_block {
    ($($body:tt)*) => {{ $($body)* }};
}

pub(crate) use {loads, plain_block};
