//! Guards that move from strand to strand.
//!
//! With a guard that is `Send` (or `Sync`, lent by reference) a strand touches or gives back a lock
//! that another one took. The trace does not say when the guard went over, because what carried it
//! (a channel of std, a static, a raw pointer) need not be tracked. It went over after the holder
//! last touched the lock or its content, which have one number, and before the other strand first
//! did so. So the lock is handed over: right after the holder's last touch it leaves with a
//! message, and right before the other's first touch it comes with that message. In between nobody
//! can take it: see [`Skeleton::carry`](super::Skeleton::carry).
//!
//! That the holder's touch was its last is known only when somebody else touches the lock. So
//! events wait in a window while a lock is held. Where the holder's last touch has left the window,
//! the lock is handed over at the beginning of the window, which is later than it may have been:
//! nothing false is predicted from that, and something may be missed.

use super::reads::accesses;
use super::{Hold, changes_lock, takes_lock};
use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, StrandId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// How many events wait at most.
pub(super) const WINDOW: usize = 4096;
/// So many wait in any case, so that analyses can fetch what they need ahead.
const AHEAD: usize = 16;

/// Who holds a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Holder {
    #[default]
    Nobody,
    One(StrandId),
    /// Those that the table of readers has.
    Readers,
}

/// Holds events back until it is known whose lock they were made under; see the module.
#[derive(Debug, Default)]
pub(super) struct HandOvers {
    window: VecDeque<(Event, u64)>,
    holders: Dense<ObjectId, Holder>,
    readers: FxHashMap<ObjectId, Vec<StrandId>>,
    /// How many locks are held.
    held: usize,
    /// The position of the last event that has left the window.
    left: u64,
    is_late: bool,
}

impl HandOvers {
    /// Whether some lock was handed over later than it may have been.
    pub(super) fn is_late(&self) -> bool {
        self.is_late
    }

    /// Who holds the lock that the event touches, and how, if its strand does not.
    #[inline]
    pub(super) fn held_by_another(&self, event: Event) -> Option<(StrandId, Hold)> {
        if self.held == 0 || !touches(event.op) {
            return None;
        }
        let lock = event.object();
        let hold = |shared| Hold { lock, shared };
        match *self.holders.get(lock)? {
            Holder::One(holder) if holder != event.strand => Some((holder, hold(false))),
            Holder::Readers => {
                let readers = &self.readers[&lock];
                let has_one = readers.contains(&event.strand);
                (!has_one).then(|| (readers[0], hold(true)))
            }
            _ => None,
        }
    }

    /// The lock goes from its holder with this message to the strand of the event that
    /// [`push`](Self::push) gets next.
    #[cold]
    pub(super) fn hand_over(
        &mut self,
        (from, hold): (StrandId, Hold),
        message: ObjectId,
        next: Event,
        position: u64,
    ) {
        let is_touch = |&(event, _): &(Event, u64)| {
            let is_of_lock = touches(event.op) || takes_lock(event.op);
            event.strand == from && event.object() == hold.lock && is_of_lock
        };
        let last = self.window.iter().rposition(is_touch);
        self.is_late |= last.is_none();
        let (at, sent) = last.map_or((0, self.left), |at| (at + 1, self.window[at].1));
        let carry = |strand, op| Event {
            strand,
            op,
            target: message.0,
            ..next
        };
        self.window.insert(at, (carry(from, Op::Send), sent));
        let received = carry(next.strand, Op::Recv);
        self.window.push_back((received, position));
        match (
            &mut self.holders[hold.lock],
            self.readers.get_mut(&hold.lock),
        ) {
            (Holder::Readers, Some(readers)) => {
                let of_holder = readers.iter_mut().find(|reader| **reader == from);
                *of_holder.expect("a holder") = next.strand;
            }
            (holder, _) => *holder = Holder::One(next.strand),
        }
    }

    /// Takes the next event.
    #[inline]
    pub(super) fn push(&mut self, event: Event, position: u64) {
        if changes_lock(event.op) {
            self.track(event.strand, event.op, event.object());
        }
        self.window.push_back((event, position));
    }

    fn track(&mut self, strand: StrandId, op: Op, lock: ObjectId) {
        let holder = self.holders.entry(lock);
        let before = *holder;
        let all = &mut self.readers;
        *holder = match (op, before) {
            (Op::Acquire | Op::Upgrade, _) => Holder::One(strand),
            (Op::AcquireShared | Op::Downgrade, _) => {
                let readers = all.entry(lock).or_default();
                if before != Holder::Readers {
                    readers.clear();
                }
                readers.push(strand);
                Holder::Readers
            }
            (_, Holder::Readers) => {
                let readers = all.entry(lock).or_default();
                let at = readers.iter().position(|&reader| reader == strand);
                at.map(|at| readers.swap_remove(at));
                if readers.is_empty() {
                    Holder::Nobody
                } else {
                    Holder::Readers
                }
            }
            _ => Holder::Nobody,
        };
        let is_held = |holder: Holder| usize::from(holder != Holder::Nobody);
        self.held = self.held + is_held(*holder) - is_held(before);
    }

    /// Two events that come a little later.
    #[inline]
    pub(super) fn ahead(&self) -> Option<[&Event; 2]> {
        let (later, _) = self.window.get(AHEAD - 1)?;
        Some([&self.window[AHEAD / 2].0, later])
    }

    /// The next event, if it need not wait any longer; any where the trace has ended.
    #[inline]
    pub(super) fn front(&self, has_ended: bool) -> Option<&(Event, u64)> {
        let most = if self.held > 0 { WINDOW } else { AHEAD };
        let is_ready = self.window.len() > most || has_ended;
        self.window.front().filter(|_| is_ready)
    }

    /// The next event leaves.
    #[inline]
    pub(super) fn pop(&mut self) {
        if let Some((_, position)) = self.window.pop_front() {
            self.left = position;
        }
    }
}

/// Touches a lock that somebody holds, or its content.
#[inline]
fn touches(op: Op) -> bool {
    accesses(op) || changes_lock(op) && !takes_lock(op)
}
