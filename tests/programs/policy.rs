//! What stays a matter of policy in `docs/rules.md`: reported as ordinary services write it, and
//! silent with what is to be written instead.

use std::collections::HashMap;
use std::ptr::null_mut;

use aerodrome::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};
use aerodrome::sync::{Arc, Mutex, OnceLock};
use aerodrome::{atomic_block, untracked};

use crate::outcome::{between, only, silent};

/// Another thread does something in the middle of a block that has this name, and that is reported.
#[track_caller]
fn reported(name: &str, block: impl FnOnce(&dyn Fn()) + Send, other: impl FnOnce() + Send) {
    let report = only(|| between(block, other));
    assert!(report.message.contains(&format!("`{name}`")), "{report:#?}");
}

// Boxes that are made once, by hand.

/// The box's value: whoever comes first makes it, the others drop theirs.
fn get_or_make(place: &AtomicPtr<u64>, value: u64, pause: &dyn Fn()) -> u64 {
    let mut found = place.load(SeqCst);
    if found.is_null() {
        let own = Box::into_raw(Box::new(value));
        pause();
        match place.compare_exchange(null_mut(), own, SeqCst, SeqCst) {
            Ok(_) => found = own,
            Err(others) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(own) });
                found = others;
            }
        }
    }
    // SAFETY: a box that was put there stays until the place is freed.
    unsafe { *found }
}

fn free(place: AtomicPtr<u64>) {
    // SAFETY: the place is nobody else's any more.
    drop(unsafe { Box::from_raw(place.into_inner()) });
}

#[test]
fn a_box_that_is_made_once_is_silent() {
    let (place, used) = (AtomicPtr::new(null_mut()), AtomicU64::new(0));
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "get", {
                    assert_eq!(get_or_make(&place, 1, pause), 2);
                    assert_eq!(get_or_make(&place, 1, pause), 2);
                    used.fetch_add(1, SeqCst);
                });
            },
            || {
                atomic_block!(name = "get too", {
                    assert_eq!(get_or_make(&place, 2, &|| ()), 2);
                    used.fetch_add(1, SeqCst);
                });
            },
        );
    });
    free(place);
}

#[test]
fn a_box_that_the_loser_puts_over_the_winners_is_reported() {
    let place: AtomicPtr<u64> = AtomicPtr::new(null_mut());
    reported(
        "get",
        |pause| {
            atomic_block!(name = "get", {
                if place.load(SeqCst).is_null() {
                    pause();
                    let own = Box::into_raw(Box::new(1));
                    let others = place.swap(own, SeqCst);
                    // SAFETY: nobody uses the other strand's box.
                    drop(unsafe { Box::from_raw(others) });
                }
            });
        },
        || assert_eq!(get_or_make(&place, 2, &|| ()), 2),
    );
    free(place);
}

#[test]
fn two_boxes_that_are_made_in_one_block_are_reported_and_two_cells_are_not() {
    let [one, two] = [(); 2].map(|()| AtomicPtr::new(null_mut()));
    reported(
        "get both",
        |pause| {
            atomic_block!(name = "get both", {
                get_or_make(&one, 1, &|| ());
                pause();
                get_or_make(&two, 1, &|| ());
            });
        },
        || {
            atomic_block!(name = "get both too", {
                get_or_make(&one, 2, &|| ());
                get_or_make(&two, 2, &|| ());
            });
        },
    );
    free(one);
    free(two);
    let [one, two] = [(); 2].map(|()| OnceLock::new());
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "get both", {
                    one.get_or_init(|| 1);
                    pause();
                    two.get_or_init(|| 1);
                });
            },
            || {
                atomic_block!(name = "get both too", {
                    one.get_or_init(|| 2);
                    two.get_or_init(|| 2);
                });
            },
        );
    });
}

// Counts and flags.

#[test]
fn a_count_beside_a_flag_of_the_same_word_is_reported_and_one_of_its_own_is_not() {
    const CLOSED: usize = 1 << 31;
    let word = AtomicUsize::new(CLOSED);
    reported(
        "use",
        |pause| {
            atomic_block!(name = "use", {
                word.fetch_add(1, SeqCst);
                pause();
                word.fetch_sub(1, SeqCst);
            });
        },
        || {
            word.fetch_and(!CLOSED, SeqCst);
        },
    );
    let (users, flags) = (AtomicUsize::new(0), AtomicUsize::new(CLOSED));
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "use", {
                    users.fetch_add(1, SeqCst);
                    pause();
                    users.fetch_sub(1, SeqCst);
                });
            },
            || {
                flags.fetch_and(!CLOSED, SeqCst);
            },
        );
    });
}

