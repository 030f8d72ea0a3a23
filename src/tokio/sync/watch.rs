//! `tokio::sync::watch`, tracked.
//!
//! The value is what a lock guards: tokio has it behind one, under which it is read and written. Who
//! has subscribed is an object of its own, which a send looks at, and a signal orders what was sent
//! before who waited for it.

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use ::tokio::sync::watch as original;
pub use original::error;

use super::wait::{Awaited, Registry};
use crate::record::{Exclusive, Object, Shared, pen};
use crate::trace::ObjectKind;

/// What the ends of a channel share.
struct Order {
    value: Object,
    subscribers: Registry,
    changes: Object,
}

impl Order {
    #[track_caller]
    fn new<T>() -> Arc<Self> {
        Arc::new(Self {
            value: Object::lock::<T>(type_name::<Sender<T>>),
            subscribers: Registry::new(type_name::<Sender<T>>),
            changes: Object::new(ObjectKind::Signal, type_name::<Sender<T>>),
        })
    }

    /// A real guard has just been taken.
    fn read<'a, T>(
        &'a self,
        inner: original::Ref<'a, T>,
        site: &'static Location<'static>,
    ) -> Ref<'a, T> {
        let section = Shared::new(pen(), &self.value, site);
        Ref { section, inner }
    }

    /// What is about to be told to who waits comes before what they do then.
    fn signal(&self, site: &'static Location<'static>) {
        super::wait::signal(&self.changes, site);
    }
}

/// See [`tokio::sync::watch::Sender`](original::Sender).
pub struct Sender<T> {
    order: Arc<Order>,
    inner: original::Sender<T>,
}

/// See [`tokio::sync::watch::Receiver`](original::Receiver).
pub struct Receiver<T> {
    order: Arc<Order>,
    inner: original::Receiver<T>,
}

/// See [`tokio::sync::watch::Ref`](original::Ref).
pub struct Ref<'a, T> {
    // Before the real guard: the release is recorded first.
    section: Shared<'a>,
    inner: original::Ref<'a, T>,
}

/// See [`tokio::sync::watch::channel`](original::channel()).
#[track_caller]
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let order = Order::new::<T>();
    let (sender, receiver) = original::channel(init);
    let receiver = Receiver {
        order: order.clone(),
        inner: receiver,
    };
    let inner = sender;
    (Sender { order, inner }, receiver)
}

impl<T> Sender<T> {
    /// See [`tokio::sync::watch::Sender::new`](original::Sender::new).
    #[track_caller]
    pub fn new(init: T) -> Self {
        let order = Order::new::<T>();
        let inner = original::Sender::new(init);
        Self { order, inner }
    }

    /// See [`tokio::sync::watch::Sender::send`](original::Sender::send).
    ///
    /// # Errors
    ///
    /// The value, where there is no receiver.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), error::SendError<T>> {
        let count = || self.inner.receiver_count();
        if self.order.subscribers.read(Location::caller(), count) == 0 {
            return Err(error::SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// See [`tokio::sync::watch::Sender::send_modify`](original::Sender::send_modify).
    #[track_caller]
    pub fn send_modify<F: FnOnce(&mut T)>(&self, modify: F) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// See [`tokio::sync::watch::Sender::send_if_modified`](original::Sender::send_if_modified).
    #[track_caller]
    pub fn send_if_modified<F: FnOnce(&mut T) -> bool>(&self, modify: F) -> bool {
        let site = Location::caller();
        let is_modified = self.inner.send_if_modified(|value| {
            let section = Exclusive::new(pen(), &self.order.value, site);
            section.read(site);
            let is_modified = modify(value);
            if is_modified {
                section.write(site);
                self.order.signal(site);
            }
            is_modified
        });
        if is_modified {
            self.order.subscribers.look(site);
        }
        is_modified
    }

    /// See [`tokio::sync::watch::Sender::send_replace`](original::Sender::send_replace).
    #[track_caller]
    pub fn send_replace(&self, mut value: T) -> T {
        let site = Location::caller();
        // What comes out is looked at by the caller, if at all: that is no part of sending.
        self.inner.send_if_modified(|old| {
            let section = Exclusive::new(pen(), &self.order.value, site);
            section.write(site);
            std::mem::swap(old, &mut value);
            self.order.signal(site);
            true
        });
        self.order.subscribers.look(site);
        value
    }

    /// See [`tokio::sync::watch::Sender::borrow`](original::Sender::borrow).
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        self.order.read(self.inner.borrow(), Location::caller())
    }

    /// See [`tokio::sync::watch::Sender::is_closed`](original::Sender::is_closed).
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let is_closed = || self.inner.is_closed();
        self.order.subscribers.read(Location::caller(), is_closed)
    }

