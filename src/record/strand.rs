//! A strand's own state: the chunk that it writes, and what it holds back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::chunk::{Chunk, LIMIT, Record, What};
use super::object::Object;
use super::pool::{self, Ids};
use super::{code, stacks};

/// An acquire that is not written yet, because its release may make one record of both.
///
/// In words that are written whole, because they are read whole soon after, and a processor waits where it has to put a read together from two
/// writes.
#[derive(Debug)]
pub(super) struct Held {
    /// See [`Record::place`].
    place: Cell<u64>,
    /// See [`Record::of_lock`]; 0: nothing is held back.
    lock: Cell<u64>,
}

// The bits are those of an index into `What::ACQUIRES`.
/// The content was read.
pub(super) const READ: u32 = 1;
/// The content was written.
pub(super) const WRITE: u32 = 2;
/// The lock was taken as one of several holders.
pub(super) const SHARED: u32 = 4;

impl Held {
    const fn new() -> Self {
        Held {
            place: Cell::new(0),
            lock: Cell::new(0),
        }
    }

    /// Takes over what `other` holds back.
    #[inline(always)]
    pub(super) fn take(&self, other: &Held) {
        self.place.set(other.place.get());
        self.lock.set(other.lock.get());
    }

    /// Holds an acquire back.
    #[inline(always)]
    pub(super) fn set(&self, object: u32, ticket: u32, site: u32, how: u32) {
        self.place.set(Record::place(ticket, site));
        self.lock.set(u64::from(object) | u64::from(how) << 32);
    }

    /// Nothing is held back any more.
    #[inline(always)]
    pub(super) fn clear(&self) {
        self.lock.set(0);
    }

    /// The object whose acquire is held back; 0: none.
    #[inline(always)]
    pub(super) fn object(&self) -> u32 {
        self.lock.get() as u32
    }

    /// Remembers that the content was touched at `site`; not if that is too far away for a record.
    #[inline(always)]
    pub(super) fn touch(&self, how: u32, site: &'static Location<'static>) -> bool {
        let lock = self.lock.get();
        // A read after any access, and a write after a write, say nothing new.
        if lock >> 32 & u64::from(how | WRITE) != 0 {
            return true;
        }
        let distance = code::distance((self.place.get() >> 32) as u32, site);
        let fits = (-(1 << 23)..1 << 23).contains(&distance);
        if fits {
            // Where it was read before gives way to where it is written.
            let before = lock & (0xff << 32 | 0xffff_ffff);
            self.lock
                .set((distance as u64) << 40 | before | u64::from(how) << 32);
        }
        fits
    }

    /// What is held back; see [`Record::of_lock`].
    #[inline(always)]
    pub(super) fn record(&self, first: What) -> Record {
        Record::of_lock(first, self.place.get(), self.lock.get())
    }
}

/// The last recorded access of an atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) object: u32,
    pub(super) what: What,
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
    // What every operation looks at, in one cache line.
    pub(super) chunk: Cell<NonNull<Chunk>>,
    pub(super) len: Cell<u32>,
    /// The length at which the strand is to look up from its work. The collector may set it.
    limit: AtomicU32,
    /// Changes whenever what was recorded so far no longer speaks for what comes: at transaction boundaries, and outside of
    /// transactions with every record. Different strands never share one. The lowest two bits are 0.
    pub(super) epoch: Cell<u64>,
    /// How many atomic blocks the strand is in.
    pub(super) depth: Cell<u32>,
    /// [`BEGINS`](super::chunk::BEGINS) while the strand is in a block and has recorded nothing in it.
    pub(super) begin: Cell<u32>,
    /// The lock that was taken last.
    pub(super) held: Held,
    /// The code of the outermost block, or of the last one. Whoever sees another one sees the end of the former one, too.
    block: AtomicU32,
    /// Whether `name` is set.
    pub(super) named: Cell<bool>,
    /// Whether accesses in blocks come with their stacks; see [`stacks`](super::stacks).
    pub(super) stacks: Cell<bool>,
    /// Whether accesses that say nothing new of this run are recorded in blocks all the same; see [`be_thorough`](super::be_thorough).
    pub(super) thorough: Cell<bool>,

    // The owner's.
    /// The lock that was taken before, where that is held back as well. What it guards may be touched after the other lock was taken, and is
    /// then recorded as if before: whoever else touches it has this lock too, so nobody could tell.
    pub(super) below: Held,
    /// The family number, by which violations are delivered.
    pub(super) family: Cell<u32>,
    pub(super) ids: Ids,
    pub(super) seen: [Cell<Option<Seen>>; SEEN],

    // Shared with the collector.
    /// Whether the mirror forked this strand.
    pub(crate) forked: bool,
    pub(crate) id: u32,
    pub(crate) first_family: u32,
    pub(crate) first: NonNull<Chunk>,
    pub(crate) name: OnceLock<Box<str>>,
    /// The next one in the list of strands that the collector has not met yet.
    pub(crate) next: AtomicPtr<Strand>,
}

