//! What is kept of the transactions: gaps, points, and one summary for all that look the same.

use crate::check::Transaction;
use crate::predict::{Context, Hold, Map, Period, Set, is_access};
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId, Update};
use std::sync::Arc;

/// A set of locks, sorted, interned by [`Locksets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Lockset(u32);

impl Lockset {
    const EMPTY: Lockset = Lockset(0);
}

/// Equal locksets are stored once.
#[derive(Debug)]
pub(super) struct Locksets {
    sets: Vec<Arc<[Hold]>>,
    ids: Map<Arc<[Hold]>, Lockset>,
}

impl Default for Locksets {
    fn default() -> Locksets {
        let empty: Arc<[Hold]> = [].into();
        Locksets {
            sets: vec![empty.clone()],
            ids: Map::from_iter([(empty, Lockset::EMPTY)]),
        }
    }
}

impl Locksets {
    fn intern(&mut self, mut holds: Vec<Hold>) -> Lockset {
        holds.sort_unstable();
        if let Some(&id) = self.ids.get(holds.as_slice()) {
            return id;
        }
        let id = Lockset(u32::try_from(self.sets.len()).expect("fewer than 2^32 locksets"));
        let set: Arc<[Hold]> = holds.into();
        self.sets.push(set.clone());
        self.ids.insert(set, id);
        id
    }

    /// The locks held continuously from one access of a transaction to a later one.
    fn throughout(&mut self, early: &Seen, late: &Seen) -> Lockset {
        if Arc::ptr_eq(&early.held, &late.held) {
            late.lockset
        } else if early.held.is_empty() || late.held.is_empty() {
            Lockset::EMPTY
        } else {
            self.intern(throughout(&early.held, &late.held))
        }
    }

    pub(super) fn holds(&self, set: Lockset) -> &[Hold] {
        &self.sets[set.0 as usize]
    }

    /// Can the locks of both be held at the same time?
    pub(super) fn disjoint(&self, a: Lockset, b: Lockset) -> bool {
        disjoint(self.holds(a), self.holds(b))
    }
}

/// Does an access see the value?
pub(super) fn reads(access: Op) -> bool {
    access != Op::Write
}

/// Does an access change the value?
pub(super) fn writes(access: Op) -> bool {
    access != Op::Read
}

fn entry(strands: &mut Vec<Strand>, strand: StrandId) -> &mut Strand {
    let at = strand.0 as usize;
    if at >= strands.len() {
        strands.resize_with(at + 1, Strand::default);
    }
    &mut strands[at]
}

/// Can the locks of both be held at the same time?
pub(super) fn disjoint(a: &[Hold], b: &[Hold]) -> bool {
    !a.iter().any(|&p| b.iter().any(|&q| p.excludes(q)))
}

/// A lock that a strand holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    lock: ObjectId,
    /// Tells two acquires of one lock apart.
    serial: u64,
    /// The same for the time of exclusive holding; nothing while the lock is shared.
    exclusive: Option<u64>,
    /// The transaction's tick at which it was acquired; 0 before its begin.
    since: u32,
    exclusive_since: u32,
}

impl Held {
    fn hold(&self) -> Hold {
        Hold {
            lock: self.lock,
            shared: self.exclusive.is_none(),
        }
    }
}

/// The locks held continuously from one moment of a strand to a later one. A lock that was
/// downgraded in between was held shared throughout, and no more than that.
fn throughout(early: &[Held], late: &[Held]) -> Vec<Hold> {
    let mut holds = Vec::new();
    for a in early {
        if let Some(b) = late
            .iter()
            .find(|b| b.lock == a.lock && b.serial == a.serial)
        {
            let shared = a.exclusive.is_none() || a.exclusive != b.exclusive;
            holds.push(Hold {
                lock: a.lock,
                shared,
            });
        }
    }
    holds
}

/// An access of a transaction that is under way.
#[derive(Clone, Debug)]
struct Seen {
    access: Op,
    tick: u32,
    position: u64,
    site: SiteId,
    period: Period,
    held: Arc<[Held]>,
    /// The same without the times.
    lockset: Lockset,
}

