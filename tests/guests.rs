//! Threads that the mirror did not spawn, as a library's: what goes wrong with them is told by the
//! test whose strands or objects they met, and never makes them panic. And violations are delivered
//! at safe points only.

#![cfg(feature = "check")]

mod process;

use std::process::Command;

use self::process::{Ended, run};

/// What is run by the others.
mod fixture {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Barrier, mpsc};
    use std::time::{Duration, Instant};

    use aerodrome::sync::Mutex;
    use aerodrome::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use aerodrome::{atomic, thread};

    #[atomic]
    fn twice(value: &Mutex<u32>, between: impl FnOnce()) {
        *value.lock().unwrap() += 1;
        between();
        *value.lock().unwrap() += 1;
    }

    /// Begins and ends, and touches nothing of the others'.
    #[atomic]
    fn unrelated() {
        drop(Mutex::new(0).lock());
    }

    #[atomic]
    fn bump(value: &AtomicUsize, between: impl FnOnce()) {
        let before = value.load(SeqCst);
        between();
        value.store(before + 1, SeqCst);
    }

    /// Begins blocks until one of them is a safe point at which something is delivered.
    fn begin_blocks() {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            unrelated();
            std::thread::sleep(Duration::from_millis(5));
        }
        unreachable!("the beginning of a block is a safe point");
    }

    /// The test's own thread touches nothing before it drops the counters.
    #[test]
    fn pipeline() {
        if !crate::process::is_child() {
            return;
        }
        const ROUNDS: usize = 2_000;
        let (value, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let both = std::sync::Barrier::new(2);
        // In the first round both have looked before either stores.
        let meet = |round| {
            if round == 0 {
                both.wait();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    bump(&value, || meet(round));
                    done.fetch_add(1, SeqCst);
                }
            });
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    bump(&value, || meet(round));
                }
                // For ever, if the other one panics.
                while done.load(SeqCst) < ROUNDS {
                    std::thread::yield_now();
                }
            });
        });
    }

    #[test]
    fn block_on_its_own_thread() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                first.wait();
                *value.lock().unwrap() += 10;
                second.wait();
            });
            twice(&value, || {
                first.wait();
                second.wait();
            });
        });
        assert_eq!(*value.lock().unwrap(), 12);
    }

    /// A guest's write falls into another guest's block. Their names could be those of tests.
    fn violate_among_guests(value: &Mutex<u32>) {
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        std::thread::scope(|scope| {
            let write = || {
                first.wait();
                *value.lock().unwrap() += 10;
                second.wait();
            };
            named("producer").spawn_scoped(scope, write).unwrap();
            let block = || {
                twice(value, || {
                    first.wait();
                    second.wait();
                });
                // A guest begins blocks, and hears of nothing.
                for _ in 0..100 {
                    unrelated();
                    std::thread::sleep(Duration::from_millis(5));
                }
            };
            named("consumer").spawn_scoped(scope, block).unwrap();
        });
    }

    #[test]
    fn both_are_guests() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        violate_among_guests(&value);
        assert_eq!(*value.lock().unwrap(), 12);
    }

    #[test]
    fn a_block_comes_later() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        violate_among_guests(&value);
        assert_eq!(*value.lock().unwrap(), 12);
        begin_blocks();
    }

    #[test]
    fn a_join_comes_later() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        violate_among_guests(&value);
        assert_eq!(*value.lock().unwrap(), 12);
        let _ = thread::spawn(|| ()).join();
        unreachable!("a join is a safe point");
    }

    #[aerodrome::test]
    fn judged_at_its_end() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        violate_among_guests(&value);
        assert_eq!(*value.lock().unwrap(), 12);
    }

    /// A pool that outlives the tests and survives the panics of its jobs.
    fn pool() -> mpsc::Sender<Box<dyn FnOnce() + Send>> {
        let (jobs, queue) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        thread::spawn(move || {
            for job in queue {
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        });
        jobs
    }

    /// The violation is closed on a thread of the pool.
    #[test]
    fn closed_in_a_pool() {
        if !crate::process::is_child() {
            return;
        }
        let value = Arc::new(Mutex::new(0));
        let (theirs, turn) = (value.clone(), Arc::new(Barrier::new(2)));
        let (their_turn, pool) = (turn.clone(), pool());
        pool.send(Box::new(move || {
            twice(&theirs, || {
                their_turn.wait();
                their_turn.wait();
            });
            their_turn.wait();
        }))
        .unwrap();
        turn.wait();
        *value.lock().unwrap() += 10;
        turn.wait();
        turn.wait();
        begin_blocks();
    }

    /// A guest that serves two tests, and has the same violation with both.
    fn serve_with_violation() {
        static GUEST: std::sync::OnceLock<std::sync::Mutex<mpsc::Sender<Job>>> =
            std::sync::OnceLock::new();
        type Job = (Arc<Mutex<u32>>, Arc<Barrier>);
        let guest = GUEST.get_or_init(|| {
            let (jobs, queue) = mpsc::channel::<Job>();
            std::thread::spawn(move || {
                for (value, turn) in queue {
                    twice(&value, || {
                        turn.wait();
                        turn.wait();
                    });
                    turn.wait();
                }
            });
            std::sync::Mutex::new(jobs)
        });
        let (value, turn) = (Arc::new(Mutex::new(0)), Arc::new(Barrier::new(2)));
        guest
            .lock()
            .unwrap()
            .send((value.clone(), turn.clone()))
            .unwrap();
        turn.wait();
        *value.lock().unwrap() += 10;
        turn.wait();
        turn.wait();
    }

    #[aerodrome::test]
    fn served_first() {
        if !crate::process::is_child() {
            return;
        }
        serve_with_violation();
    }

    #[aerodrome::test]
    fn served_second() {
        if !crate::process::is_child() {
            return;
        }
        serve_with_violation();
    }

    #[test]
    fn predicted() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        std::thread::scope(|scope| {
            twice(&value, || ());
            scope.spawn(|| *value.lock().unwrap() += 10);
        });
    }

    #[test]
    fn predicted_among_guests() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| twice(&value, || ()));
        });
        std::thread::scope(|scope| {
            scope.spawn(|| *value.lock().unwrap() += 10);
        });
    }

    struct LocksAtItsEnd<'a>(&'a Mutex<u32>);

    impl Drop for LocksAtItsEnd<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }

    extern "C" fn locks(value: &Mutex<u32>) {
        *value.lock().unwrap() += 1;
    }

    /// Operations of all sorts, while there is something to deliver.
    #[test]
    fn operations_are_no_safe_points() {
        if !crate::process::is_child() {
            return;
        }
        let value = Mutex::new(0);
        violate_among_guests(&value);
        assert_eq!(*value.lock().unwrap(), 12);
        let count = AtomicUsize::new(0);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            drop(LocksAtItsEnd(&value));
            locks(&value);
            count.fetch_add(1, SeqCst);
        }
        println!("went on");
        begin_blocks();
    }
}

