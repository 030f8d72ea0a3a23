//! Exploring: a test runs again and again, on another schedule each time, with its real threads and
//! the real locks.
//!
//! One thread of the test runs at a time. Before each tracked operation a [plan](crate::plan)
//! decides who goes on, so a schedule is a list of decisions, which can be repeated and made
//! shorter. The first run that breaks an atomic block, panics, or cannot go on ends the
//! exploration: its schedule is repeated, made as simple as possible, and told.
//!
//! ```
//! use aerodrome::sync::atomic::{AtomicU32, Ordering};
//! use aerodrome::{Explore, thread};
//!
//! // No sleeps, and no order forced.
//! let exploration = aerodrome::explore(Explore::new().schedules(100), || {
//!     let count = AtomicU32::new(0);
//!     thread::scope(|s| {
//!         for _ in 0..2 {
//!             s.spawn(|| {
//!                 aerodrome::atomic_block! {
//!                     let seen = count.load(Ordering::Relaxed);
//!                     count.store(seen + 1, Ordering::Relaxed);
//!                 }
//!             });
//!         }
//!     });
//! });
//! let found = exploration.found.expect("the block is not atomic");
//! assert_eq!(found.reports.len(), 1);
//! assert!(found.schedule.to_string().starts_with("aero1."));
//! ```
//!
//! What a test does outside of the mirrors is not controlled: whoever blocks there is passed over
//! until it comes back, and the runs depend on it.

mod found;
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
mod random;
mod run;
mod settings;
mod task;
mod test;
mod watch;
mod world;

pub use self::found::{Exploration, Found, Problem};
pub use self::run::explore;
pub use self::settings::Explore;
pub use self::test::{run_plain_test, run_test};