    /// See [`tokio::sync::watch::Sender::closed`](original::Sender::closed).
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> {
        Awaited::new(self.inner.closed(), None, Location::caller())
    }

    /// See [`tokio::sync::watch::Sender::subscribe`](original::Sender::subscribe). The transaction
    /// ends after it: what is sent from here on is noticed.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        let subscribe = || self.inner.subscribe();
        let inner = self.order.subscribers.enter(Location::caller(), subscribe);
        let order = self.order.clone();
        Receiver { order, inner }
    }

    /// See [`tokio::sync::watch::Sender::receiver_count`](original::Sender::receiver_count).
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        let count = || self.inner.receiver_count();
        self.order.subscribers.read(Location::caller(), count)
    }

    /// See [`tokio::sync::watch::Sender::sender_count`](original::Sender::sender_count).
    pub fn sender_count(&self) -> usize {
        self.inner.sender_count()
    }

    /// See [`tokio::sync::watch::Sender::same_channel`](original::Sender::same_channel).
    pub fn same_channel(&self, other: &Self) -> bool {
        self.inner.same_channel(&other.inner)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self {
            order: self.order.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<T: Default> Default for Sender<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T> Receiver<T> {
    /// See [`tokio::sync::watch::Receiver::borrow`](original::Receiver::borrow).
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        self.order.read(self.inner.borrow(), Location::caller())
    }

    /// See [`tokio::sync::watch::Receiver::borrow_and_update`](original::Receiver::borrow_and_update).
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let inner = self.inner.borrow_and_update();
        self.order.read(inner, Location::caller())
    }

    /// See [`tokio::sync::watch::Receiver::has_changed`](original::Receiver::has_changed). A look at
    /// the value.
    ///
    /// # Errors
    ///
    /// As tokio's: where there is no sender.
    #[track_caller]
    pub fn has_changed(&self) -> Result<bool, error::RecvError> {
        // The real guard keeps the value as it is.
        let value = self.borrow();
        let _: &T = &value;
        self.inner.has_changed()
    }

    /// See [`tokio::sync::watch::Receiver::is_closed`](original::Receiver::is_closed).
    pub fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    /// See [`tokio::sync::watch::Receiver::mark_changed`](original::Receiver::mark_changed).
    pub fn mark_changed(&mut self) {
        self.inner.mark_changed();
    }

    /// See [`tokio::sync::watch::Receiver::mark_unchanged`](original::Receiver::mark_unchanged).
    pub fn mark_unchanged(&mut self) {
        self.inner.mark_unchanged();
    }

    /// See [`tokio::sync::watch::Receiver::changed`](original::Receiver::changed). A wait.
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), error::RecvError>> {
        let changes = Some(&self.order.changes);
        Awaited::new(self.inner.changed(), changes, Location::caller())
    }

    /// See [`tokio::sync::watch::Receiver::wait_for`](original::Receiver::wait_for). A wait, after
    /// which the value is read.
    #[track_caller]
    pub fn wait_for(
        &mut self,
        f: impl FnMut(&T) -> bool,
    ) -> impl Future<Output = Result<Ref<'_, T>, error::RecvError>> {
        let (site, order) = (Location::caller(), &self.order);
        let wait = Awaited::new(self.inner.wait_for(f), Some(&order.changes), site);
        async move { wait.await.map(|inner| order.read(inner, site)) }
    }

    /// See [`tokio::sync::watch::Receiver::same_channel`](original::Receiver::same_channel).
    pub fn same_channel(&self, other: &Self) -> bool {
        self.inner.same_channel(&other.inner)
    }
}

// It has seen what this one has, so it misses nothing: no look comes too early.
impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self {
            order: self.order.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T> Ref<'_, T> {
    /// See [`tokio::sync::watch::Ref::has_changed`](original::Ref::has_changed).
    pub fn has_changed(&self) -> bool {
        self.inner.has_changed()
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        self.section.read(Location::caller());
        &self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
