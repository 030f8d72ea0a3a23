//! `crossbeam-utils` 0.8, tracked.
//!
//! Without the `check` feature every name here *is* the one of crossbeam-utils. With it:
//!
//! | what | is |
//! |---|---|
//! | [`Backoff`] | a pause, as [`spin_loop`](crate::hint::spin_loop()) and `yield_now` are |
//! | [`thread::scope`] | forks and joins, as std's |
//! | [`sync::Parker`], [`sync::WaitGroup`] | a wait: a transaction ends there and a new one begins |
//! | [`sync::ShardedLock`] | [`RwLock`](crate::sync::RwLock): the same interface and the same records |
//! | [`atomic::AtomicConsume`] | also for the tracked atomics, as a read |
//! | [`atomic::AtomicCell`], [`CachePadded`] | crossbeam's own; what a cell holds is not tracked |
//!
//! ```
//! use aerodrome::crossbeam_utils::Backoff;
//! use aerodrome::sync::atomic::{AtomicU32, Ordering};
//!
//! /// A retry loop: in an atomic block, too, only the attempt that succeeds counts.
//! fn double(value: &AtomicU32) {
//!     let backoff = Backoff::new();
//!     loop {
//!         let seen = value.load(Ordering::Acquire);
//!         let doubled = value.compare_exchange(
//!             seen, 2 * seen, Ordering::AcqRel, Ordering::Relaxed,
//!         );
//!         if doubled.is_ok() {
//!             return;
//!         }
//!         backoff.spin();
//!     }
//! }
//!
//! let value = AtomicU32::new(21);
//! double(&value);
//! assert_eq!(value.into_inner(), 42);
//! ```

#[cfg(feature = "check")]
pub mod atomic;
#[cfg(feature = "check")]
mod backoff;
#[cfg(feature = "check")]
pub mod sync;
#[cfg(feature = "check")]
pub mod thread;

#[cfg(feature = "check")]
pub use self::backoff::Backoff;
pub use ::crossbeam_utils::CachePadded;
#[cfg(not(feature = "check"))]
pub use ::crossbeam_utils::{Backoff, atomic, sync, thread};
