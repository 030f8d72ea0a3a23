//! Strands, their nodes, and which open transaction reaches which of them.

mod cycle;
mod slots;

use super::mark::{MAX_INDEX, MAX_SLOTS, Mark, Node, Tag};
use crate::check::{Access, Transaction, Violation};
use crate::trace::{BlockId, Event, SiteId, StrandId};

/// At least this many ended transactions are remembered by name before the first sweep.
const REMEMBERED: usize = 16_384;

/// In `slot_of`: the strand has no slot.
const NO_SLOT: u32 = u32::MAX;
/// In `slot_of`: the strand's next event needs attention, because it is its first or because its
/// indices run out.
const ATTENTION: u32 = 1 << 31;
const _: () = assert!(MAX_SLOTS <= ATTENTION);

/// What a report says of a transaction.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    /// 0 where it is forgotten.
    begin: u64,
    block: BlockId,
    site: SiteId,
}

impl Descriptor {
    const FORGOTTEN: Descriptor = Descriptor {
        begin: 0,
        block: BlockId(0),
        site: SiteId::NONE,
    };
}

/// An open transaction reaches a strand, from the node of this index on. Where thousands are open,
/// every edge looks at as many of these.
#[derive(Clone, Copy, Debug)]
struct Reacher {
    slot: u32,
    index: u64,
}

/// The edge by which a reacher reaches a strand, at the node of `to`.
///
/// Invariant: the reacher also reaches the node of `from`, or that is a node of its own. So a walk
/// from entry to entry ends in the reacher, because the graph has no cycle.
#[derive(Clone, Copy, Debug)]
struct Reach {
    object: u32,
    from: Mark,
    to: Mark,
    left: Descriptor,
    entered: Descriptor,
}

/// What every event looks at.
#[derive(Debug)]
struct Slot {
    /// The node that the strand's next access belongs to.
    node: Node,
    /// The same while a transaction is open, [`Node::NEVER`] otherwise.
    open: Node,
    /// The other open transactions that reach this strand, ordered by slot.
    reached_by: Vec<Reacher>,
    /// The slots whose `reached_by` names this one.
    reaches: Vec<u32>,
}

/// What only reports, forks and joins look at.
#[derive(Debug)]
struct Owner {
    strand: StrandId,
    /// How each of those reaches it that do.
    reached: Vec<Reach>,
    /// The open transaction, or the last one.
    current: Descriptor,
    /// The strand's first event and its transaction.
    first: Option<(Access, Transaction)>,
    /// Transactions that ended while another open one reached them, by index.
    remembered: Vec<(u64, Descriptor)>,
    /// The strand is over; the slot is free once nobody reaches it.
    retired: bool,
}

/// The event at hand.
pub(super) struct Step {
    pub(super) event: Event,
    pub(super) position: u64,
    pub(super) tag: Tag,
    /// An event outside any block has been given a node of its own.
    bumped: bool,
    /// The first cycle that it closed.
    pub(super) found: Option<Box<Violation>>,
}

