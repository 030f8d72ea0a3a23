//! What is decided on a count that reaches zero: correct programs, each run freely and in the worst
//! order, and bugs beside them.

use std::collections::HashMap;
use std::sync::Barrier;

use aerodrome::report::Report;
use aerodrome::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, AtomicUsize, Ordering::SeqCst};
use aerodrome::sync::{Arc, Mutex, mpsc};
use aerodrome::trace::Op;
use aerodrome::{atomic, atomic_block, thread};

use crate::outcome::{accesses, between, only, silent};

/// Four strands do this many times at once, and nothing is wrong.
#[track_caller]
fn freely(each: impl Fn(usize) + Sync) {
    silent(|| {
        thread::scope(|s| {
            for number in 0..4 {
                let each = &each;
                s.spawn(move || {
                    for round in 0..50 {
                        each(4 * round + number);
                        std::thread::yield_now();
                    }
                });
            }
        });
    });
}

/// What a strand does; it calls what it is given where the other may come in.
type Strand<'a> = &'a (dyn Fn(&dyn Fn()) + Sync);

/// Runs two strands, of which each step waits for its turn: `order` says whose.
#[track_caller]
fn in_order(order: &[usize], strands: [Strand<'_>; 2]) {
    let turns = Turns::new(order);
    thread::scope(|s| {
        for (me, strand) in strands.into_iter().enumerate() {
            let turns = &turns;
            s.spawn(move || {
                let _over = Over(turns, me);
                let wait = || turns.wait(me);
                wait();
                strand(&wait);
            });
        }
    });
}

/// Whose turn it is. std's own primitives, which nobody records.
struct Turns {
    order: Vec<usize>,
    state: std::sync::Mutex<State>,
    changed: std::sync::Condvar,
}

#[derive(Default)]
struct State {
    now: usize,
    /// The strand that has the turn.
    running: Option<usize>,
    /// Strands that are over have no turn any more.
    over: [bool; 2],
}

impl Turns {
    fn new(order: &[usize]) -> Turns {
        Turns {
            order: order.to_vec(),
            state: Default::default(),
            changed: std::sync::Condvar::new(),
        }
    }

    /// Ends the strand's turn, if it has one, and waits for its next.
    fn wait(&self, me: usize) {
        let mut state = self.state.lock().unwrap();
        self.end_turn(&mut state, me);
        let is_other = |state: &mut State| self.order.get(state.now).is_some_and(|&it| it != me);
        self.changed.wait_while(state, is_other).unwrap().running = Some(me);
    }

    fn end_turn(&self, state: &mut State, me: usize) {
        if state.running == Some(me) {
            (state.running, state.now) = (None, state.now + 1);
        }
        while self.order.get(state.now).is_some_and(|&it| state.over[it]) {
            state.now += 1;
        }
        self.changed.notify_all();
    }
}

/// Ends a strand, also where it panics.
struct Over<'a>(&'a Turns, usize);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap();
        state.over[self.1] = true;
        self.0.end_turn(&mut state, self.1);
    }
}

// References.

/// Handles of one entry. The last of them removes it.
struct Table {
    entries: Mutex<HashMap<u64, Arc<AtomicUsize>>>,
}

impl Table {
    fn new() -> Table {
        Table {
            entries: Mutex::new(HashMap::new()),
        }
    }

    #[atomic]
    fn get(&self, key: u64) -> Arc<AtomicUsize> {
        let mut entries = self.entries.lock().unwrap();
        let new = || Arc::new(AtomicUsize::new(0));
        let references = entries.entry(key).or_insert_with(new);
        references.fetch_add(1, SeqCst);
        Arc::clone(references)
    }

    /// Lowers the count, and then locks the table.
    #[atomic]
    fn put(&self, key: u64, references: &AtomicUsize, pause: &dyn Fn()) {
        if references.fetch_sub(1, SeqCst) == 1 {
            pause();
            self.entries.lock().unwrap().remove(&key);
        }
    }

    /// Lowers the count while the table is locked.
    #[atomic]
    fn put_locked(&self, key: u64, references: &AtomicUsize) {
        let mut entries = self.entries.lock().unwrap();
        if references.fetch_sub(1, SeqCst) == 1 {
            entries.remove(&key);
        }
    }
}

#[test]
fn an_entry_that_is_found_after_its_last_reference_has_gone_is_reported() {
    let table = Table::new();
    let report = only(|| {
        let references = table.get(7);
        between(
            |pause| table.put(7, &references, pause),
            || drop(table.get(7)),
        );
    });
    assert!(report.message.contains("`Table::put`"), "{report:#?}");
    meets_zero(&report);
}

