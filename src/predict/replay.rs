//! Replaying a predicted schedule, to see that it violates.

use super::skeleton::orders;
use super::{Context, Prediction, event};
use crate::check::{Engine, Exact};
use crate::trace::{Event, Op, StrandId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Does the exact engine see a violation in the prediction's schedule?
///
/// The engine is shown, in the schedule's order, the accesses of the prediction, the begins and
/// ends of their transactions, and everything that orders. What it is not shown can only add edges
/// between transactions: a cycle that it sees is one of the whole schedule.
pub(super) fn violates(prediction: &Prediction, now: &Context) -> bool {
    let mut engine = Exact::new();
    let mut events = events(prediction, now).into_iter().zip(1..);
    events.any(|(event, position)| engine.step(event, position).is_some())
}

/// What the engine is shown of the schedule.
fn events(prediction: &Prediction, now: &Context) -> Vec<Event> {
    let Context {
        skeleton,
        reads,
        zeros,
        ..
    } = now;
    let accesses = prediction.accesses.iter();
    let begins = accesses.clone().filter_map(|step| {
        let begin = step.transaction.as_ref()?.begin?;
        Some((step.access.strand, begin))
    });
    let begins: FxHashSet<(StrandId, u64)> = begins.collect();
    let mut reached: FxHashMap<StrandId, u64> = FxHashMap::default();
    let mut inside: FxHashSet<StrandId> = FxHashSet::default();
    let mut events = Vec::new();
    for run in &prediction.schedule {
        let from = reached.insert(run.strand, run.to).unwrap_or(0);
        let steps = skeleton.steps(run.strand, from, run.to);
        let steps = steps.filter(|&(event, position)| match event.op {
            Op::Begin => begins.contains(&(run.strand, position)) && inside.insert(run.strand),
            Op::End => inside.remove(&run.strand),
            op => orders(op),
        });
        let own = accesses.clone().map(|step| &step.access).filter(|access| {
            access.strand == run.strand && (from + 1..=run.to).contains(&access.position)
        });
        let own = own.map(|access| {
            let mut shown = *access;
            shown.op = reads.vain(access).unwrap_or(access.op);
            zeros.name(&mut shown);
            (event(&shown), access.position)
        });
        let mut piece: Vec<(Event, u64)> = steps.chain(own).collect();
        piece.sort_by_key(|&(event, at)| (at, event.op == Op::Begin, skeleton.rank(event)));
        events.extend(piece.into_iter().map(|(event, _)| event));
    }
    events
}
