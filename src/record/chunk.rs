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
//! [`ENDED`], for a reader that comes later.

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::prim::cell::UnsafeCell;
use super::prim::{AtomicPtr, AtomicU32, Ordering};

/// What a strand did, in sixteen bytes.
///
/// Two words, because the fewer writes there are to drain, the sooner the program's next locked
/// instruction comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Record {
    /// The ticket; above it the site.
    place: u64,
    /// Six bits of what, [`ENDED`], [`BEGINS`], and 24 bits of what else there is to say; above
    /// them the target.
    rest: u64,
}

/// A block ended right before the record.
pub(super) const ENDED: u64 = 1 << 6;
/// A block begins right before the record, after another one has ended. Which one, the last
/// [`What::Block`] says.
pub(super) const BEGINS: u64 = 1 << 7;

impl Record {
    #[inline(always)]
    pub(super) fn new(what: What, target: u32, ticket: u32, site: u32) -> Record {
        Record {
            place: Self::place(ticket, site),
            rest: u64::from(target) << 32 | what as u64,
        }
    }

    /// A ticket and a site.
    #[inline(always)]
    pub(super) fn place(ticket: u32, site: u32) -> u64 {
        u64::from(site) << 32 | u64::from(ticket)
    }

    /// With 24 bits more: where the second of two operations in one was, as the distance of its
    /// code from `site`; or an object's kind.
    #[inline(always)]
    pub(super) fn with(self, more: u32) -> Record {
        Record {
            rest: self.rest | u64::from(more << 8),
            ..self
        }
    }

    /// The same, with those of [`ENDED`] and [`BEGINS`] that are in `bounds`.
    #[inline(always)]
    pub(super) fn after(self, bounds: u64) -> Record {
        Record {
            rest: self.rest | bounds & (ENDED | BEGINS),
            ..self
        }
    }

    /// Whether a block ended right before it.
    #[inline(always)]
    pub(crate) fn ended(&self) -> bool {
        self.rest & ENDED != 0
    }

    /// Whether a block begins right before it.
    #[inline(always)]
    pub(crate) fn begins(&self) -> bool {
        self.rest & BEGINS != 0
    }

    /// A lock is taken: `how` is the index into [`What::ACQUIRES`].
    #[inline(always)]
    pub(super) fn acquire(how: u32, lock: u32, ticket: u32, site: u32) -> Record {
        debug_assert!((how as usize) < What::ACQUIRES.len());
        Record {
            place: Self::place(ticket, site),
            rest: u64::from(lock) << 32 | u64::from(What::Acquire as u32 + how),
        }
    }

    /// Whether an acquire's content was touched in this way, or one that says as much: a read after
    /// any access, and a write after a write, say nothing new.
    #[inline(always)]
    pub(super) fn is_touched(&self, how: u32) -> bool {
        const { assert!((What::Acquire as u32).is_multiple_of(8)) };
        const { assert_in_order(What::ACQUIRES) };
        self.tail() & (how | WRITE) != 0
    }

    /// The same acquire, with its content touched in the way `how`, so many bytes from its site;
    /// nothing if that is too far for a record.
    #[inline(always)]
    pub(super) fn touched(self, how: u32, bytes: i64) -> Option<Record> {
        debug_assert!(bytes % 8 == 0);
        // Where it was read before gives way to where it is written.
        let before = self.rest & !0xffff_ff00;
        (-(1 << 26)..1 << 26).contains(&bytes).then_some(Record {
            rest: before | u64::from((bytes as u32) << 5 | how),
            ..self
        })
    }

    /// Makes one record of an acquire and the release.
    #[inline(always)]
    pub(super) fn section(self) -> Record {
        const { assert_in_order(What::SECTIONS) };
        debug_assert!(What::ACQUIRES.contains(&self.what()));
        let further = What::Section as u64 - What::Acquire as u64;
        Record {
            rest: self.rest + further,
            ..self
        }
    }

    /// The object, or what else the operation is on.
    #[inline(always)]
    pub(crate) fn target(&self) -> u32 {
        (self.rest >> 32) as u32
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
        self.rest as u32
    }

