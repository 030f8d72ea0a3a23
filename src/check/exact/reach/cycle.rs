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
        let to = Mark::new(
            self.slots[slot as usize].node,
            step.tag,
            step.event.site,
            now,
        );
        let mut path = vec![Reach {
            reacher: slot,
            object: step.event.target,
            from: closing,
            to,
            left: self.describe(&closing, now),
            entered: self.owners[slot as usize].current,
        }];
        let mut at = closing.slot();
        while at != slot {
            let reached_by = &self.slots[at as usize].reached_by;
            let Ok(found) = find(reached_by, slot) else {
                unreachable!("a reacher reaches the origin of its edges");
            };
            path.push(reached_by[found]);
            at = reached_by[found].from.slot();
        }
        path.reverse();
        let mut hops: Vec<Hop> = Vec::with_capacity(path.len());
        for (i, reach) in path.iter().enumerate() {
            // A fork comes before everything that the new strand does, so before the event by which
            // the cycle leaves it; a join after everything, so after the event by which the cycle
            // entered.
            let to = if reach.to.own_tag() != Tag::Forked {
                (
                    self.access(&reach.to, reach.object, now),
                    self.transaction(&reach.to, reach.entered),
                )
            } else {
                let next = &path[i + 1];
                match &self.owners[next.from.slot() as usize].first {
                    _ if next.from.own_tag() != Tag::Joined => (
                        self.access(&next.from, next.object, now),
                        self.transaction(&next.from, next.left),
                    ),
                    Some(first) => first.clone(),
                    None => unreachable!("a cycle leaves the strand by one of its events"),
                }
            };
            let from = if reach.from.own_tag() != Tag::Joined {
                (
                    self.access(&reach.from, reach.object, now),
                    self.transaction(&reach.from, reach.left),
                )
            } else {
                match hops.last() {
                    Some(hop) => (hop.edge.to, hop.to.clone()),
                    None => unreachable!("a joined strand is not the one that closes the cycle"),
                }
            };
            hops.push(Hop {
                edge: Edge {
                    from: from.0,
                    to: to.0,
                },
                from: from.1,
                to: to.1,
            });
        }
        cycle::violation(hops, now)
    }
}
