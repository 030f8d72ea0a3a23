//! One source against the original and against the mirror: it compiles, and behaves the same. Run
//! with and without the `check` feature.

// crossbeam-channel's own macro needs it for 32 arms.
#![recursion_limit = "256"]

#[cfg(feature = "crossbeam-channel")]
mod crossbeam_channel;
#[cfg(feature = "crossbeam-utils")]
mod crossbeam_utils;
#[cfg(feature = "once_cell")]
mod once_cell;
#[cfg(feature = "parking_lot")]
mod parking_lot;
// Some of what is compared is that new.
#[cfg(since = "1.95")]
mod standard;
mod std_items;