/// The count that was brought to zero was taken from there.
#[track_caller]
fn meets_zero(report: &Report) {
    let ops = || accesses(report).into_iter().map(|(op, ..)| op);
    assert!(ops().any(|op| op == Op::Reach), "{report:#?}");
    assert!(ops().any(|op| op == Op::Leave), "{report:#?}");
}

#[test]
fn an_entry_whose_count_is_raised_after_the_table_was_left_is_reported() {
    let (entry, count) = (Mutex::new(true), AtomicU64::new(1));
    let report = only(|| {
        in_order(
            &[0, 1, 0],
            [
                &|pause| {
                    atomic_block!(name = "find", {
                        let found = *entry.lock().unwrap();
                        pause();
                        assert!(found);
                        count.fetch_add(1, SeqCst);
                    });
                },
                &|_| {
                    atomic_block!(name = "leave", {
                        if count.fetch_sub(1, SeqCst) == 1 {
                            *entry.lock().unwrap() = false;
                        }
                    });
                },
            ],
        );
    });
    meets_zero(&report);
}

#[test]
fn references_that_are_counted_under_the_tables_lock_are_silent() {
    let table = Table::new();
    freely(|n| {
        let key = n as u64 % 3;
        let references = table.get(key);
        table.put_locked(key, &references);
    });
}

#[test]
fn handles_that_are_cloned_and_dropped_are_silent() {
    let (count, freed) = (AtomicUsize::new(1), AtomicU64::new(0));
    let drop_one = || {
        if count.fetch_sub(1, SeqCst) == 1 {
            freed.fetch_add(1, SeqCst);
        }
    };
    freely(|_| {
        atomic_block!(name = "use", {
            let before = count.fetch_add(1, SeqCst);
            assert!(before < 1_000);
            drop_one();
        });
    });
    silent(|| atomic_block!(name = "drop", { drop_one() }));
    assert_eq!(freed.load(SeqCst), 1);
}

#[test]
fn the_last_of_several_owners_frees_what_all_have_written() {
    let (owners, content) = (AtomicUsize::new(4), Mutex::new(Vec::new()));
    silent(|| {
        thread::scope(|s| {
            for number in 0..4 {
                let (owners, content) = (&owners, &content);
                s.spawn(move || {
                    content.lock().unwrap().push(number);
                    atomic_block!(name = "drop", {
                        if owners.fetch_sub(1, SeqCst) == 1 {
                            content.lock().unwrap().clear();
                        }
                    });
                });
            }
        });
    });
}

#[test]
fn a_handle_that_is_upgraded_while_there_are_others_is_silent() {
    let count = AtomicUsize::new(1);
    freely(|_| {
        let is_alive = |n: usize| (n > 0).then_some(n + 1);
        let upgraded = atomic_block!(name = "upgrade", {
            count.fetch_update(SeqCst, SeqCst, is_alive).is_ok()
        });
        if upgraded {
            atomic_block!(name = "drop", {
                assert_ne!(count.fetch_sub(1, SeqCst), 1);
            });
        }
    });
}

// Gauges.

#[test]
fn requests_in_flight_are_counted_silently() {
    let (in_flight, served) = (AtomicI64::new(0), AtomicU64::new(0));
    freely(|_| {
        atomic_block!(name = "serve", {
            in_flight.fetch_add(1, SeqCst);
            served.fetch_add(1, SeqCst);
            in_flight.fetch_sub(1, SeqCst);
        });
    });
}

#[test]
fn requests_that_tell_when_none_is_in_flight_are_silent() {
    let (in_flight, idle) = (AtomicUsize::new(0), AtomicU64::new(0));
    freely(|_| {
        atomic_block!(name = "serve", {
            let others = in_flight.fetch_add(1, SeqCst);
            assert!(others < 4);
            if in_flight.fetch_sub(1, SeqCst) == 1 {
                idle.fetch_add(1, SeqCst);
            }
        });
    });
}

#[test]
fn requests_that_overlap_and_tell_when_none_is_in_flight_are_silent() {
    let (in_flight, idle) = (AtomicUsize::new(0), AtomicU64::new(0));
    let serve = |pause: &dyn Fn()| {
        atomic_block!(name = "serve", {
            in_flight.fetch_add(1, SeqCst);
            pause();
            if in_flight.fetch_sub(1, SeqCst) == 1 {
                idle.fetch_add(1, SeqCst);
            }
        });
    };
    for order in [[0, 1, 0, 1], [0, 1, 1, 0]] {
        silent(|| in_order(&order, [&serve, &serve]));
    }
}

#[test]
fn a_result_that_is_assigned_to_nothing_is_dropped() {
    let (queue, length) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    silent(|| {
        in_order(
            &[0, 1, 0],
            [
                &|pause| {
                    atomic_block!(name = "push", {
                        queue.lock().unwrap().push(1);
                        pause();
                        let _ = length.fetch_add(1, SeqCst);
                    });
                },
                &|_| {
                    atomic_block!(name = "pop", {
                        queue.lock().unwrap().pop();
                        let _ = length.fetch_sub(1, SeqCst);
                    });
                },
            ],
        );
    });
}

