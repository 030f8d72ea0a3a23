use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::mpsc::{self, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

use crossbeam_channel as crossbeam;

use crate::record::channel::{Channel, Envelope, Parcel, Transfer};
use crate::record::{Kind, Pen, step};

/// [`std::sync::mpsc::Sender`], tracked.
pub struct Sender<T> {
    pub(crate) channel: Channel,
    inner: mpsc::Sender<Envelope<T>>,
}

/// [`std::sync::mpsc::SyncSender`], tracked.
pub struct SyncSender<T> {
    pub(crate) channel: Channel,
    inner: mpsc::SyncSender<Envelope<T>>,
}

/// [`std::sync::mpsc::Receiver`], tracked.
pub struct Receiver<T> {
    pub(crate) channel: Channel,
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
    let channel = Channel::new(type_name::<Sender<T>>, Transfer::Buffer);
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
    let channel = Channel::new(type_name::<SyncSender<T>>, Transfer::of(Some(bound)));
    let (sender, receiver) = mpsc::sync_channel(bound);
    (
        SyncSender {
            channel: channel.clone(),
            inner: sender,
        },
        Receiver {
            channel,
            inner: receiver,
        },
    )
}

impl<T> Sender<T> {
    /// As std's.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        let site = Location::caller();
        let pen = step(move || self.channel.intent(Kind::Send, site));
        let mut parcel = Parcel::new(t);
        let send = |parcel: &mut Parcel<T>| match self.inner.send(parcel.take()) {
            Ok(()) => Ok(()),
            Err(SendError(envelope)) => {
                parcel.put_back(envelope);
                Err(())
            }
        };
        match pen {
            Some(pen) => self.channel.send_unbounded(pen, site, &mut parcel, send),
            None => send(&mut parcel),
        }
        .map_err(|()| SendError(parcel.refused()))
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
        let pen = step(move || self.channel.intent(Kind::Send, site));
        let mut parcel = Parcel::new(t);
        let try_send = |parcel: &mut Parcel<T>| {
            self.try_put(parcel).map_err(|error| match error {
                TrySendError::Full(()) => crossbeam::TrySendError::Full(()),
                TrySendError::Disconnected(()) => crossbeam::TrySendError::Disconnected(()),
            })
        };
        let wait = |parcel: &mut Parcel<T>| match self.inner.send(parcel.take()) {
            Ok(()) => Ok(()),
            Err(SendError(envelope)) => {
                parcel.put_back(envelope);
                Err(crossbeam::SendTimeoutError::Disconnected(()))
            }
        };
        match pen {
            Some(pen) => self
                .channel
                .send_or_wait(pen, site, &mut parcel, try_send, wait),
            None => wait(&mut parcel),
        }
        .map_err(|_| SendError(parcel.refused()))
    }

    /// As std's.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        let site = Location::caller();
        let pen = step(move || self.channel.intent(Kind::Send, site));
        let mut parcel = Parcel::new(t);
        let send = |parcel: &mut Parcel<T>| self.try_put(parcel);
        match pen {
            Some(pen) => self.channel.send(pen, site, &mut parcel, send),
            None => send(&mut parcel),
        }
        .map_err(|error| match error {
            TrySendError::Full(()) => TrySendError::Full(parcel.refused()),
            TrySendError::Disconnected(()) => TrySendError::Disconnected(parcel.refused()),
        })
    }

    /// Puts it into the real channel, where there is room.
    fn try_put(&self, parcel: &mut Parcel<T>) -> Result<(), TrySendError<()>> {
        match self.inner.try_send(parcel.take()) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(envelope)) => {
                parcel.put_back(envelope);
                Err(TrySendError::Full(()))
            }
            Err(TrySendError::Disconnected(envelope)) => {
                parcel.put_back(envelope);
                Err(TrySendError::Disconnected(()))
            }
        }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        SyncSender {
            channel: self.channel.clone(),
            inner: self.inner.clone(),
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
        let site = Location::caller();
        let pen = step(move || self.channel.intent(Kind::Receive, site));
        self.take(pen, site)
            .map(|envelope| envelope.open_from(&self.channel, pen, site))
    }

    /// Takes what there is, or reads that there is nothing.
    fn take(
        &self,
        pen: Option<Pen>,
        site: &'static Location<'static>,
    ) -> Result<Envelope<T>, TryRecvError> {
        self.channel.attempt(pen, site, || self.inner.try_recv())
    }

    /// As std's.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let site = Location::caller();
        let attempt = || match self.inner.try_recv() {
            Ok(envelope) => Some(Ok(envelope)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvError)),
            Err(TryRecvError::Empty) => None,
        };
        let receive = |_| self.inner.recv();
        // The real receiver cannot be asked whether it would wait.
        let (pen, received) = self
            .channel
            .receive(site, || None, || true, attempt, receive);
        received.map(|envelope| envelope.open_awaited(&self.channel, pen, site))
    }

    /// As std's.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let site = Location::caller();
        let attempt = || match self.inner.try_recv() {
            Ok(envelope) => Some(Ok(envelope)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
            Err(TryRecvError::Empty) => None,
        };
        let receive = |left: Option<Duration>| self.inner.recv_timeout(left.unwrap_or(timeout));
        let (pen, received) =
            self.channel
                .receive(site, || Some(timeout), || true, attempt, receive);
        received
            // What has come since then is not too late; and that nothing has is to be recorded.
            .or_else(|error| match error {
                RecvTimeoutError::Timeout => self.take(pen, site).map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                }),
                RecvTimeoutError::Disconnected => Err(error),
            })
            .map(|envelope| envelope.open_awaited(&self.channel, pen, site))
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
