use std::any::type_name;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::parking_lot::lock_api;

use super::guard::{
    guard_traits, lock_methods, lock_traits, mapped_guard, maps, outside, unlocked, yields,
};
use super::raw::{Forever, Patience, Raw, RawFairMutex, RawMutex, Real, Site, at};
use crate::record::{Holder, Intent, Object, Pen, Waiters, pen};

/// [`parking_lot::Mutex`](::parking_lot::Mutex), tracked.
pub type Mutex<T> = AnyMutex<RawMutex, T>;

/// [`parking_lot::MutexGuard`](::parking_lot::MutexGuard), tracked.
pub type MutexGuard<'a, T> = AnyMutexGuard<'a, RawMutex, T>;

/// [`parking_lot::MappedMutexGuard`](::parking_lot::MappedMutexGuard), tracked.
pub type MappedMutexGuard<'a, T> = AnyMappedMutexGuard<'a, RawMutex, T>;

/// [`parking_lot::FairMutex`](::parking_lot::FairMutex), tracked.
pub type FairMutex<T> = AnyMutex<RawFairMutex, T>;

/// [`parking_lot::FairMutexGuard`](::parking_lot::FairMutexGuard), tracked.
pub type FairMutexGuard<'a, T> = AnyMutexGuard<'a, RawFairMutex, T>;

/// [`parking_lot::MappedFairMutexGuard`](::parking_lot::MappedFairMutexGuard), tracked.
pub type MappedFairMutexGuard<'a, T> = AnyMappedMutexGuard<'a, RawFairMutex, T>;

/// As parking_lot's; remembers where it was called.
#[track_caller]
pub const fn const_mutex<T>(val: T) -> Mutex<T> {
    Mutex::new(val)
}

/// As parking_lot's; remembers where it was called.
#[track_caller]
pub const fn const_fair_mutex<T>(val: T) -> FairMutex<T> {
    FairMutex::new(val)
}

/// [`lock_api::Mutex`], tracked.
#[repr(transparent)]
pub struct AnyMutex<R, T: ?Sized>(pub(super) lock_api::Mutex<R, T>);

/// [`lock_api::MutexGuard`], tracked.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct AnyMutexGuard<'a, R: lock_api::RawMutex, T: ?Sized> {
    pub(super) holder: Holder,
    pub(super) inner: lock_api::MutexGuard<'a, R, T>,
}

/// [`lock_api::MappedMutexGuard`], tracked. Its accesses are accesses of the mutex's content.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct AnyMappedMutexGuard<'a, R: lock_api::RawMutex, T: ?Sized> {
    object: &'a Object,
    holder: Holder,
    inner: lock_api::MappedMutexGuard<'a, R, T>,
}

impl<L: Real, T> AnyMutex<Raw<L>, T> {
    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn new(val: T) -> Self {
        Self::from_raw(Raw::new(), val)
    }

    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn from_raw(raw_mutex: Raw<L>, val: T) -> Self {
        AnyMutex(lock_api::Mutex::from_raw(
            raw_mutex.around::<T>(type_name::<L::Named<T>>),
            val,
        ))
    }

    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn const_new(raw_mutex: Raw<L>, val: T) -> Self {
        Self::from_raw(raw_mutex, val)
    }

    /// As parking_lot's.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<L: Real, T: ?Sized> AnyMutex<Raw<L>, T> {
    /// The mutex around what lock_api has.
    #[inline]
    fn wrap(inner: &lock_api::Mutex<Raw<L>, T>) -> &Self {
        let inner: *const lock_api::Mutex<Raw<L>, T> = inner;
        // SAFETY: transparent.
        unsafe { &*(inner as *const Self) }
    }

    #[inline]
    pub(super) fn tracked(&self) -> &Raw<L> {
        // SAFETY: what takes the lock here makes a guard, and what gives it back has one.
        unsafe { self.0.raw() }
    }

    #[inline]
    pub(crate) fn object(&self) -> &Object {
        self.tracked().gate.object()
    }

