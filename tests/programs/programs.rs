//! Programs that are checked in this process: bugs are reported where they are, and correct idioms
//! are silent.

#[cfg(feature = "check")]
mod cells;
#[cfg(feature = "check")]
mod counts;
#[cfg(all(feature = "check", feature = "crossbeam-channel"))]
mod crossbeam_channel;
#[cfg(all(feature = "check", feature = "crossbeam-utils"))]
mod crossbeam_utils;
#[cfg(feature = "check")]
mod found;
#[cfg(feature = "check")]
mod idioms;
#[cfg(feature = "check")]
mod mirrors;
#[cfg(all(feature = "check", feature = "once_cell"))]
mod once_cell;
mod operations;
#[cfg(feature = "check")]
mod outcome;
#[cfg(all(feature = "check", feature = "parking_lot"))]
mod parking_lot;
#[cfg(feature = "check")]
mod policy;
#[cfg(feature = "check")]
mod properties;
#[cfg(feature = "check")]
mod recorder;
#[cfg(feature = "serde")]
mod serde;
mod untracked;
#[cfg(feature = "check")]
mod watch;
