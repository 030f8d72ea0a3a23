use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, TryLockResult};

use super::guard::guard_traits;
use super::poison;
use crate::record::{self, Exclusive, Intent, Kind, Object, Shared};

/// [`std::sync::RwLock`], tracked.
// Taking the lock writes to its tickets as well: one cache line changes hands, not two.
#[repr(align(64))]
pub struct RwLock<T: ?Sized> {
    pub(crate) object: Object,
    inner: std::sync::RwLock<T>,
}

/// [`std::sync::RwLockReadGuard`], tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'rwlock, T: ?Sized + 'rwlock> {
    // Before the real guard: the release is recorded first.
    section: Shared<'rwlock>,
    inner: std::sync::RwLockReadGuard<'rwlock, T>,
}

/// [`std::sync::RwLockWriteGuard`], tracked.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'rwlock, T: ?Sized + 'rwlock> {
    // Before the real guard: the release is recorded first.
    section: Exclusive<'rwlock>,
    inner: std::sync::RwLockWriteGuard<'rwlock, T>,
}

poison::unrecorded!(RwLock);

impl<T: ?Sized> RwLock<T> {
    /// As std's.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let site = Location::caller();
        let lock = move || Intent::new(Kind::LockShared, &self.object, site);
        let pen = record::wait(lock, || poison::is_free(self.inner.try_read()));
        let (inner, is_poisoned) = poison::split(self.inner.read());
        let section = Shared::new(pen, &self.object, site);
        poison::join(RwLockReadGuard { section, inner }, is_poisoned)
    }

    /// As std's.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let site = Location::caller();
        let pen = record::step(move || Intent::new(Kind::TryLockShared, &self.object, site));
        let guard = |inner| RwLockReadGuard {
            section: Shared::new(pen, &self.object, site),
            inner,
        };
        let busy = || record::found_locked(pen, &self.object, site);
        poison::try_map(self.inner.try_read(), guard, busy)
    }

    /// As std's.
    #[inline(always)]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let site = Location::caller();
        let lock = move || Intent::new(Kind::Lock, &self.object, site);
        let pen = record::wait(lock, || poison::is_free(self.inner.try_write()));
        let (inner, is_poisoned) = poison::split(self.inner.write());
        let section = Exclusive::new(pen, &self.object, site);
        poison::join(RwLockWriteGuard { section, inner }, is_poisoned)
    }

    /// As std's.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let site = Location::caller();
        let pen = record::step(move || Intent::new(Kind::TryLock, &self.object, site));
        let guard = |inner| RwLockWriteGuard {
            section: Exclusive::new(pen, &self.object, site),
            inner,
        };
        let busy = || record::found_locked(pen, &self.object, site);
        poison::try_map(self.inner.try_write(), guard, busy)
    }
}

#[cfg(since = "1.92")]
impl<'rwlock, T: ?Sized> RwLockWriteGuard<'rwlock, T> {
    /// As std's.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'rwlock, T> {
        let RwLockWriteGuard { section, inner } = s;
        let section = section.downgrade(Location::caller());
        RwLockReadGuard {
            section,
            inner: std::sync::RwLockWriteGuard::downgrade(inner),
        }
    }
}

guard_traits! {
    RwLockReadGuard, reads;
    RwLockWriteGuard, writes;
}