    /// Takes the lock in one of its ways; a guard, if that went well.
    #[inline]
    #[track_caller]
    fn take<P: Patience>(
        &self,
        patience: P,
        how: impl FnOnce(&L, P) -> bool,
    ) -> Option<AnyMutexGuard<'_, Raw<L>, T>> {
        let (pen, taken) = self.tracked().take(patience, Location::caller(), how);
        // SAFETY: the lock was taken.
        taken.then(|| unsafe { self.guard(pen) })
    }

    /// # Safety
    ///
    /// The lock must be held, and no other guard be around.
    #[inline]
    unsafe fn guard(&self, pen: Option<Pen>) -> AnyMutexGuard<'_, Raw<L>, T> {
        // SAFETY: the caller's.
        let inner = unsafe { self.0.make_guard_unchecked() };
        AnyMutexGuard {
            holder: Holder::sendable(pen),
            inner,
        }
    }

    /// Takes the lock again for a guard that is there.
    pub(super) fn relock(&self) {
        std::mem::forget(self.0.lock());
    }

    /// As parking_lot's.
    ///
    /// # Safety
    ///
    /// As parking_lot's: the strand must hold the lock, and no other guard be around.
    #[inline]
    pub unsafe fn make_guard_unchecked(&self) -> AnyMutexGuard<'_, Raw<L>, T> {
        // SAFETY: the caller's.
        unsafe { self.guard(pen()) }
    }

    /// As parking_lot's.
    ///
    /// # Panics
    ///
    /// With the report, if a violation was found that this strand is to deliver; so may every
    /// function that takes a lock.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> AnyMutexGuard<'_, Raw<L>, T> {
        let (pen, _) = self
            .tracked()
            .take(Forever, Location::caller(), |real, Forever| {
                real.lock();
                true
            });
        // SAFETY: the lock was taken.
        unsafe { self.guard(pen) }
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<AnyMutexGuard<'_, Raw<L>, T>> {
        self.take((), |real, ()| real.try_lock())
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<AnyMutexGuard<'_, Raw<L>, T>> {
        self.take(timeout, L::try_lock_for)
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn try_lock_until(&self, timeout: Instant) -> Option<AnyMutexGuard<'_, Raw<L>, T>> {
        self.take(timeout, L::try_lock_until)
    }

    lock_methods! {
        fn force_unlock;
        fn force_unlock_fair;
    }

    /// As parking_lot's. What is done with it is recorded, too.
    ///
    /// # Safety
    ///
    /// As parking_lot's: a mutex must not be unlocked behind a guard's back.
    #[inline]
    pub unsafe fn raw(&self) -> &Raw<L> {
        self.tracked()
    }
}

lock_traits! { [L: Real,] AnyMutex<Raw<L>, T> }

impl<'a, L: Real, T: ?Sized> AnyMutexGuard<'a, Raw<L>, T> {
    #[inline]
    fn object(&self) -> &'a Object {
        Self::mutex(self).object()
    }

    #[inline]
    fn peek(&self) -> &T {
        &self.inner
    }

    #[inline]
    fn peek_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// As parking_lot's.
    #[inline]
    pub fn mutex(s: &Self) -> &'a AnyMutex<Raw<L>, T> {
        AnyMutex::wrap(lock_api::MutexGuard::mutex(&s.inner))
    }

    maps! { MutexGuard {} => AnyMappedMutexGuard['a, Raw<L>], &mut, try_map_or_err }

    yields! { MutexGuard, mutex; force_unlock, force_unlock_fair, relock }

    /// As parking_lot's. Counts as a write: what is done with the reference is not seen.
    #[inline]
    #[track_caller]
    pub fn leak(s: Self) -> &'a mut T {
        s.holder.write(s.object(), Location::caller());
        lock_api::MutexGuard::leak(s.inner)
    }
}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// Waits on a condition variable of parking_lot's in the way `wait` says.
    pub(super) fn wait<R>(
        s: &mut Self,
        site: Site,
        wait: impl FnOnce(&mut ::parking_lot::MutexGuard<'_, ()>) -> R,
    ) -> R {
        let result = Self::mutex(s).tracked().wait(site, wait);
        s.holder = Holder::sendable(pen());
        result
    }

    /// Waits under control until it is notified; whether its time was up.
    pub(super) fn wait_in_queue(
        s: &mut Self,
        pen: Pen,
        wait: Intent<'_>,
        waiters: &Waiters,
        limit: Option<Duration>,
        site: Site,
    ) -> bool {
        let raw = Self::mutex(s).tracked();
        let is_expired = raw.wait_in_queue(pen, wait, waiters, limit, site);
        s.holder = Holder::sendable(self::pen());
        is_expired
    }

    /// Asks a condition, which counts as a read of the content.
    pub(super) fn look(
        s: &mut Self,
        site: Site,
        condition: &mut impl FnMut(&mut T) -> bool,
    ) -> bool {
        s.holder.read(s.object(), site);
        condition(&mut s.inner)
    }
}

impl<'a, L: Real, T: ?Sized> AnyMappedMutexGuard<'a, Raw<L>, T> {
    mapped_guard! { MappedMutexGuard mut }

    maps! { MappedMutexGuard { object } => AnyMappedMutexGuard['a, Raw<L>], &mut, try_map_or_err }
}

guard_traits! {
    [L: Real, T: ?Sized] AnyMutexGuard<'_, Raw<L>, T>, writes;
    [L: Real, T: ?Sized] AnyMappedMutexGuard<'_, Raw<L>, T>, writes;
}
