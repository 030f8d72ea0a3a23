//! once_cell's example, which one of its tests starts.
#![allow(warnings, clippy::all)]

include!(concat!(
    env!("OUT_DIR"),
    "/once_cell/examples/reentrant_init_deadlocks.rs"
));
