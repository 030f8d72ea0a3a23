//! `std::sync::atomic`, tracked.
//!
//! A tracked atomic draws the place of each access in the order of all accesses together with its value, under a spin bit. Tracked atomics are
//! thereby sequentially consistent, whatever the [`Ordering`] says: aerodrome looks for atomicity bugs, not for weak-memory bugs. The `Ordering` is
//! still passed on to std's atomic, so what std guarantees (and panics at) holds.
//!
//! A load of a value that this strand has already read in this transaction costs a few nanoseconds and no shared write.
//!
//! An atomic with a [name](crate::name()) is a variable of [properties](crate::watch#named-atomics).
//!
//! What is [left out](super#left-out) is listed with the module above.

#[cfg(feature = "check")]
mod core;
#[cfg(feature = "check")]
mod types;

#[cfg(not(feature = "check"))]
#[allow(
    deprecated,
    reason = "std still has the constants and `spin_loop_hint`"
)]
pub use std::sync::atomic::{
    ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8, AtomicI16,
    AtomicI32, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, spin_loop_hint,
};

#[cfg(all(not(feature = "check"), target_has_atomic = "64"))]
pub use std::sync::atomic::{AtomicI64, AtomicU64};

#[cfg(feature = "check")]
#[allow(deprecated, reason = "std still has the constants")]
pub use self::types::{
    ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8, AtomicI16,
    AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize,
};

// Std's own in either build.
pub use std::sync::atomic::{Ordering, compiler_fence, fence};

/// The old name of [`hint::spin_loop`](crate::hint::spin_loop).
#[cfg(feature = "check")]
#[inline]
#[track_caller]
#[deprecated(note = "use `hint::spin_loop` instead")]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
