//! Values, told apart by who wrote them.

use super::look::is_counter;
use crate::dense::mix;
use crate::trace::{Event, Op, StrandId, Update};

/// The content of an object at some point of a schedule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Current {
    /// What was there before the updates of `run`.
    base: u64,
    /// Of the positions of these updates.
    sum: u64,
    run: Option<Update>,
    pub(super) writer: Option<Writer>,
    /// Who wrote a value that this run has not seen.
    pub(super) unseen: Option<StrandId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    pub(super) event: Event,
    pub(super) position: u64,
}

impl Current {
    /// Tells this value from all others of its object.
    pub(super) fn value(&self) -> u64 {
        match self.run {
            None => self.base,
            Some(kind) => mix(self.base ^ mix(kind as u64 + 1)).wrapping_add(self.sum),
        }
    }

    /// The same as seen by an access: counters see through their own kind.
    pub(super) fn seen_by(&self, op: Op) -> u64 {
        match op {
            Op::Update(kind) if is_counter(kind) && self.run == Some(kind) => self.base,
            _ => self.value(),
        }
    }

    pub(super) fn write(&mut self, writer: Writer, is_unseen: bool) {
        match writer.event.op {
            Op::Update(kind) => {
                if self.run != Some(kind) {
                    (self.base, self.sum, self.run) = (self.value(), 0, Some(kind));
                }
                self.sum = self.sum.wrapping_add(mix(writer.position));
            }
            _ => {
                (self.base, self.sum, self.run) = (writer.position, 0, None);
                self.unseen = None;
            }
        }
        if is_unseen {
            self.unseen = Some(writer.event.strand);
        }
        self.writer = Some(writer);
    }
}
