//! An access in 16 bytes: enough to order by, and enough to show it.

use crate::trace::{Op, SiteId, Update};

const TAG_BITS: u32 = 7;
const INDEX_BITS: u32 = 33;
const TAG: u64 = (1 << TAG_BITS) - 1;
const UNARY: u64 = 1 << (TAG_BITS - 1);

/// The largest index of a node in its slot.
pub(super) const MAX_INDEX: u64 = (1 << INDEX_BITS) - 1;
/// The number of slots that a node can name; the last one is kept for [`Node::NEVER`].
pub(super) const MAX_SLOTS: u32 = (1 << (64 - TAG_BITS - INDEX_BITS)) - 1;

/// A node of the graph: a slot and an index, and whether its events now stand outside any block.
///
/// The low bits are free for a [`Tag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node(u64);

impl Node {
    /// Equal to no node.
    pub(super) const NEVER: Node = Node(u64::MAX);

    #[inline]
    pub(super) fn new(slot: u32, index: u64) -> Node {
        Node(u64::from(slot) << (TAG_BITS + INDEX_BITS) | index << TAG_BITS | UNARY)
    }

    #[inline]
    pub(super) fn index(self) -> u64 {
        self.0 >> TAG_BITS & MAX_INDEX
    }

    /// The next index, with the events in a block or not.
    #[inline]
    pub(super) fn next(self, unary: bool) -> Node {
        let next = (self.0 & !TAG) + (1 << TAG_BITS);
        Node(if unary { next | UNARY } else { next })
    }

    /// The same index; events are outside any block from now on.
    #[inline]
    pub(super) fn unary(self) -> Node {
        Node(self.0 | UNARY)
    }
}

/// What a mark is: an operation, or one of the four things that are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Tag {
    /// No access.
    Empty,
    /// Several accesses of one kind: the site holds their tag, the position the number of their
    /// list.
    List,
    /// Whatever a new strand does first.
    Forked,
    /// Whatever a joined strand did.
    Joined,
    Read,
    Write,
    ReadWrite,
    Add,
    And,
    Or,
    Xor,
    Max,
    Min,
    Channel,
    Init,
    VainAdd,
    VainAnd,
    VainOr,
    VainXor,
    VainMax,
    VainMin,
    VainSwap,
    VainExchange,
    VainChannel,
    VainInit,
    Acquire,
    Release,
    AcquireShared,
    ReleaseShared,
    Upgrade,
    Downgrade,
    Fork,
    Join,
    Signal,
    Await,
    Reach,
    Leave,
    Send,
    Recv,
}

const TAGS: [Tag; 39] = [
    Tag::Empty,
    Tag::List,
    Tag::Forked,
    Tag::Joined,
    Tag::Read,
    Tag::Write,
    Tag::ReadWrite,
    Tag::Add,
    Tag::And,
    Tag::Or,
    Tag::Xor,
    Tag::Max,
    Tag::Min,
    Tag::Channel,
    Tag::Init,
    Tag::VainAdd,
    Tag::VainAnd,
    Tag::VainOr,
    Tag::VainXor,
    Tag::VainMax,
    Tag::VainMin,
    Tag::VainSwap,
    Tag::VainExchange,
    Tag::VainChannel,
    Tag::VainInit,
    Tag::Acquire,
    Tag::Release,
    Tag::AcquireShared,
    Tag::ReleaseShared,
    Tag::Upgrade,
    Tag::Downgrade,
    Tag::Fork,
    Tag::Join,
    Tag::Signal,
    Tag::Await,
    Tag::Reach,
    Tag::Leave,
    Tag::Send,
    Tag::Recv,
];

const _: () = {
    let mut i = 0;
    while i < TAGS.len() {
        assert!(TAGS[i] as usize == i);
        i += 1;
    }
    assert!(TAGS.len() <= UNARY as usize);
};

