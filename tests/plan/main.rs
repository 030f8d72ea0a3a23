//! Plans, by programs that exist only as data: each plan against the enumeration of all runs.
#![cfg(feature = "trace")]

mod random;
mod replay;
// Programs that use all of it follow.
#[allow(dead_code)]
mod sim;
