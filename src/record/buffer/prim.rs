//! The primitives of the lock-free parts: std's, or loom's where loom checks them.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};

pub(crate) use std::sync::atomic::Ordering;

/// Keeps the compiler from moving a read or a write across, for signal handlers of the same thread.
/// As std's `compiler_fence`, which is a call in an unoptimised build.
#[inline(always)]
pub(crate) fn keep_order() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: does nothing.
    unsafe {
        std::arch::asm!("", options(nostack, preserves_flags));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// What comes next is rare: the compiler lays the other way out without jumps.
#[inline(always)]
pub(crate) fn rarely() {
    #[cfg(since = "1.95")]
    std::hint::cold_path();
}

/// Waits for a thread that is between a few instructions: spins, then gives the processor away,
/// because that thread may not be running.
///
/// It spins for long from the start. Who looks again at once takes the cache line from the thread
/// that it waits for; who stays away lets that one do several operations in the time of one.
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
        if self.tries < 6 {
            for _ in 0..16 << self.tries {
                std::hint::spin_loop();
            }
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

/// Places for values that one thread writes and another reads. They are read and written by plain
/// assignments: in an unoptimised build a method call costs more than the write.
#[cfg(not(loom))]
pub(crate) mod slot {
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;

    pub(crate) type Slot<T> = UnsafeCell<MaybeUninit<T>>;

    /// Writes a slot.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes it at the same time.
    #[inline(always)]
    pub(crate) unsafe fn write<T: Copy>(slot: *mut Slot<T>, value: T) {
        // SAFETY: cells and `MaybeUninit` have the layout of what is in them.
        unsafe { *slot.cast::<T>() = value };
    }

    /// Reads a slot.
    ///
    /// # Safety
    ///
    /// It was written, and nobody writes it at the same time.
    #[inline(always)]
    pub(crate) unsafe fn read<T: Copy>(slot: *const Slot<T>) -> T {
        // SAFETY: as above.
        unsafe { *slot.cast::<T>() }
    }
}

#[cfg(loom)]
pub(crate) mod slot {
    use std::mem::MaybeUninit;

    use loom::cell::UnsafeCell;

    pub(crate) type Slot<T> = UnsafeCell<MaybeUninit<T>>;

    pub(crate) unsafe fn write<T: Copy>(slot: *mut Slot<T>, value: T) {
        // SAFETY: the caller's, and loom checks it.
        unsafe { &*slot }.with_mut(|slot| unsafe { (*slot).write(value) });
    }

    pub(crate) unsafe fn read<T: Copy>(slot: *const Slot<T>) -> T {
        // SAFETY: as above.
        unsafe { &*slot }.with(|slot| unsafe { (*slot).assume_init() })
    }
}
