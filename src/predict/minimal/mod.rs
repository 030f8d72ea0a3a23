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
use crate::dense::{Dense, Sparse};
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use visits::{Place, Visits};
use witnesses::{Between, Class, Gap, Last, List, Mask, Point, Profile, Track, Witnesses};

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

/// What a reader of the report would call the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    blocks: (Option<BlockId>, Option<BlockId>),
    sites: [SiteId; 3],
    ops: [Op; 3],
    /// Where a site is missing, the object tells findings apart.
    object: Option<ObjectId>,
}

impl Hash for Look {
    /// In few words: there is one look for each pair of witnesses. Of the operations it is enough
    /// which are reads.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let block = |block: Option<BlockId>| block.map_or(u32::MAX, |block| block.0);
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let [a, b, c] = self.ops.map(|op| u8::from(op == Op::Read));
        let ops = u32::from(a << 2 | b << 1 | c);
        state.write_u64(pair(block(self.blocks.0), block(self.blocks.1)));
        state.write_u64(pair(self.sites[0].0, self.sites[1].0));
        state.write_u64(pair(self.sites[2].0, ops));
        self.object
            .iter()
            .for_each(|object| state.write_u32(object.0));
    }
}

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
    found: FxHashMap<Look, Candidates>,
    looks: Vec<Look>,
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
    fn access(&mut self, event: Event, position: u64, now: &mut Context) {
        let strand = event.strand;
        if !matches!(self.strands.get(strand), Some(Some(_))) {
            self.visits(strand, now);
        }
        let at = self.profile(strand, event.object());
        let Minimal {
            strands,
            profiles,
            witnesses,
            full,
            all,
            ..
        } = self;
        let Some(visits) = &strands[strand] else {
            return;
        };
        let (profile, witnesses) = (&mut profiles[at], &mut witnesses[at]);
        // Made of its parts each time, as the predictor's events are.
        let point = || Point {
            position,
            site: event.site,
            state: visits.place.state(),
            op: event.op,
        };

        let (track, lists) = witnesses.class(Class::of(event.op), profile);
        let id = match all {
            Some(sites) => sites.number(visits.id, [event.site, SiteId::NONE]),
            None => visits.id,
        };
        let here = (id, visits.place);
        if !lists.betweens.has(track.betweens, here, room(all), *full) {
            let between = || Between {
                point: point(),
                transaction: now.transaction(strand).cloned(),
            };
            *full |= !lists
                .betweens
                .add(&mut track.betweens, here, room(all), between);
        }
        if !visits.open {
            return;
        }
        witnesses.conflicting(event.op, profile, |track, gaps| {
            if visits.news(track) || all.is_some() {
                let transaction = now.transaction(strand);
                extend(track, gaps, all, full, visits, point(), transaction);
            }
            track.last = Some(Last {
                point: point(),
                transaction: visits.transaction,
                tick: visits.tick,
            });
        });
    }

    /// Phase II for one object, which is forgotten.
    fn close(&mut self, object: ObjectId, now: &mut Context) {
        let Some(touched) = self.objects.remove(&object) else {
            return;
        };
        let pairs = touched.len() * touched.len().saturating_sub(1);
        let (share, mut comparisons) = match self.all {
            Some(_) => (usize::MAX, usize::MAX),
            None => ((PAIRS / pairs.max(1)).max(2), COMPARISONS),
        };
        for &(strand, mine) in &touched {
            for &(other, theirs) in &touched {
                if strand != other {
                    let sides = [(strand, mine), (other, theirs)];
                    self.pair(object, sides, share, &mut comparisons, now);
                }
            }
        }
        for (strand, at) in touched {
            self.index.remove(key(strand, object));
            self.profiles[at as usize] = Profile::default();
            self.witnesses[at as usize] = Witnesses::default();
            self.unused.push(at);
        }
    }

    fn pair(
        &mut self,
        object: ObjectId,
        [(strand, mine), (other, theirs)]: [(StrandId, u32); 2],
        share: usize,
        comparisons: &mut usize,
        now: &Context,
    ) {
        for (class, lists) in self.witnesses[theirs as usize].lists() {
            let betweens = &lists.betweens;
            let gaps = self.witnesses[mine as usize].gaps(class);
            if gaps.witnesses.is_empty()
                || betweens.witnesses.is_empty()
                || !disjoint(gaps.guards(now), betweens.guards(now))
            {
                continue;
            }
            let compatible = gaps
                .witnesses
                .iter()
                .flat_map(|gap| betweens.witnesses.iter().map(move |f| (gap, f)));
            let room = (*comparisons).min(gaps.witnesses.len() * betweens.witnesses.len());
            self.cut_short |= room < gaps.witnesses.len() * betweens.witnesses.len();
            *comparisons -= room;
            let compatible = compatible.take(room).filter(|((p, _), (q, _))| {
                now.locks.compatible(p.state(), q.state())
                    && now.order.parallel(p.period(), q.period())
            });
            for (taken, ((_, gap), (_, between))) in compatible.enumerate() {
                if taken == share {
                    self.cut_short = true;
                    break;
                }
                let points = [gap.first, between.point, gap.second];
                let sites = points.map(|point| point.site);
                let look = Look {
                    blocks: (
                        gap.transaction.block,
                        between.transaction.as_ref().and_then(|t| t.block),
                    ),
                    sites,
                    ops: points.map(|point| point.op),
                    object: sites.contains(&SiteId::NONE).then_some(object),
                };
                let candidates = self.found.entry(look).or_insert_with(|| {
                    self.looks.push(look);
                    Candidates::default()
                });
                candidates.count += 1;
                if candidates.tries.len() < TRIES {
                    let step = |strand, point: Point, transaction: Option<&Transaction>| Step {
                        access: Access {
                            position: point.position,
                            strand,
                            op: point.op,
                            object: Some(object),
                            site: point.site,
                        },
                        transaction: transaction.cloned(),
                        held: now.locks.held(point.state).to_vec(),
                    };
                    let own = Some(&gap.transaction);
                    candidates.tries.push([
                        step(strand, gap.first, own),
                        step(other, between.point, between.transaction.as_ref()),
                        step(strand, gap.second, own),
                    ]);
                }
            }
        }
    }
}

