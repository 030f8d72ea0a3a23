// The guards that have their lock in an `Arc`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::parking_lot::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard, FairMutex, Mutex,
    RawFairMutex, RawMutex, RawRwLock, RawThreadId, ReentrantMutex, RwLock,
};

const SOON: Duration = Duration::from_millis(5);

fn soon() -> Instant {
    Instant::now() + SOON
}

#[test]
fn a_mutex() {
    let mutex = Arc::new(Mutex::new(1));
    let mut guard: ArcMutexGuard<RawMutex, i32> = mutex.lock_arc();
    *guard += 1;
    assert!(mutex.try_lock_arc().is_none() && mutex.try_lock_arc_for(SOON).is_none() && mutex.try_lock_arc_until(soon()).is_none());
    assert!(Arc::ptr_eq(ArcMutexGuard::mutex(&guard), &mutex));
    assert_eq!(ArcMutexGuard::unlocked(&mut guard, || *mutex.lock()), 2);
    assert_eq!(ArcMutexGuard::unlocked_fair(&mut guard, || *mutex.lock()), 2);
    ArcMutexGuard::bump(&mut guard);
    assert_eq!(*guard, 2);
    assert!(Arc::ptr_eq(&ArcMutexGuard::into_arc(guard), &mutex));
    assert!(Arc::ptr_eq(&ArcMutexGuard::into_arc_fair(mutex.try_lock_arc().unwrap()), &mutex));
    ArcMutexGuard::unlock_fair(mutex.try_lock_arc_for(SOON).unwrap());
    drop(mutex.try_lock_arc_until(soon()).unwrap());
    assert_eq!((Arc::strong_count(&mutex), mutex.is_locked()), (1, false));
    let fair: ArcMutexGuard<RawFairMutex, i32> = Arc::new(FairMutex::new(1)).lock_arc();
    assert_eq!(*fair, 1);
}

#[test]
fn a_reentrant_mutex() {
    let mutex = Arc::new(ReentrantMutex::new(1));
    let mut guard: ArcReentrantMutexGuard<RawMutex, RawThreadId, i32> = mutex.lock_arc();
    drop((mutex.try_lock_arc().unwrap(), mutex.try_lock_arc_for(SOON).unwrap(), mutex.try_lock_arc_until(soon()).unwrap()));
    assert!(Arc::ptr_eq(ArcReentrantMutexGuard::remutex(&guard), &mutex));
    assert_eq!(ArcReentrantMutexGuard::unlocked(&mut guard, || *mutex.lock()), 1);
    assert_eq!(ArcReentrantMutexGuard::unlocked_fair(&mut guard, || *mutex.lock()), 1);
    ArcReentrantMutexGuard::bump(&mut guard);
    std::mem::forget(mutex.lock());
    // SAFETY: held once more, that guard forgotten.
    drop(unsafe { mutex.make_arc_guard_unchecked() });
    assert_eq!(*guard, 1);
    drop(ArcReentrantMutexGuard::into_arc(guard));
    drop(ArcReentrantMutexGuard::into_arc_fair(mutex.lock_arc()));
    ArcReentrantMutexGuard::unlock_fair(mutex.lock_arc());
    assert_eq!((Arc::strong_count(&mutex), mutex.is_locked()), (1, false));
}

