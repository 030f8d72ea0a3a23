//! What a guard carries: that its lock was taken, by whom, and what of its content was touched; and what a raw lock carries, which has no guard.
//!
//! A guard records its release if and only if its acquire was recorded. It stands before the real guard in its struct, so that it is dropped,
//! and the release recorded, while the lock is still held.

use std::panic::Location;
#[cfg(feature = "parking_lot")]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "parking_lot")]
use super::chunk::GUARDS_MOVE;
#[cfg(feature = "parking_lot")]
use super::code::TypeName;
use super::{Object, Pen, quiet_pen};
#[cfg(feature = "parking_lot")]
use crate::trace::ObjectKind;

/// The strand that took a lock and what it has touched since. Accesses of the strand itself need no ticket, because the lock's records enclose them.
/// A guard that is shared with other strands is theirs for reading alone, and their reads draw tickets: nobody can release the lock
/// meanwhile, so nobody draws them without `fetch_add`.
#[derive(Debug)]
pub(crate) struct Holder {
    /// The number of the strand plus one; 0 if the acquire was not recorded, so nothing else is; [`MOVING`] if there may be others.
    strand: u32,
    /// The epochs in which the content was last read, and last written. Different strands never share one.
    read: AtomicU64,
    write: AtomicU64,
}

/// No strand's number plus one: every access draws a ticket.
#[cfg(feature = "parking_lot")]
const MOVING: u32 = u32::MAX;

impl Holder {
    /// For a guard that may be sent to another strand. The lock's records do not enclose the accesses of a strand that recorded only one of the two.
    #[cfg(feature = "parking_lot")]
    #[inline]
    pub(crate) fn sendable(pen: Option<Pen>) -> Self {
        let mut holder = Self::new(pen);
        if GUARDS_MOVE && holder.strand != 0 {
            holder.strand = MOVING;
        }
        holder
    }

    #[inline]
    pub(crate) fn new(pen: Option<Pen>) -> Self {
        Self {
            strand: pen.map_or(0, |pen| pen.strand() + 1),
            read: AtomicU64::new(0),
            write: AtomicU64::new(0),
        }
    }

    /// The pen for the release, if the acquire was recorded.
    #[inline]
    fn pen(&self) -> Option<Pen> {
        if self.strand == 0 { None } else { quiet_pen() }
    }

    #[inline]
    pub(crate) fn read(&self, object: &Object, site: &'static Location<'static>) {
        let Some(pen) = self.pen() else { return };
        let epoch = pen.epoch();
        if self.read.load(Ordering::Relaxed) != epoch && self.write.load(Ordering::Relaxed) != epoch
        {
            if self.strand == pen.strand() + 1 {
                pen.guard_read(object, site);
            } else {
                pen.read_shared(object, site);
            }
            self.read.store(pen.epoch(), Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn write(&self, object: &Object, site: &'static Location<'static>) {
        let Some(pen) = self.pen() else { return };
        if self.write.load(Ordering::Relaxed) != pen.epoch() {
            if self.strand == pen.strand() + 1 {
                pen.guard_write(object, site);
            } else {
                pen.write_moved(object, site);
            }
            self.write.store(pen.epoch(), Ordering::Relaxed);
        }
    }
}

/// A lock is held by one; dropped right before it is given back.
#[derive(Debug)]
pub(crate) struct Exclusive<'a> {
    object: &'a Object,
    holder: Holder,
}

impl<'a> Exclusive<'a> {
    /// The lock has just been taken; `pen` was asked for before that.
    #[inline]
    pub(crate) fn new(
        pen: Option<Pen>,
        object: &'a Object,
        site: &'static Location<'static>,
    ) -> Self {
        if let Some(pen) = pen {
            pen.acquire(object, site);
        }
        Self {
            object,
            holder: Holder::new(pen),
        }
    }

    /// The content is read.
    #[inline]
    pub(crate) fn read(&self, site: &'static Location<'static>) {
        self.holder.read(self.object, site);
    }

    /// The content is about to be written.
    #[inline]
    pub(crate) fn write(&self, site: &'static Location<'static>) {
        self.holder.write(self.object, site);
    }

    /// Records the release; the object, for when the lock is taken again.
    #[inline]
    pub(crate) fn leave(self) -> &'a Object {
        self.object
    }

    /// The lock is about to let others in, and stays ours among them.
    pub(crate) fn downgrade(self, site: &'static Location<'static>) -> Shared<'a> {
        let (object, pen) = (self.object, self.holder.pen());
        std::mem::forget(self);
        if let Some(pen) = pen {
            pen.downgrade(object, site);
        }
        Shared {
            object,
            holder: Holder::new(pen),
        }
    }
}

