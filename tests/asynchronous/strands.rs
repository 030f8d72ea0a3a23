//! Strands without a runtime: futures that the test polls itself, in the order it wants.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

use aerodrome::future::{branch, task};
use aerodrome::sync::Mutex;
use aerodrome::{Outcome, atomic, atomic_async, atomic_block, check, thread};

use crate::blamed;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Polls once; whether it is complete.
fn step<T>(future: &mut Boxed<'_, T>) -> Option<T> {
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Lets others run once.
async fn pause() {
    let mut has_paused = false;
    poll_fn(|_| match std::mem::replace(&mut has_paused, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await
}

/// Reads, lets others run, and writes.
#[atomic]
async fn torn(value: &Mutex<u32>) -> u32 {
    let old = *value.lock().unwrap();
    pause().await;
    *value.lock().unwrap() = old + 1;
    old
}

fn judged<T>(f: impl FnOnce() -> T) -> Outcome<T> {
    let outcome = check(f);
    assert_eq!(outcome.incomplete, None);
    outcome
}

#[test]
fn two_runs_that_one_thread_polls_in_turns_are_two_transactions() {
    let value = Mutex::new(0);
    let outcome = judged(|| {
        let (mut a, mut b): (Boxed<'_, _>, Boxed<'_, _>) =
            (Box::pin(torn(&value)), Box::pin(torn(&value)));
        assert_eq!((step(&mut a), step(&mut b)), (None, None));
        (step(&mut a), step(&mut b))
    });
    assert_eq!(outcome.value, (Some(0), Some(0)));
    assert_eq!(blamed(&outcome.violations), ["torn"]);
}

#[test]
fn two_runs_one_after_the_other_are_serializable() {
    let value = Mutex::new(0);
    let outcome = judged(|| {
        for expected in 0..2 {
            let mut run: Boxed<'_, _> = Box::pin(torn(&value));
            assert_eq!(step(&mut run), None);
            assert_eq!(step(&mut run), Some(expected));
        }
    });
    assert!(outcome.is_serializable());
}

#[test]
fn a_run_that_moves_between_threads_is_one_transaction() {
    let value = Mutex::new(0);
    let outcome = judged(|| {
        let mut run: Boxed<'_, _> = Box::pin(torn(&value));
        assert_eq!(step(&mut run), None);
        *value.lock().unwrap() = 7;
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(step(&mut run), Some(0)));
        });
    });
    assert_eq!(blamed(&outcome.violations), ["torn"]);
}

#[test]
fn what_a_transaction_polls_is_part_of_it() {
    #[atomic]
    async fn outer(value: &Mutex<u32>) {
        torn(value).await;
        branch(torn(value)).await;
        atomic_async! { torn(value).await };
        atomic_block! { *value.lock().unwrap() += 1 }
    }
    let value = Mutex::new(0);
    let outcome = judged(|| {
        let mut run: Boxed<'_, _> = Box::pin(outer(&value));
        let mut polls = 0;
        while step(&mut run).is_none() {
            polls += 1;
            if polls == 2 {
                *value.lock().unwrap() += 10;
            }
        }
    });
    let test = "what_a_transaction_polls_is_part_of_it";
    assert_eq!(blamed(&outcome.violations), [format!("{test}::outer")]);
    // What was added in the middle is lost.
    assert_eq!(*value.lock().unwrap(), 4);
}

#[test]
fn branches_of_one_task_are_told_apart() {
    async fn program(value: &Mutex<u32>) {
        let mut branches: [Boxed<'_, u32>; 2] =
            [Box::pin(branch(torn(value))), Box::pin(branch(torn(value)))];
        for turn in [0, 1, 0, 1] {
            poll_fn(|context| {
                let _ = branches[turn].as_mut().poll(context);
                Poll::Ready(())
            })
            .await;
        }
    }
    let value = Mutex::new(0);
    let outcome = judged(|| {
        let mut run: Boxed<'_, _> = Box::pin(task(program(&value)));
        assert!(step(&mut run).is_some());
    });
    assert_eq!(blamed(&outcome.violations), ["torn"]);
}

#[test]
fn a_run_that_is_dropped_ends_there() {
    let value = Mutex::new(0);
    let outcome = judged(|| {
        let mut run: Boxed<'_, _> = Box::pin(torn(&value));
        assert_eq!(step(&mut run), None);
        *value.lock().unwrap() += 1;
        drop(run);
        *value.lock().unwrap() += 1;
    });
    assert!(outcome.is_serializable());
}

#[test]
fn a_part_that_is_dropped_does_not_cancel_the_transaction_around_it() {
    #[atomic]
    async fn outer(value: &Mutex<u32>, is_long: bool) {
        *value.lock().unwrap() += 1;
        drop(torn(value));
        let mut part: Boxed<'_, u32> = Box::pin(torn(value));
        assert_eq!(step(&mut part), None);
        drop(part);
        if is_long {
            *value.lock().unwrap() += 1;
        }
    }
    let value = Mutex::new(0);
    let outcome = judged(|| {
        for is_long in [true, false] {
            let mut run: Boxed<'_, _> = Box::pin(outer(&value, is_long));
            assert!(step(&mut run).is_some());
        }
    });
    assert!(outcome.is_serializable(), "{:?}", outcome.violations);
}

#[test]
fn a_run_that_panics_ends_there() {
    #[atomic]
    async fn panics(value: &Mutex<u32>) {
        *value.lock().unwrap() += 1;
        pause().await;
        panic!("on purpose");
    }
    let value = Mutex::new(0);
    let outcome = judged(|| {
        let mut run: Boxed<'_, _> = Box::pin(panics(&value));
        assert_eq!(step(&mut run), None);
        let poll = std::panic::AssertUnwindSafe(|| step(&mut run));
        assert!(std::panic::catch_unwind(poll).is_err());
        *value.lock().unwrap() += 1;
        drop(run);
        *value.lock().unwrap() += 1;
    });
    assert!(outcome.is_serializable());
}

#[test]
fn a_value_dropped_with_the_future_is_dropped_in_the_transaction() {
    struct Gives<'a>(&'a Mutex<u32>);
    impl Drop for Gives<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() -= 1;
        }
    }
    #[atomic]
    async fn takes(value: &Mutex<u32>) {
        *value.lock().unwrap() += 1;
        let _gives = Gives(value);
        pause().await;
    }
    let value = Mutex::new(0);
    let outcome = judged(|| {
        let mut run: Boxed<'_, _> = Box::pin(takes(&value));
        assert_eq!(step(&mut run), None);
        assert_eq!(*value.lock().unwrap(), 1);
        drop(run);
    });
    let test = "a_value_dropped_with_the_future_is_dropped_in_the_transaction";
    assert_eq!(blamed(&outcome.violations), [format!("{test}::takes")]);
}

