//! Relies on the layout of std's atomics, so it does not compile with tracked ones.

use std::sync::atomic::{AtomicU32, Ordering};

pub fn flags() -> [u32; 2] {
    // SAFETY: `AtomicU32` has the representation of `u32`.
    let flags: [AtomicU32; 2] = unsafe { std::mem::transmute([0_u32; 2]) };
    flags.map(|flag| flag.load(Ordering::Relaxed))
}
