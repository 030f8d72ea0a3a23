//! What is left of a trace when only locks and order count, and the schedules that it allows.
//!
//! The skeleton keeps the lock operations and the ordering events of each strand, 24 bytes each, and where its transactions
//! begin and end, up to a bound. From it a schedule is made for "these strands stand here, all at once": each strand that is needed runs to where it last held
//! nothing, and from there the locks that are kept to the end are taken in an order that a small search finds.
//! Kahlon's theorem says that for nested locks there is one whenever the lock states are compatible; what a join,
//! a signal or a message needs is run before it, and whoever is in the way is run on until he lets go.

use super::hash::{Map, Mix, Set};
use super::locks::{LockState, Locks};
use super::{Run, changes_lock};
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use std::hash::Hasher;

#[derive(Clone, Copy, Debug)]
struct Record {
    position: u64,
    target: u32,
    /// After the event.
    state: LockState,
    op: Op,
}

#[derive(Clone, Debug, Default)]
struct Bones {
    records: Vec<Record>,
    /// Which of `records` order.
    ordering: Vec<u32>,
    /// The parent and the fork, where there was one.
    forked: Option<(StrandId, u64)>,
    /// Where transactions begin and end; an open one ends at [`OPEN`].
    transactions: Vec<(u64, u64)>,
}

/// The end of a transaction that has none.
const OPEN: u64 = u64::MAX;

impl Bones {
    /// How many records there are up to a position, that included.
    fn until(&self, position: u64) -> usize {
        self.records
            .partition_point(|record| record.position <= position)
    }

    fn state(&self, until: usize) -> LockState {
        until
            .checked_sub(1)
            .map_or(LockState::FREE, |last| self.records[last].state)
    }

    /// The last number of records, up to this one, after which no lock is held.
    fn free_until(&self, until: usize) -> usize {
        (0..=until)
            .rev()
            .find(|&done| self.state(done) == LockState::FREE)
            .unwrap_or(0)
    }

    /// The transaction that is under way after a position. Where one ends and the next begins at the same position, the
    /// strand is between the two there: a begin comes after all else at its position.
    fn transaction(&self, position: u64) -> Option<(u64, u64)> {
        let begun = self
            .transactions
            .partition_point(|&(begin, _)| begin < position);
        let &last = self.transactions.get(begun.checked_sub(1)?)?;
        (last.1 > position).then_some(last)
    }
}

/// The locks and the order of a trace; see the module.
#[derive(Debug)]
pub struct Skeleton {
    strands: Vec<Bones>,
    sends: Map<ObjectId, (StrandId, u64)>,
    /// Each strand's signals of an object.
    signals: Map<ObjectId, Vec<(StrandId, Vec<u64>)>>,
    room: usize,
    overflown: bool,
}

impl Default for Skeleton {
    fn default() -> Skeleton {
        Skeleton::new(Skeleton::ROOM)
    }
}

/// Why there is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrealised {
    /// There is none.
    Impossible,
    /// The search was given up.
    Bound,
    /// The trace has more lock and order events than the skeleton has room for.
    Window,
}

/// What a schedule is to show: `strand` stands at `stop`, at or after `first`, while `other` does `between`; then `strand`
/// goes on to `second`.
#[derive(Clone, Copy, Debug)]
pub struct Sandwich {
    /// Whose transaction is broken.
    pub strand: StrandId,
    /// Its first access.
    pub first: u64,
    /// Where it waits: `first`, or a later event before `second`.
    pub stop: u64,
    /// Its second access.
    pub second: u64,
    /// Who comes between.
    pub other: StrandId,
    /// The access between.
    pub between: u64,
}

impl Skeleton {
    /// How many events are kept where nothing else is asked for: 96 MiB.
    pub const ROOM: usize = 4 << 20;
    /// How many places a search looks at before it gives up.
    const BOUND: usize = 20_000;

