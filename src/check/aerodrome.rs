//! The published vector-clock algorithm.
//!
//! # The algorithm
//!
//! Mathur and Viswanathan, *Atomicity checking in linear time using vector clocks*, ASPLOS 2020.
//! Each strand `t` has a clock `C[t]`, which knows the transactions that come before what `t` does
//! now; it counts its own transactions in its own component. What is stored in an object (`W`, `R`,
//! `L` in the paper) is the clock of the strand that accessed it. Who accesses an object joins the
//! clocks of the accesses that its own does not commute with. Before it does, it *checks*: a clock
//! that knows the beginning of `t`'s open transaction belongs to something that comes after that
//! transaction, so `t` must not come after it. At the end of a transaction every clock that knows
//! its beginning learns all that it knows at its end: what comes after a part of a transaction
//! comes after all of it.
//!
//! A violation is found when all transactions of the cycle but one have ended, at the latest. So a
//! cycle of several open transactions is found at the end of one of them, or never, if the trace
//! stops before; and the engine knows the transaction to blame and the event, but not the cycle.
//!
//! # The shortcuts
//!
//! *One component instead of a clock.* Whether a clock knows the beginning of `t`'s transaction is
//! seen in its component for `t` alone: that component only ever comes from clocks of `t` as they
//! are after the beginning.
//!
//! *Shared clocks* (the paper's lazy updates of written variables). Storing a clock stores a
//! reference to it; a strand's clock is copied when it changes while it is stored somewhere.
//!
//! *Reads are folded late, into two clocks* (the paper's read-clock reduction). The readers since
//! the last write are one reference each, until there are many or a write comes: then they are
//! joined into `all`, and, each without its reader's own component, into `check`. The former is
//! what the writer joins, the latter what it is checked against: `t`'s own reads must not speak
//! against `t`. At the end of a transaction of `t`, `check` learns `t`'s clock without `t`'s
//! component. It may thereby come to know more of a reader `u` than other readers knew, but only if
//! `u` read after the transaction began: if what it learns is the beginning of an open transaction
//! of `u`, that one comes before and after `t`'s, and is a violation anyway.
//!
//! *Update sets* (the paper's lazy updates at the end). A clock is stored in an object while
//! certain transactions are open whose beginnings it knows: the object's number goes into the sets
//! of those, and the end of a transaction visits its set, not all objects.
//!
//! *Ends that nobody hears of.* Where the clock of a transaction at its end knows the beginning of
//! no other open transaction, nothing of it is needed: clocks are only ever compared with
//! beginnings of open transactions, now or later, and all later beginnings are news to it.
//! Comparing the clock with what it was at the transaction's own beginning instead, as the
//! published tool does, is wrong: an order can be inherited from before, by program order.
//!
//! # More than the paper has
//!
//! Groups of commuting accesses as in [`exact`](super::exact). A fork hands over the clock; a join
//! takes that of a strand that did anything. A slot of a joined strand is used again with larger
//! times; accesses know the strand that made them by a serial number, so that a new strand is not
//! taken for the old one.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::groups::{Groups, Members};
use super::{Clock, Engine, Transaction, Violation};
use crate::dense::Dense;
use crate::trace::{Event, Op, StrandId};

/// The published vector-clock engine. See the [module's documentation](self).
#[derive(Debug, Default)]
pub struct Aerodrome {
    strands: Vec<Strand>,
    slot_of: Dense<StrandId, Option<u32>>,
    free: Vec<u32>,
    serials: u64,
    variables: Dense<u32, Option<Box<Groups<Group>>>>,
    syncs: Dense<u32, Option<Box<Sync>>>,
}

#[derive(Debug)]
struct Strand {
    id: StrandId,
    serial: u64,
    clock: Arc<Clock>,
    /// It has had an event.
    lived: bool,
    open: Option<OpenTransaction>,
    /// The objects whose clocks may know the open transaction.
    updates: FxHashSet<u32>,
}

#[derive(Clone, Debug)]
struct OpenTransaction {
    /// The strand's own time.
    begin: u64,
    transaction: Transaction,
}

/// Accesses that commute.
#[derive(Clone, Debug, Default)]
struct Group {
    single: Vec<Stored>,
    folded: Option<Box<Folded>>,
}

/// A strand's clock at its access.
#[derive(Clone, Debug)]
struct Stored {
    slot: u32,
    serial: u64,
    clock: Arc<Clock>,
}

