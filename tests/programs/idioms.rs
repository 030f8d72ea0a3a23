//! What counts as what, on programs: for each rule of the crate's page correct idioms, which are
//! silent, and the bugs beside them, which are reported. Schedules are arranged by std's own
//! primitives, which nobody records.

use std::sync::atomic::AtomicUsize as Untracked;
use std::time::Duration;

use aerodrome::hint::spin_loop;
use aerodrome::report::Report;
use aerodrome::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};
use aerodrome::sync::{Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, mpsc};
use aerodrome::watch::Watched;
use aerodrome::{atomic_block, thread};

use crate::outcome::{accesses, between, only, silent};

/// Arranges the steps of two strands.
#[derive(Default)]
struct Steps(Untracked);

impl Steps {
    /// Step `n` may be made.
    fn reach(&self, n: usize) {
        self.0.fetch_max(n, SeqCst);
    }

    /// Waits for that.
    fn wait(&self, n: usize) {
        while self.0.load(SeqCst) < n {
            std::thread::yield_now();
        }
    }

    /// The other strand comes in here.
    fn let_in(&self) {
        self.reach(1);
        self.wait(2);
    }

    /// What the other strand does when it is let in.
    #[cfg(feature = "crossbeam-channel")]
    fn when_let_in(&self, other: impl FnOnce()) {
        self.wait(1);
        other();
        self.reach(2);
    }
}

fn both(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    thread::scope(|s| {
        s.spawn(first);
        s.spawn(second);
    });
}

/// The other strand comes in between two steps of the first, and nothing is wrong.
#[track_caller]
fn silent_between(first: impl FnOnce(&dyn Fn()) + Send, second: impl FnOnce() + Send) {
    silent(|| between(first, second));
}

/// The same, and this block is to blame, by accesses that stand here.
#[track_caller]
fn reported_between(
    block: &str,
    first: impl FnOnce(&dyn Fn()) + Send,
    second: impl FnOnce() + Send,
) {
    let report = only(|| between(first, second));
    let name = format!("`{block}`");
    assert!(report.message.contains(&name), "{}", report.message);
    assert!(accesses(&report).len() >= 3, "{report:#?}");
}

// Updates that leave the value as it was.

#[test]
fn a_flag_that_is_set_already_is_only_read() {
    let (flag, data) = (AtomicBool::new(true), AtomicU64::new(0));
    silent_between(
        |pause| {
            atomic_block!(name = "mark", {
                flag.swap(true, SeqCst);
                pause();
                data.store(1, SeqCst);
                assert!(flag.load(SeqCst));
            });
        },
        || atomic_block!(name = "mark too", { assert!(flag.fetch_or(true, SeqCst)) }),
    );
}

#[test]
fn a_watermark_that_stays_is_only_read() {
    let high = AtomicU64::new(9);
    silent_between(
        |pause| {
            atomic_block!(name = "observe", {
                assert_eq!(high.load(SeqCst), 9);
                pause();
                assert_eq!(high.fetch_max(7, SeqCst), 9);
                assert_eq!(high.load(SeqCst), 9);
            });
        },
        || {
            high.fetch_max(8, SeqCst);
        },
    );
}

#[test]
fn a_watermark_that_rises_between_two_looks_is_reported() {
    let high = AtomicU64::new(0);
    reported_between(
        "observe",
        |pause| {
            atomic_block!(name = "observe", {
                let before = high.load(SeqCst);
                pause();
                assert!(high.load(SeqCst) > before);
            });
        },
        || {
            high.fetch_max(8, SeqCst);
        },
    );
}

