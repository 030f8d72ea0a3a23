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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Record {
    /// The object, or what else the operation is on.
    pub(crate) target: u32,
    /// The record's place among those of its object, where the operation draws one.
    pub(crate) ticket: u32,
    /// Where in the source; a code of [`code`](super::code).
    pub(crate) site: u32,
    /// What.
    pub(crate) what: What,
    /// For what is two operations in one: where the second one was, as the distance of its code from `site`.
    pub(crate) second: [u8; 3],
}

const _: () = assert!(size_of::<Record>() == 16);

/// What a record says. [`Op`](crate::trace::Op) is what the collector makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum What {
    /// Block.
    Begin,
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
    /// An object is used for the first time. `ticket` is the code of its type's name, `site` where it was made, `second[0]` its kind.
    Define,
    /// `site` is the number of a name.
    Name,
    /// The number of the stack of the strand's next record.
    Stack,
    /// A guard touches what it guards: the lock's own records keep this in its place, so it draws no ticket.
    GuardRead,
    GuardWrite,

    // Everything from here on draws a ticket.
    Acquire,
    AcquireRead,
    AcquireWrite,
    AcquireReadWrite,
    Release,
    /// A whole critical section in which nothing else was recorded.
    Section,
    SectionRead,
    SectionWrite,
    SectionReadWrite,
    AcquireShared,
    ReleaseShared,
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
    /// Whether it is something done to an object.
    pub(super) fn is_access(self) -> bool {
        self as u8 >= What::GuardRead as u8
    }
}

/// Records in a chunk.
#[cfg(not(loom))]
pub(crate) const SLOTS: u32 = 2048;
#[cfg(loom)]
pub(crate) const SLOTS: u32 = 2;

/// The most records that one operation writes: a begin and an acquire that were held back, an object's definition, and its own, of which the
/// most are a barrier's (an arrival, a split, a departure) and a failed rendezvous' (a send, an update, a split, a loss).
/// Each may come with its stack.
pub(crate) const RESERVE: u32 = 16;

/// An operation may start while the length is at most this: afterwards there is still room for a begin and an acquire that are held back,
/// so that they can be published before the strand waits for another chunk.
#[cfg(not(loom))]
pub(crate) const LIMIT: u32 = SLOTS - RESERVE - 2;

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

    /// Writes slot `index` and publishes it.
    ///
    /// # Safety
    ///
    /// The caller is the chunk's one writer, `index` is its length, and less than [`SLOTS`].
    #[inline(always)]
    pub(crate) unsafe fn push(&self, index: u32, record: Record) {
        debug_assert!(index < SLOTS);
        // SAFETY: in bounds; not yet published, so the reader does not look at it.
        unsafe { self.slots.get_unchecked(index as usize) }
            .with_mut(|slot| unsafe { (*slot).write(record) });
        self.published.store(index + 1, Ordering::Release);
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

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    fn record(n: u32) -> Record {
        Record {
            target: n,
            ticket: !n,
            site: 0,
            what: What::Read,
            second: [0; 3],
        }
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
                        unsafe { (*(chunk as *const Chunk)).push(index, record(n)) };
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
}
