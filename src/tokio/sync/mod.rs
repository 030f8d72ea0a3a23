//! `tokio::sync`, tracked. What is not declared here is tokio's own.

#![allow(
    hidden_glob_reexports,
    reason = "tokio's modules of the same names are private"
)]

mod barrier;
pub mod broadcast;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod rwlock;
mod semaphore;
mod wait;
pub mod watch;

pub use ::tokio::sync::*;

/// The futures of [`Notify`].
pub mod futures {
    pub use super::notify::{Notified, OwnedNotified};
}

pub use self::barrier::Barrier;
pub use self::mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
pub use self::notify::Notify;
pub use self::once_cell::OnceCell;
pub use self::rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use self::semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// What guards share: the access that dereferencing is, and formatting, which is none.
macro_rules! guards {
    ($($Guard:ident<$($lifetime:lifetime,)? $($Type:ident),*> of $Content:ident, $access:ident;)*) => {$(
        impl<$($lifetime,)? $($Type: ?Sized),*> std::ops::Deref for $Guard<$($lifetime,)? $($Type),*> {
            type Target = $Content;

            #[track_caller]
            fn deref(&self) -> &$Content {
                self.section.read(std::panic::Location::caller());
                &self.inner
            }
        }

        $crate::tokio::sync::guards!(@$access $Guard<$($lifetime,)? $($Type),*> of $Content);

        impl<$($lifetime,)? $($Type: ?Sized),*> std::fmt::Debug for $Guard<$($lifetime,)? $($Type),*>
        where
            $Content: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&*self.inner, f)
            }
        }

        impl<$($lifetime,)? $($Type: ?Sized),*> std::fmt::Display for $Guard<$($lifetime,)? $($Type),*>
        where
            $Content: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&**self, f)
            }
        }
    )*};
    (@reads $($rest:tt)*) => {};
    (@writes $Guard:ident<$($lifetime:lifetime,)? $($Type:ident),*> of $Content:ident) => {
        impl<$($lifetime,)? $($Type: ?Sized),*> std::ops::DerefMut for $Guard<$($lifetime,)? $($Type),*> {
            #[track_caller]
            fn deref_mut(&mut self) -> &mut $Content {
                self.section.write(std::panic::Location::caller());
                &mut self.inner
            }
        }
    };
}

use guards;
