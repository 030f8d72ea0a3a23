//! A strand's own state: the chunk that it writes, and what of that it holds back.
//!
//! A signal handler may interrupt the strand anywhere, and use a tracked atomic. Whatever changes
//! the strand's state is therefore done while the strand is *busy*, and a busy strand gives out no
//! pen:
//!
//! | the strand was interrupted | what the handler does to an atomic |
//! |---|---|
//! | not in the recorder, or before it became busy for an operation | is recorded, before that operation |
//! | while busy: in the middle of a record, or with an atomic's clock in hand | is done to the value and not recorded |
//! | while untracked: in the real operation, or where the recorder waits | the same |
//!
//! So an operation reads the state only after it became busy, and may find less room than there was
//! when it asked for its pen:
//! [`append`](Strand::append) makes sure that there is some. The functions of [`Pen`](super::Pen) make the strand busy, once; those here do so where
//! they say it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};

use super::chunk::{BEGINS, Chunk, ENDED, FULL, LIMIT, Record, STEP, What};
use super::clock::Moment;
use super::object::{Identity, Number, Object};
use super::origin::Origin;
use super::pool::{self, Ids};
use super::{code, stacks, untracked};
use crate::mark::Block;

/// What a strand is in the middle of. In one word, so that what is usual is one comparison, and
/// read and written whole, because a processor waits where it has to put a read together from two
/// writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64);

impl State {
    /// The record before the one that is held back is held back as well. What that lock guards may
    /// be touched after the other one was taken, and is then recorded as if before. Only inside of
    /// blocks: there all of it is one transaction, and whoever else touches it needs that lock, so
    /// nobody could tell. Outside of blocks each access is a transaction of its own, and their
    /// order counts.
    const BELOW: u64 = 1 << 0;
    /// The block has to be recorded before anything else in it.
    const NEWS: u64 = 1 << 1;
    /// Accesses in blocks come with their stacks; see [`stacks`](super::stacks).
    const STACKS: u64 = 1 << 2;
    /// The strand may have a name that nobody has asked for.
    const UNNAMED: u64 = 1 << 3;
    /// The strand's family may have reports, which are delivered at the next safe point.
    const REPORTS: u64 = 1 << 4;
    // `ENDED` and `BEGINS` are what the next record will say.
    /// How many blocks the strand is in.
    const BLOCK: u64 = 1 << 8;
    /// The number of the object whose acquire is the last record, and is held back: not published,
    /// because it may become a whole section. 0: there is none.
    const HELD: u64 = 0xffff_ffff << 32;

    const BOUNDS: u64 = ENDED | BEGINS;

    /// In one block, in which everything was published.
    const INSIDE: State = State(Self::BLOCK);
    /// Outside of blocks, after one that recorded something.
    const AFTERWARDS: State = State(ENDED);

    /// Outside of blocks, and no unpublished record.
    #[inline(always)]
    pub(super) fn is_idle(self) -> bool {
        self.0 & !ENDED == 0
    }

    /// How many blocks the strand is in.
    #[inline(always)]
    pub(super) fn depth(self) -> u32 {
        self.0 as u32 / Self::BLOCK as u32
    }

    /// Whether the strand is in a block.
    #[inline(always)]
    pub(super) fn in_block(self) -> bool {
        self.depth() > 0
    }

    /// Whether the strand is in a block and has recorded nothing in it.
    pub(super) fn is_at_begin(self) -> bool {
        self.0 & BEGINS != 0
    }

