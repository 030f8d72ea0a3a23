//! The places that a strand has been to.

use super::witnesses::{Mask, Track};
use crate::dense::Grid;
use crate::predict::{Context, LockState, Period};
use crate::trace::StrandId;

/// Lock state and period in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(u64);

impl Place {
    pub(super) fn of(strand: StrandId, now: &mut Context) -> Place {
        let (state, period) = (now.locks.state(strand), now.order.period(strand));
        Place(u64::from(state.0) << 32 | u64::from(period.0))
    }

    pub(super) fn state(self) -> LockState {
        LockState((self.0 >> 32) as u32)
    }

    pub(super) fn period(self) -> Period {
        Period(self.0 as u32)
    }
}

const END: u32 = u32::MAX;

/// The place in a mask; all of it for a place that has none.
#[inline]
fn bit(id: u32) -> Mask {
    Mask::checked_shl(1, id).unwrap_or(Mask::MAX)
}

/// A place that a strand has been to, and when last in a transaction.
#[derive(Clone, Copy, Debug)]
struct Visit {
    place: Place,
    /// The tick at which the strand was last there; the rest is meant in that transaction.
    tick: u32,
    newer: u32,
    older: u32,
}

/// The places that a strand has been to, those of the open transaction in a list from the last
/// visited to the first.
#[derive(Debug)]
pub(super) struct Visits {
    strand: StrandId,
    /// By the strand's own numbers for them.
    visits: Vec<Visit>,
    /// The current place.
    pub(super) id: u32,
    pub(super) place: Place,
    /// In a mask; 0 where it has no bit.
    pub(super) bit: Mask,
    newest: u32,
    /// The transaction's places, as far as they have bits; all bits if there are others.
    pub(super) mask: Mask,
    /// Grows with each begin, and with each change of place in a transaction.
    pub(super) tick: u32,
    /// The tick at which the last transaction began.
    begun: u32,
    /// The tick at which the transaction's current period was entered.
    period: u32,
    /// The place without locks that was last visited in a transaction, and when.
    free: u32,
    freed: u32,
    pub(super) open: bool,
}

impl Visits {
    pub(super) fn new(strand: StrandId, place: Place, numbers: &mut Grid) -> Visits {
        let mut visits = Visits {
            strand,
            visits: Vec::new(),
            id: 0,
            place,
            bit: 0,
            newest: END,
            mask: 0,
            tick: 0,
            begun: 0,
            period: 0,
            free: END,
            freed: 0,
            open: false,
        };
        visits.enter(place, numbers);
        visits
    }

    /// The places since a tick, the last visited first. Where the strand held nothing for a moment
    /// of this period, only that place: it is as good as all others.
    pub(super) fn since(&self, tick: u32) -> impl Iterator<Item = (u32, Place)> {
        let visit = |id: u32| self.visits.get(id as usize);
        let is_since = move |id: u32| visit(id).is_some_and(|visit| visit.tick >= tick);
        let is_free = self.was_free_since(tick);
        let first = if is_free { self.free } else { self.newest };
        let ids = std::iter::successors(Some(first), move |&id| {
            visit(id).map(|visit| visit.older).filter(|_| !is_free)
        });
        let ids = ids.take_while(move |&id| is_since(id));
        ids.map(|id| (id, self.visits[id as usize].place))
    }

    /// Whether the strand held nothing for a moment since a tick, in the period that goes on.
    #[inline]
    fn was_free_since(&self, tick: u32) -> bool {
        self.period <= tick && tick <= self.freed
    }

    /// Whether the track's last access is of this transaction, and there may be no gap for one of
    /// the places [since](Self::since) then, or `all` gaps are wanted.
    #[inline]
    pub(super) fn news(&self, track: &Track, all: bool) -> bool {
        let is_free = self.was_free_since(track.tick);
        let places = if is_free { bit(self.free) } else { self.mask };
        track.tick >= self.begun && (places & !track.gaps != 0 || all)
    }

    pub(super) fn begin(&mut self) {
        self.newest = END;
        self.mask = 0;
        self.begun = self.tick + 1;
        self.period = self.begun;
        self.open = true;
        self.arrive(self.place, self.id);
    }

    /// The strand comes to a place. `numbers` has each strand's number of the last place with a
    /// lock state: a strand does not come back to a period that it has left.
    pub(super) fn enter(&mut self, place: Place, numbers: &mut Grid) {
        let (strand, state) = (self.strand.0, place.state().0);
        let known = numbers.get(strand, state);
        let known = known.filter(|&id| self.visits[id as usize].place == place);
        let id = known.unwrap_or_else(|| {
            let next = self.visits.len() as u32;
            self.visits.push(Visit {
                place,
                tick: 0,
                newer: END,
                older: END,
            });
            numbers.insert(strand, state, next);
            next
        });
        self.arrive(place, id);
    }

    fn arrive(&mut self, place: Place, id: u32) {
        let period = self.place.period();
        self.place = place;
        self.id = id;
        self.bit = Mask::checked_shl(1, id).unwrap_or(0);
        if !self.open {
            return;
        }
        self.tick += 1;
        if period != place.period() {
            self.period = self.tick;
        }
        if place.state() == LockState::FREE {
            (self.free, self.freed) = (id, self.tick);
        }
        self.mask |= bit(id);
        let old = self.visits[id as usize];
        let mut visit = Visit {
            tick: self.tick,
            newer: END,
            older: self.newest,
            ..old
        };
        if id == self.newest {
            visit.older = old.older;
        } else {
            if old.tick >= self.begun {
                // It is not the newest, so that there is a newer one.
                self.visits[old.newer as usize].older = old.older;
                if old.older != END {
                    self.visits[old.older as usize].newer = old.newer;
                }
            }
            if self.newest != END {
                self.visits[self.newest as usize].newer = id;
            }
        }
        self.visits[id as usize] = visit;
        self.newest = id;
    }
}