#[test]
fn a_flag_that_is_read_again_is_reported_and_what_was_stored_is_not() {
    let (interest, polls) = (AtomicUsize::new(0), AtomicU64::new(0));
    reported(
        "poll",
        |pause| {
            atomic_block!(name = "poll", {
                interest.store(1, SeqCst);
                pause();
                if interest.load(SeqCst) == 1 {
                    polls.fetch_add(1, SeqCst);
                }
            });
        },
        || interest.store(2, SeqCst),
    );
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "poll", {
                    let own = 1;
                    interest.store(own, SeqCst);
                    pause();
                    polls.fetch_add(own as u64, SeqCst);
                });
            },
            || interest.store(2, SeqCst),
        );
    });
}

#[test]
fn a_state_on_the_way_is_reported_and_one_that_is_untracked_is_not() {
    let (state, connects) = (AtomicUsize::new(0), AtomicU64::new(0));
    let look = || assert_eq!(state.load(SeqCst), 1);
    reported(
        "connect",
        |pause| {
            atomic_block!(name = "connect", {
                state.store(1, SeqCst);
                pause();
                state.store(2, SeqCst);
            });
        },
        look,
    );
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "connect", {
                    untracked(|| state.store(1, SeqCst));
                    pause();
                    connects.fetch_add(1, SeqCst);
                    state.store(2, SeqCst);
                });
            },
            look,
        );
    });
}

#[test]
fn a_busy_flag_in_a_mutex_is_reported_and_a_lock_that_is_tried_is_not() {
    let (busy, skipped) = (Mutex::new(false), AtomicU64::new(0));
    reported(
        "run",
        |pause| {
            atomic_block!(name = "run", {
                *busy.lock().unwrap() = true;
                pause();
                *busy.lock().unwrap() = false;
            });
        },
        || {
            if *busy.lock().unwrap() {
                skipped.fetch_add(1, SeqCst);
            }
        },
    );
    let work = Mutex::new(());
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "run", {
                    let _held = work.lock().unwrap();
                    pause();
                });
            },
            || {
                if work.try_lock().is_err() {
                    skipped.fetch_add(1, SeqCst);
                }
            },
        );
    });
}

// Channels and places.

#[test]
#[cfg(feature = "crossbeam-channel")]
fn a_length_for_housekeeping_is_reported_and_an_untracked_one_is_not() {
    let (send, receive) = aerodrome::crossbeam_channel::unbounded();
    let gauge = AtomicUsize::new(0);
    let note = || gauge.store(receive.len(), SeqCst);
    let put = || send.send(1).unwrap();
    put();
    reported(
        "take",
        |pause| {
            atomic_block!(name = "take", {
                note();
                pause();
                receive.try_recv().unwrap();
                note();
            });
        },
        put,
    );
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "take", {
                    untracked(note);
                    pause();
                    receive.try_recv().unwrap();
                    untracked(note);
                });
            },
            put,
        );
    });
}

#[test]
fn a_place_that_is_reserved_and_not_filled_is_reported_and_one_that_is_looked_at_is_not() {
    let run = |read: fn(&AtomicUsize, &[AtomicU64])| {
        let (length, slots) = (AtomicUsize::new(0), [const { AtomicU64::new(0) }; 4]);
        aerodrome::check(|| {
            between(
                |pause| {
                    atomic_block!(name = "push", {
                        let at = length.fetch_add(1, SeqCst);
                        pause();
                        slots[at].store(1, SeqCst);
                    });
                },
                || atomic_block!(name = "read", { read(&length, &slots) }),
            );
        })
        .violations
    };
    let by_length = |length: &AtomicUsize, slots: &[AtomicU64]| {
        let filled = slots[..length.load(SeqCst)].iter();
        assert_eq!(filled.filter(|slot| slot.load(SeqCst) > 0).count(), 0);
    };
    let by_slot = |_: &AtomicUsize, slots: &[AtomicU64]| {
        let filled = slots.iter().take_while(|slot| slot.load(SeqCst) > 0);
        assert_eq!(filled.count(), 0);
    };
    assert_eq!(run(by_length).len(), 1);
    assert!(run(by_slot).is_empty());
}

// Maps and pools.

