//! What the mirrors of channels share: a message in its envelope, and the channel's state.
//!
//! The message's number travels with it in an [`Envelope`]. The [`Channel`] is what a send and a
//! receive update and a vain try of either reads. A message becomes visible while its sender has
//! the channel's clock, or is counted as in flight; and whoever finds nothing makes sure that
//! nothing has come or gone since it looked. Nothing that can wait is done while the clock is held:
//! a receive may have to wait for a sender that has a place in the channel, but not yet put its
//! message there. So a receive updates the channel right after it.
//!
//! A vain try is a pause, and outside of blocks it is nothing.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crossbeam_channel::{SendTimeoutError, TrySendError};

use super::atomic::Effect;
use super::clock::{Clock, Moment};
use super::object::Object;
use crate::record::buffer::code::{self, TypeName};
use crate::record::buffer::prim::Backoff;
use crate::record::buffer::record::What;
use crate::record::control::{
    Intent, Kind, is_controlled, left_until, now, outside, wait, wait_for,
};
use crate::record::strand::{Pen, finish, pen, step, untracked};
use crate::trace::ObjectKind;

/// What travels through the real channel.
pub(crate) struct Envelope<T> {
    stamp: Stamp,
    pub(crate) payload: T,
}

/// A message on its way into a channel, and where it is back if the channel refuses it. It stays in
/// its sender's frame: it may be large, and without optimisation every closure and every result
/// that carries it would be another copy on the stack.
pub(crate) struct Parcel<T>(Option<Envelope<T>>);

/// The number of a message, 0 if its send was not recorded. Dropped unopened, it says that the
/// message was lost.
struct Stamp {
    number: u32,
    receipt: Option<Arc<Receipt>>,
}

/// Where the receiver of a rendezvous leaves the number of the message that it answers with.
struct Receipt(AtomicU32);

impl Receipt {
    const PENDING: u32 = 0;
    const NONE: u32 = u32::MAX;

    fn is_pending(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::PENDING
    }

    /// Waits for the answer, which comes right after the rendezvous, and takes it as received.
    fn take(&self, channel: &Channel, pen: Pen, site: &'static Location<'static>) {
        if self.is_pending() && is_controlled() {
            // The receiver has to have the turn first.
            let answer = move || Intent::new(Kind::Receive, &**channel, site);
            wait(answer, || !self.is_pending());
        }
        loop {
            match self.0.load(Ordering::Acquire) {
                Self::PENDING => std::thread::yield_now(),
                Self::NONE => return,
                number => return pen.receive(number, site),
            }
        }
    }
}

impl<T> Envelope<T> {
    /// Records the receipt, and that it changes what others see of the channel. In this order: the
    /// receipt may show that the block has waited, and then the change is part of what follows.
    pub(crate) fn open_from(
        self,
        channel: &Channel,
        pen: Option<Pen>,
        site: &'static Location<'static>,
    ) -> T {
        // Of a rendezvous there is nothing to be seen.
        let is_visible = self.stamp.receipt.is_none();
        let payload = self.open(pen, site);
        if let Some(pen) = pen.filter(|_| is_visible) {
            pen.atomic(channel, site, || ((), What::UpdateChannel));
        }
        payload
    }

    /// The same after a wait. That is over when both have met: the sender goes on from there, too,
    /// so what follows is no part of it.
    pub(crate) fn open_awaited(
        self,
        channel: &Channel,
        pen: Option<Pen>,
        site: &'static Location<'static>,
    ) -> T {
        let met = pen.filter(|_| self.stamp.receipt.is_some());
        let payload = self.open_from(channel, pen, site);
        if let Some(pen) = met {
            pen.split(site);
        }
        payload
    }

    fn open(self, pen: Option<Pen>, site: &'static Location<'static>) -> T {
        let Self { mut stamp, payload } = self;
        if let Some(pen) = pen {
            let number = std::mem::take(&mut stamp.number);
            if number != 0 {
                pen.receive(number, site);
            }
            if let Some(receipt) = stamp.receipt.take() {
                let answer = pen.message();
                pen.send(answer, site);
                receipt.0.store(answer, Ordering::Release);
                untracked(|| drop(receipt));
            }
        }
        payload
    }
}

impl<T> Parcel<T> {
    /// A message whose send is not recorded yet.
    pub(crate) fn new(payload: T) -> Self {
        let (number, receipt) = (0, None);
        Self(Some(Envelope {
            stamp: Stamp { number, receipt },
            payload,
        }))
    }

