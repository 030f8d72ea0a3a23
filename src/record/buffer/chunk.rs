//! Chunks: where a strand writes its records and the collector reads them, at the same time,
//! without a lock.
//!
//! A strand's records are a list of chunks. One thread writes, one reads. The writer fills a slot,
//! and may amend it, and then publishes it by storing the address of the next one with `Release`;
//! the reader loads that address with `Acquire` and touches only slots below it, which the writer
//! never touches again. A full chunk is left behind by storing the pointer to its successor, after
//! which what is published is final: a reader that sees the successor and has read everything up to
//! the address it loads *afterwards* owns the chunk alone.
//!
//! The end of a block has no slot. It is an address beside the chunk, [`Ended`], which says that the
//! block ended after the last record before it, and a bit of the next record,
//! [`ENDED`](super::record::ENDED), for a reader that comes later.

use std::alloc::{GlobalAlloc, Layout, System};
#[cfg(not(loom))]
use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::prim::slot::{read, write};
use super::prim::{AtomicPtr, AtomicUsize, Ordering, slot};
use super::record::Record;
#[cfg(test)]
use super::record::What;
#[cfg(all(test, loom))]
use super::record::{BEGINS, ENDED};

/// Records in a chunk of full size. A strand's first ones are smaller.
#[cfg(not(loom))]
pub(crate) const SLOTS: u32 = 2048;
#[cfg(loom)]
pub(crate) const SLOTS: u32 = 2;

/// The most records that one operation writes: an object's definition, the block, and its own, of
/// which the most are a barrier's (an arrival, a split, a departure) and a failed rendezvous' (a
/// send, an update, a split, a loss). Each may come with its stack.
#[cfg(not(loom))]
const RESERVE: u32 = 16;

/// A record's place.
pub(crate) type Slot = slot::Slot<Record>;

/// In what is published of a chunk that was left: a block ended after the last record.
const END: usize = 1;

/// The address of the slot after the last record of the block that ended last; 0 where there is none
/// in the chunk. The writer stores it after that record was published.
#[derive(Debug)]
pub(crate) struct Ended(AtomicUsize);

impl Ended {
    #[cfg(not(loom))]
    const fn nowhere() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[cfg(loom)]
    fn nowhere() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// A block has ended before this slot, and everything is published.
    #[inline(always)]
    fn set(&self, next: *mut Slot) {
        self.0.store(next as usize, Ordering::Release);
    }
}

#[derive(Debug)]
pub(crate) struct Chunk {
    /// The address of the slot after the last record, perhaps with [`END`].
    published: AtomicUsize,
    next: AtomicPtr<Chunk>,
    /// In the memory after this.
    slots: NonNull<[Slot]>,
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
    /// A new, empty chunk of so many slots; from the system's allocator, because the program's own
    /// may be using a tracked lock right now.
    #[cfg(not(loom))]
    pub(crate) fn allocate(slots: u32) -> Option<NonNull<Chunk>> {
        // SAFETY: the layout is not of size zero.
        let chunk = NonNull::new(unsafe { System.alloc(Self::layout(slots)) })?.cast::<Chunk>();
        // SAFETY: the memory is ours and has room for the slots behind the chunk, which is as
        // aligned as they are; they need no initialisation, being `MaybeUninit`.
        unsafe {
            let slots = NonNull::slice_from_raw_parts(chunk.add(1).cast(), slots as usize);
            chunk.write(Self::of(slots));
        }
        Some(chunk)
    }

