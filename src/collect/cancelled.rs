//! Half-done updates: runs of async blocks that were cancelled in the middle.
//!
//! A future that is dropped at an `.await` leaves behind what its block had written by then. That is
//! wrong where the rest belongs to it. What the rest is, complete runs of the same block show: a
//! cancelled run is reported if it had written something that its drop did not write again, and a
//! complete run that wrote there as well wrote or sent at a place that this one never reached. So
//! nothing is said of a run that was cancelled before it wrote, after it had written everything, or
//! whose destructors put things right; nor of one that went another way than the complete runs did.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::check::{Access, Edge, Transaction, Violation};
use crate::trace::{BlockId, Class, Event, ObjectId, Op, SiteId, StrandId};

/// The most complete runs of a block, and the most cancelled ones, that are remembered; all that are
/// alike count as one.
const RUNS: usize = 64;

/// A run of a block.
#[derive(Clone, Debug)]
struct Run {
    family: u32,
    transaction: Transaction,
    /// What it wrote and sent, by place.
    writes: BTreeMap<SiteId, Access>,
    /// What it had written when its future was dropped, and has not been written since.
    left: Option<BTreeMap<ObjectId, Access>>,
    is_panic: bool,
}

impl Run {
    fn is_done(&self) -> bool {
        self.left.is_none() && !self.is_panic
    }

    fn sites(&self) -> BTreeSet<SiteId> {
        self.writes.keys().copied().collect()
    }

    /// What a cancelled run has left and a complete one goes on from: the last write that stays, and
    /// the first that is missing.
    fn torn_from(&self, complete: &Run) -> Option<(Access, Access)> {
        let left = self.left.as_ref()?;
        let kept = left.values().max_by_key(|access| access.position)?;
        let goes_the_same_way = left
            .values()
            .all(|access| complete.writes.contains_key(&access.site));
        let missing = complete.writes.values();
        let missing = missing.filter(|access| !self.writes.contains_key(&access.site));
        let first = missing.min_by_key(|access| access.position)?;
        goes_the_same_way.then_some((*kept, *first))
    }
}

/// The runs of one block, one for each set of places.
#[derive(Debug, Default)]
struct Runs {
    complete: BTreeMap<BTreeSet<SiteId>, Run>,
    /// Cancelled, and nothing to say of them yet.
    cancelled: BTreeMap<BTreeSet<SiteId>, Run>,
}

/// A run that was cancelled half-way.
pub(super) struct Torn {
    /// The cancelled run, and a complete one, with one access of each: the last that stays, and the
    /// first that is missing.
    pub(super) violation: Violation,
    /// Equal for those that are the same to a user.
    pub(super) places: (SiteId, SiteId),
}

/// What is known of runs of async blocks.
#[derive(Debug, Default)]
pub(super) struct Cancelled {
    /// By strand: its family, and what it runs, if it is in its block.
    open: FxHashMap<StrandId, (u32, Option<Run>)>,
    /// By family: tests do not mix.
    blocks: FxHashMap<u32, FxHashMap<BlockId, Runs>>,
}

impl Cancelled {
    /// A strand begins that runs an async block.
    pub(super) fn begin(&mut self, strand: StrandId, family: u32) {
        self.open.insert(strand, (family, None));
    }

    /// A family has ended.
    pub(super) fn forget(&mut self, family: u32) {
        self.blocks.remove(&family);
    }

    pub(super) fn exit(&mut self, strand: StrandId) {
        self.open.remove(&strand);
    }

    /// Whether an event may be of such a strand.
    #[inline]
    pub(super) fn is_watching(&self) -> bool {
        !self.open.is_empty()
    }

    /// The future of a strand's block is dropped.
    pub(super) fn cancel(&mut self, strand: StrandId) {
        if let Some((_, Some(run))) = self.open.get_mut(&strand) {
            let writes = run.writes.values();
            let on_objects = writes.filter_map(|access| Some((access.object?, *access)));
            run.left = Some(on_objects.collect());
        }
    }

    /// A strand's block is left by a panic.
    pub(super) fn panic(&mut self, strand: StrandId) {
        if let Some((_, Some(run))) = self.open.get_mut(&strand) {
            run.is_panic = true;
        }
    }

