//! Nothing is recorded.

/// What an operation did.
pub(super) enum Did {
    Read,
    Write,
    ReadWrite,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Max,
    Min,
}

/// Keeps nothing.
pub(super) struct Track;

impl Track {
    pub(super) const fn new(_: &'static str, _: fn() -> &'static str) -> Track {
        Track
    }

    #[inline(always)]
    pub(super) fn read<R>(&self, load: impl Fn() -> R, _: impl Fn() -> Result<i64, String>) -> R {
        load()
    }

    #[inline(always)]
    pub(super) fn write<R>(&self, _: impl Fn() -> Result<i64, String>, operate: impl FnOnce() -> (R, Did)) -> R {
        operate().0
    }
}
