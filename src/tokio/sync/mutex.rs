use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::Location;
use std::sync::Arc;

use ::tokio::sync::{self as original, TryLockError};

use super::guards;
use crate::record::{self, Exclusive, Intent, Kind, Object, pen};

/// See [`tokio::sync::Mutex`](original::Mutex).
pub struct Mutex<T: ?Sized> {
    object: Object,
    inner: original::Mutex<T>,
}

/// See [`tokio::sync::MutexGuard`](original::MutexGuard).
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    // Before the real guard: the release is recorded first.
    section: Exclusive<'a>,
    inner: original::MutexGuard<'a, T>,
}

/// See [`tokio::sync::MappedMutexGuard`](original::MappedMutexGuard).
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    section: Exclusive<'a>,
    inner: original::MappedMutexGuard<'a, T>,
}

/// See [`tokio::sync::OwnedMutexGuard`](original::OwnedMutexGuard).
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct OwnedMutexGuard<T: ?Sized + 'static> {
    section: Exclusive<'static>,
    inner: original::MutexGuard<'static, T>,
    // Last: the others borrow from it.
    lock: Arc<Mutex<T>>,
}

/// See [`tokio::sync::OwnedMappedMutexGuard`](original::OwnedMappedMutexGuard).
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct OwnedMappedMutexGuard<T: ?Sized + 'static, U: ?Sized + 'static = T> {
    section: Exclusive<'static>,
    inner: original::MappedMutexGuard<'static, U>,
    lock: Arc<Mutex<T>>,
}

impl<T: ?Sized> Mutex<T> {
    /// See [`tokio::sync::Mutex::new`](original::Mutex::new).
    #[track_caller]
    pub fn new(t: T) -> Self
    where
        T: Sized,
    {
        let object = Object::lock::<T>(type_name::<Self>);
        let inner = original::Mutex::new(t);
        Self { object, inner }
    }

    /// See [`tokio::sync::Mutex::const_new`](original::Mutex::const_new).
    #[track_caller]
    pub const fn const_new(t: T) -> Self
    where
        T: Sized,
    {
        let object = Object::lock::<T>(type_name::<Self>);
        let inner = original::Mutex::const_new(t);
        Self { object, inner }
    }

