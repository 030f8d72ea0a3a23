//! Gaps, and what may come between.

use super::TRIES;
use super::witnesses::{Closed, Witness};
use crate::dense::Sparse;
use crate::predict::{Context, Period, Step};
use crate::trace::{BlockId, ObjectId, Op, SiteId, StrandId};
use rustc_hash::FxHashMap;

/// What a reader would call the same, of a gap or an access between: block, sites and operations;
/// where a site is missing, the object tells findings apart.
type Side = (Option<BlockId>, [SiteId; 2], [Op; 2], Option<ObjectId>);

/// A witness, and whose it is.
type Own<'a> = (StrandId, &'a Witness);

/// What looks the same.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Some of them: the first access, the one between, the second.
    pub(super) tries: Vec<[Step; 3]>,
    pub(super) count: u64,
}

/// All candidates.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) candidates: Vec<Candidates>,
    /// Numbers from 1 on.
    sides: FxHashMap<Side, u32>,
    /// Indices into `candidates`, by the two sides.
    looks: Sparse,
    /// Of the last candidate: its sides, and its index.
    last: (u64, u32),
    /// There were more pairs of witnesses than were taken.
    pub(super) cut_short: bool,
}

impl Found {
    /// Looks at so many pairs of witnesses, and takes so many. The last periods, and whether they
    /// are parallel, are mostly those of the next pair.
    #[inline]
    pub(super) fn pair(
        &mut self,
        object: ObjectId,
        [(strand, gaps), (other, betweens)]: [(StrandId, &Closed<'_>); 2],
        (mut room, mut share): (usize, usize),
        last: &mut Option<((Period, Period), bool)>,
        now: &Context,
    ) {
        for gap in gaps.witnesses.iter() {
            let betweens = &betweens.witnesses[..room.min(betweens.witnesses.len())];
            room -= betweens.len();
            for between in betweens {
                let periods = (gap.place.period(), between.place.period());
                let known = last.filter(|&(known, _)| known == periods);
                let parallel = || (periods, now.order.parallel(periods.0, periods.1));
                let (_, is_parallel) = *last.insert(known.unwrap_or_else(parallel));
                let states = (gap.place.state(), between.place.state());
                if !is_parallel || !now.locks.compatible(states.0, states.1) {
                    continue;
                }
                if share == 0 {
                    self.cut_short = true;
                    return;
                }
                share -= 1;
                self.take(object, (strand, gap), (other, between), now);
                if share == 0 && self.cut_short {
                    return;
                }
            }
        }
    }

    /// The number of a witness's side.
    #[inline]
    fn side(&mut self, object: ObjectId, witness: &Witness) -> u64 {
        if witness.side.get() == 0 {
            let sites = witness.points.map(|point| point.site);
            let object = sites.contains(&SiteId::NONE).then_some(object);
            let ops = witness.points.map(|point| point.op);
            let next = self.sides.len() as u32 + 1;
            let side = self.sides.entry((witness.block(), sites, ops, object));
            witness.side.set(*side.or_insert(next));
        }
        u64::from(witness.side.get())
    }

    /// Takes a candidate: a gap, and what may come between.
    #[inline]
    fn take(&mut self, object: ObjectId, gap: Own<'_>, between: Own<'_>, now: &Context) {
        let look = self.side(object, gap.1) << 32 | self.side(object, between.1);
        if look != self.last.0 {
            let next = self.candidates.len() as u32;
            self.last = (look, self.looks.get_or_insert(look, next));
            if self.last.1 == next {
                self.candidates.push(Candidates::default());
            }
        }
        let candidates = &mut self.candidates[self.last.1 as usize];
        candidates.count += 1;
        if candidates.tries.len() < TRIES {
            let step = |(strand, witness): Own<'_>, point: usize| {
                let point = witness.points[point];
                Step {
                    access: point.access(strand, object),
                    transaction: witness.transaction(strand),
                    held: now.locks.held(point.state).to_vec(),
                }
            };
            let steps = [step(gap, 0), step(between, 0), step(gap, 1)];
            candidates.tries.push(steps);
        }
    }
}
