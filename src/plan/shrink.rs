//! The simplest schedule that still fails: fewest switches first, then fewest surprises.
//!
//! A switch in a report is something to understand, and most switches of a random schedule have
//! nothing to do with the failure. A run is seen as a list of *turns*: this strand, up to that
//! action of its own. Turns are left out, merged with others of their strand, and exchanged with
//! their neighbours, as long as the run still fails (Jalbert, Sen, FSE 2010, do the same by a
//! heuristic). Each candidate is replayed, and what counts is what the replay has really done: a
//! strand that cannot go on loses its turn, and what no turn speaks of goes on as usual.

use super::schedule::usual;
use super::{Action, Choice, End, How, Name, Plan, Recorder, Schedule};
use rustc_hash::FxHashMap;

/// A run as it was performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Its choices, as text has them.
    pub schedule: Schedule,
    /// Its actions.
    pub actions: Vec<Action>,
    /// What was picked, other than the usual: the step, which of its picks, and the index.
    pub picks: Vec<(u32, u32, u32)>,
}

impl Recording {
    /// How often one strand follows another.
    pub fn switches(&self) -> usize {
        let pairs = self.actions.windows(2);
        pairs.filter(|pair| pair[0].path != pair[1].path).count()
    }

    /// Time-outs, spurious wake-ups, and what was picked.
    fn surprises(&self) -> usize {
        let surprises = self.actions.iter().filter(|action| action.is_surprise());
        surprises.count() + self.picks.len()
    }

    fn cost(&self) -> (usize, usize, usize) {
        (self.switches(), self.surprises(), self.actions.len())
    }
}

/// What shrinking has come to.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The simplest run that has failed.
    pub recording: Recording,
    /// How many runs were made for it.
    pub replays: usize,
}

/// Shrinks a failing run. `fails` makes a run under the plan that it is given and says whether it
/// fails in the same way; at most `budget` runs are made.
///
/// ```
/// use aerodrome::plan::{Plan, Recorder, Name, Walk, shrink};
///
/// let mut recorder = Recorder::new(Walk::new(7), Name::Walk, 7);
/// assert!(recorder.begin());
/// let shrunk = shrink(recorder.recording(), 100, |plan| {
///     assert!(plan.begin());
///     false
/// });
/// assert_eq!(shrunk.recording, recorder.recording());
/// ```
pub fn shrink(
    failing: Recording,
    budget: usize,
    fails: impl FnMut(&mut (dyn Plan + Send)) -> bool,
) -> Shrunk {
    let mut search = Search {
        best: failing,
        replays: 0,
        budget,
        fails,
    };
    while search.improve() {}
    Shrunk {
        recording: search.best,
        replays: search.replays,
    }
}

struct Search<F> {
    best: Recording,
    replays: usize,
    budget: usize,
    fails: F,
}

impl<F: FnMut(&mut (dyn Plan + Send)) -> bool> Search<F> {
    /// Tries all candidates of the best run until one is better.
    fn improve(&mut self) -> bool {
        let script = Script::of(&self.best);
        let mut candidates = Vec::new();
        script.calmer(&mut candidates);
        script.shorter(&mut candidates);
        script.merged(&mut candidates);
        script.exchanged(&mut candidates);
        candidates
            .into_iter()
            .any(|candidate| self.accept(candidate))
    }

    fn accept(&mut self, candidate: Script) -> bool {
        if self.replays >= self.budget {
            return false;
        }
        self.replays += 1;
        let schedule = &self.best.schedule;
        let (name, seed, run) = (schedule.plan, schedule.seed, schedule.run);
        let mut plan = Recorder::of_run(Follow::new(candidate), name, seed, run);
        if !(self.fails)(&mut plan) {
            return false;
        }
        let performed = plan.recording();
        let better = performed.cost() < self.best.cost();
        if better {
            self.best = performed;
        }
        better
    }
}

/// What a run is to do.
#[derive(Clone, Debug)]
struct Script {
    /// The strand, and how many actions it is to have performed in the end.
    turns: Vec<(u64, u32)>,
    surprises: FxHashMap<(u64, u32), How>,
    picks: FxHashMap<(u64, u32, u32), u32>,
}

impl Script {
    fn of(recording: &Recording) -> Script {
        let mut turns: Vec<(u64, u32)> = Vec::new();
        for action in &recording.actions {
            match turns.last_mut() {
                Some((path, until)) if *path == action.path => *until = action.nth + 1,
                _ => turns.push((action.path, action.nth + 1)),
            }
        }
        let surprises = recording
            .actions
            .iter()
            .filter(|action| action.is_surprise());
        let picks = recording.picks.iter().map(|&(step, nth, index)| {
            let action = &recording.actions[step as usize];
            ((action.path, action.nth, nth), index)
        });
        Script {
            turns,
            surprises: surprises
                .map(|action| ((action.path, action.nth), action.how))
                .collect(),
            picks: picks.collect(),
        }
    }

