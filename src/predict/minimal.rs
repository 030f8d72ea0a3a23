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

use super::realise::{Answer, Realiser};
use super::{
    Analysis, AnalysisKind, Context, LockState, Outcome, Period, Prediction, Step, Tier, conflict,
    doubt,
};
use crate::check::{Access, Transaction};
use crate::dense::Dense;
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId, Update};
use rustc_hash::{FxHashMap, FxHashSet};

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

/// Lock state and period in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place(u64);

impl Place {
    fn of(strand: StrandId, now: &mut Context) -> Place {
        let (state, period) = (now.locks.state(strand), now.order.period(strand));
        Place(u64::from(state.0) << 32 | u64::from(period.0))
    }

    fn state(self) -> LockState {
        LockState((self.0 >> 32) as u32)
    }

    fn period(self) -> Period {
        Period(self.0 as u32)
    }
}

/// Classes of accesses that conflict with the same accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Read,
    Change,
    Update(Update),
}

impl Class {
    fn of(op: Op) -> Class {
        match op {
            Op::Read => Class::Read,
            Op::Update(kind) => Class::Update(kind),
            _ => Class::Change,
        }
    }

    fn conflicts(self, op: Op) -> bool {
        let own = match self {
            Class::Read => Op::Read,
            Class::Change => Op::Write,
            Class::Update(kind) => Op::Update(kind),
        };
        conflict(own, op)
    }
}

#[derive(Clone, Copy, Debug)]
struct Point {
    position: u64,
    site: SiteId,
    state: LockState,
    op: Op,
}

/// Which of a strand's places a list has a witness for: a bit each for the first 64, which are
/// mostly all.
type Mask = u64;

/// One witness a place.
#[derive(Clone, Debug)]
struct List<W> {
    witnesses: Vec<(Place, W)>,
    /// The places beyond the mask's, by the strand's numbers for them.
    beyond: FxHashSet<u32>,
}

impl<W> Default for List<W> {
    fn default() -> List<W> {
        List {
            witnesses: Vec::new(),
            beyond: FxHashSet::default(),
        }
    }
}

impl<W> List<W> {
    #[inline]
    fn has(&self, mask: Mask, id: u32) -> bool {
        match 1_u64.checked_shl(id) {
            Some(bit) => mask & bit != 0,
            None => self.beyond.contains(&id),
        }
    }

    /// False if there is no room. A place at which nothing is held has more: it stands for all
    /// others.
    #[cold]
    fn add(
        &mut self,
        mask: &mut Mask,
        (id, place): (u32, Place),
        witness: impl FnOnce() -> W,
    ) -> bool {
        // Whether it is taken or not, it need not be looked at again.
        match 1_u64.checked_shl(id) {
            Some(bit) => *mask |= bit,
            None => drop(self.beyond.insert(id)),
        }
        let room = match place.state() {
            LockState::FREE => 2 * WITNESSES,
            _ => WITNESSES,
        };
        let has_room = self.witnesses.len() < room;
        if has_room {
            self.witnesses.push((place, witness()));
        }
        has_room
    }
}

/// An access that may come between.
#[derive(Clone, Debug)]
struct Between {
    point: Point,
    transaction: Option<Transaction>,
}

/// A place between two accesses of a transaction.
#[derive(Clone, Debug)]
struct Gap {
    first: Point,
    second: Point,
    transaction: Transaction,
}

/// The last access that counts for a list of gaps, and what the list has.
#[derive(Clone, Copy, Debug)]
struct Track {
    mask: Mask,
    last: Point,
    /// The number of its transaction among the strand's; 0 is none.
    transaction: u32,
    /// The transaction's tick.
    tick: u32,
}

impl Default for Track {
    fn default() -> Track {
        let last = Point {
            position: 0,
            site: SiteId::NONE,
            state: LockState::FREE,
            op: Op::Read,
        };
        Track {
            mask: 0,
            last,
            transaction: 0,
            tick: 0,
        }
    }
}

/// What every access of a strand to an object looks at: two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
struct Profile {
    reads: Mask,
    changes: Mask,
    /// Between any two accesses, for changes (AA).
    any: Track,
    /// Between any two but reads, for reads (WW).
    not_read: Track,
    /// There are updates.
    updates: bool,
}

/// The witnesses of a [`Profile`].
#[derive(Clone, Debug, Default)]
struct Witnesses {
    reads: List<Between>,
    changes: List<Between>,
    any: List<Gap>,
    not_read: List<Gap>,
    updates: Vec<Updates>,
}

