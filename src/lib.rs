//! Finds atomicity bugs in Rust programs while their ordinary tests run.

#[cfg(feature = "trace")]
pub mod check;
#[cfg(feature = "trace")]
pub mod predict;
#[cfg(feature = "trace")]
pub mod trace;
