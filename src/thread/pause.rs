//! Pauses: in an atomic block each is a wait if the block then looks again at what it has looked
//! at.

use std::time::Duration;

use crate::hint::pause;

/// See [`std::thread::yield_now`].
#[track_caller]
pub fn yield_now() {
    pause(std::thread::yield_now);
}

/// See [`std::thread::sleep`].
#[track_caller]
pub fn sleep(dur: Duration) {
    pause(|| std::thread::sleep(dur));
}

/// See [`std::thread::sleep_ms`].
#[deprecated(note = "replaced by `std::thread::sleep`")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(ms.into()));
}