    /// The object whose acquire is the last record, and is not published; 0: none.
    #[inline(always)]
    pub(super) fn held(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether something is to be done before a record is written.
    #[inline(always)]
    pub(super) fn hinders(self) -> bool {
        self.0 & (Self::HELD | Self::BELOW | Self::NEWS | Self::STACKS) != 0
    }

    /// Whether nothing but one acquire that is held back hinders.
    pub(super) fn only_holds(self) -> bool {
        !self.without(Self::HELD).hinders()
    }

    pub(super) fn wants_stacks(self) -> bool {
        self.0 & Self::STACKS != 0
    }

    pub(super) fn has_reports(self) -> bool {
        self.0 & Self::REPORTS != 0
    }

    pub(super) fn is_unnamed(self) -> bool {
        self.0 & Self::UNNAMED != 0
    }

    #[inline(always)]
    fn without(self, bits: u64) -> State {
        State(self.0 & !bits)
    }
}

/// The access of an atomic that is the strand's last record.
#[derive(Debug)]
pub(super) struct Seen {
    object: Cell<Identity>,
    /// The strand's [`stamp`](Strand::stamp) after the record; [`Seen::NOTHING`] where there is no
    /// such access.
    stamp: Cell<u64>,
    pub(super) what: Cell<What>,
    pub(super) moment: Cell<Moment>,
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
    pub(super) fn forget(&self) {
        self.stamp.set(Self::NOTHING);
    }
}

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
    /// Whether the strand is in the middle of an operation; see the module.
    busy: AtomicBool,
    /// Changes whenever what was recorded so far no longer speaks for what comes: at transaction
    /// boundaries, and outside of transactions with every record. Different strands never share
    /// one. The lowest two bits are 0.
    pub(super) epoch: Cell<u64>,
    pub(super) state: Cell<State>,
    /// The outermost block, or the last one that recorded something; null where there was none.
    pub(super) block: Cell<*const Block>,
    /// Whether accesses that say nothing new of this run are recorded in blocks all the same; see
    /// [`be_thorough`](super::be_thorough).
    pub(super) thorough: Cell<bool>,

    // The owner's.
    /// The family number, by which violations are delivered.
    pub(super) family: Cell<u32>,
    pub(super) ids: Ids,
    pub(super) seen: Seen,

    // Shared with the collector.
    /// Whether the mirror forked this strand.
    pub(crate) forked: bool,
    pub(crate) id: u32,
    pub(crate) first_family: u32,
    pub(crate) first: NonNull<Chunk>,
    pub(crate) name: OnceLock<Box<str>>,
    /// Written before the strand is announced.
    pub(crate) origin: Cell<Origin>,
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
            busy: AtomicBool::new(false),
            epoch: Cell::new(epoch),
            state: Cell::new(State(State::UNNAMED)),
            block: Cell::new(ptr::null()),
            thorough: Cell::new(false),
            family: Cell::new(family),
            ids: Ids::new(),
            seen: Seen::nothing(),
            forked,
            id,
            first_family: family,
            first: chunk,
            name: OnceLock::new(),
            origin: Cell::new(Origin::UNKNOWN),
            next: AtomicPtr::new(ptr::null_mut()),
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

    /// Takes over what the settings say. Busy while it does.
    pub(super) fn follow_settings(&self) {
        let _busy = self.busy();
        let state = self.state.get().without(State::STACKS);
        let stacks = if stacks::are_wanted() {
            State::STACKS
        } else {
            0
        };
        self.state.set(State(state.0 | stacks));
        self.thorough.set(super::is_thorough());
    }

    /// Gives the strand its name, if it has none. Busy while it does.
    pub(super) fn set_name(&self, name: &str) {
        let _ = self.name.set(name.into());
        let _busy = self.busy();
        self.state.set(self.state.get().without(State::UNNAMED));
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

    /// Whether there is room for an operation's records, nobody wants the strand to look up, and it
    /// is not in the middle of anything.
    #[inline(always)]
    pub(super) fn is_ready(&self) -> bool {
        self.len.get() < self.limit.load(Ordering::Relaxed) && !self.is_busy()
    }

    /// Whether the strand is in the middle of an operation: whoever asks is a signal handler.
    #[inline(always)]
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// The strand is in the middle of an operation as long as this lives. It was not before.
    #[inline(always)]
    pub(super) fn busy(&self) -> Busy<'_> {
        debug_assert!(!self.is_busy());
        self.busy.store(true, Ordering::Relaxed);
        // Nothing of the operation comes before: a signal handler is of the same thread, so the
        // compiler alone must be told.
        compiler_fence(Ordering::SeqCst);
        Busy(self)
    }

