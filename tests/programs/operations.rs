//! `#[operation]`: a type takes part in checking as one object.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use aerodrome::sync::Mutex;
use aerodrome::{Object, operation};

/// A queue whose lock is tracked, to see that what is inside of an operation is not recorded.
#[derive(Default)]
struct Jobs {
    queue: Mutex<VecDeque<u32>>,
    object: Object<Jobs>,
}

impl Jobs {
    #[operation(update)]
    fn push(&self, job: u32) {
        // Two acquisitions: not atomic by itself, if somebody looked inside.
        let length = self.queue.lock().unwrap().len();
        let mut queue = self.queue.lock().unwrap();
        queue.insert(length, job);
    }

    #[operation(update)]
    fn pop(&self) -> Option<u32> {
        self.queue.lock().unwrap().pop_front()
    }

    #[operation(read)]
    fn len(&self) -> usize {
        self.queue.lock().unwrap().len()
    }

    #[operation(write)]
    fn clear(&self) {
        self.queue.lock().unwrap().clear();
    }

    /// An operation by other operations, which leaves by every way.
    #[operation(update, of = self.object)]
    fn pop_both(&self) -> Option<(u32, u32)> {
        if self.len() < 2 {
            return None;
        }
        Some((self.pop()?, self.pop()?))
    }

    #[operation(update)]
    fn fail(&self) {
        panic!("it fails on purpose");
    }
}

#[test]
fn an_operation_is_the_function_that_it_was() {
    let jobs = Jobs::default();
    (1..=4).for_each(|job| jobs.push(job));
    assert_eq!(jobs.pop_both(), Some((1, 2)));
    assert_eq!((jobs.pop(), jobs.len()), (Some(3), 1));
    assert_eq!(jobs.pop_both(), None);
    jobs.clear();
    assert_eq!(jobs.pop(), None);
    assert!(catch_unwind(AssertUnwindSafe(|| jobs.fail())).is_err());
    jobs.push(5);
    assert_eq!(jobs.len(), 1);
    assert_eq!(format!("{:?}", jobs.object.clone()), "Object");
}

/// Objects in places that `self.object` does not name, and methods of every kind.
struct Pair<T>(T, (Object<T>, u8));

trait Swap {
    fn swap(&mut self);
    fn first(&self) -> &u32;
}

impl Swap for Pair<[u32; 2]> {
    #[operation(write, of = self.1.0)]
    fn swap(&mut self) {
        self.0.swap(0, 1);
    }

    #[operation(read, of = self.1.0, crate = ::aerodrome)]
    #[inline]
    fn first(&self) -> &u32 {
        &self.0[0]
    }
}

#[test]
fn objects_may_be_anywhere_in_self() {
    let mut pair = Pair([1, 2], (Object::new(), 0));
    pair.swap();
    assert_eq!((*pair.first(), pair.1.1), (2, 0));
}

#[cfg(feature = "check")]
mod checked {
    use aerodrome::atomic_block;
    use aerodrome::sync::Mutex;
    use aerodrome::thread;
    use aerodrome::trace::Op;

    use super::Jobs;
    use crate::outcome::{accesses, between, only, silent};

    #[test]
    fn two_operations_of_a_block_with_another_between_are_reported_where_they_are_called() {
        let jobs = Jobs::default();
        aerodrome::name(&jobs.object, "jobs");
        jobs.push(1);
        let report = only(|| {
            between(
                |pause| {
                    atomic_block! {
                        let is_last = jobs.len() == 1;
                        pause();
                        assert_eq!(is_last.then(|| jobs.pop()), Some(Some(1)));
                    }
                },
                || jobs.push(2),
            );
        });
        let line = line!() - 6;
        let jobs = || "`jobs`".to_owned();
        let expected = [
            (Op::Read, jobs(), line - 2),
            (Op::ReadWrite, jobs(), line + 3),
            (Op::ReadWrite, jobs(), line),
        ];
        assert_eq!(accesses(&report), expected);
    }

    #[test]
    fn an_object_without_a_name_has_that_of_its_type() {
        let jobs = Jobs::default();
        let report = only(|| {
            between(
                |pause| {
                    atomic_block! {
                        jobs.clear();
                        pause();
                        jobs.clear();
                    }
                },
                || assert_eq!(jobs.len(), 0),
            );
        });
        assert_eq!(report.objects[0].label(), "`Jobs`");
    }

    #[test]
    fn one_operation_is_atomic_whatever_is_inside() {
        let jobs = Jobs::default();
        silent(|| {
            thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| {
                        for job in 0..200 {
                            atomic_block! { jobs.push(job) };
                            atomic_block! { jobs.pop_both() };
                        }
                    });
                }
            });
        });
    }

    #[test]
    fn operations_order_what_is_around_them() {
        let (jobs, total) = (Jobs::default(), Mutex::new(0));
        let report = only(|| {
            between(
                |pause| {
                    atomic_block! {
                        jobs.push(1);
                        pause();
                        *total.lock().unwrap() += 1;
                    }
                },
                || {
                    *total.lock().unwrap() += 1;
                    jobs.push(2);
                    *total.lock().unwrap() += 1;
                },
            );
        });
        assert_eq!(report.accesses.len(), 4);
    }
}
