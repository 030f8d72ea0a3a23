use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::crossbeam_utils::atomic::{AtomicCell, AtomicConsume};
use super::crossbeam_utils::sync::{
    Parker, ShardedLock, ShardedLockReadGuard, ShardedLockWriteGuard, Unparker, WaitGroup,
};
use super::crossbeam_utils::{Backoff, CachePadded, thread};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn what_may_be_sent_and_shared() {
    is_send::<Parker>();
    is_send::<Unparker>();
    is_sync::<Unparker>();
    is_send::<WaitGroup>();
    is_sync::<WaitGroup>();
    is_send::<Backoff>();
    is_sync::<ShardedLock<u32>>();
    is_sync::<thread::Scope<'static>>();
    is_send::<thread::ScopedJoinHandle<'static, u32>>();
    is_sync::<thread::ScopedJoinHandle<'static, u32>>();
}

#[test]
fn a_backoff_completes_and_resets() {
    let backoff = Backoff::default();
    assert!(format!("{backoff:?}").starts_with("Backoff {"));
    backoff.spin();
    assert!(!backoff.is_completed());
    for _ in 0..20 {
        backoff.snooze();
    }
    assert!(backoff.is_completed());
    backoff.reset();
    assert!(!backoff.is_completed());
}

#[test]
fn a_scope_returns_what_the_closure_returns() {
    let people = ["ada", "bob"];
    let lengths = thread::scope(|scope| {
        let handles: Vec<_> = people
            .iter()
            .map(|name| scope.spawn(move |_| name.len()))
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(lengths.unwrap(), 6);
}

#[test]
fn a_scopes_threads_may_spawn() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|scope| {
                count.fetch_add(1, Ordering::SeqCst);
                scope.spawn(|_| count.fetch_add(1, Ordering::SeqCst));
            });
        }
    })
    .unwrap();
    assert_eq!(count.into_inner(), 6);
}

#[test]
fn a_thread_of_a_scope_has_its_name_and_stack() {
    thread::scope(|scope| {
        assert_eq!(format!("{scope:?}"), "Scope { .. }");
        let builder = scope
            .builder()
            .name("named".to_owned())
            .stack_size(64 * 1024);
        let handle = builder
            .spawn(|_| std::thread::current().name().map(str::to_owned))
            .unwrap();
        assert_eq!(handle.thread().name(), Some("named"));
        assert_eq!(format!("{handle:?}"), "ScopedJoinHandle { .. }");
        assert_eq!(handle.join().unwrap().as_deref(), Some("named"));
    })
    .unwrap();
}

#[test]
fn panics_of_threads_are_errors_of_the_scope() {
    let result = thread::scope(|scope| {
        scope.spawn(|_| panic!("one"));
        let joined = scope.spawn(|_| panic!("two"));
        assert!(joined.join().is_err());
    });
    let errors = result.unwrap_err();
    let errors = errors
        .downcast::<Vec<Box<dyn std::any::Any + Send>>>()
        .unwrap();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].downcast_ref::<&str>(), Some(&"one"));
}

#[test]
fn a_panic_of_the_closure_waits_for_the_threads() {
    let done = AtomicU32::new(0);
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let _ = thread::scope(|scope| {
            scope.spawn(|_| {
                std::thread::sleep(Duration::from_millis(20));
                done.store(1, Ordering::SeqCst);
            });
            panic!("of the closure");
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(done.into_inner(), 1);
}

#[test]
fn parking_and_unparking() {
    let parker = Parker::new();
    assert_eq!(format!("{parker:?}"), "Parker { .. }");
    let unparker = parker.unparker().clone();
    assert_eq!(format!("{unparker:?}"), "Unparker { .. }");
    parker.unparker().unpark();
    parker.park();
    parker.park_timeout(Duration::from_millis(1));
    parker.park_deadline(Instant::now() + Duration::from_millis(1));
    thread::scope(|scope| {
        scope.spawn(|_| unparker.unpark());
        parker.park();
    })
    .unwrap();
}

#[test]
fn parkers_go_through_pointers() {
    let parker = Parker::new();
    let raw = Unparker::into_raw(parker.unparker().clone());
    // A waker does this: what it makes of the pointer it does not drop.
    // SAFETY: from `into_raw`, and forgotten.
    let borrowed = std::mem::ManuallyDrop::new(unsafe { Unparker::from_raw(raw) });
    borrowed.unpark();
    // SAFETY: from `into_raw`, and made into a parker once.
    let parker = unsafe { Parker::from_raw(Parker::into_raw(parker)) };
    parker.park();
    // SAFETY: from `into_raw`.
    drop(unsafe { Unparker::from_raw(raw) });
}

#[test]
fn a_group_waits_for_its_clones() {
    let group = WaitGroup::default();
    assert!(format!("{group:?}").starts_with("WaitGroup {"));
    let done = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            let theirs = group.clone();
            let done = &done;
            scope.spawn(move |_| {
                *done.lock().unwrap() += 1;
                drop(theirs);
            });
        }
        group.wait();
        assert_eq!(*done.lock().unwrap(), 4);
    })
    .unwrap();
}

#[test]
fn a_sharded_lock_locks() {
    let mut lock = ShardedLock::new(1);
    {
        let first: ShardedLockReadGuard<'_, i32> = lock.read().unwrap();
        let second = lock.try_read().unwrap();
        assert_eq!(*first + *second, 2);
        assert!(lock.try_write().is_err());
    }
    {
        let mut guard: ShardedLockWriteGuard<'_, i32> = lock.write().unwrap();
        *guard += 1;
        assert!(lock.try_read().is_err());
    }
    *lock.get_mut().unwrap() += 1;
    assert!(!lock.is_poisoned());
    assert_eq!(lock.into_inner().unwrap(), 3);
    assert_eq!(*ShardedLock::from(5).read().unwrap(), 5);
    assert_eq!(*ShardedLock::<i32>::default().read().unwrap(), 0);
}

#[test]
fn the_rest_is_there() {
    assert_eq!(AtomicU32::new(3).load_consume(), 3);
    let cell = AtomicCell::new(1);
    cell.store(2);
    assert_eq!(cell.swap(3), 2);
    assert_eq!(*CachePadded::new(4), 4);
}
