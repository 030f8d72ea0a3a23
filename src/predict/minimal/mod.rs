//! Minimal serializability prediction, after Farzan, Madhusudan and Sorrentino (CAV 2009).
//!
//! A minimal violation is a sandwich: two accesses `e1`, `e2` of one transaction, and between them
//! an access `f` of another strand to the same object that conflicts with both. Whether some
//! schedule has it comes down to whether the one strand can stand somewhere between `e1` and `e2`
//! while the other stands at `f`, which for nested locks is decided by the two lock states alone.
//! So it is enough to remember, for each strand and object, one witness a lock state.
//!
//! *Phase I*, online: the witnesses for `f` by the class of access (read, change, update of a
//! kind), and the witnesses for a place between `e1` and `e2`. An `f` of a class can only stand
//! between two accesses that both conflict with that class: all accesses for a change (the paper's
//! AA), all but reads for a read (WW), all but updates of its own kind for an update. Between
//! neighbours among these is enough, because the stretch between any two is made up of such. All
//! lock states of a stretch count. They are found by walking the strand's list of the states of
//! this transaction, last visited first, until one is reached that was left before `e1`: so a
//! second access costs as many steps as there are different states in the stretch, and not as many
//! as there are events.
//!
//! *Phase II*, when an object retires and at the end: pairs of strands, pairs of witnesses. A
//! witness has, beside its lock state, its period: order by fork, join, signals and messages
//! excludes pairs that are not parallel.
//!
//! *Verification.* For each finding a schedule is made and replayed through the exact engine; what
//! cannot be shown is not reported.

mod visits;
mod witnesses;

use super::locks::disjoint;
use super::realise::{Answer, Realiser};
use super::{Analysis, AnalysisKind, Context, Outcome, Prediction, Step, Tier, doubt, is_access};
use crate::check::{Access, Transaction};
use crate::dense::{Dense, Sparse, prefetch};
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use visits::{Place, Visits};
use witnesses::{Class, Closed, List, Mask, Point, Profile, Track, Witness, Witnesses};

/// A list takes no more witnesses than this: lock states are mostly few, but a strand that passes
/// on a message has a new period each time.
const WITNESSES: usize = 128;
/// So many lock states are looked at between two accesses, the last ones.
const STRETCH: usize = 64;
/// So many pairs of witnesses are compared for an object.
const COMPARISONS: usize = 1 << 14;
/// How many pairs of witnesses are taken for an object and a class of access, shared out among the
/// pairs of strands.
const PAIRS: usize = 256;
/// How many of the candidates that look the same to a reader are tried until one has a schedule.
const TRIES: usize = 16;
/// How many schedules are looked for.
const SCHEDULES: u64 = 2_000;
/// How many interleavings are tried for a schedule.
const STATES: usize = 20_000;

/// What a reader would call the same, of a gap or an access between: block, sites and operations;
/// where a site is missing, the object tells findings apart.
type Side = (Option<BlockId>, [SiteId; 2], [Op; 2], Option<ObjectId>);

/// Of a strand that has touched an object, by class: the accesses that may come between, and the
/// gaps.
type Kept<'a> = Vec<(Class, Closed<'a>, Closed<'a>)>;

/// A witness, and whose it is.
type Own<'a> = (StrandId, &'a Witness);

/// What looks the same.
#[derive(Clone, Debug, Default)]
struct Candidates {
    /// Some of them: the first access, the one between, the second.
    tries: Vec<[Step; 3]>,
    count: u64,
}

/// The analysis; see the module.
#[derive(Debug, Default)]
pub struct Minimal {
    /// Blocks were asked for, which tell of what has no schedule within the bounds, too.
    with_blocks: bool,
    /// Nothing but blocks was asked for.
    only_blocks: bool,
    strands: Dense<StrandId, Option<Visits>>,
    /// Of the live objects: who has touched them, and what is kept of it.
    objects: FxHashMap<ObjectId, Vec<(StrandId, u32)>>,
    /// By strand and object.
    index: Sparse,
    profiles: Vec<Profile>,
    witnesses: Vec<Witnesses>,
    unused: Vec<u32>,
    /// The profiles of the accesses at hand.
    ahead: Vec<usize>,
    /// Numbers from 1 on.
    sides: FxHashMap<Side, u32>,
    /// Indices into `found`, by the two sides.
    looks: Sparse,
    found: Vec<Candidates>,
    /// A list had no room.
    full: bool,
    /// There were more pairs of witnesses than were taken.
    cut_short: bool,
    /// All violations are wanted.
    all: Option<Sites>,
}

/// Numbers for a place and the sites of the accesses there, beyond those that a mask has: where all
/// violations are wanted, a witness is kept for each, and nothing is cut short.
#[derive(Debug, Default)]
struct Sites(FxHashMap<(u32, [SiteId; 2]), u32>);

