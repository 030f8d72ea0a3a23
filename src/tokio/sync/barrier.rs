use std::any::type_name;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::pin;
use std::sync::{Arc, MutexGuard, PoisonError};

use ::tokio::sync::{self as original, BarrierWaitResult};

use crate::record::{Object, What, pen, untracked};
use crate::trace::ObjectKind;

/// See [`tokio::sync::Barrier`](original::Barrier). Everything before a `wait` comes before
/// everything after the same round's `wait`s; a transaction ends before the wait.
pub struct Barrier {
    round: std::sync::Mutex<Round>,
    size: usize,
    inner: original::Barrier,
}

/// What the arrivals of a round signal and its departures await.
struct Round {
    arrived: usize,
    signal: Arc<Object>,
}

impl Round {
    #[track_caller]
    fn new() -> Self {
        let signal = Object::new(ObjectKind::Signal, type_name::<Barrier>);
        let signal = Arc::new(signal);
        Self { arrived: 0, signal }
    }
}

impl Barrier {
    /// See [`tokio::sync::Barrier::new`](original::Barrier::new).
    #[track_caller]
    pub fn new(n: usize) -> Self {
        Self {
            round: std::sync::Mutex::new(Round::new()),
            size: n.max(1),
            inner: original::Barrier::new(n),
        }
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an arrival: what the round's departures await.
    fn arrive(&self, round: &mut Round, site: &'static Location<'static>) -> Arc<Object> {
        let signal = round.signal.clone();
        if let Some(pen) = pen() {
            pen.event(What::Signal, &signal, site);
            pen.split(site);
        }
        round.arrived += 1;
        if round.arrived == self.size {
            *round = untracked(Round::new);
        }
        signal
    }

    /// See [`tokio::sync::Barrier::wait`](original::Barrier::wait).
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> {
        let site = Location::caller();
        async move {
            let mut wait = pin!(self.inner.wait());
            let mut arrived = None;
            let result = poll_fn(|context| {
                if arrived.is_some() {
                    return wait.as_mut().poll(context);
                }
                // As one with the real arrival, so that both are of the same round.
                let mut round = self.round();
                arrived = Some(self.arrive(&mut round, site));
                wait.as_mut().poll(context)
            })
            .await;
            if let Some((pen, arrived)) = pen().zip(arrived) {
                pen.event(What::Await, &arrived, site);
            }
            result
        }
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