#[derive(Clone, Debug, Default)]
struct Folded {
    all: Clock,
    check: Clock,
}

#[derive(Clone, Debug, Default)]
struct Sync {
    exclusive: Group,
    shared: Group,
    signals: Group,
    send: Group,
}

/// A group of more members than this is folded.
const SINGLE: usize = 8;

impl Members for Group {
    fn clear(&mut self) {
        self.single.clear();
        self.folded = None;
    }
}

impl Group {
    fn of(stored: Stored) -> Group {
        Group {
            single: vec![stored],
            folded: None,
        }
    }

    fn add(&mut self, stored: Stored) {
        match self
            .single
            .iter_mut()
            .find(|other| other.serial == stored.serial)
        {
            Some(older) => *older = stored,
            None => {
                if self.single.len() == SINGLE {
                    self.fold();
                }
                self.single.push(stored);
            }
        }
    }

    fn fold(&mut self) {
        let folded = self.folded.get_or_insert_default();
        for stored in self.single.drain(..) {
            folded.all.join(&stored.clock);
            folded.check.join_without(&stored.clock, stored.slot);
        }
    }

    /// A transaction of `slot` that began at `begin` has ended with `clock`. Says whether anything
    /// here knew it.
    fn learn(&mut self, slot: u32, begin: u64, clock: &Arc<Clock>) -> bool {
        let mut knew = false;
        for stored in &mut self.single {
            if stored.clock.get(slot) >= begin {
                knew = true;
                if clock.knows(&stored.clock) {
                    stored.clock = Arc::clone(clock);
                } else {
                    Arc::make_mut(&mut stored.clock).join(clock);
                }
            }
        }
        let folded = self.folded.as_mut();
        if let Some(folded) = folded.filter(|folded| folded.all.get(slot) >= begin) {
            knew = true;
            folded.all.join(clock);
            folded.check.join_without(clock, slot);
        }
        knew
    }
}

impl Aerodrome {
    /// An engine at the start of a trace.
    pub fn new() -> Aerodrome {
        Aerodrome::default()
    }

    fn slot(&mut self, id: StrandId) -> u32 {
        match self.slot_of.entry(id) {
            Some(slot) => *slot,
            None => self.allocate(id),
        }
    }

    fn allocate(&mut self, id: StrandId) -> u32 {
        self.serials += 1;
        let mut clock = Clock::default();
        let slot = self.free.pop().unwrap_or(self.strands.len() as u32);
        let time = self
            .strands
            .get(slot as usize)
            .map_or(0, |old| old.clock.get(slot));
        clock.set(slot, time + 1);
        let strand = Strand {
            id,
            serial: self.serials,
            clock: Arc::new(clock),
            lived: false,
            open: None,
            updates: FxHashSet::default(),
        };
        match self.strands.get_mut(slot as usize) {
            Some(old) => *old = strand,
            None => self.strands.push(strand),
        }
        *self.slot_of.entry(id) = Some(slot);
        slot
    }

    /// The strand is over and will not be joined any more.
    fn release(&mut self, id: StrandId) {
        if let Some(slot) = self.slot_of.entry(id).take() {
            self.free.push(slot);
        }
    }

    fn violation(&self, slot: u32, position: u64) -> Option<Box<Violation>> {
        let open = self.strands[slot as usize].open.as_ref()?;
        let transactions = vec![open.transaction.clone()];
        Some(Box::new(Violation {
            event: position,
            blame: 0,
            transactions,
            edges: Vec::new(),
        }))
    }

    /// The clock knows the beginning of the strand's open transaction.
    fn is_known(&self, slot: u32, clock: &Clock) -> bool {
        self.strands[slot as usize]
            .open
            .as_ref()
            .is_some_and(|open| open.begin <= clock.get(slot))
    }

    fn join(&mut self, slot: u32, clock: &Arc<Clock>) {
        let own = &mut self.strands[slot as usize].clock;
        if !Arc::ptr_eq(own, clock) && !own.knows(clock) {
            Arc::make_mut(own).join(clock);
        }
    }

