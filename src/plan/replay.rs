//! A run once more: the choices of a [`Schedule`], and where a run no longer follows them.
//!
//! A schedule determines a run as long as the program depends on nothing else. What else it depends
//! on (time, the address of an object, another process) shows as a *divergence*: an action that is
//! not the recorded one. After it the replay goes on as usual, so that the run ends, and says where
//! it left the schedule.

use super::schedule::{extend, usual};
use super::{Action, Choice, End, Name, Plan, Recording, Schedule, Turn};
use std::fmt;

/// Records the choices of another plan's runs.
///
/// ```
/// use aerodrome::plan::{Name, Plan, Recorder, Walk};
///
/// let mut plan = Recorder::new(Walk::new(7), Name::Walk, 7);
/// assert!(plan.begin());
/// assert_eq!(plan.schedule().run, 0);
/// assert!(plan.actions().is_empty());
/// ```
#[derive(Debug)]
pub struct Recorder<P> {
    plan: P,
    runs: u64,
    schedule: Schedule,
    hash: u64,
    last: Option<u32>,
    actions: Vec<Action>,
    /// The picks of the current action so far, and those that were not usual.
    picked: u32,
    picks: Vec<(u32, u32, u32)>,
}

impl<P: Plan> Recorder<P> {
    /// Name and seed are those that schedules are to carry.
    pub fn new(plan: P, name: Name, seed: u64) -> Recorder<P> {
        Recorder {
            plan,
            runs: 0,
            schedule: Schedule::new(name, seed, 0),
            hash: 0,
            last: None,
            actions: Vec::new(),
            picked: 0,
            picks: Vec::new(),
        }
    }

    /// The choices of the current or last run.
    pub fn schedule(&self) -> Schedule {
        Schedule {
            hash: self.hash as u32,
            ..self.schedule.clone()
        }
    }

    /// All of the current or last run.
    pub fn recording(&self) -> Recording {
        Recording {
            schedule: self.schedule(),
            actions: self.actions.clone(),
            picks: self.picks.clone(),
        }
    }

    /// Numbers runs from this one.
    pub(crate) fn start_at(&mut self, run: u64) {
        self.runs = run;
    }

    /// The actions of the current or last run.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The plan.
    pub fn plan(&self) -> &P {
        &self.plan
    }

    /// The plan.
    pub fn plan_mut(&mut self) -> &mut P {
        &mut self.plan
    }

    fn perform(&mut self, action: Action, index: usize, usual: usize) {
        self.hash = extend(self.hash, &action);
        self.note(index, usual);
        self.last = Some(action.seat);
        self.actions.push(action);
        self.picked = 0;
    }

    fn note(&mut self, index: usize, usual: usize) {
        if index == usual {
            self.schedule.rest += 1;
        } else {
            let turn = Turn {
                after: self.schedule.rest,
                index: index as u32,
                check: self.hash as u8,
            };
            self.schedule.turns.push(turn);
            self.schedule.rest = 0;
        }
    }
}

impl<P: Plan> Plan for Recorder<P> {
    fn begin(&mut self) -> bool {
        if !self.plan.begin() {
            return false;
        }
        self.schedule = Schedule::new(self.schedule.plan, self.schedule.seed, self.runs);
        self.runs += 1;
        self.hash = 0;
        self.last = None;
        self.actions.clear();
        self.picks.clear();
        true
    }

    fn choose(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize> {
        let index = self.plan.choose(ready, blocked)?;
        self.perform(ready[index], index, usual(ready, self.last));
        Some(index)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        let index = self.plan.pick(choice, n);
        self.note(index, 0);
        if let (1.., Some(step)) = (index, self.actions.len().checked_sub(1)) {
            self.picks.push((step as u32, self.picked, index as u32));
        }
        self.picked += 1;
        index
    }

    fn released(&mut self, object: u32) {
        self.plan.released(object);
    }

    fn stuck(&mut self, waking: &[Action], blocked: &[Action]) -> Option<usize> {
        let index = self.plan.stuck(waking, blocked)?;
        // The choice 0 would be that nobody wakes up. It ends the run, so it is not written.
        self.perform(waking[index], index + 1, 0);
        Some(index)
    }

    fn end(&mut self, end: End) {
        self.plan.end(end);
    }
}

/// The plan that follows a schedule. See the [module](self).
///
/// ```
/// use aerodrome::plan::{Plan, Replay, Schedule};
///
/// let schedule: Schedule = "aero1.p.7.37.AAAAAAAA".parse()?;
/// let mut plan = Replay::new(schedule);
/// assert!(plan.begin());
/// assert_eq!(plan.divergence(), None);
/// # Ok::<_, aerodrome::plan::ScheduleError>(())
/// ```
#[derive(Debug)]
pub struct Replay {
    schedule: Schedule,
    /// What the recorded run did, where it was in this process.
    expected: Option<Vec<Action>>,
    /// The next turn, and the usual choices since the last one.
    turn: usize,
    since: u32,
    hash: u64,
    steps: usize,
    last: Option<Action>,
    divergence: Option<Divergence>,
}

/// Where a run left the schedule that it was to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The step, counted from 1. Without the recorded actions it may have been an earlier one.
    pub step: usize,
    /// The recorded action, if it is known.
    pub expected: Option<Action>,
    /// The action that took place; none if the run had ended.
    pub found: Option<Action>,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Divergence {
            step,
            expected,
            found,
        } = self;
        write!(f, "step {step}: expected ")?;
        match expected {
            Some(action) => tell(f, action)?,
            None => write!(f, "what was recorded")?,
        }
        write!(f, ", found ")?;
        match found {
            Some(action) => tell(f, action),
            None => write!(f, "the end"),
        }
    }
}

