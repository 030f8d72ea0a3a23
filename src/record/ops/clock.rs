//! The clock of a tracked atomic: its tickets, and the lock under which value and ticket change as
//! one.
//!
//! One word: the ticket in the low half, above it a bit that says that properties know the atomic,
//! then the version, which counts the changes of the value, and a bit that says that somebody is
//! between drawing the ticket and storing the value. A read that must be recorded draws a ticket
//! under the last bit; a read that need not (the strand has read this version in this transaction)
//! is a seqlock's, which ends with [`is_still`](Clock::is_still), and writes nothing.

use super::super::buffer::prim::{AtomicU64, Backoff, Ordering, fence};

const BUSY: u64 = 1 << 63;

/// Every change is recorded with its value.
const WATCHED: u64 = 1 << 32;

#[derive(Debug)]
pub(crate) struct Clock(AtomicU64);

/// A moment of a [`Clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const FIRST: Moment = Moment(0);

    pub(crate) fn ticket(self) -> u32 {
        self.0 as u32
    }

    /// Counts the changes of the value (modulo 2^30).
    pub(crate) fn version(self) -> u32 {
        (self.0 >> 33) as u32
    }

    /// The moment after another recorded access: a new ticket, and a new version if the value may
    /// have changed.
    fn next(self, changed: bool) -> Moment {
        let ticket = self.ticket().wrapping_add(1);
        // The version and the bit below it, which stays as it is.
        let high = ((self.0 >> 32) as u32).wrapping_add(u32::from(changed) << 1) & (u32::MAX >> 1);
        Moment(u64::from(ticket) | u64::from(high) << 32)
    }
}

impl Clock {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether every change is recorded with its value.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.load(Ordering::Relaxed) & WATCHED != 0
    }

    /// Waits until nobody is changing the value and keeps everybody else from it. Nothing where
    /// that takes so long that whoever is at it must have been stopped: there will be no turn.
    ///
    /// The caller's strand is busy, so that nobody waits for a turn of the thread that he has
    /// interrupted.
    #[inline]
    pub(crate) fn enter(&self) -> Option<Turn<'_>> {
        let now = self.0.load(Ordering::Relaxed);
        let then = if now & BUSY == 0 && self.begins(now) {
            Moment(now)
        } else {
            self.enter_slow()?
        };
        // Pairs with the fence of `is_still`: who reads the changed value finds the clock busy or
        // at a later version.
        fence(Ordering::Release);
        Some(Turn { clock: self, then })
    }

    #[inline(always)]
    fn begins(&self, now: u64) -> bool {
        self.0
            .compare_exchange_weak(now, now | BUSY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    #[inline(never)]
    fn enter_slow(&self) -> Option<Moment> {
        let mut backoff = Backoff::default();
        while backoff.relax() {
            let now = self.0.load(Ordering::Relaxed);
            if now & BUSY == 0 && self.begins(now) {
                return Some(Moment(now));
            }
        }
        None
    }

    /// The same, after whoever is changing the value; or, where he seems to have been stopped, in
    /// spite of him.
    pub(crate) fn when_free(&self) -> Moment {
        let mut backoff = Backoff::default();
        loop {
            let now = self.0.load(Ordering::Acquire);
            if now & BUSY == 0 || !backoff.relax() {
                return Moment(now & !BUSY);
            }
        }
    }

    /// Whether nobody has changed the value since a moment that this strand knows, or is about to:
    /// what was read of it in between is the value of that moment.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_still(&self, moment: Moment) -> bool {
        // The value's load must not sink below this one.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) >> 32 == moment.0 >> 32
    }
}

/// The time in which the value is ours alone. Dropped, it ends as if it had never been.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    clock: &'a Clock,
    then: Moment,
}

impl Turn<'_> {
    /// The moment that the clock showed when the turn began.
    #[inline(always)]
    pub(crate) fn moment(&self) -> Moment {
        self.then
    }

    /// Whether this turn's change is to be recorded with its value.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.then.0 & WATCHED != 0
    }

    /// Draws a ticket, and ends the turn: the ticket, and the moment after it.
    #[inline(always)]
    pub(crate) fn draw(self, changed: bool) -> (u32, Moment) {
        let then = self.then;
        (then.ticket(), self.end_at(then.next(changed)))
    }

    /// The same after a change, and from the next turn on every change is to be recorded with its
    /// value.
    pub(crate) fn draw_watched(self) -> (u32, Moment) {
        let then = self.then;
        let Moment(now) = then.next(true);
        (then.ticket(), self.end_at(Moment(now | WATCHED)))
    }

    /// Makes a new version without a ticket, and ends the turn: the moment after it.
    #[inline(always)]
    pub(crate) fn change(self) -> Moment {
        let Moment(now) = self.then.next(true);
        let ticket = u64::from(self.then.ticket());
        self.end_at(Moment(now & !u64::from(u32::MAX) | ticket))
    }

    #[inline(always)]
    fn end_at(self, now: Moment) -> Moment {
        self.clock.0.store(now.0, Ordering::Release);
        std::mem::forget(self);
        now
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        self.clock.0.store(self.then.0, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn value_and_ticket_change_as_one() {
        loom::model(|| {
            let shared = Arc::new((Clock::new(), AtomicU32::new(0)));
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        let turn = shared.0.enter().unwrap();
                        let value = shared.1.load(Ordering::Relaxed);
                        shared.1.store(value + 1, Ordering::Relaxed);
                        assert_eq!(turn.draw(true).0, value);
                    })
                })
                .collect();
            let moment = Moment::FIRST;
            let value = shared.1.load(Ordering::Relaxed);
            assert!(!shared.0.is_still(moment) || value == moment.version());
            for writer in writers {
                writer.join().unwrap();
            }
            assert_eq!(shared.1.load(Ordering::Relaxed), 2);
        });
    }

    #[test]
    fn every_turn_after_the_one_that_watches_knows_of_it() {
        loom::model(|| {
            let clock = Arc::new(Clock::new());
            let other = clock.clone();
            let watcher = loom::thread::spawn(move || other.enter().unwrap().draw_watched().0);
            let turn = clock.enter().unwrap();
            let knows = turn.is_watched();
            let (ticket, moment) = turn.draw(true);
            assert_eq!(moment.version(), ticket + 1);
            assert_eq!(knows, watcher.join().unwrap() < ticket);
            assert!(clock.is_watched());
        });
    }
}
