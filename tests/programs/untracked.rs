//! `aerodrome::untracked`: an exempt part of a block, and what crosses its borders.

use aerodrome::sync::atomic::{AtomicU32, Ordering};
use aerodrome::sync::{Mutex, RwLock};
use aerodrome::untracked;

#[test]
fn it_gives_back_what_the_closure_does() {
    let count = Mutex::new(1);
    let before = untracked(|| std::mem::replace(&mut *count.lock().unwrap(), 2));
    assert_eq!((before, *count.lock().unwrap()), (1, 2));
    // A guard may leave it, and atomics have their values.
    let guard = untracked(|| count.lock().unwrap());
    assert_eq!(*guard, 2);
    drop(guard);
    let atomic = AtomicU32::new(1);
    assert_eq!(untracked(|| atomic.fetch_add(1, Ordering::SeqCst)), 1);
    assert_eq!(atomic.load(Ordering::SeqCst), 2);
    // What was taken outside may end inside.
    let lock = RwLock::new(1);
    let (read, lost) = (lock.read().unwrap(), AtomicU32::new(1));
    lost.store(2, Ordering::SeqCst);
    untracked(|| drop((read, lost)));
    *lock.write().unwrap() = 3;
    assert_eq!(*lock.read().unwrap(), 3);
}

#[cfg(feature = "check")]
mod checked {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use aerodrome::atomic_block;
    use aerodrome::sync::Mutex;
    use aerodrome::untracked;

    use crate::outcome::{accesses, between, only, silent};

    #[track_caller]
    fn look_at(count: &Mutex<u32>) -> u32 {
        *count.lock().unwrap()
    }

    /// Two looks at a counter inside of a block, the second by `look`, and an increment between.
    fn looks_twice<R>(look: impl Fn(&Mutex<u32>) -> R + Send + Sync) {
        let count = Mutex::new(0);
        between(
            |pause| {
                atomic_block! {
                    look_at(&count);
                    pause();
                    look(&count);
                }
            },
            || *count.lock().unwrap() += 1,
        );
    }

    #[test]
    fn the_exempt_part_of_a_block_is_not_judged() {
        let report = only(|| looks_twice(look_at));
        assert_eq!(report.accesses.len(), 3);
        silent(|| looks_twice(|count| untracked(|| look_at(count))));
    }

    #[test]
    fn the_rest_of_the_block_is() {
        let look = |count: &Mutex<u32>| {
            untracked(|| look_at(count));
            look_at(count);
        };
        let report = only(|| looks_twice(look));
        let lines: Vec<_> = accesses(&report).iter().map(|access| access.2).collect();
        assert_eq!(lines[2], line!() - 4);
    }

    #[test]
    fn a_panic_inside_ends_it() {
        let look = |count: &Mutex<u32>| {
            let panics = || untracked(|| std::panic::resume_unwind(Box::new(())));
            assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
            look_at(count);
        };
        only(|| looks_twice(look));
    }

    #[test]
    fn inside_of_another_it_changes_nothing() {
        let look = |count: &Mutex<u32>| {
            untracked(|| {
                untracked(|| ());
                look_at(count);
            });
        };
        silent(|| looks_twice(look));
    }

    /// Without the release, what others do with the lock would wait for ever, and the verdict
    /// would be incomplete.
    #[test]
    fn a_lock_that_is_released_inside_is_free_for_others() {
        let (first, second) = (Mutex::new(0), Mutex::new(0));
        let report = only(|| {
            between(
                |pause| {
                    atomic_block! {
                        let mut guard = first.lock().unwrap();
                        *guard += 1;
                        untracked(|| drop(guard));
                        pause();
                        look_at(&second);
                    }
                },
                || {
                    atomic_block! {
                        *second.lock().unwrap() += *first.lock().unwrap();
                    }
                    *first.lock().unwrap() += 1;
                },
            );
            let outcome = aerodrome::check(|| *first.lock().unwrap() += 1);
            assert!(outcome.is_complete());
        });
        assert_eq!(report.accesses.len(), 4);
    }
}
