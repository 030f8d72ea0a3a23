//! `std::sync::atomic`, tracked.
//!
//! A tracked atomic draws the place of each access in the order of all accesses together with its
//! value, under a spin bit. Tracked atomics are thereby sequentially consistent, whatever the
//! [`Ordering`] says: aerodrome looks for atomicity bugs, not for weak-memory bugs. The `Ordering`
//! is still passed on to std's atomic, so what std guarantees (and panics at) holds.
//!
//! A load of a value that this strand has already read in this transaction costs a few nanoseconds
//! and no shared write.
//!
//! An atomic with a [name](crate::name()) is a variable of
//! [properties](crate::watch#named-atomics).
//!
//! What is [left out](super#left-out) is listed with the module above.

#[cfg(feature = "check")]
mod core;
#[cfg(feature = "check")]
mod types;

pub use std::sync::atomic::*;

#[cfg(feature = "check")]
#[allow(deprecated, reason = "std still has the constants")]
pub use self::types::{
    ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8, AtomicI16,
    AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize,
};

#[cfg(all(feature = "check", any(feature = "serde", feature = "crossbeam-utils")))]
pub(crate) use self::types::integers;

/// The old name of [`hint::spin_loop`](crate::hint::spin_loop).
#[cfg(feature = "check")]
#[inline]
#[track_caller]
#[deprecated(note = "use `hint::spin_loop` instead")]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
