//! Guards that have their lock in an `Arc`, and so no lifetime.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::parking_lot::RawThreadId;
use ::parking_lot::lock_api::{
    self, GetThreadId, RawRwLockDowngrade as _, RawRwLockUpgrade as _,
    RawRwLockUpgradeDowngrade as _, RawRwLockUpgradeTimed as _,
};

use super::guard::{arc_guard, guard_traits, outside, unlocked};
use super::mutex::{AnyMutex, AnyMutexGuard};
use super::raw::{Raw, RawMutex, RawRwLock, Real, at};
use super::remutex::{ReentrantMutex, ReentrantMutexGuard};
use super::rwlock::{
    RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, while_upgraded,
};
use crate::record::{Holder, Object, pen};

/// [`parking_lot::ArcMutexGuard`](::parking_lot::ArcMutexGuard), tracked.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct ArcMutexGuard<R: lock_api::RawMutex, T: ?Sized> {
    holder: Holder,
    mutex: Arc<AnyMutex<R, T>>,
    /// Neither `Send` nor `Sync` by itself.
    marker: PhantomData<*const ()>,
}

// SAFETY: as lock_api's: the guard is a mutable reference, and may be sent where the lock allows
// it.
unsafe impl<R: lock_api::RawMutex + Send + Sync, T: Send + ?Sized> Send for ArcMutexGuard<R, T> where
    R::GuardMarker: Send
{
}

// SAFETY: as lock_api's: the guard shared is a reference shared.
unsafe impl<R: lock_api::RawMutex + Sync, T: Sync + ?Sized> Sync for ArcMutexGuard<R, T> where
    R::GuardMarker: Sync
{
}

/// [`parking_lot::ArcReentrantMutexGuard`](::parking_lot::ArcReentrantMutexGuard), tracked.
#[must_use = "if unused the ReentrantMutex will immediately unlock"]
pub struct ArcReentrantMutexGuard<R: lock_api::RawMutex, G: GetThreadId, T: ?Sized> {
    holder: Holder,
    remutex: Arc<ReentrantMutex<T>>,
    /// Never `Send`.
    marker: PhantomData<(R, G, *const ())>,
}

// SAFETY: the guard shared is a reference shared.
unsafe impl<R: lock_api::RawMutex + Sync, G: GetThreadId + Sync, T: Sync + ?Sized> Sync
    for ArcReentrantMutexGuard<R, G, T>
{
}

/// [`parking_lot::ArcRwLockReadGuard`](::parking_lot::ArcRwLockReadGuard), tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct ArcRwLockReadGuard<R: lock_api::RawRwLock, T: ?Sized> {
    holder: Holder,
    rwlock: Arc<RwLock<T>>,
    marker: PhantomData<R::GuardMarker>,
}

/// [`parking_lot::ArcRwLockWriteGuard`](::parking_lot::ArcRwLockWriteGuard), tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct ArcRwLockWriteGuard<R: lock_api::RawRwLock, T: ?Sized> {
    holder: Holder,
    rwlock: Arc<RwLock<T>>,
    marker: PhantomData<R::GuardMarker>,
}

/// [`parking_lot::ArcRwLockUpgradableReadGuard`](::parking_lot::ArcRwLockUpgradableReadGuard),
/// tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct ArcRwLockUpgradableReadGuard<R: lock_api::RawRwLockUpgrade, T: ?Sized> {
    holder: Holder,
    rwlock: Arc<RwLock<T>>,
    marker: PhantomData<R::GuardMarker>,
}

/// `from guard: field`: takes the lock's hold over from a guard that borrows it.
macro_rules! takes_over {
    ($([$($generics:tt)*] $Arc:ty, $Guard:ty, $lock:ident: $Lock:ty;)*) => {$(
        impl<$($generics)*> $Arc {
            #[inline]
            fn take_over($lock: &Arc<$Lock>, guard: $Guard) -> Self {
                std::mem::forget(guard.inner);
                Self::of((guard.holder, Arc::clone($lock)))
            }
        }
    )*};
}

