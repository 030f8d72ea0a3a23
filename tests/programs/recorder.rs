//! What the recorder says of a program: the order in which accesses were made, and which object
//! each of them touched.

use std::mem::MaybeUninit;
use std::time::Duration;

use aerodrome::sync::Mutex;
use aerodrome::sync::atomic::{
    AtomicBool, AtomicI8, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst,
};
use aerodrome::trace::Op;
use aerodrome::{atomic_block, thread};

use crate::outcome::{accesses, between, only, silent};

// Two guards held together.

/// Two locks that have been used: both have their numbers.
fn locks() -> (Mutex<u64>, Mutex<u64>) {
    let (a, b) = (Mutex::new(0), Mutex::new(0));
    *a.lock().unwrap() = 0;
    *b.lock().unwrap() = 0;
    (a, b)
}

/// Reads what the second lock guards before what the first one does, outside of blocks.
fn read_second_first((a, b): &(Mutex<u64>, Mutex<u64>)) -> (u64, u64) {
    let first = a.lock().unwrap();
    let second = b.lock().unwrap();
    let b = *second;
    let a = *first;
    (a, b)
}

#[test]
fn two_guards_touched_crosswise_close_the_cycle_that_is_there() {
    let locks = locks();
    let report = only(|| {
        between(
            |pause| {
                atomic_block!(name = "both", {
                    *locks.1.lock().unwrap() = 1;
                    pause();
                    *locks.0.lock().unwrap() = 1;
                });
            },
            // After the write of the second, before that of the first: neither before the block nor
            // after it.
            || assert_eq!(read_second_first(&locks), (0, 1)),
        );
    });
    assert!(report.message.contains("`both`"), "{}", report.message);
}

#[test]
fn two_guards_touched_crosswise_make_no_cycle_where_none_is() {
    let locks = locks();
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "both", {
                    *locks.0.lock().unwrap() = 1;
                    pause();
                    *locks.1.lock().unwrap() = 1;
                });
            },
            // The second is read before the block and the first after it: two accesses, two
            // transactions.
            || assert_eq!(read_second_first(&locks), (1, 0)),
        );
    });
}

// Numbers that come back.

// One guard held around another.

/// Changes both, the second inside of the first's section, and then the first again.
fn change_around((a, b): &(Mutex<u64>, Mutex<u64>)) {
    atomic_block!(name = "around", {
        let mut first = a.lock().unwrap();
        *b.lock().unwrap() += 1;
        *first += 1;
    });
}

#[test]
fn a_section_inside_of_another_is_part_of_the_cycle_that_is_there() {
    let locks = locks();
    let report = only(|| {
        between(
            |pause| {
                atomic_block!(name = "both", {
                    assert_eq!(*locks.0.lock().unwrap(), 0);
                    pause();
                    assert_eq!(*locks.1.lock().unwrap(), 1);
                });
            },
            || change_around(&locks),
        );
    });
    assert!(report.message.contains("`both`"), "{}", report.message);
}

#[test]
fn a_section_inside_of_another_makes_no_cycle_where_none_is() {
    let locks = locks();
    silent(|| {
        between(
            |pause| {
                atomic_block!(name = "one", {
                    assert_eq!(*locks.0.lock().unwrap(), 0);
                    pause();
                });
            },
            || change_around(&locks),
        );
        change_around(&locks);
    });
}

/// Another thread reads by way of the first guard, then takes the second lock: it must not wait for
/// the acquire of the first, and that for the second lock's section, and that for the other thread.
#[test]
fn a_guard_that_another_thread_reads_by_is_in_order() {
    let locks = locks();
    let outcome = aerodrome::check(|| {
        for _ in 0..10 {
            atomic_block!(name = "around", {
                let first = locks.0.lock().unwrap();
                // Untracked, so nothing is recorded between the acquires.
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        assert_eq!(*first, 0);
                        *locks.1.lock().unwrap() += 1;
                    });
                });
                *locks.1.lock().unwrap() += 1;
            });
        }
    });
    assert_eq!((outcome.violations, outcome.incomplete), (vec![], None));
}

