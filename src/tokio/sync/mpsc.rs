//! `tokio::sync::mpsc`, tracked.

use std::any::type_name;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::{Context, Poll};
use std::time::Duration;

use ::tokio::sync::mpsc as original;
pub use ::tokio::sync::mpsc::error;

use self::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::wait::{Awaited, try_receive};
use crate::record::channel::{Channel, Envelope, Parcel, Transfer};
use crate::record::{What, pen};

/// See [`tokio::sync::mpsc::channel`](original::channel).
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Channel::new(type_name::<Sender<T>>);
    let (sender, receiver) = original::channel(buffer);
    let receiver = Receiver {
        channel: channel.clone(),
        inner: receiver,
    };
    let inner = sender;
    (Sender { channel, inner }, receiver)
}

/// See [`tokio::sync::mpsc::unbounded_channel`](original::unbounded_channel).
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let channel = Channel::new(type_name::<UnboundedSender<T>>);
    let (sender, receiver) = original::unbounded_channel();
    let receiver = UnboundedReceiver {
        channel: channel.clone(),
        inner: receiver,
    };
    let inner = sender;
    (UnboundedSender { channel, inner }, receiver)
}

/// Puts a message where there is a place for it.
fn put<T>(
    channel: &Channel,
    value: T,
    site: &'static Location<'static>,
    put: impl FnOnce(Envelope<T>),
) {
    let mut parcel = Parcel::new(value);
    let send = |parcel: &mut Parcel<T>| {
        put(parcel.take());
        Ok::<(), Infallible>(())
    };
    let Ok(()) = match pen() {
        Some(pen) => channel.send_unbounded(pen, site, &mut parcel, send),
        None => send(&mut parcel),
    };
}

