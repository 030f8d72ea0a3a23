use std::any::type_name;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::parking_lot::lock_api::{
    self, RawRwLock as _, RawRwLockRecursive as _, RawRwLockRecursiveTimed as _,
    RawRwLockTimed as _, RawRwLockUpgrade as _, RawRwLockUpgradeDowngrade as _,
    RawRwLockUpgradeFair as _, RawRwLockUpgradeTimed as _,
};

use super::guard::{
    guard_traits, lock_methods, lock_traits, mapped_guard, maps, outside, unlocked, yields,
};
use super::raw::{Forever, Hold, RawRwLock, Site, at, named};
use crate::record::{Holder, Object, Pen, pen};

/// [`parking_lot::RwLock`](::parking_lot::RwLock), tracked.
///
/// An upgradable read is a shared hold, and an upgrade or downgrade changes the kind of the one
/// hold that there is.
#[repr(transparent)]
pub struct RwLock<T: ?Sized>(pub(super) lock_api::RwLock<RawRwLock, T>);

/// [`parking_lot::RwLockReadGuard`](::parking_lot::RwLockReadGuard), tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    pub(super) holder: Holder,
    pub(super) inner: lock_api::RwLockReadGuard<'a, RawRwLock, T>,
}

/// [`parking_lot::RwLockWriteGuard`](::parking_lot::RwLockWriteGuard), tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    pub(super) holder: Holder,
    pub(super) inner: lock_api::RwLockWriteGuard<'a, RawRwLock, T>,
}

/// [`parking_lot::RwLockUpgradableReadGuard`](::parking_lot::RwLockUpgradableReadGuard), tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockUpgradableReadGuard<'a, T: ?Sized> {
    pub(super) holder: Holder,
    pub(super) inner: lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>,
}

/// [`parking_lot::MappedRwLockReadGuard`](::parking_lot::MappedRwLockReadGuard), tracked. Its
/// accesses are accesses of the lock's content.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct MappedRwLockReadGuard<'a, T: ?Sized> {
    object: &'a Object,
    holder: Holder,
    inner: lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>,
}

/// [`parking_lot::MappedRwLockWriteGuard`](::parking_lot::MappedRwLockWriteGuard), tracked. Its
/// accesses are accesses of the lock's content.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct MappedRwLockWriteGuard<'a, T: ?Sized> {
    object: &'a Object,
    holder: Holder,
    inner: lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>,
}

/// As parking_lot's; remembers where it was called.
#[track_caller]
pub const fn const_rwlock<T>(val: T) -> RwLock<T> {
    RwLock::new(val)
}

impl<T> RwLock<T> {
    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn new(val: T) -> Self {
        Self::from_raw(RawRwLock::new(), val)
    }

    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn from_raw(raw_rwlock: RawRwLock, val: T) -> Self {
        RwLock(lock_api::RwLock::from_raw(
            raw_rwlock.around::<T>(type_name::<named::RwLock<T>>),
            val,
        ))
    }

    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn const_new(raw_rwlock: RawRwLock, val: T) -> Self {
        Self::from_raw(raw_rwlock, val)
    }

    /// As parking_lot's.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

/// `fn name(argument) -> guard, made by, a hold = the real lock's way`: the ways to take the lock
/// that may fail.
macro_rules! tries {
    ($(fn $name:ident($($argument:ident: $Type:ty)?) -> $Guard:ident, $make:ident, $hold:ident = $how:ident;)*) => {$(
        /// As parking_lot's.
        #[inline]
        #[track_caller]
        #[allow(unused_parens, reason = "the pattern is a name or nothing")]
        pub fn $name(&self $(, $argument: $Type)?) -> Option<$Guard<'_, T>> {
            let how = |real: &::parking_lot::RawRwLock, ($($argument)?)| real.$how($($argument)?);
            let (pen, taken) = self.tracked().take(Hold::$hold, ($($argument)?), Location::caller(), how);
            // SAFETY: the lock was taken.
            taken.then(|| unsafe { self.$make(pen) })
        }
    )*};
}

