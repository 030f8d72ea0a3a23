#![cfg(feature = "check")]
//! Exploring: what plain tests show when their schedule is chosen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aerodrome::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use aerodrome::sync::{Condvar, Mutex};
use aerodrome::{Exploration, Explore, Problem, atomic_block, explore, thread};

fn pos(schedules: u64) -> Explore {
    Explore::new()
        .schedules(schedules)
        .plan("pos".parse().unwrap())
}

/// Two threads run `f`.
fn twice(f: impl Fn() + Sync) {
    thread::scope(|s| {
        s.spawn(&f);
        s.spawn(&f);
    });
}

fn problem(exploration: &Exploration) -> Option<&Problem> {
    exploration.found.as_ref().map(|found| &found.problem)
}

#[test]
fn a_lost_update_is_found_as_a_violation() {
    let exploration = explore(pos(100), || {
        let count = AtomicU32::new(0);
        twice(|| {
            atomic_block! {
                let seen = count.load(Ordering::Relaxed);
                count.store(seen + 1, Ordering::Relaxed);
            }
        });
    });
    let found = exploration.found.expect("found");
    assert_eq!(found.problem, Problem::Violation);
    assert_eq!(found.reports.len(), 1, "{found:?}");
    assert_eq!(found.replays, (2, 2));
}

#[test]
fn a_lost_update_is_found_by_an_assertion() {
    let exploration = explore(pos(100), || {
        let count = AtomicU32::new(0);
        twice(|| {
            let seen = count.load(Ordering::Relaxed);
            count.store(seen + 1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 2);
    });
    let found = exploration.found.expect("found");
    let Problem::Panic(message) = &found.problem else {
        panic!("{:?}", found.problem);
    };
    assert!(message.contains("left: 1"), "{message}");
    assert_eq!(found.replays, (2, 2));
}

#[test]
fn what_is_right_is_silent() {
    let exploration = explore(pos(200), || {
        let count = Mutex::new(0);
        twice(|| {
            atomic_block! {
                *count.lock().unwrap() += 1;
            }
        });
        assert_eq!(count.into_inner().unwrap(), 2);
    });
    assert_eq!(problem(&exploration), None);
    assert_eq!(exploration.schedules, 200);
    assert_eq!(exploration.outside, 0);
    assert_eq!(exploration.incomplete, None);
}

#[test]
fn a_deadlock_is_told_with_who_waits_for_what() {
    let exploration = explore(pos(100), || {
        let (a, b) = (Mutex::new(0), Mutex::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                let _a = a.lock().unwrap();
                let _b = b.lock().unwrap();
            });
            s.spawn(|| {
                let _b = b.lock().unwrap();
                let _a = a.lock().unwrap();
            });
        });
    });
    let found = exploration.found.expect("found");
    let Problem::Deadlock(waits) = &found.problem else {
        panic!("{:?}", found.problem);
    };
    assert!(
        waits.contains("waits for a lock at tests/explore.rs"),
        "{waits}"
    );
    assert!(waits.contains("has since"), "{waits}");
    assert_eq!(found.replays, (2, 2));
}

#[test]
fn a_notification_before_the_wait_is_a_deadlock() {
    let exploration = explore(pos(200), || {
        let ready = AtomicBool::new(false);
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| {
                // The flag is not changed under the lock.
                ready.store(true, Ordering::Relaxed);
                changed.notify_one();
            });
            let mut guard = lock.lock().unwrap();
            while !ready.load(Ordering::Relaxed) {
                guard = changed.wait(guard).unwrap();
            }
        });
    });
    let found = exploration.found.expect("found");
    assert!(matches!(found.problem, Problem::Deadlock(_)), "{found:?}");
}

#[test]
fn a_wait_in_a_loop_is_silent() {
    let exploration = explore(pos(200), || {
        let (lock, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| {
                *lock.lock().unwrap() = true;
                changed.notify_one();
            });
            let mut guard = lock.lock().unwrap();
            while !*guard {
                guard = changed.wait(guard).unwrap();
            }
        });
    });
    assert_eq!(problem(&exploration), None);
}

