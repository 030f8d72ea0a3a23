//! Bugs through parking_lot's interface are reported where they are, and the fixed versions are
//! silent.

use std::collections::BTreeSet;
#[cfg(not(feature = "parking_lot-send_guard"))]
use std::time::Duration;

use aerodrome::parking_lot::{
    Condvar, FairMutex, MappedMutexGuard, Mutex, MutexGuard, Once, ReentrantMutex, RwLock,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use aerodrome::parking_lot_core::{self, SpinWait};
use aerodrome::report::Place;
use aerodrome::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use aerodrome::trace::Op;
use aerodrome::{atomic_block, thread};

use crate::outcome::{accesses, between, only, silent};

#[test]
fn contains_under_read_then_insert_under_write_is_reported() {
    let set = RwLock::new(BTreeSet::new());
    let (mut read, mut insert, mut other) = (0, 0, 0);
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    read = line!() + 1;
                    let known = set.read().contains(&1);
                    pause();
                    insert = line!() + 2;
                    if !known {
                        set.write().insert(1);
                    }
                }
            },
            || {
                other = line!() + 1;
                set.write().insert(1);
            },
        );
    });
    let set = "`RwLock<BTreeSet<i32>>`".to_owned();
    let expected = [
        (Op::Read, set.clone(), read),
        (Op::Write, set.clone(), other),
        (Op::Write, set.clone(), other),
        (Op::Write, set, insert),
    ];
    let found = accesses(&report);
    assert!(
        found.iter().all(|access| expected.contains(access)),
        "{found:?} {expected:?}"
    );
    assert!(
        found.contains(&expected[0]) && found.contains(&expected[3]),
        "{found:?}"
    );
    let Some(Place::Source { line, .. }) = report.objects[0].created else {
        panic!("no place: {report:?}");
    };
    assert!(line < read, "made where it was made");
}

#[test]
fn contains_and_insert_under_one_write_are_atomic() {
    let set = RwLock::new(BTreeSet::new());
    silent(|| {
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for i in 0..100 {
                        atomic_block! {
                            let mut set = set.write();
                            if !set.contains(&i) {
                                set.insert(i);
                            }
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn an_upgradable_read_that_is_released_before_the_write_is_reported() {
    let total = RwLock::new(0);
    let base = line!();
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    let seen = *total.upgradable_read();
                    pause();
                    *total.write() = seen + 1;
                }
            },
            || *total.write() += 1,
        );
    });
    let access = |op, line| (op, "`RwLock<i32>`".to_owned(), base + line);
    let expected = [
        access(Op::Read, 5),
        access(Op::Write, 10),
        access(Op::Write, 7),
    ];
    assert_eq!(accesses(&report), expected);
}

#[test]
fn an_upgradable_read_that_is_upgraded_is_atomic() {
    let total = RwLock::new(0);
    silent(|| {
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    for i in 0..50 {
                        atomic_block! {
                            let mut read = total.upgradable_read();
                            let seen = *read;
                            match i % 3 {
                                0 => {
                                    let mut write = RwLockUpgradableReadGuard::upgrade(read);
                                    *write = seen + 1;
                                    let read = RwLockWriteGuard::downgrade(write);
                                    assert_eq!(*read, seen + 1);
                                }
                                1 => {
                                    read.with_upgraded(|total| *total = seen + 1);
                                    assert_eq!(*read, seen + 1);
                                }
                                _ => {
                                    let mut write = RwLockUpgradableReadGuard::upgrade(read);
                                    *write += 1;
                                    let read = RwLockWriteGuard::downgrade_to_upgradable(write);
                                    assert_eq!(*RwLockUpgradableReadGuard::downgrade(read), seen + 1);
                                }
                            }
                        }
                    }
                });
            }
            s.spawn(|| {
                for _ in 0..50 {
                    assert!(*total.read_recursive() <= 150);
                }
            });
        });
    });
    assert_eq!(*total.read(), 150);
}

#[test]
fn a_lock_that_is_given_back_for_a_while_is_reported() {
    let total = Mutex::new(0);
    type Way = fn(&mut MutexGuard<'_, i32>, &dyn Fn());
    let ways: [Way; 2] = [
        |guard, f| MutexGuard::unlocked(guard, f),
        |guard, f| MutexGuard::unlocked_fair(guard, f),
    ];
    for way in ways {
        let report = only(|| {
            between(
                |pause| {
                    atomic_block! {
                        let mut guard = total.lock();
                        let seen = *guard;
                        way(&mut guard, pause);
                        *guard = seen + 1;
                    }
                },
                || *total.lock() += 1,
            );
        });
        assert!(
            accesses(&report)
                .iter()
                .all(|(_, object, _)| object == "`Mutex<i32>`")
        );
    }
}

#[test]
fn a_read_after_a_lock_was_given_back_is_a_new_one() {
    let total = FairMutex::new(0);
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    let mut guard = total.lock();
                    let before = *guard;
                    aerodrome::parking_lot::FairMutexGuard::unlocked(&mut guard, pause);
                    assert_eq!(*guard, before + 1);
                }
            },
            || *total.lock() += 1,
        );
    });
    assert!(
        accesses(&report)
            .iter()
            .all(|(_, object, _)| object == "`FairMutex<i32>`")
    );
}

