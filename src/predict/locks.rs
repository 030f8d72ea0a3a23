//! Which locks a strand holds, and which it has taken since.
//!
//! A lock state is what decides, for nested locking, whether two strands can stand at two places at
//! the same time (Kahlon, Ivancic, Gupta, CAV 2005): the *lockset*, and for each lock of it the
//! *acquisition history*, the locks that were acquired after it, released or not. The states are
//! interned, so that equality is a comparison of two integers, and a lock event is one look-up of
//! (state, operation, lock): a program has few states, however long it runs.
//!
//! A history keeps its first [`HISTORY`] locks, so that who holds a lock for long does not come to
//! a new state with every lock that is taken meanwhile. What is left out could only exclude more,
//! and the schedules of findings are looked for in the whole trace.
//!
//! Two shared holders of a lock do not exclude each other; a lock that was taken both ways since
//! counts as taken exclusively.

use super::{changes_lock, takes_lock};
use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, StrandId};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

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
}

#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    /// In the order of acquisition.
    held: Vec<Hold>,
    /// One history after the other, each sorted, each lock once.
    taken: Vec<Hold>,
    /// For each lock of `held` the end of its history in `taken`.
    ends: Vec<u32>,
}

impl State {
    /// For each lock of `held`: what was taken after it.
    fn histories(&self) -> impl Iterator<Item = &[Hold]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let ranges = starts.zip(&self.ends);
        ranges.map(|(&start, &end)| &self.taken[start as usize..end as usize])
    }

    /// Another lock is held, since when these locks were taken, and then perhaps one more.
    fn push(&mut self, held: Hold, history: &[Hold], then: Option<Hold>) {
        self.held.push(held);
        let start = self.taken.len();
        self.taken.extend_from_slice(history);
        if let Some(hold) = then {
            match history.binary_search_by_key(&hold.lock, |hold| hold.lock) {
                Ok(at) => self.taken[start + at].shared &= hold.shared,
                Err(at) if history.len() < HISTORY => self.taken.insert(start + at, hold),
                Err(_) => {}
            }
        }
        self.ends.push(self.taken.len() as u32);
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.ends.hash(&mut hasher);
        for hold in self.held.iter().chain(&self.taken) {
            hasher.write_u64(u64::from(hold.lock.0) << 1 | u64::from(hold.shared));
        }
        hasher.finish()
    }
}

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
#[derive(Debug)]
pub struct Locks {
    states: Vec<State>,
    blooms: Vec<Bloom>,
    /// By the hash of a state, or one of the next numbers.
    ids: FxHashMap<u64, LockState>,
    transitions: FxHashMap<(LockState, Op, ObjectId), LockState>,
    current: Dense<StrandId, LockState>,
    /// How often more than once a strand holds a lock. A strand that works for another's
    /// transaction shares its number, so that shared locks can be held twice under one.
    again: FxHashMap<(StrandId, ObjectId), u32>,
    not_nested: Option<u64>,
}

impl Default for Locks {
    fn default() -> Locks {
        Locks {
            states: vec![State::default()],
            blooms: vec![Bloom::default()],
            ids: FxHashMap::from_iter([(State::default().hash(), LockState::FREE)]),
            transitions: FxHashMap::default(),
            current: Dense::new(),
            again: FxHashMap::default(),
            not_nested: None,
        }
    }
}

impl Locks {
    /// Takes the next event; true if it changed its strand's lock state.
    #[inline]
    pub fn step(&mut self, event: Event, position: u64) -> bool {
        let op = match event.op {
            Op::ReleaseShared => Op::Release,
            op if changes_lock(op) => op,
            _ => return false,
        };
        let from = *self.current.entry(event.strand);
        let key = (from, op, event.object());
        let known = self.transitions.get(&key).copied();
        let Some(to) = known.or_else(|| self.change(key, position)) else {
            return self.again(event, op);
        };
        if op == Op::Release && !self.again.is_empty() && self.again(event, op) {
            return false;
        }
        self.current[event.strand] = to;
        to != from
    }

    /// Counts what is held more than once. True if a release only undid such a second hold.
    #[cold]
    fn again(&mut self, event: Event, op: Op) -> bool {
        let key = (event.strand, event.object());
        match (op, self.again.get_mut(&key)) {
            (Op::Acquire | Op::AcquireShared, _) => {
                *self.again.entry(key).or_default() += 1;
                false
            }
            (Op::Release, Some(count)) => {
                *count -= 1;
                if *count == 0 {
                    self.again.remove(&key);
                }
                true
            }
            _ => false,
        }
    }