#[test]
fn a_spin_on_a_flag_comes_to_its_end() {
    let exploration = explore(pos(100), || {
        let ready = Arc::new(AtomicBool::new(false));
        let flag = ready.clone();
        let setter = thread::spawn(move || flag.store(true, Ordering::Release));
        while !ready.load(Ordering::Acquire) {}
        setter.join().unwrap();
    });
    assert_eq!(problem(&exploration), None);
    assert_eq!(exploration.abandoned, 0);
}

#[test]
fn a_spin_that_nobody_ends_is_a_livelock() {
    let exploration = explore(pos(5), || {
        let flag = AtomicBool::new(false);
        while !flag.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    });
    let found = exploration.found.expect("found");
    assert!(matches!(found.problem, Problem::Livelock(_)), "{found:?}");
}

#[test]
fn a_lock_that_is_not_mirrored_does_not_stop_a_run() {
    let start = Instant::now();
    let exploration = explore(pos(20), || {
        let real = std::sync::Mutex::new(0);
        let count = AtomicU32::new(0);
        twice(|| {
            let mut guard = real.lock().unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            *guard += 1;
        });
        assert_eq!(*real.lock().unwrap(), 2);
    });
    assert_eq!(problem(&exploration), None);
    assert!(exploration.outside > 0);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn sleeps_take_no_time() {
    let start = Instant::now();
    let exploration = explore(pos(20), || {
        thread::scope(|s| {
            s.spawn(|| thread::sleep(Duration::from_secs(100)));
            thread::sleep(Duration::from_secs(200));
        });
    });
    assert_eq!(problem(&exploration), None);
    assert!(start.elapsed() < Duration::from_secs(100));
}

#[test]
fn the_same_seed_gives_the_same_schedules() {
    let run = || {
        explore(pos(200).seed(3), || {
            let count = AtomicU32::new(0);
            thread::scope(|s| {
                for _ in 0..3 {
                    s.spawn(|| {
                        let seen = count.load(Ordering::Relaxed);
                        count.store(seen + 1, Ordering::Relaxed);
                    });
                }
            });
            assert_ne!(count.into_inner(), 1);
        })
    };
    let (one, other) = (run().found.unwrap(), run().found.unwrap());
    assert_eq!((one.run, one.schedule), (other.run, other.schedule));
}

/// What is not mirrored, and must neither stop a run nor be taken for a deadlock.
mod outside {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::AtomicBool as RealBool;
    use std::sync::mpsc;

    use super::*;

    /// Explores `f`, which is right, and says how often its runs were outside.
    fn explored(schedules: u64, f: impl Fn() + Sync) -> u64 {
        let start = Instant::now();
        let exploration = explore(pos(schedules), f);
        assert_eq!(problem(&exploration), None);
        assert_eq!(exploration.schedules, schedules);
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{:?}",
            start.elapsed()
        );
        exploration.outside
    }

    #[test]
    fn a_channel_of_std() {
        explored(20, || {
            let (sender, receiver) = mpsc::channel();
            let count = &Mutex::new(0);
            thread::scope(|s| {
                s.spawn(move || {
                    *count.lock().unwrap() += receiver.recv().unwrap();
                });
                *count.lock().unwrap() += 1;
                sender.send(1).unwrap();
            });
            assert_eq!(*count.lock().unwrap(), 2);
        });
    }

    #[test]
    fn sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        explored(20, || {
            let count = Mutex::new(0);
            thread::scope(|s| {
                s.spawn(|| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    *count.lock().unwrap() += byte[0];
                });
                let mut stream = TcpStream::connect(address).unwrap();
                *count.lock().unwrap() += 1;
                stream.write_all(&[7]).unwrap();
            });
            assert_eq!(count.into_inner().unwrap(), 8);
        });
    }

    #[test]
    fn real_sleeps() {
        explored(10, || {
            let count = AtomicU32::new(0);
            twice(|| {
                std::thread::sleep(Duration::from_millis(5));
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), 2);
        });
    }

    #[test]
    fn a_spin_on_a_flag_that_is_not_mirrored() {
        explored(5, || {
            let (flag, count) = (RealBool::new(false), Mutex::new(0));
            thread::scope(|s| {
                s.spawn(|| {
                    while !flag.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    *count.lock().unwrap() += 1;
                });
                *count.lock().unwrap() += 1;
                flag.store(true, Ordering::Release);
            });
        });
    }

    #[test]
    fn a_pool_that_nobody_forked() {
        type Job = Box<dyn FnOnce() + Send>;
        // A real thread, as those of a library that is not tracked.
        let (jobs, queue) = mpsc::channel::<Job>();
        let pool = std::thread::spawn(move || queue.iter().for_each(|job| job()));
        explored(20, || {
            let done = Arc::new((Mutex::new(0), Condvar::new()));
            let job = || {
                let done = done.clone();
                move || {
                    *done.0.lock().unwrap() += 1;
                    done.1.notify_all();
                }
            };
            jobs.send(Box::new(job())).unwrap();
            let other = thread::spawn(job());
            let mut count = done.0.lock().unwrap();
            while *count < 2 {
                count = done.1.wait(count).unwrap();
            }
            drop(count);
            other.join().unwrap();
        });
        drop(jobs);
        pool.join().unwrap();
    }

    static SHARED: Mutex<u32> = Mutex::new(0);

    fn use_shared() {
        twice(|| {
            let mut shared = SHARED.lock().unwrap();
            *shared += 1;
            thread::yield_now();
        });
    }

    #[test]
    fn a_static_lock_of_two_tests_one() {
        explored(50, use_shared);
    }

    #[test]
    fn a_static_lock_of_two_tests_other() {
        explored(50, use_shared);
    }

    #[test]
    fn a_thread_that_is_left_running() {
        explored(20, || {
            let (lock, left) = (Arc::new(Mutex::new(0)), Arc::new(AtomicBool::new(false)));
            let (also, is_left) = (lock.clone(), left.clone());
            thread::spawn(move || {
                while !is_left.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                *also.lock().unwrap() += 1;
            });
            *lock.lock().unwrap() += 1;
            left.store(true, Ordering::Relaxed);
        });
    }
}

