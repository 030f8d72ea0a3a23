//! Chunks: where a strand writes its records and the collector reads them, at the same time, without a lock.
//!
//! A strand's records are a list of chunks. One thread writes, one reads. The writer fills a slot and then publishes it by storing the new
//! length with `Release`; the reader loads the length with `Acquire` and touches only slots below it, which the writer never touches
//! again. A full chunk is left behind by storing the pointer to its successor, after which its length is final: a reader that sees the successor
//! and has read everything up to the length it loads *afterwards* owns the chunk alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::prim::cell::UnsafeCell;
use super::prim::{AtomicPtr, AtomicU32, Ordering};

/// What a strand did, in sixteen bytes.
///
/// Two words, because the fewer writes there are to drain, the sooner the program's next locked instruction comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The ticket; above it the site.
    place: u64,
    /// The target; above it seven bits of what, [`BEGINS`], and 24 bits of what else there is to say.
    rest: u64,
}

/// A block begins right before the record. Which one its end says, and [`Strand::block`](super::Strand::block) until then.
pub(super) const BEGINS: u32 = 1 << 7;

impl Record {
    #[inline(always)]
    pub(super) fn new(what: What, target: u32, ticket: u32, site: u32) -> Record {
        Record {
            place: Self::place(ticket, site),
            rest: u64::from(target) | (what as u64) << 32,
        }
    }

    /// A ticket and a site.
    #[inline(always)]
    pub(super) fn place(ticket: u32, site: u32) -> u64 {
        u64::from(site) << 32 | u64::from(ticket)
    }

    /// With 24 bits more: where the second of two operations in one was, as the distance of its code from `site`; or an object's kind.
    #[inline(always)]
    pub(super) fn with(self, more: u32) -> Record {
        Record {
            rest: self.rest | u64::from(more) << 40,
            ..self
        }
    }

    /// The same, with [`BEGINS`] or without.
    #[inline(always)]
    pub(super) fn beginning(self, begins: u32) -> Record {
        Record {
            rest: self.rest | u64::from(begins) << 32,
            ..self
        }
    }

    /// Whether a block begins right before it.
    #[inline(always)]
    pub(crate) fn begins(&self) -> bool {
        self.tail() & BEGINS != 0
    }

    /// A lock is taken, if `first` is [`What::Acquire`], or taken and given back, if it is [`What::Section`]. `lock` is the lock's number and above it
    /// how it was taken and touched, as the index into [`What::ACQUIRES`] and [`What::SECTIONS`], and where.
    #[inline(always)]
    pub(super) fn of_lock(first: What, place: u64, lock: u64) -> Record {
        const { assert_in_order(What::ACQUIRES) };
        const { assert_in_order(What::SECTIONS) };
        debug_assert!(matches!(first, What::Acquire | What::Section));
        debug_assert!(usize::from((lock >> 32) as u8) < What::ACQUIRES.len());
        Record {
            place,
            rest: lock + ((first as u64) << 32),
        }
    }

    /// The object, or what else the operation is on.
    #[inline(always)]
    pub(crate) fn target(&self) -> u32 {
        self.rest as u32
    }

    /// The record's place among those of its object, where the operation draws one.
    #[inline(always)]
    pub(crate) fn ticket(&self) -> u32 {
        self.place as u32
    }

    /// Where in the source; a code of [`code`](super::code).
    #[inline(always)]
    pub(crate) fn site(&self) -> u32 {
        (self.place >> 32) as u32
    }

    #[inline(always)]
    fn tail(&self) -> u32 {
        (self.rest >> 32) as u32
    }

    #[inline(always)]
    pub(crate) fn what(&self) -> What {
        // SAFETY: nobody else writes `rest`, and whoever constructs a record puts a `What` there: with `of_lock` the first of six in a row, or one of
        // the five after it.
        unsafe { std::mem::transmute::<u8, What>((self.tail() & (BEGINS - 1)) as u8) }
    }

    /// What was said beyond the rest.
    pub(crate) fn more(&self) -> u32 {
        self.tail() >> 8
    }