#[test]
fn a_flag_that_another_sets_after_a_look_is_reported() {
    // The flag is set in any case, but both have found it clear.
    let (flags, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let first_wins = |pause: &dyn Fn()| {
        atomic_block!(name = "once", {
            if flags.load(SeqCst) & 4 == 0 {
                pause();
                flags.fetch_or(4, SeqCst);
                done.fetch_add(1, SeqCst);
            }
        });
    };
    reported_between("once", first_wins, || first_wins(&|| ()));
    // Another bit is another flag.
    let flags = AtomicU64::new(0);
    silent_between(
        |pause| {
            atomic_block!(name = "once", {
                if flags.load(SeqCst) & 4 == 0 {
                    pause();
                    flags.fetch_or(4, SeqCst);
                }
            });
        },
        || {
            flags.fetch_or(2, SeqCst);
        },
    );
}

#[test]
fn an_exchange_for_the_same_value_is_a_read() {
    // A watermark by hand.
    let high = AtomicU64::new(9);
    let observe = |value: u64| {
        let update = |high: u64| Some(high.max(value));
        high.fetch_update(SeqCst, SeqCst, update)
    };
    silent_between(
        |pause| {
            atomic_block!(name = "observe", {
                assert_eq!(observe(7), Ok(9));
                pause();
                assert_eq!(observe(8), Ok(9));
            });
        },
        || assert_eq!(observe(6), Ok(9)),
    );
    // It is one all the same.
    reported_between(
        "observe",
        |pause| {
            atomic_block!(name = "observe", {
                assert_eq!(observe(7), Ok(9));
                pause();
                assert_eq!(high.load(SeqCst), 11);
            });
        },
        || assert_eq!(observe(11), Ok(9)),
    );
    // And so it is outside of blocks.
    reported_between(
        "raise",
        |pause| {
            atomic_block!(name = "raise", {
                high.store(12, SeqCst);
                pause();
                high.store(13, SeqCst);
            });
        },
        || assert_eq!(observe(1), Ok(12)),
    );
}

#[test]
fn adding_and_subtracting_commute() {
    let count = AtomicU64::new(5);
    silent_between(
        |pause| {
            atomic_block!(name = "clone and drop", {
                count.fetch_add(1, SeqCst);
                pause();
                count.fetch_sub(1, SeqCst);
            });
        },
        || {
            count.fetch_sub(1, SeqCst);
        },
    );
}

// Exchanges.

#[test]
fn an_exchange_answers_for_the_read_before_it() {
    let (count, sum) = (AtomicU64::new(0), AtomicU64::new(0));
    silent_between(
        |pause| {
            atomic_block!(name = "record", {
                count.fetch_add(1, SeqCst);
                let mut now = sum.load(SeqCst);
                pause();
                while let Err(other) = sum.compare_exchange(now, now + 2, SeqCst, SeqCst) {
                    now = other;
                }
            });
        },
        || {
            sum.fetch_add(3, SeqCst);
        },
    );
}

#[test]
fn a_private_node_may_be_written_before_each_try() {
    struct Node(AtomicPtr<Node>);
    let head = AtomicPtr::<Node>::default();
    let node = Node(AtomicPtr::default());
    let other = Node(AtomicPtr::default());
    let push = |node: &Node, pause: Option<&dyn Fn()>| {
        atomic_block!(name = "push", {
            let mut now = head.load(SeqCst);
            let mut pause = pause;
            loop {
                node.0.store(now, SeqCst);
                if let Some(pause) = pause.take() {
                    pause();
                }
                let new = std::ptr::from_ref(node).cast_mut();
                match head.compare_exchange_weak(now, new, SeqCst, SeqCst) {
                    Ok(_) => break,
                    Err(then) => now = then,
                }
            }
        });
    };
    silent_between(|pause| push(&node, Some(pause)), || push(&other, None));
}

#[test]
fn a_popped_node_that_comes_back_is_reported() {
    // ABA: head is exchanged from 1 to what 1 pointed to when it was read, which it does not any
    // more.
    let (head, next_of_1) = (AtomicU64::new(1), AtomicU64::new(2));
    reported_between(
        "pop",
        |pause| {
            atomic_block!(name = "pop", {
                let top = head.load(SeqCst);
                let next = next_of_1.load(SeqCst);
                pause();
                assert!(head.compare_exchange(top, next, SeqCst, SeqCst).is_ok());
            });
        },
        || {
            atomic_block!(name = "pop and push", {
                head.store(3, SeqCst);
                next_of_1.store(3, SeqCst);
                head.store(1, SeqCst);
            });
        },
    );
}

#[test]
fn a_limit_that_is_read_before_the_loop_is_reported() {
    let (used, limit) = (AtomicU64::new(0), AtomicU64::new(10));
    reported_between(
        "reserve",
        |pause| {
            atomic_block!(name = "reserve", {
                let most = limit.load(SeqCst);
                let mut now = used.load(SeqCst);
                pause();
                while now < most {
                    match used.compare_exchange(now, now + 1, SeqCst, SeqCst) {
                        Ok(_) => break,
                        Err(other) => now = other,
                    }
                }
            });
        },
        || {
            atomic_block!(name = "shrink", {
                limit.store(1, SeqCst);
                used.fetch_add(1, SeqCst);
            });
        },
    );
}

/// A bounded queue's push, as Vyukov has it, into a queue with room for one: another comes first.
fn pushed(is_full: impl Fn(&[AtomicU64], u64) -> bool + Sync) -> Vec<Report> {
    let (tail, stamps) = (AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]);
    let push = |tried: &dyn Fn(), claimed: &dyn Fn()| {
        atomic_block!(name = "push", {
            let mut at = tail.load(SeqCst);
            while !is_full(&stamps, at) {
                tried();
                match tail.compare_exchange(at, at + 1, SeqCst, SeqCst) {
                    Ok(_) => {
                        claimed();
                        stamps[at as usize].store(9, SeqCst);
                        break;
                    }
                    Err(now) => at = now,
                }
            }
        });
    };
    let steps = Steps::default();
    let slow = || {
        let once = Untracked::new(0);
        push(
            &|| {
                if once.fetch_add(1, SeqCst) == 0 {
                    steps.let_in();
                }
            },
            &|| (),
        );
        steps.reach(3);
    };
    let fast = || {
        steps.wait(1);
        push(&|| (), &|| {
            steps.reach(2);
            steps.wait(3);
        });
    };
    aerodrome::check(|| both(slow, fast)).violations
}

