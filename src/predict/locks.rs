//! Which locks a strand holds, and which it has taken since.
//!
//! A lock state is what decides, for nested locking, whether two strands can stand at two places at
//! the same time (Kahlon, Ivancic, Gupta, CAV 2005): the *lockset*, and for each lock of it the
//! *acquisition history*, the locks that were acquired after it, released or not. The states are
//! interned by a number of 64 bits that changes with each lock event, so that equality is a
//! comparison of two integers, and a lock event one look-up: a program has few states, however long
//! it runs. Two of a million states have the same number with a probability of less than 10^-7.
//!
//! A history keeps its first [`HISTORY`] locks, so that who holds a lock for long does not come to
//! a new state with every lock that is taken meanwhile. What is left out could only exclude more,
//! and the schedules of findings are looked for in the whole trace.
//!
//! Two shared holders of a lock do not exclude each other; a lock that was taken both ways since
//! counts as taken exclusively.

use super::changes_lock;
use crate::dense::{Dense, Lists, mix};
use crate::trace::{Event, ObjectId, Op, StrandId};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many locks a history has at most.
const HISTORY: usize = 32;

/// A lockset with its acquisition histories, interned by [`Locks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockState(pub u32);

impl LockState {
    /// No lock is held.
    pub const FREE: LockState = LockState(0);
}

/// A lock and how it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hold {
    /// The lock.
    pub lock: ObjectId,
    /// Shared with other readers.
    pub shared: bool,
}

impl Hold {
    /// Can the two not be held at the same time?
    #[inline]
    pub fn excludes(self, other: Hold) -> bool {
        self.lock == other.lock && !(self.shared && other.shared)
    }

    fn bloom(self) -> u64 {
        1 << (self.lock.0 % 64)
    }

    /// Tells it from all others, as a part of a sum, too.
    fn key(self) -> u64 {
        mix(mix(
            (u64::from(self.lock.0) << 1 | u64::from(self.shared)) + 1
        ))
    }
}

/// A lock that a strand holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    hold: Hold,
    /// The locks that were taken after it, each once.
    taken: [Hold; HISTORY],
    count: usize,
    /// The sum of their keys.
    key: u64,
}

impl Held {
    fn new(hold: Hold) -> Held {
        Held {
            hold,
            taken: [hold; HISTORY],
            count: 0,
            key: 0,
        }
    }

    fn taken(&self) -> &[Hold] {
        &self.taken[..self.count]
    }

    /// Another lock is taken.
    fn take(&mut self, other: Hold) {
        match self.taken().iter().position(|hold| hold.lock == other.lock) {
            Some(at) if self.taken[at].shared && !other.shared => {
                self.key = self.key.wrapping_sub(self.taken[at].key());
                self.taken[at] = other;
            }
            None if self.count < HISTORY => {
                self.taken[self.count] = other;
                self.count += 1;
            }
            _ => return,
        }
        self.key = self.key.wrapping_add(other.key());
    }
}

/// An interned acquisition history: each lock once. The first is the empty one.
type History = u32;

/// One bit a lock, modulo 64: most pairs of states are told apart by these alone.
#[derive(Clone, Copy, Debug, Default)]
struct Bloom {
    held: u64,
    taken: u64,
}

/// The lock states of all strands.
///
/// Takes every event; those that are no lock operation change nothing. A release of a lock that the
/// strand does not hold is let pass (a well-formed trace has none), and so is an acquire of one
/// that it does hold.
#[derive(Debug, Default)]
pub struct Locks {
    /// Locksets in the order of acquisition, and for each lock what was taken after it.
    states: Lists<(Hold, History)>,
    /// The holds of `states`.
    held: Vec<Hold>,
    blooms: Dense<u32, Bloom>,
    /// Who goes from one state to the next leaves most of them as they are.
    histories: Lists<Hold>,
    /// The locks of each strand, in the order of acquisition, and its state.
    strands: Dense<StrandId, (Vec<Held>, LockState)>,
    /// How often more than once a strand holds a lock. A strand that works for another's
    /// transaction shares its number, so that shared locks can be held twice under one.
    again: FxHashMap<(StrandId, ObjectId), u32>,
    not_nested: Option<u64>,
}

impl Locks {
    /// Takes the next event; true if it changed its strand's lock state.
    #[inline]
    pub fn step(&mut self, event: Event, position: u64) -> bool {
        if !changes_lock(event.op) {
            return false;
        }
        let (op, lock) = (event.op, event.object());
        let shared = matches!(op, Op::AcquireShared | Op::Downgrade);
        let hold = Hold { lock, shared };
        let (held, _) = self.strands.entry(event.strand);
        let own = held.iter().position(|held| held.hold.lock == lock);
        match (op, own) {
            (Op::Acquire | Op::AcquireShared, None) => {
                held.iter_mut().for_each(|held| held.take(hold));
                held.push(Held::new(hold));
            }
            (Op::Release | Op::ReleaseShared, Some(own)) => {
                if own + 1 < held.len() {
                    self.not_nested.get_or_insert(position);
                }
                if !self.again.is_empty() && self.again(event) {
                    return false;
                }
                self.strands[event.strand].0.remove(own);
            }
            (Op::Downgrade, Some(own)) => held[own].hold = hold,
            (Op::Upgrade, Some(own)) => {
                held.iter_mut().for_each(|held| held.take(hold));
                // What is upgraded excludes others from now on only.
                held[own] = Held::new(hold);
            }
            _ => return self.again(event),
        }
        self.intern(event.strand)
    }

