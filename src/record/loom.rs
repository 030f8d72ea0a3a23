//! The lock-free parts of the recorder, alone: what loom checks.

mod chunk;
mod clock;
mod prim;
