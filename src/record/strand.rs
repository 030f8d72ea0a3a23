//! A strand's own state: the chunk that it writes, and what it holds back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::chunk::{Chunk, LIMIT};
use super::pool::{self, Ids};

/// An exclusive acquire that is not written yet, because its release may make one record of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// 0: nothing is held back.
    pub(super) object: u32,
    pub(super) ticket: u32,
    pub(super) site: u32,
    /// Where the content was touched.
    pub(super) touched: u32,
    pub(super) read: bool,
    pub(super) write: bool,
}

impl Held {
    pub(super) const NOTHING: Held = Held {
        object: 0,
        ticket: 0,
        site: 0,
        touched: 0,
        read: false,
        write: false,
    };
}

/// The last recorded access of an atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) object: u32,
    pub(super) what: super::What,
    pub(super) moment: super::clock::Moment,
    pub(super) epoch: u64,
}

/// How many atomics a strand remembers having touched.
pub(super) const SEEN: usize = 64;

/// The limit of a strand that is to look up from its work: no length is below it.
const ALARM: u32 = 0;

#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Strand {
    // The owner's.
    pub(super) chunk: Cell<NonNull<Chunk>>,
    pub(super) len: Cell<u32>,
    /// How many atomic blocks the strand is in.
    pub(super) depth: Cell<u32>,
    /// Changes whenever what was recorded so far no longer speaks for what comes: at transaction boundaries, and outside of
    /// transactions with every record. Different strands never share one.
    pub(super) epoch: Cell<u64>,
    /// The code of a block whose begin is not written yet, because the block may turn out to record nothing; 0: none.
    pub(super) begin: Cell<u32>,
    /// The code of the outermost block.
    pub(super) block: Cell<u32>,
    pub(super) held: Cell<Held>,
    /// The family number, by which violations are delivered.
    pub(super) family: Cell<u32>,
    pub(super) ids: Ids,
    pub(super) seen: [Cell<Option<Seen>>; SEEN],

    // Shared with the collector.
    limit: AtomicU32,
    /// Whether the mirror forked this strand.
    pub(crate) forked: bool,
    pub(crate) id: u32,
    pub(crate) first_family: u32,
    pub(crate) first: NonNull<Chunk>,
    pub(crate) name: OnceLock<Box<str>>,
    /// The next one in the list of strands that the collector has not met yet.
    pub(crate) next: AtomicPtr<Strand>,
}

static SERIAL: AtomicU64 = AtomicU64::new(1);

impl Strand {
    /// A new strand with an empty chunk; nothing where the system has no memory left.
    pub(super) fn allocate(family: u32, forked: bool) -> Option<NonNull<Strand>> {
        let chunk = pool::first_chunk()?;
        let strand = Strand {
            chunk: Cell::new(chunk),
            len: Cell::new(0),
            depth: Cell::new(0),
            epoch: Cell::new(SERIAL.fetch_add(1, Ordering::Relaxed) << 40),
            begin: Cell::new(0),
            block: Cell::new(0),
            held: Cell::new(Held::NOTHING),
            family: Cell::new(family),
            ids: Ids::new(),
            seen: [const { Cell::new(None) }; SEEN],
            limit: AtomicU32::new(LIMIT + 1),
            forked,
            id: pool::strand(forked),
            first_family: family,
            first: chunk,
            name: OnceLock::new(),
            next: AtomicPtr::new(std::ptr::null_mut()),
        };
        // SAFETY: the layout is not of size zero.
        let memory =
            NonNull::new(unsafe { System.alloc(Layout::new::<Strand>()) })?.cast::<Strand>();
        // SAFETY: freshly allocated for a `Strand`.
        unsafe { memory.write(strand) };
        Some(memory)
    }

    /// Frees a strand that has written its last record.
    ///
    /// # Safety
    ///
    /// The strand came from [`allocate`](Self::allocate) and nobody uses it any more.
    pub(crate) unsafe fn free(strand: NonNull<Strand>) {
        // SAFETY: ours alone, initialised, and allocated by `System` with this layout.
        unsafe {
            strand.drop_in_place();
            System.dealloc(strand.as_ptr().cast(), Layout::new::<Strand>());
        }
    }

    /// Whether there is room for an operation's records, and nobody wants the strand to look up.
    #[inline(always)]
    pub(super) fn is_ready(&self) -> bool {
        self.len.get() < self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn has_room(&self) -> bool {
        self.len.get() <= LIMIT
    }

    /// Makes the strand's next operation take the slow path.
    pub(crate) fn alarm(&self) {
        self.limit.store(ALARM, Ordering::Relaxed);
    }

    pub(super) fn is_alarmed(&self) -> bool {
        self.limit.load(Ordering::Relaxed) == ALARM
    }

    pub(super) fn calm(&self) {
        self.limit.store(LIMIT + 1, Ordering::Relaxed);
    }

    /// The object numbers that the strand drew and did not use. For when it is gone.
    pub(crate) fn leftover_ids(&self) -> impl Iterator<Item = u32> {
        std::iter::from_fn(|| self.ids.pop())
    }
}