    /// Without surprises: all of them, then each.
    fn calmer(&self, candidates: &mut Vec<Script>) {
        let mut calm = self.clone();
        calm.surprises.clear();
        calm.picks.clear();
        candidates.push(calm);
        let mut surprises: Vec<_> = self.surprises.keys().copied().collect();
        surprises.sort_unstable();
        for key in surprises {
            let mut script = self.clone();
            script.surprises.remove(&key);
            candidates.push(script);
        }
        let mut picks: Vec<_> = self.picks.keys().copied().collect();
        picks.sort_unstable();
        for key in picks {
            let mut script = self.clone();
            script.picks.remove(&key);
            candidates.push(script);
        }
    }

    fn with(&self, turns: Vec<(u64, u32)>) -> Script {
        Script {
            turns,
            ..self.clone()
        }
    }

    /// Only some of the first turns, or without some in a row. What is left out comes later.
    fn shorter(&self, candidates: &mut Vec<Script>) {
        for end in 0..self.turns.len() {
            candidates.push(self.with(self.turns[..end].to_vec()));
        }
        for count in (1..=self.turns.len() / 2).rev() {
            for start in 0..=self.turns.len() - count {
                let mut turns = self.turns.clone();
                turns.drain(start..start + count);
                candidates.push(self.with(turns));
            }
        }
    }

    /// A turn earlier, with the strand's turn before it, or later, with the one after it.
    fn merged(&self, candidates: &mut Vec<Script>) {
        for later in 0..self.turns.len() {
            let (path, until) = self.turns[later];
            for earlier in (0..later)
                .rev()
                .filter(|&index| self.turns[index].0 == path)
            {
                let mut turns = self.turns.clone();
                turns[earlier].1 = until;
                turns.remove(later);
                candidates.push(self.with(turns));
            }
        }
    }

    /// Two neighbours in the other order, or a turn at the very beginning or end.
    fn exchanged(&self, candidates: &mut Vec<Script>) {
        for index in 1..self.turns.len() {
            let mut turns = self.turns.clone();
            turns.swap(index - 1, index);
            candidates.push(self.with(turns));
            let mut turns = self.turns.clone();
            turns[..=index].rotate_right(1);
            candidates.push(self.with(turns));
            let mut turns = self.turns.clone();
            turns[index - 1..].rotate_left(1);
            candidates.push(self.with(turns));
        }
    }
}

/// The plan that follows a script as far as it can.
#[derive(Debug)]
struct Follow {
    script: Script,
    turn: usize,
    last: Option<Action>,
    picked: u32,
}

impl Follow {
    fn new(script: Script) -> Follow {
        Follow {
            script,
            turn: 0,
            last: None,
            picked: 0,
        }
    }

    fn wants(&self, action: &Action) -> bool {
        let surprise = self.script.surprises.get(&(action.path, action.nth));
        match surprise {
            Some(how) => *how == action.how,
            None => !action.is_surprise(),
        }
    }

    fn perform(&mut self, ready: &[Action], index: usize) -> usize {
        self.last = Some(ready[index]);
        self.picked = 0;
        index
    }

    fn scripted(&mut self, ready: &[Action]) -> Option<usize> {
        while let Some(&(path, until)) = self.script.turns.get(self.turn) {
            let next =
                |action: &Action| action.path == path && action.nth < until && self.wants(action);
            if let Some(index) = ready.iter().position(next) {
                return Some(index);
            }
            self.turn += 1;
        }
        None
    }
}

impl Plan for Follow {
    fn begin(&mut self) -> bool {
        self.turn = 0;
        self.last = None;
        true
    }

    fn choose(&mut self, ready: &[Action], _: &[Action]) -> Option<usize> {
        let index = self.scripted(ready).unwrap_or_else(|| {
            let last = self.last.map(|action| action.seat);
            let wanted = |action: &Action| {
                action.is_surprise()
                    && self
                        .script
                        .surprises
                        .contains_key(&(action.path, action.nth))
            };
            let wanted = |action: &Action| wanted(action) && self.wants(action);
            let goes_on = ready.iter().any(|action| !action.is_surprise());
            let surprise = ready.iter().position(wanted).filter(|_| !goes_on);
            surprise.unwrap_or_else(|| usual(ready, last))
        });
        Some(self.perform(ready, index))
    }

    fn pick(&mut self, _: Choice, n: usize) -> usize {
        let Some(action) = self.last else {
            return 0;
        };
        let key = (action.path, action.nth, self.picked);
        self.picked += 1;
        let index = self.script.picks.get(&key).copied().unwrap_or(0) as usize;
        if index < n { index } else { 0 }
    }

    fn stuck(&mut self, waking: &[Action], _: &[Action]) -> Option<usize> {
        let index = self.scripted(waking)?;
        Some(self.perform(waking, index))
    }

    fn end(&mut self, _: End) {}
}

impl<P: Plan> Recorder<P> {
    fn of_run(plan: P, name: Name, seed: u64, run: u64) -> Recorder<P> {
        let mut recorder = Recorder::new(plan, name, seed);
        recorder.start_at(run);
        recorder
    }
}