/// Where all schedules fit into the budget, they are all explored.
#[test]
fn a_small_test_is_proved() {
    for plan in ["all", "mix"] {
        let settings = Explore::new().plan(plan.parse().unwrap());
        let exploration = explore(settings, || {
            let count = Mutex::new(0);
            twice(|| {
                atomic_block! {
                    *count.lock().unwrap() += 1;
                }
            });
            assert_eq!(count.into_inner().unwrap(), 2);
        });
        assert_eq!(problem(&exploration), None);
        assert!(exploration.is_exhaustive, "{plan}: {exploration:?}");
        assert_eq!(exploration.different, 2);
    }
}

/// What is told is the simplest schedule: one switch into the middle of the update.
#[test]
fn a_schedule_is_shrunk() {
    let exploration = explore(Explore::new(), || {
        let (count, noise) = (AtomicU32::new(0), AtomicU32::new(0));
        twice(|| {
            for _ in 0..3 {
                noise.fetch_add(1, Ordering::Relaxed);
                let seen = count.load(Ordering::Relaxed);
                noise.fetch_add(1, Ordering::Relaxed);
                count.store(seen + 1, Ordering::Relaxed);
            }
        });
        assert_eq!(count.into_inner(), 6);
    });
    let found = exploration.found.expect("found");
    // To the one thread, to the other, back, and to the test's own.
    assert!(found.switches <= 5, "{found:?}");
    assert_eq!(found.replays, (2, 2));
}