#[test]
fn an_object_with_a_recycled_number_and_an_equal_version_is_another_object() {
    const OBJECTS: usize = 64;
    let make = || -> Vec<AtomicU64> { (0..OBJECTS).map(|_| AtomicU64::new(0)).collect() };
    // Which of the new objects get numbers of the old ones is for the pool to say: of so many
    // rounds some meet one.
    for round in 0..12 {
        let shared = AtomicU64::new(0);
        let report = only(|| {
            let old = make();
            for object in &old {
                object.store(1, SeqCst);
            }
            let old = std::sync::Mutex::new(old);
            let new = std::sync::OnceLock::new();
            between(
                |pause| {
                    atomic_block!(name = "reader", {
                        shared.store(1, SeqCst);
                        for object in old.lock().unwrap().iter() {
                            object.load(SeqCst);
                        }
                        pause();
                        let new: &Vec<AtomicU64> = new.get().unwrap();
                        new[OBJECTS - 1 - round].load(SeqCst);
                    });
                },
                || {
                    old.lock().unwrap().clear();
                    // Until the retirements were merged and the numbers are back.
                    std::thread::sleep(Duration::from_millis(30));
                    let made = make();
                    atomic_block!(name = "writer", {
                        shared.load(SeqCst);
                        for object in &made {
                            object.store(2, SeqCst);
                        }
                    });
                    new.set(made).unwrap();
                },
            );
        });
        assert!(report.message.contains("`reader`"), "{}", report.message);
    }
}

// Memory that is all zero.

/// A value whose memory is all zero.
///
/// # Safety
///
/// As for [`MaybeUninit::assume_init`].
unsafe fn zeroed<T>() -> Box<T> {
    // SAFETY: the caller's.
    Box::new(unsafe { MaybeUninit::zeroed().assume_init() })
}

#[test]
fn a_zeroed_atomic_is_reported_like_any_other() {
    // SAFETY: an atomic is valid where its integer is.
    let counter = unsafe { zeroed::<AtomicUsize>() };
    let report = only(|| {
        between(
            |pause| {
                atomic_block!(name = "increment", {
                    let value = counter.load(SeqCst);
                    pause();
                    counter.store(value + 1, SeqCst);
                });
            },
            || counter.store(7, SeqCst),
        );
    });
    assert!(report.message.contains("`increment`"), "{}", report.message);
    // Nobody knows where it was made, nor its type.
    assert_eq!(report.objects.len(), 1);
    assert_eq!(report.objects[0].type_name, None);
    assert_eq!(report.objects[0].created, None);
    let ops: Vec<_> = accesses(&report).into_iter().map(|(op, ..)| op).collect();
    assert_eq!(ops, [Op::Read, Op::Write, Op::Write]);
}

#[test]
fn every_zeroed_atomic_works_and_can_be_dropped() {
    struct All {
        flag: AtomicBool,
        small: AtomicI8,
        pointer: AtomicPtr<u64>,
        many: [AtomicU64; 4],
    }
    silent(|| {
        for _ in 0..100 {
            // SAFETY: as above, and all fields are atomics.
            let all = unsafe { zeroed::<All>() };
            atomic_block! {
                assert!(!all.flag.swap(true, SeqCst));
                assert_eq!(all.small.fetch_add(1, SeqCst), 0);
                assert!(all.pointer.load(SeqCst).is_null());
                for one in &all.many {
                    assert_eq!(one.compare_exchange(0, 1, SeqCst, SeqCst), Ok(0));
                }
            }
            let all = thread::spawn(move || all).join().unwrap();
            assert!(all.flag.load(SeqCst));
        }
    });
}

#[test]
fn a_zeroed_atomic_can_have_a_name() {
    // SAFETY: as above.
    let counter = unsafe { zeroed::<AtomicU64>() };
    aerodrome::name(&*counter, "zeroed counter");
    let report = only(|| {
        between(
            |pause| {
                atomic_block!(name = "increment", {
                    let value = counter.load(SeqCst);
                    pause();
                    counter.store(value + 1, SeqCst);
                });
            },
            || counter.store(7, SeqCst),
        );
    });
    assert_eq!(report.objects[0].name.as_deref(), Some("zeroed counter"));
}
