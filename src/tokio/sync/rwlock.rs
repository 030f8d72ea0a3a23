use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::Location;
use std::sync::Arc;

use ::tokio::sync::{self as original, TryLockError};

use super::guards;
use crate::record::{self, Exclusive, Intent, Kind, Object, Shared, pen};

/// See [`tokio::sync::RwLock`](original::RwLock).
pub struct RwLock<T: ?Sized> {
    object: Object,
    inner: original::RwLock<T>,
}

/// A guard: its section of the lock, the real guard, and, where it is owned, the lock, which the
/// others borrow from.
macro_rules! structs {
    ($($Guard:ident, $Section:ident;)*) => {$(
        #[doc = concat!("See [`tokio::sync::", stringify!($Guard), "`](original::", stringify!($Guard), ").")]
        #[must_use = "if unused the RwLock will immediately unlock"]
        pub struct $Guard<'a, T: ?Sized> {
            // Before the real guard: the release is recorded first.
            section: $Section<'a>,
            inner: original::$Guard<'a, T>,
        }
    )*};
    (owned $($Guard:ident<T $(, $U:ident)?>, $Section:ident, $Inner:ident<$Content:ident>;)*) => {$(
        #[doc = concat!("See [`tokio::sync::", stringify!($Guard), "`](original::", stringify!($Guard), ").")]
        #[must_use = "if unused the RwLock will immediately unlock"]
        pub struct $Guard<T: ?Sized + 'static $(, $U: ?Sized + 'static = T)?> {
            section: $Section<'static>,
            inner: original::$Inner<'static, $Content>,
            // Last: the others borrow from it.
            lock: Arc<RwLock<T>>,
        }

        impl<T: ?Sized $(, $U: ?Sized)?> $Guard<T $(, $U)?> {
            /// The lock that it is a guard of.
            pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
                &this.lock
            }
        }
    )*};
}

structs! {
    RwLockReadGuard, Shared;
    RwLockWriteGuard, Exclusive;
    RwLockMappedWriteGuard, Exclusive;
}

structs! { owned
    OwnedRwLockReadGuard<T, U>, Shared, RwLockReadGuard<U>;
    OwnedRwLockWriteGuard<T>, Exclusive, RwLockWriteGuard<T>;
    OwnedRwLockMappedWriteGuard<T, U>, Exclusive, RwLockMappedWriteGuard<U>;
}

/// The ways from a guard to one of a part of the content.
macro_rules! maps {
    ($(
        impl [$($generics:tt)*] $Guard:ty: &$([$($mut:tt)*])? $Content:ident, $Real:ident,
        $Mapped:ident<$($to:tt),*> { section, inner $(, $lock:ident)? }
    )*) => {$(
        impl<$($generics)*> $Guard {
            /// See tokio's.
            pub fn map<F, V: ?Sized>(this: Self, f: F) -> $Mapped<$($to),*>
            where
                F: FnOnce(&$($($mut)*)? $Content) -> &$($($mut)*)? V,
            {
                let Self { section, inner $(, $lock)? } = this;
                let inner = original::$Real::map(inner, f);
                $Mapped { section, inner $(, $lock)? }
            }

            /// See tokio's.
            ///
            /// # Errors
            ///
            /// The guard, where there is nothing to map to.
            pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<$Mapped<$($to),*>, Self>
            where
                F: FnOnce(&$($($mut)*)? $Content) -> Option<&$($($mut)*)? V>,
            {
                let Self { section, inner $(, $lock)? } = this;
                match original::$Real::try_map(inner, f) {
                    Ok(inner) => Ok($Mapped { section, inner $(, $lock)? }),
                    Err(inner) => Err(Self { section, inner $(, $lock)? }),
                }
            }
        }
    )*};
}

