//! Minimal serializability prediction, after Farzan, Madhusudan and Sorrentino (CAV 2009).
//!
//! A minimal violation is a sandwich: two accesses `e1`, `e2` of one transaction, and between them an access `f` of another
//! strand to the same object that conflicts with both. Whether some schedule has it comes down to whether the one
//! strand can stand somewhere between `e1` and `e2` while the other stands at `f`, which for nested locks is decided by
//! the two lock states alone. So it is enough to remember, for each strand and object, one witness a lock state.
//!
//! *Phase I*, online: the witnesses for `f` by the class of access (read, change, update of a kind), and the witnesses for
//! a place between `e1` and `e2`. An `f` of a class can only stand between two accesses that both conflict with that
//! class: all accesses for a change (the paper's AA), all but reads for a read (WW), all but updates of its own
//! kind for an update. Between neighbours among these is enough, because the stretch between any two is made up of such.
//! All lock states of a stretch count. They are found by walking the strand's list of the states of this
//! transaction, last visited first, until one is reached that was left before `e1`: so a second access costs as many steps as
//! there are different states in the stretch, and not as many as there are events.
//!
//! *Phase II*, when an object retires and at the end: pairs of strands, pairs of witnesses. A witness has, beside its lock
//! state, its period: order by fork, join, signals and messages excludes pairs that are not parallel.
//!
//! *Verification.* For each finding a schedule is made and replayed through the exact engine; what cannot be
//! shown is not reported.

use super::hash::{Map, Set};
use super::skeleton::{Sandwich, Unrealised};
use super::{
    Analysis, AnalysisKind, Context, LockState, Outcome, Period, Prediction, Step, Tier, conflict,
    replay,
};
use crate::check::{Access, Transaction};
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId, Update};

/// A list takes no more witnesses than this: lock states are few, but a strand that passes on a message has a new period
/// each time.
const WITNESSES: usize = 4096;
/// How many pairs of witnesses are taken for two strands, an object and a class of access.
const PAIRS: usize = 64;
/// How many of the candidates that look the same to a reader are tried until one has a schedule.
const TRIES: usize = 16;

/// Lock state and period in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place(u64);

impl Place {
    fn new(state: LockState, period: Period) -> Place {
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
    op: Op,
    state: LockState,
}

/// One witness a place.
#[derive(Clone, Debug)]
struct List<W> {
    witnesses: Vec<(Place, W)>,
    /// The places, once they are too many to look through.
    places: Set<Place>,
}

impl<W> Default for List<W> {
    fn default() -> List<W> {
        List {
            witnesses: Vec::new(),
            places: Set::default(),
        }
    }
}

impl<W> List<W> {
    const FEW: usize = 8;

    #[inline]
    fn has(&self, place: Place) -> bool {
        if self.witnesses.len() <= Self::FEW {
            self.witnesses.iter().any(|&(known, _)| known == place)
        } else {
            self.places.contains(&place)
        }
    }

    /// False if there is no room.
    #[cold]
    fn add(&mut self, place: Place, witness: W) -> bool {
        if self.witnesses.len() >= WITNESSES {
            return false;
        }
        self.witnesses.push((place, witness));
        if self.witnesses.len() == Self::FEW + 1 {
            self.places
                .extend(self.witnesses.iter().map(|&(place, _)| place));
        } else if self.witnesses.len() > Self::FEW {
            self.places.insert(place);
        }
        true
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
    stop: u64,
    second: Point,
    transaction: Transaction,
}

/// The gaps for one class of access.
#[derive(Clone, Debug, Default)]
struct Gaps {
    list: List<Gap>,
    /// The last access that counts, and when that was.
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    point: Point,
    /// Where its transaction began.
    begin: u64,
    /// The strand's tick.
    tick: u64,
}

/// What is kept for a strand and an object.
#[derive(Clone, Debug, Default)]
struct Profile {
    reads: List<Between>,
    changes: List<Between>,
    updates: Vec<(Update, List<Between>)>,
    /// Between any two accesses, for changes (AA).
    any: Gaps,
    /// Between any two but reads, for reads (WW).
    not_read: Gaps,
    /// Between any two but updates of a kind, for updates of that kind. Where a kind is missing the strand has made no such
    /// update, and `any` is the same.
    not_update: Vec<(Update, Gaps)>,
}

impl Profile {
    fn gaps(&self, class: Class) -> &List<Gap> {
        match class {
            Class::Read => &self.not_read.list,
            Class::Change => &self.any.list,
            Class::Update(kind) => {
                let own = self.not_update.iter().find(|(known, _)| *known == kind);
                own.map_or(&self.any.list, |(_, gaps)| &gaps.list)
            }
        }
    }

    fn betweens(&self) -> impl Iterator<Item = (Class, &List<Between>)> {
        let updates = self
            .updates
            .iter()
            .map(|(kind, list)| (Class::Update(*kind), list));
        [(Class::Read, &self.reads), (Class::Change, &self.changes)]
            .into_iter()
            .chain(updates)
    }

