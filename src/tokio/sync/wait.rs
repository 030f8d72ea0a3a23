//! What waits are made of: who is registered to be woken, and the wait itself.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::record::channel::{Channel, Envelope};
use crate::record::clock::Clock;
use crate::record::{Object, What, pen, untracked};
use crate::trace::ObjectKind;

/// Who is registered to hear of something. Who registers after having looked misses what happens in
/// between: it looks like an update of this between another's write and look.
#[derive(Debug)]
pub(super) struct Registry(Object<Clock>);

impl Registry {
    #[track_caller]
    pub(super) const fn new(type_name: fn() -> &'static str) -> Self {
        Self(Object::clocked(ObjectKind::Channel, type_name))
    }

    /// Registers by `enter`. The transaction ends after it: nothing is missed from here on.
    pub(super) fn enter<R>(
        &self,
        site: &'static Location<'static>,
        enter: impl FnOnce() -> R,
    ) -> R {
        let Some(pen) = pen() else { return enter() };
        let result = pen.atomic(&self.0, site, || (enter(), What::UpdateChannel));
        pen.split(site);
        result
    }

    /// Looks at it by `read`.
    pub(super) fn read<R>(&self, site: &'static Location<'static>, read: impl Fn() -> R) -> R {
        self.0.look(What::Read, site, read)
    }

    /// Does something that looks at it, and what happens to whom is decided in the same turn.
    pub(super) fn tell<R>(&self, site: &'static Location<'static>, tell: impl FnOnce() -> R) -> R {
        match pen() {
            Some(pen) => pen.atomic(&self.0, site, || (untracked(tell), What::Read)),
            None => tell(),
        }
    }

    /// Everybody who is registered is told.
    pub(super) fn look(&self, site: &'static Location<'static>) {
        self.read(site, || ());
    }
}

/// What is told comes before what those do who await it.
pub(super) fn signal(object: &Object, site: &'static Location<'static>) {
    if let Some(pen) = pen() {
        pen.event(What::Signal, object, site);
    }
}

/// Takes a message by `try_recv`, which does not wait. One that is in vain reads the channel.
pub(super) fn try_receive<T, E>(
    channel: &Channel,
    site: &'static Location<'static>,
    mut try_recv: impl FnMut() -> Result<Envelope<T>, E>,
) -> Result<T, E> {
    let pen = pen();
    loop {
        let moment = channel.moment();
        match try_recv() {
            Ok(envelope) => return Ok(envelope.open_from(channel, pen, site)),
            Err(error) => {
                if pen.is_none_or(|pen| channel.tried_in_vain(pen, site, moment)) {
                    return Err(error);
                }
            }
        }
    }
}

/// A wait: the transaction ends before it, and what it waited for comes before what follows.
#[derive(Debug)]
pub(super) struct Awaited<'a, F> {
    future: F,
    signal: Option<&'a Object>,
    site: &'static Location<'static>,
    /// Whether it is a wait from the first poll on, or only once it is pending.
    is_wait: bool,
    has_begun: bool,
}

impl<'a, F> Awaited<'a, F> {
    pub(super) fn new(
        future: F,
        signal: Option<&'a Object>,
        site: &'static Location<'static>,
    ) -> Self {
        Self {
            future,
            signal,
            site,
            is_wait: true,
            has_begun: false,
        }
    }

    /// One that is a wait only if it is not ready at once.
    pub(super) fn if_pending(future: F, site: &'static Location<'static>) -> Self {
        Self {
            is_wait: false,
            ..Self::new(future, None, site)
        }
    }
}

impl<F> Awaited<'_, F> {
    /// The real wait.
    pub(super) fn future(self: Pin<&mut Self>) -> Pin<&mut F> {
        // SAFETY: it is pinned where this is.
        unsafe { self.map_unchecked_mut(|this| &mut this.future) }
    }
}

impl<F: Future> Future for Awaited<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned where this is, and nothing else is.
        let this = unsafe { self.get_unchecked_mut() };
        let is_first = !std::mem::replace(&mut this.has_begun, true);
        if let (true, Some(pen)) = (is_first && this.is_wait, pen()) {
            pen.split(this.site);
        }
        // SAFETY: as above.
        let result = unsafe { Pin::new_unchecked(&mut this.future) }.poll(context);
        let Some(pen) = pen() else { return result };
        if result.is_pending() {
            if is_first && !this.is_wait {
                pen.split(this.site);
            }
        } else {
            if !is_first {
                // What was recorded meanwhile is no part of what follows.
                pen.split(this.site);
            }
            if let Some(signal) = this.signal {
                pen.event(What::Await, signal, this.site);
            }
        }
        result
    }
}
