//! Every schedule once, up to equivalence: dynamic partial-order reduction.
//!
//! Two schedules are *equivalent* if they order all conflicting actions alike; then they lead to
//! the same state. The tree of choices is searched depth first, and at each choice only a *source
//! set* is explored: after each run, each pair of actions that *race* (they conflict, and nothing
//! between them makes the later one wait for the earlier one) demands that at the earlier one's
//! place something is explored that can lead to the other order. *Sleep sets* leave out what was
//! explored from an earlier choice at the same place and has not been touched since (Godefroid,
//! LNCS 1032, 1996; Flanagan, Godefroid, POPL 2005; Abdulla, Aronis, Jonsson, Sagonas, POPL 2014).
//!
//! - *What an action does* is its operation and the locks that it gives back; a release is no step.
//!   An attempt that finds a lock taken only reads it.
//! - *What is impossible* races with nothing: a lock cannot be taken before the release that it
//!   waited for, but it can before the acquisition. So the search for races goes back past what
//!   made the later action possible.
//! - *Pending operations* of strands that wait where a run ends, in a deadlock or because all else
//!   is asleep, race like actions.
//! - *Time-outs and spurious wake-ups* are further actions of their strands. One that could have
//!   happened and no longer can after some action (a notification, or the last one before a
//!   deadlock) is demanded in that action's place.
//! - *Picks* (who is woken, whether a weak exchange fails) are branches below their action.
//!
//! With `surprises(1)`, which is the default, each strand has at most one time-out, spurious
//! wake-up or weak failure in a run, unless nobody else can go on. A loop around a wait makes the
//! number of schedules infinite otherwise. The bound is the same for equivalent schedules, so what
//! it leaves is explored completely.
//!
//! # Why this is complete for atomicity
//!
//! Whether a run is serializable depends on the order of its conflicting operations alone, and so
//! does every state of the program: a strand's next operation depends on what it has read, and that
//! on the order. Each order that is possible is that of some run explored here. Accesses to what a
//! lock guards are no actions, but the acquisitions of the lock are, and these order them. So if no
//! explored run breaks a block, no schedule does, as long as the program depends on nothing but its
//! schedule, and memory is sequentially consistent. `tests/plan/all.rs` compares with all
//! interleavings of random programs.
//!
//! With a bound on *preemptions* (switches away from a strand that could go on) there is no
//! reduction: all schedules within the bound are explored (Musuvathi, Qadeer, PLDI 2007).

mod race;
mod trace;

use self::race::Races;
use self::trace::{Footprint, Trace};
use super::schedule::usual;
use super::{Action, Choice, End, How, Kind, Plan};

/// The plan `all`. See the [module](self).
///
/// ```
/// use aerodrome::plan::{All, End, Plan};
///
/// let mut plan = All::new();
/// assert!(plan.begin());
/// // Nothing happens in this run, so there is no other.
/// plan.end(End::Complete);
/// assert!(!plan.begin());
/// assert!(plan.is_exhausted());
/// ```
#[derive(Debug)]
pub struct All {
    /// Surprises of a strand in a run.
    surprises: Option<u32>,
    preemptions: Option<u32>,
    nodes: Vec<Node>,
    trace: Trace,
    /// The steps of the current run that are the last run's.
    shared: usize,
    /// The picks that the current action has made.
    picked: usize,
    /// The strand of each surprise of the current run.
    surprised: Vec<u32>,
    /// The waits that were new at each step of the current run, and those to be at the next node.
    entered: Vec<Vec<Wait>>,
    script: Vec<Wait>,
    /// The waits that were new where the last run ended.
    leaf: Vec<Wait>,
    runs: u64,
    exhausted: bool,
    limited: bool,
    diverged: bool,
}

/// A choice on the way to the current run.
#[derive(Debug)]
struct Node {
    /// What can be explored here.
    ready: Vec<Action>,
    chosen: usize,
    /// Seats to explore.
    wanted: Vec<u32>,
    /// What was explored from here.
    done: Vec<Done>,
    /// What was explored from an earlier place, and is not to be explored again.
    asleep: Vec<Done>,
    /// For each pick of the chosen action, its number of ways and the current one.
    picks: Vec<(usize, usize)>,
    /// The parts of the chosen action, whatever was picked.
    footprint: Option<Footprint>,
    /// The waits that begin here.
    waits: Vec<Wait>,
    /// Preemptions up to here.
    preemptions: u32,
}

/// A wait that may be woken without a reason. Whether it will be is decided when it begins, like a
/// pick: then a wake-up depends on nothing but its strand, and a deadlock on those that wake up.
#[derive(Clone, Debug)]
struct Wait {
    seat: u32,
    nth: u32,
    wakes: bool,
    /// Whether the bound admits it.
    may: bool,
}

