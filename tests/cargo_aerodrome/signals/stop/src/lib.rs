//! Compiles with tracked types.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub fn is_set(flag: &Arc<AtomicBool>) -> bool {
    flag.load(Ordering::Relaxed)
}
