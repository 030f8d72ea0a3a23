//! Replaying a predicted schedule, to see that it violates.

use super::Prediction;
use super::skeleton::Skeleton;
use crate::check::{Engine, Exact};
use crate::trace::{Event, Op, StrandId};

/// Does the exact engine see a violation in the prediction's schedule?
///
/// The engine is shown, in the schedule's order, the accesses of the prediction, the begins and
/// ends of their transactions, and everything that orders. What it is not shown can only add edges
/// between transactions: a cycle that it sees is one of the whole schedule.
pub(super) fn violates(prediction: &Prediction, skeleton: &Skeleton) -> bool {
    let mut engine = Exact::new();
    let mut events = events(prediction, skeleton).into_iter().zip(1..);
    events.any(|(event, position)| engine.step(event, position).is_some())
}

/// What the engine is shown of the schedule.
fn events(prediction: &Prediction, skeleton: &Skeleton) -> Vec<Event> {
    // Each strand's begins, ends and accesses, by position.
    let mut own: Vec<(u64, Event)> = Vec::new();
    for step in &prediction.accesses {
        let access = &step.access;
        let target = access.object.map_or(0, |object| object.0);
        own.push((
            access.position,
            Event {
                strand: access.strand,
                target,
                site: access.site,
                op: access.op,
            },
        ));
        if let Some(transaction) = &step.transaction
            && let (Some(block), Some(begin)) = (transaction.block, transaction.begin)
        {
            let strand = transaction.strand;
            let bound = |op| Event {
                strand,
                target: block.0,
                site: transaction.site,
                op,
            };
            own.push((begin, bound(Op::Begin)));
            let end = skeleton.end_of(strand, begin);
            own.extend(end.map(|end| (end, bound(Op::End))));
        }
    }
    // A transaction may end where the next one begins.
    own.sort_by_key(|&(position, event)| (position, event.op != Op::End, event.op));
    own.dedup();
    let mut reached: Vec<(StrandId, u64)> = Vec::new();
    let mut events = Vec::new();
    for run in &prediction.schedule {
        let at = reached
            .iter()
            .position(|&(strand, _)| strand == run.strand)
            .unwrap_or_else(|| {
                reached.push((run.strand, 0));
                reached.len() - 1
            });
        let from = std::mem::replace(&mut reached[at].1, run.to);
        let mine = own.iter().filter(|(position, event)| {
            event.strand == run.strand && (from + 1..=run.to).contains(position)
        });
        let ordering = skeleton
            .ordering(run.strand, from, run.to)
            .map(|(position, op, target)| {
                let site = crate::trace::SiteId::NONE;
                (
                    position,
                    Event {
                        strand: run.strand,
                        target,
                        site,
                        op,
                    },
                )
            });
        let mut piece: Vec<(u64, Event)> = mine.copied().chain(ordering).collect();
        piece.sort_by_key(|&(position, event)| (position, skeleton.rank(event)));
        events.extend(piece.into_iter().map(|(_, event)| event));
    }
    events
}