takes_over! {
    [L: Real, T: ?Sized] ArcMutexGuard<Raw<L>, T>, AnyMutexGuard<'_, Raw<L>, T>, mutex: AnyMutex<Raw<L>, T>;
    [T: ?Sized] ArcReentrantMutexGuard<RawMutex, RawThreadId, T>, ReentrantMutexGuard<'_, T>, remutex: ReentrantMutex<T>;
    [T: ?Sized] ArcRwLockReadGuard<RawRwLock, T>, RwLockReadGuard<'_, T>, rwlock: RwLock<T>;
    [T: ?Sized] ArcRwLockWriteGuard<RawRwLock, T>, RwLockWriteGuard<'_, T>, rwlock: RwLock<T>;
    [T: ?Sized] ArcRwLockUpgradableReadGuard<RawRwLock, T>, RwLockUpgradableReadGuard<'_, T>, rwlock: RwLock<T>;
}

/// `fn name(argument) -> guard = the way that borrows`: the ways to take a lock through an `Arc`.
macro_rules! arc_ways {
    ($(fn $name:ident($($argument:ident: $Type:ty)?) -> $Guard:ty = $borrowing:ident;)*) => {$(
        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn $name(self: &Arc<Self> $(, $argument: $Type)?) -> Option<$Guard> {
            let guard = self.$borrowing($($argument)?)?;
            Some(<$Guard>::take_over(self, guard))
        }
    )*};
    (always $(fn $name:ident() -> $Guard:ty = $borrowing:ident;)*) => {$(
        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn $name(self: &Arc<Self>) -> $Guard {
            let guard = self.$borrowing();
            <$Guard>::take_over(self, guard)
        }
    )*};
    (unsafe $(fn $name:ident() -> $Guard:ty = $borrowing:ident;)*) => {$(
        /// As parking_lot's.
        ///
        /// # Safety
        ///
        /// As parking_lot's: the strand must hold the lock, and no other guard of that hold be
        /// around.
        #[inline]
        pub unsafe fn $name(self: &Arc<Self>) -> $Guard {
            // SAFETY: the caller's.
            let guard = unsafe { self.$borrowing() };
            <$Guard>::take_over(self, guard)
        }
    )*};
}

impl<L: Real, T: ?Sized> AnyMutex<Raw<L>, T> {
    arc_ways! { always
        fn lock_arc() -> ArcMutexGuard<Raw<L>, T> = lock;
    }

    arc_ways! {
        fn try_lock_arc() -> ArcMutexGuard<Raw<L>, T> = try_lock;
        fn try_lock_arc_for(timeout: Duration) -> ArcMutexGuard<Raw<L>, T> = try_lock_for;
        fn try_lock_arc_until(timeout: Instant) -> ArcMutexGuard<Raw<L>, T> = try_lock_until;
    }
}

impl<T: ?Sized> ReentrantMutex<T> {
    arc_ways! { unsafe
        fn make_arc_guard_unchecked() -> ArcReentrantMutexGuard<RawMutex, RawThreadId, T> = make_guard_unchecked;
    }

    arc_ways! { always
        fn lock_arc() -> ArcReentrantMutexGuard<RawMutex, RawThreadId, T> = lock;
    }

    arc_ways! {
        fn try_lock_arc() -> ArcReentrantMutexGuard<RawMutex, RawThreadId, T> = try_lock;
        fn try_lock_arc_for(timeout: Duration) -> ArcReentrantMutexGuard<RawMutex, RawThreadId, T> = try_lock_for;
        fn try_lock_arc_until(timeout: Instant) -> ArcReentrantMutexGuard<RawMutex, RawThreadId, T> = try_lock_until;
    }
}

type Read<T> = ArcRwLockReadGuard<RawRwLock, T>;
type Write<T> = ArcRwLockWriteGuard<RawRwLock, T>;
type Upgradable<T> = ArcRwLockUpgradableReadGuard<RawRwLock, T>;