#[derive(Clone, Debug)]
struct Done {
    how: How,
    footprint: Footprint,
}

impl Done {
    fn is(&self, action: &Action) -> bool {
        self.footprint.seat == action.seat && self.how == action.how
    }
}

impl Node {
    fn action(&self) -> &Action {
        &self.ready[self.chosen]
    }

    fn is_open(&self, action: &Action) -> bool {
        let mut closed = self.done.iter().chain(&self.asleep);
        !closed.any(|done| done.is(action))
    }

    fn next(&self) -> Option<usize> {
        let open = |action: &Action| self.wanted.contains(&action.seat) && self.is_open(action);
        self.ready.iter().position(open)
    }

    /// Goes to the next way to pick. False if there is none.
    fn pick_next(&mut self) -> bool {
        while let Some((ways, current)) = self.picks.last_mut() {
            *current += 1;
            if *current < *ways {
                return true;
            }
            self.picks.pop();
        }
        false
    }

    /// The chosen action was explored in all ways.
    fn close(&mut self) {
        if let Some(footprint) = self.footprint.take() {
            let how = self.action().how;
            self.done.push(Done { how, footprint });
        }
    }

    /// How many of its branches have been explored, and how many there are, as far as is known.
    fn progress(&self) -> (f64, f64) {
        let wanted = |action: &&Action| {
            let done = self.done.iter().any(|done| done.is(action));
            done || self.wanted.contains(&action.seat) && self.is_open(action)
        };
        let branches = self.ready.iter().filter(wanted).count().max(1);
        (self.done.len() as f64, branches as f64)
    }
}

impl Default for All {
    fn default() -> All {
        All::new()
    }
}

impl All {
    /// All schedules with at most one surprise a strand.
    pub fn new() -> All {
        All {
            surprises: Some(1),
            preemptions: None,
            nodes: Vec::new(),
            trace: Trace::default(),
            shared: 0,
            picked: 0,
            surprised: Vec::new(),
            entered: Vec::new(),
            script: Vec::new(),
            leaf: Vec::new(),
            runs: 0,
            exhausted: false,
            limited: false,
            diverged: false,
        }
    }

    /// At most that many time-outs, spurious wake-ups and weak failures of a strand in a run.
    pub fn surprises(self, surprises: Option<u32>) -> All {
        All { surprises, ..self }
    }

    /// At most that many preemptions in a run.
    pub fn preemptions(self, preemptions: Option<u32>) -> All {
        All {
            preemptions,
            ..self
        }
    }

