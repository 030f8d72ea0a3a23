//! Which way an event can move, and whether a transaction's events can all move together.

use crate::trace::{ObjectId, StrandId};
use rustc_hash::FxHashMap;

/// Which way an event can change places with its neighbours of other strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Mover {
    /// With the event after it: an acquire, a join, an await, a receive.
    Right,
    /// With the event before it: a release, a fork, a signal, a send.
    Left,
    /// With either.
    Both,
    /// With neither: an access that races.
    None,
}

impl Mover {
    /// The papers' letter.
    pub(super) fn letter(self) -> char {
        match self {
            Mover::Right => 'R',
            Mover::Left => 'L',
            Mover::Both => 'B',
            Mover::None => 'N',
        }
    }
}

/// How far a transaction has come on `(R + B)* N? (L + B)*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Everything so far moves right.
    #[default]
    Before,
    /// The point to which everything moves has passed.
    After,
    /// Something does not fit.
    Broken,
}

impl Phase {
    pub(super) fn step(self, mover: Mover) -> Phase {
        match (self, mover) {
            (phase, Mover::Both) => phase,
            (Phase::Before, Mover::Right) => Phase::Before,
            (Phase::Before, _) | (Phase::After, Mover::Left) => Phase::After,
            _ => Phase::Broken,
        }
    }
}

/// How many locks around a lock are looked at. One is enough, and nobody holds many; who does
/// would make every lock as expensive as all that are held, for each of these.
const PROTECTORS: usize = 32;

/// Who uses a lock, and which locks are always held around it.
#[derive(Debug)]
struct Lock {
    owner: StrandId,
    several: bool,
    /// Held exclusively, by all holders, for as long as they hold this one: the outermost of these
    /// when it was first taken.
    protectors: Vec<ObjectId>,
}

/// How the locks have been used so far.
#[derive(Debug, Default)]
pub(super) struct LockUse {
    locks: FxHashMap<ObjectId, Lock>,
}

impl LockUse {
    /// A strand takes a lock while it holds these exclusively.
    pub(super) fn take(&mut self, lock: ObjectId, strand: StrandId, exclusive: &[ObjectId]) {
        let first = || Lock {
            owner: strand,
            several: false,
            protectors: exclusive[..exclusive.len().min(PROTECTORS)].to_vec(),
        };
        let lock = self.locks.entry(lock).or_insert_with(first);
        lock.several |= lock.owner != strand;
        lock.protectors
            .retain(|protector| exclusive.contains(protector));
    }

    /// A strand gives a lock back, or makes it shared, while it holds these.
    pub(super) fn give(&mut self, lock: ObjectId, held: impl Iterator<Item = ObjectId>) {
        for other in held {
            if let Some(other) = self.locks.get_mut(&other) {
                other.protectors.retain(|protector| *protector != lock);
            }
        }
    }

    /// Nobody can be at the lock at the same time: it has one user, or another lock keeps all
    /// others away.
    pub(super) fn quiet(&self, lock: ObjectId) -> bool {
        self.locks
            .get(&lock)
            .is_none_or(|lock| !lock.several || !lock.protectors.is_empty())
    }
}
