use std::any::type_name;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::parking_lot::RawThreadId;
use ::parking_lot::lock_api;

use super::guard::{
    guard_traits, lock_methods, lock_traits, mapped_guard, maps, outside, unlocked, yields,
};
use super::raw::{RawMutex, at, named};
use crate::record::{self, Holder, Object, pen};

type Inner<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;
type InnerGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// [`parking_lot::ReentrantMutex`](::parking_lot::ReentrantMutex), tracked.
///
/// Only the outermost lock and unlock are recorded. The content is only ever read: what is changed
/// inside it, through a `Cell` say, is not seen unless it is [tracked](crate::cell) itself.
#[repr(transparent)]
pub struct ReentrantMutex<T: ?Sized>(pub(super) Inner<T>);

/// [`parking_lot::ReentrantMutexGuard`](::parking_lot::ReentrantMutexGuard), tracked.
#[must_use = "if unused the ReentrantMutex will immediately unlock"]
pub struct ReentrantMutexGuard<'a, T: ?Sized> {
    pub(super) holder: Holder,
    pub(super) inner: InnerGuard<'a, T>,
}

/// [`parking_lot::MappedReentrantMutexGuard`](::parking_lot::MappedReentrantMutexGuard), tracked.
/// Its accesses are accesses of the mutex's content.
#[must_use = "if unused the ReentrantMutex will immediately unlock"]
pub struct MappedReentrantMutexGuard<'a, T: ?Sized> {
    object: &'a Object,
    holder: Holder,
    inner: lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>,
}

/// As parking_lot's; remembers where it was called.
#[track_caller]
pub const fn const_reentrant_mutex<T>(val: T) -> ReentrantMutex<T> {
    ReentrantMutex::new(val)
}

impl<T> ReentrantMutex<T> {
    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn new(val: T) -> Self {
        Self::from_raw(RawMutex::new(), RawThreadId, val)
    }

    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn from_raw(raw_mutex: RawMutex, get_thread_id: RawThreadId, val: T) -> Self {
        let raw_mutex = raw_mutex.around::<T>(type_name::<named::ReentrantMutex<T>>);
        ReentrantMutex(lock_api::ReentrantMutex::from_raw(
            raw_mutex,
            get_thread_id,
            val,
        ))
    }

    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn const_new(raw_mutex: RawMutex, get_thread_id: RawThreadId, val: T) -> Self {
        Self::from_raw(raw_mutex, get_thread_id, val)
    }

    /// As parking_lot's.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> ReentrantMutex<T> {
    /// The mutex around what lock_api has.
    #[inline]
    fn wrap(inner: &Inner<T>) -> &Self {
        let inner: *const Inner<T> = inner;
        // SAFETY: transparent.
        unsafe { &*(inner as *const Self) }
    }

    #[inline]
    pub(crate) fn object(&self) -> &Object {
        // SAFETY: only looked at.
        unsafe { self.0.raw() }.gate.object()
    }

    /// Takes the lock in one of its ways; a guard, if that went well.
    #[inline]
    #[track_caller]
    fn take<'a>(
        &'a self,
        how: impl FnOnce(&'a Inner<T>) -> Option<InnerGuard<'a, T>>,
    ) -> Option<ReentrantMutexGuard<'a, T>> {
        let pen = record::pen();
        let inner = at(Location::caller(), || how(&self.0))?;
        let holder = Holder::new(pen);
        Some(ReentrantMutexGuard { holder, inner })
    }

    /// Takes the lock again for a guard that is there.
    pub(super) fn relock(&self) {
        std::mem::forget(self.0.lock());
    }

    /// As parking_lot's.
    ///
    /// # Safety
    ///
    /// As parking_lot's: the strand must hold the lock, and no other guard of that hold be around.
    #[inline]
    pub unsafe fn make_guard_unchecked(&self) -> ReentrantMutexGuard<'_, T> {
        // SAFETY: the caller's.
        let inner = unsafe { self.0.make_guard_unchecked() };
        ReentrantMutexGuard {
            holder: Holder::new(pen()),
            inner,
        }
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> ReentrantMutexGuard<'_, T> {
        let guard = self.take(|mutex| Some(mutex.lock()));
        guard.expect("it waits for the lock")
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<ReentrantMutexGuard<'_, T>> {
        self.take(|mutex| mutex.try_lock())
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<ReentrantMutexGuard<'_, T>> {
        self.take(|mutex| mutex.try_lock_for(timeout))
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn try_lock_until(&self, timeout: Instant) -> Option<ReentrantMutexGuard<'_, T>> {
        self.take(|mutex| mutex.try_lock_until(timeout))
    }

    /// As parking_lot's.
    #[inline]
    pub fn is_owned_by_current_thread(&self) -> bool {
        self.0.is_owned_by_current_thread()
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
    pub unsafe fn raw(&self) -> &RawMutex {
        // SAFETY: the caller's.
        unsafe { self.0.raw() }
    }
}

lock_traits! { [] ReentrantMutex<T> }

impl<'a, T: ?Sized> ReentrantMutexGuard<'a, T> {
    #[inline]
    fn object(&self) -> &'a Object {
        Self::remutex(self).object()
    }

    #[inline]
    fn peek(&self) -> &T {
        &self.inner
    }

    /// As parking_lot's.
    #[inline]
    pub fn remutex(s: &Self) -> &'a ReentrantMutex<T> {
        ReentrantMutex::wrap(lock_api::ReentrantMutexGuard::remutex(&s.inner))
    }

    maps! { ReentrantMutexGuard {} => MappedReentrantMutexGuard['a], &, try_map_or_err }

    yields! { ReentrantMutexGuard, remutex; force_unlock, force_unlock_fair, relock }
}

impl<'a, T: ?Sized> MappedReentrantMutexGuard<'a, T> {
    mapped_guard! { MappedReentrantMutexGuard }

    maps! { MappedReentrantMutexGuard { object } => MappedReentrantMutexGuard['a], &, try_map_or_err }
}

guard_traits! {
    [T: ?Sized] ReentrantMutexGuard<'_, T>, reads;
    [T: ?Sized] MappedReentrantMutexGuard<'_, T>, reads;
}
