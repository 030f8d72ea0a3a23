//! What the mirrors record is enough to tell an atomicity bug from what a Rust programmer calls
//! correct.

use aerodrome::sync::atomic::AtomicU32;
use aerodrome::sync::atomic::Ordering::SeqCst;
use aerodrome::sync::{Condvar, LazyLock, Mutex, Once, OnceLock, mpsc};
use aerodrome::{atomic_block, check, hint, thread};

/// Runs `f` on four threads, a few hundred times each, and says whether that was serializable.
fn serializable(f: impl Fn() + Sync) -> bool {
    check(|| {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|_| f()));
            }
        });
    })
    .is_serializable()
}

#[test]
fn a_write_between_load_and_store_is_reported() {
    let (a, step) = (AtomicU32::new(0), std::sync::Barrier::new(2));
    let outcome = check(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                atomic_block! {
                    let value = a.load(SeqCst);
                    step.wait();
                    step.wait();
                    a.store(value + 1, SeqCst);
                }
            });
            scope.spawn(|| {
                step.wait();
                a.store(7, SeqCst);
                step.wait();
            });
        });
    });
    assert_eq!(outcome.violations.len(), 1);
}

#[test]
fn a_retry_loop_is_atomic() {
    let a = AtomicU32::new(0);
    assert!(serializable(|| atomic_block! {
        let mut old = a.load(SeqCst);
        while let Err(now) = a.compare_exchange(old, old + 1, SeqCst, SeqCst) {
            old = now;
            hint::spin_loop();
        }
    }));
    assert_eq!(a.into_inner(), 800);
}

#[test]
fn an_update_is_atomic() {
    let a = AtomicU32::new(0);
    assert!(serializable(
        || atomic_block! { a.update(SeqCst, SeqCst, |v| v + 1); }
    ));
}

#[test]
fn initialising_once_is_atomic() {
    for _ in 0..50 {
        let (once, cell) = (Once::new(), OnceLock::new());
        let lazy = LazyLock::new(|| 1);
        // A block each: two strands that each initialise what the other one reads are no serial
        // order.
        assert!(serializable(|| {
            atomic_block! { once.call_once(|| ()); }
            let value = atomic_block! { *cell.get_or_init(|| 1) };
            assert_eq!(value, atomic_block! { *lazy });
        }));
    }
}

#[test]
fn waiting_in_a_block_is_no_violation() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let (sender, receiver) = mpsc::sync_channel(0);
    let outcome = check(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..50 {
                    atomic_block! {
                        let mut guard = condvar.wait_while(mutex.lock().unwrap(), |v| *v == 0).unwrap();
                        *guard -= 1;
                        drop(guard);
                        sender.send(n).unwrap();
                    }
                }
            });
            for n in 0..50 {
                atomic_block! {
                    *mutex.lock().unwrap() += 1;
                    condvar.notify_one();
                    assert_eq!(receiver.recv(), Ok(n));
                }
            }
        });
    });
    assert!(outcome.is_serializable());
}

/// An end is published, but draws no ticket: nothing that the thread does later may be counted to
/// the block it was spawned in.
#[test]
fn a_thread_that_outlives_the_block_it_was_spawned_in_is_on_its_own() {
    for _ in 0..300 {
        let (a, b) = (AtomicU32::new(0), AtomicU32::new(0));
        let [ended, changed] = [(); 2].map(|()| std::sync::Barrier::new(2));
        let outcome = check(|| {
            thread::scope(|scope| {
                let (a, b, ended, changed) = (&a, &b, &ended, &changed);
                scope.spawn(move || {
                    atomic_block! {
                        a.store(1, SeqCst);
                        scope.spawn(move || {
                            changed.wait();
                            a.store(3, SeqCst);
                        });
                    }
                    ended.wait();
                });
                ended.wait();
                atomic_block! {
                    a.store(2, SeqCst);
                    b.store(2, SeqCst);
                }
                changed.wait();
            });
        });
        assert!(outcome.is_serializable(), "{}", outcome.violations[0]);
    }
}

/// Who waits for a spin lock looks at it again and again, while its holder is at work.
#[test]
fn to_look_again_at_what_another_block_changes_is_no_violation_of_that_block() {
    let (held, a, step) = (
        AtomicU32::new(0),
        AtomicU32::new(0),
        std::sync::Barrier::new(2),
    );
    let bump = |at_work: &dyn Fn(), has_to_wait: &dyn Fn()| {
        atomic_block! {
            while held.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
                has_to_wait();
                hint::spin_loop();
            }
            at_work();
            a.store(a.load(SeqCst) + 1, SeqCst);
            held.store(0, SeqCst);
        }
    };
    let outcome = check(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                bump(
                    &|| {
                        step.wait();
                        step.wait();
                    },
                    &|| (),
                )
            });
            scope.spawn(|| {
                step.wait();
                let first = std::cell::Cell::new(true);
                bump(&|| (), &|| {
                    if first.replace(false) {
                        step.wait();
                    }
                });
            });
        });
    });
    assert!(outcome.is_serializable(), "{}", outcome.violations[0]);
}

#[test]
fn who_looks_at_a_once_lock_and_then_sets_it_is_told_of_get_or_init() {
    let (cell, step) = (OnceLock::new(), std::sync::Barrier::new(2));
    let outcome = check(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                atomic_block! {
                    if cell.get().is_none() {
                        step.wait();
                        step.wait();
                        let _ = cell.set(1);
                    }
                }
            });
            scope.spawn(|| {
                step.wait();
                cell.set(2).unwrap();
                step.wait();
            });
        });
    });
    let help = &outcome.violations[0].help;
    assert!(help[0].contains("`get_or_init`"), "{help:?}");
}
