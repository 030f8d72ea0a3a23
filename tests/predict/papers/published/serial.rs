//! Is there a serial order of the transactions that explains a sequence of accesses?

use super::{reads, writes};
use aerodrome::predict::{conflict, is_access};
use aerodrome::trace::{Event, ObjectId, Op, StrandId};
use std::collections::HashMap;

/// When two sequences of the same transactions count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equivalence {
    /// Conflicting accesses come in the same order: what the engines decide.
    Conflict,
    /// Every read sees the same write, and every variable has the same last write: what the papers
    /// decide. A write that nobody sees (`W W'` around another's `W`) is no violation here.
    View,
}

/// One access of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The transaction: any number.
    pub(super) owner: usize,
    pub(super) access: Op,
    pub(super) variable: ObjectId,
    /// Is it the transaction's last write of the variable?
    pub(super) last: bool,
}

/// Some serial order explains the sequence. `before` lists transactions that every serial order
/// must keep in order: of one strand, or ordered on every schedule.
pub(super) fn serializable(
    items: &[Item],
    before: &[(usize, usize)],
    equivalence: Equivalence,
) -> bool {
    match equivalence {
        Equivalence::Conflict => {
            let mut edges: Vec<(usize, usize)> = before.to_vec();
            for (at, late) in items.iter().enumerate() {
                for early in &items[..at] {
                    if early.owner != late.owner
                        && early.variable == late.variable
                        && conflict(early.access, late.access)
                    {
                        edges.push((early.owner, late.owner));
                    }
                }
            }
            acyclic(edges)
        }
        Equivalence::View => View::of(items, before).search(),
    }
}

fn acyclic(mut edges: Vec<(usize, usize)>) -> bool {
    edges.sort_unstable();
    edges.dedup();
    loop {
        let kept: Vec<(usize, usize)> = edges
            .iter()
            .copied()
            .filter(|&(from, _)| edges.iter().any(|&(_, to)| to == from))
            .collect();
        if kept.len() == edges.len() {
            return edges.is_empty();
        }
        edges = kept;
    }
}

/// Who made what a read sees: the start, or the n-th access of a transaction.
type Source = Option<(usize, usize)>;

/// The search for a serial order that is view equivalent.
struct View<'a> {
    owners: Vec<usize>,
    /// Of each transaction: its accesses.
    accesses: Vec<Vec<(Item, Source)>>,
    /// The transaction that makes a variable's last write, where that is known.
    last: HashMap<ObjectId, usize>,
    before: &'a [(usize, usize)],
}

impl<'a> View<'a> {
    fn of(items: &[Item], before: &'a [(usize, usize)]) -> View<'a> {
        let mut owners: Vec<usize> = items.iter().map(|item| item.owner).collect();
        owners.sort_unstable();
        owners.dedup();
        let mut accesses: Vec<Vec<(Item, Source)>> = vec![Vec::new(); owners.len()];
        let mut current: HashMap<ObjectId, (usize, usize)> = HashMap::default();
        for item in items {
            let owner = owners.binary_search(&item.owner).expect("listed");
            let source = current.get(&item.variable).copied();
            if writes(item.access) {
                current.insert(item.variable, (owner, accesses[owner].len()));
            }
            accesses[owner].push((*item, source));
        }
        // A block shows two accesses of its transaction. If a later write of another transaction is
        // not among them, the sequence does not say whose write is the last.
        let mut last = HashMap::default();
        for (&variable, &(owner, _)) in &current {
            let known = accesses.iter().enumerate().all(|(other, accesses)| {
                other == owner
                    || accesses
                        .iter()
                        .rev()
                        .find(|(item, _)| item.variable == variable && writes(item.access))
                        .is_none_or(|(item, _)| item.last)
            });
            if known {
                last.insert(variable, owner);
            }
        }
        View {
            owners,
            accesses,
            last,
            before,
        }
    }

    fn search(&self) -> bool {
        self.place(&mut Vec::new(), &mut HashMap::default())
    }

    /// Can the order be completed, with these transactions first?
    fn place(
        &self,
        order: &mut Vec<usize>,
        current: &mut HashMap<ObjectId, (usize, usize)>,
    ) -> bool {
        if order.len() == self.owners.len() {
            return self
                .last
                .iter()
                .all(|(variable, owner)| current.get(variable).is_some_and(|(by, _)| by == owner));
        }
        for next in 0..self.owners.len() {
            let late = |&(from, to): &(usize, usize)| {
                to == self.owners[next]
                    && self
                        .owners
                        .binary_search(&from)
                        .is_ok_and(|from| !order.contains(&from))
            };
            if order.contains(&next) || self.before.iter().any(late) {
                continue;
            }
            let mut after = current.clone();
            let fits = self.accesses[next]
                .iter()
                .enumerate()
                .all(|(at, (item, source))| {
                    let seen = after.get(&item.variable).copied();
                    if writes(item.access) {
                        after.insert(item.variable, (next, at));
                    }
                    !reads(item.access) || self.same(item.access, seen, *source)
                });
            if fits {
                order.push(next);
                let found = self.place(order, &mut after);
                order.pop();
                if found {
                    return true;
                }
            }
        }
        false
    }

    /// Does the read see the same? Updates of one kind see whatever their own kind left: nobody
    /// looks at the value.
    fn same(&self, access: Op, a: Source, b: Source) -> bool {
        let Op::Update(_) = access else { return a == b };
        let beyond = |source: Source| {
            source.filter(|&(owner, at)| self.accesses[owner][at].0.access != access)
        };
        a == b || beyond(a) == beyond(b)
    }
}

/// A sequence of accesses, and which transactions come in a given order whatever happens.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(super) items: Vec<Item>,
    pub(super) before: Vec<(usize, usize)>,
}

impl Reading {
    /// Numbers the transactions of a sequence of events; every event outside a block is one of its
    /// own.
    pub(crate) fn of<'a>(events: impl IntoIterator<Item = &'a (Event, u64)>) -> Reading {
        let mut reading = Reading::default();
        let mut count = 0;
        // The last transaction of each strand, and whether it is still under way.
        let mut current: HashMap<StrandId, (usize, bool)> = HashMap::default();
        let mut carried: HashMap<ObjectId, Vec<usize>> = HashMap::default();
        let mut ended: HashMap<StrandId, Vec<usize>> = HashMap::default();
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
    pub(crate) fn serializable(&self, equivalence: Equivalence) -> bool {
        serializable(&self.items, &self.before, equivalence)
    }
}