/// What both kinds of ends have.
macro_rules! ends {
    ($($Sender:ident, $Weak:ident, $Receiver:ident;)*) => {$(
        #[doc = concat!("See [`tokio::sync::mpsc::", stringify!($Sender), "`](original::", stringify!($Sender), ").")]
        pub struct $Sender<T> {
            channel: Channel,
            inner: original::$Sender<Envelope<T>>,
        }

        #[doc = concat!("See [`tokio::sync::mpsc::", stringify!($Weak), "`](original::", stringify!($Weak), ").")]
        pub struct $Weak<T> {
            channel: Channel,
            inner: original::$Weak<Envelope<T>>,
        }

        #[doc = concat!("See [`tokio::sync::mpsc::", stringify!($Receiver), "`](original::", stringify!($Receiver), ").")]
        pub struct $Receiver<T> {
            channel: Channel,
            inner: original::$Receiver<Envelope<T>>,
        }

        impl<T> $Sender<T> {
            /// See tokio's. A wait.
            #[track_caller]
            pub fn closed(&self) -> impl Future<Output = ()> {
                Awaited::new(self.inner.closed(), None, Location::caller())
            }

            /// See tokio's. A read.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                let is_closed = || self.inner.is_closed();
                self.channel.look(What::Read, Location::caller(), is_closed)
            }

            /// See tokio's.
            pub fn same_channel(&self, other: &Self) -> bool {
                self.inner.same_channel(&other.inner)
            }

            /// See tokio's.
            #[must_use = "Downgrade creates a WeakSender without destroying the original non-weak sender."]
            pub fn downgrade(&self) -> $Weak<T> {
                $Weak {
                    channel: self.channel.clone(),
                    inner: self.inner.downgrade(),
                }
            }

            /// See tokio's.
            pub fn strong_count(&self) -> usize {
                self.inner.strong_count()
            }

            /// See tokio's.
            pub fn weak_count(&self) -> usize {
                self.inner.weak_count()
            }
        }

        impl<T> Clone for $Sender<T> {
            fn clone(&self) -> Self {
                Self {
                    channel: self.channel.clone(),
                    inner: self.inner.clone(),
                }
            }
        }

        impl<T> fmt::Debug for $Sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Sender)).finish_non_exhaustive()
            }
        }

        impl<T> $Weak<T> {
            /// See tokio's.
            pub fn upgrade(&self) -> Option<$Sender<T>> {
                let inner = self.inner.upgrade()?;
                let channel = self.channel.clone();
                Some($Sender { channel, inner })
            }

            /// See tokio's.
            pub fn strong_count(&self) -> usize {
                self.inner.strong_count()
            }

            /// See tokio's.
            pub fn weak_count(&self) -> usize {
                self.inner.weak_count()
            }
        }

        impl<T> Clone for $Weak<T> {
            fn clone(&self) -> Self {
                Self {
                    channel: self.channel.clone(),
                    inner: self.inner.clone(),
                }
            }
        }

        impl<T> fmt::Debug for $Weak<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Weak)).finish_non_exhaustive()
            }
        }

        impl<T> $Receiver<T> {
            /// See tokio's. To wait for a message ends the transaction.
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
                let (site, mut has_waited) = (Location::caller(), false);
                poll_fn(move |context| {
                    let result = self.inner.poll_recv(context);
                    self.received(result, has_waited.replace(), site)
                })
            }

            /// See tokio's.
            #[track_caller]
            pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
                let result = self.inner.poll_recv(context);
                self.received(result, false, Location::caller())
            }

            /// What a poll has given, which may be the end of a wait.
            fn received(
                &self,
                result: Poll<Option<Envelope<T>>>,
                has_waited: bool,
                site: &'static Location<'static>,
            ) -> Poll<Option<T>> {
                let pen = pen();
                if let (true, Some(pen)) = (has_waited || result.is_pending(), pen) {
                    pen.split(site);
                }
                let open = |envelope: Envelope<T>| envelope.open_from(&self.channel, pen, site);
                result.map(|message| message.map(open))
            }

            /// See tokio's. To wait for a message ends the transaction.
            #[track_caller]
            pub fn recv_many(
                &mut self,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> impl Future<Output = usize> {
                let (site, mut has_waited) = (Location::caller(), false);
                poll_fn(move |context| {
                    self.poll_many(context, buffer, limit, has_waited.replace(), site)
                })
            }

            /// See tokio's.
            #[track_caller]
            pub fn poll_recv_many(
                &mut self,
                context: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                self.poll_many(context, buffer, limit, false, Location::caller())
            }

            fn poll_many(
                &mut self,
                context: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
                has_waited: bool,
                site: &'static Location<'static>,
            ) -> Poll<usize> {
                let mut envelopes = Vec::new();
                let result = self.inner.poll_recv_many(context, &mut envelopes, limit);
                let pen = pen();
                if let (true, Some(pen)) = (has_waited || result.is_pending(), pen) {
                    pen.split(site);
                }
                let open = |envelope: Envelope<T>| envelope.open_from(&self.channel, pen, site);
                buffer.extend(envelopes.into_iter().map(open));
                result
            }

            /// See tokio's.
            ///
            /// # Errors
            ///
            /// As tokio's: where there is no message.
            #[track_caller]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                let inner = &mut self.inner;
                try_receive(&self.channel, Location::caller(), || inner.try_recv())
            }

            /// See tokio's. A wait.
            ///
            /// # Panics
            ///
            /// As tokio's: within an asynchronous context.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                let (site, pen) = (Location::caller(), pen());
                if let Some(pen) = pen {
                    pen.split(site);
                }
                let envelope = self.inner.blocking_recv()?;
                Some(envelope.open_from(&self.channel, pen, site))
            }

            /// See tokio's. A wait.
            ///
            /// # Panics
            ///
            /// As tokio's: within an asynchronous context.
            #[track_caller]
            pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                let (site, pen) = (Location::caller(), pen());
                if let Some(pen) = pen {
                    pen.split(site);
                }
                let mut envelopes = Vec::new();
                let count = self.inner.blocking_recv_many(&mut envelopes, limit);
                let open = |envelope: Envelope<T>| envelope.open_from(&self.channel, pen, site);
                buffer.extend(envelopes.into_iter().map(open));
                count
            }

            /// See tokio's. A write.
            #[track_caller]
            pub fn close(&mut self) {
                let Self { channel, inner } = self;
                match pen() {
                    Some(pen) => {
                        pen.atomic(channel, Location::caller(), || (inner.close(), What::Write));
                    }
                    None => inner.close(),
                }
            }

            /// See tokio's. A read.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                let is_closed = || self.inner.is_closed();
                self.channel.look(What::Read, Location::caller(), is_closed)
            }

            /// See tokio's. A read.
            #[track_caller]
            pub fn is_empty(&self) -> bool {
                let is_empty = || self.inner.is_empty();
                self.channel.look(What::Read, Location::caller(), is_empty)
            }

            /// See tokio's. A read.
            #[track_caller]
            pub fn len(&self) -> usize {
                let len = || self.inner.len();
                self.channel.look(What::Read, Location::caller(), len)
            }

            /// See tokio's.
            pub fn sender_strong_count(&self) -> usize {
                self.inner.sender_strong_count()
            }

            /// See tokio's.
            pub fn sender_weak_count(&self) -> usize {
                self.inner.sender_weak_count()
            }
        }

        impl<T> fmt::Debug for $Receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Receiver)).finish_non_exhaustive()
            }
        }
    )*};
}