/// The same for those that cannot fail.
macro_rules! takes {
    ($(fn $name:ident() -> $Guard:ident, $make:ident, $hold:ident = $how:ident;)*) => {$(
        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn $name(&self) -> $Guard<'_, T> {
            let (pen, _) = self.tracked().take(Hold::$hold, Forever, Location::caller(), |real, Forever| {
                real.$how();
                true
            });
            // SAFETY: the lock was taken.
            unsafe { self.$make(pen) }
        }
    )*};
}

/// `public maker, private maker -> guard`: guards of a lock that is held.
macro_rules! makes {
    ($(fn $name:ident, $make:ident -> $Guard:ident;)*) => {$(
        /// As parking_lot's.
        ///
        /// # Safety
        ///
        /// As parking_lot's: the strand must hold the lock, and no other guard of that hold be
        /// around.
        #[inline]
        pub unsafe fn $name(&self) -> $Guard<'_, T> {
            // SAFETY: the caller's.
            unsafe { self.$make(pen()) }
        }

        #[inline]
        unsafe fn $make(&self, pen: Option<Pen>) -> $Guard<'_, T> {
            // SAFETY: the caller's.
            let inner = unsafe { self.0.$name() };
            $Guard { holder: Holder::sendable(pen), inner }
        }
    )*};
}

impl<T: ?Sized> RwLock<T> {
    /// The lock around what lock_api has.
    #[inline]
    fn wrap(inner: &lock_api::RwLock<RawRwLock, T>) -> &Self {
        let inner: *const lock_api::RwLock<RawRwLock, T> = inner;
        // SAFETY: transparent.
        unsafe { &*(inner as *const Self) }
    }

    #[inline]
    pub(super) fn tracked(&self) -> &RawRwLock {
        // SAFETY: what takes the lock here makes a guard, and what gives it back has one.
        unsafe { self.0.raw() }
    }

    #[inline]
    pub(crate) fn object(&self) -> &Object {
        self.tracked().gate.object()
    }

    makes! {
        fn make_read_guard_unchecked, read_guard -> RwLockReadGuard;
        fn make_write_guard_unchecked, write_guard -> RwLockWriteGuard;
        fn make_upgradable_guard_unchecked, upgradable_guard -> RwLockUpgradableReadGuard;
    }

    takes! {
        fn read() -> RwLockReadGuard, read_guard, Shared = lock_shared;
        fn read_recursive() -> RwLockReadGuard, read_guard, Recursive = lock_shared_recursive;
        fn upgradable_read() -> RwLockUpgradableReadGuard, upgradable_guard, Upgradable = lock_upgradable;
        fn write() -> RwLockWriteGuard, write_guard, Exclusive = lock_exclusive;
    }

    tries! {
        fn try_read() -> RwLockReadGuard, read_guard, Shared = try_lock_shared;
        fn try_read_for(timeout: Duration) -> RwLockReadGuard, read_guard, Shared = try_lock_shared_for;
        fn try_read_until(timeout: Instant) -> RwLockReadGuard, read_guard, Shared = try_lock_shared_until;
        fn try_read_recursive() -> RwLockReadGuard, read_guard, Recursive = try_lock_shared_recursive;
        fn try_read_recursive_for(timeout: Duration) -> RwLockReadGuard, read_guard, Recursive = try_lock_shared_recursive_for;
        fn try_read_recursive_until(timeout: Instant) -> RwLockReadGuard, read_guard, Recursive = try_lock_shared_recursive_until;
        fn try_upgradable_read() -> RwLockUpgradableReadGuard, upgradable_guard, Upgradable = try_lock_upgradable;
        fn try_upgradable_read_for(timeout: Duration) -> RwLockUpgradableReadGuard, upgradable_guard, Upgradable = try_lock_upgradable_for;
        fn try_upgradable_read_until(timeout: Instant) -> RwLockUpgradableReadGuard, upgradable_guard, Upgradable = try_lock_upgradable_until;
        fn try_write() -> RwLockWriteGuard, write_guard, Exclusive = try_lock_exclusive;
        fn try_write_for(timeout: Duration) -> RwLockWriteGuard, write_guard, Exclusive = try_lock_exclusive_for;
        fn try_write_until(timeout: Instant) -> RwLockWriteGuard, write_guard, Exclusive = try_lock_exclusive_until;
    }

