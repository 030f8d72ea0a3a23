//! Reading a sequence of events as transactions.

use super::serial::{Equivalence, Item, serializable};
use super::summary::writes;
use crate::predict::{Map, is_access};
use crate::trace::{Event, ObjectId, Op, StrandId};

/// A sequence of accesses, and which transactions come in a given order whatever happens.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) items: Vec<Item>,
    pub(super) before: Vec<(usize, usize)>,
}

impl Reading {
    /// Numbers the transactions of a sequence of events; every event outside a block is one of its
    /// own.
    pub(super) fn of<'a>(events: impl IntoIterator<Item = &'a (Event, u64)>) -> Reading {
        let mut reading = Reading::default();
        let mut count = 0;
        // The last transaction of each strand, and whether it is still under way.
        let mut current: Map<StrandId, (usize, bool)> = Map::default();
        let mut carried: Map<ObjectId, Vec<usize>> = Map::default();
        let mut ended: Map<StrandId, Vec<usize>> = Map::default();
        for (event, _) in events {
            let open = current.get(&event.strand).copied();
            let owner = match open {
                Some((owner, true)) if event.op != Op::Begin => owner,
                _ => {
                    let owner = count;
                    count += 1;
                    reading.before.extend(open.map(|(last, _)| (last, owner)));
                    let forks = ended.remove(&event.strand).unwrap_or_default();
                    reading
                        .before
                        .extend(forks.into_iter().map(|fork| (fork, owner)));
                    owner
                }
            };
            let open = match event.op {
                Op::Begin => true,
                Op::End => false,
                _ => open.is_some_and(|(_, open)| open),
            };
            current.insert(event.strand, (owner, open));
            match event.op {
                Op::Fork => ended.entry(event.other()).or_default().push(owner),
                Op::Join => reading
                    .before
                    .extend(current.get(&event.other()).map(|&(last, _)| (last, owner))),
                Op::Send | Op::Signal => carried.entry(event.object()).or_default().push(owner),
                Op::Recv | Op::Await => {
                    let sources = carried.get(&event.object()).into_iter().flatten();
                    reading
                        .before
                        .extend(sources.map(|&source| (source, owner)));
                }
                op if is_access(op) => {
                    reading.items.push(Item {
                        owner,
                        access: op,
                        variable: event.object(),
                        last: false,
                    });
                }
                _ => {}
            }
        }
        reading.before.retain(|(a, b)| a != b);
        let mut seen: Vec<(usize, ObjectId)> = Vec::new();
        for item in reading.items.iter_mut().rev() {
            if writes(item.access) && !seen.contains(&(item.owner, item.variable)) {
                seen.push((item.owner, item.variable));
                item.last = true;
            }
        }
        reading
    }

    /// Some serial order explains it.
    pub(super) fn serializable(&self, equivalence: Equivalence) -> bool {
        serializable(&self.items, &self.before, equivalence)
    }
}