impl Sites {
    fn number(&mut self, place: u32, sites: [SiteId; 2]) -> u32 {
        let next = Mask::BITS + self.0.len() as u32;
        *self.0.entry((place, sites)).or_insert(next)
    }
}

impl Minimal {
    /// Nothing seen yet.
    pub fn new() -> Minimal {
        Minimal::default()
    }

    /// For the two analyses that tell of such violations, as far as they were asked for.
    pub(super) fn told_by(minimal: bool, blocks: bool) -> Minimal {
        Minimal {
            with_blocks: blocks,
            only_blocks: !minimal,
            ..Minimal::default()
        }
    }

    /// All violations, one for each three sites, and not one for each lock state.
    pub(super) fn with_all(mut self, all: bool) -> Minimal {
        self.all = all.then(Sites::default);
        self
    }

    /// How many different witnesses are kept.
    pub fn kept(&self) -> usize {
        self.witnesses.iter().map(Witnesses::count).sum()
    }

    fn visits(&mut self, strand: StrandId, now: &mut Context) -> &mut Visits {
        let visits = self.strands.entry(strand);
        visits.get_or_insert_with(|| Visits::new(Place::of(strand, now)))
    }

    /// The strand's locks or its period have changed.
    fn enter(&mut self, strand: StrandId, now: &mut Context) {
        let place = Place::of(strand, now);
        self.visits(strand, now).enter(place);
    }

    #[inline]
    fn profile(&mut self, strand: StrandId, object: ObjectId) -> usize {
        match self.index.get(key(strand, object)) {
            Some(at) => at as usize,
            None => self.new_profile(strand, object),
        }
    }

    #[cold]
    fn new_profile(&mut self, strand: StrandId, object: ObjectId) -> usize {
        let at = self.unused.pop().unwrap_or_else(|| {
            self.profiles.push(Profile::default());
            self.witnesses.push(Witnesses::default());
            self.profiles.len() as u32 - 1
        });
        self.index.insert(key(strand, object), at);
        self.objects.entry(object).or_default().push((strand, at));
        at as usize
    }

    #[inline]
    fn access(&mut self, at: usize, event: Event, position: u64, now: &Context) {
        let Some(visits) = &self.strands[event.strand] else {
            return;
        };
        let (full, all) = (&mut self.full, &mut self.all);
        let (profile, witnesses) = (&mut self.profiles[at], &mut self.witnesses[at]);
        let point = Point {
            position,
            site: event.site,
            state: visits.place.state(),
            op: event.op,
        };
        let transaction = || now.transactions.get(event.strand)?.as_ref();
        let (track, lists) = witnesses.class(Class::of(event.op), profile);
        let id = match all {
            Some(sites) => sites.number(visits.id, [event.site, SiteId::NONE]),
            None => visits.id,
        };
        let (here, room) = ((id, visits.place), room(all));
        let betweens = &mut lists.betweens;
        if !betweens.has(track.betweens, here, room, *full) {
            let mask = &mut track.betweens;
            *full |= !betweens.add(mask, here, room, [point; 2], transaction());
        }
        if !visits.open {
            return;
        }
        witnesses.conflicting(event.op, profile, |track, gaps| {
            if visits.news(track, all.is_some()) {
                extend(track, gaps, all, full, visits, point, transaction());
            }
            track.set_last(point, visits.tick);
        });
    }

    /// Phase II for one object, which is forgotten.
    fn close(&mut self, object: ObjectId, now: &mut Context) {
        let Some(touched) = self.objects.remove(&object) else {
            return;
        };
        let witnesses = std::mem::take(&mut self.witnesses);
        if touched.len() > 1 {
            let kept = touched.iter();
            let kept = kept.map(|&(strand, at)| (strand, witnesses[at as usize].closed(now)));
            self.compare(object, &kept.collect::<Vec<_>>(), now);
        }
        self.witnesses = witnesses;
        for (strand, at) in touched {
            self.index.remove(key(strand, object));
            self.profiles[at as usize] = Profile::default();
            self.witnesses[at as usize] = Witnesses::default();
            self.unused.push(at);
        }
    }