    /// Keeps up to `room` events.
    pub fn new(room: usize) -> Skeleton {
        Skeleton {
            strands: Vec::new(),
            sends: Map::default(),
            signals: Map::default(),
            room,
            overflown: false,
        }
    }

    /// Takes a lock operation or an ordering event; anything else is let pass. `state` is its strand's, after it.
    #[inline]
    pub fn step(&mut self, event: Event, position: u64, state: LockState) {
        let orders = match event.op {
            op if changes_lock(op) => false,
            Op::Fork | Op::Join | Op::Signal | Op::Await | Op::Send | Op::Recv => true,
            _ => return,
        };
        if self.room == 0 {
            self.overflown = true;
            return;
        }
        self.room -= 1;
        let bones = self.bones_mut(event.strand);
        if orders {
            bones.ordering.push(bones.records.len() as u32);
        }
        bones.records.push(Record {
            position,
            target: event.target,
            state,
            op: event.op,
        });
        match event.op {
            Op::Fork => self.bones_mut(event.other()).forked = Some((event.strand, position)),
            Op::Send => {
                self.sends.insert(event.object(), (event.strand, position));
            }
            Op::Signal => {
                let signals = self.signals.entry(event.object()).or_default();
                match signals
                    .iter_mut()
                    .find(|(strand, _)| *strand == event.strand)
                {
                    Some((_, positions)) => positions.push(position),
                    None => signals.push((event.strand, vec![position])),
                }
            }
            _ => {}
        }
    }

    /// A transaction begins.
    #[inline]
    pub fn begin(&mut self, strand: StrandId, position: u64) {
        if self.room == 0 {
            self.overflown = true;
            return;
        }
        self.room -= 1;
        self.bones_mut(strand).transactions.push((position, OPEN));
    }

    /// The strand's transaction ends.
    #[inline]
    pub fn end(&mut self, strand: StrandId, position: u64) {
        if let Some((_, end)) = self.bones_mut(strand).transactions.last_mut()
            && *end == OPEN
        {
            *end = position;
        }
    }

    fn bones_mut(&mut self, strand: StrandId) -> &mut Bones {
        let at = strand.0 as usize;
        if at >= self.strands.len() {
            self.strands.resize_with(at + 1, Bones::default);
        }
        &mut self.strands[at]
    }

    /// What must have happened before a record: calls `need(strand, position)` for each.
    fn needs(&self, record: &Record, mut need: impl FnMut(StrandId, u64)) {
        match record.op {
            // All of the other's events are before the join.
            Op::Join => need(StrandId(record.target), record.position - 1),
            Op::Recv => {
                if let Some(&(sender, position)) = self.sends.get(&ObjectId(record.target)) {
                    need(sender, position);
                }
            }
            Op::Await => {
                for (strand, positions) in self
                    .signals
                    .get(&ObjectId(record.target))
                    .into_iter()
                    .flatten()
                {
                    let earlier = positions.partition_point(|&position| position < record.position);
                    if let Some(last) = earlier.checked_sub(1) {
                        need(*strand, positions[last]);
                    }
                }
            }
            _ => {}
        }
    }

    /// A schedule for the sandwich, as short as it was easy to find: it ends with `second`.
    pub fn realise(&mut self, sandwich: Sandwich, locks: &Locks) -> Result<Vec<Run>, Unrealised> {
        if self.overflown {
            return Err(Unrealised::Window);
        }
        let last = sandwich.strand.max(sandwich.other);
        self.bones_mut(last);
        let mut play = Play::new(self, locks, sandwich);
        if play.direct() {
            return Ok(play.runs);
        }
        let mut play = Play::new(self, locks, sandwich);
        match play.exhaustive() {
            Some(true) => Ok(play.runs),
            Some(false) => Err(Unrealised::Impossible),
            None => Err(Unrealised::Bound),
        }
    }

