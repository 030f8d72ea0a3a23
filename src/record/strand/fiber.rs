//! Strands that threads take turns to run: tasks, branches, and transactions that await.
//!
//! A thread enters such a strand for a poll, or for the drop of a future, and leaves it after that.
//! What the thread's own strand, or the one entered before, has held back is published when it
//! enters, and what the entered one holds back when it leaves, because nobody knows when either
//! goes on. So a strand that nobody is in has published everything, and whoever enters it next, on
//! whatever thread, finds it between two operations. Its executor orders the polls: each comes
//! before the next.

use std::marker::PhantomData;
use std::sync::Arc;

use super::current::CURRENT;
use super::{Child, Strand, strand};
use crate::mark::Block;

/// What such a strand is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// An executor's task, named after the place where it was spawned. Whoever has its handle joins
    /// it.
    Task,
    /// A branch, of whoever polls it.
    Branch,
    /// A run of a block, of whoever polls it.
    Run(&'static Block),
}

/// A strand that threads take turns to run. Dropped, it writes its last record.
pub(crate) struct Fiber(Child);

// SAFETY: by a shared reference only the number is read, which does not change.
unsafe impl Sync for Fiber {}

impl Fiber {
    pub(in crate::record) fn new(child: Child) -> Self {
        Self(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Makes the current thread run the strand until the result is dropped; not where the thread is
    /// untracked, which it stays.
    pub(crate) fn enter(&mut self) -> Entered<'_> {
        let (before, own) = (strand(), self.0.strand());
        if !before.is_untracked() {
            publish(before);
            own.follow_control(before);
            CURRENT.set(own);
        }
        Entered {
            before,
            entered: PhantomData,
        }
    }
}

/// While it lives, the thread runs the strand.
pub(crate) struct Entered<'a> {
    /// Not `Send`: it goes back to the strand that the thread has run before.
    before: *const Strand,
    entered: PhantomData<&'a mut Fiber>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        publish(strand());
        CURRENT.set(self.before);
    }
}

/// Publishes what a strand holds back.
#[inline]
fn publish(strand: &Strand) {
    if strand.state.get().held() != 0 {
        strand.writer().flush();
    }
}

impl Strand {
    /// The strand is controlled as the one is that its thread has run so far.
    fn follow_control(&self, before: &Strand) {
        let (own, other) = (self.control(), before.control());
        let is_same = match (own, other) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        if !is_same {
            self.set_control(other.cloned());
        }
    }
}
