//! What the mirrors record is enough to tell an atomicity bug from what a Rust programmer calls correct.

#![cfg(feature = "check")]

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
        // A block each: two strands that each initialise what the other one reads are no serial order.
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