    /// Is this a schedule of the trace: does every strand get each lock when it is free, and each event after what it needs?
    pub fn allows(&self, schedule: &[Run], locks: &Locks) -> bool {
        let mut at: Vec<u64> = vec![0; self.strands.len()];
        let mut holding: Vec<(StrandId, LockState)> = Vec::new();
        schedule.iter().all(|run| {
            let strand = run.strand.0 as usize;
            let Some(bones) = self.strands.get(strand) else {
                return true;
            };
            let forked = bones
                .forked
                .is_none_or(|(parent, fork)| at[parent.0 as usize] >= fork);
            let (from, to) = (bones.until(at[strand]), bones.until(run.to));
            // Only this strand moves: what the others hold stays.
            holding.retain(|&(holder, _)| holder != run.strand);
            let allowed = (at[strand] > 0 || forked)
                && bones.records[from..to].iter().all(|record| {
                    let mut ready = true;
                    self.needs(record, |other, position| {
                        ready &= at.get(other.0 as usize).is_none_or(|&at| at >= position);
                    });
                    let free =
                        |&(_, state): &(StrandId, LockState)| locks.disjoint(record.state, state);
                    ready && (!takes(record.op) || holding.iter().all(free))
                });
            let state = bones.state(to);
            if state != LockState::FREE {
                holding.push((run.strand, state));
            }
            at[strand] = run.to;
            allowed
        })
    }

    /// There were more events than room: what is here is not all.
    pub(super) fn is_overflown(&self) -> bool {
        self.overflown
    }

    /// How many strands there are.
    pub(super) fn strands(&self) -> usize {
        self.strands.len()
    }

    /// The parent and the fork, where there was one.
    pub(super) fn forked(&self, strand: StrandId) -> Option<(StrandId, u64)> {
        self.strands.get(strand.0 as usize)?.forked
    }

    /// Where a transaction ends, if it does.
    pub(super) fn end_of(&self, strand: StrandId, begin: u64) -> Option<u64> {
        let transactions = &self.strands.get(strand.0 as usize)?.transactions;
        let at = transactions.binary_search_by_key(&begin, |&(begin, _)| begin);
        let (_, end) = transactions[at.ok()?];
        (end != OPEN).then_some(end)
    }

    /// The last position, up to this one, after which the strand is in no transaction and holds no lock.
    pub(super) fn last_free(&self, strand: StrandId, mut position: u64) -> u64 {
        let Some(bones) = self.strands.get(strand.0 as usize) else {
            return position;
        };
        loop {
            let before = position;
            if let Some((begin, _)) = bones.transaction(position) {
                position = begin;
            }
            let until = bones.until(position);
            let free = bones.free_until(until);
            if free < until {
                position = bones.records[free].position - 1;
            }
            if position == before {
                return position;
            }
        }
    }

    /// The first position, from this one on, after which the strand is in no transaction and holds no lock; the last of all if there
    /// is none.
    pub(super) fn next_free(&self, strand: StrandId, mut position: u64) -> u64 {
        let Some(bones) = self.strands.get(strand.0 as usize) else {
            return position;
        };
        loop {
            let before = position;
            if let Some((_, end)) = bones.transaction(position) {
                position = end;
            }
            let until = bones.until(position);
            if bones.state(until) != LockState::FREE {
                let mut rest = bones.records[until..].iter();
                position = rest
                    .find(|record| record.state == LockState::FREE)
                    .map_or(u64::MAX, |record| record.position);
            }
            if position == before {
                return position;
            }
        }
    }

