//! What a strand is in the middle of, in one word.

use crate::record::buffer::record::{BEGINS, ENDED};

/// What a strand is in the middle of. In one word, so that what is usual is one comparison, and
/// read and written whole, because a processor waits where it has to put a read together from two
/// writes.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct State(pub(super) u64);

impl State {
    /// The record before the one that is held back is held back as well. What that lock guards may
    /// be touched after the other one was taken, and is then recorded as if before. Only inside of
    /// blocks: there all of it is one transaction, and whoever else touches it needs that lock, so
    /// nobody could tell. Outside of blocks each access is a transaction of its own, and their
    /// order counts.
    pub(super) const TWO_HELD: u64 = 1 << 0;
    /// The block has to be recorded before anything else in it.
    pub(super) const BLOCK_DUE: u64 = 1 << 1;
    /// Every record takes the slow path: accesses come with their stacks, or the strand is
    /// [controlled](crate::record::control).
    pub(super) const CAREFUL: u64 = 1 << 2;
    /// The strand may have a name that nobody has asked for.
    pub(super) const UNNAMED: u64 = 1 << 3;
    /// The strand's family may have reports, which are delivered at the next safe point.
    pub(super) const REPORTS: u64 = 1 << 4;
    /// The thread was unwinding when the outermost block began: a destructor's block, which ends
    /// as others do, and not by that panic.
    pub(super) const UNWINDING: u64 = 1 << 5;
    // `ENDED` and `BEGINS` are what the next record will say.
    /// How many blocks the strand is in.
    pub(super) const BLOCK: u64 = 1 << 8;
    /// The number of the object whose acquire is the last record, and is held back: not published,
    /// because it may become a whole section. 0: there is none.
    pub(super) const HELD: u64 = 0xffff_ffff << 32;

    pub(super) const BOUNDS: u64 = ENDED | BEGINS;

    /// In one block, in which everything was published.
    pub(super) const INSIDE: State = State(Self::BLOCK);
    /// In one block that has recorded nothing, after another one.
    pub(super) const AT_BEGIN: State = State(Self::BLOCK | Self::BOUNDS);
    /// Outside of blocks, after one that recorded something.
    pub(super) const AFTERWARDS: State = State(ENDED);

    /// Of a strand that has recorded nothing.
    pub(super) const NEW: State = State(Self::UNNAMED);

    /// Whether both are the same. As `==`, which is a call in an unoptimised build.
    #[inline(always)]
    pub(in crate::record) fn is(self, other: State) -> bool {
        self.0 == other.0
    }

    /// How many blocks the strand is in.
    #[inline(always)]
    pub(in crate::record) fn depth(self) -> u32 {
        self.0 as u32 / Self::BLOCK as u32
    }

    /// Whether there is no room to count another block.
    pub(in crate::record) fn is_deepest(self) -> bool {
        self.depth() == u32::MAX / Self::BLOCK as u32
    }

    /// Whether the strand is in a block.
    #[inline(always)]
    pub(in crate::record) fn in_block(self) -> bool {
        self.depth() > 0
    }

    /// Whether the strand is in a block and has recorded nothing in it.
    pub(in crate::record) fn is_at_begin(self) -> bool {
        self.0 & BEGINS != 0
    }

    /// The object whose acquire is the last record, and is not published; 0: none.
    #[inline(always)]
    pub(in crate::record) fn held(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether something is to be done before a record is written.
    #[inline(always)]
    pub(in crate::record) fn needs_preparation(self) -> bool {
        self.0 & (Self::HELD | Self::TWO_HELD | Self::BLOCK_DUE | Self::CAREFUL) != 0
    }

    /// Whether nothing but one acquire that is held back has to be dealt with.
    pub(in crate::record) fn only_holds(self) -> bool {
        !self.without(Self::HELD).needs_preparation()
    }

    /// Whether two acquires are held back.
    #[inline(always)]
    pub(in crate::record) fn holds_two(self) -> bool {
        self.0 & Self::TWO_HELD != 0
    }

    pub(in crate::record) fn is_careful(self) -> bool {
        self.0 & Self::CAREFUL != 0
    }

    pub(in crate::record) fn has_reports(self) -> bool {
        self.0 & Self::REPORTS != 0
    }

    pub(in crate::record) fn is_unnamed(self) -> bool {
        self.0 & Self::UNNAMED != 0
    }

    pub(in crate::record) fn began_unwinding(self) -> bool {
        self.0 & Self::UNWINDING != 0
    }

    pub(super) fn with_care(self, is_careful: bool) -> State {
        if is_careful {
            State(self.0 | Self::CAREFUL)
        } else {
            self.without(Self::CAREFUL)
        }
    }

    pub(super) fn named(self) -> State {
        self.without(Self::UNNAMED)
    }

    pub(in crate::record) fn unwinding(self) -> State {
        State(self.0 | Self::UNWINDING)
    }

    pub(super) fn with_reports(self) -> State {
        State(self.0 | Self::REPORTS)
    }

    pub(super) fn without_reports(self) -> State {
        self.without(Self::REPORTS)
    }

    /// With an acquire of this object held back.
    #[inline(always)]
    pub(super) fn holding(self, object: u32) -> State {
        State(self.0 | u64::from(object) << 32)
    }

    #[inline(always)]
    pub(super) fn without(self, bits: u64) -> State {
        State(self.0 & !bits)
    }
}