#[test]
fn a_loop_that_comes_around_and_gives_up_is_silent() {
    let is_full = |stamps: &[AtomicU64], at: u64| {
        let stamp = stamps[at as usize].load(SeqCst);
        stamp != 0 || at == 1
    };
    let violations = pushed(is_full);
    assert!(violations.is_empty(), "{violations:#?}");
    // It looks at a slot before it gives up, and not again: that is stale.
    let is_full = |stamps: &[AtomicU64], at: u64| at == 1 || stamps[at as usize].load(SeqCst) != 0;
    assert_eq!(pushed(is_full).len(), 1);
}

#[test]
fn a_failed_exchange_of_something_else_hides_nothing() {
    let (balance, seen) = (AtomicU64::new(100), AtomicBool::new(true));
    reported_between(
        "withdraw",
        |pause| {
            atomic_block!(name = "withdraw", {
                let now = balance.load(SeqCst);
                assert!(seen.compare_exchange(false, true, SeqCst, SeqCst).is_err());
                pause();
                balance.store(now - 60, SeqCst);
            });
        },
        || {
            balance.fetch_sub(60, SeqCst);
        },
    );
}

#[test]
fn an_update_that_gives_up_has_read() {
    let (room, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    reported_between(
        "take",
        |pause| {
            atomic_block!(name = "take", {
                let give_up = room.fetch_update(SeqCst, SeqCst, |_| None);
                assert_eq!(give_up, Err(0));
                pause();
                assert_eq!(taken.load(SeqCst), 1);
            });
        },
        || {
            atomic_block!(name = "put", {
                room.store(1, SeqCst);
                taken.store(1, SeqCst);
            });
        },
    );
}

#[test]
fn watched_variables_follow_the_rules_of_atomics() {
    static SUM: Watched<i64> = Watched::<i64>::new("idioms_sum", 0);
    silent_between(
        |pause| {
            atomic_block!(name = "add", {
                let mut now = SUM.get();
                pause();
                while let Err(other) = SUM.compare_exchange(now, now + 1) {
                    now = other;
                }
            });
        },
        || {
            SUM.fetch_add(5);
        },
    );
    reported_between(
        "add",
        |pause| {
            atomic_block!(name = "add", {
                let now = SUM.get();
                pause();
                SUM.set(now + 1);
            });
        },
        || {
            SUM.fetch_add(5);
        },
    );
}

// Waiting.

/// A lock of the program's own that a strand wants while another has it in a block. Is the one that
/// waits in a block, too?
fn contended(is_marked: bool, lock: impl Fn(&AtomicBool, &dyn Fn()) + Sync) {
    let (word, data) = (AtomicBool::new(false), AtomicU64::new(0));
    let steps = Steps::default();
    let add = |held: &dyn Fn(), tried: &dyn Fn()| {
        lock(&word, tried);
        let now = data.load(SeqCst);
        held();
        data.store(now + 1, SeqCst);
        word.store(false, SeqCst);
    };
    let add_in_block =
        |held: &dyn Fn(), tried: &dyn Fn()| atomic_block!(name = "add", { add(held, tried) });
    silent(|| {
        both(
            || add_in_block(&|| steps.let_in(), &|| ()),
            || {
                steps.wait(1);
                if is_marked {
                    add_in_block(&|| (), &|| steps.reach(2));
                } else {
                    add(&|| (), &|| steps.reach(2));
                }
            },
        );
    });
    assert_eq!(data.into_inner(), 2);
}

#[test]
fn spinning_on_a_lock_of_the_programs_own_is_waiting() {
    contended(true, |word, tried| {
        while word.swap(true, SeqCst) {
            tried();
            spin_loop();
        }
    });
    contended(true, |word, tried| {
        while word.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
            tried();
            thread::yield_now();
        }
    });
    contended(true, |word, tried| {
        while word.load(SeqCst) || word.swap(true, SeqCst) {
            tried();
            thread::sleep(std::time::Duration::from_micros(1));
        }
    });
}

