// Every public item of parking_lot.

use std::thread;
use std::time::{Duration, Instant};

use super::parking_lot::lock_api::{RawMutex as _, RawMutexFair as _, RawMutexTimed as _};
use super::parking_lot::lock_api::{
    RawRwLock as _, RawRwLockDowngrade as _, RawRwLockFair as _, RawRwLockRecursive as _, RawRwLockUpgrade as _,
};
use super::parking_lot::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard, MappedReentrantMutexGuard, MappedRwLockReadGuard,
    MappedRwLockWriteGuard, Mutex, MutexGuard, Once, OnceState, RawFairMutex, RawMutex, RawRwLock, RawThreadId, ReentrantMutex,
    ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, WaitTimeoutResult, const_fair_mutex,
    const_mutex, const_reentrant_mutex, const_rwlock, lock_api,
};

const SOON: Duration = Duration::from_millis(5);

fn soon() -> Instant {
    Instant::now() + SOON
}

/// Runs `f` on another thread.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|s| s.spawn(f).join().unwrap())
}

static MUTEX: Mutex<i32> = Mutex::new(1);
static CONST_MUTEX: Mutex<i32> = const_mutex(1);
static FROM_RAW: Mutex<i32> = Mutex::from_raw(RawMutex::INIT, 1);
static CONST_NEW: Mutex<i32> = Mutex::const_new(RawMutex::INIT, 1);
static FAIR: FairMutex<i32> = const_fair_mutex(1);
static FAIR_FROM_RAW: FairMutex<i32> = FairMutex::const_new(RawFairMutex::INIT, 1);
static REENTRANT: ReentrantMutex<i32> = const_reentrant_mutex(1);
static REENTRANT_RAW: ReentrantMutex<i32> =
    ReentrantMutex::const_new(RawMutex::INIT, <RawThreadId as lock_api::GetThreadId>::INIT, 1);
static RWLOCK: RwLock<i32> = const_rwlock(1);
static RWLOCK_RAW: RwLock<i32> = RwLock::const_new(RawRwLock::INIT, 1);
static CONDVAR: Condvar = Condvar::new();
static ONCE: Once = Once::new();

#[test]
fn statics() {
    for mutex in [&MUTEX, &CONST_MUTEX, &FROM_RAW, &CONST_NEW] {
        assert_eq!(*mutex.lock(), 1);
    }
    for mutex in [&FAIR, &FAIR_FROM_RAW] {
        assert_eq!(*mutex.lock(), 1);
    }
    assert_eq!(*REENTRANT.lock() + *REENTRANT_RAW.lock() + *RWLOCK.read() + *RWLOCK_RAW.read(), 4);
    assert!(!CONDVAR.notify_one());
    ONCE.call_once(|| {});
    assert!(ONCE.state().done());
}

#[test]
fn a_mutex() {
    let mut mutex = Mutex::new(1);
    *mutex.get_mut() += 1;
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 2 }");
    {
        let mut guard: MutexGuard<'_, i32> = mutex.lock();
        *guard += 1;
        assert_eq!(format!("{guard} {guard:?}"), "3 3");
        assert!(mutex.is_locked());
        assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
        assert!(elsewhere(|| mutex.try_lock().is_none() && mutex.try_lock_for(SOON).is_none() && mutex.try_lock_until(soon()).is_none()));
        assert!(std::ptr::eq(MutexGuard::mutex(&guard), &mutex));
        assert_eq!(MutexGuard::unlocked(&mut guard, || elsewhere(|| *mutex.lock())), 3);
        assert_eq!(MutexGuard::unlocked_fair(&mut guard, || elsewhere(|| *mutex.lock())), 3);
        MutexGuard::bump(&mut guard);
        MutexGuard::unlock_fair(guard);
    }
    assert!(!mutex.is_locked());
    assert!(mutex.try_lock().is_some() && mutex.try_lock_for(SOON).is_some() && mutex.try_lock_until(soon()).is_some());
    std::mem::forget(mutex.lock());
    // SAFETY: held, the guard forgotten.
    unsafe {
        *mutex.data_ptr() += 1;
        assert_eq!(*mutex.make_guard_unchecked(), 4);
    }
    std::mem::forget(mutex.lock());
    // SAFETY: held, the guard forgotten.
    unsafe { mutex.force_unlock() };
    *MutexGuard::leak(mutex.lock()) += 1;
    // SAFETY: held, the guard leaked.
    unsafe { mutex.force_unlock_fair() };
    // SAFETY: no guard is around.
    unsafe {
        let raw: &RawMutex = mutex.raw();
        raw.lock();
        assert!(raw.is_locked() && !raw.try_lock());
        raw.bump();
        raw.unlock();
        assert!(raw.try_lock_for(SOON));
        raw.unlock_fair();
        assert!(raw.try_lock_until(soon()));
        raw.unlock();
    }
    assert_eq!(mutex.into_inner(), 5);
    assert_eq!(*Mutex::<i32>::default().lock(), *Mutex::from(0).lock());
}