/// What the reports say.
const REPORT: &str = "error: `twice` is not atomic";

/// Runs fixtures side by side, on threads that are named after them.
fn fixtures(names: &[&str], set: impl FnOnce(&mut Command)) -> Ended {
    let mut command = process::clean(std::env::current_exe().unwrap());
    command.args(["--exact", "--test-threads=4"]);
    command.args(names.iter().map(|name| format!("fixture::{name}")));
    set(&mut command);
    run(&mut command)
}

/// The fixture fails by itself, with one report.
#[track_caller]
fn fails(name: &str) -> Ended {
    let ended = fixtures(&[name], |_| ()).expect_code(101);
    let all = ended.output();
    let line = format!("test fixture::{name} ... FAILED");
    assert!(all.contains(&line), "{all}");
    assert_eq!(ended.count(REPORT), 1, "{all}");
    let test = format!("= note: in test `fixture::{name}`");
    assert_eq!(ended.count(&test), 1, "{all}");
    assert_eq!(ended.count("unreachable"), 0, "{all}");
    ended
}

/// The fixture has no safe point: the process fails, and says of which test before the summary.
#[track_caller]
fn fails_late(name: &str, report: &str) {
    let mut command = process::clean("sh");
    let binary = std::env::current_exe().unwrap();
    let script = "exec \"$0\" --exact --test-threads=4 \"$1\" 2>&1";
    command.args(["-c", script]);
    command.arg(binary).arg(format!("fixture::{name}"));
    let ended = run(&mut command).expect_code(101);
    let all = ended.output();
    assert_eq!(ended.count(report), 1, "{all}");
    for said in [report, "= note: in test `fixture::"] {
        let (at, summary) = (all.find(said), all.find("test result:"));
        assert!(
            at.is_some() && at < summary,
            "{said} before the summary:\n{all}"
        );
    }
    let line = format!("aerodrome: test `fixture::{name}` has ended");
    assert_eq!(ended.count(&line), 1, "{all}");
}