impl Tag {
    #[inline]
    pub(super) fn of_update(kind: Update) -> Tag {
        match kind {
            Update::Add => Tag::Add,
            Update::And => Tag::And,
            Update::Or => Tag::Or,
            Update::Xor => Tag::Xor,
            Update::Max => Tag::Max,
            Update::Min => Tag::Min,
            // Two that change the value do not commute.
            Update::Swap | Update::Exchange => Tag::ReadWrite,
            Update::Channel => Tag::Channel,
            Update::Init => Tag::Init,
        }
    }

    #[inline]
    pub(super) fn of_vain(kind: Update) -> Tag {
        match kind {
            Update::Add => Tag::VainAdd,
            Update::And => Tag::VainAnd,
            Update::Or => Tag::VainOr,
            Update::Xor => Tag::VainXor,
            Update::Max => Tag::VainMax,
            Update::Min => Tag::VainMin,
            Update::Swap => Tag::VainSwap,
            Update::Exchange => Tag::VainExchange,
            Update::Channel => Tag::VainChannel,
            Update::Init => Tag::VainInit,
        }
    }

    /// The operation; [`Tag::Forked`] and [`Tag::Joined`] stand for the event that ordered.
    pub(super) fn op(self) -> Op {
        match self {
            Tag::Empty | Tag::List => unreachable!("not an access"),
            Tag::Read => Op::Read,
            Tag::Write => Op::Write,
            Tag::ReadWrite => Op::ReadWrite,
            Tag::Add => Op::Update(Update::Add),
            Tag::And => Op::Update(Update::And),
            Tag::Or => Op::Update(Update::Or),
            Tag::Xor => Op::Update(Update::Xor),
            Tag::Max => Op::Update(Update::Max),
            Tag::Min => Op::Update(Update::Min),
            Tag::Channel => Op::Update(Update::Channel),
            Tag::Init => Op::Update(Update::Init),
            Tag::VainAdd => Op::Vain(Update::Add),
            Tag::VainAnd => Op::Vain(Update::And),
            Tag::VainOr => Op::Vain(Update::Or),
            Tag::VainXor => Op::Vain(Update::Xor),
            Tag::VainMax => Op::Vain(Update::Max),
            Tag::VainMin => Op::Vain(Update::Min),
            Tag::VainSwap => Op::Vain(Update::Swap),
            Tag::VainExchange => Op::Vain(Update::Exchange),
            Tag::VainChannel => Op::Vain(Update::Channel),
            Tag::VainInit => Op::Vain(Update::Init),
            Tag::Acquire => Op::Acquire,
            Tag::Release => Op::Release,
            Tag::AcquireShared => Op::AcquireShared,
            Tag::ReleaseShared => Op::ReleaseShared,
            Tag::Upgrade => Op::Upgrade,
            Tag::Downgrade => Op::Downgrade,
            Tag::Fork | Tag::Forked => Op::Fork,
            Tag::Join | Tag::Joined => Op::Join,
            Tag::Signal => Op::Signal,
            Tag::Await => Op::Await,
            Tag::Reach => Op::Reach,
            Tag::Leave => Op::Leave,
            Tag::Send => Op::Send,
            Tag::Recv => Op::Recv,
        }
    }

    /// Conflicts with every other access of its object.
    #[inline]
    pub(super) fn excludes(self) -> bool {
        matches!(self, Tag::Write | Tag::ReadWrite)
    }

    /// Two accesses of a variable of these kinds can be exchanged; neither of them is in vain.
    #[inline]
    pub(super) fn commutes(self, other: Tag) -> bool {
        self == other && !self.excludes()
    }

    /// An access of this kind, or none, can be exchanged with a vain update.
    pub(super) fn commutes_with_vain(self, vain: Tag) -> bool {
        match (self, vain.op()) {
            (Tag::Empty | Tag::Read, _) => true,
            (_, Op::Vain(kind)) => !self.excludes() && self == Tag::of_update(kind),
            _ => false,
        }
    }
}

