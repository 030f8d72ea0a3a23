//! How a test is explored.

use std::time::Duration;

use crate::plan::{Name, Schedule};

/// How to explore; see [`explore`](super::explore).
///
/// ```
/// use aerodrome::Explore;
///
/// let explore = Explore::new().schedules(50).seed(7).plan("pos".parse()?);
/// # let _ = explore;
/// # Ok::<_, String>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "this only says how; `aerodrome::explore` does it"]
pub struct Explore {
    pub(super) schedules: u64,
    pub(super) plan: Name,
    pub(super) seed: u64,
    pub(super) time: Option<Duration>,
    pub(super) replay: Option<Schedule>,
    pub(super) steps: u64,
}

impl Default for Explore {
    fn default() -> Self {
        Self::new()
    }
}

impl Explore {
    /// 200 schedules of the plan `mix`.
    pub fn new() -> Self {
        Explore {
            schedules: 200,
            plan: Name::Mix,
            seed: 0,
            time: None,
            replay: None,
            steps: 20_000,
        }
    }

    /// How many schedules at most.
    pub fn schedules(self, schedules: u64) -> Self {
        Explore { schedules, ..self }
    }

    /// Which plan makes the schedules.
    pub fn plan(self, plan: Name) -> Self {
        Explore { plan, ..self }
    }

    /// What the schedules are drawn from: the same seed gives the same schedules.
    pub fn seed(self, seed: u64) -> Self {
        Explore { seed, ..self }
    }

    /// For how long at most; a run that has begun is ended.
    pub fn time(self, time: Duration) -> Self {
        let time = Some(time);
        Explore { time, ..self }
    }

    /// Only this schedule, which an exploration has found.
    pub fn replay(self, schedule: Schedule) -> Self {
        let replay = Some(schedule);
        Explore { replay, ..self }
    }

    /// After how many steps a run is let go, 20,000 unless said otherwise.
    pub fn steps(self, steps: u64) -> Self {
        Explore { steps, ..self }
    }
}
