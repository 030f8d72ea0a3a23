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

use super::changes_lock;
use crate::dense::{Dense, Lists};
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
}

/// One bit a lock, modulo 64.
fn bits(holds: &[Hold]) -> u64 {
    holds.iter().fold(0, |bits, hold| bits | hold.bloom())
}

/// An interned acquisition history: sorted, each lock once. The first is the empty one.
type History = u32;

/// What is asked most often of a state.
#[derive(Clone, Copy, Debug, Default)]
struct Outline {
    /// One bit a lock, modulo 64: most pairs of states are told apart by these alone.
    held: u64,
    taken: u64,
    /// The lock that was acquired last, and the state after its release, once that is known.
    last: Option<ObjectId>,
    released: Option<LockState>,
}

/// The lock states of all strands.
///
/// Takes every event; those that are no lock operation change nothing. A release of a lock that the
/// strand does not hold is let pass (a well-formed trace has none), and so is an acquire of one
/// that it does hold.
#[derive(Debug)]
pub struct Locks {
    /// Locksets in the order of acquisition, and for each lock what was taken after it.
    states: Lists<(Hold, History)>,
    /// The holds of `states`.
    held: Vec<Hold>,
    outlines: Vec<Outline>,
    /// Who goes from one state to the next leaves most of them as they are.
    histories: Lists<Hold>,
    /// The bits of each, as in `Outline::taken`.
    history_bits: Vec<u64>,
    /// But for releases of the lock that was acquired last.
    transitions: FxHashMap<(LockState, Op, ObjectId), LockState>,
    /// The state at hand.
    next: Vec<(Hold, History)>,
    current: Dense<StrandId, LockState>,
    /// How often more than once a strand holds a lock. A strand that works for another's
    /// transaction shares its number, so that shared locks can be held twice under one.
    again: FxHashMap<(StrandId, ObjectId), u32>,
    not_nested: Option<u64>,
}

impl Default for Locks {
    fn default() -> Locks {
        Locks {
            states: Lists::default(),
            held: Vec::new(),
            outlines: vec![Outline::default()],
            histories: Lists::default(),
            history_bits: vec![0],
            transitions: FxHashMap::default(),
            next: Vec::new(),
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
        let outline = &self.outlines[from.0 as usize];
        let known = if op == Op::Release && outline.last == Some(event.object()) {
            outline.released
        } else {
            self.transitions.get(&key).copied()
        };
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
        let held = self.held(from);
        let is_held = held.iter().any(|hold| hold.lock == lock);
        if is_held == matches!(op, Op::Acquire | Op::AcquireShared) {
            return None;
        }
        if op == Op::Release && held.last().is_some_and(|hold| hold.lock != lock) {
            // The first such release of the trace is the first of its transition, too.
            self.not_nested.get_or_insert(position);
        }
        let shared = matches!(op, Op::AcquireShared | Op::Downgrade);
        let hold = Hold { lock, shared };
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(self.states.get(from.0));
        let own = next.iter().position(|(held, _)| held.lock == lock);
        match (op, own) {
            (Op::Release, Some(own)) => drop(next.remove(own)),
            (Op::Downgrade, Some(own)) => next[own].0 = hold,
            _ => {
                for (_, after) in next.iter_mut().filter(|(held, _)| held.lock != lock) {
                    *after = self.add(*after, hold);
                }
                // What is upgraded excludes others from now on only.
                match own {
                    Some(own) => next[own] = (hold, 0),
                    None => next.push((hold, 0)),
                }
            }
        }
        let to = self.intern(&next);
        self.next = next;
        let outline = &mut self.outlines[from.0 as usize];
        if op == Op::Release && outline.last == Some(lock) {
            outline.released = Some(to);
        } else {
            self.transitions.insert(key, to);
        }
        Some(to)
    }

    fn intern(&mut self, state: &[(Hold, History)]) -> LockState {
        let (id, is_new) = self.states.intern(state);
        if is_new {
            self.held.extend(state.iter().map(|(hold, _)| hold));
            let taken = state
                .iter()
                .map(|&(_, after)| self.history_bits[after as usize]);
            self.outlines.push(Outline {
                held: bits(self.held(LockState(id))),
                taken: taken.fold(0, |known, taken| known | taken),
                last: state.last().map(|(hold, _)| hold.lock),
                released: None,
            });
        }
        LockState(id)
    }

    /// A history after another lock was taken.
    fn add(&mut self, history: History, hold: Hold) -> History {
        let bits_before = self.history_bits[history as usize];
        let known = self.histories.get(history);
        if known.len() == HISTORY && bits_before & hold.bloom() == 0 {
            return history;
        }
        let (at, rest) = match known.binary_search_by_key(&hold.lock, |hold| hold.lock) {
            Ok(at) if known[at].shared && !hold.shared => (at, at + 1),
            Err(at) if known.len() < HISTORY => (at, at),
            _ => return history,
        };
        let (before, behind) = (&known[..at], &known[rest..]);
        let mut longer = [hold; HISTORY];
        longer[..at].copy_from_slice(before);
        longer[at + 1..][..behind.len()].copy_from_slice(behind);
        let longer = &longer[..at + 1 + behind.len()];
        let (longer_id, is_new) = self.histories.intern(longer);
        if is_new {
            self.history_bits.push(bits_before | hold.bloom());
        }
        longer_id
    }

    /// A strand's state after the last event that was taken.
    #[inline]
    pub fn state(&self, strand: StrandId) -> LockState {
        self.current.get(strand).copied().unwrap_or_default()
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

    /// Is no lock of one state excluded by a lock of the other?
    #[inline]
    pub fn disjoint(&self, a: LockState, b: LockState) -> bool {
        let [x, y] = [a, b].map(|state| &self.outlines[state.0 as usize]);
        x.held & y.held == 0 || disjoint(self.held(a), self.held(b))
    }

    /// Can two strands stand in these states at the same time? The locksets are disjoint, and no
    /// two locks were taken crosswise. For nested locking, and as far as locks alone are concerned,
    /// this is exact.
    #[inline]
    pub fn compatible(&self, a: LockState, b: LockState) -> bool {
        let [x, y] = [a, b].map(|state| &self.outlines[state.0 as usize]);
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
        let history = self.histories.get(history);
        let at = history.binary_search_by_key(&hold.lock, |hold| hold.lock);
        at.is_ok_and(|at| history[at].excludes(hold))
    }
}

/// Is no lock of one set excluded by a lock of the other?
pub(super) fn disjoint(a: &[Hold], b: &[Hold]) -> bool {
    !a.iter().any(|&p| b.iter().any(|&q| p.excludes(q)))
}
