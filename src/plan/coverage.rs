//! How much of what can happen has happened.
//!
//! Two runs are the same as far as anybody can tell if they order all conflicting actions alike
//! (Mazurkiewicz, 1977). So each action has a hash of itself and of the conflicting ones right
//! before it, and a run the sum of these. For blocks it is counted how often another strand's
//! conflicting access came between two of a block's accesses: where none ever did, the tests have
//! not tried the block's atomicity.

use super::obligation::touches;
use super::random::mix;
use super::{Action, How};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// What runs have covered.
///
/// ```
/// use aerodrome::plan::{Action, Coverage, How, Intent, Kind};
///
/// let of = |seat, kind| Action {
///     seat,
///     path: seat.into(),
///     nth: 0,
///     block: 0,
///     intent: Intent { kind, object: 0, site: seat },
///     how: How::Proceed,
/// };
/// let (read, write, other) = (of(0, Kind::Read), of(1, Kind::Write), of(2, Kind::Read));
/// let mut coverage = Coverage::default();
/// assert!(coverage.add(&[read, other, write]));
/// // The two reads commute.
/// assert!(!coverage.add(&[other, read, write]));
/// assert!(coverage.add(&[read, write, other]));
/// assert_eq!((coverage.runs(), coverage.different(), coverage.last_new()), (3, 2, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    runs: u64,
    seen: FxHashSet<u64>,
    last_new: u64,
    gaps: BTreeMap<Gap, Count>,
}

/// Two successive accesses of a block to an object, by their sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gap {
    /// The first access.
    pub first: u32,
    /// The second.
    pub last: u32,
}

/// How often something was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often the two accesses took place.
    pub passed: u64,
    /// How often with another strand's conflicting access between them.
    pub interrupted: u64,
}

impl Coverage {
    /// Adds a run. True if none has ordered the conflicting actions like this.
    pub fn add(&mut self, actions: &[Action]) -> bool {
        self.runs += 1;
        self.count_gaps(actions);
        let new = self.seen.insert(trace_hash(actions));
        if new {
            self.last_new = self.runs;
        }
        new
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// How many of them were different by the order of their conflicting actions.
    pub fn different(&self) -> usize {
        self.seen.len()
    }

    /// The last run that was different from all before it, counted from 1; 0 without runs.
    pub fn last_new(&self) -> u64 {
        self.last_new
    }

    /// All gaps, and how often another strand came into them.
    pub fn gaps(&self) -> impl Iterator<Item = (Gap, Count)> {
        self.gaps.iter().map(|(gap, count)| (*gap, *count))
    }

    fn count_gaps(&mut self, actions: &[Action]) {
        /// A strand's last access to an object.
        struct Last {
            action: Action,
            interrupted: bool,
        }
        let mut lasts: FxHashMap<u32, Vec<Last>> = FxHashMap::default();
        for action in actions.iter().filter(|action| touches(action)) {
            let lasts = lasts.entry(action.intent.object).or_default();
            let own = lasts
                .iter()
                .position(|last| last.action.seat == action.seat);
            for (index, last) in lasts.iter_mut().enumerate() {
                let conflicts = last.action.intent.conflicts(&action.intent);
                last.interrupted |= conflicts && Some(index) != own;
            }
            let next = Last {
                action: *action,
                interrupted: false,
            };
            let Some(own) = own else {
                lasts.push(next);
                continue;
            };
            let last = std::mem::replace(&mut lasts[own], next);
            if action.block != 0 && last.action.block == action.block {
                let gap = Gap {
                    first: last.action.intent.site,
                    last: action.intent.site,
                };
                let count = self.gaps.entry(gap).or_default();
                count.passed += 1;
                count.interrupted += u64::from(last.interrupted);
            }
        }
    }
}

/// A hash of the order of conflicting actions: equal for equivalent runs.
pub fn trace_hash(actions: &[Action]) -> u64 {
    /// An object's last write, and the sum of the reads since.
    #[derive(Default)]
    struct Object {
        write: u64,
        reads: u64,
    }
    let mut objects: FxHashMap<u32, Object> = FxHashMap::default();
    let mut sum = 0_u64;
    for action in actions
        .iter()
        .filter(|action| !action.intent.kind.is_pause())
    {
        let own = mix(mix(action.path, u64::from(action.nth)), action.how as u64);
        let object = objects.entry(action.intent.object).or_default();
        let hash = if action.intent.kind.only_reads() || action.how != How::Proceed {
            let hash = mix(own, object.write);
            object.reads = object.reads.wrapping_add(hash);
            hash
        } else {
            let hash = mix(own, mix(object.write, object.reads));
            *object = Object {
                write: hash,
                reads: 0,
            };
            hash
        };
        sum = sum.wrapping_add(hash);
    }
    sum
}