/// What is kept of a kind of update that the strand has made. Where a kind is missing, the gaps for
/// it are those between any two accesses.
#[derive(Clone, Debug)]
struct Updates {
    kind: Update,
    mask: Mask,
    list: List<Between>,
    /// Between any two but updates of this kind.
    track: Track,
    gaps: List<Gap>,
}

impl Witnesses {
    fn gaps(&self, class: Class) -> &List<Gap> {
        match class {
            Class::Read => &self.not_read,
            Class::Change => &self.any,
            Class::Update(kind) => {
                let own = self.updates.iter().find(|updates| updates.kind == kind);
                own.map_or(&self.any, |updates| &updates.gaps)
            }
        }
    }

    fn count(&self) -> usize {
        let gaps = self.updates.iter().map(|updates| &updates.gaps);
        let gaps = gaps.chain([&self.any, &self.not_read]);
        let gaps: usize = gaps.map(|list| list.witnesses.len()).sum();
        let betweens = self.betweens().map(|(_, list)| list.witnesses.len());
        gaps + betweens.sum::<usize>()
    }

    fn betweens(&self) -> impl Iterator<Item = (Class, &List<Between>)> {
        let updates = self.updates.iter();
        let updates = updates.map(|updates| (Class::Update(updates.kind), &updates.list));
        [(Class::Read, &self.reads), (Class::Change, &self.changes)]
            .into_iter()
            .chain(updates)
    }

    /// The mask and the list for accesses of a class.
    #[inline]
    fn between<'a>(
        &'a mut self,
        class: Class,
        profile: &'a mut Profile,
    ) -> (&'a mut Mask, &'a mut List<Between>) {
        match class {
            Class::Read => (&mut profile.reads, &mut self.reads),
            Class::Change => (&mut profile.changes, &mut self.changes),
            Class::Update(kind) => {
                let known = self.updates.iter().position(|updates| updates.kind == kind);
                let at = known.unwrap_or_else(|| {
                    profile.updates = true;
                    // Until now every access was no update of this kind.
                    let (track, gaps) = (profile.any, self.any.clone());
                    let list = List::default();
                    self.updates.push(Updates {
                        kind,
                        mask: 0,
                        list,
                        track,
                        gaps,
                    });
                    self.updates.len() - 1
                });
                let updates = &mut self.updates[at];
                (&mut updates.mask, &mut updates.list)
            }
        }
    }
}

const END: u32 = u32::MAX;

/// A place that a strand has been to, and when last in the open transaction.
#[derive(Clone, Copy, Debug)]
struct Visit {
    place: Place,
    /// The transaction in which the rest is meant.
    transaction: u32,
    /// The tick at which the strand was last there.
    tick: u32,
    newer: u32,
    older: u32,
}

/// The places that a strand has been to, those of the open transaction in a list from the last
/// visited to the first.
#[derive(Clone, Debug)]
struct Visits {
    /// By the strand's own numbers for them.
    visits: Vec<Visit>,
    numbers: FxHashMap<Place, u32>,
    /// The current place.
    id: u32,
    place: Place,
    newest: u32,
    /// The transaction's places, as far as they have bits; all bits if there are others.
    mask: Mask,
    /// Grows with each change of place in a transaction.
    tick: u32,
    /// The tick at which the current period was entered.
    period: u32,
    /// The place without locks that was last visited in the transaction.
    free: u32,
    /// How many transactions there have been.
    transaction: u32,
    open: bool,
}

impl Visits {
    fn new(place: Place) -> Visits {
        let mut visits = Visits {
            visits: Vec::new(),
            numbers: FxHashMap::default(),
            id: 0,
            place,
            newest: END,
            mask: 0,
            tick: 0,
            period: 0,
            free: END,
            transaction: 0,
            open: false,
        };
        visits.enter(place);
        visits
    }

    fn begin(&mut self) {
        self.newest = END;
        self.free = END;
        self.mask = 0;
        self.tick = 0;
        self.period = 0;
        self.transaction += 1;
        self.open = true;
        self.enter(self.place);
    }