    #[cfg(loom)]
    pub(crate) fn allocate(slots: u32) -> Option<NonNull<Chunk>> {
        let slot = |_| Slot::new(std::mem::MaybeUninit::uninit());
        let slots: Box<[Slot]> = (0..slots).map(slot).collect();
        let chunk = Self::of(NonNull::from(Box::leak(slots)));
        Some(NonNull::from(Box::leak(Box::new(chunk))))
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
            System.dealloc(chunk.as_ptr().cast(), Self::layout(chunk.as_ref().slots()));
        }
        #[cfg(loom)]
        // SAFETY: allocated as boxes.
        drop(unsafe {
            let chunk = Box::from_raw(chunk.as_ptr());
            Box::from_raw(chunk.slots.as_ptr())
        });
    }

    /// That of a chunk and its slots.
    #[cfg(not(loom))]
    pub(crate) fn layout(slots: u32) -> Layout {
        const { assert!(size_of::<Chunk>() % align_of::<Slot>() == 0) };
        const { assert!(align_of::<Chunk>() % align_of::<Slot>() == 0) };
        let size = size_of::<Chunk>() + slots as usize * size_of::<Slot>();
        Layout::from_size_align(size, align_of::<Chunk>()).expect("a size that memory may have")
    }

    /// An empty one.
    fn of(slots: NonNull<[Slot]>) -> Chunk {
        Chunk {
            published: AtomicUsize::new(slots.cast::<Slot>().as_ptr() as usize),
            next: AtomicPtr::new(ptr::null_mut()),
            slots,
        }
    }

    /// How many records it has room for.
    pub(crate) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Makes a chunk that the reader has taken over ready for another writer.
    pub(crate) fn reset(&self) {
        self.published
            .store(self.first() as usize, Ordering::Relaxed);
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// The slot of the first record.
    #[inline]
    pub(crate) fn first(&self) -> *mut Slot {
        self.slots.as_ptr().cast()
    }

    /// The slot after so many records.
    fn after(&self, records: u32) -> *mut Slot {
        self.first().wrapping_add(records as usize)
    }

    /// Publishes every record before a slot. They were written.
    #[inline(always)]
    pub(crate) fn publish(&self, next: *mut Slot) {
        self.published.store(next as usize, Ordering::Release);
    }

    /// Leaves the chunk, in which everything is published, for the one that the writer goes on with.
    fn leave_for(&self, next: NonNull<Chunk>, ended: &Ended) {
        let published = self.published.load(Ordering::Relaxed);
        if ended.0.load(Ordering::Relaxed) == published {
            self.published.store(published | END, Ordering::Release);
        }
        self.next.store(next.as_ptr(), Ordering::Release);
        // An address may come back.
        ended.0.store(0, Ordering::Release);
    }

    /// What may be read, where the writer says in `ended` where its last block has ended.
    #[inline]
    pub(crate) fn published(&self, ended: &Ended) -> Published {
        // In this order. What is said of a later end comes after the record that it follows, and
        // that record tells of this one; what is said after the chunk was left, after its `END`.
        let ended = ended.0.load(Ordering::Acquire);
        let published = self.published.load(Ordering::Acquire);
        let bytes = published - self.first() as usize;
        Published {
            records: (bytes / size_of::<Slot>()) as u32,
            ended: published & END != 0 || published == ended,
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
        unsafe { std::slice::from_raw_parts(self.first().cast(), records as usize) }
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
        unsafe { read(self.after(index)) }
    }
}

// Integer arithmetic and not a pointer's methods, for the same reason as in `slot`.

/// The slot after another one.
#[cfg(not(loom))]
#[inline(always)]
fn after(slot: *mut Slot) -> *mut Slot {
    (slot as usize + size_of::<Slot>()) as *mut Slot
}

/// The slot before another one.
#[cfg(not(loom))]
#[inline(always)]
fn before(slot: *mut Slot) -> *mut Slot {
    (slot as usize - size_of::<Slot>()) as *mut Slot
}

/// The limit of a buffer whose writer is to look up from its work: no address is below it.
#[cfg(not(loom))]
const ALARM: usize = 0;

/// The limit of a buffer whose writer is to look up before every operation. No slot is below it.
#[cfg(not(loom))]
const ALWAYS: usize = 1;

/// In place of an address: the writer is in the middle of an operation.
#[cfg(not(loom))]
const BUSY: usize = usize::MAX;

/// The end of a list of chunks that one thread writes.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Buffer {
    /// The slot of the next record.
    next: Cell<*mut Slot>,
    /// Its address, or [`BUSY`]. A field of its own, so that one store makes the buffer busy,
    /// whatever a signal handler has written before.
    gate: Cell<usize>,
    /// The address at which the writer is to look up from its work. The collector may set it.
    limit: AtomicUsize,
    /// The end of the chunk.
    end: Cell<*mut Slot>,
    chunk: Cell<NonNull<Chunk>>,
    ended: Ended,
    /// Whether the writer looks up before every operation.
    is_attentive: Cell<bool>,
}