#[test]
fn mapped_mutex_guards() {
    let mutex = Mutex::new((1, Some(2)));
    let first: MappedMutexGuard<'_, i32> = MutexGuard::map(mutex.lock(), |pair| &mut pair.0);
    let mut first = MappedMutexGuard::map(first, |first| first);
    *first += 1;
    assert_eq!(format!("{first} {first:?}"), "2 2");
    MappedMutexGuard::unlock_fair(first);
    let second = MutexGuard::try_map(mutex.lock(), |pair| pair.1.as_mut()).unwrap();
    let second = MappedMutexGuard::try_map(second, |_| None::<&mut i32>).unwrap_err();
    let (second, error) = MappedMutexGuard::try_map_or_err(second, |_| Err::<&mut i32, _>("no")).unwrap_err();
    assert_eq!((*second, error), (2, "no"));
    drop(second);
    let guard = MutexGuard::try_map(mutex.lock(), |_| None::<&mut i32>).unwrap_err();
    let (guard, error) = MutexGuard::try_map_or_err(guard, |_| Err::<&mut i32, _>("no")).unwrap_err();
    assert_eq!((guard.0, error), (2, "no"));
    assert_eq!(*MutexGuard::try_map_or_err(guard, |pair| Ok::<_, ()>(&mut pair.0)).unwrap(), 2);
    assert!(!mutex.is_locked());
}

#[test]
fn a_fair_mutex() {
    let mut mutex = FairMutex::from_raw(RawFairMutex::INIT, (1, 2));
    mutex.get_mut().0 += 1;
    let guard: FairMutexGuard<'_, _> = mutex.lock();
    assert!(mutex.try_lock().is_none());
    let mut mapped: MappedFairMutexGuard<'_, _> = FairMutexGuard::map(guard, |pair| &mut pair.0);
    *mapped += 1;
    drop(mapped);
    let mut guard = mutex.try_lock_for(SOON).unwrap();
    FairMutexGuard::bump(&mut guard);
    assert_eq!(FairMutexGuard::unlocked(&mut guard, || elsewhere(|| mutex.lock().0)), 3);
    drop(guard);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: (3, 2) }");
    // SAFETY: no guard is around.
    assert!(!unsafe { mutex.raw() }.is_locked());
    assert_eq!(mutex.into_inner(), (3, 2));
}