    fn betweens_mut(&mut self, class: Class) -> &mut List<Between> {
        match class {
            Class::Read => &mut self.reads,
            Class::Change => &mut self.changes,
            Class::Update(kind) => {
                let at = self
                    .updates
                    .iter()
                    .position(|(known, _)| *known == kind)
                    .unwrap_or_else(|| {
                        self.updates.push((kind, List::default()));
                        // Until now every access was no update of this kind.
                        self.not_update.push((kind, self.any.clone()));
                        self.updates.len() - 1
                    });
                &mut self.updates[at].1
            }
        }
    }
}

const END: u32 = u32::MAX;

/// A place of the current transaction.
#[derive(Clone, Copy, Debug)]
struct Visit {
    place: Place,
    /// The tick at which the strand was last there.
    tick: u64,
    /// The event that led there, the last time.
    position: u64,
    newer: u32,
    older: u32,
}

/// The places that a strand's transaction has been to, in a list from the last visited to the first.
#[derive(Clone, Debug)]
struct Visits {
    visits: Vec<Visit>,
    known: Map<Place, u32>,
    newest: u32,
    /// Grows with each change of place.
    tick: u64,
    place: Place,
    open: bool,
}

impl Visits {
    fn new(place: Place) -> Visits {
        Visits {
            visits: Vec::new(),
            known: Map::default(),
            newest: END,
            tick: 0,
            place,
            open: false,
        }
    }

    fn begin(&mut self, position: u64) {
        self.visits.clear();
        self.known.clear();
        self.newest = END;
        self.open = true;
        self.enter(self.place, position);
    }

