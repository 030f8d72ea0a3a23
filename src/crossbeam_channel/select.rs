use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::crossbeam_channel::{
    self as real, ReadyTimeoutError, RecvError, SelectTimeoutError, SendError, TryReadyError,
    TrySelectError,
};

use super::channel::{Flavor, Receiver, Sender};
use crate::record::channel::{Channel, Transfer};
use crate::record::clock::Moment;
use crate::record::{self, Pen, pen, untracked};

/// [`crossbeam_channel::Select`](real::Select), tracked.
#[derive(Clone, Default)]
pub struct Select<'a> {
    inner: real::Select<'a>,
    arms: Vec<Arm<'a>>,
}

/// An operation among those to be selected from.
#[derive(Clone)]
struct Arm<'a> {
    index: usize,
    awaits: Awaits<'a>,
    /// Where the arm stands, in a `select!`.
    site: Option<&'static Location<'static>>,
}

/// What it takes for an operation to be ready.
#[derive(Clone)]
enum Awaits<'a> {
    /// A message, and when it was last looked for.
    Message(&'a Channel, Moment),
    Receiver,
    Room,
    Time,
}

/// [`crossbeam_channel::SelectedOperation`](real::SelectedOperation), tracked.
#[must_use]
pub struct SelectedOperation<'a> {
    inner: real::SelectedOperation<'a>,
    /// It was selected by a call that waits.
    is_awaited: bool,
}