#[test]
fn a_lock_word_that_is_lost_after_a_look_is_looked_at_again() {
    let (word, steps) = (AtomicBool::new(false), Steps::default());
    silent(|| {
        both(
            || {
                let mut step = 1;
                atomic_block!(name = "lock", {
                    loop {
                        assert!(!word.load(SeqCst));
                        steps.reach(step);
                        steps.wait(step + 1);
                        if !word.swap(true, SeqCst) {
                            break;
                        }
                        step = 3;
                        steps.reach(3);
                        steps.wait(4);
                    }
                });
            },
            || {
                steps.wait(1);
                word.swap(true, SeqCst);
                steps.reach(2);
                steps.wait(3);
                word.store(false, SeqCst);
                steps.reach(4);
            },
        );
    });
}

#[test]
fn a_mark_that_is_set_after_a_look_is_reported() {
    // It is not tried again: the block goes on though another was faster.
    let (mark, done) = (AtomicBool::new(false), AtomicU64::new(0));
    reported_between(
        "once",
        |pause| {
            atomic_block!(name = "once", {
                assert!(!mark.load(SeqCst));
                pause();
                mark.swap(true, SeqCst);
                done.fetch_add(1, SeqCst);
            });
        },
        || {
            mark.swap(true, SeqCst);
        },
    );
}

#[test]
fn trying_in_vain_and_again_is_waiting() {
    let (mutex, sum) = (Mutex::new(0), AtomicU64::new(0));
    let steps = Steps::default();
    silent(|| {
        both(
            || {
                atomic_block!(name = "hold", {
                    let mut guard = mutex.lock().unwrap();
                    sum.store(1, SeqCst);
                    steps.let_in();
                    *guard = 1;
                    sum.store(2, SeqCst);
                });
            },
            || {
                steps.wait(1);
                atomic_block!(name = "try", {
                    // What it sees before it waits, and looks at again, leads only to waiting.
                    assert_eq!(sum.load(SeqCst), 1);
                    while mutex.try_lock().is_err() {
                        steps.reach(2);
                    }
                    assert_eq!(sum.load(SeqCst), 2);
                });
            },
        );
    });
}

#[test]
fn polling_a_channel_is_waiting() {
    let (jobs, work) = mpsc::channel::<u64>();
    let (answers, done) = mpsc::channel::<u64>();
    let steps = Steps::default();
    silent(|| {
        both(
            || {
                let (jobs, done) = (jobs, done);
                atomic_block!(name = "ask", {
                    jobs.send(3).unwrap();
                    let answer = loop {
                        match done.try_recv() {
                            Ok(answer) => break answer,
                            Err(_) => steps.reach(1),
                        }
                    };
                    assert_eq!(answer, 9);
                });
            },
            || {
                let (work, answers) = (work, answers);
                let job = work.recv().unwrap();
                steps.wait(1);
                answers.send(job * job).unwrap();
            },
        );
    });
}