/// What a transaction has done to one variable so far.
#[derive(Debug, Default)]
struct History {
    last: Option<Seen>,
    /// The last access that is no plain read: the papers' last write.
    change: Option<Seen>,
    /// The last plain write.
    write: Option<Seen>,
    /// The first plain read that no plain write comes before.
    initial: Option<Seen>,
    updates: Vec<Updates>,
    known: Known,
    /// What only the papers' own blocks are made of.
    papers: Option<Box<Pairs>>,
}

/// What is kept of a kind of update that was made.
#[derive(Debug)]
struct Updates {
    kind: Update,
    /// The last of this kind.
    last: Seen,
    /// The last access that is none.
    other: Option<Seen>,
}

#[derive(Debug, Default)]
struct Pairs {
    /// The first initial read: it sees the value, and nothing changed it before.
    uninitialised: Option<Seen>,
    /// All initial reads with different locks held, for the papers' rule b.
    initials: Vec<Seen>,
    /// Pairs for 1v-blocks, flagged when the final write is known.
    pairs: Vec<(Seen, Option<Seen>)>,
}

/// The points and gaps that a transaction has made of a variable in one period: a bit each for
/// those of plain reads and writes under the first locksets, which are mostly all.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    period: Option<Period>,
    points: u64,
    gaps: u64,
}

impl Known {
    /// False for a point that was made before.
    fn is_new_point(&mut self, seen: &Seen) -> bool {
        if self.period != Some(seen.period) {
            let period = Some(seen.period);
            (self.period, self.points, self.gaps) = (period, 0, 0);
        }
        add(&mut self.points, &[seen], seen.lockset)
    }

    /// False for a gap that was made before. The point that ends it was asked for first.
    fn is_new_gap(&mut self, early: &Seen, late: &Seen, held: Lockset) -> bool {
        early.period != late.period || add(&mut self.gaps, &[early, late], held)
    }
}

/// Sets the bit for such accesses and locks; false if it was set.
fn add(bits: &mut u64, accesses: &[&Seen], locks: Lockset) -> bool {
    let mut at = locks.0;
    for seen in accesses {
        at = match seen.access {
            Op::Read => at.saturating_mul(2),
            Op::Write => at.saturating_mul(2).saturating_add(1),
            _ => return true,
        };
    }
    let bit = 1_u64.checked_shl(at).unwrap_or(0);
    let new = *bits & bit == 0;
    *bits |= bit;
    new
}

/// A transaction that is under way.
#[derive(Debug)]
struct Open {
    block: Option<BlockId>,
    begin: u64,
    site: SiteId,
    tick: u32,
    first: Period,
    variables: Map<ObjectId, History>,
    sections: Vec<Section>,
    /// Sections beyond this number are compacted.
    compact: usize,
}

/// A lock held from one access of a summary to another: it covers access `i` if `from <= i < to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Section {
    pub(super) hold: Hold,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Transactions that cannot be told apart by what they access and which locks they hold when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The initial reads and final writes, in order.
    pub(super) accesses: Box<[(Op, ObjectId)]>,
    /// Sorted, each once.
    pub(super) sections: Box<[Section]>,
}

impl Shape {
    /// The locks held at an access.
    pub(super) fn held(&self, at: usize) -> Vec<Hold> {
        self.held_throughout(at, at)
    }

    /// The locks held continuously from one access to a later one.
    pub(super) fn held_throughout(&self, from: usize, to: usize) -> Vec<Hold> {
        let covers = |section: &&Section| section.from as usize <= from && section.to as usize > to;
        self.sections
            .iter()
            .filter(covers)
            .map(|section| section.hold)
            .collect()
    }

    /// The papers' `heldmid`: locks acquired after the one access and released before the other,
    /// and held at neither.
    pub(super) fn held_between(&self, from: usize, to: usize) -> Vec<Hold> {
        let inside = |section: &&Section| section.from as usize > from && section.to as usize <= to;
        self.sections
            .iter()
            .filter(inside)
            .map(|section| section.hold)
            .collect()
    }
}

