//! Who writes a strand's records: the state machine of what is written, and what of it is held
//! back.
//!
//! An acquire is held back: it is in its slot, but not published, because its release may make one
//! record of both. Whatever else is recorded publishes it first.
//!
//! A signal handler may interrupt the strand anywhere, and use a tracked atomic. Whatever changes
//! the strand's state is therefore done by its [`Writer`], and as long as there is one the strand
//! is *busy* and gives out no pen:
//!
//! | the strand was interrupted | what the handler does to an atomic |
//! |---|---|
//! | not in the recorder, or before it became busy for an operation | is recorded, before that operation |
//! | while busy: in the middle of a record, or with an atomic's clock in hand | is done to the value and not recorded |
//! | while untracked: in the real operation, or where the recorder waits | the same |
//!
//! So an operation reads the state only after it became busy, and may find less room than there was
//! when it asked for its pen: [`append`](Writer::append) makes sure that there is some.

use std::alloc::Layout;
use std::mem;
use std::panic::Location;
use std::ptr::{self, NonNull};

use super::state::State;
use super::{Pen, Strand, untracked};
use crate::mark::Block;
use crate::record::buffer::chunk::{Chunk, Slot, fetch_ahead};
use crate::record::buffer::prim::keep_order;
use crate::record::buffer::record::{BEGINS, ENDED, Record, WRITE, What};
use crate::record::buffer::{code, pool};
use crate::record::host::guarded;
use crate::record::ops::object::{Number, Object};
use crate::record::stacks;

/// A strand in the middle of an operation. There is one at a time.
///
/// Functions that are not inlined take the strand or the writer by value: a value whose address is
/// not taken stays in a register.
#[repr(transparent)]
pub(in crate::record) struct Writer<'a>(&'a Strand);

impl Drop for Writer<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.go_on_at(self.0.buffer.next());
    }
}

impl Strand {
    /// The strand is no longer in the middle of an operation. Its next record goes here.
    #[inline(always)]
    fn go_on_at(&self, next: *mut Slot) {
        keep_order();
        self.buffer.open_at(next);
    }

    /// The strand is in the middle of an operation as long as this lives. It was not before.
    #[inline(always)]
    pub(in crate::record) fn writer(&self) -> Writer<'_> {
        #[cfg(test)]
        assert!(!self.buffer.is_busy());
        self.buffer.shut();
        // Nothing of the operation comes before: a signal handler is of the same thread, so the
        // compiler alone must be told.
        keep_order();
        Writer(self)
    }
}

impl Pen {
    /// Begins to write.
    #[inline(always)]
    pub(in crate::record) fn writer(self) -> Writer<'static> {
        self.0.writer()
    }

    /// The writer of a strand that is in the middle of an operation, and whose writer was forgotten.
    #[inline(always)]
    pub(in crate::record) fn writer_again(self) -> Writer<'static> {
        debug_assert!(self.0.buffer.is_busy());
        Writer(self.0)
    }
}

// `extern "C"`, here and wherever it stands on the recording path, says that a function does not
// unwind: otherwise every guard would have to be in memory, for the case that it does. None of them
// panics, and what they call that might is guarded.

