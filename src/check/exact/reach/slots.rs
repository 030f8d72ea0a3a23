//! Which strand has which slot, from its first event to the end of its last reacher.

use super::{ATTENTION, Descriptor, NO_SLOT, Owner, Reach, Reachability, Reacher, Slot};
use crate::check::exact::mark::{MAX_INDEX, MAX_SLOTS, Mark, Node, Tag};
use crate::check::{Access, Transaction};
use crate::trace::{Event, Op, SiteId, StrandId};

impl Reachability {
    #[cold]
    pub(super) fn attend(&mut self, event: &Event, position: u64) -> u32 {
        let mut slot = self
            .slot_of
            .get(event.strand.0 as usize)
            .map_or(NO_SLOT, |&slot| slot);
        if slot == NO_SLOT {
            slot = self.allocate(event.strand);
        }
        slot &= !ATTENTION;
        if self.slots[slot as usize].node.index() >= MAX_INDEX - 1
            && self.slots[slot as usize].open == Node::NEVER
        {
            slot = self.renew(slot);
        }
        if self.owners[slot as usize].first.is_none() {
            let access = Access {
                position,
                strand: event.strand,
                op: event.op,
                object: event.its_object(),
                site: event.site,
            };
            let block = (event.op == Op::Begin).then(|| event.block());
            let transaction = Transaction {
                strand: event.strand,
                block,
                begin: Some(position),
                site: event.site,
            };
            self.owners[slot as usize].first = Some((access, transaction));
        }
        if self.slots[slot as usize].node.index() < MAX_INDEX - 1 {
            self.slot_of[event.strand.0 as usize] = slot;
        }
        slot
    }

    /// Gives `strand` a slot that nobody reaches.
    pub(super) fn allocate(&mut self, strand: StrandId) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                // What is left of the slot's former strands is dead for ever: nobody reaches it,
                // and it gains no edges any more. A larger index keeps it apart from the new
                // strand's nodes.
                let it = &mut self.slots[slot as usize];
                it.node = it.node.next(true);
                slot
            }
            None => {
                let slot = self.slots.len() as u32;
                assert!(slot < MAX_SLOTS, "more than {MAX_SLOTS} strands at once");
                self.slots.push(Slot {
                    node: Node::new(slot, 1),
                    open: Node::NEVER,
                    reached_by: Vec::new(),
                    reaches: Vec::new(),
                });
                self.owners.push(Owner {
                    strand,
                    reached: Vec::new(),
                    current: Descriptor::FORGOTTEN,
                    first: None,
                    remembered: Vec::new(),
                    retired: false,
                });
                slot
            }
        };
        let owner = &mut self.owners[slot as usize];
        owner.strand = strand;
        owner.first = None;
        owner.retired = false;
        let number = strand.0 as usize;
        if number >= self.slot_of.len() {
            self.slot_of.resize(number + 1, NO_SLOT);
        }
        self.slot_of[number] = slot | ATTENTION;
        slot
    }

    /// Moves a strand whose indices run out, and which has no open transaction, to another slot, as
    /// if it had forked itself.
    fn renew(&mut self, old: u32) -> u32 {
        let strand = self.owners[old as usize].strand;
        let new = self.allocate(strand);
        self.inherit(
            old,
            new,
            Mark::new(self.slots[old as usize].node, Tag::Joined, SiteId::NONE, 0),
            0,
        );
        self.retire(old);
        new
    }

    /// Everyone who reaches the strand in `parent` reaches the new one in `child`.
    pub(super) fn inherit(&mut self, parent: u32, child: u32, from: Mark, position: u64) {
        let to = Mark::new(
            self.slots[child as usize].node,
            Tag::Forked,
            SiteId::NONE,
            0,
        );
        let left = self.describe(&from, position);
        let reach = Reach {
            object: 0,
            from,
            to,
            left,
            entered: Descriptor::FORGOTTEN,
        };
        let index = to.index();
        // Nobody reaches it yet.
        let mut reached_by = std::mem::take(&mut self.slots[child as usize].reached_by);
        let parents = &self.slots[parent as usize];
        let reachers = parents.reached_by.iter().map(|reacher| reacher.slot);
        let itself = (parents.open != Node::NEVER).then_some(parent);
        reached_by.extend(reachers.chain(itself).map(|slot| Reacher { slot, index }));
        reached_by.sort_unstable_by_key(|reacher| reacher.slot);
        for reacher in &reached_by {
            self.slots[reacher.slot as usize].reaches.push(child);
        }
        self.owners[child as usize].reached = vec![reach; reached_by.len()];
        self.slots[child as usize].reached_by = reached_by;
    }

    /// The strand in `slot` does nothing any more.
    pub(super) fn retire(&mut self, slot: u32) {
        self.end(slot);
        self.owners[slot as usize].retired = true;
        if self.slots[slot as usize].reached_by.is_empty() {
            self.release(slot);
        }
    }

    /// Nobody reaches the retired strand in `slot`.
    pub(super) fn release(&mut self, slot: u32) {
        let number = self.owners[slot as usize].strand.0 as usize;
        if self.slot_of[number] & !ATTENTION == slot {
            self.slot_of[number] = NO_SLOT;
        }
        // A slot without indices is not used again.
        if self.slots[slot as usize].node.index() < MAX_INDEX / 2 {
            self.free.push(slot);
        }
    }
}
