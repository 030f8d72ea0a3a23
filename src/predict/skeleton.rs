//! What is left of a trace when only locks and order count.
//!
//! The skeleton keeps each strand's lock operations and ordering events, and where its transactions
//! begin and end, 24 bytes each, up to a bound.

use super::locks::{LockState, Locks};
use super::{Hold, changes_lock};
use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug)]
struct Record {
    /// Twice the position. A begin comes after all else at its position, so that where one
    /// transaction ends and the next begins the strand is between the two.
    place: u64,
    target: u32,
    op: Op,
    /// After it the strand is in no transaction and holds no lock.
    is_free: bool,
}

impl Record {
    fn position(&self) -> u64 {
        self.place / 2
    }

    /// The last position that it comes after.
    fn before(&self) -> u64 {
        (self.place - 1) / 2
    }
}

#[derive(Clone, Debug, Default)]
struct StrandSkeleton {
    records: Vec<Record>,
    /// Which of `records` order.
    ordering: Vec<u32>,
    /// The parent and the fork, where there was one.
    forked: Option<(StrandId, u64)>,
    /// A transaction is under way.
    is_open: bool,
}

impl StrandSkeleton {
    /// How many records there are up to a position, that included.
    fn until(&self, position: u64) -> usize {
        let place = position.saturating_mul(2);
        self.records.partition_point(|record| record.place <= place)
    }

    fn is_free(&self, until: usize) -> bool {
        until
            .checked_sub(1)
            .is_none_or(|last| self.records[last].is_free)
    }
}

/// A lock that a message hands over.
#[derive(Clone, Copy, Debug)]
struct Carried {
    hold: Hold,
    /// Who receives it, and where.
    to: Option<(StrandId, u64)>,
}

/// The locks and the order of a trace; see the module.
#[derive(Debug)]
pub struct Skeleton {
    strands: Dense<StrandId, StrandSkeleton>,
    sends: FxHashMap<ObjectId, (StrandId, u64)>,
    /// Locks on their way from strand to strand, by the message.
    carried: FxHashMap<ObjectId, Carried>,
    /// Each strand's signals of an object.
    signals: FxHashMap<ObjectId, Vec<(StrandId, Vec<u64>)>>,
    room: usize,
    all_room: usize,
    overflown: bool,
}

impl Default for Skeleton {
    fn default() -> Skeleton {
        Skeleton::new(Skeleton::ROOM)
    }
}

impl Skeleton {
    /// How many events are kept where nothing else is asked for: 96 MiB, and the ends of
    /// transactions.
    pub const ROOM: usize = 4 << 20;

    /// Keeps up to `room` events; the end of a transaction does not count.
    pub fn new(room: usize) -> Skeleton {
        Skeleton {
            strands: Dense::new(),
            sends: FxHashMap::default(),
            carried: FxHashMap::default(),
            signals: FxHashMap::default(),
            room,
            all_room: room,
            overflown: false,
        }
    }

    /// Takes a lock operation, an ordering event, a begin or an end; anything else is let pass.
    /// `state` is its strand's, after it.
    #[inline]
    pub fn step(&mut self, event: Event, position: u64, state: LockState) {
        let is_kept = changes_lock(event.op) || orders(event.op) || event.op == Op::Begin;
        if !is_kept && event.op != Op::End {
            return;
        }
        self.overflown |= is_kept && self.room == 0;
        if self.overflown {
            return;
        }
        self.room -= usize::from(is_kept);
        let own = self.strands.entry(event.strand);
        if orders(event.op) {
            own.ordering.push(own.records.len() as u32);
        }
        own.is_open = own.is_open && event.op != Op::End || event.op == Op::Begin;
        let last = own.records.last().map_or(0, |last| last.place);
        own.records.push(Record {
            place: last.max(2 * position + u64::from(event.op == Op::Begin)),
            target: event.target,
            op: event.op,
            is_free: state == LockState::FREE && !own.is_open,
        });
        match event.op {
            Op::Fork => self.strands.entry(event.other()).forked = Some((event.strand, position)),
            Op::Send => drop(self.sends.insert(event.object(), (event.strand, position))),
            Op::Recv => {
                if let Some(carried) = self.carried.get_mut(&event.object()) {
                    carried.to = Some((event.strand, position));
                }
            }
            Op::Signal => self.signal(event, position),
            _ => {}
        }
    }

