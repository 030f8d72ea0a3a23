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
use crate::record::{
    self, Choice, Intent, Kind, Pen, is_controlled, left_until, outside, pen, pick, step, untracked,
};

/// [`crossbeam_channel::Select`](real::Select), tracked.
#[derive(Clone, Default)]
pub struct Select<'a> {
    inner: real::Select<'a>,
    arms: Vec<Arm<'a>>,
    is_biased: bool,
}

// SAFETY: as crossbeam's, which shares the ends of the channels with other threads itself.
unsafe impl Send for Select<'_> {}
// SAFETY: as above.
unsafe impl Sync for Select<'_> {}

/// The end of a channel that an operation is done to.
trait End {
    /// What it is to look whether the operation would wait.
    fn look(&self, site: &'static Location<'static>) -> Intent<'_>;

    /// Whether it would not.
    fn is_ready(&self) -> bool;

    /// How long it takes until it would not, where the clock says that.
    fn left(&self) -> Option<Duration>;
}

impl<T> End for Sender<T> {
    fn look(&self, site: &'static Location<'static>) -> Intent<'_> {
        self.channel.intent(Kind::Read, site)
    }

    fn is_ready(&self) -> bool {
        self.is_ready()
    }

    fn left(&self) -> Option<Duration> {
        None
    }
}

impl<T> End for Receiver<T> {
    fn look(&self, site: &'static Location<'static>) -> Intent<'_> {
        self.intent(Kind::Read, site)
    }

    fn is_ready(&self) -> bool {
        self.is_ready()
    }

    fn left(&self) -> Option<Duration> {
        match &self.flavor {
            Flavor::Strands(..) => None,
            Flavor::Time(time) => time.left(),
        }
    }
}

/// An operation among those to be selected from.
#[derive(Clone)]
struct Arm<'a> {
    index: usize,
    awaits: Awaits<'a>,
    end: &'a dyn End,
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
    inner: Selected<'a>,
    /// It was selected by a call that waits.
    is_awaited: bool,
}

enum Selected<'a> {
    Real(real::SelectedOperation<'a>),
    /// Under control: an arm that is ready. No place in its channel is taken yet, because others
    /// would wait for who has one.
    Arm(usize),
}

/// What a selection comes to under control.
enum Found {
    Arm(usize),
    /// No arm is ready, and the time is up.
    Late,
    /// No arm is ready, and one is a rendezvous, where only those meet who really wait: for this
    /// long at most.
    Rendezvous(Option<Duration>),
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
            is_biased: true,
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
        let awaits = match s.channel.transfer() {
            Transfer::Buffer => Awaits::Room,
            Transfer::Rendezvous => Awaits::Receiver,
        };
        self.arms.push(Arm {
            index,
            awaits,
            end: s,
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
            Flavor::Time(time) => (self.inner.recv(&time.inner), Awaits::Time),
        };
        self.arms.push(Arm {
            index,
            awaits,
            end: r,
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
            if self.awaits_room() {
                if let Some(done) = untracked(|| attempt(&mut self.inner)) {
                    return done;
                }
            }
            pen.split(Location::caller());
        }
        untracked(|| wait(&mut self.inner))
    }

    /// Whether all operations are sends into buffers.
    fn awaits_room(&self) -> bool {
        let mut arms = self.arms.iter();
        arms.all(|arm| matches!(arm.awaits, Awaits::Room))
    }

    /// One of the arms that are ready. Asked when the strand has its turn.
    fn ready_arm(&self) -> Option<usize> {
        untracked(|| {
            let ready = || self.arms.iter().filter(|arm| arm.end.is_ready());
            let chosen = match ready().count() {
                0 => return None,
                1 => 0,
                _ if self.is_biased => 0,
                n => pick(Choice::Arm, n),
            };
            ready().nth(chosen).map(|arm| arm.index)
        })
    }

    /// Announces a look at every arm.
    fn step(&self, site: &'static Location<'static>) {
        for arm in &self.arms {
            step(|| arm.end.look(arm.site.unwrap_or(site)));
        }
    }

    /// Waits under control until an arm is ready.
    #[cold]
    #[track_caller]
    fn wait_in_turn(&self, pen: Pen, deadline: Option<Instant>) -> Found {
        let site = Location::caller();
        if !self.awaits_room() {
            pen.split(site);
        }
        self.step(site);
        loop {
            if let Some(index) = self.ready_arm() {
                return Found::Arm(index);
            }
            let left = deadline.map(left_until);
            let is_rendezvous = |arm: &Arm<'_>| match arm.awaits {
                Awaits::Message(channel, _) => channel.transfer() == Transfer::Rendezvous,
                Awaits::Receiver => true,
                Awaits::Room | Awaits::Time => false,
            };
            let last = self.arms.last().filter(|_| is_controlled());
            let Some(last) = last.filter(|_| !self.arms.iter().any(is_rendezvous)) else {
                return Found::Rendezvous(left);
            };
            if left == Some(Duration::ZERO) {
                return Found::Late;
            }
            pen.split(site);
            let due = self.arms.iter().filter_map(|arm| arm.end.left());
            let limit = due.chain(left).min();
            let is_ready = || self.arms.iter().any(|arm| arm.end.is_ready());
            record::wait_for(|| last.end.look(last.site.unwrap_or(site)), limit, is_ready);
        }
    }

