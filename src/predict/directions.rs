//! What a scheduler needs to confirm a prediction.

use super::{Context, Prediction};
use crate::check::Access;
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::FxHashMap;

/// The accesses of a prediction and its schedule, named so that they are found again in another run
/// of the same program.
///
/// The accesses are enough to steer by: let each strand come to its own, and perform them in this
/// order. The schedule says one way to get there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// The accesses, in the order of the schedule.
    pub accesses: Vec<Occurrence>,
    /// The schedule, event by event: accesses, lock operations, what orders strands, and where
    /// transactions begin and end. Empty where there are more than
    /// [`LONGEST`](Directions::LONGEST).
    pub schedule: Vec<Occurrence>,
}

/// An event of a strand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Occurrence {
    /// Who: `[1, 0]` is the first strand that was forked by the second strand that was forked by
    /// the one that nobody forked.
    pub strand: Vec<u32>,
    /// What it does. A lock that is handed over with a guard leaves and comes with a message.
    pub op: Op,
    /// To what: the objects of the trace are numbered in the order of their first uses.
    pub object: Option<ObjectId>,
    /// Where; of accesses alone.
    pub site: SiteId,
    /// How often its strand has done the same to the same object at the same site before. Looks
    /// that led to nothing but looking again do not count.
    pub nth: u32,
}

impl Directions {
    /// How many events a schedule has at most.
    pub const LONGEST: usize = 4096;

    /// Those of a prediction with a schedule, where the accesses were kept and there is `room` for
    /// so many events.
    pub(super) fn of(prediction: &Prediction, now: &Context, room: &mut usize) -> Option<Self> {
        let is_known = now.reads.is_on() && !now.reads.is_incomplete();
        if prediction.schedule.is_empty() || !is_known || *room == 0 {
            return None;
        }
        let events = events(prediction, now);
        *room = room.saturating_sub(events.len());
        let mut counts: FxHashMap<Event, u32> = FxHashMap::default();
        let mut paths: FxHashMap<StrandId, Vec<u32>> = FxHashMap::default();
        let mut found = Directions::default();
        for (event, position) in events {
            let count = counts.entry(event).or_default();
            let strand = event.strand;
            let path = paths.entry(strand);
            let occurrence = Occurrence {
                strand: path.or_insert_with(|| now.skeleton.path(strand)).clone(),
                op: event.op,
                object: event.its_object(),
                site: event.site,
                nth: *count,
            };
            *count += 1;
            let mut steps = prediction.accesses.iter().map(|step| &step.access);
            let is_access = |it: &Access| {
                (it.strand, it.position, it.object) == (strand, position, occurrence.object)
            };
            if steps.any(is_access) {
                found.accesses.push(occurrence.clone());
            }
            if found.schedule.len() <= Directions::LONGEST {
                found.schedule.push(occurrence);
            }
        }
        if found.schedule.len() > Directions::LONGEST {
            found.schedule.clear();
        }
        Some(found)
    }
}

/// The events of the schedule, each with its position.
fn events(prediction: &Prediction, now: &Context) -> Vec<(Event, u64)> {
    let mut reached: FxHashMap<StrandId, u64> = FxHashMap::default();
    let mut events = Vec::new();
    for run in &prediction.schedule {
        let from = reached.insert(run.strand, run.to).unwrap_or(0);
        let steps = now.skeleton.steps(run.strand, from, run.to);
        let looks = now.reads.events(run.strand, from, run.to);
        let mut piece: Vec<(Event, u64)> = steps.chain(looks).collect();
        // A transaction ends before the next one begins at the same position.
        let rank = |event: Event| (event.op == Op::Begin, now.skeleton.rank(event));
        piece.sort_by_key(|&(event, at)| (at, rank(event)));
        events.extend(piece);
    }
    events
}
