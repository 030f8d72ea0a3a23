//! The operations: for each kind of thing that is tracked, what is recorded when.
//!
//! A mirror asks for a [`Pen`](super::Pen) before it performs an operation, and hands it to the one
//! function here that stands for the operation.

mod atomic;
mod block;
pub(crate) mod channel;
pub(crate) mod clock;
pub(in crate::record) mod lock;
pub(in crate::record) mod object;
mod once;
mod thread;

pub(in crate::record) use self::atomic::is_thorough;
pub(crate) use self::atomic::{Effect, be_thorough, tell_values};
pub(crate) use self::block::{begin, end, try_end};
pub(crate) use self::lock::{Exclusive, Shared, found_locked};
#[cfg(feature = "parking_lot")]
pub(crate) use self::lock::{Gate, Holder, about_to_wait};
pub(crate) use self::object::{Object, Order};
pub(crate) use self::once::{Done, OnceCore, initialise, publish};
pub(crate) use self::thread::Cursor;