#[test]
fn a_mapped_guard_accesses_the_content_of_the_lock() {
    let pair = Mutex::new((1, 2));
    let mut write = 0;
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    let second = *MutexGuard::map(pair.lock(), |pair| &mut pair.1);
                    pause();
                    let mut first = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
                    write = line!() + 1;
                    *first += second;
                    MappedMutexGuard::unlock_fair(first);
                }
            },
            || pair.lock().1 += 1,
        );
    });
    let found = accesses(&report);
    assert!(
        found
            .iter()
            .all(|(_, object, _)| object == "`Mutex<(i32, i32)>`"),
        "{found:?}"
    );
}

#[test]
fn a_lock_around_nothing_orders_by_itself() {
    let lock = Mutex::new(());
    let mut sites = [0; 3];
    let [first, second, other] = &mut sites;
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    *first = line!() + 1;
                    drop(lock.lock());
                    pause();
                    *second = line!() + 1;
                    drop(lock.lock());
                }
            },
            || {
                *other = line!() + 1;
                drop(lock.lock());
            },
        );
    });
    let found = accesses(&report);
    assert!(
        found
            .iter()
            .any(|(op, object, line)| (*op, &**object, *line)
                == (Op::Acquire, "`Mutex<()>`", second_of(&sites))),
        "{found:?}"
    );
}

fn second_of(sites: &[u32; 3]) -> u32 {
    sites[1]
}

#[test]
fn a_reentrant_mutex_is_taken_once() {
    let lock = ReentrantMutex::new(());
    silent(|| {
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..100 {
                        atomic_block! {
                            let outer = lock.lock();
                            drop(lock.lock());
                            drop(lock.try_lock());
                            drop(outer);
                        }
                    }
                });
            }
        });
    });
    let mut again = 0;
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    drop(lock.lock());
                    pause();
                    again = line!() + 1;
                    drop(lock.lock());
                }
            },
            || drop(lock.lock()),
        );
    });
    let found = accesses(&report);
    assert!(
        found.contains(&(Op::Acquire, "`ReentrantMutex<()>`".to_owned(), again)),
        "{found:?}"
    );
}

#[test]
fn a_wait_is_no_violation_and_ends_the_transaction() {
    let (ready, condvar) = (Mutex::new(false), Condvar::new());
    silent(|| {
        thread::scope(|s| {
            s.spawn(|| {
                atomic_block! {
                    let mut ready = ready.lock();
                    while !*ready {
                        condvar.wait(&mut ready);
                    }
                    *ready = false;
                    condvar.wait_while(&mut ready, |ready| !*ready);
                    *ready = false;
                }
            });
            s.spawn(|| {
                for _ in 0..2 {
                    loop {
                        let mut ready = ready.lock();
                        if !*ready {
                            *ready = true;
                            condvar.notify_one();
                            break;
                        }
                    }
                }
            });
        });
    });
}

#[test]
fn a_look_at_a_once_that_is_called_meanwhile_is_reported() {
    let once = Once::new();
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    assert!(!once.state().done());
                    pause();
                    assert!(once.state().done());
                }
            },
            || once.call_once(|| {}),
        );
    });
    assert!(
        accesses(&report)
            .iter()
            .all(|(_, object, _)| object == "`Once`")
    );
}

#[test]
fn a_raw_lock_of_lock_api_orders_as_a_lock_around_nothing() {
    use aerodrome::parking_lot::{RawMutex, lock_api};
    let lock = lock_api::Mutex::<RawMutex, i32>::new(0);
    let mut again = 0;
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    let seen = *lock.lock();
                    pause();
                    again = line!() + 1;
                    *lock.lock() = seen + 1;
                }
            },
            || *lock.lock() += 1,
        );
    });
    assert!(
        accesses(&report)
            .iter()
            .any(|(op, _, line)| (*op, *line) == (Op::Acquire, again))
    );
}

