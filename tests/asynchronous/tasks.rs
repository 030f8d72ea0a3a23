//! Tasks of tokio: spawned, joined, aborted, moved, and left alone.

use std::sync::Arc;

use aerodrome::tokio;
use aerodrome::tokio::sync::{Mutex, RwLock};
use aerodrome::tokio::task::JoinSet;

use crate::script::{Gap, Script};
use crate::{FLAVORS, Flavor, blamed};

/// Adds one in two steps, with a gap between them.
#[aerodrome::atomic]
async fn add(value: &Mutex<u32>, gap: Gap<'_>) {
    let old = *value.lock().await;
    gap.pass().await;
    *value.lock().await = old + 1;
}

/// Something that is done in another's gap.
async fn in_gap(script: &Script, value: &Mutex<u32>) {
    script.wait_for(1).await;
    *value.lock().await += 1;
    script.did(2);
}

fn setup() -> (Arc<Script>, Arc<Mutex<u32>>) {
    Default::default()
}

#[test]
fn a_task_is_a_strand_on_every_runtime() {
    for flavor in FLAVORS {
        let outcome = flavor.judge(|| async {
            let (script, value) = setup();
            let (s, v) = (script.clone(), value.clone());
            let task = tokio::spawn(async move { add(&v, Gap::Until(&s, 1, 2)).await });
            in_gap(&script, &value).await;
            task.await.unwrap();
        });
        assert_eq!(blamed(&outcome.violations), ["add"], "{flavor:?}");
    }
}

#[test]
fn what_comes_before_a_spawn_and_after_a_join_is_ordered() {
    for flavor in FLAVORS {
        let outcome = flavor.judge(|| async {
            let value = Arc::new(Mutex::new(0));
            for _ in 0..3 {
                *value.lock().await += 1;
                let v = value.clone();
                tokio::spawn(async move { add(&v, Gap::Closed).await })
                    .await
                    .unwrap();
            }
            let mut set = JoinSet::new();
            let v = value.clone();
            set.spawn(async move { add(&v, Gap::Closed).await });
            set.join_next().await.unwrap().unwrap();
            let v = value.clone();
            set.spawn_blocking(move || *v.blocking_lock() += 1);
            assert_eq!(set.join_all().await.len(), 1);
            assert_eq!(*value.lock().await, 8);
        });
        assert!(outcome.is_serializable(), "{flavor:?}");
    }
}

#[test]
fn a_task_forked_by_a_transaction_works_for_it() {
    #[aerodrome::atomic]
    async fn delegates(value: &Arc<Mutex<u32>>) {
        let old = *value.lock().await;
        let v = value.clone();
        tokio::spawn(async move { *v.lock().await = old + 1 })
            .await
            .unwrap();
    }
    for flavor in FLAVORS {
        let outcome = flavor.judge(|| async { delegates(&Arc::default()).await });
        assert!(outcome.is_serializable(), "{flavor:?}");
    }
}

#[test]
fn an_aborted_task_ends_its_transaction() {
    for flavor in FLAVORS {
        let outcome = flavor.judge(|| async {
            let (script, value) = setup();
            let (s, v) = (script.clone(), value.clone());
            let task = tokio::spawn(async move { add(&v, Gap::Until(&s, 1, 9)).await });
            script.wait_for(1).await;
            *value.lock().await += 1;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            *value.lock().await += 1;
        });
        assert!(outcome.is_serializable(), "{flavor:?}");
    }
}

#[test]
fn a_task_that_panics_ends_and_the_others_go_on() {
    for flavor in FLAVORS {
        let outcome = flavor.judge(|| async {
            let (script, value) = setup();
            let v = value.clone();
            let task = tokio::spawn(async move {
                add(&v, Gap::Closed).await;
                panic!("on purpose");
            });
            assert!(task.await.unwrap_err().is_panic());
            let (s, v) = (script.clone(), value.clone());
            let task = tokio::spawn(async move { add(&v, Gap::Until(&s, 1, 2)).await });
            in_gap(&script, &value).await;
            task.await.unwrap();
        });
        assert_eq!(blamed(&outcome.violations), ["add"], "{flavor:?}");
    }
}

