//! The lock-free parts of the recorder, alone: what loom checks.
//! `RUSTFLAGS="--cfg loom" cargo test --lib loom`, without features.

mod buffer {
    pub(crate) mod chunk;
    pub(crate) mod prim;
    pub(crate) mod record;
}

mod ops {
    mod clock;
}