    /// Where the second of two operations in one was.
    #[inline]
    pub(crate) fn second_site(&self) -> u32 {
        self.site().wrapping_add_signed(self.tail() as i32 >> 8)
    }
}

const _: () = assert!((What::Lost as u32) < BEGINS);

const fn assert_in_order(six: [What; 6]) {
    let mut how = 0;
    while how < six.len() {
        assert!(six[how] as usize == six[0] as usize + how);
        how += 1;
    }
}

const _: () = assert!(size_of::<Record>() == 16);

/// What a record says. [`Op`](crate::trace::Op) is what the collector makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum What {
    /// Block; `ticket` is 1 if a panic left it.
    End,
    Split,
    Restart,
    /// The low half of a value is in `target`, the high half in `ticket`.
    Value,
    /// A watched variable is written, born or dropped next: `ticket` is the place of that among what happens to all watched variables.
    Watched,
    /// It has been done: what is next among watched variables may follow.
    Written,
    /// Strand.
    Fork,
    Join,
    /// The handle of a strand is gone: nobody will join it.
    Detach,
    /// The strand's last record.
    Exit,
    /// The strand is in another family from here on.
    Family,
    /// An object is used for the first time. `ticket` is the code of its type's name, `site` where it was made, what is more its kind.
    Define,
    /// `site` is the number of a name.
    Name,
    /// The number of the stack of the strand's next record.
    Stack,

    /// A guard touches what it guards: the lock's own records keep this in its place, so it draws no ticket.
    GuardRead,
    GuardWrite,

    // Everything from here on draws a ticket.
    // These stand in the order of `ACQUIRES` and `SECTIONS`.
    Acquire,
    AcquireRead,
    AcquireWrite,
    AcquireReadWrite,
    AcquireShared,
    AcquireSharedRead,
    /// A whole critical section in which nothing else was recorded.
    Section,
    SectionRead,
    SectionWrite,
    SectionReadWrite,
    SectionShared,
    SectionSharedRead,
    Release,
    ReleaseShared,
    /// The content is read by a strand that did not take the lock.
    ReadShared,
    #[cfg(feature = "parking_lot")]
    Upgrade,
    Downgrade,
    Read,
    Write,
    ReadWrite,
    UpdateAdd,
    UpdateSub,
    UpdateAnd,
    UpdateOr,
    UpdateXor,
    UpdateMax,
    UpdateMin,
    UpdateSend,
    Signal,
    Await,
    /// Properties know the object from here on.
    Born,
    Retire,
    /// A message's own two records: it has no ticket counter, its send is 0 and its receipt is 1.
    Send,
    Recv,
    /// A message that nobody received is gone: 1 as well.
    Lost,
}

impl What {
    /// By how a lock was taken and touched.
    pub(super) const ACQUIRES: [What; 6] = [
        What::Acquire,
        What::AcquireRead,
        What::AcquireWrite,
        What::AcquireReadWrite,
        What::AcquireShared,
        What::AcquireSharedRead,
    ];
    /// By how a lock was taken and touched.
    pub(super) const SECTIONS: [What; 6] = [
        What::Section,
        What::SectionRead,
        What::SectionWrite,
        What::SectionReadWrite,
        What::SectionShared,
        What::SectionSharedRead,
    ];

    /// Whether it is something done to an object.
    pub(super) fn is_access(self) -> bool {
        self as u8 >= What::GuardRead as u8
    }

    /// Those that are an access, or an operation on a lock or a signal, and nothing but that.
    pub(crate) const PLAIN: &[What] = &[
        What::GuardRead,
        What::GuardWrite,
        What::Acquire,
        What::AcquireRead,
        What::AcquireWrite,
        What::AcquireReadWrite,
        What::AcquireShared,
        What::AcquireSharedRead,
        What::Section,
        What::SectionRead,
        What::SectionWrite,
        What::SectionReadWrite,
        What::SectionShared,
        What::SectionSharedRead,
        What::Release,
        What::ReleaseShared,
        What::ReadShared,
        #[cfg(feature = "parking_lot")]
        What::Upgrade,
        What::Downgrade,
        What::Read,
        What::Write,
        What::ReadWrite,
        What::UpdateAdd,
        What::UpdateSub,
        What::UpdateAnd,
        What::UpdateOr,
        What::UpdateXor,
        What::UpdateMax,
        What::UpdateMin,
        What::UpdateSend,
        What::Signal,
        What::Await,
        What::Born,
    ];

