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

mod candidates;
mod occurrences;
mod visits;
mod witnesses;

use super::locks::disjoint;
use super::realise::{Answer, Realiser};
use super::{
    Analysis, AnalysisKind, Class, Context, Outcome, Prediction, Step, Tier, doubt, is_access,
};
use crate::dense::{Dense, Grid, Shelf, prefetch};
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use candidates::{Candidates, Found};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use visits::{Place, Visits};
use witnesses::{Closed, List, Mask, Point, Profile, Sorted, Track, Witness, Witnesses};

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

/// Of a strand that has touched an object, by class: the accesses that may come between, and the
/// gaps.
type Kept<'a> = Vec<(Class, Closed<'a>, Closed<'a>)>;

/// What is kept of a live object.
#[derive(Debug, Default)]
struct Touched {
    /// Who has touched it, and their profiles.
    strands: Vec<(StrandId, u32)>,
    /// Of all lists of these profiles.
    witnesses: Shelf<Witness>,
}

/// The analysis; see the module.
#[derive(Debug, Default)]
pub struct Minimal {
    /// Blocks were asked for, which tell of what has no schedule within the bounds, too.
    with_blocks: bool,
    /// Nothing but blocks was asked for.
    only_blocks: bool,
    strands: Dense<StrandId, Option<Visits>>,
    /// The strands' numbers for places, by strand and lock state.
    places: Grid,
    store: Store,
    /// By strand and object.
    index: Grid,
    profiles: Vec<Profile>,
    lists: Vec<Witnesses>,
    unused: Vec<u32>,
    /// The profiles of the accesses that were fetched, and how many of these were taken.
    ahead: Vec<u32>,
    taken: usize,
    found: Found,
}

/// How many witnesses are kept.
#[derive(Debug, Default)]
struct Limits {
    /// All violations are wanted: a witness is kept for each place with the sites of the accesses
    /// there, by numbers beyond those that a mask has, and nothing is cut short.
    all: Option<FxHashMap<(u32, [SiteId; 2]), u32>>,
    /// A list had no room.
    full: bool,
}

/// The witnesses.
#[derive(Debug, Default)]
struct Store {
    objects: Dense<ObjectId, Option<Box<Touched>>>,
    limits: Limits,
    /// Some were added of late.
    is_growing: bool,
}

/// An access.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    point: Point,
    event: Event,
    visits: &'a Visits,
    now: &'a Context,
}

impl Store {
    /// Keeps the access as one that may come between others, if there is none like it.
    #[inline(never)]
    fn add_between(&mut self, arrival: Arrival<'_>, profile: &mut Profile, own: &mut Witnesses) {
        let (visits, point) = (arrival.visits, arrival.point);
        let here = (visits.id, visits.place);
        let (track, own) = own.class(Class::of(point.op), profile);
        let (list, mask) = (&mut own.betweens, &mut track.betweens);
        let is_known = list.has(*mask, here, WITNESSES, self.limits.full);
        if !is_known || self.limits.all.is_some() {
            self.keep(arrival, (list, mask), here, [point; 2]);
        }
    }

    /// Keeps a witness for a place, if the list has none.
    fn keep(
        &mut self,
        arrival: Arrival<'_>,
        (list, mask): (&mut List, &mut Mask),
        (id, place): (u32, Place),
        points: [Point; 2],
    ) {
        let Limits { all, full } = &mut self.limits;
        let (id, room) = match all {
            None => (id, WITNESSES),
            Some(numbers) => {
                let next = Mask::BITS + numbers.len() as u32;
                let sites = points.map(|point| point.site);
                (*numbers.entry((id, sites)).or_insert(next), usize::MAX)
            }
        };
        if !list.has(*mask, (id, place), room, *full) {
            let all = &mut self.objects[arrival.event.object()];
            let all = &mut all.as_mut().expect("a live object").witnesses;
            let transaction = arrival.now.transaction(arrival.event.strand);
            self.is_growing = true;
            *full |= !list.add(mask, (id, place), room, points, transaction, all);
        }
    }

