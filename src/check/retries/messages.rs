//! Which messages answer a block's own.

use super::Retries;
use crate::trace::{Event, StrandId};

/// Sends of open blocks: the strand of each block, and the number of its last such send.
pub(super) type Causes = Vec<(StrandId, u64)>;

#[derive(Debug)]
pub(super) struct Message {
    /// The strand of the block that it was sent in.
    pub(super) block: Option<StrandId>,
    pub(super) causes: Causes,
}

impl<T: Copy> Retries<T> {
    /// The message comes after what its sender knows of, and after the sender's block.
    pub(super) fn send(&mut self, event: Event) {
        let sender = &self.strands[event.strand];
        let block = sender
            .is_inside()
            .then_some(sender.root.unwrap_or(event.strand));
        if block.is_none() && sender.causes.is_empty() {
            if !self.messages.is_empty() {
                self.messages.remove(&event.target);
            }
            return;
        }
        let mut causes = sender.causes.clone();
        let own = block.map(|strand| (strand, self.now));
        self.learn(&mut causes, own.as_slice());
        self.messages
            .insert(event.target, Message { block, causes });
    }

    /// Whether the message comes from outside the receiver's block, and after a send of the block.
    pub(super) fn receive(&mut self, event: Event) -> bool {
        if self.messages.is_empty() {
            return false;
        }
        let Some(message) = self.messages.remove(&event.target) else {
            return false;
        };
        let receiver = &mut self.strands[event.strand];
        let block = receiver.root.unwrap_or(event.strand);
        let mut known = std::mem::take(&mut receiver.causes);
        self.learn(&mut known, &message.causes);
        self.strands[event.strand].causes = known;
        let is_own = |&cause: &(StrandId, u64)| cause.0 == block && self.is_open(cause);
        message.block != Some(block) && message.causes.iter().any(is_own)
    }

    /// Adds the sends that are of open blocks and not before their last wait.
    pub(super) fn learn(&self, known: &mut Causes, causes: &[(StrandId, u64)]) {
        known.retain(|&cause| self.is_open(cause));
        for &(strand, number) in causes.iter().filter(|&&cause| self.is_open(cause)) {
            match known.iter_mut().find(|(it, _)| *it == strand) {
                Some((_, last)) => *last = number.max(*last),
                None => known.push((strand, number)),
            }
        }
    }

    pub(super) fn is_open(&self, (strand, number): (StrandId, u64)) -> bool {
        let strand = &self.strands[strand];
        strand.in_block && number > strand.began.max(strand.run.segment)
    }

    /// What the other strand knows of comes before what follows.
    pub(super) fn join(&mut self, event: Event) {
        let causes = std::mem::take(&mut self.strands.entry(event.other()).causes);
        if !causes.is_empty() {
            let mut known = std::mem::take(&mut self.strands[event.strand].causes);
            self.learn(&mut known, &causes);
            self.strands[event.strand].causes = known;
        }
        self.end(event.other());
    }
}
