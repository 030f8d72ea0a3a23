//! Tests: how they are explored, and how what was found is told.

use std::process::{ExitCode, Termination};

use super::found::{Exploration, Found, Problem};
use super::run::explore;
use super::settings::Explore;
use crate::collect::{self, Outcome, check, tell_outcome, tell_problem};
use crate::mark::Test;
use crate::plan::{Schedule, Time, Wanted};

/// How to explore the test of this name, if that is wanted.
fn settings(wanted: Wanted, test: &str, replay: Option<Schedule>) -> Option<Explore> {
    if wanted.panics {
        return None;
    }
    // Each test has schedules of its own, and the same each time.
    let seed = || u64::from(crc32fast::hash(test.as_bytes()));
    let mut explore = Explore::new().seed(wanted.seed.unwrap_or_else(seed));
    explore.plan = wanted.plan.unwrap_or(explore.plan);
    explore.time = wanted.time;
    if let Some(replay) = replay {
        return Some(explore.replay(replay));
    }
    if wanted.schedules.is_none() && wanted.time.is_none() {
        return None;
    }
    // With a time and no number, until the time is over.
    explore.schedules = wanted.schedules.unwrap_or(u64::MAX);
    (explore.schedules > 1).then_some(explore)
}

impl Test {
    /// On so many schedules.
    pub const fn schedules(mut self, schedules: u64) -> Self {
        self.explore.schedules = Some(schedules);
        self
    }

    /// By the plan of this name.
    ///
    /// # Panics
    ///
    /// If there is none; the attribute has made sure that there is.
    pub fn plan(mut self, plan: &str) -> Self {
        self.explore.plan = Some(plan.parse().expect("a plan"));
        self
    }

    /// With this seed.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.explore.seed = Some(seed);
        self
    }

    /// For so long.
    ///
    /// # Panics
    ///
    /// If that is no time; the attribute has made sure that it is.
    pub fn time(mut self, time: &str) -> Self {
        let Time(time) = time.parse().expect("a time");
        self.explore.time = Some(time);
        self
    }

    /// The test is to panic.
    pub const fn panics(mut self) -> Self {
        self.explore.panics = true;
        self
    }
}

/// How the test of this thread is to be explored, if that is wanted.
fn wanted(test: &Test) -> Option<Explore> {
    let config = collect::config();
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("main");
    settings(config.explore.or(test.explore), name, config.replay)
}

/// Runs a test's body, up to the first run that fails, and judges each run.
#[track_caller]
pub fn run_test<T: Termination>(test: Test, body: fn() -> T) -> ExitCode {
    if let Some(settings) = wanted(&test) {
        return explore_test(&settings, body);
    }
    for _ in 0..test.runs {
        let value = tell_outcome(check(body), None);
        let code = value.report();
        if code != ExitCode::SUCCESS {
            return code;
        }
    }
    ExitCode::SUCCESS
}

/// Runs the body of a `#[test]`: as it would be run, unless it is to be explored.
#[track_caller]
pub fn run_plain_test<T: Termination>(test: Test, body: fn() -> T) -> ExitCode {
    match wanted(&test) {
        Some(settings) => explore_test(&settings, body),
        None => body().report(),
    }
}

#[track_caller]
fn explore_test<T: Termination>(settings: &Explore, body: fn() -> T) -> ExitCode {
    let exploration = explore(settings.clone(), body);
    let summary = exploration.summary();
    exploration.tell();
    // The harness keeps it to itself unless it is asked for.
    println!("aerodrome: {summary}");
    ExitCode::SUCCESS
}

impl Exploration {
    /// Tells what was found, as a test does: by a panic, unless the settings say otherwise.
    ///
    /// ```should_panic
    /// # use aerodrome::Explore;
    /// aerodrome::explore(Explore::new(), || panic!("on every schedule")).tell();
    /// ```
    ///
    /// # Panics
    ///
    /// With what was found; and where something could not be judged.
    #[track_caller]
    pub fn tell(self) {
        let found = self.found.as_ref();
        let how = found.map(Found::how);
        let reports = found.map_or_else(Vec::new, |found| found.reports.clone());
        let outcome = Outcome {
            value: (),
            violations: reports,
            forecast: None,
            incomplete: self.incomplete,
            observer: None,
        };
        tell_outcome(outcome, how.as_deref());
        if let (Some(found), Some(how)) = (self.found, how) {
            if found.problem != Problem::Violation {
                tell_problem(&format!("{}\n\n{how}", found.problem));
            }
        }
    }
}
