//! `tokio::sync::broadcast`, tracked.
//!
//! A message has several receivers, so it is a signal that its send gives and its receipts await.
//! Who has subscribed is an object of its own, which a send looks at.

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use ::tokio::sync::broadcast as original;
pub use ::tokio::sync::broadcast::error;

use self::error::{RecvError, SendError, TryRecvError};
use super::wait::{Awaited, Registry};
use crate::record::{Object, What, pen, untracked};
use crate::trace::ObjectKind;

/// What travels through the real channel.
#[derive(Clone)]
struct Message<T> {
    sent: Arc<Object>,
    payload: T,
}

impl<T> Message<T> {
    /// A message was received.
    fn open(self, site: &'static Location<'static>) -> T {
        if let Some(pen) = pen() {
            pen.event(What::Await, &self.sent, site);
        }
        self.payload
    }
}

/// See [`tokio::sync::broadcast::Sender`](original::Sender).
pub struct Sender<T> {
    subscribers: Arc<Registry>,
    inner: original::Sender<Message<T>>,
}

/// See [`tokio::sync::broadcast::WeakSender`](original::WeakSender).
pub struct WeakSender<T> {
    subscribers: Arc<Registry>,
    inner: original::WeakSender<Message<T>>,
}

/// See [`tokio::sync::broadcast::Receiver`](original::Receiver).
pub struct Receiver<T> {
    subscribers: Arc<Registry>,
    inner: original::Receiver<Message<T>>,
}

/// See [`tokio::sync::broadcast::channel`](original::channel()).
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let subscribers = Arc::new(Registry::new(type_name::<Sender<T>>));
    let (sender, receiver) = original::channel(capacity);
    let receiver = Receiver {
        subscribers: subscribers.clone(),
        inner: receiver,
    };
    let inner = sender;
    (Sender { subscribers, inner }, receiver)
}

impl<T> Sender<T> {
    /// See [`tokio::sync::broadcast::Sender::new`](original::Sender::new).
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self {
            subscribers: Arc::new(Registry::new(type_name::<Self>)),
            inner: original::Sender::new(capacity),
        }
    }

    /// See [`tokio::sync::broadcast::Sender::send`](original::Sender::send).
    ///
    /// # Errors
    ///
    /// The message, where there is no receiver.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let site = Location::caller();
        let sent = untracked(|| Arc::new(Object::new(ObjectKind::Signal, type_name::<Self>)));
        if let Some(pen) = pen() {
            pen.event(What::Signal, &sent, site);
        }
        let payload = value;
        let send = || self.inner.send(Message { sent, payload });
        let result = self.subscribers.tell(site, send);
        result.map_err(|SendError(message)| SendError(message.payload))
    }

    /// See [`tokio::sync::broadcast::Sender::subscribe`](original::Sender::subscribe). The
    /// transaction ends after it: what is sent from here on is received.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        let subscribe = || self.inner.subscribe();
        let inner = self.subscribers.enter(Location::caller(), subscribe);
        let subscribers = self.subscribers.clone();
        Receiver { subscribers, inner }
    }

    /// See [`tokio::sync::broadcast::Sender::downgrade`](original::Sender::downgrade).
    #[must_use = "Downgrade creates a WeakSender without destroying the original non-weak sender."]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            subscribers: self.subscribers.clone(),
            inner: self.inner.downgrade(),
        }
    }

    /// See [`tokio::sync::broadcast::Sender::len`](original::Sender::len). A read.
    #[track_caller]
    pub fn len(&self) -> usize {
        let len = || self.inner.len();
        self.subscribers.read(Location::caller(), len)
    }

    /// See [`tokio::sync::broadcast::Sender::is_empty`](original::Sender::is_empty). A read.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        let is_empty = || self.inner.is_empty();
        self.subscribers.read(Location::caller(), is_empty)
    }

    /// See [`tokio::sync::broadcast::Sender::receiver_count`](original::Sender::receiver_count). A
    /// read.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        let count = || self.inner.receiver_count();
        self.subscribers.read(Location::caller(), count)
    }

    /// See [`tokio::sync::broadcast::Sender::same_channel`](original::Sender::same_channel).
    pub fn same_channel(&self, other: &Self) -> bool {
        self.inner.same_channel(&other.inner)
    }

    /// See [`tokio::sync::broadcast::Sender::closed`](original::Sender::closed). A wait.
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> {
        Awaited::new(self.inner.closed(), None, Location::caller())
    }

    /// See [`tokio::sync::broadcast::Sender::strong_count`](original::Sender::strong_count).
    pub fn strong_count(&self) -> usize {
        self.inner.strong_count()
    }

    /// See [`tokio::sync::broadcast::Sender::weak_count`](original::Sender::weak_count).
    pub fn weak_count(&self) -> usize {
        self.inner.weak_count()
    }
}