    /// All that is kept of a strand between two positions, the later one included, in its order.
    pub(super) fn steps(
        &self,
        strand: StrandId,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (Event, u64)> + '_ {
        let bones = self.strands.get(strand.0 as usize);
        let event = move |op, target, position| {
            let site = SiteId::NONE;
            let event = Event {
                strand,
                target,
                site,
                op,
            };
            (event, position)
        };
        let records = bones
            .map_or(&[][..], |bones| {
                &bones.records[bones.until(from)..bones.until(to)]
            })
            .iter()
            .map(move |record| event(record.op, record.target, record.position));
        let mut bounds = bones
            .map_or(&[][..], |bones| {
                let transactions = &bones.transactions;
                let first = transactions.partition_point(|&(_, end)| end <= from);
                let last = transactions.partition_point(|&(begin, _)| begin < to);
                &transactions[first..last.max(first)]
            })
            .iter()
            .flat_map(move |&(begin, end)| {
                let begins = from <= begin && begin < to;
                let ends = from < end && end <= to && end != OPEN;
                let begin = begins.then(|| event(Op::Begin, 0, begin));
                let end = ends.then(|| event(Op::End, 0, end));
                begin.into_iter().chain(end)
            })
            .peekable();
        let mut records = records.peekable();
        std::iter::from_fn(move || match (records.peek(), bounds.peek()) {
            (Some((_, record)), Some((event, bound)))
                if bound < record || bound == record && event.op == Op::End =>
            {
                bounds.next()
            }
            (None, _) => bounds.next(),
            _ => records.next(),
        })
    }

    /// Is anything kept of a strand between two positions, the later one included?
    pub(super) fn has_steps(&self, strand: StrandId, from: u64, to: u64) -> bool {
        from < to && self.steps(strand, from, to).next().is_some()
    }

    /// What a strand's events between two positions, the later one included, wait for: `need(event, other, position)` for each.
    pub(super) fn waits(
        &self,
        strand: StrandId,
        from: u64,
        to: u64,
        mut need: impl FnMut(u64, StrandId, u64),
    ) {
        let Some(bones) = self.strands.get(strand.0 as usize) else {
            return;
        };
        let (from, to) = (bones.until(from), bones.until(to));
        let first = bones.ordering.partition_point(|&at| (at as usize) < from);
        for &at in &bones.ordering[first..] {
            if at as usize >= to {
                break;
            }
            let record = &bones.records[at as usize];
            self.needs(record, |other, position| {
                need(record.position, other, position);
            });
        }
    }

    /// The ordering events that a strand's run covers: those after `from`, up to `to`.
    pub(super) fn ordering(
        &self,
        strand: StrandId,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (u64, Op, u32)> + '_ {
        let bones = self.strands.get(strand.0 as usize);
        bones.into_iter().flat_map(move |bones| {
            bones.records[bones.until(from)..bones.until(to)]
                .iter()
                .filter(|record| {
                    matches!(
                        record.op,
                        Op::Fork | Op::Join | Op::Signal | Op::Await | Op::Send | Op::Recv
                    )
                })
                .map(|record| (record.position, record.op, record.target))
        })
    }
}

fn takes(op: Op) -> bool {
    matches!(op, Op::Acquire | Op::AcquireShared | Op::Upgrade)
}

/// A schedule in the making.
struct Play<'a> {
    skeleton: &'a Skeleton,
    locks: &'a Locks,
    sandwich: Sandwich,
    /// How many records of each strand have been played.
    done: Vec<usize>,
    /// Up to which position each strand has been played; positions of accesses included.
    at: Vec<u64>,
    runs: Vec<Run>,
    /// Who holds a lock.
    holding: Vec<StrandId>,
    /// Nobody goes beyond this.
    limits: Map<StrandId, u64>,
    budget: usize,
}

/// What stops a strand.
enum Stop {
    Reached,
    /// At a lock that another holds.
    Held(StrandId),
    /// At an event that needs another strand's progress first.
    Needs(StrandId, u64),
}

