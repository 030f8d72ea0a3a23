//! Groups of accesses that have several members.

use super::mark::{Mark, Node, Tag};
use super::reach::{Reachability, Step};

/// The members of groups that have several, each list ordered by slot.
#[derive(Debug, Default)]
pub(super) struct Lists {
    lists: Vec<Vec<Mark>>,
    free: Vec<u32>,
}

/// Where the member of `slot` is, or belongs.
#[inline]
fn find(list: &[Mark], slot: u32) -> Result<usize, usize> {
    // Slots are dense, so the member of a slot is seldom far from where it is in a list of all.
    if list
        .get(slot as usize)
        .is_some_and(|mark| mark.slot() == slot)
    {
        return Ok(slot as usize);
    }
    list.binary_search_by_key(&slot, |mark| mark.slot())
}

/// A list of this length is searched for dead members whenever one joins.
const SHORT: usize = 4;
/// A list that was larger than this gives its memory back.
const KEPT_CAPACITY: usize = 64;

impl Lists {
    /// The group of two accesses.
    pub(super) fn pair(&mut self, tag: Tag, a: Mark, b: Mark) -> Mark {
        let number = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() as u32 - 1
        });
        let list = &mut self.lists[number as usize];
        list.extend(if a.slot() < b.slot() { [a, b] } else { [b, a] });
        Mark::list(tag, number)
    }

    /// The group without its list.
    pub(super) fn discard(&mut self, group: Mark) {
        if group.is_list() {
            let list = &mut self.lists[group.list_number() as usize];
            if list.capacity() > KEPT_CAPACITY {
                *list = Vec::new();
            }
            list.clear();
            self.free.push(group.list_number());
        }
    }

    /// The node is already a member.
    pub(super) fn has(&self, group: Mark, node: Node, slot: u32) -> bool {
        if !group.is_list() {
            return group.is_of(node);
        }
        let list = &self.lists[group.list_number() as usize];
        find(list, slot).is_ok_and(|at| list[at].is_of(node))
    }

    /// Drops the dead of a short list, after which there may be no list.
    pub(super) fn trim(&mut self, group: &mut Mark, graph: &Reachability) {
        if group.is_list() {
            let list = &mut self.lists[group.list_number() as usize];
            if list.len() <= SHORT {
                list.retain(|&mark| !graph.is_dead(mark));
                self.shrink(group);
            }
        }
    }

    /// A list of none or one is no list.
    pub(super) fn shrink(&mut self, group: &mut Mark) {
        let list = &self.lists[group.list_number() as usize];
        if list.len() < 2 {
            let left = list.first().copied().unwrap_or(Mark::EMPTY);
            self.discard(*group);
            *group = left;
        }
    }

    /// The group with `mark` in it, in place of an older access of its strand.
    pub(super) fn join(&mut self, group: Mark, tag: Tag, mark: Mark, graph: &Reachability) -> Mark {
        if !group.is_list() {
            return if group.is_empty() || group.slot() == mark.slot() || graph.is_dead(group) {
                mark
            } else {
                self.pair(tag, group, mark)
            };
        }
        let list = &mut self.lists[group.list_number() as usize];
        match find(list, mark.slot()) {
            Ok(at) => list[at] = mark,
            Err(at) if list.len() < list.capacity() => list.insert(at, mark),
            Err(_) => {
                // Full: the dead make room. Where few are dead the capacity doubles, so that the
                // sweeps stay rare.
                list.retain(|&mark| !graph.is_dead(mark));
                if list.is_empty() {
                    self.discard(group);
                    return mark;
                }
                if list.len() > list.capacity() / 2 {
                    list.reserve(list.capacity());
                }
                let at = list.partition_point(|other| other.slot() < mark.slot());
                list.insert(at, mark);
            }
        }
        group
    }

    /// Edges from every member to what the strand in `slot` does now. Members that are dead are
    /// dropped.
    pub(super) fn edges(
        &mut self,
        group: &mut Mark,
        slot: u32,
        step: &mut Step,
        graph: &mut Reachability,
    ) {
        if !group.is_list() {
            if !group.is_empty() {
                graph.edge(*group, slot, step);
            }
            return;
        }
        let list = &mut self.lists[group.list_number() as usize];
        list.retain(|&mark| {
            graph.edge(mark, slot, step);
            !graph.is_dead(mark)
        });
        self.shrink(group);
    }

    /// The members of all groups.
    pub(super) fn members(&self) -> impl Iterator<Item = &Mark> {
        self.lists.iter().flatten()
    }

    /// How much memory is kept, in members.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.lists.iter().map(|list| 1 + list.capacity()).sum()
    }
}