#[test]
fn a_delay_in_the_middle_of_a_lost_update_is_no_wait() {
    let balance = AtomicU64::new(100);
    reported_between(
        "withdraw",
        |pause| {
            atomic_block!(name = "withdraw", {
                let now = balance.load(SeqCst);
                thread::yield_now();
                pause();
                thread::sleep(std::time::Duration::from_micros(1));
                balance.store(now - 60, SeqCst);
            });
        },
        || {
            balance.fetch_sub(60, SeqCst);
        },
    );
}

#[test]
fn a_barrier_that_pauses_before_its_first_look_is_waiting() {
    // The other arrives in between, so there is nothing to wait for any more.
    let (arrived, round) = (AtomicU64::new(0), AtomicU64::new(0));
    let wait = |pause: &dyn Fn()| {
        atomic_block!(name = "wait", {
            let now = round.load(SeqCst);
            if arrived.fetch_add(1, SeqCst) == 1 {
                arrived.store(0, SeqCst);
                round.fetch_add(1, SeqCst);
            } else {
                pause();
                spin_loop();
                while round.load(SeqCst) == now {
                    spin_loop();
                }
            }
        });
    };
    silent_between(wait, || wait(&|| ()));
}

#[test]
fn a_room_that_is_checked_and_locked_again_is_reported() {
    let room = Mutex::new(1);
    reported_between(
        "enter",
        |pause| {
            atomic_block!(name = "enter", {
                let is_free = *room.lock().unwrap() > 0;
                pause();
                if is_free {
                    let mut room = room.lock().unwrap();
                    *room -= 1;
                }
            });
        },
        || *room.lock().unwrap() -= 1,
    );
}

#[test]
fn a_condition_is_looked_at_until_it_holds() {
    let (slots, free, data) = (Mutex::new(1_u32), Condvar::new(), Mutex::new(0));
    let steps = Steps::default();
    let run = |inside: &dyn Fn(), waits: &dyn Fn()| {
        atomic_block!(name = "run", {
            let mut guard = slots.lock().unwrap();
            while *guard == 0 {
                waits();
                guard = free.wait(guard).unwrap();
            }
            *guard -= 1;
            drop(guard);
            let now = *data.lock().unwrap();
            inside();
            *data.lock().unwrap() = now + 1;
            *slots.lock().unwrap() += 1;
            free.notify_one();
        });
    };
    silent(|| {
        both(
            || run(&|| steps.let_in(), &|| ()),
            || {
                steps.wait(1);
                run(&|| (), &|| steps.reach(2));
            },
        );
    });
}

/// A block holds a flag while it changes something in two steps; another tries to take the flag in
/// the way `take`, and does `skip` where it does not get it.
fn taken(take: impl Fn(&AtomicU64) -> bool + Sync, skip: impl Fn() + Sync) -> Vec<Report> {
    let (flag, data) = (AtomicU64::new(0), Mutex::new(0));
    let refresh = |pause: &dyn Fn()| {
        atomic_block!(name = "refresh", {
            if take(&flag) {
                let now = *data.lock().unwrap();
                pause();
                *data.lock().unwrap() = now + 1;
                flag.store(0, SeqCst);
            } else {
                skip();
            }
        });
    };
    aerodrome::check(|| between(refresh, || refresh(&|| ()))).violations
}

