//! Data that a lock around nothing guards, and data that nothing guards, are seen in cells.

use std::sync::Barrier;

use aerodrome::cell::{Tracked, TrackedUnsafeCell};
use aerodrome::report::{Place, Report};
use aerodrome::sync::Mutex;
use aerodrome::trace::Op;
use aerodrome::{atomic_block, thread};

struct Account {
    lock: Mutex<()>,
    total: Tracked<u32>,
}

impl Account {
    const fn new() -> Account {
        Account {
            lock: Mutex::new(()),
            total: Tracked::new(0),
        }
    }

    fn total(&self) -> u32 {
        let _guard = self.lock.lock().unwrap();
        self.total.get()
    }

    fn set(&self, value: u32) -> u32 {
        let _guard = self.lock.lock().unwrap();
        // SAFETY: under the lock.
        unsafe { self.total.with_mut(|total| *total = value) };
        line!() - 1
    }

    fn add(&self, amount: u32) {
        let _guard = self.lock.lock().unwrap();
        let total = self.total.get();
        // SAFETY: under the lock.
        unsafe { self.total.with_mut(|it| *it = total + amount) };
    }
}

fn writes(report: &Report, label: &str) -> Vec<u32> {
    let ours = |access: &&aerodrome::report::Access| {
        matches!(access.op, Op::Write | Op::ReadWrite)
            && access
                .object
                .is_some_and(|object| report.objects[object].label() == label)
    };
    let line = |access: &aerodrome::report::Access| match &access.place {
        Some(Place::Source { file, line, .. }) if file.ends_with("tests/programs/cells.rs") => {
            *line
        }
        place => panic!("{place:?}"),
    };
    report.accesses.iter().filter(ours).map(line).collect()
}

#[test]
fn a_value_that_a_lock_around_nothing_guards_twice_is_reported() {
    let account = Account::new();
    let (barrier, mut wrote) = (Barrier::new(2), 0);
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            s.spawn(|| {
                atomic_block! {
                    let seen = account.total();
                    barrier.wait();
                    barrier.wait();
                    wrote = account.set(seen + 1);
                }
            });
            s.spawn(|| {
                barrier.wait();
                account.add(5);
                barrier.wait();
            });
        });
    });
    assert_eq!(account.total(), 1, "the five are lost");
    // A lock around nothing orders by itself, and is taken before the value is touched: the cycle
    // closes there first.
    let reports = &outcome.violations;
    assert_eq!(reports[0].objects[0].label(), "`Mutex<()>`", "{reports:#?}");
    let told = reports
        .iter()
        .any(|report| writes(report, "`Tracked<u32>`").contains(&wrote));
    assert!(told, "{reports:#?}");
}

#[test]
fn a_value_that_a_lock_around_nothing_guards_once_is_atomic() {
    let account = Account::new();
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..100 {
                        atomic_block! { account.add(1); }
                    }
                });
            }
        });
    });
    assert!(outcome.is_serializable(), "{:#?}", outcome.violations);
    assert_eq!(account.total(), 200);
}

#[test]
fn a_value_that_a_foreign_lock_guards_is_seen() {
    let (lock, total) = (std::sync::Mutex::new(()), Tracked::new(0));
    let (barrier, mut wrote) = (Barrier::new(2), 0);
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            s.spawn(|| {
                atomic_block! {
                    let guard = lock.lock().unwrap();
                    let seen = *total;
                    drop(guard);
                    barrier.wait();
                    barrier.wait();
                    let _guard = lock.lock().unwrap();
                    wrote = line!() + 2;
                    // SAFETY: under the lock.
                    unsafe { total.with_mut(|total| *total = seen + 1) };
                }
            });
            s.spawn(|| {
                barrier.wait();
                let _guard = lock.lock().unwrap();
                // SAFETY: under the lock.
                unsafe { total.with_mut(|total| *total += 5) };
                barrier.wait();
            });
        });
    });
    assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
    assert!(writes(&outcome.violations[0], "`Tracked<i32>`").contains(&wrote));
}

#[test]
fn an_unsafe_cell_behind_a_flag_is_seen() {
    struct Slot(TrackedUnsafeCell<u32>);
    // SAFETY: the test's barriers order its accesses.
    unsafe impl Sync for Slot {}
    impl Slot {
        #[track_caller]
        fn get(&self) -> u32 {
            // SAFETY: as above.
            self.0.with(|value| unsafe { *value })
        }
        #[track_caller]
        fn set(&self, new: u32) {
            // SAFETY: as above.
            self.0.with_mut(|value| unsafe { *value = new });
        }
    }
    let slot = Slot(TrackedUnsafeCell::new(0));
    aerodrome::name(&slot.0, "slot");
    let barrier = Barrier::new(2);
    let mut wrote = 0;
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            s.spawn(|| {
                atomic_block! {
                    let seen = slot.get();
                    barrier.wait();
                    barrier.wait();
                    wrote = line!() + 1;
                    slot.set(seen + 1);
                }
            });
            s.spawn(|| {
                barrier.wait();
                slot.set(7);
                barrier.wait();
            });
        });
    });
    assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
    assert!(!writes(&outcome.violations[0], "`slot`").is_empty());
}

#[test]
fn every_method_does_what_it_says() {
    let mut value = Tracked::new(3);
    value.set(4);
    value.update(|it| it * 2);
    assert_eq!(value.replace(1), 8);
    assert_eq!(value.take(), 1);
    *value += 5;
    assert_eq!(
        (value.get(), *value.clone(), format!("{value:?}")),
        (5, 5, "5".to_owned())
    );
    // SAFETY: alive, and only here.
    assert_eq!(unsafe { *value.as_ptr() }, 5);
    assert_eq!(value.into_inner(), 5);
    assert_eq!(*Tracked::<u8>::default(), *Tracked::from(0));

    let cell = TrackedUnsafeCell::new(1);
    // SAFETY: only here.
    unsafe { *cell.get_mut().deref() += 1 };
    // SAFETY: only here.
    assert_eq!(unsafe { *cell.get().deref() }, 2);
    // SAFETY: only here.
    let read = cell.get().with(|value| unsafe { *value });
    // SAFETY: only here.
    let written = cell.get_mut().with(|value| unsafe { *value });
    assert_eq!(read + written, 4);
    assert_eq!(
        cell.into_inner()
            + TrackedUnsafeCell::<i32>::default().into_inner()
            + TrackedUnsafeCell::from(1).into_inner(),
        3
    );
}
