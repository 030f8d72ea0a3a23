//! Bugs through once_cell's interface are reported where they are, and the fixed versions are
//! silent.

use std::sync::Barrier;

use aerodrome::once_cell::race::OnceBool;
use aerodrome::once_cell::sync::{Lazy, OnceCell};
use aerodrome::report::Place;
use aerodrome::trace::Op;
use aerodrome::{atomic_block, thread};

#[test]
fn a_lazy_that_one_strand_initialises_and_others_read_is_silent() {
    let squares = Lazy::new(|| (0..10).map(|i| i * i).collect::<Vec<i32>>());
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            for i in 0..4 {
                let squares = &squares;
                s.spawn(move || {
                    atomic_block! {
                        assert_eq!(squares[i] + squares[i + 1], (i * i + (i + 1) * (i + 1)) as i32);
                    }
                });
            }
        });
    });
    assert!(outcome.is_serializable(), "{:#?}", outcome.violations);
}

#[test]
fn a_cell_that_was_empty_and_is_not_is_reported() {
    let cell = OnceCell::new();
    let barrier = Barrier::new(2);
    let (mut looked, mut set, mut other) = (0, 0, 0);
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            s.spawn(|| {
                atomic_block! {
                    looked = line!() + 1;
                    assert!(cell.get().is_none());
                    barrier.wait();
                    barrier.wait();
                    set = line!() + 1;
                    assert_eq!(cell.set(1), Err(1));
                }
            });
            s.spawn(|| {
                barrier.wait();
                other = line!() + 1;
                assert_eq!(cell.set(2), Ok(()));
                barrier.wait();
            });
        });
    });
    let [report] = &outcome.violations[..] else {
        panic!("{:#?}", outcome.violations)
    };
    let line = |place: &Option<Place>| match place {
        Some(Place::Source { file, line, .. }) if file.ends_with("tests/programs/once_cell.rs") => {
            *line
        }
        place => panic!("{place:?}"),
    };
    let mut found: Vec<_> = report
        .accesses
        .iter()
        .map(|access| (access.op, line(&access.place)))
        .collect();
    found.dedup();
    assert_eq!(
        found,
        [(Op::Read, looked), (Op::Write, other), (Op::Read, set)]
    );
    assert_eq!(report.objects[0].label(), "`OnceCell<i32>`");
}

#[test]
fn a_cell_that_is_set_in_one_step_is_silent() {
    let (cell, flag) = (OnceCell::new(), OnceBool::new());
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            for i in 0..4 {
                let (cell, flag) = (&cell, &flag);
                s.spawn(move || {
                    atomic_block! { cell.get_or_init(|| i); }
                    atomic_block! { flag.get_or_init(|| true); }
                });
            }
        });
    });
    assert!(outcome.is_serializable(), "{:#?}", outcome.violations);
}
