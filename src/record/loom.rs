//! The lock-free parts of the recorder, alone: what loom checks.
//! `RUSTFLAGS="--cfg loom" cargo test --lib loom`, without features.

mod chunk;
mod clock;
mod prim;