ends! {
    Sender, WeakSender, Receiver;
    UnboundedSender, WeakUnboundedSender, UnboundedReceiver;
}

/// Whether a future was polled before.
trait Replace {
    fn replace(&mut self) -> bool;
}

impl Replace for bool {
    fn replace(&mut self) -> bool {
        std::mem::replace(self, true)
    }
}

impl<T> UnboundedSender<T> {
    /// See [`tokio::sync::mpsc::UnboundedSender::send`](original::UnboundedSender::send).
    ///
    /// # Errors
    ///
    /// The message, where there is no receiver.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut parcel = Parcel::new(message);
        let send = |parcel: &mut Parcel<T>| {
            let sent = self.inner.send(parcel.take());
            sent.map_err(|SendError(envelope)| parcel.put_back(envelope))
        };
        match pen() {
            Some(pen) => self
                .channel
                .send_unbounded(pen, Location::caller(), &mut parcel, send),
            None => send(&mut parcel),
        }
        .map_err(|()| SendError(parcel.refused()))
    }
}

/// See [`tokio::sync::mpsc::Permit`](original::Permit).
pub struct Permit<'a, T> {
    channel: &'a Channel,
    inner: original::Permit<'a, Envelope<T>>,
}

/// See [`tokio::sync::mpsc::PermitIterator`](original::PermitIterator).
pub struct PermitIterator<'a, T> {
    channel: &'a Channel,
    inner: original::PermitIterator<'a, Envelope<T>>,
}

/// See [`tokio::sync::mpsc::OwnedPermit`](original::OwnedPermit).
pub struct OwnedPermit<T> {
    channel: Channel,
    inner: original::OwnedPermit<Envelope<T>>,
}

impl<T> Sender<T> {
    /// See [`tokio::sync::mpsc::Sender::send`](original::Sender::send). To wait for room ends the
    /// transaction.
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> {
        let site = Location::caller();
        async move {
            match Awaited::if_pending(self.inner.reserve(), site).await {
                Ok(permit) => put(&self.channel, value, site, |it| permit.send(it)),
                Err(SendError(())) => return Err(SendError(value)),
            }
            Ok(())
        }
    }

    /// See [`tokio::sync::mpsc::Sender::send_timeout`](original::Sender::send_timeout). To wait for
    /// room ends the transaction.
    #[track_caller]
    pub fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> {
        let site = Location::caller();
        async move {
            let reserve = ::tokio::time::timeout(timeout, self.inner.reserve());
            match Awaited::if_pending(reserve, site).await {
                Ok(Ok(permit)) => put(&self.channel, value, site, |it| permit.send(it)),
                Ok(Err(SendError(()))) => return Err(SendTimeoutError::Closed(value)),
                Err(_) => return Err(SendTimeoutError::Timeout(value)),
            }
            Ok(())
        }
    }