    /// Counts what is held more than once. True if a release only undid such a second hold.
    #[cold]
    fn again(&mut self, event: Event) -> bool {
        let key = (event.strand, event.object());
        match (event.op, self.again.get_mut(&key)) {
            (Op::Acquire | Op::AcquireShared, _) => {
                *self.again.entry(key).or_default() += 1;
                false
            }
            (Op::Release | Op::ReleaseShared, Some(count)) => {
                *count -= 1;
                if *count == 0 {
                    self.again.remove(&key);
                }
                true
            }
            _ => false,
        }
    }

    /// Numbers the state that a strand has come to; false if it has had that already.
    fn intern(&mut self, strand: StrandId) -> bool {
        let (held, current) = &mut self.strands[strand];
        let key = held.iter().fold(0, |key: u64, held| {
            mix(mix(key.wrapping_add(held.hold.key())).wrapping_add(held.key))
        });
        let histories = &mut self.histories;
        let items = held.iter().map(|held| {
            let history = histories.intern(held.key, held.taken().iter().copied());
            (held.hold, history.0)
        });
        let (id, is_new) = self.states.intern(key, items);
        if is_new {
            let bits = |holds: &[Hold]| holds.iter().fold(0, |bits, hold| bits | hold.bloom());
            let start = self.held.len();
            self.held.extend(held.iter().map(|held| held.hold));
            *self.blooms.entry(id) = Bloom {
                held: bits(&self.held[start..]),
                taken: held
                    .iter()
                    .fold(0, |known, held| known | bits(held.taken())),
            };
        }
        let before = std::mem::replace(current, LockState(id));
        before.0 != id
    }

    /// A strand's state after the last event that was taken.
    #[inline]
    pub fn state(&self, strand: StrandId) -> LockState {
        self.strands.get(strand).map_or(LockState::FREE, |it| it.1)
    }

    /// The lockset of a state, in the order of acquisition.
    pub fn held(&self, state: LockState) -> &[Hold] {
        &self.held[self.states.stretch(state.0)]
    }

    /// Were two locks taken one under the other, and the other way round elsewhere?
    pub(super) fn taken_in_either_order(&self) -> bool {
        let mut nested: FxHashSet<(ObjectId, ObjectId)> = FxHashSet::default();
        let mut known: FxHashSet<(ObjectId, History)> = FxHashSet::default();
        for &(Hold { lock: outer, .. }, after) in self.states.items() {
            if after != 0 && known.insert((outer, after)) {
                let taken = self.histories.get(after).iter();
                let inner = taken.filter(|inner| inner.lock != outer);
                nested.extend(inner.map(|inner| (outer, inner.lock)));
            }
        }
        nested.iter().any(|&(a, b)| nested.contains(&(b, a)))
    }

    /// How many different states there have been.
    pub fn count(&self) -> usize {
        self.states.len()
    }

    /// Where a lock was first released that was not the last one acquired: what rests on nested
    /// locking may be incomplete.
    pub fn not_nested(&self) -> Option<u64> {
        self.not_nested
    }

    #[inline]
    fn bloom(&self, state: LockState) -> Bloom {
        self.blooms.get(state.0).copied().unwrap_or_default()
    }

    /// Is no lock of one state excluded by a lock of the other?
    #[inline]
    pub fn disjoint(&self, a: LockState, b: LockState) -> bool {
        let (x, y) = (self.bloom(a), self.bloom(b));
        x.held & y.held == 0 || disjoint(self.held(a), self.held(b))
    }

    /// Can two strands stand in these states at the same time? The locksets are disjoint, and no
    /// two locks were taken crosswise. For nested locking, and as far as locks alone are concerned,
    /// this is exact.
    #[inline]
    pub fn compatible(&self, a: LockState, b: LockState) -> bool {
        if a == LockState::FREE || b == LockState::FREE {
            return true;
        }
        let (x, y) = (self.bloom(a), self.bloom(b));
        self.disjoint(a, b)
            && (x.taken & y.held == 0 || y.taken & x.held == 0 || !self.crosswise(a, b))
    }

    /// Is there a lock `p` of `a` and a lock `q` of `b`, where `a` took `q` after `p`, and `b` took
    /// `p` after `q`?
    fn crosswise(&self, a: LockState, b: LockState) -> bool {
        let (a, b) = (self.states.get(a.0), self.states.get(b.0));
        a.iter().any(|&(p, after_p)| {
            let mut other = b.iter();
            other.any(|&(q, after_q)| self.took(after_p, q) && self.took(after_q, p))
        })
    }

    fn took(&self, history: History, hold: Hold) -> bool {
        let mut taken = self.histories.get(history).iter();
        taken.any(|taken| taken.excludes(hold))
    }
}

/// Is no lock of one set excluded by a lock of the other?
pub(super) fn disjoint(a: &[Hold], b: &[Hold]) -> bool {
    !a.iter().any(|&p| b.iter().any(|&q| p.excludes(q)))
}