    lock_methods! {
        fn force_unlock_read;
        fn force_unlock_read_fair;
        fn force_unlock_write;
        fn force_unlock_write_fair;
    }

    /// Gives back an upgradable hold.
    ///
    /// # Safety
    ///
    /// There must be one, its guard forgotten.
    pub(super) unsafe fn force_unlock_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe { self.tracked().unlock_upgradable() }
    }

    /// Gives back an upgradable hold fairly.
    ///
    /// # Safety
    ///
    /// There must be one, its guard forgotten.
    pub(super) unsafe fn force_unlock_upgradable_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.tracked().unlock_upgradable_fair() }
    }

    // Taking the lock again for a guard that is there.

    pub(super) fn relock_read(&self) {
        std::mem::forget(self.0.read());
    }

    pub(super) fn relock_write(&self) {
        std::mem::forget(self.0.write());
    }

    pub(super) fn relock_upgradable(&self) {
        std::mem::forget(self.0.upgradable_read());
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn is_locked_exclusive(&self) -> bool {
        at(Location::caller(), || self.0.is_locked_exclusive())
    }

    /// As parking_lot's. What is done with it is recorded, too.
    ///
    /// # Safety
    ///
    /// As parking_lot's: a lock must not be unlocked behind a guard's back.
    #[inline]
    pub unsafe fn raw(&self) -> &RawRwLock {
        self.tracked()
    }
}

lock_traits! { [] RwLock<T> }

/// What the guards of a lock share.
macro_rules! guard_of_rwlock {
    ($($Guard:ident;)*) => {$(
        impl<'a, T: ?Sized> $Guard<'a, T> {
            #[inline]
            fn object(&self) -> &'a Object {
                Self::rwlock(self).object()
            }

            #[inline]
            fn peek(&self) -> &T {
                &self.inner
            }

            /// As parking_lot's.
            #[inline]
            pub fn rwlock(s: &Self) -> &'a RwLock<T> {
                RwLock::wrap(lock_api::$Guard::rwlock(&s.inner))
            }
        }
    )*};
}