/// An access: its node, its operation, its site and the low half of its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Mark {
    bits: u64,
    site: u32,
    position: u32,
}

const _: () = assert!(size_of::<Mark>() == 16);

impl Mark {
    pub(super) const EMPTY: Mark = Mark {
        bits: 0,
        site: 0,
        position: 0,
    };

    #[inline]
    pub(super) fn new(node: Node, tag: Tag, site: SiteId, position: u64) -> Mark {
        Mark {
            bits: node.0 | tag as u64,
            site: site.0,
            position: position as u32,
        }
    }

    #[inline]
    pub(super) fn list(tag: Tag, number: u32) -> Mark {
        Mark {
            bits: Tag::List as u64,
            site: tag as u32,
            position: number,
        }
    }

    #[inline]
    pub(super) fn slot(self) -> u32 {
        (self.bits >> (TAG_BITS + INDEX_BITS)) as u32
    }

    #[inline]
    pub(super) fn index(self) -> u64 {
        self.bits >> TAG_BITS & MAX_INDEX
    }

    /// The event stood outside any block.
    #[inline]
    pub(super) fn is_unary(self) -> bool {
        self.bits & UNARY != 0
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Exactly one access.
    #[inline]
    pub(super) fn is_single(self) -> bool {
        self.bits > Tag::List as u64
    }

    /// One access, of this kind.
    #[inline]
    pub(super) fn is_a(self, tag: Tag) -> bool {
        self.bits & (UNARY - 1) == tag as u64
    }

    #[inline]
    pub(super) fn is_list(self) -> bool {
        self.bits == Tag::List as u64
    }

    /// The number of the list that this mark stands for.
    #[inline]
    pub(super) fn list_number(self) -> u32 {
        self.position
    }

    /// The kind of the one access, or of all of the list's.
    #[inline]
    pub(super) fn tag(self) -> Tag {
        if self.is_list() {
            TAGS[self.site as usize]
        } else {
            self.own_tag()
        }
    }

    /// The kind of the one access.
    #[inline]
    pub(super) fn own_tag(self) -> Tag {
        // The tags are fewer than the bits can name, and only `new` and `list` write them.
        TAGS[(self.bits & (UNARY - 1)) as usize]
    }

    #[inline]
    pub(super) fn is_of(self, node: Node) -> bool {
        (self.bits ^ node.0) & !TAG == 0
    }

    pub(super) fn site(self) -> SiteId {
        SiteId(self.site)
    }

    /// The whole position, seen from `now`: right for an access that is less than 2^32 events old.
    pub(super) fn position(self, now: u64) -> u64 {
        let near = now & !u64::from(u32::MAX) | u64::from(self.position);
        if near > now {
            near.wrapping_sub(1 << 32)
        } else {
            near
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_gives_back_what_went_in() {
        let node = Node::new(MAX_SLOTS - 1, MAX_INDEX - 1).next(false);
        let mark = Mark::new(node, Tag::Recv, SiteId(7), (3 << 32) + 5);
        assert_eq!(mark.slot(), MAX_SLOTS - 1);
        assert_eq!(mark.index(), MAX_INDEX);
        assert!(mark.is_of(node) && mark.is_of(node.unary()) && !mark.is_unary());
        assert_eq!(mark.tag(), Tag::Recv);
        assert_eq!(mark.site(), SiteId(7));
        assert_eq!(mark.position((3 << 32) + 6), (3 << 32) + 5);
        assert_eq!(mark.position((4 << 32) + 4), (3 << 32) + 5);
        assert!(!mark.is_of(Node::NEVER));
    }

    #[test]
    fn a_list_keeps_the_kind_of_its_accesses() {
        let list = Mark::list(Tag::Xor, 9);
        assert!(list.is_list() && !list.is_empty());
        assert_eq!((list.tag(), list.list_number()), (Tag::Xor, 9));
    }
}