    /// What was recorded so far no longer speaks for what comes.
    #[inline(always)]
    pub(super) fn new_epoch(&self) {
        self.epoch.set(self.epoch.get() + 4);
    }

    /// The chunk that the strand writes.
    #[inline(always)]
    fn chunk(&self) -> &Chunk {
        // SAFETY: lives until everything in it was read, of which the last is still to be written.
        unsafe { self.chunk.get().as_ref() }
    }

    /// Writes a record; nothing hinders it, and nothing is held back in the same chunk unless there
    /// is room. The chunk and its new length.
    #[inline(always)]
    fn append(&self, record: Record, next: State) -> (&Chunk, u32) {
        if self.len.get() == FULL {
            self.overflow();
        }
        let (chunk, len) = (self.chunk(), self.len.get());
        // SAFETY: this strand is the chunk's writer, and there is room.
        unsafe { chunk.write(len, record) };
        self.len.set(len + STEP);
        self.state.set(next);
        if !next.in_block() {
            self.new_epoch();
        }
        (chunk, len + STEP)
    }

    /// Goes on in another chunk in the middle of an operation: it writes more than is reserved for
    /// one, or signal handlers have written since it asked for its pen. It has drawn tickets, so it
    /// cannot wait.
    #[cold]
    #[inline(never)]
    extern "C" fn overflow(&self) {
        let Some(chunk) = untracked(pool::chunk_at_once) else {
            std::alloc::handle_alloc_error(Layout::new::<Chunk>());
        };
        // What was to be published with what comes next.
        self.chunk().publish(self.len.get());
        self.go_on_in(chunk);
    }

    /// Leaves a chunk in which everything is published for an empty one.
    pub(super) fn go_on_in(&self, chunk: NonNull<Chunk>) {
        debug_assert!(self.is_busy());
        self.chunk().leave_for(chunk);
        self.chunk.set(chunk);
        self.len.set(0);
        self.seen.forget();
    }

    /// Writes a record, which nothing hinders, and publishes it.
    #[inline(always)]
    pub(super) fn write(&self, record: Record) {
        let state = self.state.get();
        debug_assert!(state.held() == 0);
        let (chunk, len) = self.append(record.after(state.0), state.without(State::BOUNDS));
        // Last, because the collector frees a strand whose exit is published.
        chunk.publish(len);
    }

    /// Writes what comes before the begin of a block, if one begins. It is published with what
    /// comes next.
    #[inline(always)]
    fn append_before_begin(&self, record: Record, next: State) -> (&Chunk, u32) {
        debug_assert!(next.held() == 0);
        self.append(record.after(next.0 & ENDED), next.without(ENDED))
    }

    /// Writes the definition of an object, which is outside of every block, and publishes it.
    pub(super) fn define(&self, definition: Record) {
        let (chunk, len) = self.append_before_begin(definition, self.state.get());
        chunk.publish(len);
    }

    /// Writes the block that the strand is in, if that is due. It is published with what comes
    /// next.
    #[inline(always)]
    pub(super) fn write_news(&self) {
        let state = self.state.get();
        if state.0 & State::NEWS != 0
            && let Some(block) = self.block()
        {
            let news = Record::new(What::Block, code::block(block), 0, 0);
            self.append_before_begin(news, state.without(State::NEWS));
            block.has_recorded();
        }
    }