impl<'a> Writer<'a> {
    #[inline(always)]
    pub(in crate::record) fn strand(&self) -> &'a Strand {
        self.0
    }

    #[inline(always)]
    fn state(&self) -> State {
        self.0.state.get()
    }

    /// Whether a record can be written as it is, and is neither the first of a block nor outside of
    /// blocks.
    #[inline(always)]
    pub(in crate::record) fn is_inside(&self) -> bool {
        self.state().is(State::INSIDE) && !self.0.buffer.is_full()
    }

    /// Writes such a record and publishes it.
    #[inline(always)]
    pub(in crate::record) fn write_inside(self, record: Record) {
        let Writer(strand) = self;
        mem::forget(self);
        let next = strand.buffer.append(record);
        strand.buffer.chunk().publish(next);
        strand.go_on_at(next);
    }

    /// Records something, after what is due before it.
    #[inline(always)]
    pub(in crate::record) fn push(&self, what: What, target: u32, ticket: u32, site: u32) {
        self.push_record(Record::new(what, target, ticket, site));
    }

    /// The same.
    #[inline(always)]
    pub(in crate::record) fn push_record(&self, record: Record) {
        if self.state().needs_preparation() || self.0.buffer.is_full() {
            push_slow(self.0, record);
        } else {
            self.write(record);
        }
    }

    /// Publishes what is held back, writes the block and the stack where these are due before a
    /// record, and makes room for that.
    fn prepare(&self, what: What) {
        self.flush();
        self.write_unwritten_read();
        self.write_block();
        if stacks::are_wanted() && what.is_access() && self.state().in_block() {
            if let Some(stack) = untracked(|| guarded(stacks::capture)) {
                self.make_room();
                self.write(Record::new(What::Stack, stack, 0, 0));
            }
        }
        self.make_room();
    }

    /// Writes a record, for which nothing is to be prepared, and comes to the next state.
    fn append(&self, record: Record, next: State) {
        self.make_room();
        self.append_in(record, next);
    }

    /// The same, where there is room.
    #[inline(always)]
    fn append_in(&self, record: Record, next: State) {
        let Writer(strand) = *self;
        strand.buffer.append(record);
        strand.state.set(next);
        if !next.in_block() {
            strand.new_epoch();
        }
    }

    /// Writes the read that was put off, if there is one.
    fn write_unwritten_read(&self) {
        if let Some((lock, site)) = self.0.unwritten_read.take() {
            self.make_room();
            self.write(Record::new(What::GuardRead, lock, 0, site));
        }
    }

    /// Goes on in another chunk, if this one is full in the middle of an operation: it writes more
    /// than is reserved for one, or signal handlers have written since it asked for its pen. It has
    /// drawn tickets, so it cannot wait.
    fn make_room(&self) {
        if !self.0.buffer.is_full() {
            return;
        }
        let last = self.0.buffer.chunk();
        let Some(chunk) = untracked(|| pool::chunk_at_once(last)) else {
            std::alloc::handle_alloc_error(Layout::new::<Chunk>());
        };
        // What was to be published with what comes next.
        self.0.buffer.publish();
        self.go_on_in(chunk);
    }

    /// Leaves a chunk in which everything is published for an empty one.
    pub(super) fn go_on_in(&self, chunk: NonNull<Chunk>) {
        self.0.buffer.go_on_in(chunk);
        self.0.seen.forget();
    }

    /// Writes a record, for which nothing is to be prepared and there is room, and publishes it.
    #[inline(always)]
    fn write(&self, record: Record) {
        let state = self.state();
        debug_assert!(state.held() == 0);
        self.append_in(record.after(state.0), state.without(State::BOUNDS));
        // Last, because the collector frees a strand whose exit is published.
        self.0.buffer.publish();
    }

    /// Writes the strand's last record. It stays busy for good: once that is published, it may be
    /// gone.
    pub(in crate::record) fn exit(self) {
        self.push(What::Exit, 0, 0, 0);
        mem::forget(self);
    }

    /// Writes what comes before the begin of a block, if one begins. It is published with what
    /// comes next.
    fn append_before_begin(&self, record: Record, next: State) {
        debug_assert!(next.held() == 0);
        self.append(record.after(next.0 & ENDED), next.without(ENDED));
    }

    /// Writes the definition of an object, which is outside of every block, and publishes it.
    pub(in crate::record) fn define(&self, definition: Record) {
        self.flush();
        self.append_before_begin(definition, self.state());
        self.0.buffer.publish();
    }

    /// Writes the block that the strand is in, if that is due. It is published with what comes
    /// next.
    fn write_block(&self) {
        let state = self.state();
        if state.0 & State::BLOCK_DUE == 0 {
            return;
        }
        if let Some(block) = self.0.block() {
            let record = Record::new(What::Block, code::block(block), 0, 0);
            self.append_before_begin(record, state.without(State::BLOCK_DUE));
            block.has_recorded();
        }
    }

    // What is held back.

    /// The slot of the next record, if that is the first of a block that is the same as the one
    /// before, and can be written as it is.
    #[inline(always)]
    pub(in crate::record) fn slot_at_begin(&self) -> Option<*mut Slot> {
        let next = self.0.buffer.next();
        if self.state().is(State::AT_BEGIN) && !self.0.buffer.is_end(next) {
            Some(next)
        } else {
            None
        }
    }

    /// Records an acquire, which is published when its release is, or something else before that.
    /// The strand is [at the begin](Self::slot_at_begin) of a block. So everything that is written
    /// is known, and waits for nothing that has just been written.
    #[inline(always)]
    pub(in crate::record) fn hold_back_first(self, slot: *mut Slot, acquire: Record) {
        let lock = acquire.target();
        self.finish(
            slot,
            acquire.after(State::BOUNDS),
            State::INSIDE.holding(lock),
        );
    }

    /// Records an acquire, which is published when its release is, or something else before that.
    #[inline(always)]
    pub(in crate::record) fn hold_back(self, acquire: Record) {
        let (state, slot) = (self.state(), self.0.buffer.next());
        let lock = acquire.target();
        if self.0.buffer.is_end(slot) {
            self.hold_back_slow(acquire);
        } else if !state.needs_preparation() {
            if !state.in_block() {
                self.0.new_epoch();
            }
            let next = state.without(State::BOUNDS).holding(lock);
            self.finish(slot, acquire.after(state.0), next);
        } else if state.only_holds() && state.in_block() {
            // Both are.
            let both = State(state.without(State::HELD).0 | State::TWO_HELD);
            self.finish(slot, acquire, both.holding(lock));
        } else {
            self.hold_back_slow(acquire);
        }
    }

    /// Writes a record into the next slot, comes to the next state, and goes on.
    #[inline(always)]
    fn finish(self, slot: *mut Slot, record: Record, next: State) {
        let Writer(strand) = self;
        mem::forget(self);
        strand.state.set(next);
        strand.go_on_at(strand.buffer.append_at(slot, record));
    }

    /// Records an acquire where the block or the stack is due, outside of blocks another one is
    /// held back, or there is no room.
    #[inline(never)]
    extern "C" fn hold_back_slow(self, acquire: Record) {
        if self.state().is_careful() {
            self.prepare(What::Acquire);
            // What happens in the section is recorded where it happens.
            self.write(acquire);
            return self.0.has_recorded(acquire);
        }
        self.flush();
        self.write_block();
        let state = self.state();
        let next = state.without(State::BOUNDS).holding(acquire.target());
        self.append(acquire.after(state.0), next);
    }

    /// Whether this object's acquire is the last record, and is held back.
    #[inline(always)]
    fn holds_back(&self, object: &Object) -> bool {
        let id = object.id.number();
        // Whatever a strand has taken has its number.
        debug_assert!(id != 0);
        self.state().held() == id
    }

    /// Remembers that the content of the lock was touched at `site`, if its acquire is held back;
    /// not if that is too far away for a record.
    #[inline(always)]
    pub(in crate::record) fn touch(
        self,
        how: u32,
        object: &Object,
        site: &'static Location<'static>,
    ) -> bool {
        let next = self.0.buffer.next();
        let is_noted = self.holds_back(object) && self.amend(next, how, site);
        self.0.go_on_at(next);
        mem::forget(self);
        is_noted
    }

    /// Remembers that the content of the lock was touched, if it is the first of two that are held
    /// back.
    pub(in crate::record) fn touch_first(
        &self,
        how: u32,
        object: &Object,
        site: &'static Location<'static>,
    ) -> bool {
        let buffer = &self.0.buffer;
        if !self.state().holds_two() {
            return false;
        }
        let second = buffer.last();
        buffer.unpublished(second).target() == object.id.number() && self.amend(second, how, site)
    }

    /// Notes in the record before a slot, an acquire, how the content was touched.
    #[inline(always)]
    fn amend(&self, next: *mut Slot, how: u32, site: &'static Location<'static>) -> bool {
        let buffer = &self.0.buffer;
        let acquire = buffer.unpublished(next);
        if acquire.is_touched(how) {
            return true;
        }
        let touched = acquire.touched(how, code::distance(acquire.site(), site));
        if let Some(touched) = touched {
            buffer.amend(next, touched);
        }
        touched.is_some()
    }

    /// Takes back that the content of the lock was read, outside of blocks, if nothing else was
    /// recorded since its acquire.
    pub(in crate::record) fn take_back_read(&self, object: &Object) {
        let buffer = &self.0.buffer;
        if !self.state().in_block() && self.holds_back(object) {
            let acquire = buffer.unpublished(buffer.next());
            if !acquire.is_touched(WRITE) {
                buffer.amend(buffer.next(), acquire.unread());
            }
        }
    }

    /// Records the release of a lock, if its acquire is held back.
    #[inline(always)]
    pub(in crate::record) fn close(self, object: &Object) -> bool {
        let is_held = self.holds_back(object);
        if is_held {
            self.close_section();
        }
        is_held
    }

    /// Makes one record of the acquire that is held back and its release, and publishes it.
    // Not in line, so that the drop of a guard is: otherwise the guard is in memory.
    #[inline(never)]
    extern "C" fn close_section(self) {
        let (buffer, next) = (&self.0.buffer, self.0.buffer.next());
        buffer.amend(next, buffer.unpublished(next).section());
        if self.state().without(State::HELD).is(State::INSIDE) {
            self.0.state.set(State::INSIDE);
        } else {
            self.0.clear_held();
        }
        buffer.chunk().publish(next);
        self.0.go_on_at(next);
        mem::forget(self);
        fetch_ahead(next);
    }

    /// Publishes what is held back.
    #[inline(always)]
    pub(in crate::record) fn flush(&self) {
        if self.state().held() != 0 {
            flush_held(self.0);
        }
    }

    // Blocks.

    /// A block begins, where the strand is in one.
    #[inline(always)]
    pub(in crate::record) fn begin_inner(&self) {
        self.0.state.set(State(self.state().0 + State::BLOCK));
    }

    /// A block ends in which the strand is in another one; or one that nobody saw begin.
    pub(in crate::record) fn end_inner(&self) {
        if self.state().in_block() {
            self.0.state.set(State(self.state().0 - State::BLOCK));
        }
    }

    /// The outermost block ends; everything is published.
    pub(in crate::record) fn end(&self) {
        let state = self.state();
        debug_assert!(state.depth() == 1 && state.held() == 0);
        let ended = if state.is_at_begin() {
            if state.0 & State::BLOCK_DUE != 0 {
                // Nobody has heard of it.
                self.0.block.set(ptr::null());
            }
            0
        } else {
            self.0.buffer.publish_end();
            ENDED
        };
        let next = state.without(BEGINS | State::BLOCK_DUE | State::UNWINDING);
        self.0.state.set(State((next.0 - State::BLOCK) | ended));
        self.0.new_epoch();
    }
}

