//! A trace as it was recorded, with the looks that led to nothing but looking again.

use super::look::{Place, accesses, is_read};
use crate::dense::Dense;
use crate::trace::{BlockId, Event, Op, SiteId, StrandId};
use rustc_hash::{FxHashMap, FxHashSet};

/// By place: what came next, or nothing where that differed.
#[derive(Debug, Default)]
pub(super) struct Nexts(FxHashMap<Place, Option<(Op, SiteId)>>);

impl Nexts {
    pub(super) fn enter(&mut self, place: Place, next: (Op, SiteId)) {
        let known = self.0.entry(place).or_insert(Some(next));
        *known = known.filter(|&known| known == next);
    }

    pub(super) fn differ(&self, place: Place) -> bool {
        self.0.get(&place) == Some(&None)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Strand {
    /// The open block.
    block: Option<BlockId>,
    /// The block has not looked at anything.
    is_at_begin: bool,
    /// Its last event, if that was a look; whether it was the block's first one.
    look: Option<(Event, bool)>,
}

/// What looks have led to.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    strands: Dense<StrandId, Strand>,
    /// By the place of a block's first look.
    pub(super) branches: Nexts,
    /// Where a block has looked before it paused, or has failed to exchange.
    pub(super) retried: FxHashSet<Place>,
    /// Where a block has looked before it exchanged something else.
    pub(super) answered: FxHashSet<Place>,
}

impl Recorded {
    /// Takes the next event.
    pub(super) fn note(&mut self, event: Event) {
        let strand = self.strands.entry(event.strand);
        if let (Some((look, is_first)), Some(_)) = (strand.look.take(), strand.block) {
            let place = (strand.block, look.site);
            let is_exchange = matches!(event.op, Op::CompareExchange | Op::CompareExchangeFailed);
            if event.op == Op::Pause {
                self.retried.insert(place);
            } else if is_exchange && event.target != look.target {
                self.answered.insert(place);
            } else if is_first {
                self.branches.enter(place, (event.op, event.site));
            }
        }
        match event.op {
            Op::Begin => (strand.block, strand.is_at_begin) = (Some(event.block()), true),
            Op::End => strand.block = None,
            op if is_read(op) => {
                if op == Op::CompareExchangeFailed {
                    self.retried.insert((strand.block, event.site));
                }
                strand.look = Some((event, std::mem::take(&mut strand.is_at_begin)));
            }
            op if accesses(op) => strand.is_at_begin = false,
            _ => {}
        }
    }
}
