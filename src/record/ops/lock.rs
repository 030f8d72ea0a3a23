//! Locks: what is recorded of them, what a guard carries (that its lock was taken, by whom, and
//! what of its content was touched), and what a raw lock carries, which has no guard.
//!
//! A guard records its release if and only if its acquire was recorded. It stands before the real
//! guard in its struct, so that it is dropped, and the release recorded, while the lock is still
//! held.
//!
//! A guard's functions are inlined into the program where that is optimised, and are calls where it
//! is not: with `opt-level` set for this crate alone, the recording still runs optimised.

use std::mem;
use std::panic::Location;
#[cfg(feature = "parking_lot")]
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::atomic::{AtomicU64, Ordering};

use super::object::{Number, Object};
use crate::record::buffer::chunk::Slot;
use crate::record::buffer::code;
#[cfg(feature = "parking_lot")]
use crate::record::buffer::code::TypeName;
use crate::record::buffer::prim::rarely;
use crate::record::buffer::record::{GUARDS_MOVE, READ, Record, SHARED, WRITE, What};
use crate::record::control::Intent;
use crate::record::strand::{NOBODYS_EPOCH, Pen, Strand, Writer, finish_step, pen, step, strand};
#[cfg(feature = "parking_lot")]
use crate::trace::ObjectKind;

/// What a record says of an object and a site, where the object has its number and the site is near
/// our image.
#[inline(always)]
fn coded(object: &Object, site: &'static Location<'static>) -> Option<(u32, u32)> {
    match object.id.number() {
        0 => None,
        id => Some((id, code::near(site)?)),
    }
}

/// The same, and the slot, of an acquire that is the first record of a usual block.
#[inline(always)]
fn usual(
    writer: &Writer<'_>,
    object: &Object,
    site: &'static Location<'static>,
) -> Option<(*mut Slot, u32, u32)> {
    let slot = writer.slot_at_begin()?;
    let (id, site) = coded(object, site)?;
    Some((slot, id, site))
}

impl Pen {
    /// The lock has just been taken exclusively.
    #[inline(always)]
    pub(crate) fn acquire(self, object: &Object, site: &'static Location<'static>) {
        let writer = self.writer();
        if let Some((slot, id, site)) = usual(&writer, object, site) {
            let acquire = Record::acquire(0, id, object.order.draw(), site);
            writer.hold_back_first(slot, acquire);
        } else {
            rarely();
            mem::forget(writer);
            self.acquire_next(object, site);
        }
    }

    /// An acquire that is not the first record of a usual block, or is unusual itself. The strand is
    /// busy.
    #[inline(never)]
    extern "C" fn acquire_next(self, object: &Object, site: &'static Location<'static>) {
        match coded(object, site) {
            Some((id, site)) => {
                let acquire = Record::acquire(0, id, object.order.draw(), site);
                self.writer_again().hold_back(acquire);
            }
            None => self.acquire_slow(object, site),
        }
    }

    /// An acquire of an object that has no number yet, or at a site that is far from our image. The
    /// strand is busy.
    #[cold]
    #[inline(never)]
    extern "C" fn acquire_slow(self, object: &Object, site: &'static Location<'static>) {
        drop(self.writer_again());
        let id = self.identify(object);
        let acquire = Record::acquire(0, id, object.order.draw(), code::site(site));
        self.writer().hold_back(acquire);
    }

    /// The lock has just been taken as one of several holders.
    #[inline(always)]
    pub(crate) fn acquire_shared(self, object: &Object, site: &'static Location<'static>) {
        // First: the cache line has just been written to, and other holders want it as well.
        let ticket = object.order.draw_shared();
        let writer = self.writer();
        match usual(&writer, object, site) {
            Some((slot, id, site)) if !GUARDS_MOVE => {
                writer.hold_back_first(slot, Record::acquire(SHARED, id, ticket, site));
            }
            _ => {
                rarely();
                drop(writer);
                self.acquire_shared_slow(object, ticket, site);
            }
        }
    }