guard_of_rwlock! {
    RwLockReadGuard;
    RwLockWriteGuard;
    RwLockUpgradableReadGuard;
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    maps! { RwLockReadGuard {} => MappedRwLockReadGuard['a], &, try_map_or_err }

    yields! { RwLockReadGuard, rwlock; force_unlock_read, force_unlock_read_fair, relock_read }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    #[inline]
    fn peek_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    maps! { RwLockWriteGuard {} => MappedRwLockWriteGuard['a], &mut, try_map_or_err }

    yields! { RwLockWriteGuard, rwlock; force_unlock_write, force_unlock_write_fair, relock_write }

    /// As parking_lot's.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let inner = lock_api::RwLockWriteGuard::downgrade(s.inner);
        RwLockReadGuard {
            holder: s.holder,
            inner,
        }
    }

    /// As parking_lot's.
    #[track_caller]
    pub fn downgrade_to_upgradable(s: Self) -> RwLockUpgradableReadGuard<'a, T> {
        let inner = lock_api::RwLockWriteGuard::downgrade_to_upgradable(s.inner);
        RwLockUpgradableReadGuard {
            holder: s.holder,
            inner,
        }
    }
}

/// `fn name(argument)`: the ways to upgrade that may fail.
macro_rules! upgrades {
    ($($name:ident, $with:ident($($argument:ident: $Type:ty)?);)*) => {$(
        /// As parking_lot's.
        #[track_caller]
        pub fn $name(s: Self $(, $argument: $Type)?) -> Result<RwLockWriteGuard<'a, T>, Self> {
            let holder = s.holder;
            match lock_api::RwLockUpgradableReadGuard::$name(s.inner $(, $argument)?) {
                Ok(inner) => Ok(RwLockWriteGuard { holder, inner }),
                Err(inner) => Err(RwLockUpgradableReadGuard { holder, inner }),
            }
        }

        /// As parking_lot's. Counts as a write.
        #[track_caller]
        pub fn $with<Ret, F: FnOnce(&mut T) -> Ret>(&mut self $(, $argument: $Type)?, f: F) -> Option<Ret> {
            let site = Location::caller();
            // SAFETY: a guard holds the lock.
            let upgraded = unsafe { Self::rwlock(self).tracked().$name($($argument)?) };
            upgraded.then(|| while_upgraded(Self::rwlock(self), &self.holder, site, f))
        }
    )*};
}

impl<'a, T: ?Sized> RwLockUpgradableReadGuard<'a, T> {
    yields! {
        RwLockUpgradableReadGuard, rwlock;
        force_unlock_upgradable, force_unlock_upgradable_fair, relock_upgradable
    }

    /// As parking_lot's.
    #[track_caller]
    pub fn upgrade(s: Self) -> RwLockWriteGuard<'a, T> {
        let inner = lock_api::RwLockUpgradableReadGuard::upgrade(s.inner);
        RwLockWriteGuard {
            holder: s.holder,
            inner,
        }
    }

    upgrades! {
        try_upgrade, try_with_upgraded();
        try_upgrade_for, try_with_upgraded_for(timeout: Duration);
        try_upgrade_until, try_with_upgraded_until(timeout: Instant);
    }

    /// As parking_lot's.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let inner = lock_api::RwLockUpgradableReadGuard::downgrade(s.inner);
        RwLockReadGuard {
            holder: s.holder,
            inner,
        }
    }

    /// As parking_lot's. Counts as a write.
    #[track_caller]
    pub fn with_upgraded<Ret, F: FnOnce(&mut T) -> Ret>(&mut self, f: F) -> Ret {
        // SAFETY: a guard holds the lock.
        unsafe { Self::rwlock(self).tracked().upgrade() };
        while_upgraded(Self::rwlock(self), &self.holder, Location::caller(), f)
    }
}

/// Runs `f` with the content of a lock whose upgradable hold has been upgraded, and downgrades it
/// whatever becomes of `f`.
pub(super) fn while_upgraded<T: ?Sized, Ret>(
    rwlock: &RwLock<T>,
    holder: &Holder,
    site: Site,
    f: impl FnOnce(&mut T) -> Ret,
) -> Ret {
    struct Back<'a>(&'a RawRwLock, Site);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            // SAFETY: upgraded.
            at(self.1, || unsafe { self.0.downgrade_to_upgradable() });
        }
    }
    let _back = Back(rwlock.tracked(), site);
    holder.write(rwlock.object(), site);
    // SAFETY: upgraded, so nobody else is at the content.
    f(unsafe { &mut *rwlock.data_ptr() })
}

impl<'a, T: ?Sized> MappedRwLockReadGuard<'a, T> {
    mapped_guard! { MappedRwLockReadGuard }

    maps! { MappedRwLockReadGuard { object } => MappedRwLockReadGuard['a], &, try_map_or_else }
}

impl<'a, T: ?Sized> MappedRwLockWriteGuard<'a, T> {
    mapped_guard! { MappedRwLockWriteGuard mut }

    maps! { MappedRwLockWriteGuard { object } => MappedRwLockWriteGuard['a], &mut, try_map_or_err }
}

guard_traits! {
    [T: ?Sized] RwLockReadGuard<'_, T>, reads;
    [T: ?Sized] RwLockWriteGuard<'_, T>, writes;
    [T: ?Sized] RwLockUpgradableReadGuard<'_, T>, reads;
    [T: ?Sized] MappedRwLockReadGuard<'_, T>, reads;
    [T: ?Sized] MappedRwLockWriteGuard<'_, T>, writes;
}
