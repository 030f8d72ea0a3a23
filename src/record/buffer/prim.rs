//! The primitives of the lock-free parts: std's, or loom's where loom checks them.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, fence};

pub(crate) use std::sync::atomic::Ordering;

/// Waits for a thread that is between a few instructions: spins, then gives the processor away,
/// because that thread may not be running.
#[cfg(not(loom))]
#[derive(Default)]
pub(crate) struct Backoff {
    tries: u32,
    since: Option<std::time::Instant>,
}

#[cfg(not(loom))]
impl Backoff {
    /// After this long the thread must have been stopped: no load of the machine takes that much
    /// time from it.
    const LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

    /// Another thread must make progress first. Whether there is hope that it does.
    pub(crate) fn relax(&mut self) -> bool {
        self.tries += 1;
        if self.tries < 64 {
            std::hint::spin_loop();
            return true;
        }
        std::thread::yield_now();
        let now = std::time::Instant::now();
        now - *self.since.get_or_insert(now) < Self::LIMIT
    }
}

#[cfg(loom)]
#[derive(Default)]
pub(crate) struct Backoff;

#[cfg(loom)]
impl Backoff {
    pub(crate) fn relax(&mut self) -> bool {
        loom::thread::yield_now();
        true
    }
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