maps! {
    impl ['a, T: ?Sized] RwLockReadGuard<'a, T>: & T, RwLockReadGuard,
        RwLockReadGuard<'a, V> { section, inner }
    impl ['a, T: ?Sized] RwLockWriteGuard<'a, T>: &[mut] T, RwLockWriteGuard,
        RwLockMappedWriteGuard<'a, V> { section, inner }
    impl ['a, T: ?Sized] RwLockMappedWriteGuard<'a, T>: &[mut] T, RwLockMappedWriteGuard,
        RwLockMappedWriteGuard<'a, V> { section, inner }
    impl [T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U>: & U, RwLockReadGuard,
        OwnedRwLockReadGuard<T, V> { section, inner, lock }
    impl [T: ?Sized] OwnedRwLockWriteGuard<T>: &[mut] T, RwLockWriteGuard,
        OwnedRwLockMappedWriteGuard<T, V> { section, inner, lock }
    impl [T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U>: &[mut] U, RwLockMappedWriteGuard,
        OwnedRwLockMappedWriteGuard<T, V> { section, inner, lock }
}

/// The ways from a writer's guard to a reader's.
macro_rules! downgrades {
    ($(
        impl [$($generics:tt)*] $Guard:ty => $Reads:ident<$($whole:tt),*>, $Part:ty, $Mapped:ident
        { section, inner $(, $lock:ident)? }
    )*) => {$(
        impl<$($generics)*> $Guard {
            /// See tokio's.
            #[track_caller]
            pub fn downgrade(self) -> $Reads<$($whole),*> {
                let Self { section, inner $(, $lock)? } = self;
                let section = section.downgrade(Location::caller());
                let inner = inner.downgrade();
                $Reads { section, inner $(, $lock)? }
            }

            /// See tokio's.
            #[track_caller]
            pub fn downgrade_map<F, V: ?Sized>(this: Self, f: F) -> $Part
            where
                F: FnOnce(&T) -> &V,
            {
                let Self { section, inner $(, $lock)? } = this;
                let section = section.downgrade(Location::caller());
                let inner = original::RwLockWriteGuard::downgrade_map(inner, f);
                $Reads { section, inner $(, $lock)? }
            }

            /// See tokio's.
            ///
            /// # Errors
            ///
            /// The guard, where there is nothing to map to.
            #[track_caller]
            pub fn try_downgrade_map<F, V: ?Sized>(this: Self, f: F) -> Result<$Part, Self>
            where
                F: FnOnce(&T) -> Option<&V>,
            {
                let Self { section, inner $(, $lock)? } = this;
                // Asked first: what was downgraded does not come back.
                let Some(part) = f(&inner).map(std::ptr::from_ref) else {
                    return Err(Self { section, inner $(, $lock)? });
                };
                let section = section.downgrade(Location::caller());
                // SAFETY: a part of the content, which stays locked meanwhile.
                let inner = original::RwLockReadGuard::map(inner.downgrade(), |_| unsafe { &*part });
                Ok($Reads { section, inner $(, $lock)? })
            }

            /// See tokio's.
            pub fn into_mapped(this: Self) -> $Mapped<$($whole),*> {
                let Self { section, inner $(, $lock)? } = this;
                let inner = original::RwLockWriteGuard::into_mapped(inner);
                $Mapped { section, inner $(, $lock)? }
            }
        }
    )*};
}

downgrades! {
    impl ['a, T: ?Sized] RwLockWriteGuard<'a, T>
        => RwLockReadGuard<'a, T>, RwLockReadGuard<'a, V>, RwLockMappedWriteGuard { section, inner }
    impl [T: ?Sized] OwnedRwLockWriteGuard<T>
        => OwnedRwLockReadGuard<T>, OwnedRwLockReadGuard<T, V>, OwnedRwLockMappedWriteGuard
        { section, inner, lock }
}

/// The ways to take the lock.
macro_rules! takes {
    ($(
        $take:ident, $take_owned:ident, $blocking:ident, $try:ident, $try_owned:ident:
        $Guard:ident, $Owned:ident, $Section:ident, $kind:ident, $try_kind:ident;
    )*) => {
        impl<T: ?Sized> RwLock<T> {$(
            #[doc = concat!("See [`tokio::sync::RwLock::", stringify!($take), "`](original::RwLock::", stringify!($take), ").")]
            #[track_caller]
            pub fn $take(&self) -> impl Future<Output = $Guard<'_, T>> {
                let site = Location::caller();
                async move {
                    record::step(Intent::new(Kind::$try_kind, &self.object, site));
                    let inner = self.inner.$take().await;
                    let section = $Section::sendable(pen(), &self.object, site);
                    $Guard { section, inner }
                }
            }

            #[doc = concat!("See [`tokio::sync::RwLock::", stringify!($blocking), "`](original::RwLock::", stringify!($blocking), ").")]
            ///
            /// # Panics
            ///
            /// As tokio's: within an asynchronous context.
            #[track_caller]
            pub fn $blocking(&self) -> $Guard<'_, T> {
                let site = Location::caller();
                record::wait(Intent::new(Kind::$kind, &self.object, site), || {
                    self.inner.$try().is_ok()
                });
                let inner = self.inner.$blocking();
                let section = $Section::sendable(pen(), &self.object, site);
                $Guard { section, inner }
            }

            #[doc = concat!("See [`tokio::sync::RwLock::", stringify!($try), "`](original::RwLock::", stringify!($try), ").")]
            ///
            /// # Errors
            ///
            /// As tokio's: where somebody has it.
            #[track_caller]
            pub fn $try(&self) -> Result<$Guard<'_, T>, TryLockError> {
                let site = Location::caller();
                let pen = record::step(Intent::new(Kind::$try_kind, &self.object, site));
                match self.inner.$try() {
                    Ok(inner) => {
                        let section = $Section::sendable(pen, &self.object, site);
                        Ok($Guard { section, inner })
                    }
                    Err(error) => {
                        record::found_locked(pen, &self.object, site);
                        Err(error)
                    }
                }
            }

            #[doc = concat!("See [`tokio::sync::RwLock::", stringify!($take_owned), "`](original::RwLock::", stringify!($take_owned), ").")]
            #[track_caller]
            pub fn $take_owned(self: Arc<Self>) -> impl Future<Output = $Owned<T>>
            where
                T: 'static,
            {
                let site = Location::caller();
                async move {
                    record::step(Intent::new(Kind::$try_kind, &self.object, site));
                    let inner = self.inner.$take().await;
                    $Owned::new(&self, inner, site)
                }
            }

            #[doc = concat!("See [`tokio::sync::RwLock::", stringify!($try_owned), "`](original::RwLock::", stringify!($try_owned), ").")]
            ///
            /// # Errors
            ///
            /// As tokio's: where somebody has it.
            #[track_caller]
            pub fn $try_owned(self: Arc<Self>) -> Result<$Owned<T>, TryLockError>
            where
                T: 'static,
            {
                let site = Location::caller();
                let pen = record::step(Intent::new(Kind::$try_kind, &self.object, site));
                match self.inner.$try() {
                    Ok(inner) => Ok($Owned::new(&self, inner, site)),
                    Err(error) => {
                        record::found_locked(pen, &self.object, site);
                        Err(error)
                    }
                }
            }
        )*}

        $(
            impl<T: ?Sized> $Owned<T> {
                fn new(
                    lock: &Arc<RwLock<T>>,
                    inner: original::$Guard<'_, T>,
                    site: &'static Location<'static>,
                ) -> Self {
                    let lock = Arc::clone(lock);
                    // SAFETY: the lock does not move, and lives until `lock` is dropped, after the
                    // guard and the section.
                    let (object, inner) = unsafe {
                        let inner = mem::transmute::<
                            original::$Guard<'_, T>,
                            original::$Guard<'static, T>,
                        >(inner);
                        (&*(&raw const lock.object), inner)
                    };
                    let section = $Section::sendable(pen(), object, site);
                    Self {
                        section,
                        inner,
                        lock,
                    }
                }
            }
        )*
    };
}

takes! {
    read, read_owned, blocking_read, try_read, try_read_owned:
        RwLockReadGuard, OwnedRwLockReadGuard, Shared, LockShared, TryLockShared;
    write, write_owned, blocking_write, try_write, try_write_owned:
        RwLockWriteGuard, OwnedRwLockWriteGuard, Exclusive, Lock, TryLock;
}

impl<T> RwLock<T> {
    /// See [`tokio::sync::RwLock::new`](original::RwLock::new).
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::of(original::RwLock::new(value))
    }

    /// See [`tokio::sync::RwLock::with_max_readers`](original::RwLock::with_max_readers).
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> Self {
        Self::of(original::RwLock::with_max_readers(value, max_reads))
    }

    /// See [`tokio::sync::RwLock::const_new`](original::RwLock::const_new).
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Self::of(original::RwLock::const_new(value))
    }

    /// See [`tokio::sync::RwLock::const_with_max_readers`](original::RwLock::const_with_max_readers).
    #[track_caller]
    pub const fn const_with_max_readers(value: T, max_reads: u32) -> Self {
        Self::of(original::RwLock::const_with_max_readers(value, max_reads))
    }

    #[track_caller]
    const fn of(inner: original::RwLock<T>) -> Self {
        let object = Object::lock::<T>(type_name::<Self>);
        Self { object, inner }
    }

    /// See [`tokio::sync::RwLock::into_inner`](original::RwLock::into_inner).
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// See [`tokio::sync::RwLock::get_mut`](original::RwLock::get_mut). Not recorded: what is
    /// exclusive needs no order.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

guards! {
    RwLockReadGuard<'a, T> of T, reads;
    RwLockWriteGuard<'a, T> of T, writes;
    RwLockMappedWriteGuard<'a, T> of T, writes;
    OwnedRwLockReadGuard<T, U> of U, reads;
    OwnedRwLockWriteGuard<T> of T, writes;
    OwnedRwLockMappedWriteGuard<T, U> of U, writes;
}
