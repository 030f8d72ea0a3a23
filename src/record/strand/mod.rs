//! The strands: which one a thread is, how one begins and ends, and who writes its records.
//!
//! [`current`] has the strand of this thread, [`writer`] the state machine of what is written and
//! what of it is held back.

mod current;
mod fiber;
mod origin;
mod state;
mod writer;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub(crate) use self::current::{
    Child, Pen, Suspended, Untracked, current, current_name, deliver_here, exit,
    is_first_of_family, name_current_strand, never_track_this_thread, new_family, open_blocks, pen,
    regroup, step, untracked,
};
pub(in crate::record) use self::current::{finish, finish_step, name_current, slow_pen, strand};
pub(crate) use self::fiber::{Fiber, Part};
pub(crate) use self::origin::{Origin, Runner};
use self::state::State;
pub(in crate::record) use self::writer::Writer;
use super::buffer::chunk::{Buffer, Chunk, Published};
use super::buffer::pool::{self, Ids};
use super::buffer::record::What;
use super::control::Control;
use super::ops::clock::Moment;
use super::ops::object::Identity;
use super::{ops, stacks};
use crate::mark::Block;

/// What is known of a strand, by its owner and the collector.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Strand {
    // What every operation looks at, in one cache line.
    pub(in crate::record) buffer: Buffer,
    /// Changes whenever what was recorded so far no longer speaks for what comes: at transaction
    /// boundaries, and outside of transactions with every record. Different strands never share
    /// one. The lowest two bits are 0.
    pub(in crate::record) epoch: Cell<u64>,
    pub(in crate::record) state: Cell<State>,
    /// The outermost block, or the last one that recorded something; null where there was none.
    block: Cell<*const Block>,
    /// In how many blocks the strand must be for accesses that say nothing new of this run to be
    /// recorded all the same; see [`be_thorough`](ops::be_thorough).
    pub(in crate::record) thorough_from: Cell<u32>,

    // The owner's.
    /// The family number, by which violations are delivered.
    pub(in crate::record) family: Cell<u32>,
    pub(in crate::record) ids: Ids,
    pub(in crate::record) seen: Seen,
    /// Who decides when a strand goes on, if anybody does.
    control: UnsafeCell<Option<Arc<dyn Control>>>,
    /// Outside of blocks, under care: the lock, and the place, of a read that is recorded when
    /// something else is. A wait on a condition variable takes it back.
    pub(in crate::record) unwritten_read: Cell<Option<(u32, u32)>>,

    // Shared with the collector.
    /// Whether the mirror forked this strand.
    pub(crate) forked: bool,
    pub(crate) id: u32,
    pub(crate) first_family: u32,
    pub(crate) first: NonNull<Chunk>,
    pub(crate) name: OnceLock<Arc<str>>,
    /// Where a task was spawned.
    spawned: Cell<Option<&'static Location<'static>>>,
    /// Whether it is a run of an async block. Written before it is announced.
    pub(crate) is_run: Cell<bool>,
    /// Of a strand that nobody forked; written before it is announced. Not in here, because most
    /// are forked.
    origin: Cell<Option<NonNull<Origin>>>,
    /// The next one in the list of strands that the collector has not met yet.
    pub(crate) next: AtomicPtr<Strand>,
}

/// What a thread has in place of a strand: it is never ready, and nothing in it ever changes.
struct Nobody(Strand);

// SAFETY: it is not written to.
unsafe impl Sync for Nobody {}

impl Nobody {
    const fn new() -> Self {
        let (buffer, chunk) = (Buffer::none(), NonNull::dangling());
        Nobody(Strand::new(buffer, chunk, NOBODYS_EPOCH, 0, 0, false))
    }
}

/// No strand is in so many blocks.
const NEVER_THOROUGH: u32 = u32::MAX;

/// No strand's epoch.
pub(in crate::record) const NOBODYS_EPOCH: u64 = u64::MAX << 2;

static SERIAL: AtomicU64 = AtomicU64::new(1);