    /// The outermost block, or the last one that recorded something.
    pub(super) fn block(&self) -> Option<&'static Block> {
        // SAFETY: null, or a static.
        unsafe { self.block.get().as_ref() }
    }

    /// Writes an acquire and holds it back, because its release may make one record of both.
    /// Nothing hinders it.
    #[inline(always)]
    pub(super) fn hold_back(&self, acquire: Record) {
        let state = self.state.get();
        let held = u64::from(acquire.target()) << 32;
        let next = State(state.without(State::BOUNDS).0 | held);
        self.append(acquire.after(state.0), next);
    }

    /// The same on top of another one that is held back, inside of a block.
    pub(super) fn hold_back_above(&self, acquire: Record) {
        if self.len.get() == FULL {
            self.flush();
            return self.hold_back(acquire);
        }
        let below = self.state.get().without(State::HELD);
        self.state.set(State(below.0 | State::BELOW));
        self.hold_back(acquire);
    }

    /// Tells the present epoch and length from all others that the strand has had in the chunk.
    #[inline(always)]
    fn stamp(&self) -> u64 {
        self.epoch.get() ^ u64::from(self.len.get()) << 48
    }

    /// The last record, if it is an access of this atomic in the present epoch. Only then may the
    /// next access of it be left out: the order of looks at different things counts where one of
    /// them is taken back.
    #[inline(always)]
    pub(super) fn last_seen(&self, object: Identity) -> Option<&Seen> {
        let seen = &self.seen;
        (seen.object.get() == object && seen.stamp.get() == self.stamp()).then_some(seen)
    }

    /// The last record is this access of an atomic.
    #[inline(always)]
    pub(super) fn has_seen(&self, object: Identity, what: What, moment: Moment) {
        self.seen.object.set(object);
        self.seen.stamp.set(self.stamp());
        self.seen.what.set(what);
        self.seen.moment.set(moment);
    }

    /// Whether this object's acquire is the last record, and is held back.
    #[inline(always)]
    fn is_held(&self, object: &Object) -> bool {
        let id = object.id.number();
        // Whatever a strand has taken has its number.
        debug_assert!(id != 0);
        self.state.get().held() == id
    }

    /// Remembers that the content of the lock was touched at `site`, if its acquire is held back;
    /// not if that is too far away for a record. Busy while it does.
    #[inline(always)]
    pub(super) fn touch(
        &self,
        how: u32,
        object: &Object,
        site: &'static Location<'static>,
    ) -> bool {
        let _busy = self.busy();
        self.is_held(object) && self.amend(self.len.get() - STEP, how, site)
    }

    /// Remembers that the content of the lock was touched, if it is the one before the last that is
    /// held back. Busy while it does.
    pub(super) fn touch_below(
        &self,
        how: u32,
        object: &Object,
        site: &'static Location<'static>,
    ) -> bool {
        let _busy = self.busy();
        self.state.get().0 & State::BELOW != 0 && {
            let at = self.len.get() - 2 * STEP;
            // SAFETY: this strand is the chunk's writer, has written it, and has not published it.
            let below = unsafe { self.chunk().unpublished(at) };
            below.target() == object.id.number() && self.amend(at, how, site)
        }
    }

    #[inline(always)]
    fn amend(&self, at: u32, how: u32, site: &'static Location<'static>) -> bool {
        let chunk = self.chunk();
        // SAFETY: this strand is the chunk's writer, has written it, and has not published it.
        let acquire = unsafe { chunk.unpublished(at) };
        if acquire.is_touched(how) {
            return true;
        }
        let touched = acquire.touched(how, code::bytes_between(acquire.site(), site));
        if let Some(touched) = touched {
            // SAFETY: as above.
            unsafe { chunk.write(at, touched) };
        }
        touched.is_some()
    }

    /// Records the release of a lock, if its acquire is held back. Busy while it does.
    #[inline(always)]
    pub(super) fn closes(&self, object: &Object) -> bool {
        let busy = self.busy();
        let is_held = self.is_held(object);
        if is_held {
            std::mem::forget(busy);
            self.close();
        }
        is_held
    }

    /// Makes one record of the acquire that is held back and its release, and publishes it. The
    /// strand is no longer busy then.
    // Not in line, so that the drop of a guard is: otherwise the guard is in memory.
    #[inline(never)]
    extern "C" fn close(&self) {
        let (chunk, at) = (self.chunk(), self.len.get() - STEP);
        // SAFETY: this strand is the chunk's writer, has written it, and has not published it.
        let acquire = unsafe { chunk.unpublished(at) };
        // SAFETY: as above.
        unsafe { chunk.write(at, acquire.section()) };
        self.publish(chunk, at + STEP);
        drop(Busy(self));
        chunk.fetch_ahead(at);
    }

    /// Publishes what is held back.
    #[inline(never)]
    pub(super) extern "C" fn flush(&self) {
        debug_assert!(self.is_busy());
        self.publish(self.chunk(), self.len.get());
    }

    #[inline(always)]
    fn publish(&self, chunk: &Chunk, len: u32) {
        let state = self.state.get();
        self.state.set(state.without(State::HELD | State::BELOW));
        if !state.in_block() {
            self.new_epoch();
        }
        chunk.publish(len);
    }

    /// The outermost block begins, and everything is published.
    ///
    /// Not busy: a signal handler that comes before the state is set has done something outside of
    /// blocks, after which an end is said once more than it was, and nobody minds.
    #[inline(always)]
    pub(super) fn begin(&self, block: &'static Block) {
        let State(state) = self.state.get();
        let mut begun = state | State::BLOCK | BEGINS;
        self.new_epoch();
        // Most often it is the same again.
        if !ptr::eq(self.block.get(), block) {
            self.block.set(block);
            begun |= State::NEWS;
        }
        compiler_fence(Ordering::SeqCst);
        self.state.set(State(begun));
    }

    /// A block begins, where the strand is in one. Busy while it does.
    #[inline(always)]
    pub(super) fn begin_inner(&self) {
        let _busy = self.busy();
        self.state.set(State(self.state.get().0 + State::BLOCK));
    }

    /// A block ends in which the strand is in another one; or one that nobody saw begin. Busy while
    /// it does.
    pub(super) fn end_inner(&self) {
        let _busy = self.busy();
        let state = self.state.get();
        if state.in_block() {
            self.state.set(State(state.0 - State::BLOCK));
        }
    }

    /// A block ends, if it does so as most do: it is the outermost, has recorded something, and
    /// everything is published. If not, nothing was done.
    #[inline(always)]
    pub(super) fn ends_plainly(&self) -> bool {
        let is_plain = self.state.get() == State::INSIDE && !std::thread::panicking();
        if is_plain {
            // A signal handler has left this state as it was.
            let _busy = self.busy();
            self.state.set(State::AFTERWARDS);
            self.new_epoch();
            self.chunk().publish_end(self.len.get());
        }
        is_plain
    }

    /// The outermost block ends; everything is published. Busy while it does.
    pub(super) fn end(&self) {
        let _busy = self.busy();
        let state = self.state.get();
        debug_assert!(state.depth() == 1 && state.held() == 0);
        let ended = if state.is_at_begin() {
            if state.0 & State::NEWS != 0 {
                // Nobody has heard of it.
                self.block.set(ptr::null());
            }
            0
        } else {
            self.chunk().publish_end(self.len.get());
            ENDED
        };
        let next = state.without(BEGINS | State::NEWS);
        self.state.set(State((next.0 - State::BLOCK) | ended));
        self.new_epoch();
    }

    pub(super) fn has_room(&self) -> bool {
        self.len.get() <= LIMIT
    }

    /// Makes the strand's next operation take the slow path.
    pub(crate) fn alarm(&self) {
        self.limit.store(ALARM, Ordering::Relaxed);
    }

    /// Remembers an alarm until the next safe point: whether there was one.
    pub(super) fn heed_alarm(&self) {
        if self.limit.load(Ordering::Relaxed) == ALARM {
            self.limit.store(LIMIT + 1, Ordering::Relaxed);
            self.state.set(State(self.state.get().0 | State::REPORTS));
        }
    }

    /// Whether the family may have reports. They are asked for next.
    pub(super) fn take_reports(&self) -> bool {
        let state = self.state.get();
        self.state.set(state.without(State::REPORTS));
        state.has_reports()
    }

    /// The object numbers that the strand drew and did not use. For when it is gone.
    pub(crate) fn leftover_ids(&self) -> impl Iterator<Item = u32> {
        std::iter::from_fn(|| self.ids.pop())
    }
}

/// A strand is in the middle of an operation; see [`Strand::busy`].
pub(super) struct Busy<'a>(&'a Strand);

impl Drop for Busy<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.busy.store(false, Ordering::Relaxed);
    }
}
