//! `std::sync`, tracked.
//!
//! Without the `check` feature every name here *is* the one of `std::sync`. With it, the locks,
//! atomics and channels are types of the same interface that record what is done with them;
//! [`Arc`], [`Weak`], the error types and [`OnceState`] stay std's own.
//!
//! ```
//! use aerodrome::sync::{Arc, Mutex};
//!
//! let balance = Arc::new(Mutex::new(10));
//! *balance.lock().unwrap() += 1;
//! assert_eq!(*balance.lock().unwrap(), 11);
//! ```
//!
//! # What is recorded
//!
//! | operation | recorded as |
//! |---|---|
//! | a lock is taken, given back | acquire, release |
//! | a guard's first `Deref`, first `DerefMut` in a transaction | a read, a write of the content |
//! | `try_lock` that fails | in a block, a look at the lock and a pause: a wait if it is tried again |
//! | `get_mut`, `into_inner`, `is_poisoned`, `clear_poison` | nothing: what is exclusive needs no order |
//! | `Condvar::wait*` | release, the end of the transaction, acquire |
//! | `Barrier::wait` | every arrival before every departure of its round; the transaction ends before it waits |
//! | `Once`, `OnceLock`, `LazyLock` | initialising commutes with itself and with finding it done; `get` is a read, `set` a write |
//! | [`atomic`] | each access as a read, a write, both, or an update that commutes with its own kind |
//! | [`mpsc`] | a message's send before its receipt |
//!
//! Formatting with `{:?}` is no access: it is for whoever debugs the program, not for the program.
//!
//! # Left out
//!
//! With `check`, these stable items of std are missing or differ:
//!
//! - `AtomicX::from_ptr`: a tracked atomic is more than its value, so none can be laid over a
//!   foreign one.
//! - `AtomicX::into_inner` is no `const fn`: it has the atomic's record of itself to finish.
//! - `AtomicX` has neither the size nor the alignment of its integer, so it cannot be transmuted.
//! - The first argument of a [`Condvar::wait_while`] condition counts as read, not as written,
//!   although it is `&mut T`.

pub mod atomic;
pub mod mpsc;

#[cfg(feature = "check")]
mod barrier;
#[cfg(feature = "check")]
mod condvar;
#[cfg(feature = "check")]
mod guard;
#[cfg(feature = "check")]
mod lazy_lock;
#[cfg(feature = "check")]
mod mutex;
#[cfg(feature = "check")]
mod once;
#[cfg(feature = "check")]
mod once_lock;
#[cfg(feature = "check")]
#[allow(hidden_glob_reexports, reason = "std's module of the name is unstable")]
mod poison;
#[cfg(feature = "check")]
mod rwlock;
#[cfg(all(feature = "check", feature = "serde"))]
mod serde;

// Std's own are what is not declared below: everything, or, with `check`, what is not tracked.
pub use std::sync::*;

#[cfg(feature = "check")]
#[allow(deprecated, reason = "std still has `ONCE_INIT`")]
pub use self::{
    barrier::{Barrier, BarrierWaitResult},
    condvar::Condvar,
    lazy_lock::LazyLock,
    mutex::{Mutex, MutexGuard},
    once::{ONCE_INIT, Once},
    once_lock::OnceLock,
    rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard},
};

#[cfg(all(feature = "check", feature = "once_cell"))]
pub(crate) use self::once_lock::once_cell;