    /// Whether all schedules were explored.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted && !self.diverged
    }

    /// Whether a bound has left something out.
    pub fn is_limited(&self) -> bool {
        self.limited
    }

    /// Whether the program did something else on the same schedule.
    pub fn has_diverged(&self) -> bool {
        self.diverged
    }

    /// An estimate of how many runs are left: those made, in relation to the part of the tree that
    /// they have explored, where the branches at a place count alike (Knuth, Mathematics of
    /// Computation, 1975). Races found later make it higher.
    pub fn left(&self) -> f64 {
        if self.exhausted {
            return 0.0;
        }
        let (mut explored, mut share) = (0.0, 1.0);
        for node in &self.nodes {
            for wait in node.waits.iter().rev().filter(|wait| wait.may) {
                share /= 2.0;
                explored += if wait.wakes { share } else { 0.0 };
            }
            let (done, branches) = node.progress();
            explored += share * done / branches;
            share /= branches;
            for &(ways, current) in &node.picks {
                explored += share * current as f64 / ways as f64;
                share /= ways as f64;
            }
        }
        // The current run is explored, though it is not closed.
        explored += share;
        let runs = self.runs as f64;
        (runs / explored - runs).max(0.0)
    }

    /// Goes to the next branch, deepest first. False if there is none.
    fn advance(&mut self) -> bool {
        let leaf = std::mem::take(&mut self.leaf);
        if self.decide_next(leaf) {
            return true;
        }
        while let Some(node) = self.nodes.last_mut() {
            if node.pick_next() {
                break;
            }
            node.close();
            if let Some(next) = node.next() {
                node.chosen = next;
                break;
            }
            let waits = self.nodes.pop().map_or(Vec::new(), |node| node.waits);
            if self.decide_next(waits) {
                return true;
            }
        }
        self.shared = self.nodes.len().saturating_sub(1);
        !self.nodes.is_empty()
    }

    /// Goes to the next combination of what waits after the current nodes are woken. False if there
    /// is none.
    fn decide_next(&mut self, mut waits: Vec<Wait>) -> bool {
        for index in 0..waits.len() {
            let wait = &mut waits[index];
            wait.wakes = wait.may && !wait.wakes;
            if wait.wakes {
                self.script = waits;
                self.shared = self.nodes.len();
                return true;
            }
        }
        false
    }

    /// Decides for each wait that is new here whether it will be woken without a reason.
    fn enter(&mut self, ready: &[Action]) {
        let depth = self.trace.steps.len();
        if self.entered.len() > depth {
            return;
        }
        let mut waits = match self.nodes.get(depth) {
            Some(node) => node.waits.clone(),
            None => std::mem::take(&mut self.script),
        };
        for action in ready.iter().filter(|action| action.how == How::Wake) {
            let known = |wait: &Wait| (wait.seat, wait.nth) == (action.seat, action.nth);
            if !self.entered.iter().flatten().chain(&waits).any(known) {
                let may = self.can_surprise(action.seat);
                self.limited |= !may;
                waits.push(Wait {
                    seat: action.seat,
                    nth: action.nth,
                    wakes: false,
                    may,
                });
            }
        }
        self.entered.push(waits);
    }

    /// Whether it is decided that the wait is woken without a reason.
    fn wakes(&self, action: &Action) -> bool {
        let is = |wait: &&Wait| (wait.seat, wait.nth) == (action.seat, action.nth);
        self.entered
            .iter()
            .flatten()
            .find(is)
            .is_some_and(|wait| wait.wakes)
    }

    fn admits(&self, action: &Action) -> bool {
        match action.how {
            How::Wake => self.wakes(action),
            _ => !action.is_surprise() || self.can_surprise(action.seat),
        }
    }

    /// What is offered here within the bound of surprises.
    fn within(&mut self, ready: &[Action]) -> Vec<Action> {
        let mut within: Vec<Action> = ready
            .iter()
            .filter(|action| self.admits(action))
            .copied()
            .collect();
        if within.is_empty() {
            let expire = |action: &&Action| action.how == How::Expire;
            within.extend(ready.iter().filter(expire));
        }
        let barred = |action: &Action| action.how == How::Expire && !within.contains(action);
        self.limited |= ready.iter().any(barred);
        within
    }

    /// The next action: the last run's, as far as this one is to be the same, or a new one.
    fn advance_run(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize> {
        self.picked = 0;
        self.trace.stop(ready);
        let depth = self.trace.steps.len();
        let differs = |node: &Node| !ready.contains(node.action());
        if self.nodes.get(depth).is_some_and(differs) {
            self.diverged = true;
            self.nodes.truncate(depth);
            self.shared = self.shared.min(depth);
        }
        if self.nodes.len() == depth && self.open(ready).is_none() {
            self.trace.stuck.extend_from_slice(blocked);
            return None;
        }
        let node = &self.nodes[depth];
        let action = *node.action();
        let barred = ready.iter().filter(|action| !node.ready.contains(action));
        let barred = barred.chain(blocked).copied().collect();
        self.trace.push(action, node.ready.clone(), barred);
        if action.is_surprise() {
            self.surprised.push(action.seat);
        }
        ready.iter().position(|other| *other == action)
    }

    fn can_surprise(&self, seat: u32) -> bool {
        let count = self
            .surprised
            .iter()
            .filter(|&&other| other == seat)
            .count();
        self.surprises.is_none_or(|most| count < most as usize)
    }

    /// Opens a node for what is ready. None if all of it is asleep.
    fn open(&mut self, ready: &[Action]) -> Option<()> {
        let ready = self.within(ready);
        let asleep = self.sleepers();
        let mut node = Node {
            ready,
            chosen: 0,
            wanted: Vec::new(),
            done: Vec::new(),
            asleep,
            picks: Vec::new(),
            footprint: None,
            waits: self.entered.last().cloned().unwrap_or_default(),
            preemptions: 0,
        };
        let awake: Vec<Action> = node
            .ready
            .iter()
            .filter(|action| node.is_open(action))
            .copied()
            .collect();
        if awake.is_empty() {
            return None;
        }
        let last = self.trace.steps.last().map(|step| step.action.seat);
        let first = awake[usual(&awake, last)];
        let index = node.ready.iter().position(|action| *action == first);
        node.chosen = index.expect("it is one of them");
        node.wanted.push(first.seat);
        if self.preemptions.is_some() {
            self.bound(&mut node);
        }
        self.nodes.push(node);
        Some(())
    }

    /// What is asleep after the last step: what was before it, or was explored in its place, and
    /// does not conflict with it.
    fn sleepers(&self) -> Vec<Done> {
        let (Some(node), None) = (self.nodes.last(), self.preemptions) else {
            return Vec::new();
        };
        let step = self.trace.steps.last().expect("a node has its step");
        let sleepers = node.asleep.iter().chain(&node.done);
        let sleeps = |done: &&Done| !done.footprint.conflicts(&step.footprint);
        sleepers.filter(sleeps).cloned().collect()
    }

    /// Wants everything that the bound on preemptions admits.
    fn bound(&mut self, node: &mut Node) {
        let most = self.preemptions.unwrap_or(u32::MAX);
        let last = self.trace.steps.last().map(|step| step.action);
        let so_far = match (self.nodes.last(), last) {
            (Some(parent), Some(_)) => parent.preemptions + parent.costs(self.previous_seat()),
            _ => 0,
        };
        node.preemptions = so_far;
        let seat = last.map(|action| action.seat);
        let within = |action: &&Action| so_far + costs(&node.ready, seat, action) <= most;
        let wanted: Vec<Action> = node.ready.iter().filter(within).copied().collect();
        self.limited |= wanted.len() < node.ready.len();
        node.wanted = wanted.iter().map(|action| action.seat).collect();
    }

    /// The seat of the last step but one.
    fn previous_seat(&self) -> Option<u32> {
        let steps = &self.trace.steps;
        let index = steps.len().checked_sub(2)?;
        Some(steps[index].action.seat)
    }
}

