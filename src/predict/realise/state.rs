//! The search through a window.

use super::Answer;
use super::window::{Lane, Slot};
use crate::predict::{changes_lock, takes_lock};
use crate::trace::{ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// The lane of a lock that is being handed over.
const ON_ITS_WAY: usize = usize::MAX;

/// How far the lanes have come.
#[derive(Debug)]
pub(super) struct State<'a> {
    lanes: &'a [Lane],
    next: Vec<usize>,
    /// The holders of each lock: lane, shared.
    locks: FxHashMap<ObjectId, Vec<(usize, bool)>>,
    /// The lanes in the order in which they stepped.
    trail: Vec<usize>,
    /// How far the lanes had come where nothing led on.
    failed: FxHashSet<Vec<usize>>,
}

impl<'a> State<'a> {
    pub(super) fn new(lanes: &'a [Lane]) -> State<'a> {
        State {
            lanes,
            next: vec![0; lanes.len()],
            locks: FxHashMap::default(),
            trail: Vec::new(),
            failed: FxHashSet::default(),
        }
    }

    /// The lanes in the order in which they stepped.
    pub(super) fn trail(&self) -> &[usize] {
        &self.trail
    }

    /// How many places the search has come to from which nothing led on.
    pub(super) fn failures(&self) -> usize {
        self.failed.len()
    }

    /// Steps until all that is required has run.
    pub(super) fn search(&mut self, bound: usize) -> Result<(), Answer> {
        // Where each choice was made: the length of the trail before it, and the lanes not tried
        // yet.
        let mut choices: Vec<(usize, Vec<usize>)> = Vec::new();
        loop {
            self.run();
            if self.is_done() {
                return Ok(());
            }
            if self.failed.len() > bound {
                return Err(Answer::Bound);
            }
            let mut lanes = Vec::new();
            if self.failed.insert(self.next.clone()) {
                lanes.extend((0..self.lanes.len()).filter(|&lane| self.is_ready(lane)));
            }
            // Those that were first in the recording are tried first.
            lanes.sort_by_key(|&lane| Reverse(self.slot(lane).position));
            choices.push((self.trail.len(), lanes));
            self.choose(&mut choices)?;
        }
    }

    /// Goes back to the last choice that has a lane left, and takes that.
    fn choose(&mut self, choices: &mut Vec<(usize, Vec<usize>)>) -> Result<(), Answer> {
        while let Some((length, lanes)) = choices.last_mut() {
            self.undo(*length);
            if let Some(lane) = lanes.pop() {
                self.take(lane);
                return Ok(());
            }
            choices.pop();
        }
        Err(Answer::Impossible)
    }

    fn is_done(&self) -> bool {
        let mut lanes = self.lanes.iter().zip(&self.next);
        lanes.all(|(lane, &next)| next >= lane.required)
    }

    /// The lane's next step.
    fn slot(&self, lane: usize) -> &'a Slot {
        &self.lanes[lane].items[self.next[lane]]
    }

    fn is_free(&self, lane: usize, slot: &Slot) -> bool {
        let holders = self.locks.get(&slot.event.object());
        let mut holders = holders.into_iter().flatten();
        match slot.event.op {
            Op::Acquire | Op::Upgrade => holders.all(|&(holder, _)| holder == lane),
            Op::AcquireShared => holders.all(|&(holder, shared)| shared || holder == lane),
            _ => true,
        }
    }

    /// Is the lane's next step possible now?
    fn is_ready(&self, lane: usize) -> bool {
        let Some(slot) = self.lanes[lane].items.get(self.next[lane]) else {
            return false;
        };
        let mut needs = slot.needs.iter();
        needs.all(|&(other, count)| self.next[other] >= count) && self.is_free(lane, slot)
    }

    /// Takes every step that takes nothing away from anybody.
    fn run(&mut self) {
        loop {
            let before = self.trail.len();
            for lane in 0..self.lanes.len() {
                while self.is_ready(lane) && !takes_lock(self.slot(lane).event.op) {
                    self.take(lane);
                }
            }
            if self.trail.len() == before {
                return;
            }
        }
    }

    fn take(&mut self, lane: usize) {
        let slot = self.slot(lane);
        self.next[lane] += 1;
        self.trail.push(lane);
        self.apply(lane, slot, slot.event.op);
    }

    /// Does an operation to the lock of a step. A lock that is handed over is nobody's until it is
    /// received.
    fn apply(&mut self, lane: usize, slot: &Slot, op: Op) {
        let lock = match (op, slot.carries) {
            (Op::Send | Op::Recv, Some(lock)) => lock,
            _ if changes_lock(op) => slot.event.object(),
            _ => return,
        };
        let holders = self.locks.entry(lock).or_default();
        let owner = if op == Op::Recv { ON_ITS_WAY } else { lane };
        let own = holders.iter().rposition(|&(holder, _)| holder == owner);
        match (op, own) {
            (Op::Acquire | Op::AcquireShared, _) => holders.push((lane, op == Op::AcquireShared)),
            (Op::Release | Op::ReleaseShared, Some(at)) => drop(holders.remove(at)),
            (Op::Upgrade | Op::Downgrade, Some(at)) => holders[at].1 = op == Op::Downgrade,
            (Op::Send, Some(at)) => holders[at].0 = ON_ITS_WAY,
            (Op::Recv, Some(at)) => holders[at].0 = lane,
            _ => {}
        }
    }

    /// Takes the last steps back.
    fn undo(&mut self, length: usize) {
        while self.trail.len() > length {
            let lane = self.trail.pop().expect("longer than the length");
            self.next[lane] -= 1;
            let slot = self.slot(lane);
            let back = match slot.event.op {
                Op::Acquire | Op::AcquireShared => Op::Release,
                Op::Release => Op::Acquire,
                Op::ReleaseShared => Op::AcquireShared,
                Op::Upgrade => Op::Downgrade,
                Op::Downgrade => Op::Upgrade,
                Op::Send => Op::Recv,
                Op::Recv => Op::Send,
                _ => continue,
            };
            self.apply(lane, slot, back);
        }
    }
}