#[cfg(not(loom))]
impl Buffer {
    /// One that begins with this chunk, which is empty.
    pub(crate) fn new(chunk: NonNull<Chunk>) -> Self {
        let buffer = Self::none();
        buffer.begin_in(chunk);
        buffer.take_alarm();
        buffer
    }

    /// One that nobody ever writes.
    pub(crate) const fn none() -> Self {
        Self {
            next: Cell::new(ptr::null_mut()),
            gate: Cell::new(0),
            limit: AtomicUsize::new(ALARM),
            end: Cell::new(ptr::null_mut()),
            chunk: Cell::new(NonNull::dangling()),
            ended: Ended::nowhere(),
            is_attentive: Cell::new(false),
        }
    }

    /// Whether there is room for an operation's records, nobody wants the writer to look up, and it
    /// is not in the middle of an operation.
    #[inline(always)]
    pub(crate) fn is_ready(&self) -> bool {
        self.gate.get() < self.limit.load(Ordering::Relaxed)
    }

    /// Whether the writer is in the middle of an operation.
    pub(crate) fn is_busy(&self) -> bool {
        self.gate.get() == BUSY
    }

    /// The writer is in the middle of an operation from here on.
    #[inline(always)]
    pub(crate) fn shut(&self) {
        self.gate.set(BUSY);
    }

    /// The operation is over; the next one goes on at this slot, which is that of the next record.
    #[inline(always)]
    pub(crate) fn open_at(&self, next: *mut Slot) {
        self.gate.set(next as usize);
    }

    /// The address at which there is no room for an operation's records in the chunk.
    fn full(&self) -> usize {
        self.end.get() as usize - RESERVE as usize * size_of::<Slot>() + 1
    }

    pub(crate) fn has_room(&self) -> bool {
        (self.next.get() as usize) < self.full()
    }

    /// Makes the writer's next operation take the slow path.
    pub(crate) fn alarm(&self) {
        self.limit.store(ALARM, Ordering::Relaxed);
    }

    /// Turns the alarm off: whether it was on.
    pub(crate) fn take_alarm(&self) -> bool {
        let is_on = self.limit.load(Ordering::Relaxed) == ALARM;
        if is_on {
            self.limit.store(self.quiet_limit(), Ordering::Relaxed);
        }
        is_on
    }

    /// The limit where there is no alarm.
    fn quiet_limit(&self) -> usize {
        if self.is_attentive.get() {
            ALWAYS
        } else {
            self.full()
        }
    }

    /// Whether the writer takes the slow path before every operation, from here on.
    pub(crate) fn attend(&self, is_attentive: bool) {
        let before = self.quiet_limit();
        self.is_attentive.set(is_attentive);
        // Fails where there is an alarm, which stays.
        let (limit, relaxed) = (self.quiet_limit(), Ordering::Relaxed);
        let _ = self.limit.compare_exchange(before, limit, relaxed, relaxed);
    }

    /// The chunk that is written.
    #[inline(always)]
    pub(crate) fn chunk(&self) -> &Chunk {
        // SAFETY: lives until everything in it was read, of which the last is still to be written.
        unsafe { self.chunk.get().as_ref() }
    }

    /// How far it was written: the chunk, and the records in it.
    pub(crate) fn position(&self) -> (NonNull<Chunk>, u32) {
        let bytes = self.next.get() as usize - self.chunk().first() as usize;
        (self.chunk.get(), (bytes / size_of::<Slot>()) as u32)
    }

    /// Tells the number of records in the chunk from all others, in the lowest 16 bits.
    #[inline(always)]
    pub(crate) fn mark(&self) -> u64 {
        const { assert!(SLOTS as usize * size_of::<Slot>() < 1 << 16) };
        self.next.get() as u64
    }

    /// The slot of the next record.
    #[inline(always)]
    pub(crate) fn next(&self) -> *mut Slot {
        self.next.get()
    }

    /// The slot of the last record, which is in the chunk.
    pub(crate) fn last(&self) -> *mut Slot {
        before(self.next.get())
    }

