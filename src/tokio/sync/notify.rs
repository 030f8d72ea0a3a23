use std::any::type_name;
use std::future::Future;
use std::mem;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync as original;

use super::wait::{Awaited, Registry, signal};
use crate::record::Object;
use crate::trace::ObjectKind;

/// See [`tokio::sync::Notify`](original::Notify).
#[derive(Debug)]
pub struct Notify {
    waiters: Registry,
    notified: Object,
    inner: original::Notify,
}

/// See `Notified` of tokio, which [`Notify::notified`] returns.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Notified<'a>(Awaited<'a, original::futures::Notified<'a>>);

/// See `OwnedNotified` of tokio, which [`Notify::notified_owned`] returns.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct OwnedNotified {
    notified: Notified<'static>,
    // Last: the other borrows from it.
    _notify: Arc<Notify>,
}

impl UnwindSafe for Notify {}
impl RefUnwindSafe for Notify {}

impl Notify {
    /// See [`tokio::sync::Notify::new`](original::Notify::new).
    #[track_caller]
    pub fn new() -> Self {
        Self {
            waiters: Registry::new(type_name::<Self>),
            notified: Object::new(ObjectKind::Signal, type_name::<Self>),
            inner: original::Notify::new(),
        }
    }

    /// See [`tokio::sync::Notify::const_new`](original::Notify::const_new).
    #[track_caller]
    pub const fn const_new() -> Self {
        Self {
            waiters: Registry::new(type_name::<Self>),
            notified: Object::new(ObjectKind::Signal, type_name::<Self>),
            inner: original::Notify::const_new(),
        }
    }

    /// See [`tokio::sync::Notify::notified`](original::Notify::notified). The transaction ends after
    /// it: a notification from here on is not missed.
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        let site = Location::caller();
        let inner = self.waiters.enter(site, || self.inner.notified());
        Notified(Awaited::new(inner, Some(&self.notified), site))
    }

    /// See [`tokio::sync::Notify::notified_owned`](original::Notify::notified_owned), and
    /// [`notified`](Self::notified).
    #[track_caller]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let notified = self.notified();
        // SAFETY: it borrows from what the `Arc` has, which does not move, and which lives until
        // the field after this one is dropped.
        let notified = unsafe { mem::transmute::<Notified<'_>, Notified<'static>>(notified) };
        OwnedNotified {
            notified,
            _notify: self,
        }
    }

    /// See [`tokio::sync::Notify::notify_one`](original::Notify::notify_one). Nobody misses it: it
    /// is kept where nobody waits.
    #[track_caller]
    pub fn notify_one(&self) {
        signal(&self.notified, Location::caller());
        self.inner.notify_one();
    }

    /// See [`tokio::sync::Notify::notify_last`](original::Notify::notify_last).
    #[track_caller]
    pub fn notify_last(&self) {
        signal(&self.notified, Location::caller());
        self.inner.notify_last();
    }

    /// See [`tokio::sync::Notify::notify_waiters`](original::Notify::notify_waiters). Also a look at
    /// who waits.
    #[track_caller]
    pub fn notify_waiters(&self) {
        let site = Location::caller();
        signal(&self.notified, site);
        self.waiters.read(site, || self.inner.notify_waiters());
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl Notified<'_> {
    /// See `Notified::enable` of tokio.
    pub fn enable(self: Pin<&mut Self>) -> bool {
        // SAFETY: the future is pinned where this is.
        let wait = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        wait.future().enable()
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: as above.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(context)
    }
}

impl OwnedNotified {
    /// See `OwnedNotified::enable` of tokio.
    pub fn enable(self: Pin<&mut Self>) -> bool {
        // SAFETY: the future is pinned where this is.
        unsafe { self.map_unchecked_mut(|this| &mut this.notified) }.enable()
    }
}

impl Future for OwnedNotified {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: as above.
        unsafe { self.map_unchecked_mut(|this| &mut this.notified) }.poll(context)
    }
}