    fn enter(&mut self, place: Place, position: u64) {
        self.place = place;
        self.tick += 1;
        if !self.open {
            return;
        }
        let at = *self.known.entry(place).or_insert(self.visits.len() as u32);
        let visit = Visit {
            place,
            tick: self.tick,
            position,
            newer: END,
            older: self.newest,
        };
        if at == self.newest {
            self.visits[at as usize] = Visit {
                older: self.visits[at as usize].older,
                ..visit
            };
            return;
        }
        match self.visits.get(at as usize).copied() {
            Some(old) => {
                // It is not the newest, so that there is a newer one.
                self.visits[old.newer as usize].older = old.older;
                if old.older != END {
                    self.visits[old.older as usize].newer = old.newer;
                }
                self.visits[at as usize] = visit;
            }
            None => self.visits.push(visit),
        }
        if self.newest != END {
            self.visits[self.newest as usize].newer = at;
        }
        self.newest = at;
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

/// The analysis; see [the module](self).
#[derive(Debug, Default)]
pub struct Minimal {
    strands: Vec<Option<Visits>>,
    /// Of the live objects: who has touched them, and what is kept of it.
    objects: Map<ObjectId, Vec<(StrandId, u32)>>,
    index: Map<(StrandId, ObjectId), u32>,
    profiles: Vec<Profile>,
    unused: Vec<u32>,
    found: Map<Look, Candidates>,
    looks: Vec<Look>,
    /// A list had no room.
    full: bool,
}

impl Minimal {
    /// Nothing seen yet.
    pub fn new() -> Minimal {
        Minimal::default()
    }

    #[inline]
    fn visits(&mut self, strand: StrandId, now: &mut Context) -> &mut Visits {
        let at = strand.0 as usize;
        if at >= self.strands.len() {
            self.strands.resize(at + 1, None);
        }
        self.strands[at].get_or_insert_with(|| {
            Visits::new(Place::new(
                now.locks.state(strand),
                now.order.period(strand),
            ))
        })
    }

    #[inline]
    fn profile(&mut self, strand: StrandId, object: ObjectId) -> usize {
        if let Some(&at) = self.index.get(&(strand, object)) {
            return at as usize;
        }
        let at = match self.unused.pop() {
            Some(at) => at,
            None => {
                self.profiles.push(Profile::default());
                self.profiles.len() as u32 - 1
            }
        };
        self.index.insert((strand, object), at);
        self.objects.entry(object).or_default().push((strand, at));
        at as usize
    }

    fn access(&mut self, event: Event, position: u64, now: &mut Context) {
        let strand = event.strand;
        self.visits(strand, now);
        let at = self.profile(strand, event.object());
        let Minimal {
            strands,
            profiles,
            full,
            ..
        } = self;
        let Some(visits) = &strands[strand.0 as usize] else {
            return;
        };
        let profile = &mut profiles[at];
        let place = visits.place;
        let point = Point {
            position,
            site: event.site,
            op: event.op,
            state: place.state(),
        };

        let list = profile.betweens_mut(Class::of(event.op));
        if !list.has(place) {
            let between = Between {
                point,
                transaction: now.transaction(strand).cloned(),
            };
            *full |= !list.add(place, between);
        }

        let Some(transaction) = now.transaction(strand) else {
            return;
        };
        let mut extend = |gaps: &mut Gaps| *full |= !extend(gaps, visits, point, transaction);
        extend(&mut profile.any);
        if event.op != Op::Read {
            extend(&mut profile.not_read);
        }
        for (kind, gaps) in &mut profile.not_update {
            if event.op != Op::Update(*kind) {
                extend(gaps);
            }
        }
    }

    /// Phase II for one object, which is forgotten.
    fn close(&mut self, object: ObjectId, now: &mut Context) {
        let Some(touched) = self.objects.remove(&object) else {
            return;
        };
        for &(strand, mine) in &touched {
            for &(other, theirs) in &touched {
                if strand != other {
                    self.pair(object, (strand, mine), (other, theirs), now);
                }
            }
        }
        for (strand, at) in touched {
            self.index.remove(&(strand, object));
            self.profiles[at as usize] = Profile::default();
            self.unused.push(at);
        }
    }

    fn pair(
        &mut self,
        object: ObjectId,
        (strand, mine): (StrandId, u32),
        (other, theirs): (StrandId, u32),
        now: &Context,
    ) {
        for (class, betweens) in self.profiles[theirs as usize].betweens() {
            let gaps = self.profiles[mine as usize].gaps(class);
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
            let compatible = compatible.filter(|((p, _), (q, _))| {
                now.locks.compatible(p.state(), q.state())
                    && now.order.parallel(p.period(), q.period())
            });
            for ((_, gap), (_, between)) in compatible.take(PAIRS) {
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

/// Adds what lies between the last access and this one; false if there is no room.
#[inline]
fn extend(gaps: &mut Gaps, visits: &Visits, point: Point, transaction: &Transaction) -> bool {
    let begin = transaction.begin.unwrap_or(0);
    let mut room = true;
    if let Some(last) = gaps.last
        && last.begin == begin
    {
        let mut at = visits.newest;
        while at != END {
            let visit = &visits.visits[at as usize];
            if visit.tick < last.tick {
                break;
            }
            if !gaps.list.has(visit.place) {
                let stop = visit.position.max(last.point.position);
                let gap = Gap {
                    first: last.point,
                    stop,
                    second: point,
                    transaction: transaction.clone(),
                };
                room &= gaps.list.add(visit.place, gap);
            }
            at = visit.older;
        }
    }
    gaps.last = Some(Last {
        point,
        begin,
        tick: visits.tick,
    });
    room
}

/// Is there a lock that all of one list and all of the other hold, so that no pair need be looked at?
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
    fn sandwich(&self) -> Sandwich {
        Sandwich {
            strand: self.strand,
            first: self.gap.first.position,
            stop: self.gap.stop,
            second: self.gap.second.position,
            other: self.other,
            between: self.between.point.position,
        }
    }

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
            Op::Begin => self.visits(event.strand, now).begin(position),
            Op::End => self.visits(event.strand, now).open = false,
            Op::Retire => self.close(event.object(), now),
            _ => {
                if now.locks_changed || now.period_changed {
                    let place = Place::new(
                        now.locks.state(event.strand),
                        now.order.period(event.strand),
                    );
                    self.visits(event.strand, now).enter(place, position);
                }
                // Who forks or joins changes the other strand's period, too.
                if matches!(event.op, Op::Fork | Op::Join) {
                    let place = Place::new(
                        now.locks.state(event.other()),
                        now.order.period(event.other()),
                    );
                    self.visits(event.other(), now).enter(place, position);
                }
            }
        }
    }

    fn finish(mut self: Box<Self>, now: &mut Context) -> Outcome {
        let mut live: Vec<ObjectId> = self.objects.keys().copied().collect();
        live.sort();
        live.into_iter().for_each(|object| self.close(object, now));
        let mut outcome = Outcome::default();
        let (mut given_up, mut unchecked) = (0, 0);
        for look in &self.looks {
            let candidates = &self.found[look];
            for candidate in &candidates.tries {
                let mut prediction = candidate.prediction(candidates.count, now);
                match now.skeleton.realise(candidate.sandwich(), &now.locks) {
                    Ok(schedule) => {
                        prediction.schedule = schedule;
                        if !replay::violates(&prediction, &now.skeleton, &now.locks) {
                            continue;
                        }
                    }
                    Err(Unrealised::Impossible) => continue,
                    Err(Unrealised::Bound) => {
                        given_up += 1;
                        continue;
                    }
                    Err(Unrealised::Window) => {
                        unchecked += 1;
                        prediction.tier = Tier::Potential;
                        prediction
                            .notes
                            .push("schedule not checked: window too small".to_owned());
                    }
                }
                outcome.predictions.push(prediction);
                break;
            }
        }
        if given_up > 0 {
            outcome.notes.push(format!(
                "{given_up} candidates left out: the search for their schedule was cut short"
            ));
        }
        if unchecked > 0 {
            outcome.notes.push(format!(
                "{unchecked} schedules not checked: the trace has more lock events than the window"
            ));
        }
        if self.full {
            outcome.notes.push(format!(
                "more than {WITNESSES} witnesses for an object: may be incomplete"
            ));
        }
        if let Some(position) = now.locks.not_nested() {
            let note = format!(
                "not nested: may be incomplete (a lock is released out of order at event {position})"
            );
            outcome.notes.push(note);
        }
        outcome
    }
}
