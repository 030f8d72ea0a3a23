//! What Wang and Stoller published, to the letter: "Run-Time Analysis for Atomicity" (RV 2003) and
//! "Runtime Analysis of Atomicity for Multithreaded Programs" (TSE 2006).
//!
//! The analyses of the crate keep what they need and nothing else, and decide conflict
//! serializability. These here keep whole traces, compare everything with everything, and share
//! nothing with those but the order of periods.

pub(crate) mod blocks;
pub(crate) mod interleavings;
pub(crate) mod reduction;
pub(crate) mod serial;
mod transactions;
pub(crate) mod views;

use aerodrome::trace::Op;

/// Does an access see the value?
fn reads(access: Op) -> bool {
    access != Op::Write
}

/// Does an access change the value?
fn writes(access: Op) -> bool {
    access != Op::Read
}
