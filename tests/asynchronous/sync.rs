//! What tokio's locks and channels count as: each rule with the bug that it is for.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use aerodrome::sync::atomic::AtomicBool;
use aerodrome::tokio;
use aerodrome::tokio::sync::{Notify, OnceCell, Semaphore, broadcast, mpsc, oneshot};

use crate::script::{Gap, Script};
use crate::{FLAVORS, blamed};

/// Runs a program on every runtime, and wants the same verdict of each.
fn all_blame<F: Future<Output = ()>>(program: impl Fn() -> F + Copy, blocks: &[&str]) {
    for flavor in FLAVORS {
        let outcome = flavor.judge(program);
        let told: Vec<_> = outcome.violations.iter().map(ToString::to_string).collect();
        assert_eq!(blamed(&outcome.violations), blocks, "{flavor:?}: {told:#?}");
    }
}

#[derive(Debug, Default)]
struct Event {
    is_set: AtomicBool,
    notify: Notify,
}

impl Event {
    fn set(&self) {
        self.is_set.store(true, SeqCst);
        self.notify.notify_waiters();
    }

    /// Looks, and then registers: may wait for ever.
    #[aerodrome::atomic]
    async fn look_then_wait(&self, gap: Gap<'_>) -> bool {
        if self.is_set.load(SeqCst) {
            return true;
        }
        gap.pass().await;
        let notified = self.notify.notified();
        drop(notified);
        false
    }

    #[aerodrome::atomic]
    async fn wait_then_look(&self, gap: Gap<'_>) -> bool {
        let notified = self.notify.notified();
        gap.pass().await;
        let is_set = self.is_set.load(SeqCst);
        if !is_set {
            notified.await;
        }
        true
    }
}

async fn set_in_the_gap(looks_first: bool) {
    let (script, event) = (Arc::new(Script::default()), Arc::new(Event::default()));
    let (s, e) = (script.clone(), event.clone());
    let task = tokio::spawn(async move {
        s.wait_for(1).await;
        e.set();
        s.did(2);
    });
    let gap = Gap::Until(&script, 1, 2);
    let is_told = match looks_first {
        true => event.look_then_wait(gap).await,
        false => event.wait_then_look(gap).await,
    };
    assert_eq!(is_told, !looks_first);
    task.await.unwrap();
}

#[test]
fn who_looks_before_registering_misses_a_notification() {
    all_blame(|| set_in_the_gap(true), &["Event::look_then_wait"]);
    all_blame(|| set_in_the_gap(false), &[]);
}

#[test]
fn a_message_comes_after_what_its_sender_did() {
    all_blame(
        || async {
            let value = Arc::new(aerodrome::sync::Mutex::new(0));
            let (first, got_first) = mpsc::channel(1);
            let (second, got_second) = oneshot::channel();
            let (third, mut got_third) = broadcast::channel(4);
            let v = value.clone();
            let task = tokio::spawn(async move {
                *v.lock().unwrap() += 1;
                first.send(()).await.unwrap();
                *v.lock().unwrap() += 1;
                second.send(()).unwrap();
                *v.lock().unwrap() += 1;
                third.send(()).unwrap();
            });
            let mut got_first = got_first;
            got_first.recv().await.unwrap();
            got_second.await.unwrap();
            got_third.recv().await.unwrap();
            assert_eq!(*value.lock().unwrap(), 3);
            task.await.unwrap();
        },
        &[],
    );
}

/// Asks twice how many permits there are.
#[aerodrome::atomic]
async fn ask_twice(semaphore: &Semaphore, gap: Gap<'_>) -> bool {
    if semaphore.available_permits() == 0 {
        return false;
    }
    gap.pass().await;
    semaphore.available_permits() > 0
}

/// Takes one and gives it back.
#[aerodrome::atomic]
async fn take(semaphore: &Semaphore, gap: Gap<'_>) {
    let one = semaphore.acquire().await.unwrap();
    gap.pass().await;
    drop(one);
}

#[test]
fn permits_commute_and_looks_at_them_do_not() {
    for (permits, is_asked) in [(2, false), (2, true)] {
        let blocks: &[&str] = if is_asked { &["ask_twice"] } else { &[] };
        all_blame(
            || async move {
                let script = Arc::new(Script::default());
                let semaphore = Arc::new(Semaphore::new(permits));
                let (s, other) = (script.clone(), semaphore.clone());
                let task = tokio::spawn(async move {
                    s.wait_for(1).await;
                    take(&other, Gap::Closed).await;
                    s.did(2);
                });
                let gap = Gap::Until(&script, 1, 2);
                match is_asked {
                    true => assert!(ask_twice(&semaphore, gap).await),
                    false => take(&semaphore, gap).await,
                }
                task.await.unwrap();
            },
            blocks,
        );
    }
}

#[test]
fn one_permit_is_a_lock() {
    #[aerodrome::atomic]
    async fn twice(semaphore: &Semaphore, gap: Gap<'_>) {
        drop(semaphore.acquire().await.unwrap());
        gap.pass().await;
        drop(semaphore.acquire().await.unwrap());
    }
    all_blame(
        || async {
            let script = Arc::new(Script::default());
            let semaphore = Arc::new(Semaphore::new(1));
            let (s, other) = (script.clone(), semaphore.clone());
            let task = tokio::spawn(async move {
                s.wait_for(1).await;
                take(&other, Gap::Closed).await;
                s.did(2);
            });
            twice(&semaphore, Gap::Until(&script, 1, 2)).await;
            task.await.unwrap();
        },
        &["one_permit_is_a_lock::twice"],
    );
}

#[test]
fn initialising_commutes_with_finding_it_done() {
    #[aerodrome::atomic]
    async fn twice(cell: &OnceCell<u32>, gap: Gap<'_>) -> u32 {
        let first = *cell.get_or_init(|| async { 1 }).await;
        gap.pass().await;
        first + *cell.get_or_init(|| async { 2 }).await
    }
    #[aerodrome::atomic]
    async fn look_then_set(cell: &OnceCell<u32>, gap: Gap<'_>) -> bool {
        let is_there = cell.get().is_some();
        gap.pass().await;
        !is_there && cell.set(1).is_err()
    }
    async fn beside<T>(program: impl AsyncFn(&OnceCell<u32>, Gap<'_>) -> T) -> T {
        let script = Arc::new(Script::default());
        let cell = Arc::new(OnceCell::new());
        let (s, other) = (script.clone(), cell.clone());
        let task = tokio::spawn(async move {
            s.wait_for(1).await;
            other.get_or_init(|| async { 3 }).await;
            s.did(2);
        });
        let result = program(&cell, Gap::Until(&script, 1, 2)).await;
        task.await.unwrap();
        result
    }
    all_blame(|| async { assert_eq!(beside(twice).await, 2) }, &[]);
    all_blame(
        || async { assert!(beside(look_then_set).await) },
        &["initialising_commutes_with_finding_it_done::look_then_set"],
    );
}
