//! Blocks, and what divides them.

use std::panic::Location;

use crate::mark::Block;
use crate::record::buffer::code;
use crate::record::buffer::prim::rarely;
use crate::record::buffer::record::What;
use crate::record::host::host;
use crate::record::strand::{Pen, name_current, pen, strand};

/// An atomic block is entered; see [`atomic_block!`](crate::atomic_block).
///
/// # Panics
///
/// With the report, if a violation was found that this strand is to deliver.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn begin(block: &'static Block) {
    let Some(Pen(strand)) = pen() else { return };
    if !strand.try_begin(block) {
        rarely();
        Pen(strand).begin_slow(block);
    }
}

/// A block is left: whether there was nothing to do, or it was one that recorded something and
/// ended as most do. If not, nothing was done.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn try_end() -> bool {
    let strand = strand();
    if strand.try_end() {
        return true;
    }
    rarely();
    strand.is_untracked()
}

/// A block is left: the block, if it was a transaction that recorded nothing.
pub(crate) fn end() -> Option<&'static Block> {
    pen().and_then(Pen::end)
}

impl Pen {
    /// Records that a `Condvar` is notified here.
    pub(in crate::record) fn notify(self, site: &'static Location<'static>) {
        let state = self.0.state.get();
        if !state.in_block() || !state.is_at_begin() {
            self.writer().push(What::Notify, 0, 0, code::site(site));
        }
    }

    /// A block is entered that is another one than the last, or after something was recorded
    /// outside of blocks, or inside of another, or while a lock is held back, or by a strand that
    /// has no name yet, whose family may have reports, or whose thread is unwinding.
    ///
    /// # Panics
    ///
    /// With the reports.
    #[inline(never)]
    #[track_caller]
    fn begin_slow(self, block: &'static Block) {
        if self.in_block() {
            return self.writer().begin_inner();
        }
        self.flush();
        if self.0.state.get().is_unnamed() {
            name_current(self);
        }
        let is_unwinding = std::thread::panicking();
        if !is_unwinding && self.0.take_reports() {
            if let Some(host) = host() {
                host.deliver(self.0.family.get());
            }
        }
        self.0.begin(block);
        if let Some(control) = self.0.control() {
            control.in_block(true);
        }
        if is_unwinding {
            self.0.state.set(self.0.state.get().unwinding());
        }
    }

    fn end(self) -> Option<&'static Block> {
        let writer = self.writer();
        if self.0.state.get().depth() != 1 {
            writer.end_inner();
            return None;
        }
        // A lock that was taken inside and is still held: its acquire belongs into the transaction.
        writer.flush();
        let state = self.0.state.get();
        let is_empty = state.is_at_begin();
        let block = self.0.block().filter(|_| is_empty);
        if !is_empty && std::thread::panicking() && !state.began_unwinding() {
            writer.push(What::Unwind, 0, 0, 0);
        }
        writer.end();
        if let Some(control) = self.0.control() {
            control.in_block(false);
        }
        block
    }

    /// The strand is about to wait for another's progress, here. Publishes what is held back, too.
    pub(crate) fn split(self, site: &'static Location<'static>) {
        self.divide(What::Split, code::site(site));
    }

    /// What comes up to the end of the block is the drop of a future that was not complete.
    pub(crate) fn cancel(self, site: &'static Location<'static>) {
        let writer = self.writer();
        let state = self.0.state.get();
        if state.in_block() && !state.is_at_begin() {
            writer.push(What::Cancel, 0, 0, code::site(site));
        }
    }

    /// What the transaction has read so far does not count.
    pub(crate) fn restart(self) {
        self.divide(What::Restart, 0);
    }

    /// The strand pauses, and may then look again at what it has looked at.
    pub(crate) fn pause(self, site: &'static Location<'static>) {
        self.divide(What::Pause, code::site(site));
    }

    fn divide(self, what: What, site: u32) {
        let writer = self.writer();
        let state = self.0.state.get();
        if state.in_block() && !state.is_at_begin() {
            writer.push(what, 0, 0, site);
            self.0.new_epoch();
        }
        writer.flush();
    }

    /// Publishes an acquire that is held back: the strand is about to wait.
    #[inline]
    pub(crate) fn flush(self) {
        self.writer().flush();
    }
}