impl<'a> Play<'a> {
    fn new(skeleton: &'a Skeleton, locks: &'a Locks, sandwich: Sandwich) -> Play<'a> {
        let strands = skeleton.strands.len();
        Play {
            skeleton,
            locks,
            sandwich,
            done: vec![0; strands],
            at: vec![0; strands],
            runs: Vec::new(),
            holding: Vec::new(),
            limits: Map::from_iter([
                (sandwich.strand, sandwich.stop),
                (sandwich.other, sandwich.between - 1),
            ]),
            budget: Skeleton::BOUND,
        }
    }

    fn bones(&self, strand: StrandId) -> &'a Bones {
        &self.skeleton.strands[strand.0 as usize]
    }

    fn state(&self, strand: StrandId) -> LockState {
        self.bones(strand).state(self.done[strand.0 as usize])
    }

    /// The strand has come to `position`, and so many of its records are played.
    fn mark(&mut self, strand: StrandId, position: u64, done: usize) {
        let at = strand.0 as usize;
        self.done[at] = done;
        let holds = self.state(strand) != LockState::FREE;
        match self.holding.iter().position(|&holder| holder == strand) {
            Some(found) if !holds => {
                self.holding.swap_remove(found);
            }
            None if holds => self.holding.push(strand),
            _ => {}
        }
        if position <= self.at[at] {
            return;
        }
        self.at[at] = position;
        match self.runs.last_mut() {
            Some(run) if run.strand == strand => run.to = position,
            _ => self.runs.push(Run {
                strand,
                to: position,
            }),
        }
    }

    /// What keeps the next record from being played.
    fn obstacle(&self, strand: StrandId, record: &Record) -> Option<Stop> {
        let mut unmet = None;
        self.skeleton.needs(record, |other, position| {
            if self.done[other.0 as usize] < self.bones(other).until(position)
                || !self.started(other)
                || self.pending(other).is_some_and(|access| access <= position)
            {
                unmet = Some((other, position));
            }
        });
        if let Some((other, position)) = unmet {
            return Some(Stop::Needs(other, position));
        }
        if takes(record.op) {
            let blocks = |&&other: &&StrandId| {
                other != strand && !self.locks.disjoint(record.state, self.state(other))
            };
            return self
                .holding
                .iter()
                .find(blocks)
                .map(|&other| Stop::Held(other));
        }
        None
    }

    /// The access that a strand of the sandwich has yet to make.
    fn pending(&self, strand: StrandId) -> Option<u64> {
        let access = match strand {
            _ if strand == self.sandwich.strand => self.sandwich.second,
            _ if strand == self.sandwich.other => self.sandwich.between,
            _ => return None,
        };
        (self.at[strand.0 as usize] < access).then_some(access)
    }

    /// Plays a record that nothing stands in the way of.
    fn play(&mut self, strand: StrandId, record: &Record) {
        if record.op == Op::Join {
            let joined = StrandId(record.target);
            self.mark(joined, record.position - 1, self.done[joined.0 as usize]);
        }
        self.mark(strand, record.position, self.done[strand.0 as usize] + 1);
    }

    fn started(&self, strand: StrandId) -> bool {
        self.done[strand.0 as usize] > 0
            || self.at[strand.0 as usize] > 0
            || self.bones(strand).forked.is_none_or(|(parent, fork)| {
                self.done[parent.0 as usize] >= self.bones(parent).until(fork)
            })
    }

    /// Runs a strand on to a position, as far as nothing stops it.
    fn advance(&mut self, strand: StrandId, to: u64) -> Stop {
        let bones = self.bones(strand);
        if !self.started(strand)
            && let Some((parent, fork)) = bones.forked
        {
            return Stop::Needs(parent, fork);
        }
        let until = bones.until(to);
        let mut done = self.done[strand.0 as usize];
        while done < until {
            if self.holding.iter().all(|&holder| holder == strand) {
                // Nothing can be in the way but what the next ordering event needs.
                let next = bones.ordering.partition_point(|&at| (at as usize) < done);
                let next = bones
                    .ordering
                    .get(next)
                    .map_or(until, |&at| until.min(at as usize));
                if next > done {
                    self.mark(strand, bones.records[next - 1].position, next);
                    done = next;
                    continue;
                }
            }
            let record = &bones.records[done];
            if let Some(stop) = self.obstacle(strand, record) {
                return stop;
            }
            self.play(strand, record);
            done += 1;
        }
        // The strand may have come further, on the way to something else.
        self.mark(strand, to, done);
        Stop::Reached
    }

    /// Runs a strand on to a position, and before it whatever it needs; whoever holds a lock in its way is run on until he
    /// lets go of it. False if that goes round in a circle or beyond a limit.
    fn push(&mut self, strand: StrandId, to: u64, waiting: &mut Vec<StrandId>) -> bool {
        if waiting.contains(&strand) || self.limits.get(&strand).is_some_and(|&limit| to > limit) {
            return false;
        }
        waiting.push(strand);
        let reached = loop {
            let Some(budget) = self.budget.checked_sub(1) else {
                break false;
            };
            self.budget = budget;
            let (other, position) = match self.advance(strand, to) {
                Stop::Reached => break true,
                Stop::Needs(other, position) => (other, position),
                Stop::Held(other) => match self.release(strand, other) {
                    Some(position) => (other, position),
                    None => break false,
                },
            };
            if !self.push(other, position, waiting) {
                break false;
            }
        };
        waiting.pop();
        reached
    }

    /// Where `other` lets go of what `strand` wants next.
    fn release(&self, strand: StrandId, other: StrandId) -> Option<u64> {
        let wanted = self.bones(strand).records[self.done[strand.0 as usize]].state;
        let bones = self.bones(other);
        bones.records[self.done[other.0 as usize]..]
            .iter()
            .find(|record| self.locks.disjoint(wanted, record.state))
            .map(|record| record.position)
    }

    /// Where the strand last held nothing, up to a position.
    fn free_until(&self, strand: StrandId, position: u64) -> u64 {
        let bones = self.bones(strand);
        let until = bones.until(position);
        if bones.state(until) == LockState::FREE {
            return position;
        }
        bones
            .free_until(until)
            .checked_sub(1)
            .map_or(0, |last| bones.records[last].position)
    }

    /// The plan of the module's documentation.
    fn direct(&mut self) -> bool {
        let Sandwich {
            strand,
            stop,
            second,
            other,
            between,
            ..
        } = self.sandwich;
        let waiting = &mut Vec::new();
        for (who, to) in [(strand, stop), (other, between - 1)] {
            let free = self.free_until(who, to);
            if free > 0 && !self.push(who, free, waiting) {
                return false;
            }
        }
        let kept = [self.kept(strand, stop), self.kept(other, between - 1)];
        let mut seen = Set::default();
        if !self.take(&kept, &mut seen) {
            return false;
        }
        // Nothing but accesses can lie between the last record and these.
        let done = self.done[other.0 as usize];
        self.mark(strand, stop, self.done[strand.0 as usize]);
        self.mark(other, between, done);
        self.limits = Map::from_iter([(strand, second)]);
        self.push(strand, second, waiting)
    }

    /// The positions at which a strand takes what it still holds at `position`, and `position` itself.
    fn kept(&self, strand: StrandId, position: u64) -> (StrandId, Vec<u64>) {
        let bones = self.bones(strand);
        let until = bones.until(position);
        let mut held = self.locks.held(bones.state(until)).to_vec();
        let mut cuts = vec![position];
        for record in bones.records[self.done[strand.0 as usize].min(until)..until]
            .iter()
            .rev()
        {
            if held.is_empty() {
                break;
            }
            if takes(record.op)
                && let Some(at) = held.iter().position(|hold| hold.lock.0 == record.target)
            {
                held.swap_remove(at);
                // A stretch ends before the next lock that is kept.
                cuts.push(record.position - 1);
            }
        }
        cuts.retain(|&cut| bones.until(cut) > self.done[strand.0 as usize] || cut == position);
        cuts.reverse();
        (strand, cuts)
    }

    /// Runs both strands from lock to lock that they keep, in an order in which nobody stands in the other's way.
    fn take(&mut self, kept: &[(StrandId, Vec<u64>); 2], seen: &mut Set<u64>) -> bool {
        let mut place = Mix::default();
        self.done.iter().for_each(|&done| place.write_usize(done));
        if !seen.insert(place.finish()) {
            return false;
        }
        let mut arrived = true;
        for (strand, cuts) in kept {
            let at = self.done[strand.0 as usize];
            let bones = self.bones(*strand);
            let Some(&cut) = cuts.iter().find(|&&cut| bones.until(cut) > at) else {
                continue;
            };
            arrived = false;
            let before = (
                self.done.clone(),
                self.at.clone(),
                self.runs.clone(),
                self.holding.clone(),
            );
            if self.push(*strand, cut, &mut Vec::new()) && self.take(kept, seen) {
                return true;
            }
            (self.done, self.at, self.runs, self.holding) = before;
        }
        // A strand that keeps nothing may have to be started all the same.
        arrived
            && kept
                .iter()
                .all(|(strand, cuts)| self.push(*strand, cuts[cuts.len() - 1], &mut Vec::new()))
    }

    /// Tries every order, event by event. Nothing if the bound is hit.
    fn exhaustive(&mut self) -> Option<bool> {
        let Sandwich {
            strand,
            first,
            second,
            other,
            between,
            ..
        } = self.sandwich;
        let goal = self.bones(other).until(between);
        let (low, high) = (
            self.bones(strand).until(first),
            self.bones(strand).until(second),
        );
        let mut seen = Set::default();
        // The marks before each step that was taken, and whose turn comes next there.
        struct Frame {
            marks: (Vec<usize>, Vec<u64>, Vec<Run>, Vec<StrandId>),
            sandwiched: bool,
            next: u32,
        }
        let mut path: Vec<Frame> = Vec::new();
        let (mut sandwiched, mut next) = (false, 0);
        loop {
            let here = self.done[strand.0 as usize];
            if next == 0 {
                self.budget = self.budget.checked_sub(1)?;
                if sandwiched && here == high {
                    self.mark(strand, second, here);
                    return Some(true);
                }
                let mut place = Mix::default();
                self.done.iter().for_each(|&done| place.write_usize(done));
                place.write_u8(u8::from(sandwiched));
                if !seen.insert(place.finish()) {
                    next = u32::MAX;
                }
            }
            // Turn 0 is the access between; the others are the strands.
            let turn = (next..=self.done.len() as u32).find(|&turn| {
                match turn.checked_sub(1).map(StrandId) {
                    None => {
                        !sandwiched
                            && self.done[other.0 as usize] == goal
                            && (low..=high).contains(&here)
                            && self.started(strand)
                            && self.started(other)
                    }
                    Some(mover) => {
                        let records = &self.bones(mover).records;
                        let done = self.done[mover.0 as usize];
                        let limit = match mover {
                            _ if mover == strand => high,
                            _ if mover == other && !sandwiched => goal,
                            _ => records.len(),
                        };
                        done < limit
                            && self.started(mover)
                            && self.obstacle(mover, &records[done]).is_none()
                    }
                }
            });
            let Some(turn) = turn else {
                let Some(frame) = path.pop() else {
                    return Some(false);
                };
                (self.done, self.at, self.runs, self.holding) = frame.marks;
                (sandwiched, next) = (frame.sandwiched, frame.next);
                continue;
            };
            let marks = (
                self.done.clone(),
                self.at.clone(),
                self.runs.clone(),
                self.holding.clone(),
            );
            path.push(Frame {
                marks,
                sandwiched,
                next: turn + 1,
            });
            match turn.checked_sub(1).map(StrandId) {
                None => {
                    self.mark(strand, self.at[strand.0 as usize].max(first), here);
                    self.mark(other, between, goal);
                    sandwiched = true;
                }
                Some(mover) => {
                    let bones = self.bones(mover);
                    self.play(mover, &bones.records[self.done[mover.0 as usize]]);
                }
            }
            next = 0;
        }
    }
}