    /// The strand in `slot` comes after all of the group: the paper's `checkAndGet`.
    fn after(&mut self, group: &mut Group, slot: u32, position: u64) -> Option<Box<Violation>> {
        let mut found = None;
        let serial = self.strands[slot as usize].serial;
        if group.single.len() > 1 || group.folded.is_some() {
            group.fold();
        }
        if let Some(folded) = &group.folded {
            if self.is_known(slot, &folded.check) {
                found = self.violation(slot, position);
            } else if !self.strands[slot as usize].clock.knows(&folded.all) {
                Arc::make_mut(&mut self.strands[slot as usize].clock).join(&folded.all);
            }
        } else if let Some(stored) = group.single.first().filter(|it| it.serial != serial) {
            if self.is_known(slot, &stored.clock) {
                found = self.violation(slot, position);
            } else {
                self.join(slot, &stored.clock);
            }
        }
        found
    }

    /// The strand's clock, to be stored in an object.
    fn store(&mut self, slot: u32, object: u32) -> Stored {
        let strand = &self.strands[slot as usize];
        let stored = Stored {
            slot,
            serial: strand.serial,
            clock: Arc::clone(&strand.clock),
        };
        self.expect_updates(object, &stored.clock);
        stored
    }

    /// The object's clock is to be brought up to date at the end of the open transactions that
    /// `clock` knows.
    fn expect_updates(&mut self, object: u32, clock: &Clock) {
        for (strand, slot) in self.strands.iter_mut().zip(0_u32..) {
            let open = strand.open.as_ref();
            if open.is_some_and(|open| open.begin <= clock.get(slot)) {
                strand.updates.insert(object);
            }
        }
    }

    fn begin(&mut self, event: Event, position: u64) {
        let slot = self.live(event.strand);
        let strand = &mut self.strands[slot as usize];
        let begin = strand.clock.get(slot) + 1;
        Arc::make_mut(&mut strand.clock).set(slot, begin);
        let transaction = Transaction {
            strand: strand.id,
            block: Some(event.block()),
            begin: Some(position),
            site: event.site,
        };
        strand.open = Some(OpenTransaction { begin, transaction });
    }

    fn end(&mut self, slot: u32, position: u64) -> Option<Box<Violation>> {
        let strand = &mut self.strands[slot as usize];
        let begin = strand.open.take()?.begin;
        let mut updates = std::mem::take(&mut strand.updates);
        let clock = Arc::clone(&strand.clock);
        let mut found = None;
        if (0..self.strands.len() as u32).any(|other| other != slot && self.is_known(other, &clock))
        {
            for other in 0..self.strands.len() as u32 {
                if other == slot || self.strands[other as usize].clock.get(slot) < begin {
                    continue;
                }
                if self.is_known(other, &clock) {
                    found = found.or_else(|| self.violation(other, position));
                } else {
                    self.join(other, &clock);
                }
            }
            for &object in &updates {
                let mut knew = false;
                if let Some(Some(variable)) = self.variables.get_mut(object) {
                    for group in variable.all() {
                        knew |= group.learn(slot, begin, &clock);
                    }
                }
                if let Some(Some(sync)) = self.syncs.get_mut(object) {
                    for group in [
                        &mut sync.exclusive,
                        &mut sync.shared,
                        &mut sync.signals,
                        &mut sync.send,
                    ] {
                        knew |= group.learn(slot, begin, &clock);
                    }
                }
                if knew {
                    self.expect_updates(object, &clock);
                }
            }
        }
        updates.clear();
        self.strands[slot as usize].updates = updates;
        found
    }

    /// The slot of a strand that does something.
    fn live(&mut self, id: StrandId) -> u32 {
        let slot = self.slot(id);
        self.strands[slot as usize].lived = true;
        slot
    }

    fn access(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.live(event.strand);
        let mut groups = self.variables.take(event.target).unwrap_or_default();
        let mut found = None;
        for group in groups.before(event.op) {
            let violation = self.after(group, slot, position);
            found = found.or(violation);
        }
        let group = groups.join(event.op);
        let clock = &self.strands[slot as usize].clock;
        if !group.single.iter().any(|it| Arc::ptr_eq(&it.clock, clock)) {
            group.add(self.store(slot, event.target));
        }
        *self.variables.entry(event.target) = Some(groups);
        found
    }

    fn sync(&mut self, event: Event) -> &mut Sync {
        self.syncs.entry(event.target).get_or_insert_default()
    }

    /// An event that others come after.
    fn leave(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.live(event.strand);
        match event.op {
            Op::Send => self.sync(event).send = Group::of(self.store(slot, event.target)),
            Op::Signal | Op::Reach => {
                let stored = self.store(slot, event.target);
                self.sync(event).signals.add(stored);
            }
            Op::ReleaseShared => {
                let stored = self.store(slot, event.target);
                self.sync(event).shared.add(stored);
            }
            _ => {
                // After the acquire: the guard may have been moved.
                let mut exclusive = std::mem::take(&mut self.sync(event).exclusive);
                let found = self.after(&mut exclusive, slot, position);
                self.exclude(exclusive, slot, event);
                return found;
            }
        }
        None
    }

