//! Threads, as `std::thread` has them.
//!
//! Without the feature `check` everything here is std's own. With it, `spawn`, `scope` and
//! `Builder` fork strands, and `join`, the end of a scope, `park` and `unpark` order them.
//!
//! # Cost and panics
//!
//! A fork takes a buffer from a pool and writes one record. Where a test's own thread joins another
//! one, what that one did is judged, so a `join` or the end of a scope panics with the report if a
//! violation was found.
//!
//! # Left out
//!
//! Unstable items. `JoinHandle` and `Thread` are types of their own, because joining and unparking
//! are recorded; what takes std's (`std::os::unix::thread::JoinHandleExt` is implemented) is to be
//! given `JoinHandle::thread().id()` and the like. On Windows `JoinHandle` has none of the traits
//! by which std's gives away its handle.

#[cfg(feature = "check")]
mod handle;
#[cfg(feature = "check")]
mod park;
#[cfg(feature = "check")]
mod pause;
#[cfg(feature = "check")]
mod scoped;

/// What other scoped threads are made of.
#[cfg(feature = "check")]
pub(crate) mod scope_parts {
    pub(crate) use super::handle::{ExitHere, Forked};
    #[cfg(feature = "crossbeam-utils")]
    pub(crate) use super::park::{Parker, Token};
    #[cfg(feature = "crossbeam-utils")]
    pub(crate) use super::scoped::{Children, JoinAll, WaitForAll};
}

#[cfg(feature = "check")]
pub use self::{
    handle::{Builder, JoinHandle, spawn},
    park::{Thread, current, park, park_timeout},
    pause::{available_parallelism, sleep, yield_now},
    scoped::{Scope, ScopedJoinHandle, scope},
};
#[cfg(feature = "check")]
#[allow(deprecated, reason = "std has them")]
pub use self::{park::park_timeout_ms, pause::sleep_ms};

// Std's own are what is not declared above.
pub use std::thread::*;
pub use std::thread_local;