#[test]
fn what_is_forced_open_was_released() {
    let total = Mutex::new(0);
    silent(|| {
        between(
            |pause| {
                atomic_block! {
                    MutexGuard::leak(total.lock());
                    // SAFETY: held, and nobody uses the leaked reference.
                    unsafe { total.force_unlock() };
                }
                pause();
                atomic_block! { *total.lock() += 1; }
            },
            || *total.lock() += 1,
        );
    });
    assert_eq!(*total.lock(), 2);
}

#[test]
fn formatting_is_no_access() {
    let (total, other) = (Mutex::new(0), RwLock::new(0));
    silent(|| {
        between(
            |pause| {
                atomic_block! {
                    assert_eq!(format!("{total:?} {other:?}"), "Mutex { data: 0 } RwLock { data: 0 }");
                    pause();
                    assert_eq!(format!("{total:?}"), "Mutex { data: 1 }");
                }
            },
            || {
                *total.lock() += 1;
                *other.write() += 1;
            },
        );
    });
}

#[cfg(feature = "parking_lot-send_guard")]
#[test]
fn a_guard_that_is_sent_is_released_where_it_is_dropped() {
    let total = Mutex::new(0);
    let sent = |times: u32| {
        for _ in 0..times {
            let mut guard = total.lock();
            *guard += 1;
            thread::scope(|s| {
                s.spawn(move || {
                    *guard += 1;
                    drop(guard);
                });
            });
        }
    };
    silent(|| {
        thread::scope(|s| {
            s.spawn(|| sent(50));
            s.spawn(|| sent(50));
        });
    });
    assert_eq!(*total.lock(), 200);
    let report = only(|| {
        between(
            |pause| {
                atomic_block! {
                    let guard = total.lock();
                    let seen = *guard;
                    std::thread::scope(|s| {
                        s.spawn(move || drop(guard));
                    });
                    pause();
                    *total.lock() = seen + 1;
                }
            },
            || sent(1),
        );
    });
    assert!(
        report
            .objects
            .iter()
            .any(|object| object.label() == "`Mutex<i32>`"),
        "{report:?}"
    );
}

#[test]
fn a_spin_lock_with_a_spin_wait_is_silent() {
    let spin = |wait: &mut SpinWait| {
        wait.spin();
    };
    for wait in [spin, SpinWait::spin_no_yield] {
        let (lock, balance) = (AtomicBool::new(true), AtomicU64::new(0));
        silent(|| {
            between(
                |let_in| {
                    atomic_block! {
                        let mut spin = SpinWait::new();
                        let mut is_first = true;
                        while lock.swap(true, SeqCst) {
                            if std::mem::take(&mut is_first) {
                                let_in();
                            }
                            wait(&mut spin);
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
fn a_home_made_lock_that_parks_is_silent() {
    let (lock, balance) = (AtomicBool::new(true), AtomicU64::new(0));
    let key = &raw const lock as usize;
    let unlock = || {
        lock.store(false, SeqCst);
        // SAFETY: the key is the address of a variable of this test.
        unsafe { parking_lot_core::unpark_one(key, |_| parking_lot_core::DEFAULT_UNPARK_TOKEN) };
    };
    silent(|| {
        between(
            |let_in| {
                atomic_block! {
                    let mut is_first = true;
                    while lock.swap(true, SeqCst) {
                        if std::mem::take(&mut is_first) {
                            let_in();
                        }
                        // SAFETY: as above; the functions do not panic and call no parking_lot.
                        unsafe {
                            parking_lot_core::park(
                                key,
                                || lock.load(SeqCst),
                                || (),
                                |_, _| (),
                                parking_lot_core::DEFAULT_PARK_TOKEN,
                                None,
                            )
                        };
                    }
                    balance.fetch_add(1, SeqCst);
                    unlock();
                }
            },
            || {
                atomic_block! {
                    balance.fetch_add(1, SeqCst);
                    unlock();
                }
            },
        );
    });
    assert_eq!(balance.into_inner(), 2);
}

/// With guards that may be sent, what is read is recorded at once.
#[cfg(not(feature = "parking_lot-send_guard"))]
#[test]
fn what_an_unmarked_strand_sees_before_it_waits_is_nothing() {
    let (state, changed) = (Mutex::new(0), Condvar::new());
    let twice = |let_in: &dyn Fn()| {
        atomic_block! {
            *state.lock() = 1;
            let_in();
            *state.lock() = 2;
        }
    };
    let moment = Duration::from_millis(1);
    silent(|| {
        between(twice, || {
            let mut state = state.lock();
            assert_eq!(*state, 1);
            changed.wait_for(&mut state, moment);
        });
        between(twice, || {
            changed.wait_while_for(&mut state.lock(), |state| *state != 2, moment);
        });
    });
}