    fn enter(&mut self, place: Place) {
        let next = self.visits.len() as u32;
        let id = *self.numbers.entry(place).or_insert(next);
        if id == next {
            self.visits.push(Visit {
                place,
                transaction: 0,
                tick: 0,
                newer: END,
                older: END,
            });
        }
        let period = self.place.period();
        self.place = place;
        self.id = id;
        if !self.open {
            return;
        }
        self.tick += 1;
        if period != place.period() {
            self.period = self.tick;
        }
        if place.state() == LockState::FREE {
            self.free = id;
        }
        self.mask |= 1_u64.checked_shl(id).unwrap_or(Mask::MAX);
        let old = self.visits[id as usize];
        let mut visit = Visit {
            transaction: self.transaction,
            tick: self.tick,
            newer: END,
            older: self.newest,
            ..old
        };
        if id == self.newest {
            visit.older = old.older;
        } else {
            if old.transaction == self.transaction {
                // It is not the newest, so that there is a newer one.
                self.visits[old.newer as usize].older = old.older;
                if old.older != END {
                    self.visits[old.older as usize].newer = old.newer;
                }
            }
            if self.newest != END {
                self.visits[self.newest as usize].newer = id;
            }
        }
        self.visits[id as usize] = visit;
        self.newest = id;
    }
}

/// What a reader of the report would call the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Look {
    blocks: (Option<BlockId>, Option<BlockId>),
    sites: [SiteId; 3],
    ops: [Op; 3],
    /// Where a site is missing, the object tells findings apart.
    object: Option<ObjectId>,
}

#[derive(Clone, Debug)]
struct Candidate {
    object: ObjectId,
    strand: StrandId,
    other: StrandId,
    gap: Gap,
    between: Between,
}

#[derive(Clone, Debug, Default)]
struct Candidates {
    tries: Vec<Candidate>,
    count: u64,
}

/// Which of the analyses tell of what is found.
#[derive(Clone, Copy, Debug)]
struct ToldBy {
    minimal: bool,
    /// Blocks also tell of what may have a schedule that was not found within the bounds.
    blocks: bool,
}

impl Default for ToldBy {
    fn default() -> ToldBy {
        ToldBy {
            minimal: true,
            blocks: false,
        }
    }
}

/// The analysis; see the module.
#[derive(Debug, Default)]
pub struct Minimal {
    told_by: ToldBy,
    strands: Dense<StrandId, Option<Visits>>,
    /// Of the live objects: who has touched them, and what is kept of it.
    objects: FxHashMap<ObjectId, Vec<(StrandId, u32)>>,
    index: FxHashMap<u64, u32>,
    /// Some of `index`, each key in the only slot that it can have: one cache line instead of two
    /// or three.
    recent: Vec<(u64, u32)>,
    profiles: Vec<Profile>,
    witnesses: Vec<Witnesses>,
    unused: Vec<u32>,
    found: FxHashMap<Look, Candidates>,
    looks: Vec<Look>,
    /// A list had no room.
    full: bool,
    /// There were more pairs of witnesses than were taken.
    cut_short: bool,
}

impl Minimal {
    /// Nothing seen yet.
    pub fn new() -> Minimal {
        Minimal::default()
    }

    /// For the two analyses that tell of such violations.
    pub(super) fn told_by(minimal: bool, blocks: bool) -> Minimal {
        Minimal {
            told_by: ToldBy { minimal, blocks },
            ..Minimal::default()
        }
    }

    /// How many different witnesses are kept.
    pub fn kept(&self) -> usize {
        self.witnesses.iter().map(Witnesses::count).sum()
    }