#[test]
fn guests_do_not_panic_and_what_they_do_fails_their_test() {
    fails("a_block_comes_later");
    fails("a_join_comes_later");
    fails("judged_at_its_end");
}

#[test]
fn a_test_without_a_safe_point_fails_the_process_when_its_thread_ends() {
    fails_late("block_on_its_own_thread", REPORT);
    fails_late("both_are_guests", REPORT);
    fails_late("pipeline", "error: `bump` is not atomic");
}

#[test]
fn a_violation_closed_in_a_pool_that_survives_panics_fails_the_test() {
    fails("closed_in_a_pool");
}

#[test]
fn a_guest_of_two_tests_fails_each_of_them() {
    let ended = fixtures(&["served_first", "served_second"], |_| ()).expect_code(101);
    let all = ended.output();
    assert_eq!(ended.count(REPORT), 2, "{all}");
    for name in ["served_first", "served_second"] {
        let line = format!("test fixture::{name} ... FAILED");
        assert!(all.contains(&line), "{all}");
        let test = format!("= note: in test `fixture::{name}`");
        assert_eq!(ended.count(&test), 1, "{all}");
    }
}

#[test]
fn nothing_unwinds_out_of_an_operation() {
    let ended = fails("operations_are_no_safe_points");
    assert_eq!(ended.count("went on"), 1, "{}", ended.output());
}

#[test]
fn prediction_sees_guests() {
    for name in ["predicted", "predicted_among_guests"] {
        let ended = fixtures(&[name], |command| {
            command.env("AERODROME_PREDICT", "warn");
        })
        .expect_code(0);
        let predicted = "warning: `twice` is not atomic under another schedule";
        assert!(ended.count(predicted) > 0, "{}", ended.output());
        let ended = fixtures(&[name], |command| {
            command.env("AERODROME_PREDICT", "deny");
        });
        ended.expect_code(101);
    }
}

/// A thread looks into the middle of a block and does nothing any more. What it saw counts as soon
/// as a verdict is asked for.
#[test]
fn a_thread_that_idles_after_a_look_holds_no_verdict_up() {
    use aerodrome::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, Barrier};

    for is_guest in [false, true] {
        let outcome = aerodrome::check(|| {
            let level = Arc::new(AtomicUsize::new(0));
            let (first, second) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
            let idle = {
                let (level, first, second) = (level.clone(), first.clone(), second.clone());
                move || {
                    first.wait();
                    assert_eq!(level.load(SeqCst), 1);
                    second.wait();
                    loop {
                        std::thread::park();
                    }
                }
            };
            if is_guest {
                std::thread::spawn(idle);
            } else {
                aerodrome::thread::spawn(idle);
            }
            aerodrome::atomic_block!(name = "fill", {
                level.store(1, SeqCst);
                first.wait();
                second.wait();
                level.store(2, SeqCst);
            });
        });
        assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
        assert_eq!(outcome.incomplete, None);
    }
}