    fn intent(&self, kind: Kind, site: &'static Location<'static>) -> Intent<'_> {
        Intent::new(kind, &self.object, site)
    }

    fn guard<'a>(
        &'a self,
        inner: original::MutexGuard<'a, T>,
        site: &'static Location<'static>,
    ) -> MutexGuard<'a, T> {
        let section = Exclusive::sendable(pen(), &self.object, site);
        MutexGuard { section, inner }
    }

    /// See [`tokio::sync::Mutex::lock`](original::Mutex::lock).
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let site = Location::caller();
        async move {
            record::step(self.intent(Kind::TryLock, site));
            let inner = self.inner.lock().await;
            self.guard(inner, site)
        }
    }

    /// See [`tokio::sync::Mutex::blocking_lock`](original::Mutex::blocking_lock).
    ///
    /// # Panics
    ///
    /// As tokio's: within an asynchronous context.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        let site = Location::caller();
        record::wait(self.intent(Kind::Lock, site), || {
            self.inner.try_lock().is_ok()
        });
        let inner = self.inner.blocking_lock();
        self.guard(inner, site)
    }

    /// See [`tokio::sync::Mutex::try_lock`](original::Mutex::try_lock).
    ///
    /// # Errors
    ///
    /// As tokio's: where somebody has it.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let site = Location::caller();
        let pen = record::step(self.intent(Kind::TryLock, site));
        match self.inner.try_lock() {
            Ok(inner) => Ok(self.guard(inner, site)),
            Err(error) => {
                record::found_locked(pen, &self.object, site);
                Err(error)
            }
        }
    }

    /// See [`tokio::sync::Mutex::lock_owned`](original::Mutex::lock_owned).
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>>
    where
        T: 'static,
    {
        let site = Location::caller();
        async move {
            record::step(self.intent(Kind::TryLock, site));
            let inner = self.inner.lock().await;
            OwnedMutexGuard::new(&self, inner, site)
        }
    }

    /// See [`tokio::sync::Mutex::blocking_lock_owned`](original::Mutex::blocking_lock_owned).
    ///
    /// # Panics
    ///
    /// As tokio's: within an asynchronous context.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T>
    where
        T: 'static,
    {
        let site = Location::caller();
        record::wait(self.intent(Kind::Lock, site), || {
            self.inner.try_lock().is_ok()
        });
        OwnedMutexGuard::new(&self, self.inner.blocking_lock(), site)
    }

    /// See [`tokio::sync::Mutex::try_lock_owned`](original::Mutex::try_lock_owned).
    ///
    /// # Errors
    ///
    /// As tokio's: where somebody has it.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError>
    where
        T: 'static,
    {
        let site = Location::caller();
        let pen = record::step(self.intent(Kind::TryLock, site));
        match self.inner.try_lock() {
            Ok(inner) => Ok(OwnedMutexGuard::new(&self, inner, site)),
            Err(error) => {
                record::found_locked(pen, &self.object, site);
                Err(error)
            }
        }
    }

    /// See [`tokio::sync::Mutex::get_mut`](original::Mutex::get_mut). Not recorded: what is
    /// exclusive needs no order.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    /// See [`tokio::sync::Mutex::into_inner`](original::Mutex::into_inner).
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.inner.into_inner()
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(t: T) -> Self {
        Self::new(t)
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    fn new(
        lock: &Arc<Mutex<T>>,
        inner: original::MutexGuard<'_, T>,
        site: &'static Location<'static>,
    ) -> Self {
        let lock = Arc::clone(lock);
        // SAFETY: the lock does not move, and lives until `lock` is dropped, after the guard and
        // the section.
        let (object, inner) = unsafe {
            let inner = mem::transmute::<
                original::MutexGuard<'_, T>,
                original::MutexGuard<'static, T>,
            >(inner);
            (&*(&raw const lock.object), inner)
        };
        let section = Exclusive::sendable(pen(), object, site);
        Self {
            section,
            inner,
            lock,
        }
    }

    /// See [`tokio::sync::OwnedMutexGuard::mutex`](original::OwnedMutexGuard::mutex).
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.lock
    }

    /// See [`tokio::sync::OwnedMutexGuard::map`](original::OwnedMutexGuard::map).
    pub fn map<U, F>(this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let Self {
            section,
            inner,
            lock,
        } = this;
        let inner = original::MutexGuard::map(inner, f);
        OwnedMappedMutexGuard {
            section,
            inner,
            lock,
        }
    }

    /// See [`tokio::sync::OwnedMutexGuard::try_map`](original::OwnedMutexGuard::try_map).
    ///
    /// # Errors
    ///
    /// The guard, where there is nothing to map to.
    pub fn try_map<U, F>(this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Self {
            section,
            inner,
            lock,
        } = this;
        match original::MutexGuard::try_map(inner, f) {
            Ok(inner) => Ok(OwnedMappedMutexGuard {
                section,
                inner,
                lock,
            }),
            Err(inner) => Err(Self {
                section,
                inner,
                lock,
            }),
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// See [`tokio::sync::OwnedMappedMutexGuard::map`](original::OwnedMappedMutexGuard::map).
    pub fn map<S, F>(this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        F: FnOnce(&mut U) -> &mut S,
    {
        let Self {
            section,
            inner,
            lock,
        } = this;
        let inner = original::MappedMutexGuard::map(inner, f);
        OwnedMappedMutexGuard {
            section,
            inner,
            lock,
        }
    }

    /// See [`tokio::sync::OwnedMappedMutexGuard::try_map`](original::OwnedMappedMutexGuard::try_map).
    ///
    /// # Errors
    ///
    /// The guard, where there is nothing to map to.
    pub fn try_map<S, F>(this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        let Self {
            section,
            inner,
            lock,
        } = this;
        match original::MappedMutexGuard::try_map(inner, f) {
            Ok(inner) => Ok(OwnedMappedMutexGuard {
                section,
                inner,
                lock,
            }),
            Err(inner) => Err(Self {
                section,
                inner,
                lock,
            }),
        }
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// See [`tokio::sync::MutexGuard::mutex`](original::MutexGuard::mutex).
    pub fn mutex(this: &Self) -> &'a Mutex<T>
    where
        T: Sized,
    {
        let object = std::ptr::from_ref(this.section.object());
        // SAFETY: the object is the one in the mutex that the guard borrows for `'a`.
        unsafe { &*object.byte_sub(mem::offset_of!(Mutex<T>, object)).cast() }
    }

    /// See [`tokio::sync::MutexGuard::map`](original::MutexGuard::map).
    pub fn map<U, F>(this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let Self { section, inner } = this;
        let inner = original::MutexGuard::map(inner, f);
        MappedMutexGuard { section, inner }
    }

    /// See [`tokio::sync::MutexGuard::try_map`](original::MutexGuard::try_map).
    ///
    /// # Errors
    ///
    /// The guard, where there is nothing to map to.
    pub fn try_map<U, F>(this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Self { section, inner } = this;
        match original::MutexGuard::try_map(inner, f) {
            Ok(inner) => Ok(MappedMutexGuard { section, inner }),
            Err(inner) => Err(Self { section, inner }),
        }
    }
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// See [`tokio::sync::MappedMutexGuard::map`](original::MappedMutexGuard::map).
    pub fn map<U, F>(this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let Self { section, inner } = this;
        let inner = original::MappedMutexGuard::map(inner, f);
        MappedMutexGuard { section, inner }
    }

    /// See [`tokio::sync::MappedMutexGuard::try_map`](original::MappedMutexGuard::try_map).
    ///
    /// # Errors
    ///
    /// The guard, where there is nothing to map to.
    pub fn try_map<U, F>(this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let Self { section, inner } = this;
        match original::MappedMutexGuard::try_map(inner, f) {
            Ok(inner) => Ok(MappedMutexGuard { section, inner }),
            Err(inner) => Err(Self { section, inner }),
        }
    }
}

guards! {
    MutexGuard<'a, T> of T, writes;
    MappedMutexGuard<'a, T> of T, writes;
    OwnedMutexGuard<T> of T, writes;
    OwnedMappedMutexGuard<T, U> of U, writes;
}