    /// Whether it is one of several holders': it has no order among theirs, and its ticket counts the other records of the lock before it.
    pub(crate) const fn is_shared(self) -> bool {
        !GUARDS_MOVE
            && matches!(
                self,
                What::AcquireShared
                    | What::AcquireSharedRead
                    | What::ReleaseShared
                    | What::SectionShared
                    | What::SectionSharedRead
                    | What::ReadShared
            )
    }

    /// Whether it has its place among the records of its object by a ticket.
    #[inline]
    pub(crate) const fn has_ticket(self) -> bool {
        self as u8 >= What::Acquire as u8
    }
}

/// Whether guards may be given back by other strands than those that took them. The order of a strand's own records does not keep such a
/// release behind its acquire, so every one has its own ticket.
pub(super) const GUARDS_MOVE: bool = cfg!(feature = "parking_lot-send_guard");

/// Records in a chunk.
#[cfg(not(loom))]
pub(crate) const SLOTS: u32 = 2048;
#[cfg(loom)]
pub(crate) const SLOTS: u32 = 2;

/// The most records that one operation writes: two acquires that were held back, an object's definition, and its own, of which the
/// most are a barrier's (an arrival, a split, a departure) and a failed rendezvous' (a send, an update, a split, a loss).
/// Each may come with its stack.
pub(crate) const RESERVE: u32 = 16;

/// An operation may start while the length is at most this: afterwards there is still room for two acquires that are held back,
/// so that they can be published before the strand waits for another chunk, and for the end of a block. These are written without a look at the
/// length, because an operation that does look comes before the next of them.
#[cfg(not(loom))]
pub(crate) const LIMIT: u32 = SLOTS - RESERVE - 3;
#[cfg(loom)]
pub(crate) const LIMIT: u32 = 0;

#[derive(Debug)]
pub(crate) struct Chunk {
    published: AtomicU32,
    next: AtomicPtr<Chunk>,
    slots: [UnsafeCell<MaybeUninit<Record>>; SLOTS as usize],
}

// SAFETY: a slot is written by the one writer before it is published and read by the one reader after; see the module.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// A new, empty chunk; from the system's allocator, because the program's own may be using a tracked lock right now.
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

    /// Writes slot `index`.
    ///
    /// # Safety
    ///
    /// The caller is the chunk's one writer, and `index` is less than [`SLOTS`] and not published.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, index: u32, record: Record) {
        debug_assert!(index < SLOTS);
        // SAFETY: in bounds; not yet published, so the reader does not look at it.
        unsafe { self.slots.get_unchecked(index as usize) }
            .with_mut(|slot| unsafe { (*slot).write(record) });
    }

    /// Publishes the first `len` slots, which were written.
    #[inline(always)]
    pub(crate) fn publish(&self, len: u32) {
        self.published.store(len, Ordering::Release);
    }

    /// Fetches the cache line of a slot that will be written soon. The collector has it, and to wait for it would hold up the next locked
    /// instruction.
    #[inline(always)]
    pub(crate) fn fetch_ahead(&self, len: u32) {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        // SAFETY: reads and writes nothing that the program could see; processors without the instruction pass over it.
        unsafe {
            let slot = self.slots.as_ptr().wrapping_add(len as usize + 16);
            std::arch::asm!("prefetchw [{}]", in(reg) slot, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(all(target_arch = "x86_64", not(loom))))]
        let _ = len;
    }

    /// Links the chunk that the writer goes on with.
    pub(crate) fn leave_for(&self, next: NonNull<Chunk>) {
        self.next.store(next.as_ptr(), Ordering::Release);
    }

    /// The number of records that may be read.
    #[inline]
    pub(crate) fn published(&self) -> u32 {
        self.published.load(Ordering::Acquire)
    }

    /// The chunk that the writer went on with. Once there is one, [`published`](Self::published) is final.
    pub(crate) fn next(&self) -> Option<NonNull<Chunk>> {
        NonNull::new(self.next.load(Ordering::Acquire))
    }

    /// Reads a slot.
    ///
    /// # Safety
    ///
    /// `index` is less than a length that [`published`](Self::published) has returned to this, the one reader.
    #[inline(always)]
    pub(crate) unsafe fn read(&self, index: u32) -> Record {
        // SAFETY: published, so initialised, and not written any more.
        unsafe { self.slots.get_unchecked(index as usize) }
            .with(|slot| unsafe { (*slot).assume_init() })
    }
}

