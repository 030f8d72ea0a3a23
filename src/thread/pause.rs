//! Pauses: in an atomic block each is a wait if the block then looks again at what it has looked
//! at.

use std::io;
use std::num::NonZero;
use std::panic::Location;
use std::time::Duration;

use crate::hint::pause;
use crate::record::{self, Intent, Kind};

/// See [`std::thread::yield_now`].
#[track_caller]
pub fn yield_now() {
    pause(Kind::Yield, std::thread::yield_now);
}

/// See [`std::thread::sleep`].
#[track_caller]
pub fn sleep(dur: Duration) {
    let site = Location::caller();
    let sleep = Intent::bare(Kind::Sleep, site);
    let (pen, left) = record::wait_for(sleep, Some(dur), || false);
    if let Some(pen) = pen {
        pen.pause(site);
    }
    // Under control no time is left.
    std::thread::sleep(left.unwrap_or(dur));
}

/// See [`std::thread::sleep_ms`].
#[deprecated(note = "replaced by `std::thread::sleep`")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(ms.into()));
}

/// See [`std::thread::available_parallelism`]. The same while a test is
/// [explored](mod@crate::explore), although its threads share a processor then.
///
/// # Errors
///
/// As std's.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    match record::processors() {
        Some(processors) => Ok(processors),
        None => std::thread::available_parallelism(),
    }
}