    /// Whether the next record goes into another chunk.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.is_end(self.next.get())
    }

    /// The same, where the slot of the next record is in a register.
    #[inline(always)]
    pub(crate) fn is_end(&self, next: *mut Slot) -> bool {
        next == self.end.get()
    }

    /// Writes a record, where the buffer is not [full](Self::is_full): the slot after it.
    #[inline(always)]
    pub(crate) fn append(&self, record: Record) -> *mut Slot {
        self.append_at(self.next.get(), record)
    }

    /// The same, where the slot of the next record is in a register.
    #[inline(always)]
    pub(crate) fn append_at(&self, slot: *mut Slot, record: Record) -> *mut Slot {
        // SAFETY: this thread is the chunk's writer, and there is room.
        unsafe { write(slot, record) };
        let next = after(slot);
        self.next.set(next);
        next
    }

    /// Leaves a chunk in which everything is published for an empty one.
    pub(crate) fn go_on_in(&self, chunk: NonNull<Chunk>) {
        let before = self.quiet_limit();
        self.chunk().leave_for(chunk, &self.ended);
        self.begin_in(chunk);
        // Fails where there is an alarm, which stays.
        let (limit, relaxed) = (self.quiet_limit(), Ordering::Relaxed);
        let _ = self.limit.compare_exchange(before, limit, relaxed, relaxed);
    }

    fn begin_in(&self, chunk: NonNull<Chunk>) {
        self.chunk.set(chunk);
        self.next.set(self.chunk().first());
        self.end.set(self.chunk().after(self.chunk().slots()));
        if !self.is_busy() {
            self.open_at(self.next());
        }
    }

    /// The last record before a slot, which was written and not published.
    ///
    /// The slot is that of the next record, or of the last one: who has it in a register need not
    /// load it again after each write.
    #[inline(always)]
    pub(crate) fn unpublished(&self, next: *mut Slot) -> Record {
        // SAFETY: this thread is the chunk's writer, has written it, and has not published it.
        unsafe { read(before(next)) }
    }

    /// Replaces the last record before a slot, which was written and not published.
    #[inline(always)]
    pub(crate) fn amend(&self, next: *mut Slot, record: Record) {
        // SAFETY: as above.
        unsafe { write(before(next), record) };
    }

    /// Publishes everything that was written.
    #[inline(always)]
    pub(crate) fn publish(&self) {
        self.chunk().publish(self.next.get());
    }

    /// Says that a block has ended after the last record, where everything is published.
    #[inline(always)]
    pub(crate) fn publish_end(&self) {
        self.ended.set(self.next.get());
    }

    /// What may be read of a chunk of this buffer.
    pub(crate) fn published(&self, chunk: &Chunk) -> Published {
        chunk.published(&self.ended)
    }
}

