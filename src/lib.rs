//! Finds atomicity bugs in Rust programs while their ordinary tests run.

#[cfg(feature = "trace")]
pub mod check;
#[cfg(feature = "check")]
mod collect;
#[cfg(feature = "check")]
mod mark;
#[cfg(feature = "check")]
mod record;
pub mod thread;
#[cfg(feature = "trace")]
pub mod report;
#[cfg(feature = "trace")]
pub mod trace;
