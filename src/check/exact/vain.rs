//! Updates that changed nothing, which are in no group of a variable.

use std::collections::hash_map::Entry;

use super::mark::{Mark, Tag};
use super::reach::Step;
use super::{Exact, Variable};
use crate::check::Violation;
use crate::trace::{Event, Update};

impl Exact {
    /// An access that changes a variable of which vain updates are known.
    #[inline(never)]
    pub(super) fn access_after_vain(
        &mut self,
        slot: u32,
        tag: Tag,
        event: &Event,
        position: u64,
    ) -> Option<Box<Violation>> {
        let mut step = Step::new(*event, position, tag);
        if let Entry::Occupied(mut vain) = self.vain.entry(event.target) {
            vain.get_mut().retain(|&mark| {
                if !tag.commutes_with_vain(mark.own_tag()) {
                    self.graph.edge(mark, slot, &mut step);
                }
                !tag.excludes() && !self.graph.is_dead(mark)
            });
            if vain.get().is_empty() {
                vain.remove();
            }
        }
        self.access_step(slot, &mut step);
        step.found
    }

    /// An update that changed nothing.
    pub(super) fn access_in_vain(&mut self, kind: Update, event: &Event, position: u64) -> Step {
        let slot = self.graph.slot(event, position);
        let tag = Tag::of_vain(kind);
        let mut step = Step::new(*event, position, tag);
        let variable = self.variables.entry(event.target);
        let is_pair = variable.is_pair();
        let Variable { current, before } = variable;
        let mut edges = |group| self.lists.edges(group, slot, &mut step, &mut self.graph);
        if !current.tag().commutes_with_vain(tag) {
            edges(current);
            if is_pair {
                edges(before);
            }
        } else if !before.tag().commutes_with_vain(tag) {
            edges(before);
        } else if let Some(base) = self.bases.get_mut(&event.target) {
            edges(base);
        }
        let mark = Mark::new(self.graph.node(slot), tag, event.site, position);
        let vain = self.vain.entry(event.target).or_default();
        vain.retain(|&it| !self.graph.is_dead(it) && (it.slot(), it.own_tag()) != (slot, tag));
        vain.push(mark);
        step
    }
}
