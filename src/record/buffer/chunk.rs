//! Chunks: where a strand writes its records and the collector reads them, at the same time,
//! without a lock.
//!
//! A strand's records are a list of chunks. One thread writes, one reads. The writer fills a slot,
//! and may amend it, and then publishes it by storing the new length with `Release`; the reader
//! loads the length with `Acquire` and touches only slots below it, which the writer never touches
//! again. A full chunk is left behind by storing the pointer to its successor, after which its
//! length is final: a reader that sees the successor and has read everything up to the length it
//! loads *afterwards* owns the chunk alone.
//!
//! The end of a block has no slot. It is a bit of the length, which says that the block ended after
//! the last record, and a bit of the next record,
//! [`ENDED`](super::record::ENDED), for a reader that comes later.

use std::alloc::{GlobalAlloc, Layout, System};
#[cfg(not(loom))]
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::prim::cell::UnsafeCell;
use super::prim::{AtomicPtr, AtomicU32, Ordering};
use super::record::Record;
#[cfg(all(test, loom))]
use super::record::{BEGINS, ENDED, What};

/// Records in a chunk.
#[cfg(not(loom))]
pub(crate) const SLOTS: u32 = 2048;
#[cfg(loom)]
pub(crate) const SLOTS: u32 = 2;

/// The most records that one operation writes: an object's definition, the block, and its own, of
/// which the most are a barrier's (an arrival, a split, a departure) and a failed rendezvous' (a
/// send, an update, a split, a loss). Each may come with its stack.
pub(crate) const RESERVE: u32 = 16;

/// The length at which there is no room for another record.
pub(crate) const FULL: u32 = SLOTS * STEP;

/// An operation may start while the length is at most this.
pub(crate) const LIMIT: u32 = SLOTS.saturating_sub(RESERVE) * STEP;

type Slot = UnsafeCell<MaybeUninit<Record>>;

/// What a writer's lengths count a record as: the bytes of a slot, because to multiply takes time.
pub(crate) const STEP: u32 = size_of::<Slot>() as u32;

/// In a length: a block ended after the last record.
const END: u32 = 1;

#[derive(Debug)]
pub(crate) struct Chunk {
    /// A length, perhaps with [`END`].
    published: AtomicU32,
    next: AtomicPtr<Chunk>,
    slots: [Slot; SLOTS as usize],
}

/// How far a chunk may be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) records: u32,
    /// Whether a block ended after them.
    pub(crate) ended: bool,
}