#[test]
fn a_reentrant_mutex() {
    let mut mutex = ReentrantMutex::new((1, 2));
    mutex.get_mut().0 += 1;
    let outer: ReentrantMutexGuard<'_, _> = mutex.lock();
    let mut inner = mutex.try_lock().unwrap();
    assert!(mutex.is_locked() && mutex.is_owned_by_current_thread());
    assert!(elsewhere(|| {
        !mutex.is_owned_by_current_thread()
            && mutex.try_lock().is_none()
            && mutex.try_lock_for(SOON).is_none()
            && mutex.try_lock_until(soon()).is_none()
    }));
    assert_eq!(ReentrantMutexGuard::unlocked(&mut inner, || mutex.lock().0), 2);
    assert!(std::ptr::eq(ReentrantMutexGuard::remutex(&inner), &mutex));
    ReentrantMutexGuard::bump(&mut inner);
    ReentrantMutexGuard::unlock_fair(inner);
    assert_eq!(format!("{outer:?}"), "(2, 2)");
    let mut outer = outer;
    assert_eq!(ReentrantMutexGuard::unlocked_fair(&mut outer, || elsewhere(|| mutex.lock().1)), 2);
    let mapped: MappedReentrantMutexGuard<'_, _> = ReentrantMutexGuard::map(outer, |pair| &pair.0);
    let mapped = MappedReentrantMutexGuard::map(mapped, |it| it);
    assert_eq!(format!("{mapped} {mapped:?}"), "2 2");
    let mapped = MappedReentrantMutexGuard::try_map(mapped, |_| None::<&i32>).unwrap_err();
    let (mapped, ()) = MappedReentrantMutexGuard::try_map_or_err(mapped, |_| Err::<&i32, _>(())).unwrap_err();
    MappedReentrantMutexGuard::unlock_fair(mapped);
    assert!(!mutex.is_locked());
    let guard = ReentrantMutexGuard::try_map(mutex.lock(), |_| None::<&i32>).unwrap_err();
    let (guard, ()) = ReentrantMutexGuard::try_map_or_err(guard, |_| Err::<&i32, _>(())).unwrap_err();
    std::mem::forget(guard);
    // SAFETY: held, the guard forgotten.
    unsafe {
        assert_eq!((*mutex.data_ptr()).0, 2);
        assert_eq!(mutex.make_guard_unchecked().0, 2);
        std::mem::forget(mutex.lock());
        mutex.force_unlock();
        std::mem::forget(mutex.try_lock_for(SOON));
        mutex.force_unlock_fair();
        assert!(!mutex.raw().is_locked());
    }
    assert_eq!(format!("{mutex:?}"), "ReentrantMutex { data: (2, 2) }");
    assert_eq!(mutex.into_inner(), (2, 2));
    assert_eq!(*ReentrantMutex::<i32>::default().lock(), *ReentrantMutex::from(0).lock());
}

#[test]
fn a_rwlock() {
    let mut rwlock = RwLock::new(1);
    *rwlock.get_mut() += 1;
    {
        let mut read: RwLockReadGuard<'_, i32> = rwlock.read();
        assert_eq!(format!("{read} {read:?} {rwlock:?}"), "2 2 RwLock { data: 2 }");
        assert!(rwlock.is_locked() && !rwlock.is_locked_exclusive());
        drop((rwlock.try_read().unwrap(), rwlock.read_recursive(), rwlock.try_read_recursive().unwrap()));
        drop((rwlock.try_read_for(SOON).unwrap(), rwlock.try_read_until(soon()).unwrap()));
        drop((rwlock.try_read_recursive_for(SOON).unwrap(), rwlock.try_read_recursive_until(soon()).unwrap()));
        assert!(rwlock.try_write().is_none() && rwlock.try_write_for(SOON).is_none() && rwlock.try_write_until(soon()).is_none());
        assert!(std::ptr::eq(RwLockReadGuard::rwlock(&read), &rwlock));
        assert_eq!(RwLockReadGuard::unlocked(&mut read, || *rwlock.write()), 2);
        assert_eq!(RwLockReadGuard::unlocked_fair(&mut read, || *rwlock.write()), 2);
        RwLockReadGuard::bump(&mut read);
        RwLockReadGuard::unlock_fair(read);
    }
    {
        let mut write: RwLockWriteGuard<'_, i32> = rwlock.write();
        *write += 1;
        assert_eq!(format!("{write} {write:?} {rwlock:?}"), "3 3 RwLock { data: <locked> }");
        assert!(rwlock.is_locked_exclusive() && rwlock.try_read().is_none() && rwlock.try_upgradable_read().is_none());
        assert!(std::ptr::eq(RwLockWriteGuard::rwlock(&write), &rwlock));
        assert_eq!(RwLockWriteGuard::unlocked(&mut write, || *rwlock.read()), 3);
        assert_eq!(RwLockWriteGuard::unlocked_fair(&mut write, || *rwlock.read()), 3);
        RwLockWriteGuard::bump(&mut write);
        let read = RwLockWriteGuard::downgrade(write);
        assert!(!rwlock.is_locked_exclusive() && rwlock.try_write().is_none());
        drop(read);
        RwLockWriteGuard::unlock_fair(rwlock.try_write().unwrap());
        drop(rwlock.try_write_for(SOON).unwrap());
        drop(rwlock.try_write_until(soon()).unwrap());
    }
    assert!(!rwlock.is_locked());
    std::mem::forget((rwlock.read(), rwlock.read()));
    // SAFETY: held as it says, the guards forgotten.
    unsafe {
        assert_eq!(*rwlock.make_read_guard_unchecked(), 3);
        rwlock.force_unlock_read();
        std::mem::forget(rwlock.read());
        rwlock.force_unlock_read_fair();
        std::mem::forget(rwlock.write());
        *rwlock.make_write_guard_unchecked() += 1;
        std::mem::forget(rwlock.write());
        rwlock.force_unlock_write();
        std::mem::forget(rwlock.write());
        rwlock.force_unlock_write_fair();
        std::mem::forget(rwlock.upgradable_read());
        assert_eq!(*rwlock.make_upgradable_guard_unchecked(), 4);
        let raw: &RawRwLock = rwlock.raw();
        raw.lock_shared();
        raw.lock_shared_recursive();
        raw.unlock_shared();
        raw.unlock_shared_fair();
        raw.lock_upgradable();
        raw.upgrade();
        raw.downgrade();
        raw.unlock_shared();
        assert_eq!(*rwlock.data_ptr(), 4);
    }
    assert!(!rwlock.is_locked());
    assert_eq!(rwlock.into_inner(), 4);
    assert_eq!(*RwLock::<i32>::default().read(), *RwLock::from(0).read());
    assert_eq!(*RwLock::from_raw(RawRwLock::INIT, 1).read(), 1);
}

