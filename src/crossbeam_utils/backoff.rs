use std::fmt;

use ::crossbeam_utils as real;

use crate::hint::pause;
use crate::record::Kind;

/// As crossbeam's: waits longer with each step. In an atomic block a step is a wait if the block
/// then looks again at what it has looked at.
#[derive(Default)]
pub struct Backoff(real::Backoff);

impl Backoff {
    /// As crossbeam's.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// As crossbeam's.
    #[inline]
    pub fn reset(&self) {
        self.0.reset();
    }

    /// As crossbeam's: a pause.
    #[inline]
    #[track_caller]
    pub fn spin(&self) {
        pause(Kind::Yield, || self.0.spin());
    }

    /// As crossbeam's: a pause.
    #[inline]
    #[track_caller]
    pub fn snooze(&self) {
        pause(Kind::Yield, || self.0.snooze());
    }

    /// As crossbeam's.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.0.is_completed()
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
