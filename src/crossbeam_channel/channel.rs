use std::any::type_name;
use std::fmt;
use std::iter::FusedIterator;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

use ::crossbeam_channel::{
    self as real, RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError,
    TrySendError,
};

use super::timer::Time;
use crate::record::channel::{Channel, Envelope, Parcel, Transfer};
use crate::record::{
    self, Intent, Kind, Pen, What, is_controlled, left_until, outside, step, untracked,
};

/// [`crossbeam_channel::Sender`](real::Sender), tracked.
pub struct Sender<T> {
    pub(crate) channel: Channel,
    pub(super) inner: real::Sender<Envelope<T>>,
}

/// [`crossbeam_channel::Receiver`](real::Receiver), tracked.
pub struct Receiver<T> {
    pub(super) flavor: Flavor<T>,
}

/// Where a receiver's messages come from.
pub(super) enum Flavor<T> {
    Strands(Channel, real::Receiver<Envelope<T>>),
    /// From the clock, or never: nobody has sent them.
    Time(Time<T>),
}

/// [`crossbeam_channel::Iter`](real::Iter), tracked.
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// [`crossbeam_channel::TryIter`](real::TryIter), tracked.
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// [`crossbeam_channel::IntoIter`](real::IntoIter), tracked.
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

#[track_caller]
fn ends<T>(
    (sender, receiver): (real::Sender<Envelope<T>>, real::Receiver<Envelope<T>>),
) -> (Sender<T>, Receiver<T>) {
    let transfer = Transfer::of(sender.capacity());
    let channel = Channel::new(type_name::<Sender<T>>, transfer);
    (
        Sender {
            channel: channel.clone(),
            inner: sender,
        },
        Receiver {
            flavor: Flavor::Strands(channel, receiver),
        },
    )
}

/// As crossbeam's; remembers where it was called.
#[track_caller]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ends(real::unbounded())
}

/// As crossbeam's; remembers where it was called.
#[track_caller]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    ends(real::bounded(cap))
}

/// As crossbeam's; its message orders nothing.
pub fn after(duration: Duration) -> Receiver<Instant> {
    Receiver {
        flavor: Flavor::Time(Time::after(real::after(duration), duration, None)),
    }
}

/// As crossbeam's; its message orders nothing.
pub fn at(when: Instant) -> Receiver<Instant> {
    Receiver {
        flavor: Flavor::Time(Time::due(real::at(when), || Some(when), None)),
    }
}

/// As crossbeam's.
pub const fn never<T>() -> Receiver<T> {
    Receiver {
        flavor: Flavor::Time(Time::never()),
    }
}

/// As crossbeam's; its messages order nothing.
pub fn tick(duration: Duration) -> Receiver<Instant> {
    Receiver {
        flavor: Flavor::Time(Time::after(real::tick(duration), duration, Some(duration))),
    }
}

// As crossbeam's: what panics while it has an end of a channel leaves no message half there.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

/// Puts what was refused back into its parcel.
fn refused<T>(parcel: &mut Parcel<T>, error: TrySendError<Envelope<T>>) -> TrySendError<()> {
    match error {
        TrySendError::Full(envelope) => {
            parcel.put_back(envelope);
            TrySendError::Full(())
        }
        TrySendError::Disconnected(envelope) => {
            parcel.put_back(envelope);
            TrySendError::Disconnected(())
        }
    }
}

/// Puts what came too late back into its parcel.
fn late<T>(parcel: &mut Parcel<T>, error: SendTimeoutError<Envelope<T>>) -> SendTimeoutError<()> {
    match error {
        SendTimeoutError::Timeout(envelope) => {
            parcel.put_back(envelope);
            SendTimeoutError::Timeout(())
        }
        SendTimeoutError::Disconnected(envelope) => {
            parcel.put_back(envelope);
            SendTimeoutError::Disconnected(())
        }
    }
}

