//! The lock-free parts of the recorder, alone: what loom checks. The root of the package
//! `tests/loom`: `RUSTFLAGS="--cfg loom" cargo test -p aerodrome-loom`.
#![cfg(loom)]
#![allow(
    dead_code,
    unexpected_cfgs,
    unused_imports,
    reason = "the rest of the recorder uses it, and has the features"
)]

mod buffer {
    pub(crate) mod chunk;
    pub(crate) mod prim;
    pub(crate) mod record;
}

mod ops {
    mod clock;
}