    #[inline]
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
        let key = key(strand, object);
        match self.recent.get(slot(key)) {
            Some(&(known, at)) if known == key => at as usize,
            _ => self.look_up(strand, object),
        }
    }

    #[cold]
    fn look_up(&mut self, strand: StrandId, object: ObjectId) -> usize {
        let key = key(strand, object);
        let at = match self.index.get(&key) {
            Some(&at) => at as usize,
            None => self.new_profile(strand, object),
        };
        self.recent.resize(SLOTS, (u64::MAX, 0));
        self.recent[slot(key)] = (key, at as u32);
        at
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
        self.visits(strand, now);
        let at = self.profile(strand, event.object());
        let Minimal {
            strands,
            profiles,
            witnesses,
            full,
            ..
        } = self;
        let Some(visits) = &strands[strand] else {
            return;
        };
        let (profile, witnesses) = (&mut profiles[at], &mut witnesses[at]);
        let point = Point {
            position,
            site: event.site,
            state: visits.place.state(),
            op: event.op,
        };

        let (mask, list) = witnesses.between(Class::of(event.op), profile);
        if !list.has(*mask, visits.id) {
            let between = || Between {
                point,
                transaction: now.transaction(strand).cloned(),
            };
            *full |= !list.add(mask, (visits.id, visits.place), between);
        }

        if !visits.open {
            return;
        }
        let mut extend = |track: &mut Track, list: &mut List<Gap>| {
            if track.transaction == visits.transaction && visits.mask & !track.mask != 0 {
                *full |= !extend(track, list, visits, point, strand, now);
            }
            *track = Track {
                mask: track.mask,
                last: point,
                transaction: visits.transaction,
                tick: visits.tick,
            };
        };
        extend(&mut profile.any, &mut witnesses.any);
        if event.op != Op::Read {
            extend(&mut profile.not_read, &mut witnesses.not_read);
        }
        if profile.updates {
            for updates in &mut witnesses.updates {
                if event.op != Op::Update(updates.kind) {
                    extend(&mut updates.track, &mut updates.gaps);
                }
            }
        }
    }

    /// Phase II for one object, which is forgotten.
    fn close(&mut self, object: ObjectId, now: &mut Context) {
        let Some(touched) = self.objects.remove(&object) else {
            return;
        };
        let pairs = touched.len() * touched.len().saturating_sub(1);
        let share = (PAIRS / pairs.max(1)).max(2);
        let mut comparisons = COMPARISONS;
        for &(strand, mine) in &touched {
            for &(other, theirs) in &touched {
                if strand != other {
                    let sides = [(strand, mine), (other, theirs)];
                    self.pair(object, sides, share, &mut comparisons, now);
                }
            }
        }
        for (strand, at) in touched {
            let key = key(strand, object);
            self.index.remove(&key);
            if let Some(recent) = self.recent.get_mut(slot(key)) {
                recent.0 = u64::MAX;
            }
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
        for (class, betweens) in self.witnesses[theirs as usize].betweens() {
            let gaps = self.witnesses[mine as usize].gaps(class);
            if gaps.witnesses.is_empty()
                || betweens.witnesses.is_empty()
                || guarded(gaps, betweens, now)
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
                debug_assert!(class.conflicts(gap.first.op) && class.conflicts(gap.second.op));
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
                    let (gap, between) = (gap.clone(), between.clone());
                    candidates.tries.push(Candidate {
                        object,
                        strand,
                        other,
                        gap,
                        between,
                    });
                }
            }
        }
    }
}

fn key(strand: StrandId, object: ObjectId) -> u64 {
    u64::from(strand.0) << 32 | u64::from(object.0)
}

/// How many keys are at hand: 1 MiB.
const SLOTS: usize = 1 << 16;

fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

/// Adds what lies between the last access and this one; false if there is no room.
fn extend(
    track: &mut Track,
    list: &mut List<Gap>,
    visits: &Visits,
    point: Point,
    strand: StrandId,
    now: &Context,
) -> bool {
    let (mut id, mut alone) = (visits.newest, false);
    // Where the strand held nothing for a moment, that is as good as all other places of the same
    // period.
    if visits.free != END
        && visits.period <= track.tick
        && visits.visits[visits.free as usize].tick >= track.tick
    {
        (id, alone) = (visits.free, true);
    }
    let mut room = true;
    let mut length = 0;
    while id != END {
        length += 1;
        if length > STRETCH {
            return false;
        }
        let visit = &visits.visits[id as usize];
        if visit.tick < track.tick {
            break;
        }
        if !list.has(track.mask, id)
            && let Some(transaction) = now.transaction(strand)
        {
            let first = track.last;
            let gap = || Gap {
                first,
                second: point,
                transaction: transaction.clone(),
            };
            room &= list.add(&mut track.mask, (id, visit.place), gap);
        }
        id = if alone { END } else { visit.older };
    }
    room
}