    fn signal(&mut self, event: Event, position: u64) {
        let signals = self.signals.entry(event.object()).or_default();
        match signals.iter_mut().find(|(by, _)| *by == event.strand) {
            Some((_, positions)) => positions.push(position),
            None => signals.push((event.strand, vec![position])),
        }
    }

    /// A message will hand a lock over: the sender gives it away and the receiver has it then. In
    /// between nobody can take it.
    pub fn carry(&mut self, message: ObjectId, hold: Hold) {
        self.carried.insert(message, Carried { hold, to: None });
    }

    /// What the event means for locks: of a message that hands one over, its release or acquire;
    /// any other event means what it says.
    #[inline]
    pub fn lock_event(&self, event: Event) -> Event {
        let op = match event.op {
            Op::Send => [Op::Release, Op::ReleaseShared],
            Op::Recv => [Op::Acquire, Op::AcquireShared],
            _ => return event,
        };
        match self.carried.get(&event.object()) {
            Some(Carried { hold, .. }) => Event {
                op: op[usize::from(hold.shared)],
                target: hold.lock.0,
                ..event
            },
            None => event,
        }
    }

    /// What must have happened before a record: calls `need(strand, position)` for each.
    fn needs(&self, record: &Record, mut need: impl FnMut(StrandId, u64)) {
        match record.op {
            // All of the other's events are before the join.
            Op::Join => need(StrandId(record.target), record.position() - 1),
            Op::Recv => {
                if let Some(&(sender, position)) = self.sends.get(&ObjectId(record.target)) {
                    need(sender, position);
                }
            }
            Op::Await => {
                let signals = self.signals.get(&ObjectId(record.target));
                for (strand, positions) in signals.into_iter().flatten() {
                    let earlier = positions.partition_point(|&at| at < record.position());
                    if let Some(last) = earlier.checked_sub(1) {
                        need(*strand, positions[last]);
                    }
                }
            }
            _ => {}
        }
    }

    /// The locks that a strand hands over between two positions, the later one included: calls
    /// `handed(position, other, arrival)` for each.
    pub(super) fn hand_overs(
        &self,
        strand: StrandId,
        range: (u64, u64),
        mut handed: impl FnMut(u64, StrandId, u64),
    ) {
        if self.carried.is_empty() {
            return;
        }
        let records = self.ordering(strand, range);
        for record in records.filter(|record| record.op == Op::Send) {
            let carried = self.carried.get(&ObjectId(record.target));
            if let Some((other, arrival)) = carried.and_then(|carried| carried.to) {
                handed(record.position(), other, arrival);
            }
        }
    }

    /// The lock that the event hands over or receives.
    pub(super) fn carried(&self, event: Event) -> Option<ObjectId> {
        let is_message = matches!(event.op, Op::Send | Op::Recv);
        let carried = is_message.then(|| self.carried.get(&event.object()))??;
        Some(carried.hold.lock)
    }

    /// What comes first of a strand's events at one position: a lock comes before it is touched,
    /// and leaves after that.
    pub(super) fn rank(&self, event: Event) -> u8 {
        match (event.op, self.carried(event)) {
            (Op::Recv, Some(_)) => 0,
            (Op::Send, Some(_)) => 2,
            _ => 1,
        }
    }

    /// There were more events than room: what is here is not all.
    pub(super) fn is_overflown(&self) -> bool {
        self.overflown
    }

    /// How many events are kept.
    pub(super) fn len(&self) -> usize {
        self.all_room - self.room
    }

    /// How many strands there are.
    pub(super) fn strands(&self) -> usize {
        self.strands.len()
    }

    /// The parent and the fork, where there was one.
    pub(super) fn forked(&self, strand: StrandId) -> Option<(StrandId, u64)> {
        self.strands.get(strand)?.forked
    }