/// Where one of the transactions of a [`Summary`] was.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) site: SiteId,
    /// Of each access of the shape: position and site.
    pub(super) accesses: Box<[(u64, SiteId)]>,
}

/// All transactions of one strand with one shape, in the same periods.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) strand: StrandId,
    pub(super) block: Option<BlockId>,
    pub(super) shape: Arc<Shape>,
    /// Of each access.
    pub(super) periods: Box<[Period]>,
    /// In which it began and in which it ended.
    pub(super) span: (Period, Period),
    pub(super) first: Occurrence,
    pub(super) last: Option<Occurrence>,
}

/// One access, as something that can fall into another transaction's gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PointKey {
    pub(super) strand: StrandId,
    pub(super) access: Op,
    pub(super) held: Lockset,
    pub(super) period: Period,
}

/// Two accesses of one transaction, as something that another's access can fall between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GapKey {
    pub(super) strand: StrandId,
    pub(super) early: Op,
    pub(super) late: Op,
    pub(super) held: Lockset,
    pub(super) periods: (Period, Period),
}

/// Position and site of an access, and its transaction.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) position: u64,
    pub(super) site: SiteId,
    pub(super) owner: Option<Transaction>,
}

/// The papers' 1v-block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OneKey {
    pub(super) strand: StrandId,
    pub(super) early: Op,
    /// Nothing for the dummy.
    pub(super) late: Option<Op>,
    pub(super) finals: (bool, bool),
    pub(super) held: (Lockset, Lockset, Lockset),
    pub(super) periods: (Period, Period),
}

/// All that is kept of one variable.
#[derive(Debug)]
pub(super) struct Shared {
    owner: StrandId,
    /// A second strand has touched it.
    pub(super) escaped: bool,
    /// Somebody changes it.
    changed: bool,
    pub(super) points: Map<PointKey, Place>,
    pub(super) gaps: Map<GapKey, (Place, Place)>,
    pub(super) ones: Map<OneKey, (Place, Place)>,
}

impl Shared {
    fn new(owner: StrandId) -> Shared {
        Shared {
            owner,
            escaped: false,
            changed: false,
            points: Map::default(),
            gaps: Map::default(),
            ones: Map::default(),
        }
    }

    /// Can an access of it matter to anybody else?
    fn contended(&self) -> bool {
        self.escaped && self.changed
    }
}

#[derive(Debug, Default)]
struct Strand {
    held: Vec<Held>,
    /// `held`, shared by all accesses since it changed.
    snapshot: Option<(Arc<[Held]>, Lockset)>,
    open: Option<Open>,
    /// How often more than once a lock is held.
    again: Map<ObjectId, u32>,
}

/// What transactions of one summary have in common: strand, block, shape, and the periods of
/// accesses, begin and end.
type Likeness = (StrandId, Option<BlockId>, Arc<Shape>, Box<[Period]>);

/// Takes the events of a trace and keeps what the tests need.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    pub(super) locksets: Locksets,
    pub(super) variables: Map<ObjectId, Shared>,
    pub(super) summaries: Vec<Summary>,
    strands: Vec<Strand>,
    serial: u64,
    shapes: Set<Arc<Shape>>,
    known: Map<Likeness, usize>,
    /// Build the papers' 1v-blocks instead of gaps and points.
    papers: bool,
}

impl Summaries {
    pub(super) fn new(papers: bool) -> Summaries {
        Summaries {
            papers,
            ..Summaries::default()
        }
    }

    /// Can accesses of the variable matter to another strand?
    pub(super) fn is_contended(&self, variable: ObjectId) -> bool {
        self.variables.get(&variable).is_some_and(Shared::contended)
    }

    /// The variables of which that is so, in the order of their numbers.
    pub(super) fn contended(&self) -> Vec<(ObjectId, &Shared)> {
        let all = self.variables.iter();
        let mut contended: Vec<(ObjectId, &Shared)> = all
            .filter(|(_, shared)| shared.contended())
            .map(|(&object, shared)| (object, shared))
            .collect();
        contended.sort_unstable_by_key(|&(object, _)| object);
        contended
    }