    /// A shared acquire that is not the first record of a usual block, of an object that has no
    /// number yet, at a site that is far from our image, or with a guard that may move.
    #[inline(never)]
    extern "C" fn acquire_shared_slow(
        self,
        object: &Object,
        ticket: u32,
        site: &'static Location<'static>,
    ) {
        let (id, site) = (self.identify(object), code::site(site));
        if GUARDS_MOVE {
            self.writer().push(What::AcquireShared, id, ticket, site);
        } else {
            let acquire = Record::acquire(SHARED, id, ticket, site);
            self.writer().hold_back(acquire);
        }
    }

    /// The lock, held exclusively, is about to be given back.
    #[inline]
    pub(crate) fn release(self, object: &Object, taken: u32) {
        if self.writer().close(object) {
            return;
        }
        let id = self.identify(object);
        self.writer()
            .push(What::Release, id, object.order.draw(), taken);
    }

    /// The lock, held by us and perhaps others, is about to be given back.
    #[inline]
    pub(crate) fn release_shared(self, object: &Object, taken: u32) {
        if self.writer().close(object) {
            return;
        }
        let id = self.identify(object);
        let ticket = object.order.draw_shared();
        self.writer().push(What::ReleaseShared, id, ticket, taken);
    }

    /// A shared holder has just become the exclusive one.
    #[cfg(feature = "parking_lot")]
    pub(crate) fn upgrade(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.writer()
            .push(What::Upgrade, id, object.order.draw(), code::site(site));
    }

    /// The exclusive holder is about to let others in, and stays one of them.
    pub(crate) fn downgrade(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.writer()
            .push(What::Downgrade, id, object.order.draw(), code::site(site));
    }

    /// Whether a guard's read is recorded when something else is: outside of blocks a wait on a
    /// condition variable takes it back.
    fn puts_off_reads(self) -> bool {
        let state = self.0.state.get();
        state.is_careful() && !state.in_block()
    }

    /// A guard's content is read.
    fn guard_read(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.writer().push(What::GuardRead, id, 0, code::site(site));
    }

    /// A guard's content is about to be written.
    fn guard_write(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.writer()
            .push(What::GuardWrite, id, 0, code::site(site));
    }

    /// What a lock guards is read by a strand that did not take it.
    fn read_shared(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        let ticket = object.order.draw_shared();
        self.writer()
            .push(What::ReadShared, id, ticket, code::site(site));
    }

    /// What a lock guards is about to be written through a guard that may have come from another
    /// strand.
    fn write_moved(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.writer()
            .push(What::Write, id, object.order.draw(), code::site(site));
    }
}

/// A `try_lock` has found the lock taken, which is a pause.
#[cold]
#[inline(never)]
pub(crate) fn found_locked(pen: Option<Pen>, object: &Object, site: &'static Location<'static>) {
    if let Some(pen) = pen.filter(|pen| pen.in_block()) {
        let id = pen.identify(object);
        pen.writer().push(What::Busy, id, 0, code::site(site));
        pen.pause(site);
    }
}

/// The strand is about to wait on a condition variable, with the lock held. Outside of blocks what
/// it has read since the acquire led only to waiting and is taken back; inside, the checker decides.
pub(crate) fn about_to_wait(object: &Object) {
    let strand = strand();
    if strand.state.get().held() != 0 {
        strand.writer().take_back_read(object);
    } else if strand.state.get().is_careful() {
        strand.unwritten_read.set(None);
    }
}

/// The strand that took a lock and what it has touched since. Accesses of the strand itself need no
/// ticket, because the lock's records enclose them. A guard that is shared with other strands is
/// theirs for reading alone, and their reads draw tickets: nobody can release the lock meanwhile,
/// so nobody draws them without `fetch_add`.
#[derive(Debug)]
pub(crate) struct Holder {
    /// The address of the strand; 0 if the acquire was not recorded, so nothing else is; [`MOVING`]
    /// if there may be others.
    strand: usize,
    /// The epoch in which the content was last touched, and how. Different strands never share one.
    touched: AtomicU64,
}