impl<T: ?Sized> RwLock<T> {
    arc_ways! { unsafe
        fn make_arc_read_guard_unchecked() -> Read<T> = make_read_guard_unchecked;
        fn make_arc_write_guard_unchecked() -> Write<T> = make_write_guard_unchecked;
        fn make_upgradable_arc_guard_unchecked() -> Upgradable<T> = make_upgradable_guard_unchecked;
    }

    arc_ways! { always
        fn read_arc() -> Read<T> = read;
        fn read_arc_recursive() -> Read<T> = read_recursive;
        fn upgradable_read_arc() -> Upgradable<T> = upgradable_read;
        fn write_arc() -> Write<T> = write;
    }

    arc_ways! {
        fn try_read_arc() -> Read<T> = try_read;
        fn try_read_arc_for(timeout: Duration) -> Read<T> = try_read_for;
        fn try_read_arc_until(timeout: Instant) -> Read<T> = try_read_until;
        fn try_read_recursive_arc() -> Read<T> = try_read_recursive;
        fn try_read_arc_recursive_for(timeout: Duration) -> Read<T> = try_read_recursive_for;
        fn try_read_arc_recursive_until(timeout: Instant) -> Read<T> = try_read_recursive_until;
        fn try_upgradable_read_arc() -> Upgradable<T> = try_upgradable_read;
        fn try_upgradable_read_arc_for(timeout: Duration) -> Upgradable<T> = try_upgradable_read_for;
        fn try_upgradable_read_arc_until(timeout: Instant) -> Upgradable<T> = try_upgradable_read_until;
        fn try_write_arc() -> Write<T> = try_write;
        fn try_write_arc_for(timeout: Duration) -> Write<T> = try_write_for;
        fn try_write_arc_until(timeout: Instant) -> Write<T> = try_write_until;
    }
}

arc_guard! {
    [L: Real, T: ?Sized] ArcMutexGuard<Raw<L>, T>, mutex: AnyMutex<Raw<L>, T>;
    MutexGuard, make_guard_unchecked, force_unlock, force_unlock_fair, relock
}

arc_guard! {
    [T: ?Sized] ArcReentrantMutexGuard<RawMutex, RawThreadId, T>, remutex: ReentrantMutex<T>;
    ReentrantMutexGuard, make_guard_unchecked, force_unlock, force_unlock_fair, relock
}

arc_guard! {
    [T: ?Sized] ArcRwLockReadGuard<RawRwLock, T>, rwlock: RwLock<T>;
    RwLockReadGuard, make_read_guard_unchecked, force_unlock_read, force_unlock_read_fair, relock_read
}

arc_guard! {
    [T: ?Sized] ArcRwLockWriteGuard<RawRwLock, T>, rwlock: RwLock<T>;
    RwLockWriteGuard, make_write_guard_unchecked, force_unlock_write, force_unlock_write_fair, relock_write
}

arc_guard! {
    [T: ?Sized] ArcRwLockUpgradableReadGuard<RawRwLock, T>, rwlock: RwLock<T>;
    RwLockUpgradableReadGuard, make_upgradable_guard_unchecked,
    force_unlock_upgradable, force_unlock_upgradable_fair, relock_upgradable
}

/// Guards that write.
macro_rules! peeks_mut {
    ($([$($generics:tt)*] $Guard:ty, $lock:ident;)*) => {$(
        impl<$($generics)*> $Guard {
            #[inline]
            fn peek_mut(&mut self) -> &mut T {
                // SAFETY: the lock is held, by nobody else.
                unsafe { &mut *self.$lock.data_ptr() }
            }
        }
    )*};
}

peeks_mut! {
    [L: Real, T: ?Sized] ArcMutexGuard<Raw<L>, T>, mutex;
    [T: ?Sized] ArcRwLockWriteGuard<RawRwLock, T>, rwlock;
}

impl<T: ?Sized> Write<T> {
    /// As parking_lot's.
    #[track_caller]
    pub fn downgrade(s: Self) -> Read<T> {
        // SAFETY: a guard holds the lock.
        unsafe { s.rwlock.tracked().downgrade() };
        Read::of(s.into_parts())
    }