impl<T> Sender<T> {
    /// What it is to send.
    #[inline(always)]
    pub(super) fn intent(&self, site: &'static Location<'static>) -> Intent<'_> {
        self.channel.intent(Kind::Send, site)
    }

    /// Whether a send would not wait.
    pub(super) fn is_ready(&self) -> bool {
        self.reserve(|select| select.try_ready().is_ok())
    }

    /// Whether a place in the channel is taken before the message is there. Getting one can wait
    /// for a receiver that has not read yet what was there before, so it must not be done together
    /// with the message's record.
    fn has_slots(&self) -> bool {
        self.inner.capacity().is_some_and(|capacity| capacity > 0)
    }

    /// Looks for a place, as `how` says.
    fn reserve<'a, R>(&'a self, how: impl FnOnce(&mut real::Select<'a>) -> R) -> R {
        untracked(|| {
            let mut select = real::Select::new();
            select.send(&self.inner);
            how(&mut select)
        })
    }

    /// Puts the message into its place.
    pub(super) fn complete(
        &self,
        pen: Option<Pen>,
        site: &'static Location<'static>,
        operation: real::SelectedOperation<'_>,
        msg: T,
    ) -> Result<(), SendError<T>> {
        let mut parcel = Parcel::new(msg);
        let send = |parcel: &mut Parcel<T>| match operation.send(&self.inner, parcel.take()) {
            Ok(()) => Ok(()),
            Err(SendError(envelope)) => {
                parcel.put_back(envelope);
                Err(())
            }
        };
        match pen {
            Some(pen) => self.channel.send(pen, site, &mut parcel, send),
            None => send(&mut parcel),
        }
        .map_err(|()| SendError(parcel.refused()))
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn try_send(&self, msg: T) -> Result<(), TrySendError<T>> {
        let site = Location::caller();
        let pen = step(move || self.intent(site));
        if let Some(pen) = pen.filter(|_| self.has_slots()) {
            let reserve = || self.reserve(|select| select.try_select());
            return match self.channel.attempt(Some(pen), site, reserve) {
                Ok(operation) => self
                    .complete(Some(pen), site, operation, msg)
                    .map_err(TrySendError::from),
                Err(_) => Err(TrySendError::Full(msg)),
            };
        }
        let mut parcel = Parcel::new(msg);
        let send = |parcel: &mut Parcel<T>| {
            let sent = self.inner.try_send(parcel.take());
            sent.map_err(|error| refused(parcel, error))
        };
        match pen {
            Some(pen) => self.channel.send(pen, site, &mut parcel, send),
            None => send(&mut parcel),
        }
        .map_err(|error| match error {
            TrySendError::Full(()) => TrySendError::Full(parcel.refused()),
            TrySendError::Disconnected(()) => TrySendError::Disconnected(parcel.refused()),
        })
    }

    pub(super) fn send_until(
        &self,
        site: &'static Location<'static>,
        msg: T,
        deadline: Option<Instant>,
    ) -> Result<(), SendTimeoutError<T>> {
        if self.has_slots() {
            if let Some(pen) = record::pen() {
                return self.send_into_slot(pen, site, msg, deadline);
            }
        }
        let pen = step(move || self.intent(site));
        let mut parcel = Parcel::new(msg);
        let try_send = |parcel: &mut Parcel<T>| {
            let sent = self.inner.try_send(parcel.take());
            sent.map_err(|error| refused(parcel, error))
        };
        let wait = |parcel: &mut Parcel<T>| {
            let sent = match deadline {
                Some(deadline) => self.inner.send_deadline(parcel.take(), deadline),
                None => self
                    .inner
                    .send(parcel.take())
                    .map_err(SendTimeoutError::from),
            };
            sent.map_err(|error| late(parcel, error))
        };
        match pen {
            Some(pen) => self
                .channel
                .send_or_wait(pen, site, &mut parcel, try_send, wait),
            None => wait(&mut parcel),
        }
        .map_err(|error| match error {
            SendTimeoutError::Timeout(()) => SendTimeoutError::Timeout(parcel.refused()),
            SendTimeoutError::Disconnected(()) => SendTimeoutError::Disconnected(parcel.refused()),
        })
    }

    /// Finds a place in a buffer with slots first, and then puts the message there.
    fn send_into_slot(
        &self,
        pen: Pen,
        site: &'static Location<'static>,
        msg: T,
        deadline: Option<Instant>,
    ) -> Result<(), SendTimeoutError<T>> {
        let is_late = is_controlled() && !self.waits_in_turn(pen, site, deadline);
        let place = self.reserve(|select| select.try_select().ok());
        let place = place.or_else(|| {
            if is_late {
                return None;
            }
            pen.split(site);
            self.reserve(|select| match deadline {
                Some(deadline) => select.select_deadline(deadline).ok(),
                None => Some(select.select()),
            })
        });
        match place {
            Some(operation) => self
                .complete(Some(pen), site, operation, msg)
                .map_err(SendTimeoutError::from),
            None => Err(SendTimeoutError::Timeout(msg)),
        }
    }

    /// Waits under control until there is a place, in a new transaction if there is none at once.
    /// False where the time is up.
    #[cold]
    fn waits_in_turn(
        &self,
        pen: Pen,
        site: &'static Location<'static>,
        deadline: Option<Instant>,
    ) -> bool {
        if !self.is_ready() {
            pen.split(site);
        }
        let limit = deadline.map(left_until);
        let (_, left) = record::wait_for(move || self.intent(site), limit, || self.is_ready());
        left != Some(Duration::ZERO)
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn send(&self, msg: T) -> Result<(), SendError<T>> {
        self.send_until(Location::caller(), msg, None)
            .map_err(|error| SendError(error.into_inner()))
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn send_timeout(&self, msg: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.send_until(Location::caller(), msg, record::now().checked_add(timeout))
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn send_deadline(&self, msg: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_until(Location::caller(), msg, Some(deadline))
    }

    /// Looks at the channel's state; at a rendezvous it is always the same.
    #[track_caller]
    fn look<R>(&self, read: impl Fn(&real::Sender<Envelope<T>>) -> R) -> R {
        look(&self.channel, Location::caller(), || read(&self.inner))
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.look(real::Sender::is_empty)
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn is_full(&self) -> bool {
        self.look(real::Sender::is_full)
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn len(&self) -> usize {
        self.look(real::Sender::len)
    }

    /// As crossbeam's.
    pub fn capacity(&self) -> Option<usize> {
        self.inner.capacity()
    }

    /// As crossbeam's.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        self.inner.same_channel(&other.inner)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender {
            channel: self.channel.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// The same call of whichever real receiver it is.
macro_rules! either {
    ($flavor:expr, $receiver:pat => $call:expr) => {
        match $flavor {
            Flavor::Strands(_, $receiver) => $call,
            Flavor::Time(Time {
                inner: $receiver, ..
            }) => $call,
        }
    };
}

/// Whether a receive would not wait. Unlike the length, that knows who is disconnected.
fn is_ready<T>(inner: &real::Receiver<T>) -> bool {
    untracked(|| {
        let mut select = real::Select::new();
        select.recv(inner);
        select.try_ready().is_ok()
    })
}

/// What a try comes to; nothing where it was in vain.
fn tried<T>(inner: &real::Receiver<Envelope<T>>) -> Option<Result<Envelope<T>, RecvTimeoutError>> {
    match inner.try_recv() {
        Ok(envelope) => Some(Ok(envelope)),
        Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
        Err(TryRecvError::Empty) => None,
    }
}

/// Looks at a channel's state; at a rendezvous it is always the same.
#[inline]
fn look<R>(channel: &Channel, site: &'static Location<'static>, read: impl Fn() -> R) -> R {
    match channel.transfer() {
        Transfer::Buffer => channel.look(What::Read, site, read),
        Transfer::Rendezvous => read(),
    }
}

impl<T> Receiver<T> {
    /// What it is to receive, `kind`, or to look.
    pub(super) fn intent(&self, kind: Kind, site: &'static Location<'static>) -> Intent<'_> {
        match &self.flavor {
            Flavor::Strands(channel, _) => channel.intent(kind, site),
            Flavor::Time(_) => Intent::bare(Kind::Sleep, site),
        }
    }

    /// Whether a receive would not wait.
    pub(super) fn is_ready(&self) -> bool {
        match &self.flavor {
            Flavor::Strands(_, inner) => is_ready(inner),
            Flavor::Time(time) => time.is_ready(),
        }
    }

    /// Receives what was selected under control.
    pub(super) fn recv_in_turn(
        &self,
        channel: &Channel,
        inner: &real::Receiver<Envelope<T>>,
        site: &'static Location<'static>,
    ) -> Result<Envelope<T>, RecvError> {
        record::wait(
            move || channel.intent(Kind::Receive, site),
            || is_ready(inner),
        );
        match untracked(|| tried(inner)) {
            Some(received) => received.map_err(|_| RecvError),
            None => outside(|| untracked(|| inner.recv())),
        }
    }

    /// What is tracked of the channel.
    pub(crate) fn channel(&self) -> Option<&Channel> {
        match &self.flavor {
            Flavor::Strands(channel, _) => Some(channel),
            Flavor::Time(_) => None,
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let site = Location::caller();
        match &self.flavor {
            Flavor::Strands(channel, inner) => {
                let pen = step(move || channel.intent(Kind::Receive, site));
                channel
                    .attempt(pen, site, || inner.try_recv())
                    .map(|envelope| envelope.open_from(channel, pen, site))
            }
            Flavor::Time(time) => time.try_recv(site),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let site = Location::caller();
        match &self.flavor {
            Flavor::Strands(channel, inner) => {
                let (pen, received) = channel.receive(
                    site,
                    || None,
                    || is_ready(inner),
                    || tried(inner).map(|result| result.map_err(|_| RecvError)),
                    |_| inner.recv(),
                );
                received.map(|envelope| envelope.open_awaited(channel, pen, site))
            }
            Flavor::Time(time) => time.recv(None, site).map_err(|_| RecvError),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match record::now().checked_add(timeout) {
            Some(deadline) => self.recv_deadline(deadline),
            None => self.recv().map_err(RecvTimeoutError::from),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let site = Location::caller();
        match &self.flavor {
            Flavor::Strands(channel, inner) => {
                let (pen, received) = channel.receive(
                    site,
                    || Some(left_until(deadline)),
                    || is_ready(inner),
                    || tried(inner),
                    |left| match left {
                        Some(left) => inner.recv_timeout(left),
                        None => inner.recv_deadline(deadline),
                    },
                );
                received
                    .or_else(|error| match error {
                        // What has come since then is not too late; and that nothing has is to be
                        // recorded.
                        RecvTimeoutError::Timeout => channel
                            .attempt(pen, site, || inner.try_recv())
                            .map_err(|error| match error {
                                TryRecvError::Empty => RecvTimeoutError::Timeout,
                                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                            }),
                        RecvTimeoutError::Disconnected => Err(error),
                    })
                    .map(|envelope| envelope.open_awaited(channel, pen, site))
            }
            Flavor::Time(time) => time.recv(Some(deadline), site),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        let site = Location::caller();
        match &self.flavor {
            Flavor::Strands(channel, inner) => look(channel, site, || inner.is_empty()),
            Flavor::Time(time) => time.look(site, real::Receiver::is_empty, |ready| !ready),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn is_full(&self) -> bool {
        let site = Location::caller();
        match &self.flavor {
            Flavor::Strands(channel, inner) => look(channel, site, || inner.is_full()),
            Flavor::Time(time) => time.look(site, real::Receiver::is_full, |ready| ready),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn len(&self) -> usize {
        let site = Location::caller();
        match &self.flavor {
            Flavor::Strands(channel, inner) => look(channel, site, || inner.len()),
            Flavor::Time(time) => time.look(site, real::Receiver::len, usize::from),
        }
    }

    /// As crossbeam's.
    pub fn capacity(&self) -> Option<usize> {
        either!(&self.flavor, inner => inner.capacity())
    }

    /// As crossbeam's.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// As crossbeam's.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }

    /// As crossbeam's.
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        match (&self.flavor, &other.flavor) {
            (Flavor::Strands(_, this), Flavor::Strands(_, other)) => this.same_channel(other),
            (Flavor::Time(this), Flavor::Time(other)) => this.inner.same_channel(&other.inner),
            _ => false,
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver {
            flavor: match &self.flavor {
                Flavor::Strands(channel, inner) => Flavor::Strands(channel.clone(), inner.clone()),
                Flavor::Time(inner) => Flavor::Time(inner.clone()),
            },
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        either!(&self.flavor, inner => inner.fmt(f))
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter { receiver: self }
    }
}

impl<T> FusedIterator for Iter<'_, T> {}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Iter { .. }")
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> fmt::Debug for TryIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("TryIter { .. }")
    }
}

impl<T> FusedIterator for IntoIter<T> {}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("IntoIter { .. }")
    }
}