    /// The strand has acquired or released a lock for itself alone; `last` is who did so before.
    fn exclude(&mut self, last: Group, slot: u32, event: Event) {
        let clock = &self.strands[slot as usize].clock;
        let is_unchanged = matches!(&last.single[..], [it] if Arc::ptr_eq(&it.clock, clock));
        let mut exclusive = last;
        if !is_unchanged || exclusive.folded.is_some() {
            exclusive.clear();
            exclusive.single.push(self.store(slot, event.target));
        }
        self.sync(event).exclusive = exclusive;
    }

    /// An event that comes after others.
    fn arrive(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.live(event.strand);
        if let Op::Acquire | Op::Upgrade = event.op {
            let Sync {
                exclusive, shared, ..
            } = self.sync(event);
            let (mut exclusive, mut shared) = (std::mem::take(exclusive), std::mem::take(shared));
            let found = self.after(&mut exclusive, slot, position);
            let after_shared = self.after(&mut shared, slot, position);
            self.exclude(exclusive, slot, event);
            return found.or(after_shared);
        }
        let mut sync = std::mem::take(self.sync(event));
        let found = match event.op {
            Op::Recv => self.after(&mut sync.send, slot, position),
            Op::Await | Op::Leave => self.after(&mut sync.signals, slot, position),
            _ => self.after(&mut sync.exclusive, slot, position),
        };
        *self.sync(event) = sync;
        found
    }

    fn retire(&mut self, object: u32) {
        if let Some(variable) = self.variables.get_mut(object) {
            *variable = None;
        }
        if let Some(sync) = self.syncs.get_mut(object) {
            *sync = None;
        }
    }

    fn fork(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let parent = self.live(event.strand);
        let found = self.exit(event.other(), position);
        self.release(event.other());
        let child = self.allocate(event.other());
        let clock = Arc::clone(&self.strands[parent as usize].clock);
        self.join(child, &clock);
        found
    }

    fn exit(&mut self, id: StrandId, position: u64) -> Option<Box<Violation>> {
        let slot = *self.slot_of.entry(id);
        slot.and_then(|slot| self.end(slot, position))
    }

    fn join_strand(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.live(event.strand);
        let mut found = self.exit(event.other(), position);
        if let Some(child) = *self.slot_of.entry(event.other()) {
            let strand = &self.strands[child as usize];
            if strand.lived {
                let clock = Arc::clone(&strand.clock);
                if self.is_known(slot, &clock) {
                    found = found.or_else(|| self.violation(slot, position));
                } else {
                    self.join(slot, &clock);
                }
            }
            self.release(event.other());
        }
        found
    }
}

impl Engine for Aerodrome {
    fn step(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        match event.op {
            Op::Begin => self.begin(event, position),
            Op::End => {
                let slot = self.live(event.strand);
                return self.end(slot, position);
            }
            Op::Read | Op::Write | Op::ReadWrite | Op::Update(_) | Op::Vain(_) => {
                return self.access(event, position);
            }
            Op::Acquire | Op::AcquireShared | Op::Upgrade | Op::Await | Op::Leave => {
                return self.arrive(event, position);
            }
            Op::Release | Op::ReleaseShared | Op::Downgrade | Op::Signal | Op::Reach | Op::Send => {
                return self.leave(event, position);
            }
            Op::Recv => {
                let found = self.arrive(event, position);
                self.retire(event.target);
                return found;
            }
            Op::Fork => return self.fork(event, position),
            Op::Join => return self.join_strand(event, position),
            Op::Exit => return self.exit(event.strand, position),
            Op::Retire => self.retire(event.target),
            no_step!() => {}
        }
        None
    }
}

#[cfg(test)]
impl super::figures::Clocks for Aerodrome {
    fn of_strand(&self, strand: usize) -> &Clock {
        &self.strands[strand].clock
    }

    fn of_write(&self, variable: usize) -> &Clock {
        let groups = self.variables[variable as u32].as_ref();
        let write = groups.and_then(|groups| groups.last_write());
        &write.expect("the variable is written").single[0].clock
    }
}
