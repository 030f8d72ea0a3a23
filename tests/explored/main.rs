#![cfg(feature = "check")]
//! Explored programs: the bug of each is found, on schedules that nothing but the plan has chosen,
//! and its right neighbours are silent on all of them.

#[allow(
    dead_code,
    unreachable_pub,
    reason = "the benchmark's, which needs more of it"
)]
#[path = "../../benches/explore/mod.rs"]
mod programs;

mod classics;
mod families;
mod kernels;
mod scheduler;

use aerodrome::{Explore, Found, explore};

/// What is wrong with `bug`, within so many schedules of the default plan.
#[track_caller]
fn find(schedules: u64, seed: u64, bug: impl Fn() + Sync) -> Found {
    let settings = Explore::new().schedules(schedules).seed(seed);
    let exploration = explore(settings, bug);
    assert_eq!(exploration.incomplete, None, "seed {seed}");
    match exploration.found {
        Some(found) => found,
        None => panic!(
            "not found in {} schedules, seed {seed}",
            exploration.schedules
        ),
    }
}

/// Runs `right` on so many schedules.
#[track_caller]
fn assert_silent(schedules: u64, right: impl Fn() + Sync) {
    let exploration = explore(Explore::new().schedules(schedules), right);
    if let Some(found) = exploration.found {
        panic!(
            "{} in schedule {}: {:?}",
            found.problem, found.run, found.reports
        );
    }
    assert_eq!(exploration.incomplete, None);
    // Fewer only where there are no more.
    assert!(exploration.schedules == schedules || exploration.is_exhaustive);
}
