use std::fmt;
use std::mem::offset_of;
use std::panic::Location;
use std::ptr;
use std::sync::{LockResult, TryLockResult};

use super::guard::guard_traits;
use super::poison;
use crate::record::{self, Exclusive, Intent, Kind, Object};

/// [`std::sync::Mutex`], tracked.
// Taking the lock writes to its tickets as well: one cache line changes hands, not two.
#[repr(align(64))]
pub struct Mutex<T: ?Sized> {
    pub(crate) object: Object,
    pub(super) inner: std::sync::Mutex<T>,
}

/// [`std::sync::MutexGuard`], tracked.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    // Before the real guard: the release is recorded first.
    pub(super) section: Exclusive<'a>,
    pub(super) inner: std::sync::MutexGuard<'a, T>,
}

poison::unrecorded!(Mutex);

impl<T: ?Sized> Mutex<T> {
    /// As std's.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let site = Location::caller();
        let lock = move || Intent::new(Kind::Lock, &self.object, site);
        let pen = record::wait(lock, || poison::is_free(self.inner.try_lock()));
        let (inner, is_poisoned) = poison::split(self.inner.lock());
        let section = Exclusive::new(pen, &self.object, site);
        poison::join(MutexGuard { section, inner }, is_poisoned)
    }

    /// As std's.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let site = Location::caller();
        let pen = record::step(move || Intent::new(Kind::TryLock, &self.object, site));
        let guard = |inner| MutexGuard {
            section: Exclusive::new(pen, &self.object, site),
            inner,
        };
        let busy = || record::found_locked(pen, &self.object, site);
        poison::try_map(self.inner.try_lock(), guard, busy)
    }
}

impl<'a, T> MutexGuard<'a, T> {
    /// The mutex that it is a guard of.
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        let object = ptr::from_ref(self.section.object());
        // SAFETY: the object is the one in the mutex that the guard borrows for `'a`.
        unsafe { &*object.byte_sub(offset_of!(Mutex<T>, object)).cast() }
    }
}

guard_traits! { MutexGuard, writes; }