    /// As parking_lot's.
    #[track_caller]
    pub fn downgrade_to_upgradable(s: Self) -> Upgradable<T> {
        // SAFETY: a guard holds the lock.
        unsafe { s.rwlock.tracked().downgrade_to_upgradable() };
        Upgradable::of(s.into_parts())
    }
}

/// The ways to upgrade that may fail.
macro_rules! upgrades {
    ($($name:ident, $with:ident($($argument:ident: $Type:ty)?);)*) => {$(
        /// As parking_lot's.
        #[track_caller]
        pub fn $name(s: Self $(, $argument: $Type)?) -> Result<Write<T>, Self> {
            // SAFETY: a guard holds the lock.
            if !unsafe { s.rwlock.tracked().$name($($argument)?) } {
                return Err(s);
            }
            Ok(Write::of(s.into_parts()))
        }

        /// As parking_lot's. Counts as a write.
        #[track_caller]
        pub fn $with<Ret, F: FnOnce(&mut T) -> Ret>(&mut self $(, $argument: $Type)?, f: F) -> Option<Ret> {
            let site = Location::caller();
            // SAFETY: a guard holds the lock.
            let upgraded = unsafe { self.rwlock.tracked().$name($($argument)?) };
            upgraded.then(|| while_upgraded(&self.rwlock, &self.holder, site, f))
        }
    )*};
}

impl<T: ?Sized> Upgradable<T> {
    /// As parking_lot's.
    #[track_caller]
    pub fn upgrade(s: Self) -> Write<T> {
        // SAFETY: a guard holds the lock.
        unsafe { s.rwlock.tracked().upgrade() };
        Write::of(s.into_parts())
    }

    upgrades! {
        try_upgrade, try_with_upgraded();
        try_upgrade_for, try_with_upgraded_for(timeout: Duration);
        try_upgrade_until, try_with_upgraded_until(timeout: Instant);
    }

    /// As parking_lot's.
    pub fn downgrade(s: Self) -> Read<T> {
        // SAFETY: a guard holds the lock.
        unsafe { s.rwlock.tracked().downgrade_upgradable() };
        Read::of(s.into_parts())
    }

    /// As parking_lot's. Counts as a write.
    #[track_caller]
    pub fn with_upgraded<Ret, F: FnOnce(&mut T) -> Ret>(&mut self, f: F) -> Ret {
        // SAFETY: a guard holds the lock.
        unsafe { self.rwlock.tracked().upgrade() };
        while_upgraded(&self.rwlock, &self.holder, Location::caller(), f)
    }
}

guard_traits! {
    [L: Real, T: ?Sized] ArcMutexGuard<Raw<L>, T>, writes;
    [T: ?Sized] ArcReentrantMutexGuard<RawMutex, RawThreadId, T>, reads;
    [T: ?Sized] ArcRwLockReadGuard<RawRwLock, T>, reads;
    [T: ?Sized] ArcRwLockWriteGuard<RawRwLock, T>, writes;
    [T: ?Sized] ArcRwLockUpgradableReadGuard<RawRwLock, T>, reads;
}

/// `[generics] guard, what gives its lock back`.
macro_rules! drops {
    ($([$($generics:tt)*] $Guard:ty, $lock:ident.$($unlock:tt).*;)*) => {$(
        impl<$($generics)*> Drop for $Guard {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: a guard holds the lock.
                unsafe { self.$lock.$($unlock).*() }
            }
        }
    )*};
}

drops! {
    [R: lock_api::RawMutex, T: ?Sized] ArcMutexGuard<R, T>, mutex.0.force_unlock;
    [R: lock_api::RawMutex, G: GetThreadId, T: ?Sized] ArcReentrantMutexGuard<R, G, T>,
        remutex.force_unlock;
    [R: lock_api::RawRwLock, T: ?Sized] ArcRwLockReadGuard<R, T>, rwlock.force_unlock_read;
    [R: lock_api::RawRwLock, T: ?Sized] ArcRwLockWriteGuard<R, T>, rwlock.force_unlock_write;
    [R: lock_api::RawRwLockUpgrade, T: ?Sized] ArcRwLockUpgradableReadGuard<R, T>,
        rwlock.force_unlock_upgradable;
}
