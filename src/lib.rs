//! Finds atomicity bugs in Rust programs while their ordinary tests run.

#[cfg(feature = "trace")]
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "check")]
mod collect;
#[cfg(feature = "trace")]
pub mod lattice;
mod mark;
#[cfg(feature = "trace")]
pub mod predict;
#[cfg(feature = "check")]
mod record;
#[cfg(feature = "trace")]
pub mod report;
pub mod thread;
#[cfg(feature = "trace")]
pub mod trace;
pub mod watch;

#[cfg(feature = "check")]
pub use collect::{Config, ConfigError, Mode, Outcome, Predict, check, on_violation};
pub use mark::{atomic, not_atomic, test};

/// What the macros expand to: no part of the interface.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "check")]
    pub use crate::collect::run_test;
    pub use crate::mark::ExitCode;
    #[cfg(not(feature = "check"))]
    pub use crate::mark::run_test;
    #[cfg(feature = "check")]
    pub use crate::mark::{Block, Transaction, begin, depth, outermost};
}