impl Chunk {
    /// The block that the record at `at` begins. Its end says so; where that is not there yet, the block that the strand is in: `open` loads it with
    /// `Acquire`, and the strand, which publishes the end before it goes into another block, stores it with `Release`.
    ///
    /// # Safety
    ///
    /// The caller is the one reader of this chunk and those after it, `at` is published, and the chunk was not given back.
    pub(crate) unsafe fn block_at(
        chunk: NonNull<Chunk>,
        at: u32,
        open: impl FnOnce() -> u32,
    ) -> u32 {
        // Before the records: if the strand is in another block by now, the end of this one is there.
        let open = open();
        let (mut chunk, mut from) = (Some(chunk), at);
        while let Some(current) = chunk {
            // SAFETY: nobody but the caller gives it back.
            let current = unsafe { current.as_ref() };
            let next = current.next();
            for at in from..current.published() {
                // SAFETY: published, and the caller is the one reader.
                let record = unsafe { current.read(at) };
                if record.what() == What::End {
                    return record.target();
                }
            }
            (chunk, from) = (next, 0);
        }
        open
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
                        let index = n % SLOTS;
                        if n > 0 && index == 0 {
                            let next = Chunk::allocate().unwrap();
                            // SAFETY: the writer's own chunk.
                            unsafe { &*(chunk as *const Chunk) }.leave_for(next);
                            chunk = next.as_ptr() as usize;
                        }
                        // SAFETY: the one writer, at its length.
                        unsafe { (*(chunk as *const Chunk)).write(index, record(n)) };
                        // SAFETY: as above.
                        unsafe { (*(chunk as *const Chunk)).publish(index + 1) };
                    }
                })
            };
            let (mut chunk, mut index, mut seen) = (first, 0, 0);
            while seen < RECORDS {
                // SAFETY: the reader's chunk is freed by the reader alone.
                let current = unsafe { chunk.as_ref() };
                let next = current.next();
                let published = current.published();
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
    fn a_block_has_its_name_before_and_after_its_end() {
        loom::model(|| {
            let chunk = Chunk::allocate().unwrap();
            let open = loom::sync::Arc::new(AtomicU32::new(0));
            let writer = {
                let (chunk, open) = (chunk.as_ptr() as usize, open.clone());
                loom::thread::spawn(move || {
                    // SAFETY: lives until both are done.
                    let chunk = unsafe { &*(chunk as *const Chunk) };
                    open.store(1, Ordering::Release);
                    // SAFETY: the one writer, at its length.
                    unsafe { chunk.write(0, Record::new(What::Read, 7, 0, 0).beginning(BEGINS)) };
                    chunk.publish(1);
                    // SAFETY: as above.
                    unsafe { chunk.write(1, Record::new(What::End, 1, 0, 0)) };
                    chunk.publish(2);
                    open.store(2, Ordering::Release);
                })
            };
            // SAFETY: alive.
            if unsafe { chunk.as_ref() }.published() > 0 {
                // SAFETY: published; this is the one reader.
                let block = unsafe { Chunk::block_at(chunk, 0, || open.load(Ordering::Acquire)) };
                assert_eq!(block, 1);
            }
            writer.join().unwrap();
            // SAFETY: both are done.
            unsafe { Chunk::free(chunk) };
        });
    }
}