/// Hash tables have the same order in each run, so what depends on it can be replayed.
#[test]
fn what_depends_on_the_order_of_a_hash_table_comes_back() {
    let exploration = explore(pos(50), || {
        let count = AtomicU32::new(0);
        let numbers: std::collections::HashSet<u32> = (0..20).collect();
        twice(|| {
            for number in &numbers {
                let seen = count.load(Ordering::Relaxed);
                if seen == *number {
                    count.store(seen + 1, Ordering::Relaxed);
                }
            }
        });
        let thread = thread::spawn(|| {
            let numbers: std::collections::HashSet<u32> = (0..20).collect();
            numbers.into_iter().next()
        });
        assert_ne!(thread.join().unwrap(), numbers.into_iter().next());
        assert_eq!(count.into_inner(), 0);
    });
    let found = exploration.found.expect("found");
    assert_eq!(found.replays, (2, 2), "{found:?}");
}

/// Channels and the mirrors of other crates, under control.
mod mirrors {
    use aerodrome::sync::{Barrier, Once, OnceLock, RwLock, mpsc};

    use super::*;

    /// No schedule of it goes wrong, and nobody is outside.
    fn is_right(f: impl Fn() + Sync) {
        let exploration = explore(pos(100), f);
        assert_eq!(problem(&exploration), None);
        assert_eq!((exploration.schedules, exploration.outside), (100, 0));
        assert_eq!(exploration.abandoned, 0);
    }

    /// Some schedule of it panics with `words`.
    fn panics_with(words: &str, f: impl Fn() + Sync) {
        let exploration = explore(pos(300), f);
        let found = exploration.found.expect("found");
        let Problem::Panic(message) = &found.problem else {
            panic!("{:?}", found.problem);
        };
        assert!(message.contains(words), "{message}");
        assert_eq!(found.replays, (2, 2));
    }

    #[test]
    fn a_channel_of_one_place() {
        is_right(|| {
            let (sender, receiver) = mpsc::sync_channel(1);
            thread::scope(|s| {
                s.spawn(move || (0..3).for_each(|n| sender.send(n).unwrap()));
                assert_eq!(receiver.iter().collect::<Vec<u32>>(), [0, 1, 2]);
            });
        });
    }

    #[test]
    fn a_try_that_comes_too_early() {
        panics_with("Empty", || {
            let (sender, receiver) = mpsc::channel();
            thread::scope(|s| {
                s.spawn(move || sender.send(1).unwrap());
                receiver.try_recv().unwrap();
            });
        });
    }

    #[test]
    fn whoever_comes_first_initialises() {
        panics_with("left: 2", || {
            let cell = OnceLock::new();
            thread::scope(|s| {
                s.spawn(|| *cell.get_or_init(|| 1));
                s.spawn(|| *cell.get_or_init(|| 2));
            });
            assert_eq!(*cell.get().unwrap(), 1);
        });
    }

