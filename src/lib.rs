//! Finds atomicity bugs in Rust programs while their ordinary tests run.

#[cfg(feature = "trace")]
pub mod check;
#[cfg(all(feature = "check", not(loom)))]
mod collect;
pub mod hint;
#[cfg(all(feature = "check", not(loom)))]
mod mark;
mod name;
#[cfg(all(feature = "check", not(loom)))]
mod record;
#[cfg(all(test, feature = "check", loom))]
#[path = "record/loom.rs"]
mod record;
pub mod sync;
#[cfg(feature = "trace")]
pub mod trace;

pub use self::hint::restart;
#[cfg(all(feature = "check", not(loom)))]
pub use self::name::Tracked;
pub use self::name::name;