/// No strand's address: every access draws a ticket.
const MOVING: usize = usize::MAX;

/// What a thread that is not tracked touches in its only epoch, it has touched.
const UNTRACKED: u64 = NOBODYS_EPOCH | WRITE as u64;

/// What of [`Holder::touched`] is the epoch.
const EPOCH: u64 = !3;

impl Holder {
    /// For a guard that may be sent to another strand. The lock's records do not enclose the
    /// accesses of a strand that recorded only one of the two.
    #[cfg(any(feature = "parking_lot", feature = "tokio"))]
    #[inline]
    pub(crate) fn sendable(pen: Option<Pen>) -> Self {
        let mut holder = Self::new(pen);
        if GUARDS_MOVE && holder.strand != 0 {
            holder.strand = MOVING;
        }
        holder
    }

    #[inline(always)]
    pub(crate) fn new(pen: Option<Pen>) -> Self {
        let (strand, touched) = match pen {
            Some(Pen(strand)) => (strand.address(), 0),
            None => (0, UNTRACKED),
        };
        Self {
            strand,
            touched: AtomicU64::new(touched),
        }
    }

    /// The strand that took the lock, if this thread is that, and the acquire was recorded.
    #[inline(always)]
    fn own_strand(&self) -> Option<&'static Strand> {
        let strand = strand();
        if self.strand == strand.address() {
            Some(strand)
        } else {
            None
        }
    }

    /// Records the release, if there is nothing to record or the acquire is still held back.
    #[inline(always)]
    fn closes(&self, object: &Object) -> bool {
        match self.own_strand() {
            Some(strand) if strand.writer().close(object) => true,
            _ => {
                rarely();
                self.strand == 0
            }
        }
    }

    #[inline(always)]
    pub(crate) fn read(&self, object: &Object, site: &'static Location<'static>) {
        let own = self.own_strand();
        if matches!(own, Some(strand) if strand.writer().touch(READ, object, site)) {
            return;
        }
        rarely();
        if self.touched.load(Ordering::Relaxed) & EPOCH != strand().epoch.get() {
            let touched = read_slow(self.strand, object, site);
            self.touched.store(touched, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(crate) fn write(&self, object: &Object, site: &'static Location<'static>) {
        let own = self.own_strand();
        if matches!(own, Some(strand) if strand.writer().touch(WRITE, object, site)) {
            return;
        }
        rarely();
        if self.touched.load(Ordering::Relaxed) != strand().epoch.get() | u64::from(WRITE) {
            let touched = write_slow(self.strand, object, site);
            self.touched.store(touched, Ordering::Relaxed);
        }
    }
}

// These take what they need by value: a guard whose address nobody has can be kept in registers.

/// A read that is a record of its own, by way of a guard of `holder`: the epoch it happened in, and
/// how.
#[inline(never)]
extern "C" fn read_slow(holder: usize, object: &Object, site: &'static Location<'static>) -> u64 {
    if touches_first(holder, READ, object, site) {
        return strand().epoch.get() | u64::from(READ);
    }
    read_alone(holder, object, site)
}

/// The same, where no acquire is held back that could be amended.
#[inline(never)]
extern "C" fn read_alone(holder: usize, object: &Object, site: &'static Location<'static>) -> u64 {
    let Some(pen) = pen_of(holder) else {
        return UNTRACKED;
    };
    if holder == pen.0.address() && pen.puts_off_reads() {
        pen.0
            .unwritten_read
            .set(Some((pen.identify(object), code::site(site))));
    } else if holder == pen.0.address() {
        pen.guard_read(object, site);
    } else {
        pen.read_shared(object, site);
    }
    pen.0.epoch.get() | u64::from(READ)
}

/// A write that is a record of its own.
#[inline(never)]
extern "C" fn write_slow(holder: usize, object: &Object, site: &'static Location<'static>) -> u64 {
    if touches_first(holder, WRITE, object, site) {
        return strand().epoch.get() | u64::from(WRITE);
    }
    write_alone(holder, object, site)
}

/// The same, where no acquire is held back that could be amended.
#[inline(never)]
extern "C" fn write_alone(holder: usize, object: &Object, site: &'static Location<'static>) -> u64 {
    let Some(pen) = pen_of(holder) else {
        return UNTRACKED;
    };
    if holder == pen.0.address() {
        pen.guard_write(object, site);
    } else {
        pen.write_moved(object, site);
    }
    pen.0.epoch.get() | u64::from(WRITE)
}

/// Remembers that the content of the lock was touched, if its acquire is the first of two that this
/// strand holds back.
#[inline(always)]
fn touches_first(
    holder: usize,
    how: u32,
    object: &Object,
    site: &'static Location<'static>,
) -> bool {
    let strand = strand();
    holder == strand.address() && strand.writer().touch_first(how, object, site)
}

/// The pen for what is done by way of a guard, if its acquire was recorded.
#[inline]
fn pen_of(holder: usize) -> Option<Pen> {
    if holder == 0 { None } else { pen() }
}

/// A lock is held by one; dropped right before it is given back.
#[derive(Debug)]
pub(crate) struct Exclusive<'a> {
    object: &'a Object,
    holder: Holder,
    /// Where it was taken: a release happens in a destructor, which has no place of its own.
    taken: &'static Location<'static>,
}

impl<'a> Exclusive<'a> {
    /// The lock has just been taken; `pen` was asked for before that.
    #[cfg_attr(not(debug_assertions), inline(always))]
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
            taken: site,
        }
    }

    /// The same for a guard that may be given to another strand, whose release must not wait for
    /// this one's next record.
    #[cfg(feature = "tokio")]
    pub(crate) fn sendable(
        pen: Option<Pen>,
        object: &'a Object,
        site: &'static Location<'static>,
    ) -> Self {
        if let Some(pen) = pen {
            pen.acquire(object, site);
            pen.flush();
        }
        Self {
            object,
            holder: Holder::sendable(pen),
            taken: site,
        }
    }

    /// The content is read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&self, site: &'static Location<'static>) {
        self.holder.read(self.object, site);
    }

    /// The content is about to be written.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn write(&self, site: &'static Location<'static>) {
        self.holder.write(self.object, site);
    }

    pub(crate) fn object(&self) -> &'a Object {
        self.object
    }

    /// Records the release before a wait; the object, for when the lock is taken again.
    pub(crate) fn leave(self) -> &'a Object {
        about_to_wait(self.object);
        self.object
    }

    /// The lock is about to let others in, and stays ours among them.
    #[cfg(any(since = "1.92", feature = "tokio"))]
    pub(crate) fn downgrade(self, site: &'static Location<'static>) -> Shared<'a> {
        let (object, before) = (self.object, self.holder.strand);
        let pen = match before {
            0 => None,
            _ => step(Intent::unlock(object)),
        };
        mem::forget(self);
        if let Some(pen) = pen {
            pen.downgrade(object, site);
        }
        let mut holder = Holder::new(pen);
        if before == MOVING && holder.strand != 0 {
            holder.strand = MOVING;
        }
        Shared {
            object,
            holder,
            taken: site,
        }
    }
}

