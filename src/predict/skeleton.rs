//! What is left of a trace when only locks and order count.
//!
//! The skeleton keeps the lock operations and the ordering events of each strand, 24 bytes each,
//! and where its transactions begin and end, up to a bound.

use super::locks::LockState;
use super::{Hold, changes_lock};
use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug)]
struct Record {
    position: u64,
    target: u32,
    /// After the event.
    state: LockState,
    op: Op,
}

#[derive(Clone, Debug, Default)]
struct StrandSkeleton {
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

impl StrandSkeleton {
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

    /// The transaction that is under way after a position. Where one ends and the next begins at
    /// the same position, the strand is between the two there: a begin comes after all else at its
    /// position.
    fn transaction(&self, position: u64) -> Option<(u64, u64)> {
        let begun = self
            .transactions
            .partition_point(|&(begin, _)| begin < position);
        let &last = self.transactions.get(begun.checked_sub(1)?)?;
        (last.1 > position).then_some(last)
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
    kept: usize,
    overflown: bool,
}

impl Default for Skeleton {
    fn default() -> Skeleton {
        Skeleton::new(Skeleton::ROOM)
    }
}

impl Skeleton {
    /// How many events are kept where nothing else is asked for: 96 MiB.
    pub const ROOM: usize = 4 << 20;

    /// Keeps up to `room` events.
    pub fn new(room: usize) -> Skeleton {
        Skeleton {
            strands: Dense::new(),
            sends: FxHashMap::default(),
            carried: FxHashMap::default(),
            signals: FxHashMap::default(),
            room,
            kept: 0,
            overflown: false,
        }
    }

    /// Takes a lock operation or an ordering event; anything else is let pass. `state` is its
    /// strand's, after it.
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
        self.kept += 1;
        let own = self.strands.entry(event.strand);
        if orders {
            own.ordering.push(own.records.len() as u32);
        }
        own.records.push(Record {
            position,
            target: event.target,
            state,
            op: event.op,
        });
        match event.op {
            Op::Fork => self.strands.entry(event.other()).forked = Some((event.strand, position)),
            Op::Send => {
                self.sends.insert(event.object(), (event.strand, position));
            }
            Op::Recv => {
                if let Some(carried) = self.carried.get_mut(&event.object()) {
                    carried.to = Some((event.strand, position));
                }
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

    /// A transaction begins.
    #[inline]
    pub fn begin(&mut self, strand: StrandId, position: u64) {
        if self.room == 0 {
            self.overflown = true;
            return;
        }
        self.room -= 1;
        self.kept += 1;
        self.strands
            .entry(strand)
            .transactions
            .push((position, OPEN));
    }

    /// The strand's transaction ends.
    #[inline]
    pub fn end(&mut self, strand: StrandId, position: u64) {
        if let Some((_, end)) = self.strands.entry(strand).transactions.last_mut()
            && *end == OPEN
        {
            *end = position;
        }
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

    /// The locks that a strand hands over between two positions, the later one included: calls
    /// `handed(position, other, arrival)` for each.
    pub(super) fn hand_overs(
        &self,
        strand: StrandId,
        (from, to): (u64, u64),
        mut handed: impl FnMut(u64, StrandId, u64),
    ) {
        if self.carried.is_empty() {
            return;
        }
        for (position, op, message) in self.ordering(strand, from, to) {
            if op == Op::Send
                && let Some(carried) = self.carried.get(&ObjectId(message))
                && let Some((other, arrival)) = carried.to
            {
                handed(position, other, arrival);
            }
        }
    }

    /// The lock that the event hands over or receives.
    pub(super) fn carried(&self, event: Event) -> Option<ObjectId> {
        let is_message = matches!(event.op, Op::Send | Op::Recv);
        let carried = self.carried.get(&event.object()).filter(|_| is_message)?;
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
        self.kept
    }

    /// How many strands there are.
    pub(super) fn strands(&self) -> usize {
        self.strands.len()
    }

    /// The parent and the fork, where there was one.
    pub(super) fn forked(&self, strand: StrandId) -> Option<(StrandId, u64)> {
        self.strands.get(strand)?.forked
    }

    /// Where a transaction ends, if it does.
    pub(super) fn end_of(&self, strand: StrandId, begin: u64) -> Option<u64> {
        let transactions = &self.strands.get(strand)?.transactions;
        let at = transactions.binary_search_by_key(&begin, |&(begin, _)| begin);
        let (_, end) = transactions[at.ok()?];
        (end != OPEN).then_some(end)
    }

    /// The last position, up to this one, after which the strand is in no transaction and holds no
    /// lock.
    pub(super) fn last_free(&self, strand: StrandId, mut position: u64) -> u64 {
        let Some(own) = self.strands.get(strand) else {
            return position;
        };
        loop {
            let before = position;
            if let Some((begin, _)) = own.transaction(position) {
                position = begin;
            }
            let until = own.until(position);
            let free = own.free_until(until);
            if free < until {
                position = own.records[free].position - 1;
            }
            if position == before {
                return position;
            }
        }
    }

    /// The first position, from this one on, after which the strand is in no transaction and holds
    /// no lock; the last of all if there is none.
    pub(super) fn next_free(&self, strand: StrandId, mut position: u64) -> u64 {
        let Some(own) = self.strands.get(strand) else {
            return position;
        };
        loop {
            let before = position;
            if let Some((_, end)) = own.transaction(position) {
                position = end;
            }
            let until = own.until(position);
            if own.state(until) != LockState::FREE {
                let mut rest = own.records[until..].iter();
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
        let own = self.strands.get(strand);
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
        let records = own
            .map_or(&[][..], |own| &own.records[own.until(from)..own.until(to)])
            .iter()
            .map(move |record| event(record.op, record.target, record.position));
        let mut bounds = own
            .map_or(&[][..], |own| {
                let transactions = &own.transactions;
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

    /// What a strand's events between two positions, the later one included, wait for: `need(event,
    /// other, position)` for each.
    pub(super) fn waits(
        &self,
        strand: StrandId,
        from: u64,
        to: u64,
        mut need: impl FnMut(u64, StrandId, u64),
    ) {
        let Some(own) = self.strands.get(strand) else {
            return;
        };
        let (from, to) = (own.until(from), own.until(to));
        let first = own.ordering.partition_point(|&at| (at as usize) < from);
        for &at in &own.ordering[first..] {
            if at as usize >= to {
                break;
            }
            let record = &own.records[at as usize];
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
        let own = self.strands.get(strand);
        own.into_iter().flat_map(move |own| {
            own.records[own.until(from)..own.until(to)]
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