impl Drop for Exclusive<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(pen) = self.holder.pen() {
            pen.release(self.object);
        }
    }
}

/// A lock is held by several; dropped right before it is given back.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    object: &'a Object,
    holder: Holder,
}

impl<'a> Shared<'a> {
    /// The lock has just been taken; `pen` was asked for before that.
    #[inline]
    pub(crate) fn new(
        pen: Option<Pen>,
        object: &'a Object,
        site: &'static Location<'static>,
    ) -> Self {
        if let Some(pen) = pen {
            pen.acquire_shared(object, site);
        }
        Self {
            object,
            holder: Holder::new(pen),
        }
    }

    /// The content is read.
    #[inline]
    pub(crate) fn read(&self, site: &'static Location<'static>) {
        self.holder.read(self.object, site);
    }
}

impl Drop for Shared<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(pen) = self.holder.pen() {
            pen.release_shared(self.object);
        }
    }
}

/// What a raw lock carries, which is taken and given back without a guard, perhaps by different strands.
#[cfg(feature = "parking_lot")]
#[derive(Debug)]
pub(crate) struct Gate {
    object: Object,
    /// Whether the acquire of the exclusive holder was recorded. Only that holder touches it.
    recorded: AtomicBool,
}

#[cfg(feature = "parking_lot")]
impl Gate {
    /// For a lock around what nobody sees: it orders by itself.
    #[track_caller]
    pub(crate) const fn bare(type_name: TypeName) -> Self {
        Self {
            object: Object::new(ObjectKind::BareLock, type_name),
            recorded: AtomicBool::new(false),
        }
    }

    /// The lock is put around a `T`, the accesses of which are seen.
    #[track_caller]
    pub(crate) const fn describe<T>(&mut self, type_name: TypeName) {
        self.object.describe::<T>(type_name);
    }

    #[inline]
    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    /// The lock has just been taken exclusively; `pen` was asked for before that.
    #[inline]
    pub(crate) fn entered(&self, pen: Option<Pen>, site: &'static Location<'static>) {
        self.recorded.store(pen.is_some(), Ordering::Relaxed);
        if let Some(pen) = pen {
            pen.acquire(&self.object, site);
            if GUARDS_MOVE {
                // Another strand may give it back, and its record must not wait for ours.
                pen.flush_held();
            }
        }
    }

    /// The lock, held exclusively, is about to be given back.
    #[inline]
    pub(crate) fn leaving(&self) {
        if self.recorded.load(Ordering::Relaxed)
            && let Some(pen) = quiet_pen()
        {
            pen.release(&self.object);
        }
    }

    /// The lock has just been taken as one of several holders; `pen` was asked for before that.
    #[inline]
    pub(crate) fn entered_shared(&self, pen: Option<Pen>, site: &'static Location<'static>) {
        if let Some(pen) = pen {
            pen.acquire_shared(&self.object, site);
        }
    }

    /// The lock, held by us and perhaps others, is about to be given back.
    #[inline]
    pub(crate) fn leaving_shared(&self) {
        if let Some(pen) = quiet_pen() {
            pen.release_shared(&self.object);
        }
    }

    /// A shared holder has just become the exclusive one; `pen` was asked for before that.
    pub(crate) fn upgraded(&self, pen: Option<Pen>, site: &'static Location<'static>) {
        self.recorded.store(pen.is_some(), Ordering::Relaxed);
        if let Some(pen) = pen {
            pen.upgrade(&self.object, site);
        }
    }

    /// The exclusive holder is about to let others in, and stays one of them.
    pub(crate) fn downgrading(&self, site: &'static Location<'static>) {
        if self.recorded.load(Ordering::Relaxed)
            && let Some(pen) = quiet_pen()
        {
            pen.downgrade(&self.object, site);
        }
    }
}