#[test]
fn a_length_that_is_lowered_before_it_was_raised_is_reported() {
    let length = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let (send, receive) = (Mutex::new(send), Mutex::new(receive));
    let send = |value| send.lock().unwrap().send(value).unwrap();
    let receive = || receive.lock().unwrap().recv().unwrap();
    let report = only(|| {
        in_order(
            &[0, 1, 0],
            [
                &|pause| {
                    atomic_block!(name = "put", {
                        send(1);
                        pause();
                        length.fetch_add(1, SeqCst);
                    });
                },
                &|_| {
                    let value = receive();
                    atomic_block!(name = "count down", {
                        let before = length.fetch_sub(1, SeqCst);
                        assert_eq!((before, value), (0, 1));
                    });
                },
            ],
        );
    });
    meets_zero(&report);
}

#[test]
fn a_length_that_is_raised_before_the_message_is_sent_is_silent() {
    let length = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let receive = Mutex::new(receive);
    freely(|n| {
        atomic_block!(name = "put", {
            length.fetch_add(1, SeqCst);
            send.clone().send(n).unwrap();
        });
        atomic_block!(name = "take", {
            receive.lock().unwrap().recv().unwrap();
            let left = length.fetch_sub(1, SeqCst) - 1;
            assert!(left < 4);
        });
    });
}

// Identifiers and places.

#[test]
fn identifiers_and_a_registry_are_silent() {
    let (next, registry) = (AtomicU64::new(0), Mutex::new(HashMap::new()));
    freely(|n| {
        atomic_block!(name = "register", {
            let id = next.fetch_add(1, SeqCst);
            registry.lock().unwrap().insert(id, n);
        });
    });
    assert_eq!(registry.lock().unwrap().len(), 200);
}

#[test]
fn identifiers_that_begin_again_are_silent() {
    let (next, registry) = (AtomicU8::new(250), Mutex::new(Vec::new()));
    freely(|_| {
        atomic_block!(name = "register", {
            let id = next.fetch_add(1, SeqCst);
            registry.lock().unwrap().push(id);
        });
    });
}

#[test]
fn identifiers_that_are_drawn_before_and_registered_after_another_are_silent() {
    let (next, registry) = (AtomicI64::new(0), Mutex::new(Vec::new()));
    let register = |pause: &dyn Fn()| {
        atomic_block!(name = "register", {
            let id = next.fetch_add(1, SeqCst);
            pause();
            registry.lock().unwrap().push(id);
        });
    };
    silent(|| in_order(&[0, 1, 1, 0], [&register, &register]));
}

#[test]
fn workers_that_are_chosen_in_turn_are_silent() {
    let turn = AtomicUsize::new(0);
    let queues: [Mutex<Vec<usize>>; 4] = Default::default();
    freely(|n| {
        atomic_block!(name = "submit", {
            let chosen = turn.fetch_add(1, SeqCst) % queues.len();
            queues[chosen].lock().unwrap().push(n);
        });
    });
}

// Statistics.

#[test]
fn sharded_statistics_are_silent() {
    let shards: [AtomicU64; 4] = Default::default();
    let bytes = AtomicU64::new(0);
    freely(|n| {
        atomic_block!(name = "record", {
            shards[n % 4].fetch_add(1, SeqCst);
            bytes.fetch_add(n as u64, SeqCst);
        });
        let sum: u64 = shards.iter().map(|shard| shard.load(SeqCst)).sum();
        assert!(sum <= 200);
    });
}

#[test]
fn what_is_allocated_and_freed_is_counted_silently() {
    let (used, peak) = (AtomicU64::new(0), AtomicU64::new(0));
    freely(|n| {
        let size = n as u64 + 1;
        atomic_block!(name = "allocate", {
            let now = used.fetch_add(size, SeqCst) + size;
            peak.fetch_max(now, SeqCst);
        });
        atomic_block!(name = "free", {
            let before = used.fetch_sub(size, SeqCst);
            assert!(before >= size);
        });
    });
}

// Latches.

#[test]
fn a_latch_that_is_counted_down_is_silent() {
    let (remaining, results) = (AtomicUsize::new(200), Mutex::new(Vec::new()));
    let told = AtomicU64::new(0);
    freely(|n| {
        atomic_block!(name = "finish", {
            results.lock().unwrap().push(n);
            if remaining.fetch_sub(1, SeqCst) == 1 {
                told.fetch_add(1, SeqCst);
            }
        });
    });
    assert_eq!(told.load(SeqCst), 1);
}