#[test]
fn a_guard_that_leaves_its_transaction_is_released_by_whoever_drops_it() {
    #[atomic]
    async fn locked(value: &Mutex<u32>) -> aerodrome::sync::MutexGuard<'_, u32> {
        let mut guard = value.lock().unwrap();
        *guard += 1;
        guard
    }
    let value = Mutex::new(0);
    let outcome = judged(|| {
        for _ in 0..100 {
            let mut run = Box::pin(locked(&value));
            let poll = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(mut guard) = poll else {
                panic!("nothing to wait for")
            };
            *guard += 1;
        }
    });
    assert!(outcome.is_serializable());
    assert_eq!(*value.lock().unwrap(), 200);
}

/// What marks may stand on, and what leaves them.
mod forms {
    use super::*;

    pub(crate) struct Account(pub(crate) Mutex<u32>);

    #[atomic]
    impl Account {
        async fn early(&self, limit: u32) -> Result<u32, String> {
            let value = *self.0.lock().unwrap();
            if value > limit {
                return Err(format!("{value} > {limit}"));
            }
            "7".parse::<u32>().map_err(|error| error.to_string())?;
            pause().await;
            Ok(value)
        }

        async fn boxed_error(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            "x".parse::<u32>()?;
            Ok(())
        }

        async fn hidden(&self) -> impl Iterator<Item = u32> + Send {
            pause().await;
            0..*self.0.lock().unwrap()
        }

        async fn generic<T: Clone + Send + Sync>(&self, value: &T, mut n: u32) -> Vec<T> {
            n += 1;
            vec![value.clone(); n as usize]
        }
    }

    pub(crate) trait Store {
        fn load(&self) -> impl Future<Output = u32> + Send;
        fn boxed(&self) -> Boxed<'_, u32>;
    }

    impl Store for Account {
        #[atomic(future)]
        fn load(&self) -> impl Future<Output = u32> + Send {
            async move {
                let old = *self.0.lock().unwrap();
                pause().await;
                *self.0.lock().unwrap() = old + 1;
                old
            }
        }

        #[atomic(future, name = "boxed load")]
        fn boxed(&self) -> Boxed<'_, u32> {
            Box::pin(self.load())
        }
    }

    fn run<T>(future: impl Future<Output = T> + Send) -> T {
        let mut future: Boxed<'_, T> = Box::pin(future);
        loop {
            if let Some(output) = step(&mut future) {
                return output;
            }
        }
    }

    #[test]
    fn what_leaves_a_marked_function_leaves_it() {
        let account = Account(Mutex::new(3));
        assert_eq!(run(account.early(5)), Ok(3));
        assert_eq!(run(account.early(2)), Err("3 > 2".to_owned()));
        assert!(run(account.boxed_error()).is_err());
        assert_eq!(run(account.hidden()).sum::<u32>(), 3);
        assert_eq!(run(account.generic(&"a", 1)), ["a", "a"]);
    }

    #[test]
    fn a_future_that_a_function_returns_is_a_transaction() {
        let account = Account(Mutex::new(0));
        let interrupted = |mut run: Boxed<'_, u32>| {
            judged(|| {
                assert_eq!(step(&mut run), None);
                *account.0.lock().unwrap() += 1;
                step(&mut run).unwrap()
            })
        };
        let outcome = interrupted(Box::pin(account.load()));
        assert_eq!(blamed(&outcome.violations), ["Account::load"]);
        let outcome = interrupted(account.boxed());
        assert_eq!(blamed(&outcome.violations), ["boxed load"]);
    }

    #[test]
    fn return_leaves_a_part_only() {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let outcome = judged(|| {
            run(async {
                let value: Result<u32, std::num::ParseIntError> = atomic_async! {
                    let n = "x".parse::<u32>()?;
                    Ok(n)
                };
                assert!(value.is_err());
                RUNS.fetch_add(1, SeqCst);
            });
        });
        assert!(outcome.is_serializable());
        assert_eq!(RUNS.load(SeqCst), 1);
    }
}