    /// How many strands have a transaction that a cycle can enter at one variable and leave at
    /// another.
    pub(super) fn strands_that_pass_on(&self) -> usize {
        let mut strands: Set<StrandId> = Set::default();
        for summary in &self.summaries {
            let accesses = summary.shape.accesses.iter();
            let mut variables = accesses
                .map(|&(_, variable)| variable)
                .filter(|&variable| self.is_contended(variable));
            let first = variables.next();
            if variables.any(|other| Some(other) != first) {
                strands.insert(summary.strand);
            }
        }
        strands.len()
    }

    fn strand(&mut self, strand: StrandId) -> &mut Strand {
        entry(&mut self.strands, strand)
    }

    pub(super) fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        let event = now.skeleton.lock_event(event);
        match event.op {
            Op::Begin => {
                let first = now.order.period(event.strand);
                let strand = self.strand(event.strand);
                for held in &mut strand.held {
                    held.since = 0;
                    held.exclusive_since = 0;
                }
                // Accesses remember ticks of the locks, which have just changed.
                strand.snapshot = None;
                strand.open = Some(Open::new(Some(event.block()), position, event.site, first));
            }
            Op::End => self.close(event.strand, position, now),
            Op::Acquire | Op::AcquireShared => self.acquire(event),
            Op::Release | Op::ReleaseShared => self.release(event),
            Op::Upgrade | Op::Downgrade => self.convert(event),
            Op::Retire => self.retire(event.object()),
            op if is_access(op) => self.access(event, position, now),
            _ => {}
        }
    }

    fn acquire(&mut self, event: Event) {
        self.serial += 1;
        let serial = self.serial;
        let strand = self.strand(event.strand);
        let lock = event.object();
        if strand.held.iter().any(|held| held.lock == lock) {
            *strand.again.entry(lock).or_default() += 1;
            return;
        }
        let since = strand.open.as_mut().map_or(0, Open::next);
        let exclusive = (event.op == Op::Acquire).then_some(serial);
        strand.held.push(Held {
            lock,
            serial,
            exclusive,
            since,
            exclusive_since: since,
        });
        strand.snapshot = None;
    }

    fn release(&mut self, event: Event) {
        let strand = self.strand(event.strand);
        let lock = event.object();
        if let Some(count) = strand.again.get_mut(&lock) {
            *count -= 1;
            if *count == 0 {
                strand.again.remove(&lock);
            }
            return;
        }
        let Some(at) = strand.held.iter().position(|held| held.lock == lock) else {
            return;
        };
        let held = strand.held.remove(at);
        strand.snapshot = None;
        if let Some(open) = &mut strand.open {
            let now = open.next();
            open.leave(&held, now);
        }
    }

    fn convert(&mut self, event: Event) {
        self.serial += 1;
        let serial = self.serial;
        let strand = self.strand(event.strand);
        let Some(held) = strand
            .held
            .iter_mut()
            .find(|held| held.lock == event.object())
        else {
            return;
        };
        let now = strand.open.as_mut().map_or(0, Open::next);
        if event.op == Op::Upgrade {
            held.exclusive = Some(serial);
            held.exclusive_since = now;
        } else {
            if let Some(open) = &mut strand.open {
                open.sections.push(Section {
                    hold: held.hold(),
                    from: held.exclusive_since,
                    to: now,
                });
            }
            held.exclusive = None;
        }
        strand.snapshot = None;
    }

    fn retire(&mut self, object: ObjectId) {
        if self
            .variables
            .get(&object)
            .is_some_and(|shared| !shared.escaped)
        {
            // Nobody else can ever touch it.
            self.variables.remove(&object);
        }
    }

    fn access(&mut self, event: Event, position: u64, now: &mut Context) {
        let (access, variable) = (event.op, event.object());
        let shared = self
            .variables
            .entry(variable)
            .or_insert_with(|| Shared::new(event.strand));
        shared.escaped |= shared.owner != event.strand;
        shared.changed |= writes(access);
        let period = now.order.period(event.strand);
        let strand = entry(&mut self.strands, event.strand);
        let unary = strand.open.is_none();
        let open = strand
            .open
            .get_or_insert_with(|| Open::new(None, position, event.site, period));
        let (held, lockset) = strand
            .snapshot
            .get_or_insert_with(|| {
                let holds = strand.held.iter().map(Held::hold).collect();
                (strand.held.as_slice().into(), self.locksets.intern(holds))
            })
            .clone();
        let seen = Seen {
            access,
            tick: open.next(),
            position,
            site: event.site,
            period,
            held,
            lockset,
        };
        let owner = open.owner(event.strand);
        let history = open.variables.entry(variable).or_default();
        if self.papers {
            history.pair(&seen);
            history.note(seen);
        } else {
            let mut known = history.known;
            if known.is_new_point(&seen) {
                let key = PointKey {
                    strand: event.strand,
                    access,
                    held: lockset,
                    period,
                };
                let place = || seen.place(&owner);
                shared.points.entry(key).or_insert_with(place);
            }
            let locksets = &mut self.locksets;
            history.gaps(&seen, |early| {
                let held = locksets.throughout(early, &seen);
                if !known.is_new_gap(early, &seen, held) {
                    return;
                }
                let key = GapKey {
                    strand: event.strand,
                    early: early.access,
                    late: access,
                    held,
                    periods: (early.period, period),
                };
                let places = || (early.place(&owner), seen.place(&owner));
                shared.gaps.entry(key).or_insert_with(places);
            });
            history.known = known;
            history.note(seen);
        }
        if unary {
            self.close(event.strand, position, now);
        }
    }

    /// The strand's transaction ends.
    fn close(&mut self, id: StrandId, position: u64, now: &mut Context) {
        let last = now.order.period(id);
        let strand = self.strand(id);
        let Some(mut open) = strand.open.take() else {
            return;
        };
        for held in &strand.held {
            open.leave(held, u32::MAX);
        }
        if self.papers {
            self.one_blocks(id, &mut open);
        }
        let mut accesses: Vec<(ObjectId, Seen)> = Vec::new();
        for (&variable, history) in &mut open.variables {
            let (first, last) = match &mut history.papers {
                Some(papers) => (papers.uninitialised.take(), history.change.take()),
                None => (history.initial.take(), history.write.take()),
            };
            let updates = history.updates.drain(..).map(|updates| updates.last);
            let updates = updates.filter(|_| !self.papers);
            let kept = first.into_iter().chain(last).chain(updates);
            accesses.extend(kept.map(|seen| (variable, seen)));
        }
        accesses.sort_unstable_by_key(|(_, seen)| seen.tick);
        accesses.dedup_by_key(|(_, seen)| seen.tick);
        let ticks: Vec<u32> = accesses.iter().map(|(_, seen)| seen.tick).collect();
        compact(&mut open.sections, &ticks);
        let shape = Shape {
            accesses: accesses
                .iter()
                .map(|(variable, seen)| (seen.access, *variable))
                .collect(),
            sections: open.sections.into(),
        };
        let shape = match self.shapes.get(&shape) {
            Some(shape) => shape.clone(),
            None => {
                let shape = Arc::new(shape);
                self.shapes.insert(shape.clone());
                shape
            }
        };
        let periods: Box<[Period]> = accesses.iter().map(|(_, seen)| seen.period).collect();
        let all = [&*periods, &[open.first, last]].concat().into_boxed_slice();
        let occurrence = Occurrence {
            begin: open.begin,
            end: position,
            site: open.site,
            accesses: accesses
                .iter()
                .map(|(_, seen)| (seen.position, seen.site))
                .collect(),
        };
        match self
            .known
            .get(&(id, open.block, shape.clone(), all.clone()))
        {
            Some(&at) => self.summaries[at].last = Some(occurrence),
            None => {
                self.known
                    .insert((id, open.block, shape.clone(), all), self.summaries.len());
                self.summaries.push(Summary {
                    strand: id,
                    block: open.block,
                    shape,
                    periods,
                    span: (open.first, last),
                    first: occurrence,
                    last: None,
                });
            }
        }
    }

    /// The papers' 1v-blocks of a transaction that ends.
    fn one_blocks(&mut self, id: StrandId, open: &mut Open) {
        let owner = open.owner(id);
        let mut pairs = Vec::new();
        for (&variable, history) in &mut open.variables {
            let Some(papers) = &mut history.papers else {
                continue;
            };
            let last = history.change.as_ref();
            let tick = last.map(|seen| seen.tick);
            let own = papers.pairs.drain(..);
            pairs.extend(own.map(|(early, late)| (variable, tick, early, late)));
            if let Some(last) = last {
                // Rule b: the final write with every initial read.
                let initials = papers.initials.drain(..);
                let before = initials.filter(|initial| initial.tick < last.tick);
                pairs.extend(before.map(|initial| (variable, tick, initial, Some(last.clone()))));
            }
        }
        for (variable, last, early, late) in pairs {
            let throughout = match &late {
                Some(late) => self.locksets.throughout(&early, late),
                None => Lockset::EMPTY,
            };
            let key = OneKey {
                strand: id,
                early: early.access,
                late: late.as_ref().map(|late| late.access),
                finals: (
                    last == Some(early.tick),
                    late.as_ref().is_some_and(|late| last == Some(late.tick)),
                ),
                held: (
                    early.lockset,
                    late.as_ref().map_or(Lockset::EMPTY, |late| late.lockset),
                    throughout,
                ),
                periods: (
                    early.period,
                    late.as_ref().map_or(early.period, |late| late.period),
                ),
            };
            let places = (
                early.place(&owner),
                late.as_ref().unwrap_or(&early).place(&owner),
            );
            if let Some(shared) = self.variables.get_mut(&variable) {
                shared.ones.entry(key).or_insert(places);
            }
        }
    }

    /// Transactions that are still under way at the end of the trace count as far as they came.
    pub(super) fn finish(&mut self, now: &mut Context) {
        for strand in 0..self.strands.len() {
            self.close(StrandId(strand as u32), u64::MAX - 1, now);
        }
    }
}