#[test]
fn a_block_that_only_skips_what_another_is_at_is_silent() {
    let exchange = |flag: &AtomicU64| flag.compare_exchange(0, 1, SeqCst, SeqCst).is_ok();
    let takes: [fn(&AtomicU64) -> bool; 4] = [
        exchange,
        |flag| flag.swap(1, SeqCst) == 0,
        |flag| flag.fetch_or(1, SeqCst) == 0,
        // A few times.
        |flag| {
            (0..3).any(|_| {
                spin_loop();
                flag.compare_exchange(0, 1, SeqCst, SeqCst).is_ok()
            })
        },
    ];
    for take in takes {
        let violations = taken(take, || ());
        assert!(violations.is_empty(), "{violations:#?}");
    }
    // One that goes on from there has seen the middle of the other.
    let skipped = AtomicU64::new(0);
    let count = || {
        skipped.fetch_add(1, SeqCst);
    };
    assert_eq!(taken(exchange, count).len(), 1);
    let look = |flag: &AtomicU64| flag.load(SeqCst) == 0 && exchange(flag);
    assert_eq!(taken(look, || ()).len(), 1);
}

// Outside of blocks.

#[test]
fn a_try_in_vain_of_an_unmarked_strand_is_nothing() {
    contended(false, |word, tried| {
        while word.swap(true, SeqCst) {
            tried();
        }
    });
    contended(false, |word, tried| {
        while word.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
            tried();
            spin_loop();
        }
    });
}

/// A block changes a state under its lock, and once more; an unmarked strand comes in between, and
/// waits for the second change in the way `wait`.
fn awaited_outside<'a>(
    state: &'a Mutex<u32>,
    changed: &Condvar,
    wait: impl Fn(MutexGuard<'a, u32>, &dyn Fn()) -> MutexGuard<'a, u32> + Sync,
) {
    let steps = Steps::default();
    silent(|| {
        both(
            || {
                atomic_block!(name = "work", {
                    *state.lock().unwrap() = 1;
                    steps.let_in();
                    *state.lock().unwrap() = 2;
                    changed.notify_one();
                });
            },
            || {
                steps.wait(1);
                let seen = *wait(state.lock().unwrap(), &|| steps.reach(2));
                assert_eq!(seen, 2);
            },
        );
    });
}

#[test]
fn what_an_unmarked_strand_sees_before_it_waits_is_nothing() {
    let (state, changed) = (Mutex::new(0), Condvar::new());
    awaited_outside(&state, &changed, |mut guard, looked| {
        while *guard != 2 {
            looked();
            guard = changed.wait(guard).unwrap();
        }
        guard
    });
    awaited_outside(&state, &changed, |guard, looked| {
        let is_early = |state: &mut u32| {
            looked();
            *state != 2
        };
        changed.wait_while(guard, is_early).unwrap()
    });
    awaited_outside(&state, &changed, |mut guard, looked| {
        while *guard != 2 {
            looked();
            let moment = Duration::from_millis(1);
            guard = changed.wait_timeout(guard, moment).unwrap().0;
        }
        guard
    });
}

#[test]
fn what_an_unmarked_strand_changes_before_it_waits_is_reported() {
    let (state, changed) = (Mutex::new(0), Condvar::new());
    let twice = |pause: &dyn Fn()| {
        atomic_block!(name = "work", {
            *state.lock().unwrap() = 1;
            pause();
            *state.lock().unwrap() = 2;
        });
    };
    let wait = |guard| {
        drop(changed.wait_timeout(guard, Duration::from_millis(1)));
    };
    reported_between("work", twice, || {
        let mut guard = state.lock().unwrap();
        *guard += 10;
        wait(guard);
    });
    // It goes on from what it saw, and waits another time.
    reported_between("work", twice, || {
        let seen = *state.lock().unwrap();
        assert_eq!(seen, 1);
        wait(state.lock().unwrap());
    });
}

#[test]
fn what_an_unmarked_strand_sees_in_the_middle_of_a_block_is_reported() {
    let level = AtomicU64::new(0);
    let twice = |pause: &dyn Fn()| {
        atomic_block!(name = "fill", {
            level.store(1, SeqCst);
            pause();
            level.store(2, SeqCst);
        });
    };
    // However often it looks.
    reported_between("fill", twice, || {
        for _ in 0..3 {
            assert_eq!(level.load(SeqCst), 1);
            thread::yield_now();
        }
    });
    // Also before it tries to take it.
    let other = AtomicU64::new(0);
    reported_between("fill", twice, || {
        let now = level.load(SeqCst);
        other.store(now, SeqCst);
        let _ = level.compare_exchange(7, 8, SeqCst, SeqCst);
    });
}