    /// Takes an event; what it shows.
    pub(super) fn event(&mut self, event: &Event, position: u64) -> Vec<Torn> {
        let Some((family, open)) = self.open.get_mut(&event.strand) else {
            return Vec::new();
        };
        match (event.op, open) {
            (Op::Begin, open @ None) => {
                *open = Some(Run {
                    family: *family,
                    transaction: Transaction {
                        strand: event.strand,
                        block: Some(BlockId(event.target)),
                        begin: Some(position),
                        site: event.site,
                    },
                    writes: BTreeMap::new(),
                    left: None,
                    is_panic: false,
                });
                Vec::new()
            }
            (Op::End, open) => open.take().map_or_else(Vec::new, |run| self.end(run)),
            (op, Some(run)) => {
                if matches!(op.row().class, Class::Write | Class::Update) || op == Op::Send {
                    let object = ObjectId(event.target);
                    let access = Access {
                        position,
                        strand: event.strand,
                        op,
                        object: Some(object),
                        site: event.site,
                    };
                    run.writes.entry(event.site).or_insert(access);
                    if let Some(left) = &mut run.left {
                        left.remove(&object);
                    }
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// A run is over; what it shows together with others of its block.
    fn end(&mut self, run: Run) -> Vec<Torn> {
        let Some(block) = run.transaction.block.filter(|_| !run.is_panic) else {
            return Vec::new();
        };
        let blocks = self.blocks.entry(run.family).or_default();
        let runs = blocks.entry(block).or_default();
        let sites = run.sites();
        if run.is_done() {
            if runs.complete.contains_key(&sites) || runs.complete.len() == RUNS {
                return Vec::new();
            }
            let mut torn = Vec::new();
            runs.cancelled.retain(|_, cancelled| {
                let found = tear(cancelled, &run);
                let is_kept = found.is_none();
                torn.extend(found);
                is_kept
            });
            runs.complete.insert(sites, run);
            return torn;
        }
        if run.left.as_ref().is_none_or(BTreeMap::is_empty) {
            return Vec::new();
        }
        let found = runs
            .complete
            .values()
            .find_map(|complete| tear(&run, complete));
        if found.is_none() && runs.cancelled.len() < RUNS {
            runs.cancelled.insert(sites, run);
        }
        found.into_iter().collect()
    }
}

/// What is to be said of a cancelled run, where a complete one goes on.
fn tear(cancelled: &Run, complete: &Run) -> Option<Torn> {
    let (kept, missing) = cancelled.torn_from(complete)?;
    let edge = |from, to| Edge { from, to };
    let violation = Violation {
        event: kept.position.max(missing.position),
        blame: 0,
        transactions: vec![cancelled.transaction.clone(), complete.transaction.clone()],
        edges: vec![edge(kept, missing), edge(missing, kept)],
    };
    let places = (kept.site, missing.site);
    Some(Torn { violation, places })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 1;
    const OPEN: u32 = 2;

    /// Runs of one block, each of its own strand: `Ok` of an object and a place is a write, `Err`
    /// the drop of the future.
    fn reported(runs: &[&[Result<(u32, u32), ()>]]) -> Vec<(u32, u32)> {
        let mut cancelled = Cancelled::default();
        let mut found = Vec::new();
        let mut position = 0;
        for (strand, run) in runs.iter().enumerate() {
            let strand = StrandId(strand as u32);
            let event = |op, target, site| Event {
                strand,
                target,
                site: SiteId(site),
                op,
            };
            cancelled.begin(strand, 1);
            let steps = run
                .iter()
                .map(|step| step.map(|(object, site)| event(Op::Write, object, site)));
            let begin = Ok(event(Op::Begin, 7, 0));
            let end = Ok(event(Op::End, 7, 0));
            for step in [begin].into_iter().chain(steps).chain([end]) {
                position += 1;
                match step {
                    Ok(event) => found.extend(cancelled.event(&event, position)),
                    Err(()) => cancelled.cancel(strand),
                }
            }
            cancelled.exit(strand);
        }
        let places = found.iter().map(|torn| torn.places);
        places.map(|(kept, missing)| (kept.0, missing.0)).collect()
    }

    const COMPLETE: &[Result<(u32, u32), ()>] = &[Ok((SIZE, 10)), Ok((OPEN, 20))];

    #[test]
    fn a_run_that_stops_after_its_first_write_is_reported_whichever_comes_first() {
        let torn = &[Ok((SIZE, 10)), Err(())];
        assert_eq!(reported(&[COMPLETE, torn]), [(10, 20)]);
        assert_eq!(reported(&[torn, COMPLETE]), [(10, 20)]);
        assert_eq!(reported(&[torn]), []);
    }

    #[test]
    fn what_the_drop_writes_again_is_not_left() {
        let undone = &[Ok((SIZE, 10)), Err(()), Ok((SIZE, 30))];
        assert_eq!(reported(&[COMPLETE, undone]), []);
        let other = &[Ok((SIZE, 10)), Err(()), Ok((OPEN, 30))];
        assert_eq!(reported(&[COMPLETE, other]), [(10, 20)]);
    }

    #[test]
    fn a_run_cancelled_before_its_first_write_or_after_its_last_is_whole() {
        let early = &[Err(())];
        let late = &[Ok((SIZE, 10)), Ok((OPEN, 20)), Err(())];
        assert_eq!(reported(&[COMPLETE, early, late]), []);
    }

    #[test]
    fn a_run_that_went_another_way_is_not_compared() {
        let other = &[Ok((SIZE, 11)), Err(())];
        assert_eq!(reported(&[COMPLETE, other]), []);
        let other = &[Ok((SIZE, 10)), Ok((OPEN, 21)), Err(())];
        assert_eq!(reported(&[COMPLETE, other]), []);
    }
}