impl Drop for Exclusive<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        if !self.holder.closes(self.object) {
            release(self.object, self.taken);
        }
    }
}

/// A release that is a record of its own.
#[inline(never)]
extern "C" fn release(object: &Object, taken: &'static Location<'static>) {
    let strand = strand();
    if strand.buffer.is_ready() {
        let writer = strand.writer();
        match coded(object, taken) {
            Some((id, taken)) if writer.is_inside() => {
                let release = Record::new(What::Release, id, object.order.draw(), taken);
                return writer.write_inside(release);
            }
            _ => drop(writer),
        }
    }
    release_slow(object, taken);
}

/// The same outside of blocks, where an acquire is held back, the strand is suspended or has no room,
/// or the site is far from our image.
#[inline(never)]
extern "C" fn release_slow(object: &Object, taken: &'static Location<'static>) {
    finish_step(Intent::unlock(object), |pen| {
        pen.release(object, code::site(taken));
    });
}

/// A lock is held by several; dropped right before it is given back.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    object: &'a Object,
    holder: Holder,
    taken: &'static Location<'static>,
}

impl<'a> Shared<'a> {
    /// The lock has just been taken; `pen` was asked for before that.
    #[cfg_attr(not(debug_assertions), inline(always))]
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
            taken: site,
        }
    }

    /// The same for a guard that may be given to another strand.
    #[cfg(feature = "tokio")]
    pub(crate) fn sendable(
        pen: Option<Pen>,
        object: &'a Object,
        site: &'static Location<'static>,
    ) -> Self {
        if let Some(pen) = pen {
            pen.acquire_shared(object, site);
        }
        Self {
            object,
            holder: Holder::sendable(pen),
            taken: site,
        }
    }

    /// The content is read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&self, site: &'static Location<'static>) {
        self.holder.read(self.object, site);
    }
}