impl<'a> Select<'a> {
    /// As crossbeam's.
    pub fn new() -> Select<'a> {
        Self::default()
    }

    /// As crossbeam's.
    pub fn new_biased() -> Self {
        Select {
            inner: real::Select::new_biased(),
            arms: Vec::new(),
        }
    }

    /// As crossbeam's.
    pub fn send<T>(&mut self, s: &'a Sender<T>) -> usize {
        self.add_send(s, None)
    }

    /// As crossbeam's.
    pub fn recv<T>(&mut self, r: &'a Receiver<T>) -> usize {
        self.add_recv(r, None)
    }

    /// An arm of `select!`.
    #[doc(hidden)]
    pub fn send_at<T>(&mut self, s: &'a Sender<T>, site: &'static Location<'static>) -> usize {
        self.add_send(s, Some(site))
    }

    /// An arm of `select!`.
    #[doc(hidden)]
    pub fn recv_at<T>(&mut self, r: &'a Receiver<T>, site: &'static Location<'static>) -> usize {
        self.add_recv(r, Some(site))
    }

    fn add_send<T>(&mut self, s: &'a Sender<T>, site: Option<&'static Location<'static>>) -> usize {
        let index = self.inner.send(&s.inner);
        let awaits = match s.transfer() {
            Transfer::Buffer => Awaits::Room,
            Transfer::Rendezvous => Awaits::Receiver,
        };
        self.arms.push(Arm {
            index,
            awaits,
            site,
        });
        index
    }

    fn add_recv<T>(
        &mut self,
        r: &'a Receiver<T>,
        site: Option<&'static Location<'static>>,
    ) -> usize {
        let (index, awaits) = match &r.flavor {
            Flavor::Strands(channel, inner) => (
                self.inner.recv(inner),
                Awaits::Message(channel, channel.moment()),
            ),
            Flavor::Time(inner) => (self.inner.recv(inner), Awaits::Time),
        };
        self.arms.push(Arm {
            index,
            awaits,
            site,
        });
        index
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn remove(&mut self, index: usize) {
        self.inner.remove(index);
        self.arms.retain(|arm| arm.index != index);
    }

    /// Runs an attempt that does not wait, and reads that there is no message where it fails.
    fn attempt<R, E>(
        &mut self,
        site: &'static Location<'static>,
        attempt: impl Fn(&mut real::Select<'a>) -> Result<R, E>,
    ) -> Result<R, E> {
        'again: loop {
            for arm in &mut self.arms {
                if let Awaits::Message(channel, moment) = &mut arm.awaits {
                    *moment = channel.moment();
                }
            }
            let error = match untracked(|| attempt(&mut self.inner)) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let mut recorded = false;
            for arm in &self.arms {
                let Awaits::Message(channel, moment) = arm.awaits else {
                    continue;
                };
                let Some(pen) = pen() else { continue };
                if channel.tried_in_vain(pen, arm.site.unwrap_or(site), moment) {
                    recorded = true;
                } else if !recorded {
                    continue 'again;
                }
                // What is recorded already belongs to this attempt; another one would be at odds
                // with it.
            }
            return Err(error);
        }
    }

    /// Ends the transaction and waits; a send that finds room need not.
    #[track_caller]
    fn wait<R>(
        &mut self,
        pen: Option<Pen>,
        attempt: impl FnOnce(&mut real::Select<'a>) -> Option<R>,
        wait: impl FnOnce(&mut real::Select<'a>) -> R,
    ) -> R {
        if let Some(pen) = pen {
            let mut arms = self.arms.iter();
            if arms.all(|arm| matches!(arm.awaits, Awaits::Room)) {
                if let Some(done) = untracked(|| attempt(&mut self.inner)) {
                    return done;
                }
            }
            pen.split(Location::caller());
        }
        untracked(|| wait(&mut self.inner))
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        match record::pen() {
            Some(_) => self.attempt(Location::caller(), |select| select.try_select()),
            None => self.inner.try_select(),
        }
        .map(|inner| SelectedOperation {
            inner,
            is_awaited: false,
        })
    }

    /// As crossbeam's.
    ///
    /// # Panics
    ///
    /// If no operation has been added.
    #[track_caller]
    pub fn select(&mut self) -> SelectedOperation<'a> {
        SelectedOperation {
            inner: self.wait(
                record::pen(),
                |select| select.try_select().ok(),
                |select| select.select(),
            ),
            is_awaited: true,
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn select_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        match Instant::now().checked_add(timeout) {
            Some(deadline) => self.select_deadline(deadline),
            None => Ok(self.select()),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn select_deadline(
        &mut self,
        deadline: Instant,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        let (pen, site) = (record::pen(), Location::caller());
        self.wait(
            pen,
            |select| select.try_select().ok().map(Ok),
            |select| select.select_deadline(deadline),
        )
        .or_else(|late| match pen {
            Some(_) => self
                .attempt(site, |select| select.try_select())
                .map_err(|_| late),
            None => Err(late),
        })
        .map(|inner| SelectedOperation {
            inner,
            is_awaited: true,
        })
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        match record::pen() {
            Some(_) => self.attempt(Location::caller(), |select| select.try_ready()),
            None => self.inner.try_ready(),
        }
    }

    /// As crossbeam's.
    ///
    /// # Panics
    ///
    /// If no operation has been added.
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        self.wait(
            record::pen(),
            |select| select.try_ready().ok(),
            |select| select.ready(),
        )
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        match Instant::now().checked_add(timeout) {
            Some(deadline) => self.ready_deadline(deadline),
            None => Ok(self.ready()),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        let (pen, site) = (record::pen(), Location::caller());
        self.wait(
            pen,
            |select| select.try_ready().ok().map(Ok),
            |select| select.ready_deadline(deadline),
        )
        .or_else(|late| match pen {
            Some(_) => self
                .attempt(site, |select| select.try_ready())
                .map_err(|_| late),
            None => Err(late),
        })
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

// A selected operation that is dropped before it is completed panics, so nothing here may panic
// before that.

impl SelectedOperation<'_> {
    /// As crossbeam's.
    pub fn index(&self) -> usize {
        self.inner.index()
    }

    /// As crossbeam's.
    ///
    /// # Panics
    ///
    /// If another operation was selected.
    #[track_caller]
    pub fn send<T>(self, s: &Sender<T>, msg: T) -> Result<(), SendError<T>> {
        self.send_at(s, Location::caller(), msg)
    }

    /// As crossbeam's.
    ///
    /// # Panics
    ///
    /// If another operation was selected.
    #[track_caller]
    pub fn recv<T>(self, r: &Receiver<T>) -> Result<T, RecvError> {
        self.recv_at(r, Location::caller())
    }

    /// An arm of `select!`.
    #[doc(hidden)]
    #[track_caller]
    pub fn send_at<T>(
        self,
        s: &Sender<T>,
        site: &'static Location<'static>,
        msg: T,
    ) -> Result<(), SendError<T>> {
        s.complete(pen(), site, self.inner, msg)
    }

    /// An arm of `select!`.
    #[doc(hidden)]
    #[track_caller]
    pub fn recv_at<T>(
        self,
        r: &Receiver<T>,
        site: &'static Location<'static>,
    ) -> Result<T, RecvError> {
        match &r.flavor {
            Flavor::Strands(channel, inner) => {
                let envelope = untracked(|| self.inner.recv(inner))?;
                Ok(if self.is_awaited {
                    envelope.open_awaited(channel, pen(), site)
                } else {
                    envelope.open_from(channel, pen(), site)
                })
            }
            Flavor::Time(inner) => self.inner.recv(inner),
        }
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
