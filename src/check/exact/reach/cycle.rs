//! The cycle that an edge closes, as a violation.

use super::{Descriptor, Reach, Reachability, Step, find};
use crate::check::cycle::{self, Hop};
use crate::check::exact::mark::{Mark, Tag};
use crate::check::{Access, Edge, Transaction, Violation};
use crate::trace::ObjectId;

impl Reachability {
    fn transaction(&self, mark: &Mark, descriptor: Descriptor) -> Transaction {
        let strand = self.owners[mark.slot() as usize].strand;
        let known = descriptor.begin != 0;
        let block = (known && !mark.is_unary()).then_some(descriptor.block);
        Transaction {
            strand,
            block,
            begin: known.then_some(descriptor.begin),
            site: descriptor.site,
        }
    }

    fn access(&self, mark: &Mark, object: u32, now: u64) -> Access {
        let op = mark.own_tag().op();
        Access {
            position: mark.position(now),
            strand: self.owners[mark.slot() as usize].strand,
            op,
            object: op.is_on_object().then_some(ObjectId(object)),
            site: mark.site(),
        }
    }

    /// The cycle that the edge from `closing` to the strand in `slot` closes.
    #[cold]
    pub(super) fn cycle(&self, closing: Mark, slot: u32, step: &Step) -> Box<Violation> {
        let now = step.position;
        let path = self.path(closing, slot, step);
        let mut hops: Vec<Hop> = Vec::with_capacity(path.len());
        for (i, reach) in path.iter().enumerate() {
            // A fork comes before everything that the new strand does, so before the event by which
            // the cycle leaves it; a join after everything, so after the event by which the cycle
            // entered.
            let (to, to_transaction) = match reach.to.own_tag() {
                Tag::Forked => self.leaves(&path[i + 1], now),
                _ => self.endpoint(&reach.to, reach.object, reach.entered, now),
            };
            let (from, from_transaction) = match reach.from.own_tag() {
                Tag::Joined => match hops.last() {
                    Some(hop) => (hop.edge.to, hop.to.clone()),
                    None => unreachable!("a joined strand is not the one that closes the cycle"),
                },
                _ => self.endpoint(&reach.from, reach.object, reach.left, now),
            };
            hops.push(Hop {
                edge: Edge { from, to },
                from: from_transaction,
                to: to_transaction,
            });
        }
        cycle::violation(hops, now)
    }

    /// The path from the strand in `slot` to `closing`, and the edge back.
    fn path(&self, closing: Mark, slot: u32, step: &Step) -> Vec<Reach> {
        let now = step.position;
        let node = self.slots[slot as usize].node;
        let mut path = vec![Reach {
            object: step.event.target,
            from: closing,
            to: Mark::new(node, step.tag, step.event.site, now),
            left: self.describe(&closing, now),
            entered: self.owners[slot as usize].current,
        }];
        let mut at = closing.slot();
        while at != slot {
            let reached_by = &self.slots[at as usize].reached_by;
            let Ok(found) = find(reached_by, slot) else {
                unreachable!("a reacher reaches the origin of its edges");
            };
            let reach = self.owners[at as usize].reached[found];
            path.push(reach);
            at = reach.from.slot();
        }
        path.reverse();
        path
    }

    /// The event by which the cycle leaves a strand: where it was joined, its first.
    fn leaves(&self, next: &Reach, now: u64) -> (Access, Transaction) {
        if next.from.own_tag() != Tag::Joined {
            return self.endpoint(&next.from, next.object, next.left, now);
        }
        let Some(first) = &self.owners[next.from.slot() as usize].first else {
            unreachable!("a cycle leaves the strand by one of its events");
        };
        first.clone()
    }

    /// One end of an edge, with its transaction.
    fn endpoint(
        &self,
        mark: &Mark,
        object: u32,
        descriptor: Descriptor,
        now: u64,
    ) -> (Access, Transaction) {
        let access = self.access(mark, object, now);
        (access, self.transaction(mark, descriptor))
    }
}