impl Node {
    fn costs(&self, last: Option<u32>) -> u32 {
        costs(&self.ready, last, self.action())
    }
}

/// Whether the action would take the turn from a strand that can go on.
fn costs(ready: &[Action], last: Option<u32>, action: &Action) -> u32 {
    let goes_on = |other: &Action| {
        Some(other.seat) == last && other.how == How::Proceed && other.intent.kind != Kind::Yield
    };
    u32::from(Some(action.seat) != last && ready.iter().any(goes_on))
}

impl Plan for All {
    fn begin(&mut self) -> bool {
        if self.exhausted {
            return false;
        }
        if self.runs > 0 && !self.advance() {
            self.exhausted = true;
            return false;
        }
        self.runs += 1;
        self.trace.clear();
        self.surprised.clear();
        self.entered.clear();
        true
    }

    fn choose(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize> {
        self.enter(ready);
        self.advance_run(ready, blocked)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        let Some(depth) = self.trace.steps.len().checked_sub(1) else {
            return 0;
        };
        let seat = self.trace.steps[depth].action.seat;
        if choice == Choice::Weak && !self.can_surprise(seat) {
            self.limited = true;
            return 0;
        }
        let picks = &mut self.nodes[depth].picks;
        if picks.len() <= self.picked {
            picks.push((n, 0));
        }
        let (ways, current) = &mut picks[self.picked];
        self.picked += 1;
        *ways = n;
        let picked = (*current).min(n - 1);
        if choice == Choice::Weak && picked == 1 {
            self.surprised.push(seat);
        }
        picked
    }

    fn released(&mut self, object: u32) {
        self.trace.released(object);
    }

    fn stuck(&mut self, waking: &[Action], blocked: &[Action]) -> Option<usize> {
        self.enter(waking);
        if waking.iter().any(|action| self.wakes(action)) {
            return self.advance_run(waking, blocked);
        }
        let stuck = waking.iter().chain(blocked);
        self.trace.stuck.extend(stuck);
        None
    }

    fn end(&mut self, _: End) {
        self.nodes.truncate(self.trace.steps.len());
        self.leaf = self
            .entered
            .get(self.trace.steps.len())
            .cloned()
            .unwrap_or_default();
        for (node, step) in self.nodes.iter_mut().zip(&self.trace.steps) {
            match &mut node.footprint {
                None => node.footprint = Some(step.footprint.clone()),
                Some(known) => merge(known, &step.footprint),
            }
        }
        if self.preemptions.is_some() {
            return;
        }
        for demand in Races::of(&self.trace, self.shared) {
            self.nodes[demand.step].want(&demand.seats);
        }
    }
}

/// What the same action does in different ways.
fn merge(known: &mut Footprint, other: &Footprint) {
    for part in &other.parts {
        if !known.parts.contains(part) {
            known.parts.push(*part);
        }
    }
    for &seat in &other.stopped {
        if !known.stopped.contains(&seat) {
            known.stopped.push(seat);
        }
    }
}

impl Node {
    /// One of the seats is to be explored here, unless one is already.
    fn want(&mut self, seats: &[u32]) {
        let offers = |seat: &&u32| self.ready.iter().any(|action| action.seat == **seat);
        let known = |seat: &u32| {
            let mut own = self
                .ready
                .iter()
                .filter(|action| action.seat == *seat)
                .peekable();
            let sleeps = |action: &Action| self.asleep.iter().any(|done| done.is(action));
            self.wanted.contains(seat) || own.peek().is_some() && own.all(sleeps)
        };
        if !seats.iter().any(known) {
            self.wanted.extend(seats.iter().find(offers).copied());
        }
    }
}