/// Replaces ticks by indices into the accesses, and drops what is the same.
fn compact(sections: &mut Vec<Section>, ticks: &[u32]) {
    let index = |tick: u32| ticks.partition_point(|&t| t < tick) as u32;
    for section in sections.iter_mut() {
        section.from = index(section.from);
        section.to = if section.to == u32::MAX {
            ticks.len() as u32
        } else {
            index(section.to)
        };
    }
    sections.sort_unstable();
    sections.dedup();
}

impl Open {
    fn new(block: Option<BlockId>, begin: u64, site: SiteId, first: Period) -> Open {
        Open {
            block,
            begin,
            site,
            tick: 0,
            first,
            variables: Map::default(),
            sections: Vec::new(),
            compact: 1024,
        }
    }

    fn next(&mut self) -> u32 {
        self.tick += 1;
        self.tick
    }

    fn owner(&self, strand: StrandId) -> Option<Transaction> {
        let block = self.block?;
        Some(Transaction {
            strand,
            block: Some(block),
            begin: Some(self.begin),
            site: self.site,
        })
    }

    /// A lock is released, or its transaction ends.
    fn leave(&mut self, held: &Held, now: u32) {
        let mut section = |shared, from| {
            let hold = Hold {
                lock: held.lock,
                shared,
            };
            let to = now;
            self.sections.push(Section { hold, from, to });
        };
        if held.exclusive.is_some() {
            section(false, held.exclusive_since);
        }
        if held.exclusive.is_none() || held.since != held.exclusive_since {
            section(true, held.since);
        }
        if self.sections.len() > self.compact {
            self.thin();
        }
    }

