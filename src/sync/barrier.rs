use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::{MutexGuard, PoisonError};

use crate::record::{self, Intent, Kind, Object, What};
use crate::trace::ObjectKind;

/// [`std::sync::Barrier`], tracked.
///
/// Everything before a `wait` comes before everything after the same round's `wait`s; an atomic
/// block ends before the wait and begins again after it.
pub struct Barrier {
    /// What the arrivals of a round signal and its departures await; the rounds take turns.
    pub(crate) signals: [Object; 2],
    state: std::sync::Mutex<State>,
    /// A round is complete.
    complete: std::sync::Condvar,
    /// Everybody has left a round.
    left: std::sync::Condvar,
    threads: usize,
}

/// Arrivals of a round share their signal with those of the round before the last, so they are let
/// in when everybody has left that one: otherwise a slow departure would come after arrivals that
/// it did not wait for. Those who leave have been woken and wait for nobody.
struct State {
    arrived: usize,
    round: usize,
    leaving: [usize; 2],
}

/// [`std::sync::BarrierWaitResult`], tracked.
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// As std's; remembers where it was called.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new(n: usize) -> Barrier {
        Barrier {
            signals: [
                Object::new(ObjectKind::Signal, type_name::<Self>),
                Object::new(ObjectKind::Signal, type_name::<Self>),
            ],
            state: std::sync::Mutex::new(State {
                arrived: 0,
                round: 0,
                leaving: [0; 2],
            }),
            complete: std::sync::Condvar::new(),
            left: std::sync::Condvar::new(),
            threads: n,
        }
    }

    /// As std's.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let site = Location::caller();
        let arrive = move || Intent::new(Kind::Update, &self.signals[0], site);
        let pen = record::wait(arrive, || !self.lock().is_crowded());
        let mut state = self
            .left
            .wait_while(self.lock(), |state| state.is_crowded())
            .unwrap_or_else(PoisonError::into_inner);
        let (round, turn) = (state.round, state.round % 2);
        if let Some(pen) = pen {
            pen.event(What::Signal, &self.signals[turn], site);
            pen.split(site);
        }
        state.arrived += 1;
        let is_leader = state.arrived >= self.threads;
        if is_leader {
            state.leaving[turn] = state.arrived;
            state.arrived = 0;
            state.round = round.wrapping_add(1);
            self.complete.notify_all();
        } else {
            drop(state);
            let depart = move || Intent::new(Kind::Read, &self.signals[0], site);
            record::wait(depart, || self.lock().round != round);
            state = self
                .complete
                .wait_while(self.lock(), |state| state.round == round)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(pen) = pen {
            pen.event(What::Await, &self.signals[turn], site);
        }
        state.leaving[turn] -= 1;
        if state.leaving[turn] == 0 {
            self.left.notify_all();
        }
        BarrierWaitResult(is_leader)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether some have yet to leave the round before the last.
    fn is_crowded(&self) -> bool {
        self.leaving[self.round % 2] > 0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader())
            .finish()
    }
}

impl BarrierWaitResult {
    /// As std's.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}