#[test]
fn a_runtime_may_be_shut_down_with_tasks_alive() {
    for flavor in FLAVORS {
        let value = Arc::new(Mutex::new(0));
        let outcome = aerodrome::check(|| {
            flavor.run(async {
                let script = Arc::new(Script::default());
                for _ in 0..10 {
                    let (s, v) = (script.clone(), value.clone());
                    tokio::spawn(async move { add(&v, Gap::Until(&s, 1, 9)).await });
                }
                script.wait_for(1).await;
            });
        });
        assert!(
            outcome.is_serializable(),
            "{flavor:?}: {:?}",
            outcome.incomplete
        );
        assert_eq!(Arc::strong_count(&value), 1, "{flavor:?}");
    }
}

#[test]
fn a_guard_may_be_dropped_by_another_task() {
    for flavor in FLAVORS {
        let outcome = flavor.judge(|| async {
            let mutex = Arc::new(Mutex::new(0));
            let lock = Arc::new(RwLock::new(0));
            for n in 0..20 {
                let mut guard = mutex.clone().lock_owned().await;
                let shared = lock.clone().read_owned().await;
                *guard += 1;
                tokio::spawn(async move {
                    *guard += *shared;
                    drop(shared);
                    drop(guard);
                })
                .await
                .unwrap();
                assert_eq!(*mutex.lock().await, n + 1);
                *lock.write().await = 0;
            }
        });
        assert!(outcome.is_serializable(), "{flavor:?}");
    }
}

#[test]
fn arms_of_select_and_futures_of_join_are_told_apart() {
    let outcome = Flavor::CurrentThread.judge(|| async {
        let (script, value) = setup();
        tokio::join!(
            add(&value, Gap::Until(&script, 1, 2)),
            in_gap(&script, &value),
        );
    });
    assert_eq!(blamed(&outcome.violations), ["add"]);
    let outcome = Flavor::CurrentThread.judge(|| async {
        let (script, value) = setup();
        let is_first = tokio::select! {
            biased;
            () = add(&value, Gap::Until(&script, 1, 3)) => true,
            () = async {
                in_gap(&script, &value).await;
                script.did(2);
            }, if !script_is_over() => false,
            else => unreachable!(),
        };
        assert!(!is_first);
    });
    assert!(outcome.is_serializable());
    let outcome = Flavor::CurrentThread.judge(|| async {
        let (script, value) = setup();
        let result: Result<_, ()> = tokio::try_join!(
            async { Ok(add(&value, Gap::Until(&script, 1, 2)).await) },
            async { Ok(in_gap(&script, &value).await) },
        );
        result.unwrap();
    });
    assert_eq!(blamed(&outcome.violations), ["add"]);
}

fn script_is_over() -> bool {
    false
}

#[test]
fn within_a_transaction_branches_are_part_of_it() {
    #[aerodrome::atomic]
    async fn both(value: &Mutex<u32>) {
        tokio::join!(async { *value.lock().await += 1 }, async {
            *value.lock().await += 1
        },);
    }
    for flavor in FLAVORS {
        let outcome = flavor.judge(|| async { both(&Mutex::new(0)).await });
        assert!(outcome.is_serializable(), "{flavor:?}");
    }
}

#[tokio::test]
async fn the_runtimes_test_attribute_runs_the_mirror() {
    let _: aerodrome::tokio::runtime::Handle = tokio::runtime::Handle::current();
    let value = Arc::new(Mutex::new(0));
    let v = value.clone();
    let task: tokio::task::JoinHandle<()> = tokio::spawn(async move { *v.lock().await += 1 });
    task.await.unwrap();
    assert_eq!(*value.lock().await, 1);
}