#[test]
fn a_latch_whose_last_strand_was_the_first_to_begin_is_silent() {
    let (remaining, results) = (AtomicUsize::new(2), Mutex::new(Vec::new()));
    let last = AtomicU64::new(0);
    let finish = |pause: &dyn Fn()| {
        atomic_block!(name = "finish", {
            results.lock().unwrap().push(1);
            pause();
            if remaining.fetch_sub(1, SeqCst) == 1 {
                last.fetch_add(1, SeqCst);
            }
        });
    };
    silent(|| in_order(&[0, 1, 1, 0], [&finish, &finish]));
    assert_eq!(last.load(SeqCst), 1);
}

#[test]
fn a_latch_that_is_counted_up_is_silent() {
    let (done, told) = (AtomicUsize::new(0), AtomicU64::new(0));
    freely(|_| {
        atomic_block!(name = "finish", {
            if done.fetch_add(1, SeqCst) + 1 == 200 {
                told.fetch_add(1, SeqCst);
            }
        });
    });
    assert_eq!(told.load(SeqCst), 1);
}

#[test]
fn jobs_that_are_counted_before_they_are_submitted_are_silent() {
    let (pending, completed) = (AtomicUsize::new(0), AtomicU64::new(0));
    let jobs = Mutex::new(Vec::new());
    freely(|n| {
        atomic_block!(name = "submit", {
            pending.fetch_add(1, SeqCst);
            jobs.lock().unwrap().push(n);
        });
        let job = jobs.lock().unwrap().pop();
        if job.is_some() {
            atomic_block!(name = "complete", {
                if pending.fetch_sub(1, SeqCst) == 1 {
                    completed.fetch_add(1, SeqCst);
                }
            });
        }
    });
}

#[test]
fn a_job_that_is_counted_after_another_has_completed_it_is_reported() {
    let (jobs, pending) = (Mutex::new(Vec::new()), AtomicUsize::new(1));
    let report = only(|| {
        in_order(
            &[0, 1, 0],
            [
                &|pause| {
                    atomic_block!(name = "submit", {
                        jobs.lock().unwrap().push(1);
                        pause();
                        pending.fetch_add(1, SeqCst);
                    });
                },
                &|_| {
                    atomic_block!(name = "complete", {
                        assert!(jobs.lock().unwrap().pop().is_some());
                        assert_eq!(pending.fetch_sub(1, SeqCst), 1);
                    });
                },
            ],
        );
    });
    meets_zero(&report);
}

// Semaphores.

struct Semaphore(AtomicI64);

#[atomic]
impl Semaphore {
    fn try_acquire(&self, pause: &dyn Fn()) -> bool {
        if self.0.fetch_sub(1, SeqCst) > 0 {
            return true;
        }
        pause();
        self.0.fetch_add(1, SeqCst);
        false
    }

    fn release(&self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_semaphore_is_silent() {
    let permits = Semaphore(AtomicI64::new(2));
    freely(|_| {
        if permits.try_acquire(&std::thread::yield_now) {
            std::thread::yield_now();
            permits.release();
        }
    });
}

#[test]
fn a_try_in_vain_that_others_come_in_the_middle_of_is_silent() {
    let permits = Semaphore(AtomicI64::new(0));
    silent(|| {
        between(
            |pause| assert!(!permits.try_acquire(pause)),
            || {
                permits.release();
                permits.release();
                assert!(permits.try_acquire(&|| ()));
            },
        );
    });
}

#[test]
fn a_permit_that_is_held_while_others_try_and_take_the_last_is_silent() {
    for permits in [1, 2] {
        let permits = Semaphore(AtomicI64::new(permits));
        let work = |pause: &dyn Fn()| {
            atomic_block!(name = "work", {
                if permits.try_acquire(&|| ()) {
                    pause();
                    permits.release();
                }
            });
        };
        silent(|| in_order(&[0, 1, 1, 0], [&work, &work]));
    }
}

#[test]
fn places_at_a_table_are_taken_and_left_silently() {
    let (seated, turned_away) = (AtomicUsize::new(0), AtomicU64::new(0));
    freely(|_| {
        atomic_block!(name = "visit", {
            if seated.fetch_add(1, SeqCst) >= 2 {
                turned_away.fetch_add(1, SeqCst);
            }
            seated.fetch_sub(1, SeqCst);
        });
    });
}

// What commutes as before.

#[test]
fn a_barrier_of_the_standard_library_and_counts_do_not_disturb_each_other() {
    let (barrier, count) = (Barrier::new(2), AtomicUsize::new(0));
    let each = || {
        barrier.wait();
        atomic_block!(name = "pass", {
            assert!(count.fetch_add(1, SeqCst) < 2);
        });
    };
    silent(|| {
        thread::scope(|s| {
            s.spawn(each);
            s.spawn(each);
        });
    });
}