    /// See [`tokio::sync::mpsc::Sender::try_send`](original::Sender::try_send).
    ///
    /// # Errors
    ///
    /// The message, where there is no room, or no receiver.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut parcel = Parcel::new(message);
        let send = |parcel: &mut Parcel<T>| self.try_put(parcel);
        match pen() {
            Some(pen) => {
                let site = Location::caller();
                self.channel
                    .send(pen, site, Transfer::Buffer, &mut parcel, send)
            }
            None => send(&mut parcel),
        }
        .map_err(|error| match error {
            TrySendError::Full(()) => TrySendError::Full(parcel.refused()),
            TrySendError::Closed(()) => TrySendError::Closed(parcel.refused()),
        })
    }

    /// Puts it into the real channel, where there is room.
    fn try_put(&self, parcel: &mut Parcel<T>) -> Result<(), TrySendError<()>> {
        self.inner
            .try_send(parcel.take())
            .map_err(|error| match error {
                TrySendError::Full(envelope) => {
                    parcel.put_back(envelope);
                    TrySendError::Full(())
                }
                TrySendError::Closed(envelope) => {
                    parcel.put_back(envelope);
                    TrySendError::Closed(())
                }
            })
    }

    /// See [`tokio::sync::mpsc::Sender::blocking_send`](original::Sender::blocking_send). To wait for
    /// room ends the transaction.
    ///
    /// # Errors
    ///
    /// The message, where there is no receiver.
    ///
    /// # Panics
    ///
    /// As tokio's: within an asynchronous context.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        use crossbeam_channel::{SendTimeoutError as Refused, TrySendError as Try};
        let mut parcel = Parcel::new(value);
        let try_send = |parcel: &mut Parcel<T>| {
            self.try_put(parcel).map_err(|error| match error {
                TrySendError::Full(()) => Try::Full(()),
                TrySendError::Closed(()) => Try::Disconnected(()),
            })
        };
        let wait = |parcel: &mut Parcel<T>| {
            let sent = self.inner.blocking_send(parcel.take());
            sent.map_err(|SendError(envelope)| {
                parcel.put_back(envelope);
                Refused::Disconnected(())
            })
        };
        match pen() {
            Some(pen) => {
                let site = Location::caller();
                self.channel
                    .send_or_wait(pen, site, Transfer::Buffer, &mut parcel, try_send, wait)
            }
            None => wait(&mut parcel),
        }
        .map_err(|_| SendError(parcel.refused()))
    }

    /// See [`tokio::sync::mpsc::Sender::reserve`](original::Sender::reserve). To wait for room ends
    /// the transaction.
    #[track_caller]
    pub fn reserve(&self) -> impl Future<Output = Result<Permit<'_, T>, SendError<()>>> {
        let site = Location::caller();
        async move {
            let inner = Awaited::if_pending(self.inner.reserve(), site).await?;
            let channel = &self.channel;
            Ok(Permit { channel, inner })
        }
    }

    /// See [`tokio::sync::mpsc::Sender::reserve_many`](original::Sender::reserve_many), and
    /// [`reserve`](Self::reserve).
    #[track_caller]
    pub fn reserve_many(
        &self,
        n: usize,
    ) -> impl Future<Output = Result<PermitIterator<'_, T>, SendError<()>>> {
        let site = Location::caller();
        async move {
            let inner = Awaited::if_pending(self.inner.reserve_many(n), site).await?;
            let channel = &self.channel;
            Ok(PermitIterator { channel, inner })
        }
    }

    /// See [`tokio::sync::mpsc::Sender::reserve_owned`](original::Sender::reserve_owned), and
    /// [`reserve`](Self::reserve).
    #[track_caller]
    pub fn reserve_owned(self) -> impl Future<Output = Result<OwnedPermit<T>, SendError<()>>> {
        let site = Location::caller();
        async move {
            let Self { channel, inner } = self;
            let inner = Awaited::if_pending(inner.reserve_owned(), site).await?;
            Ok(OwnedPermit { channel, inner })
        }
    }

    /// See [`tokio::sync::mpsc::Sender::try_reserve`](original::Sender::try_reserve).
    ///
    /// # Errors
    ///
    /// As tokio's: where there is no room, or no receiver.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        let inner = self.inner.try_reserve()?;
        let channel = &self.channel;
        Ok(Permit { channel, inner })
    }

    /// See [`tokio::sync::mpsc::Sender::try_reserve_many`](original::Sender::try_reserve_many).
    ///
    /// # Errors
    ///
    /// As tokio's: where there is no room, or no receiver.
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        let inner = self.inner.try_reserve_many(n)?;
        let channel = &self.channel;
        Ok(PermitIterator { channel, inner })
    }

    /// See [`tokio::sync::mpsc::Sender::try_reserve_owned`](original::Sender::try_reserve_owned).
    ///
    /// # Errors
    ///
    /// The sender, where there is no room, or no receiver.
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        let Self { channel, inner } = self;
        match inner.try_reserve_owned() {
            Ok(inner) => Ok(OwnedPermit { channel, inner }),
            Err(TrySendError::Full(inner)) => Err(TrySendError::Full(Self { channel, inner })),
            Err(TrySendError::Closed(inner)) => Err(TrySendError::Closed(Self { channel, inner })),
        }
    }

    /// See [`tokio::sync::mpsc::Sender::capacity`](original::Sender::capacity). A read.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        let capacity = || self.inner.capacity();
        self.channel.look(What::Read, Location::caller(), capacity)
    }

    /// See [`tokio::sync::mpsc::Sender::max_capacity`](original::Sender::max_capacity).
    pub fn max_capacity(&self) -> usize {
        self.inner.max_capacity()
    }
}

