//! No member of the workspace, and so not tracked.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub fn flag() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(true))
}