#[test]
fn an_upgradable_read() {
    let rwlock = RwLock::new(1);
    let mut read: RwLockUpgradableReadGuard<'_, i32> = rwlock.upgradable_read();
    assert_eq!(format!("{read} {read:?}"), "1 1");
    assert!(rwlock.try_upgradable_read().is_none());
    assert!(rwlock.try_upgradable_read_for(SOON).is_none() && rwlock.try_upgradable_read_until(soon()).is_none());
    assert!(std::ptr::eq(RwLockUpgradableReadGuard::rwlock(&read), &rwlock));
    assert_eq!(RwLockUpgradableReadGuard::unlocked(&mut read, || *rwlock.write()), 1);
    assert_eq!(RwLockUpgradableReadGuard::unlocked_fair(&mut read, || *rwlock.write()), 1);
    RwLockUpgradableReadGuard::bump(&mut read);
    assert_eq!(read.with_upgraded(|it| std::mem::replace(it, 2)), 1);
    assert_eq!(read.try_with_upgraded(|it| std::mem::replace(it, 3)), Some(2));
    assert_eq!(read.try_with_upgraded_for(SOON, |it| std::mem::replace(it, 4)), Some(3));
    assert_eq!(read.try_with_upgraded_until(soon(), |it| std::mem::replace(it, 5)), Some(4));
    let other = rwlock.read();
    assert_eq!(read.try_with_upgraded(|_| ()), None);
    assert_eq!(read.try_with_upgraded_for(SOON, |_| ()), None);
    assert_eq!(read.try_with_upgraded_until(soon(), |_| ()), None);
    let read = RwLockUpgradableReadGuard::try_upgrade(read).unwrap_err();
    let read = RwLockUpgradableReadGuard::try_upgrade_for(read, SOON).unwrap_err();
    let read = RwLockUpgradableReadGuard::try_upgrade_until(read, soon()).unwrap_err();
    drop(other);
    let mut write = RwLockUpgradableReadGuard::upgrade(read);
    *write += 1;
    let read = RwLockWriteGuard::downgrade_to_upgradable(write);
    let write = RwLockUpgradableReadGuard::try_upgrade(read).unwrap();
    let read = RwLockWriteGuard::downgrade_to_upgradable(write);
    let write = RwLockUpgradableReadGuard::try_upgrade_for(read, SOON).unwrap();
    let read = RwLockWriteGuard::downgrade_to_upgradable(write);
    let write = RwLockUpgradableReadGuard::try_upgrade_until(read, soon()).unwrap();
    let read = RwLockUpgradableReadGuard::downgrade(RwLockWriteGuard::downgrade_to_upgradable(write));
    assert_eq!(*read, 6);
    drop((read, rwlock.try_upgradable_read().unwrap()));
    drop(rwlock.try_upgradable_read_for(SOON).unwrap());
    RwLockUpgradableReadGuard::unlock_fair(rwlock.try_upgradable_read_until(soon()).unwrap());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rwlock.upgradable_read().with_upgraded(|_| panic!("as it should"));
    }));
    assert!(panicked.is_err() && !rwlock.is_locked());
}