    /// Waits for an operation, until a deadline if there is one: the arm by `arm`, or what the real
    /// selection comes to.
    #[track_caller]
    fn select_by<R, E>(
        &mut self,
        deadline: Option<Instant>,
        arm: impl FnOnce(usize) -> R,
        attempt: impl Fn(&mut real::Select<'a>) -> Result<R, E>,
        until: impl Fn(&mut real::Select<'a>, Option<Instant>) -> Result<R, E>,
    ) -> Result<R, E> {
        let pen = record::pen();
        let Some(controlled) = pen.filter(|_| is_controlled()) else {
            return self.wait(
                pen,
                |select| attempt(select).ok().map(Ok),
                |select| until(select, deadline),
            );
        };
        match self.wait_in_turn(controlled, deadline) {
            Found::Arm(index) => Ok(arm(index)),
            Found::Late => untracked(|| until(&mut real::Select::new(), Some(Instant::now()))),
            Found::Rendezvous(left) => {
                let deadline = left.and_then(|left| Instant::now().checked_add(left));
                outside(|| untracked(|| until(&mut self.inner, deadline)))
            }
        }
    }

    /// Attempts an operation without waiting: the arm by `arm`, or what the real attempt comes to.
    #[track_caller]
    fn try_by<R, E>(
        &mut self,
        arm: impl Fn(usize) -> R,
        attempt: impl Fn(&mut real::Select<'a>) -> Result<R, E>,
    ) -> Result<R, E> {
        let site = Location::caller();
        if record::pen().is_none() {
            return attempt(&mut self.inner);
        }
        if !is_controlled() {
            return self.attempt(site, attempt);
        }
        self.step(site);
        match self.ready_arm() {
            Some(index) => Ok(arm(index)),
            // In vain, which is to be recorded.
            None => self.attempt(site, |_| attempt(&mut real::Select::new())),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        self.try_by(Selected::Arm, |select| {
            select.try_select().map(Selected::Real)
        })
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
        let selected = self.select_until(None);
        selected.expect("without a deadline it waits")
    }

    #[track_caller]
    fn select_until(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.select_by(
            deadline,
            Selected::Arm,
            |select| {
                let selected = select.try_select().map(Selected::Real);
                selected.map_err(|_| SelectTimeoutError)
            },
            |select, deadline| match deadline {
                Some(deadline) => select.select_deadline(deadline).map(Selected::Real),
                None => Ok(Selected::Real(select.select())),
            },
        )
        .map(|inner| SelectedOperation {
            inner,
            is_awaited: true,
        })
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn select_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        match record::now().checked_add(timeout) {
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
        let site = Location::caller();
        self.select_until(Some(deadline)).or_else(|late| {
            if record::pen().is_none() {
                return Err(late);
            }
            let attempt = |select: &mut real::Select<'a>| select.try_select();
            let inner = self.attempt(site, attempt).map_err(|_| late)?;
            Ok(SelectedOperation {
                inner: Selected::Real(inner),
                is_awaited: true,
            })
        })
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        self.try_by(|index| index, |select| select.try_ready())
    }

    /// As crossbeam's.
    ///
    /// # Panics
    ///
    /// If no operation has been added.
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        let ready = self.ready_until(None);
        ready.expect("without a deadline it waits")
    }

    #[track_caller]
    fn ready_until(&mut self, deadline: Option<Instant>) -> Result<usize, ReadyTimeoutError> {
        self.select_by(
            deadline,
            |index| index,
            |select| select.try_ready().map_err(|_| ReadyTimeoutError),
            |select, deadline| match deadline {
                Some(deadline) => select.ready_deadline(deadline),
                None => Ok(select.ready()),
            },
        )
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        match record::now().checked_add(timeout) {
            Some(deadline) => self.ready_deadline(deadline),
            None => Ok(self.ready()),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        let site = Location::caller();
        self.ready_until(Some(deadline))
            .or_else(|late| match record::pen() {
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
        match &self.inner {
            Selected::Real(operation) => operation.index(),
            Selected::Arm(index) => *index,
        }
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
        match self.inner {
            Selected::Real(operation) => s.complete(pen(), site, operation, msg),
            Selected::Arm(_) => s
                .send_until(site, msg, None)
                .map_err(|error| SendError(error.into_inner())),
        }
    }

    /// An arm of `select!`.
    #[doc(hidden)]
    #[track_caller]
    pub fn recv_at<T>(
        self,
        r: &Receiver<T>,
        site: &'static Location<'static>,
    ) -> Result<T, RecvError> {
        match (&r.flavor, self.inner) {
            (Flavor::Strands(channel, inner), operation) => {
                let receive = match operation {
                    Selected::Real(operation) => untracked(|| operation.recv(inner)),
                    Selected::Arm(_) => r.recv_in_turn(channel, inner, site),
                };
                let envelope = receive?;
                Ok(if self.is_awaited {
                    envelope.open_awaited(channel, pen(), site)
                } else {
                    envelope.open_from(channel, pen(), site)
                })
            }
            (Flavor::Time(time), Selected::Real(operation)) => operation.recv(&time.inner),
            (Flavor::Time(time), Selected::Arm(_)) => time.recv(None, site).map_err(|_| RecvError),
        }
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            Selected::Real(operation) => operation.fmt(f),
            Selected::Arm(_) => f.pad("SelectedOperation { .. }"),
        }
    }
}
