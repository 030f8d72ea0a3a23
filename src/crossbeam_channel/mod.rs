//! `crossbeam-channel` 0.5, tracked.
//!
//! Without the `check` feature every name here *is* the one of crossbeam-channel. With it, the ends
//! of a channel, its iterators and [`Select`] are types of the same interface that record what is
//! done with them, by the same rules as those of [`sync::mpsc`](crate::sync::mpsc); the channel
//! itself is crossbeam's, and the error types are its own in either build.
//!
//! ```
//! use aerodrome::crossbeam_channel::{bounded, select, unbounded};
//!
//! let (orders, incoming) = unbounded();
//! let (stop, stopped) = bounded::<()>(0);
//! orders.send(7).unwrap();
//! select! {
//!     recv(incoming) -> order => assert_eq!(order, Ok(7)),
//!     recv(stopped) -> _ => unreachable!("nobody has stopped"),
//! }
//! # drop(stop);
//! ```
//!
//! # What is recorded
//!
//! | operation | recorded as |
//! |---|---|
//! | a message is sent, received | its send before its receipt; different messages order nothing. Either also updates the channel's state, and these updates commute |
//! | `try_recv`, `recv_timeout`, `try_select`, `try_ready` and their kin, in vain | a read of the state of each channel in which no message was found |
//! | `len`, `is_empty`, `is_full` | a read of the channel's state; nothing where the capacity is 0, for then they never change |
//! | `recv`, `recv_timeout`, `recv_deadline`, their iterators | end an atomic block, which begins again after them: waiting for another strand's progress cannot be atomic |
//! | `send`, `send_timeout`, `send_deadline` | the same, if there is no room at once |
//! | any of them into a channel of capacity 0 | the same, and an order both ways: what the receiver did before it came comes before what the sender does after. The wait of either is over when both have met |
//! | `select` and `ready` and their timed forms, `select!` without an empty `default` | end the block as well, unless all of their operations are sends and one of them finds room at once |
//! | a selected operation | when it is completed, as the same operation without the selection; `select!` completes it where it stands |
//! | a message of [`after`], [`at`] or [`tick`] | nothing: nobody has sent it |
//! | `try_send` in vain | in a block, a read of the state and a pause; outside, nothing |
//! | `capacity`, `same_channel`, disconnection | nothing |
//!
//! In a vain attempt that is made of several channels at once, a channel into which a message was
//! sent while the attempt was being recorded may be left out. A send into a channel of capacity 0
//! updates its state when it offers the message: a vain `try_recv` that comes a moment too early
//! for the offer may be ordered after it.
//!
//! # Which version
//!
//! crossbeam-channel 0.5, by the feature `crossbeam-channel`. A program that uses another major
//! version has other types: the compiler then says that it expected the `SendError` (or the like)
//! of one version of `crossbeam_channel` and found that of another, and, with `check`, that an end
//! of a channel is not the one of this module.
//!
//! # Left out
//!
//! The hidden module behind crossbeam's own macros (`internal`). With `check`, the macros explain a
//! mistake in an arm in fewer ways, and take more than 32 arms.

#[cfg(feature = "check")]
mod channel;
#[cfg(feature = "check")]
mod select;
#[cfg(feature = "check")]
mod select_macro;
#[cfg(feature = "check")]
mod timer;

#[cfg(not(feature = "check"))]
pub use ::crossbeam_channel::{
    IntoIter, Iter, Receiver, Select, SelectedOperation, Sender, TryIter, after, at, bounded,
    never, select, select_biased, tick, unbounded,
};

#[cfg(feature = "check")]
pub use self::{
    channel::{
        IntoIter, Iter, Receiver, Sender, TryIter, after, at, bounded, never, tick, unbounded,
    },
    select::{Select, SelectedOperation},
};
#[cfg(feature = "check")]
#[doc(hidden)]
pub use crate::__crossbeam_channel_internal as crossbeam_channel_internal;
#[cfg(feature = "check")]
#[doc(inline)]
pub use crate::{
    __crossbeam_channel_select as select, __crossbeam_channel_select_biased as select_biased,
};
#[cfg(not(feature = "check"))]
#[doc(hidden)]
pub use ::crossbeam_channel::crossbeam_channel_internal;

// crossbeam's own in either build.
pub use ::crossbeam_channel::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError,
    SendTimeoutError, TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