#[test]
fn mapped_rwlock_guards() {
    let rwlock = RwLock::new((1, Some(2)));
    let read: MappedRwLockReadGuard<'_, i32> = RwLockReadGuard::map(rwlock.read(), |pair| &pair.0);
    let read = MappedRwLockReadGuard::map(read, |it| it);
    assert_eq!(format!("{read} {read:?}"), "1 1");
    let read = MappedRwLockReadGuard::try_map(read, |_| None::<&i32>).unwrap_err();
    let (read, ()) = MappedRwLockReadGuard::try_map_or_else(read, |_| Err::<&i32, _>(())).unwrap_err();
    MappedRwLockReadGuard::unlock_fair(read);
    let read = RwLockReadGuard::try_map(rwlock.read(), |_| None::<&i32>).unwrap_err();
    let (read, ()) = RwLockReadGuard::try_map_or_err(read, |_| Err::<&i32, _>(())).unwrap_err();
    drop(read);
    let write: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(rwlock.write(), |pair| &mut pair.0);
    let mut write = MappedRwLockWriteGuard::map(write, |it| it);
    *write += 1;
    assert_eq!(format!("{write} {write:?}"), "2 2");
    let write = MappedRwLockWriteGuard::try_map(write, |_| None::<&mut i32>).unwrap_err();
    let (write, ()) = MappedRwLockWriteGuard::try_map_or_err(write, |_| Err::<&mut i32, _>(())).unwrap_err();
    MappedRwLockWriteGuard::unlock_fair(write);
    let write = RwLockWriteGuard::try_map(rwlock.write(), |_| None::<&mut i32>).unwrap_err();
    let (write, ()) = RwLockWriteGuard::try_map_or_err(write, |_| Err::<&mut i32, _>(())).unwrap_err();
    drop(write);
    assert!(!rwlock.is_locked());
}

#[test]
fn a_condvar() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::default());
    assert_eq!(format!("{condvar:?}"), "Condvar { .. }");
    let mut guard = mutex.lock();
    let result: WaitTimeoutResult = condvar.wait_for(&mut guard, SOON);
    assert!(result.timed_out() && condvar.wait_until(&mut guard, soon()).timed_out());
    assert!(condvar.wait_while_for(&mut guard, |_| true, SOON).timed_out());
    assert!(condvar.wait_while_until(&mut guard, |_| true, soon()).timed_out());
    assert!(!condvar.wait_while_for(&mut guard, |it| *it != 0, SOON).timed_out());
    assert!(!condvar.wait_while_until(&mut guard, |it| *it != 0, soon()).timed_out());
    assert_eq!(format!("{result:?}"), "WaitTimeoutResult(true)");
    drop(guard);
    thread::scope(|s| {
        let waiter = s.spawn(|| {
            let mut guard = mutex.lock();
            condvar.wait_while(&mut guard, |it| *it == 0);
            *guard
        });
        loop {
            *mutex.lock() = 7;
            if condvar.notify_all() == 1 || waiter.is_finished() {
                break;
            }
        }
        assert_eq!(waiter.join().unwrap(), 7);
    });
    thread::scope(|s| {
        let waiter = s.spawn(|| condvar.wait(&mut mutex.lock()));
        while !condvar.notify_one() {
            thread::yield_now();
        }
        waiter.join().unwrap();
    });
}

