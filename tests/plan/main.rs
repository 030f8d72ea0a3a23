//! Plans, by programs that exist only as data: each plan against the enumeration of all runs.
#![cfg(feature = "trace")]

mod all;
mod published;
mod random;
mod replay;
mod shrink;
mod sim;
mod table;