#[test]
fn a_rwlock() {
    let rwlock = Arc::new(RwLock::new(1));
    let mut read: ArcRwLockReadGuard<RawRwLock, i32> = rwlock.read_arc();
    drop((rwlock.try_read_arc().unwrap(), rwlock.try_read_arc_for(SOON).unwrap(), rwlock.try_read_arc_until(soon()).unwrap()));
    drop((rwlock.read_arc_recursive(), rwlock.try_read_recursive_arc().unwrap()));
    drop((rwlock.try_read_arc_recursive_for(SOON).unwrap(), rwlock.try_read_arc_recursive_until(soon()).unwrap()));
    assert!(rwlock.try_write_arc().is_none() && rwlock.try_write_arc_for(SOON).is_none() && rwlock.try_write_arc_until(soon()).is_none());
    assert!(Arc::ptr_eq(ArcRwLockReadGuard::rwlock(&read), &rwlock));
    assert_eq!(ArcRwLockReadGuard::unlocked(&mut read, || *rwlock.write()), 1);
    assert_eq!(ArcRwLockReadGuard::unlocked_fair(&mut read, || *rwlock.write()), 1);
    ArcRwLockReadGuard::bump(&mut read);
    assert_eq!(format!("{read} {read:?}"), "1 1");
    drop(ArcRwLockReadGuard::into_arc(read));
    drop(ArcRwLockReadGuard::into_arc_fair(rwlock.read_arc()));
    ArcRwLockReadGuard::unlock_fair(rwlock.read_arc());

    let mut write: ArcRwLockWriteGuard<RawRwLock, i32> = rwlock.write_arc();
    *write += 1;
    assert!(rwlock.try_read_arc().is_none() && rwlock.try_upgradable_read_arc().is_none());
    assert!(Arc::ptr_eq(ArcRwLockWriteGuard::rwlock(&write), &rwlock));
    assert_eq!(ArcRwLockWriteGuard::unlocked(&mut write, || *rwlock.read()), 2);
    assert_eq!(ArcRwLockWriteGuard::unlocked_fair(&mut write, || *rwlock.read()), 2);
    ArcRwLockWriteGuard::bump(&mut write);
    assert_eq!(format!("{write} {write:?}"), "2 2");
    drop(ArcRwLockWriteGuard::downgrade(write));
    drop(ArcRwLockWriteGuard::into_arc(rwlock.try_write_arc().unwrap()));
    drop(ArcRwLockWriteGuard::into_arc_fair(rwlock.try_write_arc_for(SOON).unwrap()));
    ArcRwLockWriteGuard::unlock_fair(rwlock.try_write_arc_until(soon()).unwrap());

    std::mem::forget((rwlock.read(), rwlock.upgradable_read()));
    // SAFETY: held in these two ways, the guards forgotten.
    unsafe { drop((rwlock.make_arc_read_guard_unchecked(), rwlock.make_upgradable_arc_guard_unchecked())) };
    std::mem::forget(rwlock.write());
    // SAFETY: held so, the guard forgotten.
    drop(unsafe { rwlock.make_arc_write_guard_unchecked() });
    assert_eq!((Arc::strong_count(&rwlock), rwlock.is_locked()), (1, false));
}

#[test]
fn an_upgradable_read() {
    let rwlock = Arc::new(RwLock::new(1));
    let mut read: ArcRwLockUpgradableReadGuard<RawRwLock, i32> = rwlock.upgradable_read_arc();
    assert!(rwlock.try_upgradable_read_arc().is_none());
    assert!(rwlock.try_upgradable_read_arc_for(SOON).is_none() && rwlock.try_upgradable_read_arc_until(soon()).is_none());
    assert!(Arc::ptr_eq(ArcRwLockUpgradableReadGuard::rwlock(&read), &rwlock));
    assert_eq!(ArcRwLockUpgradableReadGuard::unlocked(&mut read, || *rwlock.write()), 1);
    assert_eq!(ArcRwLockUpgradableReadGuard::unlocked_fair(&mut read, || *rwlock.write()), 1);
    ArcRwLockUpgradableReadGuard::bump(&mut read);
    assert_eq!(read.with_upgraded(|it| std::mem::replace(it, 2)), 1);
    assert_eq!(read.try_with_upgraded(|it| std::mem::replace(it, 3)), Some(2));
    assert_eq!(read.try_with_upgraded_for(SOON, |it| std::mem::replace(it, 4)), Some(3));
    assert_eq!(read.try_with_upgraded_until(soon(), |it| std::mem::replace(it, 5)), Some(4));
    assert_eq!(format!("{read} {read:?}"), "5 5");
    let other = rwlock.read();
    let read = ArcRwLockUpgradableReadGuard::try_upgrade(read).unwrap_err();
    let read = ArcRwLockUpgradableReadGuard::try_upgrade_for(read, SOON).unwrap_err();
    let read = ArcRwLockUpgradableReadGuard::try_upgrade_until(read, soon()).unwrap_err();
    drop(other);
    let write = ArcRwLockUpgradableReadGuard::upgrade(read);
    let write = ArcRwLockUpgradableReadGuard::try_upgrade(ArcRwLockWriteGuard::downgrade_to_upgradable(write)).unwrap();
    let write = ArcRwLockUpgradableReadGuard::try_upgrade_for(ArcRwLockWriteGuard::downgrade_to_upgradable(write), SOON).unwrap();
    let write = ArcRwLockUpgradableReadGuard::try_upgrade_until(ArcRwLockWriteGuard::downgrade_to_upgradable(write), soon()).unwrap();
    let read = ArcRwLockUpgradableReadGuard::downgrade(ArcRwLockWriteGuard::downgrade_to_upgradable(write));
    assert_eq!(*read, 5);
    drop(read);
    drop(ArcRwLockUpgradableReadGuard::into_arc(rwlock.try_upgradable_read_arc().unwrap()));
    drop(ArcRwLockUpgradableReadGuard::into_arc_fair(rwlock.try_upgradable_read_arc_for(SOON).unwrap()));
    ArcRwLockUpgradableReadGuard::unlock_fair(rwlock.try_upgradable_read_arc_until(soon()).unwrap());
    assert_eq!((Arc::strong_count(&rwlock), rwlock.is_locked()), (1, false));
}
