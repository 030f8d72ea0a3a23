//! Recording: what a strand does, written into its own buffer.
//!
//! A mirror asks for the strand's [`Pen`] *before* it performs an operation: the pen comes with
//! room for the operation's records, so that a ticket, once drawn, is always published without
//! waiting. Then it performs the operation, and records it where the object is owned: after an
//! acquisition, before a release, inside a read-modify-write. No allocation, no lock of ours, no
//! hashing and no formatting is on that way.
//!
//! Tickets and records make one exact order without a global clock. Order all records by the
//! instant at which they drew their ticket: program order and every object's order increase with
//! it, so their union is acyclic, and every linear extension of it keeps the order of every
//! conflicting pair. Accesses through a guard draw no ticket, because the lock's own records
//! enclose them.
//!
//! There are three rooms. [`buffer`] has the records and where they are written and read,
//! [`strand`] who writes them, and [`ops`] what is written for each operation. Whoever takes the
//! records is behind [`host`].

pub(crate) mod buffer;
pub(crate) mod control;
pub(crate) mod host;
pub(crate) mod names;
mod ops;
pub(crate) mod stacks;
mod strand;
pub(crate) mod value;

pub(crate) use self::buffer::chunk::{Chunk, Published};
pub(crate) use self::buffer::record::{Record, What};
pub(crate) use self::buffer::{code, pool};
pub(crate) use self::control::{
    Intent, Kind, Turn, Waiters, is_controlled, now, outside, step_look_at, step_notify, step_weak,
    wait, wait_for, wait_for_end,
};
pub(crate) use self::host::guarded;
pub(crate) use self::ops::{
    Cursor, Done, Effect, Exclusive, Object, OnceCore, Order, Shared, be_thorough, begin, channel,
    clock, end, found_locked, initialise, publish, try_end,
};
#[cfg(feature = "parking_lot")]
pub(crate) use self::ops::{Gate, Holder, about_to_wait};
pub(crate) use self::strand::{
    Child, Fiber, Origin, Part, Pen, Runner, Strand, Suspended, Untracked, current, current_name,
    deliver_here, exit, is_first_of_family, name_current_strand, never_track_this_thread,
    new_family, open_blocks, pen, regroup, step, untracked,
};
