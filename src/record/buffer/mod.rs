//! The buffers: records, the chunks that they are written into, and the pool that chunks come from
//! and go back to.
//!
//! A [`Buffer`] belongs to the thread that writes it, and knows nothing of strands and blocks: a
//! strand that moves between threads would be lent the buffer of the one that it runs on.

pub(crate) mod chunk;
pub(crate) mod code;
pub(crate) mod pool;
pub(crate) mod prim;
pub(crate) mod record;

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use self::chunk::{Chunk, FULL, LIMIT, STEP};
use self::record::Record;

/// The limit of a buffer whose writer is to look up from its work: no length is below it.
const ALARM: u32 = 0;

/// The end of a list of chunks that one thread writes.
#[derive(Debug)]
#[repr(C)]
pub(in crate::record) struct Buffer {
    chunk: Cell<NonNull<Chunk>>,
    len: Cell<u32>,
    /// The length at which the writer is to look up from its work. The collector may set it.
    limit: AtomicU32,
}

impl Buffer {
    /// One that begins with this chunk, which is empty.
    pub(in crate::record) const fn new(chunk: NonNull<Chunk>) -> Self {
        Self {
            chunk: Cell::new(chunk),
            len: Cell::new(0),
            limit: AtomicU32::new(LIMIT + 1),
        }
    }

    /// One that nobody ever writes.
    pub(in crate::record) const fn none() -> Self {
        Self {
            limit: AtomicU32::new(ALARM),
            ..Self::new(NonNull::dangling())
        }
    }

    /// Whether there is room for an operation's records, and nobody wants the writer to look up.
    #[inline(always)]
    pub(in crate::record) fn is_ready(&self) -> bool {
        self.len.get() < self.limit.load(Ordering::Relaxed)
    }

    pub(in crate::record) fn has_room(&self) -> bool {
        self.len.get() <= LIMIT
    }

    /// Makes the writer's next operation take the slow path.
    pub(in crate::record) fn alarm(&self) {
        self.limit.store(ALARM, Ordering::Relaxed);
    }

    /// Turns the alarm off: whether it was on.
    pub(in crate::record) fn take_alarm(&self) -> bool {
        let is_on = self.limit.load(Ordering::Relaxed) == ALARM;
        if is_on {
            self.limit.store(LIMIT + 1, Ordering::Relaxed);
        }
        is_on
    }

    /// The chunk that is written.
    #[inline(always)]
    pub(in crate::record) fn chunk(&self) -> &Chunk {
        // SAFETY: lives until everything in it was read, of which the last is still to be written.
        unsafe { self.chunk.get().as_ref() }
    }

    /// How far it was written: the chunk, and the records in it.
    pub(in crate::record) fn position(&self) -> (NonNull<Chunk>, u32) {
        (self.chunk.get(), self.len.get() / STEP)
    }

    /// The length of the chunk so far.
    #[inline(always)]
    pub(in crate::record) fn len(&self) -> u32 {
        self.len.get()
    }

    /// Whether the next record goes into another chunk.
    #[inline(always)]
    pub(in crate::record) fn is_full(&self) -> bool {
        self.len.get() == FULL
    }

    /// Writes a record, where the buffer is not [full](Self::is_full).
    #[inline(always)]
    pub(in crate::record) fn append(&self, record: Record) {
        let len = self.len.get();
        // SAFETY: this thread is the chunk's writer, and there is room.
        unsafe { self.chunk().write(len, record) };
        self.len.set(len + STEP);
    }

    /// Leaves a chunk in which everything is published for an empty one.
    pub(in crate::record) fn go_on_in(&self, chunk: NonNull<Chunk>) {
        self.chunk().leave_for(chunk);
        self.chunk.set(chunk);
        self.len.set(0);
    }

    /// The last record but `back`, which was written and not published.
    #[inline(always)]
    pub(in crate::record) fn unpublished(&self, back: u32) -> Record {
        // SAFETY: this thread is the chunk's writer, has written it, and has not published it.
        unsafe { self.chunk().unpublished(self.at(back)) }
    }

    /// Replaces the last record but `back`, which was written and not published.
    #[inline(always)]
    pub(in crate::record) fn amend(&self, back: u32, record: Record) {
        // SAFETY: as above.
        unsafe { self.chunk().write(self.at(back), record) };
    }

    #[inline(always)]
    fn at(&self, back: u32) -> u32 {
        self.len.get() - (back + 1) * STEP
    }

    /// Publishes everything that was written.
    #[inline(always)]
    pub(in crate::record) fn publish(&self) {
        self.chunk().publish(self.len.get());
    }

    /// The same, and says that a block has ended after it.
    #[inline(always)]
    pub(in crate::record) fn publish_end(&self) {
        self.chunk().publish_end(self.len.get());
    }
}
