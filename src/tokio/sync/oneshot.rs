//! `tokio::sync::oneshot`, tracked: a channel of one message.

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use ::tokio::sync::oneshot::error;

use ::tokio::sync::oneshot as original;

use super::wait::{Awaited, try_receive};
use crate::record::channel::{Channel, Envelope, Parcel};
use crate::record::{What, pen};

/// See [`tokio::sync::oneshot::Sender`](original::Sender).
pub struct Sender<T> {
    channel: Channel,
    inner: original::Sender<Envelope<T>>,
}

/// See [`tokio::sync::oneshot::Receiver`](original::Receiver).
pub struct Receiver<T> {
    channel: Channel,
    inner: original::Receiver<Envelope<T>>,
    made: &'static Location<'static>,
    has_waited: bool,
}

/// See [`tokio::sync::oneshot::channel`](original::channel).
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Channel::new(type_name::<Sender<T>>);
    let (sender, receiver) = original::channel();
    let receiver = Receiver {
        channel: channel.clone(),
        inner: receiver,
        made: Location::caller(),
        has_waited: false,
    };
    let inner = sender;
    (Sender { channel, inner }, receiver)
}

impl<T> Sender<T> {
    /// See [`tokio::sync::oneshot::Sender::send`](original::Sender::send).
    ///
    /// # Errors
    ///
    /// The value, where there is no receiver.
    #[track_caller]
    pub fn send(self, t: T) -> Result<(), T> {
        let Self { channel, inner } = self;
        let mut parcel = Parcel::new(t);
        let send = |parcel: &mut Parcel<T>| {
            inner
                .send(parcel.take())
                .map_err(|envelope| parcel.put_back(envelope))
        };
        match pen() {
            Some(pen) => channel.send_unbounded(pen, Location::caller(), &mut parcel, send),
            None => send(&mut parcel),
        }
        .map_err(|()| parcel.refused())
    }

    /// See [`tokio::sync::oneshot::Sender::closed`](original::Sender::closed). A wait.
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> {
        Awaited::new(self.inner.closed(), None, Location::caller())
    }

    /// See [`tokio::sync::oneshot::Sender::is_closed`](original::Sender::is_closed).
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let is_closed = || self.inner.is_closed();
        self.channel.look(What::Read, Location::caller(), is_closed)
    }

    /// See [`tokio::sync::oneshot::Sender::poll_closed`](original::Sender::poll_closed).
    pub fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.inner.poll_closed(context)
    }
}

impl<T> Receiver<T> {
    /// See [`tokio::sync::oneshot::Receiver::close`](original::Receiver::close). A write.
    #[track_caller]
    pub fn close(&mut self) {
        let Self { channel, inner, .. } = self;
        match pen() {
            Some(pen) => {
                pen.atomic(channel, Location::caller(), || (inner.close(), What::Write));
            }
            None => inner.close(),
        }
    }

    /// See [`tokio::sync::oneshot::Receiver::is_terminated`](original::Receiver::is_terminated).
    pub fn is_terminated(&self) -> bool {
        self.inner.is_terminated()
    }

    /// See [`tokio::sync::oneshot::Receiver::is_empty`](original::Receiver::is_empty).
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        let is_empty = || self.inner.is_empty();
        self.channel.look(What::Read, Location::caller(), is_empty)
    }

    /// See [`tokio::sync::oneshot::Receiver::try_recv`](original::Receiver::try_recv).
    ///
    /// # Errors
    ///
    /// As tokio's: where nothing was sent, or nothing will be.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, error::TryRecvError> {
        let inner = &mut self.inner;
        try_receive(&self.channel, Location::caller(), || inner.try_recv())
    }

    /// See [`tokio::sync::oneshot::Receiver::blocking_recv`](original::Receiver::blocking_recv).
    ///
    /// # Errors
    ///
    /// As tokio's: where the sender is gone.
    ///
    /// # Panics
    ///
    /// As tokio's: within an asynchronous context.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, error::RecvError> {
        let (site, pen) = (Location::caller(), pen());
        if let Some(pen) = pen {
            pen.split(site);
        }
        let envelope = self.inner.blocking_recv()?;
        Ok(envelope.open_from(&self.channel, pen, site))
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = Pin::new(&mut self.inner).poll(context);
        let (pen, site) = (pen(), self.made);
        let is_wait = result.is_pending() || self.has_waited;
        if let (true, Some(pen)) = (is_wait, pen) {
            pen.split(site);
        }
        self.has_waited = true;
        result.map(|received| received.map(|envelope| envelope.open_from(&self.channel, pen, site)))
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
