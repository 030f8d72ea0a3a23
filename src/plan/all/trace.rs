//! What a run has done, as far as the reduction has to know it.

use crate::plan::{Action, How, Intent, Kind};
use rustc_hash::FxHashMap;

/// What an action does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) object: u32,
    pub(super) effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Commutes with its like: a read, a shared acquisition, a wait or its end.
    Read,
    /// Commutes with nothing: a write, an acquisition, a message.
    Write,
    /// Finds a lock taken. It commutes with its like only: a shared acquisition or a release may be
    /// what it would not have found.
    Probe,
    /// Gives a lock back.
    Free,
    /// Gives a shared lock back.
    FreeShared,
}

impl Part {
    pub(super) fn conflicts(&self, other: &Part) -> bool {
        use Effect::{Free, FreeShared, Probe, Read, Write};
        let frees = |effect| matches!(effect, Free | FreeShared);
        self.object == other.object
            && match (self.effect, other.effect) {
                (Write, _) | (_, Write) => true,
                (Read, Read) | (Probe, Probe) => false,
                (Read, FreeShared) | (FreeShared, Read) => false,
                (one, other) => !(frees(one) && frees(other)),
            }
    }
}

/// All that an action does. It conflicts with another if any two parts do.
#[derive(Clone, Debug)]
pub(super) struct Footprint {
    pub(super) seat: u32,
    pub(super) parts: Vec<Part>,
    /// Seats that could have been surprised before it, and no longer after it.
    pub(super) stopped: Vec<u32>,
}

impl Footprint {
    pub(super) fn conflicts(&self, other: &Footprint) -> bool {
        self.seat == other.seat
            || self.stopped.contains(&other.seat)
            || other.stopped.contains(&self.seat)
            || meet(&self.parts, &other.parts)
    }
}

pub(super) fn meet(one: &[Part], other: &[Part]) -> bool {
    one.iter()
        .any(|part| other.iter().any(|other| part.conflicts(other)))
}

/// An action, and what could have been done in its place.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) footprint: Footprint,
    pub(super) ready: Vec<Action>,
    pub(super) blocked: Vec<Action>,
}

impl Step {
    pub(super) fn pending(&self) -> impl Iterator<Item = &Action> {
        self.ready.iter().chain(&self.blocked)
    }
}

#[derive(Debug, Default)]
struct Lock {
    owner: Option<u32>,
    shared: Vec<u32>,
}

/// The current run.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) steps: Vec<Step>,
    /// Those that wait where the run ends.
    pub(super) stuck: Vec<Action>,
    locks: FxHashMap<u32, Lock>,
}

impl Trace {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.stuck.clear();
        self.locks.clear();
    }

    pub(super) fn push(&mut self, action: Action, ready: Vec<Action>, blocked: Vec<Action>) {
        let part = self.part(&action);
        self.steps.push(Step {
            action,
            footprint: Footprint {
                seat: action.seat,
                parts: part.into_iter().collect(),
                stopped: Vec::new(),
            },
            ready,
            blocked,
        });
    }

    /// What is ready after the last action: it has stopped the surprises that are not.
    pub(super) fn stop(&mut self, ready: &[Action]) {
        let Some(step) = self.steps.last_mut() else {
            return;
        };
        let gone = |action: &&Action| {
            action.how != How::Proceed && action.seat != step.action.seat && !ready.contains(action)
        };
        let stopped: Vec<u32> = step
            .ready
            .iter()
            .filter(gone)
            .map(|action| action.seat)
            .collect();
        step.footprint.stopped = stopped;
    }

    pub(super) fn released(&mut self, object: u32) {
        let Some(step) = self.steps.last_mut() else {
            return;
        };
        let effect = free(self.locks.entry(object).or_default(), step.action.seat);
        let part = Part { object, effect };
        if !step.footprint.parts.contains(&part) {
            step.footprint.parts.push(part);
        }
    }

    fn part(&mut self, action: &Action) -> Option<Part> {
        let Intent { kind, object, .. } = action.intent;
        if kind.is_pause() {
            return None;
        }
        let effect = match (kind, action.how) {
            (Kind::Lock | Kind::LockShared, How::Expire) => Effect::Probe,
            (Kind::Lock | Kind::TryLock, _) => self.acquire(action.seat, object),
            (Kind::LockShared | Kind::TryLockShared, _) => self.acquire_shared(action.seat, object),
            (Kind::Unlock, _) => free(self.locks.entry(object).or_default(), action.seat),
            // A token may be there when the time is up, and is taken.
            (Kind::Park, _) => Effect::Write,
            (_, How::Expire | How::Wake) => Effect::Read,
            _ => effect(kind),
        };
        Some(Part { object, effect })
    }

    fn acquire(&mut self, seat: u32, object: u32) -> Effect {
        let lock = self.locks.entry(object).or_default();
        let others = lock.owner.is_some_and(|owner| owner != seat) || !lock.shared.is_empty();
        match others {
            true => Effect::Probe,
            false => {
                lock.owner = Some(seat);
                Effect::Write
            }
        }
    }

    fn acquire_shared(&mut self, seat: u32, object: u32) -> Effect {
        let lock = self.locks.entry(object).or_default();
        match lock.owner.is_some_and(|owner| owner != seat) {
            true => Effect::Probe,
            false => {
                lock.shared.push(seat);
                Effect::Read
            }
        }
    }
}

/// A guard may be dropped by another strand than the one that has taken the lock.
fn free(lock: &mut Lock, seat: u32) -> Effect {
    if lock.owner.take().is_some() {
        return Effect::Free;
    }
    let holder = lock.shared.iter().position(|&holder| holder == seat);
    match holder.or(lock.shared.len().checked_sub(1)) {
        Some(holder) => {
            lock.shared.swap_remove(holder);
            Effect::FreeShared
        }
        None => Effect::Free,
    }
}

/// The effect of an operation that goes through.
pub(super) fn effect(kind: Kind) -> Effect {
    match kind {
        Kind::Wait | Kind::Join => Effect::Read,
        kind if kind.only_reads() => Effect::Read,
        _ => Effect::Write,
    }
}
