//! What all guards share.

use super::raw::retake;
use crate::record::{Holder, pen};

/// Runs `f` while a guard's lock is given back, and takes it again whatever becomes of `f`. What
/// the guard has touched before, others may have touched since.
pub(super) fn outside<U>(holder: &mut Holder, again: impl Fn(), f: impl FnOnce() -> U) -> U {
    struct Again<'a, A: Fn()>(&'a mut Holder, A);
    impl<A: Fn()> Drop for Again<'_, A> {
        fn drop(&mut self) {
            retake(&self.1);
            *self.0 = Holder::sendable(pen());
        }
    }
    let _again = Again(holder, again);
    f()
}

/// `[generics] lock`: the traits of a lock that is around lock_api's.
macro_rules! lock_traits {
    ([$($generics:tt)*] $Lock:ty) => {
        impl<$($generics)* T: Default> Default for $Lock {
            #[inline]
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<$($generics)* T> From<T> for $Lock {
            #[inline]
            #[track_caller]
            fn from(t: T) -> Self {
                Self::new(t)
            }
        }

        impl<$($generics)* T: ?Sized + std::fmt::Debug> std::fmt::Debug for $Lock {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                crate::record::untracked(|| self.0.fmt(f))
            }
        }
    };
}

/// What a lock has beside the ways to take it: `fn` for each way to give it back without a guard.
macro_rules! lock_methods {
    ($(fn $unlock:ident;)*) => {
        /// As parking_lot's. Nothing is recorded: the access is exclusive.
        #[inline]
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn is_locked(&self) -> bool {
            at(Location::caller(), || self.0.is_locked())
        }

        /// As parking_lot's. What is done through the pointer is not seen.
        #[inline]
        pub fn data_ptr(&self) -> *mut T {
            self.0.data_ptr()
        }

        $(
            /// As parking_lot's.
            ///
            /// # Safety
            ///
            /// As parking_lot's: the strand must hold the lock in this way, its guard forgotten.
            #[inline]
            pub unsafe fn $unlock(&self) {
                // SAFETY: the caller's.
                unsafe { self.0.$unlock() }
            }
        )*
    };
}

/// `guard of lock_api's`: what the guards that stand for a part of the content have beside the ways
/// to narrow them; `mut` for those that write.
macro_rules! mapped_guard {
    ($real:ident $($mutable:ident)?) => {
        #[inline]
        fn object(&self) -> &'a Object {
            self.object
        }

        #[inline]
        fn peek(&self) -> &T {
            &self.inner
        }

        $(
            #[inline]
            fn peek_mut(&mut self) -> &$mutable T {
                &mut self.inner
            }
        )?

        /// As parking_lot's.
        #[inline]
        pub fn unlock_fair(s: Self) {
            lock_api::$real::unlock_fair(s.inner);
        }
    };
}

/// `[generics] guard, access`: the traits of a guard that has `object()`, `peek()` and, where it
/// writes, `peek_mut()`.
macro_rules! guard_traits {
    ($([$($generics:tt)*] $Guard:ty, $access:ident;)*) => {$(
        impl<$($generics)*> std::ops::Deref for $Guard {
            type Target = T;

            #[inline]
            #[track_caller]
            fn deref(&self) -> &T {
                self.holder.read(self.object(), std::panic::Location::caller());
                self.peek()
            }
        }

        guard_traits!(@$access [$($generics)*] $Guard);

        impl<$($generics)*> std::fmt::Debug for $Guard
        where
            T: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.peek().fmt(f)
            }
        }

        impl<$($generics)*> std::fmt::Display for $Guard
        where
            T: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
    (@reads $($rest:tt)*) => {};
    (@writes [$($generics:tt)*] $Guard:ty) => {
        impl<$($generics)*> std::ops::DerefMut for $Guard {
            #[inline]
            #[track_caller]
            fn deref_mut(&mut self) -> &mut T {
                self.holder.write(self.object(), std::panic::Location::caller());
                self.peek_mut()
            }
        }
    };
}

/// The ways to narrow a guard. Narrowing counts as a read of the content, although the closure
/// could write where it has `&mut`.
macro_rules! maps {
    ($real:ident { $($object:ident)? } => $Mapped:ident[$($before:tt)*], &$($mutable:ident)?, $try_map_or:ident) => {
        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn map<U: ?Sized, F>(s: Self, f: F) -> $Mapped<$($before)*, U>
        where
            F: FnOnce(&$($mutable)? T) -> &$($mutable)? U,
        {
            let object = s.object();
            s.holder.read(object, Location::caller());
            $Mapped { object, holder: s.holder, inner: lock_api::$real::map(s.inner, f) }
        }

        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn try_map<U: ?Sized, F>(s: Self, f: F) -> Result<$Mapped<$($before)*, U>, Self>
        where
            F: FnOnce(&$($mutable)? T) -> Option<&$($mutable)? U>,
        {
            Self::$try_map_or(s, |data| f(data).ok_or(())).map_err(|(s, ())| s)
        }

        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn $try_map_or<U: ?Sized, F, E>(s: Self, f: F) -> Result<$Mapped<$($before)*, U>, (Self, E)>
        where
            F: FnOnce(&$($mutable)? T) -> Result<&$($mutable)? U, E>,
        {
            let object = s.object();
            s.holder.read(object, Location::caller());
            let holder = s.holder;
            match lock_api::$real::$try_map_or(s.inner, f) {
                Ok(inner) => Ok($Mapped { object, holder, inner }),
                Err((inner, error)) => Err((Self { $($object: s.$object,)? holder, inner }, error)),
            }
        }
    };
}

