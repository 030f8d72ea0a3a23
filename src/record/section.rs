//! What a guard carries: that its lock was taken, by whom, and what of its content was touched.
//!
//! A guard records its release if and only if its acquire was recorded. It stands before the real guard in its struct, so that it is dropped,
//! and the release recorded, while the lock is still held.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Object, Pen, What, quiet_pen};

/// The strand that took a lock and what it has touched since. Accesses of the strand itself need no ticket, because the lock's records enclose them.
/// A guard that is shared with other strands is theirs for reading alone, and their reads draw tickets: nobody can release the lock
/// meanwhile, so nobody draws them without `fetch_add`.
#[derive(Debug)]
struct Holder {
    /// The number of the strand plus one; 0 if the acquire was not recorded, so nothing else is.
    strand: u32,
    /// The epochs in which the content was last read, and last written. Different strands never share one.
    read: AtomicU64,
    write: AtomicU64,
}

impl Holder {
    #[inline]
    fn new(pen: Option<Pen>) -> Self {
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
    fn read(&self, object: &Object, site: &'static Location<'static>) {
        let Some(pen) = self.pen() else { return };
        let epoch = pen.epoch();
        if self.read.load(Ordering::Relaxed) != epoch && self.write.load(Ordering::Relaxed) != epoch
        {
            if self.strand == pen.strand() + 1 {
                pen.guard_read(object, site);
            } else {
                pen.event(What::Read, object, site);
            }
            self.read.store(pen.epoch(), Ordering::Relaxed);
        }
    }

    #[inline]
    fn write(&self, object: &Object, site: &'static Location<'static>) {
        let Some(pen) = self.pen() else { return };
        if self.write.load(Ordering::Relaxed) != pen.epoch() {
            pen.guard_write(object, site);
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