    #[inline(always)]
    pub(crate) fn what(&self) -> What {
        // SAFETY: nobody else writes `rest`, and whoever constructs a record puts a `What` there:
        // an acquire is one of six in a row, the way in which it is touched the index among them,
        // and a section is as far into the next six.
        unsafe { std::mem::transmute::<u8, What>((self.tail() & 63) as u8) }
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

const _: () = assert!((What::Lost as u32) < 64);

// How a lock was taken and touched: the bits of an index into `What::ACQUIRES`.
/// The content was read.
pub(super) const READ: u32 = 1;
/// The content was written.
pub(super) const WRITE: u32 = 2;
/// The lock was taken as one of several holders.
pub(super) const SHARED: u32 = 4;

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
    /// The block that begins next, and those after it.
    Block,
    /// A panic leaves the block. Nothing else needs a record for that.
    Unwind,
    Split,
    Restart,
    /// The strand pauses inside a block, and may look again at what it has looked at.
    Pause,
    Notify,
    /// The low half of a value is in `target`, the high half in `ticket`.
    Value,
    /// A watched variable is written, born or dropped next: `ticket` is the place of that among
    /// what happens to all watched variables.
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
    /// An object is used for the first time. `ticket` is the code of its type's name, `site` where
    /// it was made, what is more its kind.
    Define,
    /// `site` is the number of a name.
    Name,
    /// The number of the stack of the strand's next record.
    Stack,
    /// A `try_lock` found the lock taken. Not an access, so it draws no ticket.
    Busy,

    /// A guard touches what it guards: the lock's own records keep this in its place, so it draws
    /// no ticket.
    GuardRead,
    GuardWrite,

    // Everything from here on draws a ticket. These stand in the order of `ACQUIRES` and
    // `SECTIONS`, from where the bits of an index are free.
    Acquire = 24,
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
    CompareExchange,
    CompareExchangeFailed,
    UpdateAdd,
    UpdateAnd,
    UpdateOr,
    UpdateXor,
    UpdateMax,
    UpdateMin,
    UpdateChannel,
    UpdateInit,
    /// What would have been initialised is.
    Found,
    /// A read-modify-write that left the value as it was; what is more is the [`Update`] it would
    /// have been.
    Vain,
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
        What::CompareExchange,
        What::CompareExchangeFailed,
        What::UpdateAdd,
        What::UpdateAnd,
        What::UpdateOr,
        What::UpdateXor,
        What::UpdateMax,
        What::UpdateMin,
        What::UpdateChannel,
        What::UpdateInit,
        What::Found,
        What::Vain,
        What::Signal,
        What::Await,
        What::Born,
    ];

    /// Whether it is one of several holders': it has no order among theirs, and its ticket counts
    /// the other records of the lock before it.
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

    /// Whether an access leaves another value behind.
    #[inline(always)]
    pub(super) const fn changes(self) -> bool {
        !matches!(
            self,
            What::Read | What::CompareExchangeFailed | What::Found | What::Vain
        )
    }

    /// Whether it has its place among the records of its object by a ticket.
    #[inline]
    pub(crate) const fn has_ticket(self) -> bool {
        self as u8 >= What::Acquire as u8
    }
}

/// Whether guards may be given back by other strands than those that took them. The order of a
/// strand's own records does not keep such a release behind its acquire, so every one has its own
/// ticket.
pub(super) const GUARDS_MOVE: bool = cfg!(feature = "parking_lot-send_guard");

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
pub(super) const FULL: u32 = SLOTS * STEP;

/// An operation may start while the length is at most this.
pub(super) const LIMIT: u32 = SLOTS.saturating_sub(RESERVE) * STEP;

type Slot = UnsafeCell<MaybeUninit<Record>>;

/// What a writer's lengths count a record as: the bytes of a slot, because to multiply takes time.
pub(super) const STEP: u32 = size_of::<Slot>() as u32;

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
        debug_assert!(len.is_multiple_of(STEP) && len < SLOTS * STEP);
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
    pub(super) unsafe fn write(&self, len: u32, record: Record) {
        // SAFETY: not yet published, so the reader does not look at it.
        unsafe { self.slot(len) }.with_mut(|slot| unsafe { (*slot).write(record) });
    }

    /// What was written before a length and may still be amended.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write), and the slot was written.
    #[inline(always)]
    pub(super) unsafe fn unpublished(&self, len: u32) -> Record {
        // SAFETY: written by the caller.
        unsafe { self.slot(len) }.with(|slot| unsafe { (*slot).assume_init() })
    }

    /// Publishes everything up to a length, which was written.
    #[inline(always)]
    pub(super) fn publish(&self, len: u32) {
        self.published.store(len, Ordering::Release);
    }

    /// Says that a block has ended after the last record, where everything is published.
    #[inline(always)]
    pub(super) fn publish_end(&self, len: u32) {
        self.published.store(len | END, Ordering::Release);
    }

    /// Fetches the cache line of a slot that will be written soon. The collector has it, and to
    /// wait for it would hold up the next locked instruction.
    #[inline(always)]
    pub(super) fn fetch_ahead(&self, len: u32) {
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
    /// [`published`](Self::published) has returned as many, or more, to this, the one reader, who has not given the chunk back.
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
