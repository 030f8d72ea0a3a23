//! `tokio::time`, of which sleeping is tracked.

use std::panic::Location;

pub use ::tokio::time::*;

use crate::record::pen;

/// See [`tokio::time::sleep`](::tokio::time::sleep()). In a block it is a wait if the block then
/// looks again at what it has looked at.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    pause(Location::caller());
    ::tokio::time::sleep(duration)
}

/// See [`tokio::time::sleep_until`](::tokio::time::sleep_until()), and [`sleep`].
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    pause(Location::caller());
    ::tokio::time::sleep_until(deadline)
}

/// The strand is going to pause.
fn pause(site: &'static Location<'static>) {
    if let Some(pen) = pen() {
        pen.pause(site);
    }
}
