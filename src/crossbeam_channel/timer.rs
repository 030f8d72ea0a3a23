//! Receivers of time, and of nothing.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::crossbeam_channel::{self as real, RecvTimeoutError, TryRecvError};

use crate::record::{self, Intent, Kind, is_controlled, left_until, outside, untracked};

/// A channel whose messages come from the clock, or never. Nobody has sent them, so nothing is
/// recorded of them.
pub(super) struct Time<T> {
    pub(super) inner: real::Receiver<T>,
    /// In place of the real one where that was made under control: there the clock is another.
    timer: Option<Arc<Timer<T>>>,
}

/// A clock's messages, by the time that the program sees.
struct Timer<T> {
    /// When the next one comes; nothing after the last.
    due: Mutex<Option<Instant>>,
    /// How long after one the next one comes.
    period: Option<Duration>,
    message: fn(Instant) -> T,
}

impl Time<Instant> {
    /// `inner` gives its first message after `duration`, and others after each `period`.
    pub(super) fn after(
        inner: real::Receiver<Instant>,
        duration: Duration,
        period: Option<Duration>,
    ) -> Self {
        let due = || record::now().checked_add(duration);
        Self::due(inner, due, period)
    }

    /// The same, by the time at which the first message comes.
    pub(super) fn due(
        inner: real::Receiver<Instant>,
        due: impl FnOnce() -> Option<Instant>,
        period: Option<Duration>,
    ) -> Self {
        let timer = is_controlled().then(|| {
            let due = Mutex::new(due());
            let message = |due| due;
            let timer = || Timer {
                due,
                period,
                message,
            };
            untracked(|| Arc::new(timer()))
        });
        Time { inner, timer }
    }
}

impl<T> Timer<T> {
    /// How long it takes until the next message comes.
    fn left(&self) -> Option<Duration> {
        let due = *self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.map(left_until)
    }

    fn take(&self) -> Option<T> {
        let now = record::now();
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let message = due.filter(|due| *due <= now)?;
        *due = self.period.and_then(|period| now.checked_add(period));
        Some((self.message)(message))
    }
}

impl<T> Time<T> {
    pub(super) const fn never() -> Self {
        Time {
            inner: real::never(),
            timer: None,
        }
    }

    /// Whether there is a message.
    pub(super) fn is_ready(&self) -> bool {
        match self.left() {
            Some(left) => left == Duration::ZERO,
            None => self.timer.is_none() && !self.inner.is_empty(),
        }
    }

    /// How long it takes until the next message comes, where that is known.
    pub(super) fn left(&self) -> Option<Duration> {
        self.timer.as_ref()?.left()
    }

    /// Announces a look.
    fn step(&self, site: &'static Location<'static>) {
        record::step(move || Intent::bare(Kind::Sleep, site));
    }

    pub(super) fn try_recv(&self, site: &'static Location<'static>) -> Result<T, TryRecvError> {
        self.step(site);
        match &self.timer {
            Some(timer) => timer.take().ok_or(TryRecvError::Empty),
            None => self.inner.try_recv(),
        }
    }

    /// Looks at the state, which `timed` tells by whether there is a message.
    pub(super) fn look<R>(
        &self,
        site: &'static Location<'static>,
        real: impl FnOnce(&real::Receiver<T>) -> R,
        timed: impl FnOnce(bool) -> R,
    ) -> R {
        self.step(site);
        match &self.timer {
            Some(_) => timed(self.is_ready()),
            None => real(&self.inner),
        }
    }

    /// Waits for time to pass: for no other strand, so the transaction goes on.
    pub(super) fn recv(
        &self,
        deadline: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Result<T, RecvTimeoutError> {
        if let Some(pen) = record::pen() {
            pen.flush();
            if let Some(timer) = &self.timer {
                return self.recv_in_turn(timer, deadline, site);
            }
            if is_controlled() {
                let limit = deadline.map(left_until);
                record::wait_for(
                    move || Intent::bare(Kind::Sleep, site),
                    limit,
                    || self.is_ready(),
                );
                if !self.is_ready() && is_controlled() {
                    return Err(RecvTimeoutError::Timeout);
                }
            }
        }
        match deadline {
            Some(deadline) => self.inner.recv_deadline(deadline),
            None => self.inner.recv().map_err(RecvTimeoutError::from),
        }
    }

    #[cold]
    fn recv_in_turn(
        &self,
        timer: &Timer<T>,
        deadline: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Result<T, RecvTimeoutError> {
        loop {
            let limit = deadline.map(left_until);
            let next = [limit, timer.left()].into_iter().flatten().min();
            let sleep = move || Intent::bare(Kind::Sleep, site);
            let (_, left) = record::wait_for(sleep, next, || false);
            // Under control no time is left.
            match left {
                Some(left) => std::thread::sleep(left),
                None => outside(std::thread::park),
            }
            if let Some(message) = timer.take() {
                return Ok(message);
            }
            if deadline.is_some_and(|deadline| left_until(deadline) == Duration::ZERO) {
                return Err(RecvTimeoutError::Timeout);
            }
        }
    }
}

impl<T> Clone for Time<T> {
    fn clone(&self) -> Self {
        Time {
            inner: self.inner.clone(),
            timer: self.timer.clone(),
        }
    }
}