#[test]
fn an_entry_with_a_lock_of_its_own_is_reported_and_one_with_a_cell_is_not() {
    let entries: Mutex<HashMap<u64, Arc<Mutex<Option<u64>>>>> = Mutex::default();
    let entry = || Arc::clone(entries.lock().unwrap().entry(7).or_default());
    let fill = |entry: &Mutex<Option<u64>>| *entry.lock().unwrap().get_or_insert(1);
    reported(
        "get",
        |pause| {
            atomic_block!(name = "get", {
                let entry = entry();
                pause();
                fill(&entry);
            });
        },
        || {
            atomic_block!(name = "get too", {
                fill(&entry());
            });
        },
    );
    let entries: Mutex<HashMap<u64, Arc<OnceLock<u64>>>> = Mutex::default();
    let entry = || Arc::clone(entries.lock().unwrap().entry(7).or_default());
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "get", {
                    let entry = entry();
                    pause();
                    entry.get_or_init(|| 1);
                });
            },
            || {
                atomic_block!(name = "get too", {
                    entry().get_or_init(|| 1);
                });
            },
        );
    });
}

#[test]
fn another_key_of_the_same_map_is_reported_and_one_of_another_shard_is_not() {
    let run = |shards: &[Mutex<HashMap<u64, u64>>]| {
        let shard = |key: u64| shards[key as usize % shards.len()].lock().unwrap();
        aerodrome::check(|| {
            between(
                |pause| {
                    atomic_block!(name = "refresh", {
                        let old = shard(0).get(&0).copied();
                        pause();
                        shard(0).insert(0, old.map_or(1, |old| old + 1));
                    });
                },
                || {
                    shard(1).insert(1, 1);
                },
            );
        })
        .violations
    };
    assert_eq!(run(&[Mutex::default()]).len(), 1);
    assert!(run(&[Mutex::default(), Mutex::default()]).is_empty());
}

#[test]
fn what_is_lent_and_given_back_is_reported_and_what_is_lent_outside_is_not() {
    let (pool, uses) = (Mutex::new(vec![1, 2]), AtomicU64::new(0));
    let lend = || pool.lock().unwrap().pop().unwrap();
    let give_back = |it| pool.lock().unwrap().push(it);
    reported(
        "query",
        |pause| {
            atomic_block!(name = "query", {
                let lent = lend();
                pause();
                give_back(lent);
            });
        },
        || give_back(lend()),
    );
    silent(|| {
        between(
            |pause| {
                let lent = lend();
                atomic_block!(name = "query", {
                    uses.fetch_add(1, SeqCst);
                    pause();
                    uses.fetch_add(1, SeqCst);
                });
                give_back(lent);
            },
            || give_back(lend()),
        );
    });
}

/// Two bits of a word each.
#[derive(Default)]
struct Filter([AtomicUsize; 2]);

impl Filter {
    fn add(&self, pause: &dyn Fn()) {
        self.0[0].fetch_or(1, SeqCst);
        pause();
        self.0[1].fetch_or(1, SeqCst);
    }

    fn may_have(&self) -> bool {
        self.0.iter().all(|word| word.load(SeqCst) & 1 != 0)
    }
}

#[test]
fn a_filter_that_is_asked_while_it_is_filled_is_reported_and_an_unmarked_one_is_not() {
    let filter = Filter::default();
    reported(
        "add",
        |pause| atomic_block!(name = "add", { filter.add(pause) }),
        || atomic_block!(name = "ask", { assert!(!filter.may_have()) }),
    );
    let (filter, asked) = (Filter::default(), AtomicU64::new(0));
    silent(|| {
        between(
            |pause| atomic_block!(name = "add", { filter.add(pause) }),
            || {
                let may_have = untracked(|| filter.may_have());
                assert!(!may_have);
                asked.fetch_add(1, SeqCst);
            },
        );
    });
}

#[test]
fn a_restart_after_a_write_has_no_effect_and_the_report_says_so() {
    let (version, looks) = (AtomicUsize::new(0), AtomicU64::new(0));
    let look = |count: &dyn Fn(), pause: &dyn Fn()| {
        atomic_block!(name = "look", {
            let before = version.load(SeqCst);
            count();
            pause();
            if version.load(SeqCst) != before {
                aerodrome::restart();
                assert_eq!(version.load(SeqCst), 1);
            }
        });
    };
    let count = || {
        looks.fetch_add(1, SeqCst);
    };
    let change = || version.store(1, SeqCst);
    let report = only(|| between(|pause| look(&count, pause), change));
    assert!(
        report.help[0].contains("`restart()` had no effect"),
        "{report:#?}"
    );
    version.store(0, SeqCst);
    silent(|| between(|pause| look(&|| untracked(count), pause), change));
}