    /// There is an access that may conflict with the updates of its strand.
    #[inline(never)]
    fn pass_updates(&mut self, arrival: Arrival<'_>, own: &mut Witnesses) {
        let visits = arrival.visits;
        for (track, gaps) in own.updates(arrival.point.op) {
            if visits.news(track, self.limits.all.is_some()) {
                self.extend(arrival, track, gaps);
            }
            track.set_last(arrival.point, visits.tick);
        }
    }

    /// Keeps what lies between the transaction's last access and this one.
    #[inline(never)]
    fn extend(&mut self, arrival: Arrival<'_>, track: &mut Track, gaps: &mut List) {
        let Some(first) = track.last() else {
            return;
        };
        for (length, there) in arrival.visits.since(track.tick).enumerate() {
            if length == STRETCH && self.limits.all.is_none() {
                self.limits.full = true;
                return;
            }
            let list = (&mut *gaps, &mut track.gaps);
            self.keep(arrival, list, there, [first, arrival.point]);
        }
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
        self.store.limits.all = all.then(FxHashMap::default);
        self
    }

    /// How many different witnesses are kept.
    pub fn kept(&self) -> usize {
        self.lists.iter().map(Witnesses::count).sum()
    }

    fn visits(&mut self, strand: StrandId, now: &mut Context) -> &mut Visits {
        let visits = self.strands.entry(strand);
        let new = || Visits::new(strand, Place::of(strand, now), &mut self.places);
        visits.get_or_insert_with(new)
    }

    /// The strand's locks or its period have changed.
    fn enter(&mut self, strand: StrandId, now: &mut Context) {
        let place = Place::of(strand, now);
        match self.strands.entry(strand) {
            Some(visits) => visits.enter(place, &mut self.places),
            new => *new = Some(Visits::new(strand, place, &mut self.places)),
        }
    }

    #[inline]
    fn profile(&mut self, event: Event) -> u32 {
        let (strand, object) = (event.strand, event.object());
        let known = self.index.get(strand.0, object.0);
        known.unwrap_or_else(|| self.new_profile(strand, object))
    }

    #[cold]
    fn new_profile(&mut self, strand: StrandId, object: ObjectId) -> u32 {
        let at = self.unused.pop().unwrap_or_else(|| {
            self.profiles.push(Profile::default());
            self.lists.push(Witnesses::default());
            self.profiles.len() as u32 - 1
        });
        self.index.insert(strand.0, object.0, at);
        let touched = self.store.objects.entry(object).get_or_insert_default();
        self.lists[at as usize] = Witnesses::new(touched.strands.len());
        touched.strands.push((strand, at));
        at
    }

    /// Takes some accesses of one strand, each with its profile.
    fn take(&mut self, run: &[(Event, u64)], profiles: &[u32], now: &mut Context) {
        let strand = run[0].0.strand;
        self.visits(strand, now);
        let Some(visits) = &self.strands[strand] else {
            return;
        };
        let (lists, store) = (&mut self.lists, &mut self.store);
        let is_all = store.limits.all.is_some();
        // With all wanted, every access may be new.
        let here = if is_all { 0 } else { visits.bit };
        let state = visits.place.state();
        for (&(event, position), &at) in run.iter().zip(profiles) {
            let (op, site, at) = (event.op, event.site, at as usize);
            let profile = &mut self.profiles[at];
            let point = Point {
                position,
                site,
                state,
                op,
            };
            let arrival = || Arrival {
                point,
                event,
                visits,
                now,
            };
            let betweens = match Class::of(op) {
                Class::Read => profile.read.betweens,
                Class::Change => profile.change.betweens,
                Class::Update(_) => 0,
            };
            if betweens & here == 0 {
                store.add_between(arrival(), profile, &mut lists[at]);
            }
            if !visits.open {
                continue;
            }
            let mut pass = |track: &mut Track, class| {
                if visits.news(track, is_all) {
                    store.extend(arrival(), track, lists[at].gaps(class));
                }
                track.set_last(point, visits.tick);
            };
            pass(&mut profile.change, Class::Change);
            if op != Op::Read {
                pass(&mut profile.read, Class::Read);
            }
            if profile.change.has_updates {
                store.pass_updates(arrival(), &mut lists[at]);
            }
        }
    }