// Initialisation.

#[test]
fn what_a_block_has_found_initialised_it_finds_again() {
    let (a, b) = (OnceLock::new(), OnceLock::new());
    let both = |first: &OnceLock<u64>, second: &OnceLock<u64>, pause: &dyn Fn()| {
        atomic_block!(name = "both", {
            first.get_or_init(|| 1);
            pause();
            second.get_or_init(|| 1);
            assert_eq!((a.get(), b.get()), (Some(&1), Some(&1)));
        });
    };
    silent_between(|pause| both(&a, &b, pause), || both(&b, &a, &|| ()));
    // Without initialising, the looks say who came first.
    let (a, b) = (OnceLock::new(), OnceLock::new());
    let one = |own: &OnceLock<u64>, other: &OnceLock<u64>, pause: &dyn Fn()| {
        atomic_block!(name = "one", {
            own.get_or_init(|| 1);
            pause();
            other.get().copied()
        })
    };
    reported_between(
        "one",
        |pause| assert!(one(&a, &b, pause).is_some()),
        || assert!(one(&b, &a, &|| ()).is_some()),
    );
}

#[test]
fn initialising_commutes_with_initialising() {
    static A: LazyLock<u64> = LazyLock::new(|| 1);
    static B: OnceLock<u64> = OnceLock::new();
    static C: Once = Once::new();
    silent_between(
        |pause| {
            atomic_block!(name = "a first", {
                assert_eq!(*A, 1);
                pause();
                assert_eq!(*B.get_or_init(|| 2), 2);
                C.call_once(|| ());
            });
        },
        || {
            atomic_block!(name = "b first", {
                C.call_once(|| ());
                assert_eq!(*B.get_or_init(|| 2), 2);
                assert_eq!(*A, 1);
            });
        },
    );
}

#[test]
fn what_is_found_initialised_commutes_with_looks() {
    let cell = OnceLock::new();
    cell.get_or_init(|| 7);
    silent_between(
        |pause| {
            atomic_block!(name = "look", {
                assert_eq!(cell.get(), Some(&7));
                pause();
                assert_eq!(cell.get(), Some(&7));
            });
        },
        || {
            cell.get_or_init(|| 8);
        },
    );
}

#[test]
fn a_cell_that_is_looked_at_and_then_set_is_reported() {
    let cell = OnceLock::new();
    reported_between(
        "set",
        |pause| {
            atomic_block!(name = "set", {
                assert!(cell.get().is_none());
                pause();
                assert_eq!(cell.set(1), Err(1));
            });
        },
        || cell.set(2).unwrap(),
    );
}

// Channels.

#[cfg(feature = "crossbeam-channel")]
mod channels {
    use aerodrome::crossbeam_channel::{bounded, select, unbounded};

    use super::*;

    #[test]
    fn sends_and_receives_commute() {
        let (sender, receiver) = unbounded();
        sender.send(0).unwrap();
        silent_between(
            |pause| {
                atomic_block!(name = "two", {
                    sender.send(1).unwrap();
                    pause();
                    sender.send(2).unwrap();
                });
            },
            || assert_eq!(receiver.try_recv(), Ok(0)),
        );
    }

    #[test]
    fn a_vain_receive_outside_of_blocks_is_nothing() {
        let (sender, receiver) = unbounded();
        silent_between(
            |pause| {
                atomic_block!(name = "two", {
                    sender.send(1).unwrap();
                    pause();
                    sender.send(2).unwrap();
                });
            },
            || {
                assert_eq!(receiver.try_recv(), Ok(1));
                assert!(receiver.try_recv().is_err());
            },
        );
    }

    #[test]
    fn half_a_batch_that_is_drained_is_reported() {
        let (sender, receiver) = unbounded();
        let steps = Steps::default();
        let report = only(|| {
            both(
                || {
                    atomic_block!(name = "batch", {
                        sender.send(1).unwrap();
                        steps.let_in();
                        sender.send(2).unwrap();
                    });
                },
                || {
                    steps.when_let_in(|| {
                        atomic_block!(name = "drain", { while receiver.try_recv().is_ok() {} });
                    });
                },
            );
        });
        assert!(report.message.contains("`batch`"), "{}", report.message);
    }

