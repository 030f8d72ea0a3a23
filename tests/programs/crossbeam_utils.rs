//! Bugs through crossbeam-utils' interface are reported where they are, and idioms are silent.

use aerodrome::atomic_block;
use aerodrome::crossbeam_utils::atomic::AtomicConsume;
use aerodrome::crossbeam_utils::sync::{Parker, ShardedLock, WaitGroup};
use aerodrome::crossbeam_utils::{Backoff, thread};
use aerodrome::sync::Mutex;
use aerodrome::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use aerodrome::trace::Op;

use crate::outcome::{accesses, between, only, silent};

#[test]
fn a_retry_loop_with_a_backoff_is_silent() {
    for wait in [Backoff::spin, Backoff::snooze] {
        let (lock, balance) = (AtomicBool::new(true), AtomicU64::new(0));
        silent(|| {
            between(
                |let_in| {
                    atomic_block! {
                        let backoff = Backoff::new();
                        let mut is_first = true;
                        while lock.swap(true, SeqCst) {
                            if std::mem::take(&mut is_first) {
                                let_in();
                            }
                            wait(&backoff);
                        }
                        balance.fetch_add(1, SeqCst);
                        lock.store(false, SeqCst);
                    }
                },
                || {
                    atomic_block! {
                        balance.fetch_add(1, SeqCst);
                        lock.store(false, SeqCst);
                    }
                },
            );
        });
        assert_eq!(balance.into_inner(), 2);
    }
}

#[test]
fn a_lost_update_with_a_backoff_in_it_is_reported() {
    let balance = AtomicU64::new(100);
    let (mut read, mut wrote, mut other) = (0, 0, 0);
    let report = only(|| {
        between(
            |let_in| {
                atomic_block!(name = "withdraw", {
                    read = line!() + 1;
                    let now = balance.load(SeqCst);
                    Backoff::new().snooze();
                    let_in();
                    wrote = line!() + 1;
                    balance.store(now - 30, SeqCst);
                });
            },
            || {
                other = line!() + 1;
                balance.store(200, SeqCst);
            },
        );
    });
    assert_eq!(report.message, "`withdraw` is not atomic");
    let found: Vec<_> = accesses(&report)
        .into_iter()
        .map(|(op, _, line)| (op, line))
        .collect();
    assert_eq!(found[0], (Op::Read, read));
    assert!(found.contains(&(Op::Write, other)), "{found:?}");
    assert_eq!(found.last(), Some(&(Op::Write, wrote)));
}

#[test]
fn what_a_scopes_threads_did_comes_before_its_end() {
    let balance = Mutex::new(0);
    silent(|| {
        atomic_block! {
            *balance.lock().unwrap() += 1;
            let total = thread::scope(|s| {
                let nested = s.spawn(|s| {
                    s.spawn(|_| *balance.lock().unwrap() += 1);
                    *balance.lock().unwrap() += 1;
                    7
                });
                let builder = s.builder().name("named".into());
                let named = builder.spawn(|_| *balance.lock().unwrap() += 1).unwrap();
                assert_eq!(named.thread().name(), Some("named"));
                nested.join().unwrap()
            });
            assert_eq!(total.unwrap(), 7);
            assert_eq!(*balance.lock().unwrap(), 4);
        }
    });
}

#[test]
fn a_bug_among_a_scopes_threads_is_reported() {
    let balance = AtomicU64::new(100);
    let barrier = std::sync::Barrier::new(2);
    let report = only(|| {
        thread::scope(|s| {
            s.spawn(|_| {
                atomic_block!(name = "withdraw", {
                    let now = balance.load_consume();
                    barrier.wait();
                    barrier.wait();
                    balance.store(now - 30, SeqCst);
                });
            });
            s.spawn(|_| {
                barrier.wait();
                balance.store(200, SeqCst);
                barrier.wait();
            });
        })
        .unwrap();
    });
    assert_eq!(report.message, "`withdraw` is not atomic");
    assert_eq!(accesses(&report)[0].0, Op::Read);
}

#[test]
fn waiting_splits_a_block() {
    let value = Mutex::new(0);
    silent(|| {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        thread::scope(|s| {
            s.spawn(|_| {
                *value.lock().unwrap() += 1;
                unparker.unpark();
            });
            atomic_block! {
                let _before = *value.lock().unwrap();
                parker.park();
                assert_eq!(*value.lock().unwrap(), 1);
            }
        })
        .unwrap();
        let group = WaitGroup::new();
        thread::scope(|s| {
            let theirs = group.clone();
            s.spawn(|_| {
                *value.lock().unwrap() += 1;
                drop(theirs);
            });
            atomic_block! {
                let _before = *value.lock().unwrap();
                group.wait();
                assert_eq!(*value.lock().unwrap(), 2);
            }
        })
        .unwrap();
    });
}

#[test]
fn a_sharded_lock_is_tracked() {
    let value = ShardedLock::new(0);
    let report = only(|| {
        between(
            |let_in| {
                atomic_block!(name = "look", {
                    let before = *value.read().unwrap();
                    let_in();
                    assert_ne!(before, *value.read().unwrap());
                });
            },
            || *value.write().unwrap() = 1,
        );
    });
    assert_eq!(report.message, "`look` is not atomic");
}