    /// Of the sections that lie between the same accesses one is enough, whatever later accesses
    /// replace.
    fn thin(&mut self) {
        let mut ticks: Vec<u32> = Vec::new();
        for history in self.variables.values() {
            let papers = history.papers.iter();
            let updates = history.updates.iter().map(|updates| &updates.last);
            let kept = history
                .initial
                .iter()
                .chain(&history.write)
                .chain(&history.change)
                .chain(updates)
                .chain(papers.flat_map(|papers| &papers.uninitialised));
            ticks.extend(kept.map(|seen| seen.tick));
        }
        ticks.sort_unstable();
        let index = |tick: u32| ticks.partition_point(|&t| t < tick);
        let mut known = Set::default();
        self.sections
            .retain(|section| known.insert((section.hold, index(section.from), index(section.to))));
        self.compact = (self.sections.len() * 2).max(1024);
    }
}

impl Seen {
    fn like(&self, other: &Seen) -> bool {
        self.access == other.access
            && self.period == other.period
            && Arc::ptr_eq(&self.held, &other.held)
    }

    fn place(&self, owner: &Option<Transaction>) -> Place {
        Place {
            position: self.position,
            site: self.site,
            owner: owner.clone(),
        }
    }
}

impl History {
    /// Calls back with every earlier access that makes a gap with this one: something that
    /// conflicts with both can come between them, and nothing that conflicts with it already stands
    /// between them.
    fn gaps(&self, seen: &Seen, mut gap: impl FnMut(&Seen)) {
        let mut done: [u32; 3] = [0; 3];
        let mut count = 0;
        let mut offer = |early: &Option<Seen>, gap: &mut dyn FnMut(&Seen)| {
            if let Some(early) = early
                && !done[..count].contains(&early.tick)
            {
                if count < done.len() {
                    done[count] = early.tick;
                    count += 1;
                }
                gap(early);
            }
        };
        offer(&self.last, &mut gap);
        if seen.access != Op::Read {
            offer(&self.change, &mut gap);
        }
        for updates in &self.updates {
            if seen.access != Op::Update(updates.kind) {
                offer(&updates.other, &mut gap);
            }
        }
    }

