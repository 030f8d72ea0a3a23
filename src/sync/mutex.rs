use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, TryLockResult};

use super::guard::guard_traits;
use super::poison;
use crate::record::{self, Exclusive, Object};

/// [`std::sync::Mutex`], tracked.
// Taking the lock writes to its tickets as well: one cache line changes hands, not two.
#[repr(align(64))]
pub struct Mutex<T: ?Sized> {
    pub(crate) object: Object,
    inner: std::sync::Mutex<T>,
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
        let pen = record::pen();
        let site = Location::caller();
        let (inner, is_poisoned) = poison::split(self.inner.lock());
        let section = Exclusive::new(pen, &self.object, site);
        poison::join(MutexGuard { section, inner }, is_poisoned)
    }

    /// As std's.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let pen = record::pen();
        let site = Location::caller();
        let guard = |inner| MutexGuard {
            section: Exclusive::new(pen, &self.object, site),
            inner,
        };
        let busy = || record::found_locked(pen, &self.object, site);
        poison::try_map(self.inner.try_lock(), guard, busy)
    }
}

guard_traits! { MutexGuard, writes; }