    /// Nobody can touch the object any more.
    fn retire(&mut self, object: ObjectId, now: &Context) {
        let Some(touched) = self.store.objects.take(object) else {
            return;
        };
        self.compare(object, &touched, now);
        for (strand, at) in touched.strands {
            self.index.remove(strand.0, object.0);
            self.profiles[at as usize] = Profile::default();
            self.lists[at as usize] = Witnesses::default();
            self.unused.push(at);
        }
    }

    /// Phase II for one object: looks for candidates among the witnesses of each two strands.
    fn compare(&mut self, object: ObjectId, touched: &Touched, now: &Context) {
        let strands = &touched.strands;
        let (share, mut comparisons) = match self.store.limits.all {
            Some(_) => (usize::MAX, usize::MAX),
            None => {
                let pairs = strands.len() * (strands.len() - 1);
                ((PAIRS / pairs.max(1)).max(2), COMPARISONS)
            }
        };
        let sorted = Sorted::new(&touched.witnesses, strands.len());
        // With many witnesses the first strands take all comparisons.
        let kept = vec![OnceCell::new(); strands.len()];
        let kept = |at: usize| -> &Kept<'_> {
            let lists = &self.lists[strands[at].1 as usize];
            kept[at].get_or_init(|| lists.closed(&sorted, now))
        };
        let pairs = (0..strands.len()).flat_map(|a| (0..strands.len()).map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            if comparisons == 0 && self.found.cut_short {
                return;
            }
            let (mine, theirs, mut last) = (kept(a), kept(b), None);
            for (class, betweens, _) in theirs {
                let own = mine.iter().find(|(known, ..)| known == class);
                // Any two accesses conflict with a change.
                let (_, _, gaps) = own.unwrap_or(&mine[1]);
                let product = gaps.witnesses.len() * betweens.witnesses.len();
                if product == 0 || !disjoint(&gaps.guards, &betweens.guards) {
                    continue;
                }
                let room = comparisons.min(product);
                self.found.cut_short |= room < product;
                comparisons -= room;
                let sides = [(strands[a].0, gaps), (strands[b].0, betweens)];
                self.found
                    .pair(object, sides, (room, share), &mut last, now);
            }
        }
    }
}

impl Analysis for Minimal {
    fn fetch(&mut self, events: &[(Event, u64)]) {
        self.ahead.clear();
        self.taken = 0;
        let is_growing = std::mem::take(&mut self.store.is_growing);
        for &(event, _) in events {
            if is_access(event.op) {
                let at = self.profile(event);
                prefetch(&self.profiles[at as usize]);
                // Mostly no access looks at them.
                if is_growing {
                    self.lists[at as usize].fetch();
                }
                self.ahead.push(at);
            } else if matches!(event.op, Op::CompareExchange | Op::Vain(_)) {
                // It will come as an access, and strands are in the order of their first ones.
                self.profile(event);
            }
        }
    }

    fn accesses(&mut self, run: &[(Event, u64)], now: &mut Context) {
        let ahead = std::mem::take(&mut self.ahead);
        self.take(run, &ahead[self.taken..][..run.len()], now);
        self.taken += run.len();
        self.ahead = ahead;
    }

    fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        match event.op {
            op if is_access(op) => {
                let profile = self.profile(event);
                self.take(&[(event, position)], &[profile], now);
            }
            Op::Begin => self.visits(event.strand, now).begin(),
            Op::End => self.visits(event.strand, now).open = false,
            Op::Retire => self.retire(event.object(), now),
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

    fn finish(&mut self, now: &mut Context) -> Outcome {
        for object in (0..self.store.objects.len() as u32).map(ObjectId) {
            if let Some(touched) = self.store.objects.take(object) {
                self.compare(object, &touched, now);
            }
        }
        let mut tally = Tally::default();
        let schedules = self
            .store
            .limits
            .all
            .as_ref()
            .map_or(SCHEDULES, |_| u64::MAX);
        let mut realiser = Realiser::new(now, schedules, STATES);
        let looks = self.found.candidates.iter().filter_map(|candidates| {
            let best = self.surest(candidates, &mut realiser, &mut tally);
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
    fn surest(
        &self,
        candidates: &Candidates,
        realiser: &mut Realiser<'_>,
        tally: &mut Tally,
    ) -> Option<Prediction> {
        let mut best: Option<Prediction> = None;
        for steps in &candidates.tries {
            if self.attempt((steps, candidates.count), realiser, tally, &mut best) {
                return best;
            }
        }
        if realiser.now.reads.is_on() {
            let others = candidates.tries.iter();
            let others = others.flat_map(|steps| occurrences::of(steps, TRIES, realiser.now));
            let mut others: Vec<(u64, [Step; 3])> = others.collect();
            others.sort_by_key(|&(distance, _)| distance);
            for (_, steps) in others.iter().take(TRIES) {
                if self.attempt((steps, candidates.count), realiser, tally, &mut best) {
                    break;
                }
            }
        }
        best
    }

    /// Looks for a schedule of accesses that were found so often; true if no other need be tried.
    fn attempt(
        &self,
        (steps, count): (&[Step; 3], u64),
        realiser: &mut Realiser<'_>,
        tally: &mut Tally,
        best: &mut Option<Prediction>,
    ) -> bool {
        let words = steps.each_ref().map(|step| super::word(step.access.op));
        let mut prediction = Prediction {
            analysis: AnalysisKind::Minimal,
            tier: Tier::Predicted,
            pattern: words.join(", "),
            accesses: steps.to_vec(),
            schedule: Vec::new(),
            depends: None,
            directions: None,
            notes: Vec::new(),
            count,
        };
        let answer = realiser.realise(&mut prediction, &[(0, 1), (1, 2)], &[]);
        match answer {
            Answer::Impossible => return false,
            Answer::Bound if !self.with_blocks => {
                tally.given_up += 1;
                return false;
            }
            Answer::Bound => prediction.analysis = AnalysisKind::Blocks,
            Answer::Window => tally.unchecked += 1,
            Answer::Predicted | Answer::Doubtful => {}
        }
        if self.only_blocks {
            prediction.analysis = AnalysisKind::Blocks;
        }
        let is_sure = prediction.depends.is_none();
        if best
            .as_ref()
            .is_none_or(|best| prediction.doubt() < best.doubt())
        {
            *best = Some(prediction);
        }
        matches!(answer, Answer::Predicted | Answer::Window) && is_sure
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
            self.found.cut_short,
            format!("{pairs}, or {COMPARISONS} to compare"),
        );
        let tried = format!("of {untried} patterns only the first {TRIES} candidates were tried");
        cut(untried > 0, tried);
        let full = format!("more than {WITNESSES} lock states at the accesses of an object");
        let full = format!("{full}, or {STRETCH} between two of them");
        cut(self.store.limits.full, full);
        let search = "the search for schedules was cut short";
        cut(is_exhausted, search.to_owned());
        let left_out = "candidates left out: the search for their schedule was cut short";
        notes.extend((given_up > 0).then(|| format!("{given_up} {left_out}")));
        let not_checked = "schedules not checked: the trace has more lock events than the window";
        notes.extend((unchecked > 0).then(|| format!("{unchecked} {not_checked}")));
        notes
    }
}