/// Is there a lock that all of one list and all of the other hold, so that no pair need be looked
/// at?
fn guarded(gaps: &List<Gap>, betweens: &List<Between>, now: &Context) -> bool {
    let always = |places: &mut dyn Iterator<Item = Place>| {
        let mut places = places.map(Place::state);
        let mut common = places
            .next()
            .map_or(Vec::new(), |state| now.locks.held(state).to_vec());
        for state in places {
            if common.is_empty() {
                break;
            }
            let held = now.locks.held(state);
            common.retain_mut(
                |hold| match held.iter().find(|other| other.lock == hold.lock) {
                    Some(other) => {
                        hold.shared |= other.shared;
                        true
                    }
                    None => false,
                },
            );
        }
        common
    };
    let mine = always(&mut gaps.witnesses.iter().map(|&(place, _)| place));
    if mine.is_empty() {
        return false;
    }
    let theirs = always(&mut betweens.witnesses.iter().map(|&(place, _)| place));
    mine.iter().any(|&p| theirs.iter().any(|&q| p.excludes(q)))
}

impl Candidate {
    fn prediction(&self, count: u64, now: &Context) -> Prediction {
        let step = |strand, point: Point, transaction: Option<&Transaction>| Step {
            access: Access {
                position: point.position,
                strand,
                op: point.op,
                object: Some(self.object),
                site: point.site,
            },
            transaction: transaction.cloned(),
            held: now.locks.held(point.state).to_vec(),
        };
        let gap = &self.gap;
        Prediction {
            analysis: AnalysisKind::Minimal,
            tier: Tier::Predicted,
            pattern: [gap.first.op, self.between.point.op, gap.second.op]
                .map(super::word)
                .join(", "),
            accesses: vec![
                step(self.strand, gap.first, Some(&gap.transaction)),
                step(
                    self.other,
                    self.between.point,
                    self.between.transaction.as_ref(),
                ),
                step(self.strand, gap.second, Some(&gap.transaction)),
            ],
            schedule: Vec::new(),
            notes: Vec::new(),
            count,
        }
    }
}

impl Analysis for Minimal {
    fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        match event.op {
            Op::Read | Op::Write | Op::ReadWrite | Op::Update(_) => {
                self.access(event, position, now)
            }
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
        let mut realiser = Realiser::new(now, SCHEDULES, STATES);
        let looks = self.looks.iter().filter_map(|look| {
            let candidates = &self.found[look];
            let best = self.settle(candidates, &mut realiser, &mut tally, now);
            let is_unsure = best.as_ref().is_none_or(|best| best.tier == Tier::Hint);
            let is_untried = candidates.count > candidates.tries.len() as u64;
            tally.untried += usize::from(is_unsure && is_untried);
            best
        });
        let predictions: Vec<Prediction> = looks.collect();
        let mut notes = self.notes(&tally, realiser.is_exhausted());
        notes.extend(doubt(&predictions, now));
        notes.extend(now.locks.not_nested().map(|position| {
            format!("not nested: may be incomplete (a lock is released out of order at event {position})")
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
        now: &Context,
    ) -> Option<Prediction> {
        let mut best: Option<Prediction> = None;
        for candidate in &candidates.tries {
            let mut prediction = candidate.prediction(candidates.count, now);
            let answer = realiser.settle(&mut prediction, &[(0, 1), (1, 2)], &[]);
            match answer {
                Answer::Impossible => continue,
                Answer::Bound if !self.told_by.blocks => {
                    tally.given_up += 1;
                    continue;
                }
                Answer::Bound => prediction.analysis = AnalysisKind::Blocks,
                Answer::Window => tally.unchecked += 1,
                Answer::Predicted | Answer::Doubtful => {}
            }
            if !self.told_by.minimal {
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
        let Tally {
            given_up,
            unchecked,
            untried,
        } = tally;
        let notes = [
            (
                self.cut_short,
                format!(
                    "minimal: more than {PAIRS} pairs of places for an object, or {COMPARISONS} to compare: may be incomplete"
                ),
            ),
            (
                *untried > 0,
                format!(
                    "minimal: of {untried} patterns only the first {TRIES} candidates were tried: may be incomplete"
                ),
            ),
            (
                is_exhausted,
                "minimal: the search for schedules was cut short: may be incomplete".to_owned(),
            ),
            (
                *given_up > 0,
                format!(
                    "{given_up} candidates left out: the search for their schedule was cut short"
                ),
            ),
            (
                *unchecked > 0,
                format!(
                    "{unchecked} schedules not checked: the trace has more lock events than the window"
                ),
            ),
            (
                self.full,
                format!(
                    "minimal: more than {WITNESSES} lock states at the accesses of an object, or {STRETCH} between two of them: may be incomplete"
                ),
            ),
        ];
        let notes = notes.into_iter().filter(|(applies, _)| *applies);
        notes.map(|(_, note)| note).collect()
    }
}