    /// The papers' rule a: pairs the access with the last write before it, or else with the last
    /// read.
    fn pair(&mut self, seen: &Seen) {
        let papers = self.papers.get_or_insert_default();
        if reads(seen.access) && self.change.is_none() {
            papers.uninitialised.get_or_insert_with(|| seen.clone());
            if !papers.initials.iter().any(|initial| initial.like(seen)) {
                papers.initials.push(seen.clone());
            }
        }
        let pairs = &mut papers.pairs;
        let Some(early) = self.change.as_ref().or(self.last.as_ref()) else {
            pairs.push((seen.clone(), None));
            return;
        };
        // The dummy's place is taken.
        pairs.retain(|(_, late)| late.is_some());
        let like = |(first, second): &(Seen, Option<Seen>)| {
            (first.tick == early.tick || first.like(early))
                && second.as_ref().is_some_and(|late| late.like(seen))
        };
        // A read like the one before makes the block that that one made; a write may yet be the
        // final one.
        if writes(seen.access) || !pairs.last().is_some_and(like) {
            pairs.push((early.clone(), Some(seen.clone())));
        }
    }

    fn note(&mut self, seen: Seen) {
        if seen.access == Op::Read && self.write.is_none() && self.initial.is_none() {
            self.initial = Some(seen.clone());
        }
        let mut first = match seen.access {
            Op::Update(kind) => Some(kind),
            _ => None,
        };
        for updates in &mut self.updates {
            if seen.access == Op::Update(updates.kind) {
                updates.last = seen.clone();
                first = None;
            } else {
                updates.other = Some(seen.clone());
            }
        }
        if let Some(kind) = first {
            self.updates.push(Updates {
                kind,
                last: seen.clone(),
                other: self.last.take(),
            });
        }
        if matches!(seen.access, Op::Write | Op::ReadWrite) {
            self.write = Some(seen.clone());
        }
        if writes(seen.access) {
            self.change = Some(seen.clone());
        }
        self.last = Some(seen);
    }
}