impl<T> WeakSender<T> {
    /// See [`tokio::sync::broadcast::WeakSender::upgrade`](original::WeakSender::upgrade).
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let inner = self.inner.upgrade()?;
        let subscribers = self.subscribers.clone();
        Some(Sender { subscribers, inner })
    }

    /// See [`tokio::sync::broadcast::WeakSender::strong_count`](original::WeakSender::strong_count).
    pub fn strong_count(&self) -> usize {
        self.inner.strong_count()
    }

    /// See [`tokio::sync::broadcast::WeakSender::weak_count`](original::WeakSender::weak_count).
    pub fn weak_count(&self) -> usize {
        self.inner.weak_count()
    }
}

impl<T> Receiver<T> {
    /// See [`tokio::sync::broadcast::Receiver::len`](original::Receiver::len). A read.
    #[track_caller]
    pub fn len(&self) -> usize {
        let len = || self.inner.len();
        self.subscribers.read(Location::caller(), len)
    }

    /// See [`tokio::sync::broadcast::Receiver::is_empty`](original::Receiver::is_empty). A read.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        let is_empty = || self.inner.is_empty();
        self.subscribers.read(Location::caller(), is_empty)
    }

    /// See [`tokio::sync::broadcast::Receiver::same_channel`](original::Receiver::same_channel).
    pub fn same_channel(&self, other: &Self) -> bool {
        self.inner.same_channel(&other.inner)
    }

    /// See [`tokio::sync::broadcast::Receiver::sender_strong_count`](original::Receiver::sender_strong_count).
    pub fn sender_strong_count(&self) -> usize {
        self.inner.sender_strong_count()
    }

    /// See [`tokio::sync::broadcast::Receiver::sender_weak_count`](original::Receiver::sender_weak_count).
    pub fn sender_weak_count(&self) -> usize {
        self.inner.sender_weak_count()
    }

    /// See [`tokio::sync::broadcast::Receiver::is_closed`](original::Receiver::is_closed).
    pub fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }
}

impl<T: Clone> Receiver<T> {
    /// See [`tokio::sync::broadcast::Receiver::resubscribe`](original::Receiver::resubscribe). As
    /// [`Sender::subscribe`].
    #[track_caller]
    pub fn resubscribe(&self) -> Self {
        let subscribe = || self.inner.resubscribe();
        let inner = self.subscribers.enter(Location::caller(), subscribe);
        let subscribers = self.subscribers.clone();
        Self { subscribers, inner }
    }

    /// See [`tokio::sync::broadcast::Receiver::recv`](original::Receiver::recv). To wait for a
    /// message ends the transaction; to lag is a read.
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, RecvError>> {
        let site = Location::caller();
        async move {
            let received = Awaited::if_pending(self.inner.recv(), site).await;
            if matches!(received, Err(RecvError::Lagged(_))) {
                self.subscribers.look(site);
            }
            received.map(|message| message.open(site))
        }
    }

    /// See [`tokio::sync::broadcast::Receiver::try_recv`](original::Receiver::try_recv). In vain it
    /// is a read.
    ///
    /// # Errors
    ///
    /// As tokio's.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let (site, inner) = (Location::caller(), &mut self.inner);
        let received = self.subscribers.tell(site, || inner.try_recv());
        received.map(|message| message.open(site))
    }

    /// See [`tokio::sync::broadcast::Receiver::blocking_recv`](original::Receiver::blocking_recv). A
    /// wait.
    ///
    /// # Errors
    ///
    /// As tokio's.
    ///
    /// # Panics
    ///
    /// As tokio's: within an asynchronous context.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        let site = Location::caller();
        if let Some(pen) = pen() {
            pen.split(site);
        }
        let received = self.inner.blocking_recv();
        received.map(|message| message.open(site))
    }
}

/// What the ends of a sender's kind share.
macro_rules! ends {
    ($($End:ident, $($clone:ident)?;)*) => {$(
        $(ends!(@$clone $End);)?

        impl<T> fmt::Debug for $End<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(concat!("broadcast::", stringify!($End))).finish_non_exhaustive()
            }
        }
    )*};
    (@clone $End:ident) => {
        impl<T> Clone for $End<T> {
            fn clone(&self) -> Self {
                Self {
                    subscribers: self.subscribers.clone(),
                    inner: self.inner.clone(),
                }
            }
        }
    };
}

ends! {
    Sender, clone;
    WeakSender, clone;
    Receiver, ;
}