#[test]
fn a_condvar_with_two_mutexes_panics_and_leaves_the_lock_as_it_was() {
    let (one, two, condvar) = (Mutex::new(()), Mutex::new(()), Condvar::new());
    let held = std::sync::Barrier::new(2);
    thread::scope(|s| {
        let waiter = s.spawn(|| {
            let mut guard = one.lock();
            held.wait();
            condvar.wait(&mut guard);
        });
        // Once the lock can be taken, the waiter waits.
        held.wait();
        drop(one.lock());
        let wait = || condvar.wait_for(&mut two.lock(), Duration::from_secs(10));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait)).unwrap_err();
        assert!(panicked.downcast_ref::<&str>().is_some_and(|text| text.contains("more than one mutex")));
        assert!(!two.is_locked());
        while !condvar.notify_one() {}
        waiter.join().unwrap();
    });
}

#[test]
fn a_once() {
    let once = Once::default();
    assert_eq!((once.state(), format!("{once:?}")), (OnceState::New, "Once { state: New }".to_owned()));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| once.call_once(|| panic!("as it should"))));
    assert!(panicked.is_err() && once.state().poisoned());
    once.call_once_force(|state| {
        assert_eq!(state, OnceState::Poisoned);
        assert_eq!(once.state(), OnceState::InProgress);
    });
    once.call_once(|| unreachable!());
    assert_eq!(once.state(), OnceState::Done);
}

#[test]
fn an_unsized_content() {
    let mutex: &Mutex<[i32]> = &Mutex::new([1, 2]);
    mutex.lock()[0] = 3;
    let rwlock: Box<RwLock<dyn std::fmt::Debug + Send + Sync>> = Box::new(RwLock::new(4));
    let reentrant: &ReentrantMutex<[u8]> = &ReentrantMutex::new([1]);
    assert_eq!(format!("{:?} {:?} {:?}", &*mutex.lock(), rwlock.read(), reentrant.lock()), "[3, 2] 4 [1]");
}

#[test]
fn a_raw_lock_of_ones_own() {
    let mutex = lock_api::Mutex::<RawMutex, i32>::new(1);
    *mutex.lock() += 1;
    let rwlock = lock_api::RwLock::<RawRwLock, i32>::new(1);
    *rwlock.write() += *mutex.lock();
    assert_eq!(*rwlock.read(), 3);
}

#[test]
fn auto_traits() {
    fn send_and_sync<T: Send + Sync>() {}
    fn sync<T: Sync>() {}
    send_and_sync::<(Mutex<std::cell::Cell<i32>>, FairMutex<std::cell::Cell<i32>>, ReentrantMutex<std::cell::Cell<i32>>)>();
    send_and_sync::<(RwLock<i32>, Condvar, Once, RawMutex, RawFairMutex, RawRwLock, RawThreadId)>();
    sync::<(MutexGuard<'_, i32>, MappedMutexGuard<'_, i32>, FairMutexGuard<'_, i32>, ReentrantMutexGuard<'_, i32>)>();
    sync::<(RwLockReadGuard<'_, i32>, RwLockWriteGuard<'_, i32>, RwLockUpgradableReadGuard<'_, i32>, MappedRwLockReadGuard<'_, i32>)>();
}

#[cfg(feature = "parking_lot-send_guard")]
#[test]
fn a_guard_that_is_sent() {
    let (mutex, rwlock) = (Mutex::new(1), RwLock::new(1));
    let (guard, read) = (mutex.lock(), rwlock.read());
    elsewhere(move || drop((guard, read)));
    assert!(!mutex.is_locked() && !rwlock.is_locked());
}

#[cfg(feature = "parking_lot-serde")]
#[test]
fn a_lock_in_serialized_form_is_its_content() {
    let text = serde_json::to_string(&(Mutex::new(1), FairMutex::new(2), ReentrantMutex::new(3), RwLock::new(4))).unwrap();
    assert_eq!(text, "[1,2,3,4]");
    let (a, b, c, d): (Mutex<i32>, FairMutex<i32>, ReentrantMutex<i32>, RwLock<i32>) = serde_json::from_str(&text).unwrap();
    assert_eq!(a.into_inner() + b.into_inner() + c.into_inner() + d.into_inner(), 10);
}
