use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

use super::envelope::Envelope;
use crate::record::clock::Clock;
use crate::record::{self, Attempt, Object, Pen, What, untracked};
use crate::trace::ObjectKind;

// The real operations run untracked: they may allocate, and what an allocator does in the middle of an operation has no room in its record.

/// [`std::sync::mpsc::Sender`], tracked.
pub struct Sender<T> {
    pub(crate) channel: Arc<Object<Clock>>,
    inner: mpsc::Sender<Envelope<T>>,
}

/// [`std::sync::mpsc::SyncSender`], tracked.
pub struct SyncSender<T> {
    pub(crate) channel: Arc<Object<Clock>>,
    inner: mpsc::SyncSender<Envelope<T>>,
    bound: usize,
}

/// [`std::sync::mpsc::Receiver`], tracked.
pub struct Receiver<T> {
    pub(crate) channel: Arc<Object<Clock>>,
    inner: mpsc::Receiver<Envelope<T>>,
}

/// [`std::sync::mpsc::Iter`], tracked.
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// [`std::sync::mpsc::TryIter`], tracked.
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// [`std::sync::mpsc::IntoIter`], tracked.
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

/// As std's; remembers where it was called.
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Object::clocked(ObjectKind::Channel, type_name::<Sender<T>>));
    let (sender, receiver) = mpsc::channel();
    (
        Sender {
            channel: channel.clone(),
            inner: sender,
        },
        Receiver {
            channel,
            inner: receiver,
        },
    )
}

/// As std's; remembers where it was called.
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = Arc::new(Object::clocked(
        ObjectKind::Channel,
        type_name::<SyncSender<T>>,
    ));
    let (sender, receiver) = mpsc::sync_channel(bound);
    (
        SyncSender {
            channel: channel.clone(),
            inner: sender,
            bound,
        },
        Receiver {
            channel,
            inner: receiver,
        },
    )
}

/// Puts an envelope into the channel and updates its state, as one.
fn put<R, E>(
    pen: Pen,
    channel: &Object<Clock>,
    site: &'static Location<'static>,
    send: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    pen.attempt(channel, site, || match untracked(send) {
        Ok(sent) => (Ok(sent), Attempt::Did(What::UpdateSend)),
        Err(error) => (Err(error), Attempt::Nothing),
    })
}

impl<T> Sender<T> {
    /// As std's.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        let site = Location::caller();
        match record::pen() {
            Some(pen) => {
                let envelope = Envelope::send(pen, t, site);
                put(pen, &self.channel, site, || self.inner.send(envelope))
            }
            None => self.inner.send(Envelope::unstamped(t)),
        }
        .map_err(|SendError(envelope)| SendError(envelope.payload))
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender {
            channel: self.channel.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> SyncSender<T> {
    /// As std's.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        let site = Location::caller();
        let Some(pen) = record::pen() else {
            return self
                .inner
                .send(Envelope::unstamped(t))
                .map_err(|SendError(envelope)| SendError(envelope.payload));
        };
        let mut envelope = Envelope::send(pen, t, site);
        let receipt = (self.bound == 0).then(|| envelope.request_receipt());
        let sent = put(pen, &self.channel, site, || self.inner.try_send(envelope));
        let sent = match sent {
            Err(TrySendError::Full(envelope)) => {
                pen.atomic(&self.channel, site, || ((), What::UpdateSend));
                pen.split();
                untracked(|| self.inner.send(envelope)).map_err(|SendError(envelope)| envelope)
            }
            Err(TrySendError::Disconnected(envelope)) => Err(envelope),
            Ok(()) => {
                if receipt.is_some() {
                    pen.split();
                }
                Ok(())
            }
        };
        sent.map_err(|envelope| SendError(envelope.payload))?;
        if let Some(receipt) = receipt {
            receipt.take(pen, site);
        }
        Ok(())
    }

    /// As std's.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        let site = Location::caller();
        let unseal = |error| match error {
            TrySendError::Full(Envelope { payload, .. }) => TrySendError::Full(payload),
            TrySendError::Disconnected(Envelope { payload, .. }) => {
                TrySendError::Disconnected(payload)
            }
        };
        let Some(pen) = record::pen() else {
            return self.inner.try_send(Envelope::unstamped(t)).map_err(unseal);
        };
        let mut envelope = Envelope::send(pen, t, site);
        let receipt = (self.bound == 0).then(|| envelope.request_receipt());
        put(pen, &self.channel, site, || self.inner.try_send(envelope)).map_err(unseal)?;
        if let Some(receipt) = receipt {
            pen.split();
            receipt.take(pen, site);
        }
        Ok(())
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        SyncSender {
            channel: self.channel.clone(),
            inner: self.inner.clone(),
            bound: self.bound,
        }
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> Receiver<T> {
    /// As std's.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let (pen, site) = (record::pen(), Location::caller());
        self.take(pen, site)
            .map(|envelope| envelope.open(pen, site))
    }

    /// Takes what there is, or reads that there is nothing.
    fn take(
        &self,
        pen: Option<Pen>,
        site: &'static Location<'static>,
    ) -> Result<Envelope<T>, TryRecvError> {
        match pen {
            Some(pen) => pen.attempt(&self.channel, site, || {
                match untracked(|| self.inner.try_recv()) {
                    Ok(envelope) => (Ok(envelope), Attempt::Nothing),
                    Err(error) => (Err(error), Attempt::Did(What::Read)),
                }
            }),
            None => self.inner.try_recv(),
        }
    }

    /// Ends the transaction and waits.
    fn wait<R>(
        &self,
        pen: Option<Pen>,
        receive: impl FnOnce(&mpsc::Receiver<Envelope<T>>) -> R,
    ) -> R {
        match pen {
            Some(pen) => {
                pen.split();
                untracked(|| receive(&self.inner))
            }
            None => receive(&self.inner),
        }
    }

    /// As std's.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let (pen, site) = (record::pen(), Location::caller());
        self.wait(pen, |inner| inner.recv())
            .map(|envelope| envelope.open(pen, site))
    }

    /// As std's.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let (pen, site) = (record::pen(), Location::caller());
        self.wait(pen, |inner| inner.recv_timeout(timeout))
            // What has come since then is not too late; and that nothing has is to be recorded.
            .or_else(|error| match error {
                RecvTimeoutError::Timeout => self.take(pen, site).map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                }),
                RecvTimeoutError::Disconnected => Err(error),
            })
            .map(|envelope| envelope.open(pen, site))
    }

    /// As std's.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    /// As std's.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