fn key(strand: StrandId, object: ObjectId) -> u64 {
    u64::from(strand.0) << 32 | u64::from(object.0)
}

/// How many witnesses a list takes.
fn room(all: &Option<Sites>) -> usize {
    match all {
        Some(_) => usize::MAX,
        None => WITNESSES,
    }
}

/// Adds what lies between the transaction's last access and this one; `full` if there is no room.
#[inline(never)]
fn extend(
    track: &mut Track,
    gaps: &mut List<Gap>,
    all: &mut Option<Sites>,
    full: &mut bool,
    visits: &Visits,
    point: Point,
    transaction: Option<&Transaction>,
) {
    let last = visits.last_access(track);
    let Some((last, transaction)) = last.zip(transaction) else {
        return;
    };
    for (length, (id, place)) in visits.since(last.tick).enumerate() {
        if length == STRETCH && all.is_none() {
            *full = true;
            return;
        }
        let id = match all {
            Some(sites) => sites.number(id, [last.point.site, point.site]),
            None => id,
        };
        let there = (id, place);
        if !gaps.has(track.gaps, there, room(all), *full) {
            let gap = || Gap {
                first: last.point,
                second: point,
                transaction: transaction.clone(),
            };
            // Most lists have one.
            if gaps.witnesses.is_empty() {
                gaps.witnesses.reserve_exact(1);
            }
            *full |= !gaps.add(&mut track.gaps, there, room(all), gap);
        }
    }
}

impl Analysis for Minimal {
    #[inline]
    fn fetch(&self, soon: &Event, later: &Event) {
        if is_access(later.op) {
            self.index.fetch(key(later.strand, later.object()));
        }
        if is_access(soon.op) {
            let own = self.index.get(key(soon.strand, soon.object()));
            own.inspect(|&at| self.profiles[at as usize].fetch());
        }
    }

    fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        match event.op {
            op if is_access(op) => self.access(event, position, now),
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
        let schedules = if self.all.is_some() {
            u64::MAX
        } else {
            SCHEDULES
        };
        let mut realiser = Realiser::new(now, schedules, STATES);
        let looks = self.looks.iter().filter_map(|look| {
            let candidates = &self.found[look];
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
        cut(
            self.cut_short,
            format!("more than {PAIRS} pairs of places for an object, or {COMPARISONS} to compare"),
        );
        let tried = format!("of {untried} patterns only the first {TRIES} candidates were tried");
        cut(untried > 0, tried);
        let full = format!("more than {WITNESSES} lock states at the accesses of an object");
        cut(
            self.full,
            format!("{full}, or {STRETCH} between two of them"),
        );
        cut(
            is_exhausted,
            "the search for schedules was cut short".to_owned(),
        );
        let left_out = "candidates left out: the search for their schedule was cut short";
        notes.extend((given_up > 0).then(|| format!("{given_up} {left_out}")));
        let not_checked = "schedules not checked: the trace has more lock events than the window";
        notes.extend((unchecked > 0).then(|| format!("{unchecked} {not_checked}")));
        notes
    }
}