    /// Looks for candidates among the witnesses of each two strands.
    fn compare(&mut self, object: ObjectId, kept: &[(StrandId, Kept<'_>)], now: &Context) {
        let pairs = kept.len() * (kept.len() - 1);
        let (share, mut comparisons) = match self.all {
            Some(_) => (usize::MAX, usize::MAX),
            None => ((PAIRS / pairs).max(2), COMPARISONS),
        };
        for (strand, mine) in kept {
            for (other, theirs) in kept.iter().filter(|(other, _)| other != strand) {
                for (class, betweens, _) in theirs {
                    let own = mine.iter().find(|(known, ..)| known == class);
                    // Any two accesses conflict with a change.
                    let (_, _, gaps) = own.unwrap_or(&mine[1]);
                    let product = gaps.witnesses.len() * betweens.witnesses.len();
                    if product == 0 || !disjoint(&gaps.guards, &betweens.guards) {
                        continue;
                    }
                    let room = comparisons.min(product);
                    self.cut_short |= room < product;
                    comparisons -= room;
                    let sides = [(*strand, gaps), (*other, betweens)];
                    self.pair(object, sides, (room, share), now);
                }
            }
        }
    }

    /// Looks at so many pairs of witnesses, and takes so many.
    #[inline]
    fn pair(
        &mut self,
        object: ObjectId,
        [(strand, gaps), (other, betweens)]: [(StrandId, &Closed<'_>); 2],
        (mut room, mut share): (usize, usize),
        now: &Context,
    ) {
        // Most have the same periods.
        let mut last = None;
        for gap in gaps.witnesses {
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
            }
        }
    }

    /// The number of a witness's side.
    #[inline]
    fn side(&mut self, object: ObjectId, witness: &Witness) -> u64 {
        if witness.side.get() == 0 {
            let block = witness.transaction.as_ref().and_then(|it| it.block);
            let sites = witness.points.map(|point| point.site);
            let object = sites.contains(&SiteId::NONE).then_some(object);
            let side = (block, sites, witness.points.map(|point| point.op), object);
            let next = self.sides.len() as u32 + 1;
            witness.side.set(*self.sides.entry(side).or_insert(next));
        }
        u64::from(witness.side.get())
    }

    /// Takes a candidate: a gap, and what may come between.
    #[inline]
    fn take(&mut self, object: ObjectId, gap: Own<'_>, between: Own<'_>, now: &Context) {
        let look = self.side(object, gap.1) << 32 | self.side(object, between.1);
        let at = self.looks.get(look).unwrap_or_else(|| {
            self.looks.insert(look, self.found.len() as u32);
            self.found.push(Candidates::default());
            self.found.len() as u32 - 1
        });
        let candidates = &mut self.found[at as usize];
        candidates.count += 1;
        if candidates.tries.len() < TRIES {
            let step = |(strand, witness): Own<'_>, point: usize| {
                let point = witness.points[point];
                Step {
                    access: Access {
                        position: point.position,
                        strand,
                        op: point.op,
                        object: Some(object),
                        site: point.site,
                    },
                    transaction: witness.transaction.as_deref().cloned(),
                    held: now.locks.held(point.state).to_vec(),
                }
            };
            candidates
                .tries
                .push([step(gap, 0), step(between, 0), step(gap, 1)]);
        }
    }
}

fn key(strand: StrandId, object: ObjectId) -> u64 {
    u64::from(strand.0) << 32 | u64::from(object.0)
}

/// How many witnesses a list takes.
fn room(all: &Option<Sites>) -> usize {
    all.as_ref().map_or(WITNESSES, |_| usize::MAX)
}

/// Adds what lies between the transaction's last access and this one; `full` if there is no room.
#[inline(never)]
fn extend(
    track: &mut Track,
    gaps: &mut List,
    all: &mut Option<Sites>,
    full: &mut bool,
    visits: &Visits,
    point: Point,
    transaction: Option<&Arc<Transaction>>,
) {
    let Some(first) = track.last().filter(|_| transaction.is_some()) else {
        return;
    };
    for (length, (id, place)) in visits.since(track.tick).enumerate() {
        if length == STRETCH && all.is_none() {
            *full = true;
            return;
        }
        let id = match all {
            Some(sites) => sites.number(id, [first.site, point.site]),
            None => id,
        };
        let (there, room, mask) = ((id, place), room(all), &mut track.gaps);
        if !gaps.has(*mask, there, room, *full) {
            *full |= !gaps.add(mask, there, room, [first, point], transaction);
        }
    }
}

impl Analysis for Minimal {
    fn fetch(&self, events: &[(Event, u64)]) {
        let keys = events.iter().filter(|(event, _)| is_access(event.op));
        let keys = keys.map(|(event, _)| key(event.strand, event.object()));
        keys.for_each(|key| self.index.fetch(key));
    }

    fn accesses(&mut self, events: &[(Event, u64)], now: &mut Context) {
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.clear();
        for (event, _) in events {
            if !matches!(self.strands.get(event.strand), Some(Some(_))) {
                self.visits(event.strand, now);
            }
            let at = self.profile(event.strand, event.object());
            prefetch(&self.profiles[at]);
            ahead.push(at);
        }
        for (&(event, position), &at) in events.iter().zip(&ahead) {
            self.access(at, event, position, now);
        }
        self.ahead = ahead;
    }

    fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        match event.op {
            op if is_access(op) => self.accesses(&[(event, position)], now),
            Op::Begin => self.visits(event.strand, now).begin(),
            Op::End => self.visits(event.strand, now).open = false,
            Op::Retire => self.close(event.object(), now),
            _ => {
                if now.locks_changed || now.period_changed {
                    self.enter(event.strand, now);
                }
                // Who forks or joins changes the other strand's period, too.
                if matches!(event.op, Op::Fork | Op::Join) {
                    self.enter(event.other(), now);
                }
            }
        }
    }

    fn finish(mut self: Box<Self>, now: &mut Context) -> Outcome {
        let mut live: Vec<ObjectId> = self.objects.keys().copied().collect();
        live.sort();
        live.into_iter().for_each(|object| self.close(object, now));
        let mut tally = Tally::default();
        let schedules = self.all.as_ref().map_or(SCHEDULES, |_| u64::MAX);
        let mut realiser = Realiser::new(now, schedules, STATES);
        let looks = self.found.iter().filter_map(|candidates| {
            let best = self.settle(candidates, &mut realiser, &mut tally);
            let is_unsure = best.as_ref().is_none_or(|best| best.tier == Tier::Hint);
            let is_untried = candidates.count > candidates.tries.len() as u64;
            tally.untried += usize::from(is_unsure && is_untried);
            best
        });
        let predictions: Vec<Prediction> = looks.collect();
        let mut notes = self.notes(&tally, realiser.is_exhausted());
        notes.extend(doubt(&predictions, now));
        notes.extend(now.locks.not_nested().map(|at| {
            format!("not nested: may be incomplete (a lock is released out of order at event {at})")
        }));
        Outcome {
            predictions,
            notes,
            ..Outcome::default()
        }
    }
}

/// How often something was not done.
#[derive(Debug, Default)]
struct Tally {
    /// Candidates whose search was given up and that nobody tells of.
    given_up: usize,
    /// Schedules not checked for want of room.
    unchecked: usize,
    /// Patterns of which not all candidates were tried.
    untried: usize,
}

impl Minimal {
    /// The surest of the candidates that look the same.
    fn settle(
        &self,
        candidates: &Candidates,
        realiser: &mut Realiser<'_>,
        tally: &mut Tally,
    ) -> Option<Prediction> {
        let mut best: Option<Prediction> = None;
        for steps in &candidates.tries {
            let words = steps.each_ref().map(|step| super::word(step.access.op));
            let mut prediction = Prediction {
                analysis: AnalysisKind::Minimal,
                tier: Tier::Predicted,
                pattern: words.join(", "),
                accesses: steps.to_vec(),
                schedule: Vec::new(),
                notes: Vec::new(),
                count: candidates.count,
            };
            let answer = realiser.settle(&mut prediction, &[(0, 1), (1, 2)], &[]);
            match answer {
                Answer::Impossible => continue,
                Answer::Bound if !self.with_blocks => {
                    tally.given_up += 1;
                    continue;
                }
                Answer::Bound => prediction.analysis = AnalysisKind::Blocks,
                Answer::Window => tally.unchecked += 1,
                Answer::Predicted | Answer::Doubtful => {}
            }
            if self.only_blocks {
                prediction.analysis = AnalysisKind::Blocks;
            }
            if best.as_ref().is_none_or(|best| prediction.tier < best.tier) {
                best = Some(prediction);
            }
            if let Answer::Predicted | Answer::Window = answer {
                break;
            }
        }
        best
    }

