//! `std::hint`, tracked: [`spin_loop`] may be a wait.

#[cfg(feature = "check")]
use crate::record::{self, Intent, Kind};

pub use std::hint::*;

/// As std's. In an atomic block it is a wait if the block then looks again at what it has looked
/// at: see [what counts as what](crate#what-counts-as-what).
#[cfg(feature = "check")]
#[inline]
#[track_caller]
pub fn spin_loop() {
    pause(Kind::Yield, std::hint::spin_loop);
}

/// A pause, done by `pause`.
#[cfg(feature = "check")]
#[inline]
#[track_caller]
pub(crate) fn pause<R>(kind: Kind, pause: impl FnOnce() -> R) -> R {
    let site = std::panic::Location::caller();
    if let Some(pen) = record::step(move || Intent::bare(kind, site)) {
        pen.pause(site);
    }
    pause()
}

/// Says that what the current atomic block has read so far does not count, because it is about to
/// be read again: for double-checked and validated reads.
///
/// A block that has already written something goes on as it was. Outside of atomic blocks, and in a
/// build without checking, nothing happens.
///
/// ```
/// use aerodrome::sync::atomic::{AtomicU32, Ordering};
///
/// // A sequence lock's reader: an odd or changed version means that the value cannot be trusted.
/// fn read(version: &AtomicU32, value: &AtomicU32) -> u32 {
///     loop {
///         let before = version.load(Ordering::Acquire);
///         let read = value.load(Ordering::Acquire);
///         if before % 2 == 0 && version.load(Ordering::Acquire) == before {
///             return read;
///         }
///         aerodrome::restart();
///     }
/// }
///
/// assert_eq!(read(&AtomicU32::new(2), &AtomicU32::new(7)), 7);
/// ```
#[inline]
#[track_caller]
pub fn restart() {
    #[cfg(feature = "check")]
    if let Some(pen) = crate::record::pen() {
        pen.restart();
    }
}