/// Puts a value into memory of the system's allocator, because the program's own may be using a
/// tracked lock right now. Nothing where the system has none left.
fn place<T>(value: T) -> Option<NonNull<T>> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout is not of size zero.
    let memory = NonNull::new(unsafe { System.alloc(Layout::new::<T>()) })?.cast::<T>();
    // SAFETY: freshly allocated for a `T`.
    unsafe { memory.write(value) };
    Some(memory)
}

/// Drops a value and gives its memory back.
///
/// # Safety
///
/// It came from [`place`] and nobody uses it any more.
unsafe fn discard<T>(value: NonNull<T>) {
    // SAFETY: initialised, and allocated by `System` with this layout.
    unsafe {
        value.drop_in_place();
        System.dealloc(value.as_ptr().cast(), Layout::new::<T>());
    }
}

impl Strand {
    const fn new(
        buffer: Buffer,
        first: NonNull<Chunk>,
        epoch: u64,
        id: u32,
        family: u32,
        forked: bool,
    ) -> Strand {
        Strand {
            buffer,
            epoch: Cell::new(epoch),
            state: Cell::new(State::NEW),
            block: Cell::new(ptr::null()),
            thorough_from: Cell::new(NEVER_THOROUGH),
            family: Cell::new(family),
            ids: Ids::new(),
            seen: Seen::nothing(),
            control: UnsafeCell::new(None),
            unwritten_read: Cell::new(None),
            forked,
            id,
            first_family: family,
            first,
            name: OnceLock::new(),
            spawned: Cell::new(None),
            is_run: Cell::new(false),
            origin: Cell::new(None),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// A new strand with an empty chunk; nothing where the system has no memory left.
    fn allocate(family: u32, forked: bool) -> Option<NonNull<Strand>> {
        let chunk = pool::first_chunk()?;
        let epoch = SERIAL.fetch_add(1, Ordering::Relaxed) << 40;
        let (buffer, id) = (Buffer::new(chunk), pool::strand(forked));
        let strand = Strand::new(buffer, chunk, epoch, id, family, forked);
        strand.follow_settings();
        place(strand)
    }

    /// Frees a strand that has written its last record.
    ///
    /// # Safety
    ///
    /// The strand came from [`allocate`](Self::allocate) and nobody uses it any more.
    pub(crate) unsafe fn free(strand: NonNull<Strand>) {
        // SAFETY: ours alone, and so is what it points to.
        unsafe {
            if let Some(origin) = strand.as_ref().origin.get() {
                discard(origin);
            }
            discard(strand);
        }
    }

    /// Where a strand came from that nobody forked.
    pub(crate) fn origin(&self) -> Option<Origin> {
        // SAFETY: lives as long as the strand, and does not change.
        self.origin.get().map(|origin| *unsafe { origin.as_ref() })
    }

    /// Takes over what the settings say.
    fn follow_settings(&self) {
        let _writer = self.writer();
        let is_controlled = self.control().is_some();
        let is_careful = is_controlled || stacks::are_wanted();
        self.state.set(self.state.get().with_care(is_careful));
        self.thorough_from.set(match is_controlled {
            true => 0,
            false if ops::is_thorough() => 1,
            false => NEVER_THOROUGH,
        });
    }

    /// Who decides when the strand goes on. Asked by the strand alone.
    pub(in crate::record) fn control(&self) -> Option<&Arc<dyn Control>> {
        // SAFETY: set by the strand's own thread, or before it starts; never while this is used.
        unsafe { (*self.control.get()).as_ref() }
    }

    /// The strand is controlled from here on, or no longer.
    pub(in crate::record) fn set_control(&self, control: Option<Arc<dyn Control>>) {
        self.writer().flush();
        self.buffer.attend(control.is_some());
        // SAFETY: as above.
        let before = unsafe { self.control.get().replace(control) };
        self.follow_settings();
        untracked(|| drop(before));
    }

    /// Gives the strand its name, if it has none.
    pub(in crate::record) fn set_name(&self, name: Arc<str>) {
        let _ = self.name.set(name);
        let _writer = self.writer();
        self.state.set(self.state.get().named());
    }

    /// The strand is a task's, and is named after the place where that was spawned.
    pub(in crate::record) fn set_spawned(&self, site: &'static Location<'static>) {
        self.spawned.set(Some(site));
        let _writer = self.writer();
        self.state.set(self.state.get().named());
    }

    /// The strand does a part of what the other one does, and has its name.
    pub(in crate::record) fn name_as(&self, other: &Strand) {
        match (other.name.get(), other.spawned.get()) {
            (Some(name), _) => self.set_name(Arc::clone(name)),
            (None, Some(site)) => self.set_spawned(site),
            (None, None) => {}
        }
    }

    /// What reports call the strand, where it has a name.
    pub(crate) fn display_name(&self) -> Option<String> {
        let task = |site: &Location<'_>| format!("task of {}:{}", site.file(), site.line());
        match self.name.get() {
            Some(name) => Some(String::from(&**name)),
            None => self.spawned.get().map(task),
        }
    }

    /// What may be read of one of the strand's chunks.
    pub(crate) fn published(&self, chunk: &Chunk) -> Published {
        self.buffer.published(chunk)
    }

    /// Makes the strand's next operation take the slow path.
    pub(crate) fn alarm(&self) {
        self.buffer.alarm();
    }

    /// Remembers an alarm until the next safe point.
    fn heed_alarm(&self) {
        if self.buffer.take_alarm() {
            self.state.set(self.state.get().with_reports());
        }
    }

    /// Whether the family may have reports. They are asked for next.
    pub(in crate::record) fn take_reports(&self) -> bool {
        let state = self.state.get();
        self.state.set(state.without_reports());
        state.has_reports()
    }

    /// The object numbers that the strand drew and did not use. For when it is gone.
    pub(crate) fn leftover_ids(&self) -> impl Iterator<Item = u32> {
        std::iter::from_fn(|| self.ids.pop())
    }

    /// What was recorded so far no longer speaks for what comes.
    #[inline(always)]
    pub(in crate::record) fn new_epoch(&self) {
        self.epoch.set(self.epoch.get() + 4);
    }

    /// The outermost block, or the last one that recorded something.
    pub(in crate::record) fn block(&self) -> Option<&'static Block> {
        // SAFETY: null, or a static.
        unsafe { self.block.get().as_ref() }
    }

    #[inline(always)]
    pub(in crate::record) fn address(&self) -> usize {
        self as *const Strand as usize
    }
}

/// The access of an atomic that is the strand's last record.
#[derive(Debug)]
pub(in crate::record) struct Seen {
    object: Cell<Identity>,
    /// The strand's [`stamp`](Strand::stamp) after the record; [`Seen::NOTHING`] where there is no
    /// such access.
    stamp: Cell<u64>,
    pub(in crate::record) what: Cell<What>,
    pub(in crate::record) moment: Cell<Moment>,
}

impl Seen {
    /// No strand's stamp.
    const NOTHING: u64 = u64::MAX;

