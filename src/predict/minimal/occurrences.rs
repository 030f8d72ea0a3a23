//! The same accesses, elsewhere in the run.
//!
//! A witness stands for all accesses at its place, because locks and order decide for all of them
//! alike. What a strand has seen by then does not: before a guard, a claim or a message of its own
//! has come, an access of another strand may be impossible that is possible after. So where reads
//! bind and nothing is predicted from the witnesses, other occurrences of their accesses are tried,
//! those first that were closest to each other on this run.

use crate::predict::{Context, Step, is_access};
use crate::trace::Op;

/// A position, and the number of its block's run.
type Place = (u64, usize);

/// Some occurrences of these accesses (the first, the one between, the second) other than
/// themselves: at most so many, with how far apart each is.
pub(super) fn of(steps: &[Step; 3], most: usize, now: &Context) -> Vec<(u64, [Step; 3])> {
    let [firsts, betweens, seconds] = steps.each_ref().map(|step| places(step, now));
    let own = steps.each_ref().map(|step| step.access.position);
    let mut found: Vec<(u64, [u64; 3])> = Vec::new();
    for &(first, run) in &firsts {
        let next = seconds.partition_point(|&(at, _)| at <= first);
        let Some(&(second, _)) = seconds.get(next).filter(|&&(_, other)| other == run) else {
            continue;
        };
        // The last access before the gap ends, and the first after.
        let after = betweens.partition_point(|&(at, _)| at < second);
        let neighbours = after.saturating_sub(1)..betweens.len().min(after + 1);
        found.extend(betweens[neighbours].iter().filter_map(|&(between, _)| {
            let distance = between.abs_diff(first).min(between.abs_diff(second));
            let positions = [first, between, second];
            (positions != own).then_some((distance, positions))
        }));
    }
    found.sort_unstable();
    found.truncate(most);
    let moved = |(distance, positions): (u64, [u64; 3])| {
        let mut moved = steps.clone();
        for (step, position) in moved.iter_mut().zip(positions) {
            place(step, position, now);
        }
        (distance, moved)
    };
    found.into_iter().map(moved).collect()
}

/// Where the strand of a step makes the same access to the same object.
fn places(step: &Step, now: &Context) -> Vec<Place> {
    let access = &step.access;
    let Some(object) = access.object else {
        return Vec::new();
    };
    let is_inside = step.transaction.is_some();
    let all = now.reads.accesses_of(access.strand, object);
    let same = all.filter(|&(event, position, _)| {
        let is_same = event.site == access.site && counted(event.op) == Some(access.op);
        is_same && now.skeleton.open_since(access.strand, position).is_some() == is_inside
    });
    same.map(|(_, position, run)| (position, run)).collect()
}

/// What the analyses take an operation for.
fn counted(op: Op) -> Option<Op> {
    match op {
        Op::CompareExchange => Some(Op::ReadWrite),
        Op::Vain(_) => Some(Op::Read),
        op => is_access(op).then_some(op),
    }
}

/// Moves a step to another position.
fn place(step: &mut Step, position: u64, now: &Context) {
    let strand = step.access.strand;
    step.access.position = position;
    if let Some(transaction) = &mut step.transaction {
        transaction.begin = now.skeleton.open_since(strand, position);
    }
    step.held = now.skeleton.held(strand, position);
}