impl Drop for Shared<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        if !self.holder.closes(self.object) {
            release_shared_slow(self.object, self.taken);
        }
    }
}

/// A release that is a record of its own.
#[inline(never)]
extern "C" fn release_shared_slow(object: &Object, taken: &'static Location<'static>) {
    finish_step(Intent::unlock(object), |pen| {
        pen.release_shared(object, code::site(taken));
    });
}

/// What a raw lock carries, which is taken and given back without a guard, perhaps by different
/// strands.
#[cfg(feature = "parking_lot")]
#[derive(Debug)]
pub(crate) struct Gate {
    object: Object,
    /// Whether the acquire of the exclusive holder was recorded. Only that holder touches it.
    recorded: AtomicBool,
    /// Where the lock was last taken: nothing comes with a release.
    taken: AtomicU32,
}

#[cfg(feature = "parking_lot")]
impl Gate {
    /// For a lock around what nobody sees: it orders by itself.
    #[track_caller]
    pub(crate) const fn bare(type_name: TypeName) -> Self {
        Self {
            object: Object::new(ObjectKind::BareLock, type_name),
            recorded: AtomicBool::new(false),
            taken: AtomicU32::new(0),
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

    /// Remembers where the lock is taken.
    #[inline]
    fn take_at(&self, site: &'static Location<'static>) {
        self.taken.store(code::site(site), Ordering::Relaxed);
    }

    /// The lock has just been taken exclusively; `pen` was asked for before that.
    #[inline]
    pub(crate) fn entered(&self, pen: Option<Pen>, site: &'static Location<'static>) {
        self.recorded.store(pen.is_some(), Ordering::Relaxed);
        if let Some(pen) = pen {
            self.take_at(site);
            pen.acquire(&self.object, site);
            if GUARDS_MOVE {
                // Another strand may give it back, and its record must not wait for ours.
                pen.writer().flush();
            }
        }
    }

    /// The lock, held exclusively, is about to be given back.
    #[inline]
    pub(crate) fn leaving(&self) {
        if self.recorded.load(Ordering::Relaxed) {
            finish_step(Intent::unlock(&self.object), |pen| {
                pen.release(&self.object, self.taken.load(Ordering::Relaxed));
            });
        }
    }

    /// The lock has just been taken as one of several holders; `pen` was asked for before that.
    #[inline]
    pub(crate) fn entered_shared(&self, pen: Option<Pen>, site: &'static Location<'static>) {
        if let Some(pen) = pen {
            self.take_at(site);
            pen.acquire_shared(&self.object, site);
        }
    }

    /// The lock, held by us and perhaps others, is about to be given back.
    #[inline]
    pub(crate) fn leaving_shared(&self) {
        if let Some(pen) = step(Intent::unlock(&self.object)) {
            pen.release_shared(&self.object, self.taken.load(Ordering::Relaxed));
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
        if self.recorded.load(Ordering::Relaxed) {
            if let Some(pen) = step(Intent::unlock(&self.object)) {
                pen.downgrade(&self.object, site);
            }
        }
    }
}