// SAFETY: a slot is written by the one writer before it is published and read by the one reader
// after; see the module.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// A new, empty chunk; from the system's allocator, because the program's own may be using a
    /// tracked lock right now.
    #[cfg(not(loom))]
    pub(crate) fn allocate() -> Option<NonNull<Chunk>> {
        // SAFETY: the layout is not of size zero.
        let chunk = NonNull::new(unsafe { System.alloc(Layout::new::<Chunk>()) })?.cast::<Chunk>();
        // SAFETY: the memory is ours; the slots need no initialisation, being `MaybeUninit`.
        unsafe {
            (&raw mut (*chunk.as_ptr()).published).write(AtomicU32::new(0));
            (&raw mut (*chunk.as_ptr()).next).write(AtomicPtr::new(std::ptr::null_mut()));
        }
        Some(chunk)
    }

    #[cfg(loom)]
    pub(crate) fn allocate() -> Option<NonNull<Chunk>> {
        let _ = (System, Layout::new::<Chunk>());
        Some(NonNull::from(Box::leak(Box::new(Chunk {
            published: AtomicU32::new(0),
            next: AtomicPtr::new(std::ptr::null_mut()),
            slots: std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
        }))))
    }

    /// Gives the memory back.
    ///
    /// # Safety
    ///
    /// The chunk came from [`allocate`](Self::allocate) and nobody uses it any more.
    pub(crate) unsafe fn free(chunk: NonNull<Chunk>) {
        #[cfg(not(loom))]
        // SAFETY: allocated by `System` with this layout; a chunk has nothing to drop.
        unsafe {
            System.dealloc(chunk.as_ptr().cast(), Layout::new::<Chunk>());
        }
        #[cfg(loom)]
        // SAFETY: allocated as a box.
        drop(unsafe { Box::from_raw(chunk.as_ptr()) });
    }

    /// Makes a chunk that the reader has taken over ready for another writer.
    pub(crate) fn reset(&self) {
        self.published.store(0, Ordering::Relaxed);
        self.next.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// The slot at a length.
    ///
    /// # Safety
    ///
    /// `len` is a multiple of [`STEP`] and less than that of [`SLOTS`].
    #[inline(always)]
    unsafe fn slot(&self, len: u32) -> &Slot {
        debug_assert!(len % STEP == 0 && len < SLOTS * STEP);
        // SAFETY: in bounds.
        unsafe { &*self.slots.as_ptr().byte_add(len as usize) }
    }

    /// Writes the slot at a length.
    ///
    /// # Safety
    ///
    /// The caller is the chunk's one writer, and `len` is a multiple of [`STEP`], less than that of
    /// [`SLOTS`] and not published.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, len: u32, record: Record) {
        // SAFETY: not yet published, so the reader does not look at it.
        unsafe { self.slot(len) }.with_mut(|slot| unsafe { (*slot).write(record) });
    }

    /// What was written before a length and may still be amended.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write), and the slot was written.
    #[inline(always)]
    pub(crate) unsafe fn unpublished(&self, len: u32) -> Record {
        // SAFETY: written by the caller.
        unsafe { self.slot(len) }.with(|slot| unsafe { (*slot).assume_init() })
    }

    /// Publishes everything up to a length, which was written.
    #[inline(always)]
    pub(crate) fn publish(&self, len: u32) {
        self.published.store(len, Ordering::Release);
    }

    /// Says that a block has ended after the last record, where everything is published.
    #[inline(always)]
    pub(crate) fn publish_end(&self, len: u32) {
        self.published.store(len | END, Ordering::Release);
    }

    /// Fetches the cache line of a slot that will be written soon. The collector has it, and to
    /// wait for it would hold up the next locked instruction.
    #[inline(always)]
    pub(crate) fn fetch_ahead(&self, len: u32) {
        #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
        // SAFETY: reads and writes nothing that the program could see; processors without the
        // instruction pass over it.
        unsafe {
            let slot = self.slots.as_ptr().wrapping_byte_add(len as usize + 256);
            std::arch::asm!("prefetchw [{}]", in(reg) slot, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
        let _ = len;
    }

    /// Links the chunk that the writer goes on with.
    pub(crate) fn leave_for(&self, next: NonNull<Chunk>) {
        self.next.store(next.as_ptr(), Ordering::Release);
    }

    /// What may be read.
    #[inline]
    pub(crate) fn published(&self) -> Published {
        let len = self.published.load(Ordering::Acquire);
        Published {
            records: len / STEP,
            ended: len & END != 0,
        }
    }

    /// The chunk that the writer went on with. Once there is one, [`published`](Self::published) is
    /// final.
    pub(crate) fn next(&self) -> Option<NonNull<Chunk>> {
        NonNull::new(self.next.load(Ordering::Acquire))
    }

    /// The first so many records.
    ///
    /// # Safety
    ///
    /// [`published`](Self::published) has returned as many, or more, to this, the one reader, who
    /// has not given the chunk back.
    #[cfg(not(loom))]
    pub(crate) unsafe fn records(&self, records: u32) -> &[Record] {
        // SAFETY: published, so initialised, and not written any more; cells and `MaybeUninit` have
        // the layout of what is in them.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr().cast(), records as usize) }
    }

    /// Reads a slot, in the way that loom sees.
    ///
    /// # Safety
    ///
    /// `index` is less than what [`published`](Self::published) has returned to this, the one
    /// reader.
    #[cfg(loom)]
    pub(crate) unsafe fn read(&self, index: u32) -> Record {
        // SAFETY: published, so initialised, and not written any more.
        unsafe { self.slots.get_unchecked(index as usize) }
            .with(|slot| unsafe { (*slot).assume_init() })
    }
}

/// The limit of a buffer whose writer is to look up from its work: no length is below it.
#[cfg(not(loom))]
const ALARM: u32 = 0;

/// The end of a list of chunks that one thread writes.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Buffer {
    chunk: Cell<NonNull<Chunk>>,
    len: Cell<u32>,
    /// The length at which the writer is to look up from its work. The collector may set it.
    limit: AtomicU32,
}

#[cfg(not(loom))]
impl Buffer {
    /// One that begins with this chunk, which is empty.
    pub(crate) const fn new(chunk: NonNull<Chunk>) -> Self {
        Self {
            chunk: Cell::new(chunk),
            len: Cell::new(0),
            limit: AtomicU32::new(LIMIT + 1),
        }
    }

    /// One that nobody ever writes.
    pub(crate) const fn none() -> Self {
        Self {
            limit: AtomicU32::new(ALARM),
            ..Self::new(NonNull::dangling())
        }
    }

    /// Whether there is room for an operation's records, and nobody wants the writer to look up.
    #[inline(always)]
    pub(crate) fn is_ready(&self) -> bool {
        self.len.get() < self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.len.get() <= LIMIT
    }

    /// Makes the writer's next operation take the slow path.
    pub(crate) fn alarm(&self) {
        self.limit.store(ALARM, Ordering::Relaxed);
    }

    /// Turns the alarm off: whether it was on.
    pub(crate) fn take_alarm(&self) -> bool {
        let is_on = self.limit.load(Ordering::Relaxed) == ALARM;
        if is_on {
            self.limit.store(LIMIT + 1, Ordering::Relaxed);
        }
        is_on
    }

    /// The chunk that is written.
    #[inline(always)]
    pub(crate) fn chunk(&self) -> &Chunk {
        // SAFETY: lives until everything in it was read, of which the last is still to be written.
        unsafe { self.chunk.get().as_ref() }
    }

    /// How far it was written: the chunk, and the records in it.
    pub(crate) fn position(&self) -> (NonNull<Chunk>, u32) {
        (self.chunk.get(), self.len.get() / STEP)
    }