/// `name = what gives the lock back, what takes it again; guard => its lock`: runs a closure without
/// the lock.
macro_rules! unlocked {
    ($name:ident = $unlock:ident, $relock:ident; $s:ident => $lock:expr) => {
        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn $name<F, U>($s: &mut Self, f: F) -> U
        where
            F: FnOnce() -> U,
        {
            let (lock, site) = ($lock, Location::caller());
            // SAFETY: a guard holds the lock.
            unsafe { lock.$unlock() };
            outside(&mut $s.holder, || at(site, || lock.$relock()), f)
        }
    };
}

/// `a guard of lock_api's, the way to its lock; what gives the lock back, what does so fairly, what
/// takes it again`: the ways to give a lock back for a while, or fairly.
macro_rules! yields {
    ($real:ident, $lock:ident; $unlock:ident, $unlock_fair:ident, $relock:ident) => {
        unlocked! { unlocked = $unlock, $relock; s => Self::$lock(s) }
        unlocked! { unlocked_fair = $unlock_fair, $relock; s => Self::$lock(s) }

        /// As parking_lot's.
        #[inline]
        pub fn unlock_fair(s: Self) {
            lock_api::$real::unlock_fair(s.inner);
        }

        /// As parking_lot's.
        #[inline]
        #[track_caller]
        pub fn bump(s: &mut Self) {
            at(Location::caller(), || lock_api::$real::bump(&mut s.inner));
            s.holder = Holder::sendable(pen());
        }
    };
}

/// The methods of a guard that has its lock in an `Arc`; `make` makes a guard of lock_api's.
#[cfg(feature = "parking_lot-arc_lock")]
macro_rules! arc_guard {
    (
        [$($generics:tt)*] $Guard:ty, $lock:ident: $Lock:ty;
        $real:ident, $make:ident, $unlock:ident, $unlock_fair:ident, $relock:ident
    ) => {
        impl<$($generics)*> $Guard {
            #[inline]
            fn object(&self) -> &Object {
                self.$lock.object()
            }

            #[inline]
            fn peek(&self) -> &T {
                // SAFETY: the lock is held.
                unsafe { &*self.$lock.data_ptr() }
            }

            /// The holder and the lock, which stays held.
            #[inline]
            fn into_parts(self) -> (Holder, Arc<$Lock>) {
                let s = ManuallyDrop::new(self);
                // SAFETY: what is read here is not dropped again.
                unsafe { (std::ptr::read(&s.holder), std::ptr::read(&s.$lock)) }
            }

            /// The guard of a lock that is held.
            #[inline]
            fn of((holder, $lock): (Holder, Arc<$Lock>)) -> Self {
                Self { holder, $lock, marker: PhantomData }
            }

            /// As parking_lot's.
            #[inline]
            pub fn $lock(s: &Self) -> &Arc<$Lock> {
                &s.$lock
            }

            /// As parking_lot's.
            #[inline]
            pub fn into_arc(s: Self) -> Arc<$Lock> {
                let (_, lock) = s.into_parts();
                // SAFETY: the guard held the lock, and was not dropped.
                unsafe { lock.$unlock() };
                lock
            }

            /// As parking_lot's.
            #[inline]
            pub fn into_arc_fair(s: Self) -> Arc<$Lock> {
                let (_, lock) = s.into_parts();
                // SAFETY: the guard held the lock, and was not dropped.
                unsafe { lock.$unlock_fair() };
                lock
            }

            /// As parking_lot's.
            #[inline]
            pub fn unlock_fair(s: Self) {
                drop(Self::into_arc_fair(s));
            }

            unlocked! { unlocked = $unlock, $relock; s => &s.$lock }
            unlocked! { unlocked_fair = $unlock_fair, $relock; s => &s.$lock }

            /// As parking_lot's.
            #[inline]
            #[track_caller]
            pub fn bump(s: &mut Self) {
                // SAFETY: a guard holds the lock, and the one made here does not give it back.
                let mut guard = ManuallyDrop::new(unsafe { s.$lock.0.$make() });
                at(Location::caller(), || lock_api::$real::bump(&mut guard));
                s.holder = Holder::sendable(pen());
            }
        }
    };
}

#[cfg(feature = "parking_lot-arc_lock")]
pub(super) use arc_guard;
pub(super) use {guard_traits, lock_methods, lock_traits, mapped_guard, maps, unlocked, yields};
