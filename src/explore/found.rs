//! What an exploration has found.

use std::fmt::{self, Display, Write};
use std::panic::Location;
use std::time::Duration;

use super::world::{Panic, Stuck, StuckKind, Waits};
use crate::collect;
use crate::plan::{Kind, Schedule};
use crate::record::code;
use crate::report::Report;

/// What [`explore`](super::explore) has seen.
#[derive(Clone, Debug)]
#[must_use = "what was found is in here and nowhere else"]
pub struct Exploration {
    /// The first run that went wrong.
    pub found: Option<Found>,
    /// How many schedules were run.
    pub schedules: u64,
    /// How many of them differ in the order of conflicting operations.
    pub different: u64,
    /// Which schedule was the last that differed from all before it, counted from 1.
    pub last_different: u64,
    /// Whether all schedules were explored, up to the order of operations that do not conflict.
    pub is_exhaustive: bool,
    /// Whether the test has started no thread that can be controlled: it ran once.
    pub is_sequential: bool,
    /// How many runs were let go before their end, at the limit of steps.
    pub abandoned: u64,
    /// The steps of all runs, and how many of them were taken by strands that had been waiting for
    /// something that is not mirrored.
    pub steps: u64,
    /// See [`steps`](Self::steps).
    pub outside: u64,
    /// How long it took.
    pub time: Duration,
    /// Why some run could not be judged.
    pub incomplete: Option<String>,
}

/// A run that went wrong.
#[derive(Clone, Debug)]
pub struct Found {
    /// What went wrong.
    pub problem: Problem,
    /// The violations of the run.
    pub reports: Vec<Report>,
    /// The schedule, made as simple as possible: `AERODROME_REPLAY` runs it again.
    pub schedule: Schedule,
    /// Which run it was, counted from 1.
    pub run: u64,
    /// In how many of how many repetitions the same problem came back.
    pub replays: (u32, u32),
    /// How often the turn went to another strand.
    pub switches: usize,
}

/// What is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An atomic block was not atomic; see [`Found::reports`].
    Violation,
    /// A panic, with its message.
    Panic(String),
    /// The test returned an error.
    Error,
    /// Nobody could go on, and who waited for what.
    Deadlock(String),
    /// Everybody only looked again and again at what nobody was going to change.
    Livelock(String),
}

impl Problem {
    /// Whether both are of one kind.
    pub(super) fn is_like(&self, other: &Problem) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    pub(super) fn of_panic(panic: &Panic) -> Problem {
        let Panic { message, place } = panic;
        Problem::Panic(match place.as_str() {
            "" => message.clone(),
            _ => format!("{message} ({place})"),
        })
    }

    /// `panic`: the first of the run, which may be why the others wait.
    pub(super) fn of_stuck(
        stuck: &Stuck,
        panic: Option<&Panic>,
        name: impl Fn(u32) -> String,
    ) -> Problem {
        let mut text = String::new();
        for waits in &stuck.waits {
            let _ = writeln!(text, "  {}", sentence(waits, &name));
        }
        if let Some(panic) = panic.map(Problem::of_panic) {
            let _ = writeln!(text, "  after a {panic}");
        }
        match stuck.kind {
            StuckKind::Deadlock => Problem::Deadlock(text),
            StuckKind::Livelock => Problem::Livelock(text),
        }
    }
}

/// Who waits for what.
fn sentence(waits: &Waits, name: &impl Fn(u32) -> String) -> String {
    let what = match waits.next.kind {
        Kind::Lock | Kind::LockShared => "waits for a lock",
        Kind::Send => "waits for room in a channel",
        Kind::Receive => "waits for a message",
        Kind::Wait => "waits to be notified",
        Kind::Park => "is parked",
        Kind::Join => "waits for a thread to end",
        Kind::Update => "waits for an initialisation",
        _ => "waits",
    };
    let mut text = format!("{} {what}", name(waits.seat));
    if let Some(place) = place(waits.next.site) {
        let _ = write!(text, " at {place}");
    }
    for &(holder, site) in &waits.held {
        let _ = write!(text, ", which {} has", name(holder));
        if let Some(place) = place(site) {
            let _ = write!(text, " since {place}");
        }
    }
    text
}

/// The command that runs this test.
fn command() -> String {
    let thread = std::thread::current();
    match thread.name().filter(|name| *name != "main") {
        Some(test) => format!("{} {test}", collect::config().command),
        None => "with the same command".to_owned(),
    }
}

fn place(site: u32) -> Option<&'static Location<'static>> {
    code::location(site)
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Violation => f.write_str("atomicity violation"),
            Problem::Panic(message) => write!(f, "panic: {message}"),
            Problem::Error => f.write_str("the test returned an error"),
            Problem::Deadlock(waits) => write!(f, "deadlock\n{}", waits.trim_end()),
            Problem::Livelock(waits) => write!(
                f,
                "livelock: everybody looks at what nobody is going to change\n{}",
                waits.trim_end()
            ),
        }
    }
}

impl Found {
    /// How it was found, and how to see it again, in two lines.
    pub(super) fn how(&self) -> String {
        let Found {
            schedule,
            run,
            replays: (back, of),
            switches,
            ..
        } = self;
        let plural = if *switches == 1 { "" } else { "es" };
        format!(
            "found in schedule {run} ({}, seed {}); came back in {back} of {of} \
             replays; {switches} switch{plural}\nagain: AERODROME_REPLAY={schedule} {}",
            schedule.plan,
            schedule.seed,
            command()
        )
    }
}

impl Exploration {
    /// What was covered, in one line.
    pub fn summary(&self) -> String {
        let time = self.time.as_secs_f32();
        if self.is_sequential {
            return "1 schedule: no thread was started".to_owned();
        }
        if self.is_exhaustive {
            let verdict = match self.found {
                Some(_) => "explored",
                None => "explored: serializable",
            };
            return format!("all {} schedules {verdict}; {time:.1} s", self.schedules);
        }
        let Exploration {
            schedules,
            different,
            last_different,
            ..
        } = self;
        let mut text = format!(
            "{schedules} schedules, {different} different by their conflicts, the last new \
             one was number {last_different}; {time:.1} s"
        );
        if self.abandoned > 0 {
            let _ = write!(text, "; {} were let go before their end", self.abandoned);
        }
        text
    }
}