    /// What was cut short.
    fn notes(&self, tally: &Tally, is_exhausted: bool) -> Vec<String> {
        let (given_up, unchecked, untried) = (tally.given_up, tally.unchecked, tally.untried);
        let mut notes = Vec::new();
        let mut cut = |is_cut: bool, what: String| {
            notes.extend(is_cut.then(|| format!("minimal: {what}: may be incomplete")));
        };
        let pairs = format!("more than {PAIRS} pairs of places for an object");
        cut(
            self.cut_short,
            format!("{pairs}, or {COMPARISONS} to compare"),
        );
        let tried = format!("of {untried} patterns only the first {TRIES} candidates were tried");
        cut(untried > 0, tried);
        let full = format!("more than {WITNESSES} lock states at the accesses of an object");
        let full = format!("{full}, or {STRETCH} between two of them");
        cut(self.full, full);
        let search = "the search for schedules was cut short";
        cut(is_exhausted, search.to_owned());
        let left_out = "candidates left out: the search for their schedule was cut short";
        notes.extend((given_up > 0).then(|| format!("{given_up} {left_out}")));
        let not_checked = "schedules not checked: the trace has more lock events than the window";
        notes.extend((unchecked > 0).then(|| format!("{unchecked} {not_checked}")));
        notes
    }
}
