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

/// How many events wait at most.
pub(super) const WINDOW: usize = 4096;

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
    /// The latest events. So many of them were analysed, and so many need not wait.
    pub(super) window: Vec<(Event, u64)>,
    pub(super) analysed: usize,
    pub(super) ready: usize,
    holders: Dense<ObjectId, Holder>,
    readers: FxHashMap<ObjectId, Vec<StrandId>>,
    /// How many locks are held.
    held: usize,
    /// The position of the last event before the window.
    left: u64,
    is_late: bool,
}

impl HandOvers {
    /// Whether some lock was handed over later than it may have been.
    pub(super) fn is_late(&self) -> bool {
        self.is_late
    }

    /// Who holds the lock that the event touches, and how, if its strand does not.
    #[inline(always)]
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
        let ready = self.ready;
        let last = self.window[ready..].iter().rposition(is_touch);
        self.is_late |= last.is_none();
        let at = last.map_or(ready, |at| ready + at + 1);
        let sent = at.checked_sub(1).map_or(self.left, |at| self.window[at].1);
        let carry = |strand, op| Event {
            strand,
            op,
            target: message.0,
            ..next
        };
        self.window.insert(at, (carry(from, Op::Send), sent));
        let received = carry(next.strand, Op::Recv);
        self.window.push((received, position));
        let readers = self.readers.get_mut(&hold.lock);
        match (&mut self.holders[hold.lock], readers) {
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
        self.window.push((event, position));
        self.update_ready();
    }

    /// Events were added to the window: some of those before need not wait any longer.
    #[inline]
    pub(super) fn update_ready(&mut self) {
        let most = if self.held > 0 { WINDOW } else { 0 };
        self.ready = self.ready.max(self.window.len().saturating_sub(most));
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

    /// All events that need not wait were analysed.
    pub(super) fn set_analysed(&mut self) {
        self.analysed = self.ready;
        if self.analysed >= WINDOW {
            self.left = self.window[self.ready - 1].1;
            self.window.drain(..self.ready);
            (self.analysed, self.ready) = (0, 0);
        }
    }
}

/// Touches a lock that somebody holds, or its content.
#[inline]
fn touches(op: Op) -> bool {
    accesses(op) || changes_lock(op) && !takes_lock(op)
}
