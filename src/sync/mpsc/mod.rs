//! `std::sync::mpsc`, tracked.
//!
//! A message's send comes before its receipt; different messages order nothing. A send or a receipt
//! also updates the channel's state, and a `try_recv` (or a `recv_timeout` that runs out) that
//! finds nothing reads it. A receive that can wait ends an atomic block, which begins again after
//! it. A channel of capacity 0 orders both ways: what the receiver did before it came comes before
//! what the sender does after; so a send into it ends an atomic block as well, as does a send that
//! has to wait for room.
//!
//! A vain `try_recv` is ordered before every send that it missed, with one exception: a send that
//! found the channel full has updated its state before it waits, and a `try_recv` that empties the
//! channel before the waiting message is in it comes after that update.

#[cfg(feature = "check")]
mod channel;

pub use std::sync::mpsc::*;

#[cfg(feature = "check")]
pub use self::channel::{
    IntoIter, Iter, Receiver, Sender, SyncSender, TryIter, channel, sync_channel,
};