/// Fetches the cache line of a slot that will be written soon. The collector has it, and to wait
/// for it would hold up the next locked instruction.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn fetch_ahead(next: *mut Slot) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads and writes nothing that the program could see; processors without the
    // instruction pass over it.
    unsafe {
        std::arch::asm!("prefetchw [{} + 256]", in(reg) next, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = next;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_outlasts_the_change_to_another_chunk() {
        let chunks = [32, 64, SLOTS].map(|slots| Chunk::allocate(slots).unwrap());
        let buffer = Buffer::new(chunks[0]);
        for chunk in &chunks[1..] {
            assert!(buffer.is_ready());
            buffer.alarm();
            buffer.go_on_in(*chunk);
            assert!(!buffer.is_ready());
            assert!(buffer.take_alarm());
            assert!(buffer.is_ready() && !buffer.take_alarm());
        }
        for chunk in chunks {
            // SAFETY: nobody uses it any more.
            unsafe { Chunk::free(chunk) };
        }
    }

    #[test]
    fn a_busy_buffer_and_one_without_room_are_not_ready() {
        let chunks = [32, SLOTS, SLOTS].map(|slots| Chunk::allocate(slots).unwrap());
        let buffer = Buffer::new(chunks[0]);
        let record = Record::new(What::Read, 1, 0, 0);
        for next in &chunks[1..] {
            let mut written = 0;
            while buffer.is_ready() {
                buffer.shut();
                assert!(buffer.is_busy() && !buffer.is_ready());
                buffer.open_at(buffer.append(record));
                written += 1;
            }
            // An operation may begin as long as there is room for all that one writes.
            assert_eq!(written, buffer.chunk().slots() - RESERVE + 1);
            assert!(!buffer.has_room() && !buffer.is_full());
            buffer.go_on_in(*next);
            assert!(buffer.is_ready());
        }
        for chunk in chunks {
            // SAFETY: nobody uses it any more.
            unsafe { Chunk::free(chunk) };
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;

    use super::*;

    fn record(n: u32) -> Record {
        Record::new(What::Read, n, !n, 0)
    }

    #[test]
    fn the_reader_sees_every_record_once_and_whole_across_chunks() {
        loom::model(|| {
            // The first chunk is smaller than the next.
            const RECORDS: u32 = 1 + SLOTS;
            let first = Chunk::allocate(1).unwrap();
            let writer = {
                let mut chunk = first.as_ptr() as usize;
                loom::thread::spawn(move || {
                    let (mut index, ended) = (0, Ended::nowhere());
                    for n in 0..RECORDS {
                        // SAFETY: the writer's own chunk.
                        let mut current = unsafe { &*(chunk as *const Chunk) };
                        if index == current.slots() {
                            let next = Chunk::allocate(SLOTS).unwrap();
                            current.leave_for(next, &ended);
                            (chunk, index) = (next.as_ptr() as usize, 0);
                            // SAFETY: as above.
                            current = unsafe { &*(chunk as *const Chunk) };
                        }
                        let slot = current.after(index);
                        // SAFETY: the one writer, where nothing is published.
                        unsafe { write(slot, Record::new(What::Read, n, 0, 0)) };
                        // SAFETY: as above; written, and not published.
                        assert_eq!(unsafe { read(slot) }.target(), n);
                        // SAFETY: as above.
                        unsafe { write(slot, record(n)) };
                        index += 1;
                        current.publish(current.after(index));
                    }
                })
            };
            let ended = Ended::nowhere();
            let (mut chunk, mut index, mut seen) = (first, 0, 0);
            while seen < RECORDS {
                // SAFETY: the reader's chunk is freed by the reader alone.
                let current = unsafe { chunk.as_ref() };
                let next = current.next();
                let published = current.published(&ended).records;
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
            let chunks = [SLOTS, SLOTS].map(|slots| Chunk::allocate(slots).unwrap());
            let ended = Arc::new(Ended::nowhere());
            let writer = {
                let [first, second] = chunks.map(|chunk| chunk.as_ptr() as usize);
                let ended = ended.clone();
                loom::thread::spawn(move || {
                    // SAFETY: both live until everybody is done.
                    let (first, second) =
                        unsafe { (&*(first as *const Chunk), &*(second as *const Chunk)) };
                    // SAFETY: the one writer, where nothing is published.
                    unsafe { write(first.first(), record(0).after(BEGINS)) };
                    first.publish(first.after(1));
                    ended.set(first.after(1));
                    // SAFETY: as above.
                    unsafe { write(first.after(1), record(1).after(ENDED | BEGINS)) };
                    first.publish(first.after(2));
                    ended.set(first.after(2));
                    first.leave_for(NonNull::from(second), &ended);
                    // SAFETY: as above.
                    unsafe { write(second.first(), record(2).after(ENDED)) };
                    second.publish(second.after(1));
                })
            };
            // SAFETY: alive.
            let reader = unsafe { chunks[0].as_ref() };
            let was_left = reader.next().is_some();
            let seen = reader.published(&ended);
            let later = reader.published(&ended);
            if was_left {
                assert_eq!(
                    seen,
                    Published {
                        records: 2,
                        ended: true
                    }
                );
            }
            // An end that was seen stays to be seen, or the next record tells of it.
            assert!(later.records >= seen.records);
            if seen.ended && !later.ended {
                // SAFETY: published.
                assert!(unsafe { reader.read(seen.records) }.ended());
            }
            writer.join().unwrap();
            // SAFETY: both are done.
            unsafe {
                let both = Published {
                    records: 2,
                    ended: true,
                };
                assert_eq!(chunks[0].as_ref().published(&ended), both);
                assert!(!chunks[1].as_ref().published(&ended).ended);
                Chunk::free(chunks[0]);
                Chunk::free(chunks[1]);
            }
        });
    }
}