    /// Gives the message its number; at a rendezvous the receiver is asked for an answer.
    fn stamp(&mut self, number: u32, transfer: Transfer) -> Option<Arc<Receipt>> {
        let receipt = (transfer == Transfer::Rendezvous)
            .then(|| untracked(|| Arc::new(Receipt(AtomicU32::new(Receipt::PENDING)))));
        if let Some(Envelope { stamp, .. }) = &mut self.0 {
            (stamp.number, stamp.receipt) = (number, receipt.clone());
        }
        receipt
    }

    /// Takes back the number: the channel has refused the message.
    fn unstamp(&mut self, pen: Pen) {
        if let Some(Envelope { stamp, .. }) = &mut self.0 {
            pen.unsend(std::mem::take(&mut stamp.number));
            stamp.receipt = None;
        }
    }

    /// What goes into the real channel.
    #[track_caller]
    pub(crate) fn take(&mut self) -> Envelope<T> {
        self.0.take().expect("a message is sent once")
    }

    /// The real channel has refused it.
    pub(crate) fn put_back(&mut self, envelope: Envelope<T>) {
        self.0 = Some(envelope);
    }

    /// Nobody is going to send it any more.
    #[track_caller]
    pub(crate) fn refused(mut self) -> T {
        self.take().payload
    }
}

impl Drop for Stamp {
    fn drop(&mut self) {
        if self.number != 0 {
            finish(|pen| pen.lose(self.number));
        }
        if let Some(receipt) = &self.receipt {
            receipt.0.store(Receipt::NONE, Ordering::Release);
        }
    }
}

/// Whether what goes into a channel is handed over, from hand to hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// There is a buffer: a send orders one way.
    Buffer,
    /// Sender and receiver meet: each one's past comes before the other's future.
    Rendezvous,
}

impl Transfer {
    pub(crate) fn of(capacity: Option<usize>) -> Self {
        if capacity == Some(0) {
            Self::Rendezvous
        } else {
            Self::Buffer
        }
    }
}

/// A channel's state, shared by its ends.
#[derive(Clone, Debug)]
pub(crate) struct Channel(Arc<State>);

#[derive(Debug)]
struct State {
    object: Object<Clock>,
    /// Messages that have their place among the channel's records and may not be visible yet.
    in_flight: AtomicU32,
    transfer: Transfer,
}

/// The real end follows, before the turn is given away.
impl Drop for Channel {
    #[inline]
    fn drop(&mut self) {
        if is_controlled() {
            self.close();
        }
    }
}

impl Deref for Channel {
    type Target = Object<Clock>;

    fn deref(&self) -> &Object<Clock> {
        &self.0.object
    }
}

// A message's send is recorded after the update: outside of a block each is a transaction of its
// own, and whoever found nothing before the update comes before the message's receipt as well.
//
// The real operations run untracked: they may allocate, and what an allocator does in the middle of
// an operation has no room in its record.

impl Channel {
    #[track_caller]
    pub(crate) fn new(type_name: TypeName, transfer: Transfer) -> Self {
        Self(Arc::new(State {
            object: Object::clocked(ObjectKind::Channel, type_name),
            in_flight: AtomicU32::new(0),
            transfer,
        }))
    }

    #[cfg(feature = "crossbeam-channel")]
    pub(crate) fn transfer(&self) -> Transfer {
        self.0.transfer
    }