impl<T> Receiver<T> {
    /// See [`tokio::sync::mpsc::Receiver::capacity`](original::Receiver::capacity). A read.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        let capacity = || self.inner.capacity();
        self.channel.look(What::Read, Location::caller(), capacity)
    }

    /// See [`tokio::sync::mpsc::Receiver::max_capacity`](original::Receiver::max_capacity).
    pub fn max_capacity(&self) -> usize {
        self.inner.max_capacity()
    }
}

impl<T> Permit<'_, T> {
    /// See [`tokio::sync::mpsc::Permit::send`](original::Permit::send).
    #[track_caller]
    pub fn send(self, value: T) {
        put(self.channel, value, Location::caller(), |it| {
            self.inner.send(it);
        });
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        let inner = self.inner.next()?;
        let channel = self.channel;
        Some(Permit { channel, inner })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.inner.size_hint()
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> std::iter::FusedIterator for PermitIterator<'_, T> {}

impl<T> OwnedPermit<T> {
    /// See [`tokio::sync::mpsc::OwnedPermit::send`](original::OwnedPermit::send).
    #[track_caller]
    pub fn send(self, value: T) -> Sender<T> {
        let Self { channel, inner } = self;
        let mut sender = None;
        put(&channel, value, Location::caller(), |it| {
            sender = Some(inner.send(it));
        });
        let inner = sender.expect("a message was put");
        Sender { channel, inner }
    }

    /// See [`tokio::sync::mpsc::OwnedPermit::release`](original::OwnedPermit::release).
    pub fn release(self) -> Sender<T> {
        let Self { channel, inner } = self;
        let inner = inner.release();
        Sender { channel, inner }
    }

    /// See [`tokio::sync::mpsc::OwnedPermit::same_channel`](original::OwnedPermit::same_channel).
    pub fn same_channel(&self, other: &Self) -> bool {
        self.inner.same_channel(&other.inner)
    }

    /// See [`tokio::sync::mpsc::OwnedPermit::same_channel_as_sender`](original::OwnedPermit::same_channel_as_sender).
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.inner.same_channel_as_sender(&sender.inner)
    }
}

/// Formatting shows nothing of what is inside.
macro_rules! opaque {
    ($($Permit:ident<$($of:tt),*>;)*) => {$(
        impl<T> fmt::Debug for $Permit<$($of),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Permit)).finish_non_exhaustive()
            }
        }
    )*};
}

opaque! {
    Permit<'_, T>;
    PermitIterator<'_, T>;
    OwnedPermit<T>;
}