impl Step {
    #[inline]
    pub(super) fn new(event: Event, position: u64, tag: Tag) -> Step {
        Step {
            event,
            position,
            tag,
            bumped: false,
            found: None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Reachability {
    slots: Vec<Slot>,
    owners: Vec<Owner>,
    /// How many transactions the owners remember, and beyond how many those without an access in
    /// any object are forgotten.
    remembered: usize,
    crowded: usize,
    slot_of: Vec<u32>,
    free: Vec<u32>,
    new_reachers: Vec<u32>,
}

impl Reachability {
    /// The slot of the strand that executes `event`.
    #[inline]
    pub(super) fn slot(&mut self, event: &Event, position: u64) -> u32 {
        match self.slot_of.get(event.strand.0 as usize) {
            Some(&slot) if slot < ATTENTION => slot,
            _ => self.attend(event, position),
        }
    }

    /// The node of `slot`'s next access.
    #[inline]
    pub(super) fn node(&self, slot: u32) -> Node {
        self.slots[slot as usize].node
    }

    /// No open transaction reaches the access's node, hence none ever will.
    #[inline]
    pub(super) fn is_dead(&self, mark: Mark) -> bool {
        let slot = &self.slots[mark.slot() as usize];
        slot.reached_by.is_empty() & !mark.is_of(slot.open)
    }

    /// An edge from this access to the strand in `slot` is program order, or closes no cycle ever.
    #[inline]
    pub(super) fn is_settled(&self, mark: Mark, slot: u32) -> bool {
        (mark.slot() == slot) | mark.is_empty() | self.is_dead(mark)
    }

    #[inline]
    pub(super) fn begin(&mut self, slot: u32, event: &Event, position: u64) {
        let it = &mut self.slots[slot as usize];
        it.node = it.node.next(false);
        it.open = it.node;
        self.owners[slot as usize].current = Descriptor {
            begin: position,
            block: event.block(),
            site: event.site,
        };
        if it.node.index() >= MAX_INDEX - 1 {
            self.slot_of[event.strand.0 as usize] |= ATTENTION;
        }
    }

    #[inline]
    pub(super) fn end(&mut self, slot: u32) {
        let it = &mut self.slots[slot as usize];
        if it.open == Node::NEVER {
            return;
        }
        it.open = Node::NEVER;
        it.node = it.node.unary();
        if !(it.reaches.is_empty() && it.reached_by.is_empty()) {
            self.forget(slot);
        }
    }

    /// Drops what the transaction that just ended reaches.
    #[inline(never)]
    fn forget(&mut self, slot: u32) {
        let it = &self.slots[slot as usize];
        if !it.reached_by.is_empty() {
            let owner = &mut self.owners[slot as usize];
            owner.remembered.push((it.node.index(), owner.current));
            self.remembered += 1;
        }
        let mut reaches = std::mem::take(&mut self.slots[slot as usize].reaches);
        for &other in &reaches {
            let it = &mut self.slots[other as usize];
            if let Ok(at) = find(&it.reached_by, slot) {
                it.reached_by.remove(at);
                self.owners[other as usize].reached.remove(at);
            }
            if it.reached_by.is_empty() {
                self.be_unreached(other);
            }
        }
        reaches.clear();
        self.slots[slot as usize].reaches = reaches;
    }

    /// Nobody reaches the strand in `slot` any more.
    fn be_unreached(&mut self, slot: u32) {
        let owner = &mut self.owners[slot as usize];
        self.remembered -= owner.remembered.len();
        owner.remembered.clear();
        if owner.retired {
            self.release(slot);
        }
    }

    /// Whether it is time to [forget](Self::forget_all_but) transactions that no access names any
    /// more.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.remembered > self.crowded.max(REMEMBERED)
    }

    /// Forgets the ended transactions that none of `accesses` is of: the accesses that the objects
    /// keep. An edge leaves a strand only by one of these, so no other ended transaction will be
    /// asked for. The next sweep comes after as many transactions as make up for what this one has
    /// cost, which is proportional to `looked_at`.
    pub(super) fn forget_all_but(&mut self, mut accesses: Vec<(u32, u64)>, looked_at: usize) {
        accesses.sort_unstable();
        self.remembered = 0;
        for (slot, owner) in (0..).zip(&mut self.owners) {
            let from = accesses.partition_point(|&(of, _)| of < slot);
            let to = accesses.partition_point(|&(of, _)| of <= slot);
            // Both are in order.
            let mut named = accesses[from..to].iter().peekable();
            owner.remembered.retain(|(index, _)| {
                while named.next_if(|(_, it)| it < index).is_some() {}
                named.peek().is_some_and(|(_, it)| it == index)
            });
            self.remembered += owner.remembered.len();
        }
        self.crowded = self.remembered * 4 + looked_at;
    }

    pub(super) fn fork(&mut self, slot: u32, event: &Event, position: u64) {
        let child = event.other();
        self.exit(child);
        let new = self.allocate(child);
        let from = Mark::new(
            self.slots[slot as usize].node,
            Tag::Fork,
            event.site,
            position,
        );
        self.inherit(slot, new, from, position);
    }

    /// The strand does nothing any more. It may still be joined.
    pub(super) fn exit(&mut self, strand: StrandId) {
        match self.slot_of.get(strand.0 as usize) {
            Some(&slot) if slot != NO_SLOT => self.retire(slot & !ATTENTION),
            _ => {}
        }
    }

    pub(super) fn join(&mut self, slot: u32, step: &mut Step) {
        let child = match self.slot_of.get(step.event.target as usize) {
            Some(&child) if child != NO_SLOT => child & !ATTENTION,
            _ => return,
        };
        if child == slot {
            return;
        }
        self.end(child);
        if self.owners[child as usize].first.is_some() {
            let from = Mark::new(
                self.slots[child as usize].node,
                Tag::Joined,
                SiteId::NONE,
                0,
            );
            self.edge(from, slot, step);
        }
        if !self.owners[child as usize].retired {
            self.retire(child);
        }
    }

    /// The access comes before what the strand in `slot` does now.
    #[inline]
    pub(super) fn edge(&mut self, from: Mark, slot: u32, step: &mut Step) {
        if from.slot() != slot && !self.is_dead(from) {
            self.take(from, slot, step);
        }
    }

    fn take(&mut self, from: Mark, slot: u32, step: &mut Step) {
        let source = &self.slots[from.slot() as usize];
        let reaches = |reacher: &&Reacher| reacher.index <= from.index();
        if let Ok(own) = find(&source.reached_by, slot) {
            if reaches(&&source.reached_by[own]) {
                if step.found.is_none() {
                    step.found = Some(self.cycle(from, slot, step));
                }
                return;
            }
        }
        let here = &self.slots[slot as usize].reached_by;
        let is_news = from.is_of(source.open) && find(here, from.slot()).is_err() || {
            let mut is_known = among(here);
            let mut all = source.reached_by.iter().filter(reaches);
            !all.all(|reacher| is_known(reacher.slot))
        };
        if is_news {
            self.spread(from, slot, step);
        }
    }

    /// All who reach `from` reach the strand in `slot` from now on, and whatever its open
    /// transaction reaches.
    fn spread(&mut self, from: Mark, slot: u32, step: &mut Step) {
        let mut new = std::mem::take(&mut self.new_reachers);
        new.clear();
        let source = &self.slots[from.slot() as usize];
        let all = source
            .reached_by
            .iter()
            .filter(|reacher| reacher.index <= from.index());
        new.extend(all.map(|reacher| reacher.slot));
        if from.is_of(source.open) {
            let at = new.partition_point(|&reacher| reacher < from.slot());
            new.insert(at, from.slot());
        }
        let here = &self.slots[slot as usize].reached_by;
        {
            let mut is_known = among(here);
            new.retain(|&reacher| !is_known(reacher));
        }
        self.enter(from, slot, step, &new);
        self.new_reachers = new;
    }

    /// The transactions `new` reach the strand in `slot` by this edge, and did not before.
    fn enter(&mut self, from: Mark, slot: u32, step: &mut Step, new: &[u32]) {
        let is_open = self.slots[slot as usize].open != Node::NEVER;
        if !is_open && !step.bumped {
            step.bumped = true;
            let it = &mut self.slots[slot as usize];
            it.node = it.node.next(true);
            if it.node.index() >= MAX_INDEX - 1 {
                self.slot_of[step.event.strand.0 as usize] |= ATTENTION;
            }
        }
        let to = Mark::new(
            self.slots[slot as usize].node,
            step.tag,
            step.event.site,
            step.position,
        );
        let reach = Reach {
            object: step.event.target,
            from,
            to,
            left: self.describe(&from, step.position),
            entered: self.describe(&to, step.position),
        };
        let reaches = if is_open {
            std::mem::take(&mut self.slots[slot as usize].reaches)
        } else {
            Vec::new()
        };
        for &reacher in new {
            self.lower(slot, reacher, reach);
            for &other in &reaches {
                if let Ok(at) = find(&self.slots[other as usize].reached_by, slot) {
                    let reach = self.owners[other as usize].reached[at];
                    self.lower(other, reacher, reach);
                }
            }
        }
        if is_open {
            self.slots[slot as usize].reaches = reaches;
        }
    }

    /// Enters that a transaction reaches the strand in `slot`, where it is news.
    fn lower(&mut self, slot: u32, reacher: u32, reach: Reach) {
        let reached_by = &mut self.slots[slot as usize].reached_by;
        let reached = &mut self.owners[slot as usize].reached;
        let index = reach.to.index();
        match find(reached_by, reacher) {
            Ok(at) if reached_by[at].index <= index => {}
            Ok(at) => {
                reached_by[at].index = index;
                reached[at] = reach;
            }
            Err(at) => {
                reached_by.insert(
                    at,
                    Reacher {
                        slot: reacher,
                        index,
                    },
                );
                reached.insert(at, reach);
                self.slots[reacher as usize].reaches.push(slot);
            }
        }
    }

    /// The name of the transaction of a mark.
    fn describe(&self, mark: &Mark, now: u64) -> Descriptor {
        let owner = &self.owners[mark.slot() as usize];
        if mark.is_unary() {
            return Descriptor {
                begin: mark.position(now),
                block: BlockId(0),
                site: mark.site(),
            };
        }
        if mark.is_of(self.slots[mark.slot() as usize].open) {
            return owner.current;
        }
        match owner
            .remembered
            .binary_search_by_key(&mark.index(), |&(index, _)| index)
        {
            Ok(at) => owner.remembered[at].1,
            Err(_) => Descriptor::FORGOTTEN,
        }
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// How much memory is kept, in entries.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        let slots = self
            .slots
            .iter()
            .map(|slot| slot.reached_by.capacity() + slot.reaches.capacity());
        slots.sum::<usize>()
            + self
                .owners
                .iter()
                .map(|owner| owner.remembered.capacity() + owner.reached.capacity())
                .sum::<usize>()
    }

    /// As if the strand had had almost all the transactions that a slot can have.
    #[cfg(test)]
    pub(super) fn use_up_indices(&mut self, strand: StrandId) {
        let slot = self.slot_of[strand.0 as usize];
        self.slots[slot as usize].node = Node::new(slot, MAX_INDEX - 3);
    }
}

/// Whether a reacher is among these, for reachers in their order: where there are thousands, most of
/// them are next to the one before.
#[inline]
fn among(reached_by: &[Reacher]) -> impl FnMut(u32) -> bool + '_ {
    let mut rest = reached_by;
    move |reacher| {
        let (mut before, mut step) = (0, 1);
        while rest
            .get(before + step - 1)
            .is_some_and(|it| it.slot < reacher)
        {
            before += step;
            step *= 2;
        }
        let end = rest.len().min(before + step);
        before += rest[before..end].partition_point(|it| it.slot < reacher);
        rest = &rest[before..];
        rest.first().is_some_and(|it| it.slot == reacher)
    }
}

/// Where the entry of `reacher` is, or belongs.
#[inline]
fn find(reached_by: &[Reacher], reacher: u32) -> Result<usize, usize> {
    if reached_by.len() > 4 {
        return reached_by.binary_search_by_key(&reacher, |it| it.slot);
    }
    for (at, it) in reached_by.iter().enumerate() {
        if it.slot >= reacher {
            return if it.slot == reacher { Ok(at) } else { Err(at) };
        }
    }
    Err(reached_by.len())
}
