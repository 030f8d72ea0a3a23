//! Finds atomicity bugs in Rust programs while their ordinary tests run.

#[cfg(feature = "trace")]
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "trace")]
pub mod trace;