/// Publishes what is held back, where something is.
#[inline(never)]
extern "C" fn flush_held(strand: &Strand) {
    strand.clear_held();
    strand.buffer.publish();
}

/// Records something that needs preparation, or for which there is no room.
#[inline(never)]
extern "C" fn push_slow(strand: &Strand, record: Record) {
    // The strand is busy, and stays so.
    let writer = mem::ManuallyDrop::new(Writer(strand));
    writer.prepare(record.what());
    writer.write(record);
    // Once it is published, the collector may free the strand.
    if record.what() != What::Exit {
        strand.has_recorded(record);
    }
}

impl Strand {
    /// Tells whoever controls the strand what it has recorded.
    fn has_recorded(&self, record: Record) {
        if let Some(control) = self.control() {
            untracked(|| control.recorded(record.what(), record.target()));
        }
    }

    /// What was held back is published next.
    #[inline(always)]
    fn clear_held(&self) {
        let state = self.state.get();
        self.state.set(state.without(State::HELD | State::TWO_HELD));
        if !state.in_block() {
            self.new_epoch();
        }
    }

    /// The outermost block begins, if it does so as most do: it is the same as the last one, after
    /// which nothing was recorded. If not, nothing was done.
    ///
    /// Such a begin needs no new epoch: the last end has made one, and nothing was touched in it.
    ///
    /// Not busy: a signal handler that comes before the state is set has done something outside of
    /// blocks, after which an end is said once more than it was, and nobody minds.
    #[inline(always)]
    pub(in crate::record) fn try_begin(&self, block: &'static Block) -> bool {
        let is_usual = self.state.get().is(State::AFTERWARDS)
            && ptr::eq(self.block.get(), block)
            && !std::thread::panicking();
        if is_usual {
            self.state.set(State::AT_BEGIN);
        }
        is_usual
    }

    /// The outermost block begins, and everything is published.
    pub(in crate::record) fn begin(&self, block: &'static Block) {
        let State(mut begun) = self.state.get();
        begun |= State::BLOCK | BEGINS;
        self.new_epoch();
        if !ptr::eq(self.block.get(), block) {
            self.block.set(block);
            begun |= State::BLOCK_DUE;
        }
        keep_order();
        self.state.set(State(begun));
    }

    /// A block ends, if it does so as most do: it is the outermost, has recorded something, and
    /// everything is published. If not, nothing was done.
    ///
    /// Not busy: a signal handler that comes before the state is set leaves it as it was, and what
    /// one records after that says itself that the block has ended.
    #[inline(always)]
    pub(in crate::record) fn try_end(&self) -> bool {
        let is_usual = self.state.get().is(State::INSIDE) && !std::thread::panicking();
        if is_usual {
            self.state.set(State::AFTERWARDS);
            self.new_epoch();
            self.buffer.publish_end();
        }
        is_usual
    }
}