    #[test]
    fn an_initialisation_is_waited_for() {
        is_right(|| {
            let (once, value) = (Once::new(), AtomicU32::new(0));
            twice(|| {
                once.call_once(|| {
                    value.fetch_add(1, Ordering::Relaxed);
                    value.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(value.load(Ordering::Relaxed), 2);
            });
        });
    }

    #[test]
    fn rounds_of_a_barrier() {
        is_right(|| {
            let (barrier, count) = (Barrier::new(2), AtomicU32::new(0));
            twice(|| {
                count.fetch_add(1, Ordering::Relaxed);
                barrier.wait();
                assert_eq!(count.load(Ordering::Relaxed), 2);
                barrier.wait();
            });
        });
    }

    #[test]
    fn readers_and_a_writer() {
        is_right(|| {
            let pair = RwLock::new((0, 0));
            thread::scope(|s| {
                s.spawn(|| {
                    let mut pair = pair.write().unwrap();
                    pair.0 += 1;
                    pair.1 += 1;
                });
                for _ in 0..2 {
                    s.spawn(|| {
                        let pair = pair.read().unwrap();
                        assert_eq!(pair.0, pair.1);
                    });
                }
            });
        });
    }

    #[test]
    fn a_park_without_a_loop() {
        panics_with("woken", || {
            let ready = Arc::new(AtomicBool::new(false));
            let (parked, flag) = (thread::current(), ready.clone());
            let other = thread::spawn(move || {
                flag.store(true, Ordering::Release);
                parked.unpark();
            });
            thread::park();
            assert!(ready.load(Ordering::Acquire), "woken without a reason");
            other.join().unwrap();
        });
    }

    #[test]
    fn a_wait_that_expires() {
        panics_with("too late", || {
            let (lock, changed) = (Mutex::new(false), Condvar::new());
            thread::scope(|s| {
                s.spawn(|| {
                    *lock.lock().unwrap() = true;
                    changed.notify_one();
                });
                let guard = lock.lock().unwrap();
                let limit = Duration::from_millis(10);
                let wait = changed.wait_timeout_while(guard, limit, |done| !*done);
                assert!(!wait.unwrap().1.timed_out(), "too late");
            });
        });
    }

    #[cfg(feature = "crossbeam-channel")]
    mod crossbeam {
        use aerodrome::crossbeam_channel::{bounded, select, unbounded};

        use super::*;

        #[test]
        fn either_arm_of_a_select() {
            panics_with("the other", || {
                let ((one, ones), (other, others)) = (unbounded(), unbounded());
                thread::scope(|s| {
                    s.spawn(move || one.send(1).unwrap());
                    s.spawn(move || other.send(2).unwrap());
                    select! {
                        recv(ones) -> n => assert_eq!(n, Ok(1)),
                        recv(others) -> _ => panic!("the other"),
                    }
                });
            });
        }

        #[test]
        fn a_rendezvous() {
            let exploration = explore(pos(50), || {
                let (sender, receiver) = bounded(0);
                thread::scope(|s| {
                    s.spawn(move || (0..3).for_each(|n| sender.send(n).unwrap()));
                    assert_eq!(receiver.iter().collect::<Vec<u32>>(), [0, 1, 2]);
                });
            });
            assert_eq!(problem(&exploration), None);
        }
    }

    #[cfg(feature = "parking_lot")]
    mod parking_lot {
        use aerodrome::parking_lot::{Condvar, Mutex, RwLock, RwLockUpgradableReadGuard};

        use super::*;

        #[test]
        fn a_wait_in_a_loop() {
            is_right(|| {
                let (lock, changed) = (Mutex::new(0), Condvar::new());
                thread::scope(|s| {
                    for _ in 0..2 {
                        s.spawn(|| {
                            *lock.lock() += 1;
                            changed.notify_all();
                        });
                    }
                    let mut guard = lock.lock();
                    changed.wait_while(&mut guard, |count| *count < 2);
                });
            });
        }

        #[test]
        fn upgrades_take_turns() {
            is_right(|| {
                let count = RwLock::new(0);
                twice(|| {
                    let seen = count.upgradable_read();
                    *RwLockUpgradableReadGuard::upgrade(seen) += 1;
                });
                assert_eq!(count.into_inner(), 2);
            });
        }

        #[test]
        fn a_time_out() {
            panics_with("busy", || {
                let lock = Mutex::new(0);
                twice(|| {
                    let guard = lock.try_lock_for(Duration::from_millis(5));
                    *guard.expect("busy") += 1;
                });
            });
        }
    }
}

/// A test that reads the clock finds that waits take the time that they say.
#[test]
fn waits_take_their_time_where_the_clock_is_read() {
    let exploration = explore(pos(3), || {
        let start = Instant::now();
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| thread::sleep(Duration::from_millis(30)));
            let limit = Duration::from_millis(50);
            let guard = lock.lock().unwrap();
            drop(changed.wait_timeout_while(guard, limit, |()| true).unwrap());
        });
        assert!(start.elapsed() >= Duration::from_millis(50));
    });
    assert_eq!(problem(&exploration), None);
}