    /// The length of the chunk so far.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len.get()
    }

    /// Whether the next record goes into another chunk.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len.get() == FULL
    }

    /// Writes a record, where the buffer is not [full](Self::is_full).
    #[inline(always)]
    pub(crate) fn append(&self, record: Record) {
        let len = self.len.get();
        // SAFETY: this thread is the chunk's writer, and there is room.
        unsafe { self.chunk().write(len, record) };
        self.len.set(len + STEP);
    }

    /// Leaves a chunk in which everything is published for an empty one.
    pub(crate) fn go_on_in(&self, chunk: NonNull<Chunk>) {
        self.chunk().leave_for(chunk);
        self.chunk.set(chunk);
        self.len.set(0);
    }

    /// The last record but `back`, which was written and not published.
    #[inline(always)]
    pub(crate) fn unpublished(&self, back: u32) -> Record {
        // SAFETY: this thread is the chunk's writer, has written it, and has not published it.
        unsafe { self.chunk().unpublished(self.at(back)) }
    }

    /// Replaces the last record but `back`, which was written and not published.
    #[inline(always)]
    pub(crate) fn amend(&self, back: u32, record: Record) {
        // SAFETY: as above.
        unsafe { self.chunk().write(self.at(back), record) };
    }

    #[inline(always)]
    fn at(&self, back: u32) -> u32 {
        self.len.get() - (back + 1) * STEP
    }

    /// Publishes everything that was written.
    #[inline(always)]
    pub(crate) fn publish(&self) {
        self.chunk().publish(self.len.get());
    }

    /// The same, and says that a block has ended after it.
    #[inline(always)]
    pub(crate) fn publish_end(&self) {
        self.chunk().publish_end(self.len.get());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    fn record(n: u32) -> Record {
        Record::new(What::Read, n, !n, 0)
    }

    #[test]
    fn the_reader_sees_every_record_once_and_whole_across_chunks() {
        loom::model(|| {
            const RECORDS: u32 = 3;
            let first = Chunk::allocate().unwrap();
            let writer = {
                let mut chunk = first.as_ptr() as usize;
                loom::thread::spawn(move || {
                    for n in 0..RECORDS {
                        let len = n % SLOTS * STEP;
                        if n > 0 && len == 0 {
                            let next = Chunk::allocate().unwrap();
                            // SAFETY: the writer's own chunk.
                            unsafe { &*(chunk as *const Chunk) }.leave_for(next);
                            chunk = next.as_ptr() as usize;
                        }
                        // SAFETY: the writer's own chunk.
                        let current = unsafe { &*(chunk as *const Chunk) };
                        // SAFETY: the one writer, at its length.
                        unsafe { current.write(len, Record::new(What::Read, n, 0, 0)) };
                        // SAFETY: as above; written, and not published.
                        assert_eq!(unsafe { current.unpublished(len) }.target(), n);
                        // SAFETY: as above.
                        unsafe { current.write(len, record(n)) };
                        current.publish(len + STEP);
                    }
                })
            };
            let (mut chunk, mut index, mut seen) = (first, 0, 0);
            while seen < RECORDS {
                // SAFETY: the reader's chunk is freed by the reader alone.
                let current = unsafe { chunk.as_ref() };
                let next = current.next();
                let published = current.published().records;
                while index < published {
                    // SAFETY: published.
                    assert_eq!(unsafe { current.read(index) }, record(seen));
                    (index, seen) = (index + 1, seen + 1);
                }
                if let Some(next) = next {
                    // SAFETY: the writer has left it and everything in it was read.
                    unsafe { Chunk::free(chunk) };
                    (chunk, index) = (next, 0);
                } else {
                    loom::thread::yield_now();
                }
            }
            writer.join().unwrap();
            // SAFETY: both are done.
            unsafe { Chunk::free(chunk) };
        });
    }

    #[test]
    fn the_end_of_a_block_is_seen_before_and_after_the_next_record() {
        loom::model(|| {
            let chunk = Chunk::allocate().unwrap();
            let writer = {
                let chunk = chunk.as_ptr() as usize;
                loom::thread::spawn(move || {
                    // SAFETY: lives until both are done.
                    let chunk = unsafe { &*(chunk as *const Chunk) };
                    // SAFETY: the one writer, at its length.
                    unsafe { chunk.write(0, record(0).after(BEGINS)) };
                    chunk.publish(STEP);
                    chunk.publish_end(STEP);
                    // SAFETY: as above.
                    unsafe { chunk.write(STEP, record(1).after(ENDED)) };
                    chunk.publish(2 * STEP);
                })
            };
            // SAFETY: alive.
            let reader = unsafe { chunk.as_ref() };
            let first = reader.published();
            let second = reader.published();
            // Once the end was seen, it stays to be seen.
            if first.ended {
                assert_eq!(first.records, 1);
                // SAFETY: published.
                assert!(second.ended || unsafe { reader.read(1) }.ended());
            }
            assert!(second.records >= first.records);
            writer.join().unwrap();
            assert_eq!(
                reader.published(),
                Published {
                    records: 2,
                    ended: false
                }
            );
            // SAFETY: both are done.
            unsafe { Chunk::free(chunk) };
        });
    }
}