/// What a thread has in place of a strand: it is never ready, and nothing in it ever changes.
pub(super) struct Nobody(pub(super) Strand);

// SAFETY: it is not written to.
unsafe impl Sync for Nobody {}

impl Nobody {
    pub(super) const fn new() -> Self {
        let mut strand = Strand::new(NonNull::dangling(), NOBODYS_EPOCH, 0, 0, false);
        strand.limit = AtomicU32::new(ALARM);
        Nobody(strand)
    }
}

/// No strand's epoch.
pub(super) const NOBODYS_EPOCH: u64 = u64::MAX << 2;

static SERIAL: AtomicU64 = AtomicU64::new(1);

impl Strand {
    const fn new(chunk: NonNull<Chunk>, epoch: u64, id: u32, family: u32, forked: bool) -> Strand {
        Strand {
            chunk: Cell::new(chunk),
            len: Cell::new(0),
            limit: AtomicU32::new(LIMIT + 1),
            epoch: Cell::new(epoch),
            depth: Cell::new(0),
            begin: Cell::new(0),
            held: Held::new(),
            below: Held::new(),
            block: AtomicU32::new(0),
            named: Cell::new(false),
            stacks: Cell::new(false),
            thorough: Cell::new(false),
            family: Cell::new(family),
            ids: Ids::new(),
            seen: [const { Cell::new(None) }; SEEN],
            forked,
            id,
            first_family: family,
            first: chunk,
            name: OnceLock::new(),
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// A new strand with an empty chunk; nothing where the system has no memory left.
    pub(super) fn allocate(family: u32, forked: bool) -> Option<NonNull<Strand>> {
        let chunk = pool::first_chunk()?;
        let epoch = SERIAL.fetch_add(1, Ordering::Relaxed) << 40;
        let strand = Strand::new(chunk, epoch, pool::strand(forked), family, forked);
        strand.follow_settings();
        // SAFETY: the layout is not of size zero.
        let memory =
            NonNull::new(unsafe { System.alloc(Layout::new::<Strand>()) })?.cast::<Strand>();
        // SAFETY: freshly allocated for a `Strand`.
        unsafe { memory.write(strand) };
        Some(memory)
    }

    /// The code of the outermost block, or of the last one.
    #[inline(always)]
    pub(crate) fn block(&self) -> u32 {
        self.block.load(Ordering::Acquire)
    }

    #[inline(always)]
    pub(super) fn set_block(&self, block: u32) {
        // Most often it is the same again, and a write less is to drain.
        if self.block.load(Ordering::Relaxed) != block {
            self.block.store(block, Ordering::Release);
        }
    }

    /// Takes over what the settings say.
    pub(super) fn follow_settings(&self) {
        self.stacks.set(stacks::are_wanted());
        self.thorough.set(super::is_thorough());
    }

    /// Gives the strand its name, if it has none.
    pub(super) fn set_name(&self, name: &str) {
        let _ = self.name.set(name.into());
        self.named.set(true);
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

    /// Whether this object's acquire is held back.
    #[inline(always)]
    pub(super) fn is_held(&self, object: &Object) -> bool {
        let id = object.id.load(Ordering::Relaxed);
        // Whatever a strand has taken has its number.
        debug_assert!(id != 0);
        self.held.object() == id
    }

    /// Remembers that the content of the lock was touched, if it is the one before the last that is held back.
    pub(super) fn touch_below(
        &self,
        how: u32,
        object: &Object,
        site: &'static Location<'static>,
    ) -> bool {
        self.below.object() == object.id.load(Ordering::Relaxed) && self.below.touch(how, site)
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