    /// Which strand it is, from the one that nobody forked: each the how manieth fork of the last.
    pub(super) fn path(&self, strand: StrandId) -> Vec<u32> {
        let mut path = Vec::new();
        let mut child = strand;
        while let Some((parent, fork)) = self.forked(child) {
            let before = self.steps(parent, 0, fork - 1);
            path.push(before.filter(|(event, _)| event.op == Op::Fork).count() as u32);
            child = parent;
        }
        path.reverse();
        path
    }

    /// Where the strand's transaction that is open at a position began.
    pub(super) fn open_since(&self, strand: StrandId, position: u64) -> Option<u64> {
        let own = self.strands.get(strand)?;
        let before = own.records[..own.until(position)].iter();
        let is_boundary = |record: &&Record| matches!(record.op, Op::Begin | Op::End);
        let last = before.rev().find(is_boundary)?;
        (last.op == Op::Begin).then(|| last.position())
    }

    /// The locks that a strand holds at a position, in the order of acquisition.
    pub(super) fn held(&self, strand: StrandId, position: u64) -> Vec<Hold> {
        let mut locks = Locks::default();
        for (event, at) in self.steps(strand, 0, position) {
            locks.step(self.lock_event(event), at);
        }
        locks.held(locks.state(strand)).to_vec()
    }

    /// The last position, up to this one, after which the strand is in no transaction and holds no
    /// lock.
    pub(super) fn last_free(&self, strand: StrandId, position: u64) -> u64 {
        let Some(own) = self.strands.get(strand) else {
            return position;
        };
        let until = own.until(position);
        match (0..=until).rfind(|&done| own.is_free(done)) {
            Some(free) if free < until => own.records[free].before(),
            _ => position,
        }
    }

    /// The first position, from this one on, after which the strand is in no transaction and holds
    /// no lock; the last of all if there is none.
    pub(super) fn next_free(&self, strand: StrandId, position: u64) -> u64 {
        let Some(own) = self.strands.get(strand) else {
            return position;
        };
        let until = own.until(position);
        if own.is_free(until) {
            return position;
        }
        let free = own.records[until..].iter().find(|record| record.is_free);
        free.map_or(u64::MAX, Record::position)
    }

    fn between(&self, strand: StrandId, from: u64, to: u64) -> &[Record] {
        let Some(own) = self.strands.get(strand) else {
            return &[];
        };
        let (from, to) = (own.until(from), own.until(to));
        &own.records[from..to.max(from)]
    }

    /// All that is kept of a strand between two positions, the later one included, in its order.
    pub(super) fn steps(
        &self,
        strand: StrandId,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (Event, u64)> + '_ {
        let records = self.between(strand, from, to).iter();
        records.map(move |record| {
            let event = Event {
                strand,
                target: record.target,
                site: SiteId::NONE,
                op: record.op,
            };
            (event, record.position())
        })
    }

    /// Is anything kept of a strand between two positions, the later one included?
    pub(super) fn has_steps(&self, strand: StrandId, from: u64, to: u64) -> bool {
        !self.between(strand, from, to).is_empty()
    }

    /// The ordering events of a strand between two positions, the later one included.
    fn ordering(&self, strand: StrandId, range: (u64, u64)) -> impl Iterator<Item = &Record> {
        let own = self.strands.get(strand);
        own.into_iter().flat_map(move |own| {
            let (from, to) = (own.until(range.0), own.until(range.1));
            let first = own.ordering.partition_point(|&at| (at as usize) < from);
            let rest = own.ordering[first..].iter().map(|&at| at as usize);
            let range = rest.take_while(move |&at| at < to);
            range.map(|at| &own.records[at])
        })
    }

    /// What a strand's events between two positions, the later one included, wait for: `need(event,
    /// other, position)` for each.
    pub(super) fn waits(
        &self,
        strand: StrandId,
        range: (u64, u64),
        mut need: impl FnMut(u64, StrandId, u64),
    ) {
        for record in self.ordering(strand, range) {
            self.needs(record, |other, at| need(record.position(), other, at));
        }
    }
}

/// Orders events of different strands.
pub(super) fn orders(op: Op) -> bool {
    use Op::{Await, Fork, Join, Recv, Send, Signal};
    matches!(op, Fork | Join | Signal | Await | Send | Recv)
}
