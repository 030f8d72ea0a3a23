//! What a scheduler gets wrong easily: programs that are right and look stuck, and such as are
//! stuck for another reason than it seems.

use std::time::Duration;

use aerodrome::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use aerodrome::sync::{Arc, Condvar, Mutex};
use aerodrome::{Explore, Problem, explore, thread};

use super::{assert_silent, find};

#[test]
fn a_long_loop_that_only_reads_is_no_livelock() {
    assert_silent(20, || {
        let limit = AtomicU32::new(1);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..1_000 {
                        assert_eq!(limit.load(SeqCst), 1);
                    }
                });
            }
        });
    });
}

#[test]
fn a_spin_that_a_stranger_ends_is_no_livelock() {
    assert_silent(2, || {
        let is_ready = Arc::new(AtomicBool::new(false));
        let sets = is_ready.clone();
        let stranger = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            sets.store(true, SeqCst);
        });
        thread::scope(|s| {
            s.spawn(|| while !is_ready.load(SeqCst) {});
        });
        stranger.join().unwrap();
    });
}

/// Once it is notified, its time cannot run out any more: it waits for the lock alone.
#[test]
fn a_short_wait_that_was_notified_takes_its_lock_in_turn() {
    let exploration = explore(Explore::new().schedules(300), || {
        let (lock, changed, other) = (Mutex::new(0), Condvar::new(), AtomicU32::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                let guard = lock.lock().unwrap();
                let (_guard, _) = changed
                    .wait_timeout(guard, Duration::from_millis(1))
                    .unwrap();
            });
            s.spawn(|| {
                let mut guard = lock.lock().unwrap();
                changed.notify_one();
                other.store(1, SeqCst);
                other.store(2, SeqCst);
                *guard += 1;
            });
        });
    });
    assert!(exploration.found.is_none());
    assert_eq!(exploration.outside, 0);
}

/// The consumers that are left wait for ever, because the producer is gone.
#[test]
fn a_deadlock_after_a_panic_tells_the_panic() {
    let found = find(100, 1, || {
        let (items, changed) = (Mutex::new(0), Condvar::new());
        let consume = || {
            let mut items = changed
                .wait_while(items.lock().unwrap(), |items| *items == 0)
                .unwrap();
            *items -= 1;
        };
        thread::scope(|s| {
            s.spawn(consume);
            s.spawn(|| panic!("the producer's own"));
        });
    });
    let (Problem::Panic(text) | Problem::Deadlock(text)) = &found.problem else {
        panic!("{:?}", found.problem);
    };
    assert!(text.contains("the producer's own"), "{text}");
}
