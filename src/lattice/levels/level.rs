//! One level of the lattice: its cuts, and the nodes and edges of these.

use crate::lattice::property::{MonitorState, Truths};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// No node, no edge, no cut.
pub(super) const NONE: u32 = u32::MAX;

/// A cut with one of its monitor states.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) monitor: MonitorState,
    /// How many runs lead here.
    pub(super) runs: u128,
    /// Whether they have broken the property; what the monitor remembers does not matter then.
    pub(super) violated: bool,
    pub(super) cut: u32,
    /// The next node of the same cut.
    pub(super) next: u32,
    /// The edges that lead here, the latest first.
    pub(super) edges: u32,
}

/// From a node of the level before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) chain: u32,
    pub(super) next: u32,
}

/// All consistent cuts of one number of events. The observed run's cut is number 0.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// Counts for each cut, `width` of them.
    pub(super) cuts: Vec<u32>,
    pub(super) width: usize,
    /// Values for each cut, one for each variable.
    pub(super) states: Vec<i64>,
    pub(super) truths: Vec<Truths>,
    /// The first node of each cut.
    pub(super) first: Vec<u32>,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// The observed run's node.
    pub(super) observed: u32,
}

impl Level {
    pub(super) fn clear(&mut self, width: usize) {
        self.cuts.clear();
        self.width = width;
        self.states.clear();
        self.truths.clear();
        self.first.clear();
        self.nodes.clear();
        self.edges.clear();
        self.observed = NONE;
    }

    pub(super) fn len(&self) -> usize {
        self.first.len()
    }

    pub(super) fn cut(&self, cut: usize) -> &[u32] {
        &self.cuts[cut * self.width..][..self.width]
    }

    pub(super) fn state(&self, cut: usize) -> &[i64] {
        let variables = self.states.len() / self.len();
        &self.states[cut * variables..][..variables]
    }

    /// More chains than when the level was made: none of their events has happened.
    pub(super) fn widen(&mut self, width: usize) {
        if self.width < width {
            let mut cuts = Vec::with_capacity(self.len() * width);
            for cut in 0..self.len() {
                cuts.extend_from_slice(self.cut(cut));
                cuts.resize((cut + 1) * width, 0);
            }
            self.cuts = cuts;
            self.width = width;
        }
    }

    /// The number of the node of this cut with this monitor state, new or known; nothing where it
    /// would be one too many.
    pub(super) fn node(
        &mut self,
        cut: u32,
        monitor: MonitorState,
        violated: bool,
        limit: usize,
    ) -> Option<u32> {
        let mut at = self.first[cut as usize];
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.violated == violated && (violated || node.monitor == monitor) {
                return Some(at);
            }
            at = node.next;
        }
        if self.nodes.len() >= limit {
            return None;
        }
        let next = self.first[cut as usize];
        let number = self.nodes.len() as u32;
        self.first[cut as usize] = number;
        self.nodes.push(Node {
            monitor,
            runs: 0,
            violated,
            cut,
            next,
            edges: NONE,
        });
        Some(number)
    }
}

/// Finds a level's cuts by their counts. It does not own these: a cut's number is kept under the
/// hash of its counts, or under the next free one.
#[derive(Debug, Default)]
pub(super) struct CutTable {
    numbers: FxHashMap<u64, u32>,
}

impl CutTable {
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
    }

    /// The number of the cut in the level, or the key for a new one.
    pub(super) fn find(&self, level: &Level, cut: &[u32]) -> Result<u32, u64> {
        let mut key = FxBuildHasher.hash_one(cut);
        while let Some(&number) = self.numbers.get(&key) {
            if level.cut(number as usize) == cut {
                return Ok(number);
            }
            key = key.wrapping_add(1);
        }
        Err(key)
    }

    pub(super) fn insert(&mut self, key: u64, number: u32) {
        self.numbers.insert(key, number);
    }
}
