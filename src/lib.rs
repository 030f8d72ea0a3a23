//! Finds atomicity bugs in Rust programs while their ordinary tests run.

#[cfg(feature = "trace")]
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(all(feature = "check", not(loom)))]
mod collect;
#[cfg(feature = "crossbeam-channel")]
pub mod crossbeam_channel;
pub mod hint;
#[cfg(feature = "trace")]
pub mod lattice;
mod mark;
mod name;
#[cfg(feature = "parking_lot")]
pub mod parking_lot;
#[cfg(feature = "trace")]
pub mod predict;
#[cfg(feature = "check")]
mod record;
#[cfg(feature = "trace")]
pub mod report;
pub mod sync;
pub mod thread;
#[cfg(feature = "trace")]
pub mod trace;
pub mod watch;

#[cfg(all(feature = "check", not(loom)))]
pub use self::collect::{Config, ConfigError, Mode, Outcome, Predict, check, on_violation};
pub use self::hint::restart;
pub use self::mark::{atomic, not_atomic, test};
#[cfg(all(feature = "check", not(loom)))]
pub use self::name::Tracked;
pub use self::name::name;

/// What the macros expand to: no part of the interface.
#[doc(hidden)]
pub mod __private {
    #[cfg(all(feature = "check", not(loom)))]
    pub use crate::collect::run_test;
    pub use crate::mark::ExitCode;
    #[cfg(not(all(feature = "check", not(loom))))]
    pub use crate::mark::run_test;
    #[cfg(all(feature = "check", not(loom)))]
    pub use crate::mark::{Block, Transaction, begin, depth, outermost};
}