fn tell(f: &mut fmt::Formatter<'_>, action: &Action) -> fmt::Result {
    let Action {
        seat, nth, intent, ..
    } = action;
    let (kind, object, site) = (intent.kind, intent.object, intent.site);
    write!(f, "{kind:?} of object {object} at site {site}, ")?;
    write!(f, "the strand {seat}'s action {}", nth + 1)
}

impl Replay {
    /// Follows the schedule in each run.
    pub fn new(schedule: Schedule) -> Replay {
        Replay::with(schedule, None)
    }

    /// The same, knowing what the recorded run did. Then a divergence is told at the action at
    /// which it happens; otherwise at the next switch.
    pub fn expecting(schedule: Schedule, actions: Vec<Action>) -> Replay {
        Replay::with(schedule, Some(actions))
    }

    fn with(schedule: Schedule, expected: Option<Vec<Action>>) -> Replay {
        Replay {
            schedule,
            expected,
            turn: 0,
            since: 0,
            hash: 0,
            steps: 0,
            last: None,
            divergence: None,
        }
    }

    /// Where the last run left the schedule, if it did.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// Whether the next choice is one that is not usual.
    fn is_due(&self) -> bool {
        let turn = self.schedule.turns.get(self.turn);
        turn.is_some_and(|turn| turn.after == self.since) && self.divergence.is_none()
    }

    /// The next choice, and the hash that is recorded for it.
    fn next(&mut self, usual: usize) -> (usize, Option<u8>) {
        if !self.is_due() {
            self.since += 1;
            return (usual, None);
        }
        let turn = self.schedule.turns[self.turn];
        self.turn += 1;
        self.since = 0;
        (turn.index as usize, Some(turn.check))
    }

    /// What was recorded at the current step.
    fn recorded(&self) -> Option<&Action> {
        self.expected.as_ref()?.get(self.steps.saturating_sub(1))
    }

    fn diverge(&mut self, found: Option<Action>) {
        let divergence = Divergence {
            step: self.steps.max(1),
            expected: self.recorded().copied(),
            found,
        };
        self.divergence.get_or_insert(divergence);
    }

    fn perform(&mut self, action: &Action, check: Option<u8>) {
        self.steps += 1;
        self.hash = extend(self.hash, action);
        self.last = Some(*action);
        let differs = match self.expected {
            None => check.is_some_and(|check| check != self.hash as u8),
            Some(_) => self.recorded() != Some(action),
        };
        if differs {
            self.diverge(Some(*action));
        }
    }

    /// Performs what is usual, because what was recorded is not possible.
    fn perform_other(&mut self, action: &Action) {
        self.perform(action, None);
        self.diverge(Some(*action));
    }
}

impl Plan for Replay {
    fn begin(&mut self) -> bool {
        *self = Replay::with(self.schedule.clone(), self.expected.take());
        true
    }

    fn choose(&mut self, ready: &[Action], _: &[Action]) -> Option<usize> {
        let usual = usual(ready, self.last.map(|action| action.seat));
        let (index, check) = self.next(usual);
        match ready.get(index) {
            Some(action) => self.perform(action, check),
            None => self.perform_other(&ready[usual]),
        }
        Some(if index < ready.len() { index } else { usual })
    }

    fn stuck(&mut self, waking: &[Action], _: &[Action]) -> Option<usize> {
        if !self.is_due() {
            return None;
        }
        let (index, check) = self.next(0);
        let index = index.checked_sub(1)?;
        match waking.get(index) {
            Some(action) => self.perform(action, check),
            None => self.diverge(None),
        }
        (index < waking.len()).then_some(index)
    }

    fn pick(&mut self, _: Choice, n: usize) -> usize {
        let (index, check) = self.next(0);
        if index >= n || check.is_some_and(|check| check != self.hash as u8) {
            self.diverge(self.last);
            return 0;
        }
        index
    }

    fn end(&mut self, _: End) {
        let whole = self.turn == self.schedule.turns.len() && self.since == self.schedule.rest;
        if !whole || self.hash as u32 != self.schedule.hash {
            self.steps += 1;
            self.diverge(None);
        }
    }
}
