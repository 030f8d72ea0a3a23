//! An access, what it saw, and what its strand had seen before.

use super::values::Effect;
use crate::dense::mix;
use crate::predict::is_access;
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId, Update};

/// Sees or changes an object's content.
#[inline]
pub(in crate::predict) fn accesses(op: Op) -> bool {
    is_access(op) || op == Op::CompareExchange || is_read(op)
}

/// Sees an object's content and leaves it as it is. A failed exchange stands for the look that one
/// which succeeded answers for.
#[inline]
pub(super) fn is_read(op: Op) -> bool {
    matches!(op, Op::Read | Op::Vain(_) | Op::CompareExchangeFailed)
}

/// Whether an update's own result is not tracked.
pub(super) fn is_counter(kind: Update) -> bool {
    use Update::{Add, Channel, Init, Max, Min};
    matches!(kind, Add | Max | Min | Channel | Init)
}

/// An access, and what it saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) event: Event,
    pub(super) position: u64,
    pub(super) seen: u64,
    /// The same, its own kind included.
    pub(super) value: u64,
    /// What it does to the value.
    pub(super) effect: Effect,
    /// Who wrote that; position 0 is nobody.
    pub(super) writer: (StrandId, u64),
    /// What the strand did next.
    pub(super) next: (Op, SiteId),
    /// It is the first since a block began or ended.
    pub(super) is_first: bool,
    /// It is a read that decides.
    pub(super) decides: bool,
    pub(super) is_inside: bool,
    /// The block that it is inside of.
    pub(super) block: BlockId,
}

const _: () = assert!(size_of::<Look>() <= 88);

/// What a strand has seen since a block began or ended, in one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Path(u64);

impl Path {
    pub(super) fn then(self, look: &Look, seen: u64) -> Path {
        let place = u64::from(look.event.site.0) + 1;
        Path(mix(mix(mix(self.0).wrapping_add(seen)).wrapping_add(place)))
    }
}

/// An access at this place in the source saw this, and its strand went on like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    object: ObjectId,
    seen: u64,
    site: SiteId,
    op: Op,
    next: (Op, SiteId),
    /// Before the access; of a lock's content, none.
    path: Path,
}

/// A block, and a place in the source.
pub(super) type Place = (Option<BlockId>, SiteId);

impl Look {
    pub(super) fn shown(&self, seen: u64, path: Path) -> Shown {
        Shown {
            object: self.event.object(),
            seen,
            site: self.event.site,
            op: self.event.op,
            next: self.next,
            path,
        }
    }

    pub(super) fn place(&self) -> Place {
        (self.is_inside.then_some(self.block), self.event.site)
    }

    pub(super) fn is_counter(&self) -> bool {
        matches!(self.event.op, Op::Update(kind) if is_counter(kind))
    }

    /// Whether it most likely changes nothing where another strand has done the same at the same
    /// place: it sets what is set already.
    pub(super) fn is_setter(&self) -> bool {
        match self.event.op {
            Op::Update(kind) => !is_counter(kind),
            op => op == Op::ReadWrite,
        }
    }
}