    const fn nothing() -> Seen {
        Seen {
            object: Cell::new(Identity::NONE),
            stamp: Cell::new(Self::NOTHING),
            what: Cell::new(What::Read),
            moment: Cell::new(Moment::FIRST),
        }
    }

    /// The next access of the atomic is recorded.
    #[inline(always)]
    pub(in crate::record) fn forget(&self) {
        self.stamp.set(Self::NOTHING);
    }
}

impl Strand {
    /// Tells the present epoch and record from all others that the strand has had in the chunk.
    #[inline(always)]
    fn stamp(&self) -> u64 {
        self.epoch.get() ^ self.buffer.mark() << 48
    }

    /// The last record, if it is an access of this atomic in the present epoch. Only then may the
    /// next access of it be left out: the order of looks at different things counts where one of
    /// them is taken back.
    #[inline(always)]
    pub(in crate::record) fn last_seen(&self, object: Identity) -> Option<&Seen> {
        let seen = &self.seen;
        if seen.object.get().is(object) && seen.stamp.get() == self.stamp() {
            Some(seen)
        } else {
            None
        }
    }

    /// The last record is this access of an atomic.
    #[inline(always)]
    pub(in crate::record) fn has_seen(&self, object: Identity, what: What, moment: Moment) {
        self.seen.object.set(object);
        self.seen.stamp.set(self.stamp());
        self.seen.what.set(what);
        self.seen.moment.set(moment);
    }
}