    /// What it is to send, `kind`, or to receive.
    #[inline(always)]
    pub(crate) fn intent(&self, kind: Kind, site: &'static Location<'static>) -> Intent<'_> {
        Intent::new(kind, &self.0.object, site)
    }

    /// Puts a message into the channel and updates its state, as one; where the channel refuses it,
    /// that counts as `refused`. `send` must not wait.
    fn put<T, E>(
        &self,
        pen: Pen,
        site: &'static Location<'static>,
        parcel: &mut Parcel<T>,
        refused: Effect,
        send: impl FnOnce(&mut Parcel<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        pen.attempt(self, site, || match untracked(|| send(parcel)) {
            Ok(()) => (Ok(()), Effect::Did(What::UpdateChannel)),
            Err(error) => (Err(error), refused),
        })
    }

    /// Sends a message by `send`, which must not wait, to a channel that always has room.
    ///
    /// The update has its place before the message is visible, and the clock is free by then: the
    /// message may wake its receiver up, which updates the channel as well. That order is as good,
    /// because updates commute, and whoever looks for a message waits for those in flight.
    pub(crate) fn send_unbounded<T, E>(
        &self,
        pen: Pen,
        site: &'static Location<'static>,
        parcel: &mut Parcel<T>,
        send: impl FnOnce(&mut Parcel<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = pen.message();
        parcel.stamp(number, Transfer::Buffer);
        let drawn = pen.enter(self).map(|operation| {
            // In the turn: whoever sees its version sees this.
            self.0.in_flight.fetch_add(1, Ordering::Relaxed);
            operation.draw()
        });
        let sent = untracked(|| send(parcel));
        if let Some(drawn) = drawn {
            self.0.in_flight.fetch_sub(1, Ordering::Release);
            let what = if sent.is_ok() {
                What::UpdateChannel
            } else {
                What::Read
            };
            drawn.record(what, site);
        }
        match sent {
            Ok(()) => pen.send(number, site),
            Err(_) => {
                parcel.unstamp(pen);
                pen.pause(site);
            }
        }
        sent
    }

    /// Sends a message by `send`, which must not wait.
    pub(crate) fn send<T, E>(
        &self,
        pen: Pen,
        site: &'static Location<'static>,
        parcel: &mut Parcel<T>,
        send: impl FnOnce(&mut Parcel<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = pen.message();
        let receipt = parcel.stamp(number, self.0.transfer);
        let refused = if pen.in_block() {
            Effect::Did(What::Read)
        } else {
            Effect::Nothing
        };
        if let Err(error) = self.put(pen, site, parcel, refused, send) {
            parcel.unstamp(pen);
            pen.pause(site);
            return Err(error);
        }
        pen.send(number, site);
        if let Some(receipt) = receipt {
            pen.split(site);
            receipt.take(self, pen, site);
        }
        Ok(())
    }

    /// Sends a message by `try_send`, which must not wait, or, where that finds no place for it, by
    /// `wait`, which may.
    pub(crate) fn send_or_wait<T>(
        &self,
        pen: Pen,
        site: &'static Location<'static>,
        parcel: &mut Parcel<T>,
        try_send: impl Fn(&mut Parcel<T>) -> Result<(), TrySendError<()>>,
        wait: impl FnOnce(&mut Parcel<T>) -> Result<(), SendTimeoutError<()>>,
    ) -> Result<(), SendTimeoutError<()>> {
        let number = pen.message();
        let receipt = parcel.stamp(number, self.0.transfer);
        let mut sent = self.put(pen, site, parcel, Effect::Nothing, &try_send);
        while matches!(sent, Err(TrySendError::Full(()))) && self.waits_for_change(pen, site) {
            sent = self.put(pen, site, parcel, Effect::Nothing, &try_send);
        }
        if let Err(TrySendError::Full(())) = sent {
            pen.atomic(self, site, || ((), What::UpdateChannel));
        }
        if let Err(TrySendError::Disconnected(())) = sent {
            parcel.unstamp(pen);
            return Err(SendTimeoutError::Disconnected(()));
        }
        pen.send(number, site);
        match sent {
            Ok(()) => {
                if receipt.is_some() {
                    pen.split(site);
                }
            }
            Err(_) => {
                pen.split(site);
                outside(|| untracked(|| wait(parcel)))?;
            }
        }
        if let Some(receipt) = receipt {
            receipt.take(self, pen, site);
        }
        Ok(())
    }

    /// After a send in vain: waits under control, in a new transaction, until the channel has
    /// changed. Not at a rendezvous, where only the real send is found by a receiver.
    fn waits_for_change(&self, pen: Pen, site: &'static Location<'static>) -> bool {
        if self.0.transfer == Transfer::Rendezvous || !is_controlled() {
            return false;
        }
        pen.split(site);
        let moment = self.order.when_free();
        wait(
            move || self.intent(Kind::Send, site),
            || !self.order.is_still(moment),
        );
        is_controlled()
    }

    /// Ends the transaction, and receives by `receive`, which may wait and is told how much time is
    /// left, if that is not what the program has asked for. Under control it is done by `attempt`,
    /// which does not wait, where `is_ready`, for at most `limit`.
    #[inline]
    pub(crate) fn receive<R>(
        &self,
        site: &'static Location<'static>,
        limit: impl FnOnce() -> Option<Duration>,
        is_ready: impl Fn() -> bool,
        attempt: impl Fn() -> Option<R>,
        receive: impl FnOnce(Option<Duration>) -> R,
    ) -> (Option<Pen>, R) {
        let Some(pen) = pen() else {
            return (None, receive(None));
        };
        pen.split(site);
        if !is_controlled() {
            return (Some(pen), untracked(|| receive(None)));
        }
        let tried = self.receive_in_turn(site, limit(), &is_ready, &attempt);
        let received = tried.unwrap_or_else(|left| outside(|| untracked(|| receive(left))));
        (Some(pen), received)
    }

    /// Receives by `attempt`. Where that is not possible, because the time is up, only the real
    /// receive meets a sender, or the strand is not controlled any more: how much time is left.
    #[cold]
    fn receive_in_turn<R>(
        &self,
        site: &'static Location<'static>,
        limit: Option<Duration>,
        is_ready: &dyn Fn() -> bool,
        attempt: &dyn Fn() -> Option<R>,
    ) -> Result<R, Option<Duration>> {
        let deadline = limit.and_then(|limit| now().checked_add(limit));
        let vain = Cell::new(None);
        let may_go_on = || match vain.get() {
            Some(moment) => !self.order.is_still(moment) && is_ready(),
            None => self.0.transfer == Transfer::Rendezvous || is_ready(),
        };
        loop {
            let limit = deadline.map(left_until);
            let (_, left) = wait_for(move || self.intent(Kind::Receive, site), limit, may_go_on);
            let is_in_turn = is_controlled();
            match untracked(attempt) {
                Some(received) => return Ok(received),
                None if !is_in_turn || left == Some(Duration::ZERO) => return Err(left),
                None if self.0.transfer == Transfer::Rendezvous => return Err(left),
                None => vain.set(Some(self.order.when_free())),
            }
        }
    }

    /// An end of the channel is dropped: whoever waits is to look again.
    #[cold]
    fn close(&self) {
        let Some(pen) = step(move || Intent::end(Kind::Close, &self.0.object)) else {
            return;
        };
        let _writer = pen.writer();
        if let Some(turn) = self.order.enter() {
            turn.change();
        }
    }

    /// The present moment, at which nobody is sending.
    pub(crate) fn moment(&self) -> Moment {
        let mut backoff = Backoff::default();
        loop {
            let moment = self.order.when_free();
            if self.0.in_flight.load(Ordering::Acquire) == 0 || !backoff.relax() {
                return moment;
            }
        }
    }

    /// Records that a try was in vain at an earlier moment, unless the channel has changed since:
    /// whether it has not.
    pub(crate) fn tried_in_vain(
        &self,
        pen: Pen,
        site: &'static Location<'static>,
        moment: Moment,
    ) -> bool {
        if !pen.in_block() {
            return true;
        }
        let is_same = pen.read_at(self, site, moment);
        if is_same {
            pen.pause(site);
        }
        is_same
    }

    /// Takes something out, or finds room, if there is any. What is done to the channel then is
    /// recorded by the caller.
    pub(crate) fn attempt<R, E>(
        &self,
        pen: Option<Pen>,
        site: &'static Location<'static>,
        attempt: impl Fn() -> Result<R, E>,
    ) -> Result<R, E> {
        let Some(pen) = pen else {
            return attempt();
        };
        loop {
            let moment = self.moment();
            let done = untracked(&attempt);
            if done.is_ok() || self.tried_in_vain(pen, site, moment) {
                return done;
            }
        }
    }
}

impl Pen {
    /// The number of a message to be sent, which travels with it.
    pub(crate) fn message(self) -> u32 {
        let _writer = self.writer();
        self.0.ids.draw()
    }

    /// Takes back the number of a message that was not sent.
    pub(crate) fn unsend(self, message: u32) {
        let _writer = self.writer();
        self.0.ids.put_back(message);
    }

    /// A message was sent. It may have been received already: what counts as its sending is the
    /// last record before this one.
    pub(crate) fn send(self, message: u32, site: &'static Location<'static>) {
        self.writer().push(What::Send, message, 0, code::site(site));
    }

    /// A message was received.
    pub(crate) fn receive(self, message: u32, site: &'static Location<'static>) {
        self.writer().push(What::Recv, message, 1, code::site(site));
    }

    /// A message was dropped unreceived.
    fn lose(self, message: u32) {
        self.writer().push(What::Lost, message, 1, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::any::type_name;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::record::pen;

    #[test]
    fn a_receive_does_not_wait_for_the_send_that_woke_it_up_and_a_look_does() {
        let site = Location::caller();
        let channel = &Channel::new(type_name::<()>, Transfer::Buffer);
        let (sender, receiver) = mpsc::channel();
        let mut look = None;
        let mut parcel = Parcel::new(7);
        let sent = channel.send_unbounded(pen().unwrap(), site, &mut parcel, |parcel| {
            let shared = channel.clone();
            let looker = thread::spawn(move || shared.moment());
            sender.send(parcel.take()).map_err(drop)?;
            let receive = move || {
                let envelope = receiver.recv().unwrap();
                envelope.open_from(channel, pen(), site)
            };
            thread::scope(|scope| assert_eq!(scope.spawn(receive).join().unwrap(), 7));
            thread::sleep(Duration::from_millis(20));
            assert!(!looker.is_finished());
            look = Some(looker);
            Ok::<(), ()>(())
        });
        assert_eq!(sent, Ok(()));
        let moment = look.unwrap().join().unwrap();
        // The look comes after both updates.
        assert_eq!((moment.ticket(), moment.version()), (2, 2));
    }
}
