//! The checker: the engines against an oracle, the rules on traces, and both by definition.
#![cfg(feature = "trace")]

mod by_definition;
mod common;
mod engines;
mod semantics;