    /// The state after a change; nothing where the strand holds the lock that it acquires, or does
    /// not hold the one that it releases.
    #[cold]
    fn change(&mut self, key: (LockState, Op, ObjectId), position: u64) -> Option<LockState> {
        let (from, op, lock) = key;
        let state = &self.states[from.0 as usize];
        let is_held = state.held.iter().any(|hold| hold.lock == lock);
        if is_held == matches!(op, Op::Acquire | Op::AcquireShared) {
            return None;
        }
        let is_last = state.held.last().is_some_and(|hold| hold.lock == lock);
        if op == Op::Release && !is_last {
            // The first such release of the trace is the first of its transition, too.
            self.not_nested.get_or_insert(position);
        }
        let held = state.held.len() + 1;
        let mut next = State {
            held: Vec::with_capacity(held),
            taken: Vec::with_capacity(state.taken.len() + held),
            ends: Vec::with_capacity(held),
        };
        let shared = matches!(op, Op::AcquireShared | Op::Downgrade);
        let hold = Hold { lock, shared };
        let takes = takes_lock(op).then_some(hold);
        for (&held, history) in state.held.iter().zip(state.histories()) {
            match op {
                _ if held.lock != lock => next.push(held, history, takes),
                Op::Release => {}
                // It excludes others from now on only.
                Op::Upgrade => next.push(hold, &[], None),
                _ => next.push(hold, history, None),
            }
        }
        if !is_held {
            next.push(hold, &[], None);
        }
        let to = self.intern(next);
        self.transitions.insert(key, to);
        Some(to)
    }

    fn intern(&mut self, state: State) -> LockState {
        let mut hash = state.hash();
        while let Some(&id) = self.ids.get(&hash) {
            if self.states[id.0 as usize] == state {
                return id;
            }
            hash = hash.wrapping_add(1);
        }
        let id = LockState(u32::try_from(self.states.len()).expect("fewer than 2^32 lock states"));
        let bits = |holds: &[Hold]| holds.iter().fold(0, |bits, hold| bits | hold.bloom());
        self.blooms.push(Bloom {
            held: bits(&state.held),
            taken: bits(&state.taken),
        });
        self.states.push(state);
        self.ids.insert(hash, id);
        id
    }

    /// A strand's state after the last event that was taken.
    #[inline]
    pub fn state(&self, strand: StrandId) -> LockState {
        self.current.get(strand).copied().unwrap_or_default()
    }

    /// The lockset of a state, in the order of acquisition.
    pub fn held(&self, state: LockState) -> &[Hold] {
        &self.states[state.0 as usize].held
    }

    /// Were two locks taken one under the other, and the other way round elsewhere?
    pub(super) fn taken_in_either_order(&self) -> bool {
        let mut nested: FxHashSet<(ObjectId, ObjectId)> = FxHashSet::default();
        let states = self.states.iter();
        let held = states.flat_map(|state| state.held.iter().zip(state.histories()));
        nested.extend(held.flat_map(|(outer, taken)| {
            let inner = taken.iter().filter(|inner| inner.lock != outer.lock);
            inner.map(|inner| (outer.lock, inner.lock))
        }));
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

    /// Is no lock of one state excluded by a lock of the other?
    #[inline]
    pub fn disjoint(&self, a: LockState, b: LockState) -> bool {
        let (x, y) = (self.blooms[a.0 as usize], self.blooms[b.0 as usize]);
        x.held & y.held == 0 || disjoint(self.held(a), self.held(b))
    }

    /// Can two strands stand in these states at the same time? The locksets are disjoint, and no
    /// two locks were taken crosswise. For nested locking, and as far as locks alone are concerned,
    /// this is exact.
    #[inline]
    pub fn compatible(&self, a: LockState, b: LockState) -> bool {
        let (x, y) = (self.blooms[a.0 as usize], self.blooms[b.0 as usize]);
        self.disjoint(a, b)
            && (x.taken & y.held == 0 || y.taken & x.held == 0 || !self.crosswise(a, b))
    }

    /// Is there a lock `p` of `a` and a lock `q` of `b`, where `a` took `q` after `p`, and `b` took
    /// `p` after `q`?
    fn crosswise(&self, a: LockState, b: LockState) -> bool {
        let (a, b) = (&self.states[a.0 as usize], &self.states[b.0 as usize]);
        a.held.iter().zip(a.histories()).any(|(&p, after_p)| {
            let mut other = b.held.iter().zip(b.histories());
            other.any(|(&q, after_q)| took(after_p, q) && took(after_q, p))
        })
    }
}

/// Is no lock of one set excluded by a lock of the other?
pub(super) fn disjoint(a: &[Hold], b: &[Hold]) -> bool {
    !a.iter().any(|&p| b.iter().any(|&q| p.excludes(q)))
}

fn took(history: &[Hold], hold: Hold) -> bool {
    let at = history.binary_search_by_key(&hold.lock, |hold| hold.lock);
    at.is_ok_and(|at| history[at].excludes(hold))
}