    #[test]
    fn an_answer_that_is_there_at_the_first_try_was_waited_for() {
        let (jobs, work) = unbounded();
        let (answers, done) = unbounded();
        let sum = AtomicU64::new(0);
        silent_between(
            |pause| {
                atomic_block!(name = "ask", {
                    sum.store(1, SeqCst);
                    jobs.send(1).unwrap();
                    pause();
                    assert_eq!(done.try_recv(), Ok(2));
                    assert_eq!(sum.load(SeqCst), 2);
                });
            },
            || {
                let job = work.recv().unwrap();
                answers.send(1 + sum.fetch_add(job, SeqCst)).unwrap();
            },
        );
    }

    #[test]
    fn a_message_that_answers_nothing_was_not_waited_for() {
        let (messages, inbox) = unbounded();
        let sum = AtomicU64::new(0);
        reported_between(
            "take",
            |pause| {
                atomic_block!(name = "take", {
                    let before = sum.load(SeqCst);
                    pause();
                    assert_eq!(inbox.try_recv(), Ok(before + 1));
                });
            },
            || {
                sum.fetch_add(1, SeqCst);
                messages.send(1).unwrap();
            },
        );
    }

    #[test]
    fn to_ask_a_channel_and_then_to_receive_is_reported() {
        let (sender, receiver) = unbounded();
        sender.send(1).unwrap();
        reported_between(
            "take",
            |pause| {
                atomic_block!(name = "take", {
                    assert!(!receiver.is_empty());
                    pause();
                    assert!(receiver.try_recv().is_err());
                });
            },
            || assert_eq!(receiver.try_recv(), Ok(1)),
        );
    }

    #[test]
    fn a_wait_for_a_meeting_is_over_when_both_have_met() {
        let (sender, receiver) = bounded(0);
        let receives: [&(dyn Fn() + Sync); 3] = [
            &|| receiver.recv().unwrap(),
            &|| receiver.recv_timeout(Duration::from_secs(60)).unwrap(),
            &|| select! { recv(receiver) -> message => message.unwrap() },
        ];
        for receive in receives {
            let (sum, steps) = (Mutex::new(0), Steps::default());
            silent(|| {
                both(
                    || {
                        atomic_block!(name = "give", {
                            sender.send(()).unwrap();
                            *sum.lock().unwrap() += 1;
                        });
                        steps.reach(1);
                    },
                    || {
                        atomic_block!(name = "take", {
                            receive();
                            steps.wait(1);
                            *sum.lock().unwrap() += 1;
                        });
                    },
                );
            });
        }
    }

    #[test]
    fn what_follows_a_meeting_is_one_piece() {
        let (sender, receiver) = bounded(0);
        let (sum, steps) = (Mutex::new(0), Steps::default());
        let report = only(|| {
            both(
                || {
                    atomic_block!(name = "give", {
                        sender.send(()).unwrap();
                        steps.when_let_in(|| *sum.lock().unwrap() += 1);
                    });
                },
                || {
                    atomic_block!(name = "take", {
                        receiver.recv().unwrap();
                        let now = *sum.lock().unwrap();
                        steps.let_in();
                        *sum.lock().unwrap() = now + 1;
                    });
                },
            );
        });
        assert!(report.message.contains("`take`"), "{}", report.message);
    }

    #[test]
    fn trying_to_send_until_there_is_room_is_waiting() {
        let (sender, receiver) = bounded(1);
        let data = AtomicU64::new(0);
        sender.send(0).unwrap();
        let steps = Steps::default();
        silent(|| {
            both(
                || {
                    atomic_block!(name = "send", {
                        let mut message = 1;
                        while let Err(refused) = sender.try_send(message) {
                            message = refused.into_inner();
                            steps.reach(1);
                        }
                        assert_eq!(data.load(SeqCst), 1);
                    });
                },
                || {
                    steps.wait(1);
                    atomic_block!(name = "make room", {
                        data.store(1, SeqCst);
                        receiver.try_recv().unwrap();
                    });
                },
            );
        });
    }
}
