//! The primitives of the lock-free parts: std's, or loom's where loom checks them.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, fence};

pub(crate) use std::sync::atomic::Ordering;

/// Says that another thread must make progress first; gives the processor away after a while, for its holder may not be running.
#[cfg(not(loom))]
#[inline]
pub(crate) fn relax(tries: &mut u32) {
    *tries += 1;
    if *tries < 64 {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

#[cfg(loom)]
pub(crate) fn relax(_: &mut u32) {
    loom::thread::yield_now();
}

#[cfg(not(loom))]
pub(crate) mod cell {
    /// `std`'s cell in the shape of loom's.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(loom)]
pub(crate) use loom::cell;
