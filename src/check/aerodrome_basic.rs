//! The vector-clock algorithm as it is published, without any reduction.
//!
//! # The algorithm
//!
//! Mathur and Viswanathan, *Atomicity checking in linear time using vector clocks*, ASPLOS 2020,
//! Algorithm 1. A strand `t` has two clocks: `C[t]` of its last event and `C▷[t]` of its last
//! begin. A lock has the clock `L` of its last release, a variable the clock `W` of its last write
//! and, for each strand, the clock `R[t]` of that strand's last read. An end visits every clock
//! that there is, and brings those up to date that know the transaction's begin.
//!
//! [`aerodrome`](super::aerodrome) is the same algorithm after the reductions of the paper's
//! section 4.3 and more; this one is what they are measured against. An end costs as much as there
//! are objects, so it is no engine for large traces.
//!
//! # Where it is more than Algorithm 1
//!
//! *Classes.* `L`, `W` and `R[t]` are instances of one thing: a clock for the last event of a
//! class, of any strand or of each. The operations that the paper does not have (shared locks,
//! updates, signals, messages) are further classes.
//!
//! *A join of a strand without events* takes nothing. Line 22 to the letter reports a transaction
//! that forks a strand and joins it before that strand has done anything, although nothing comes
//! between the two: by definition 1 that is no violation.
//!
//! *A strand's number* may be given away again; its slot in the clocks is not. So each strand of
//! the trace is one of the paper's threads, and clocks grow with the number of strands.

use super::groups::commute;
use super::{Clock, Engine, Transaction, Violation};
use crate::dense::Dense;
use crate::trace::{Event, Op, StrandId, Update};

/// The published engine without reductions. See the [module's documentation](self).
#[derive(Debug, Default)]
pub struct AerodromeBasic {
    strands: Vec<Strand>,
    slot_of: Dense<StrandId, Option<u32>>,
    objects: Dense<u32, Vec<Last>>,
}

#[derive(Debug, Default)]
struct Strand {
    /// `C[t]`.
    clock: Clock,
    /// `C▷[t]`.
    begin: Clock,
    /// The transaction that is open.
    open: Option<Transaction>,
    /// It has had an event.
    lived: bool,
}

/// The clock of the last event of a class.
#[derive(Debug)]
struct Last {
    class: Class,
    /// Whose event: the paper's `lastWThr`, `lastRelThr`, and the `t` of `R[t]`.
    slot: u32,
    clock: Clock,
}

/// Events that others come after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Read,
    Write,
    Update(Update),
    Vain(Update),
    /// Of a lock, for oneself alone.
    Acquire,
    Release,
    ReleaseShared,
    Signal,
    Reach,
    Send,
}

impl Class {
    /// The class that an event of this operation is the last of.
    fn of(op: Op) -> Option<Class> {
        Some(match op {
            Op::Read => Class::Read,
            Op::Write | Op::ReadWrite => Class::Write,
            Op::Update(kind) => Class::Update(kind),
            Op::Vain(kind) => Class::Vain(kind),
            Op::Acquire | Op::Upgrade => Class::Acquire,
            Op::Release | Op::Downgrade => Class::Release,
            Op::ReleaseShared => Class::ReleaseShared,
            Op::Signal => Class::Signal,
            Op::Reach => Class::Reach,
            Op::Send => Class::Send,
            _ => return None,
        })
    }

    /// Whether an event of the operation comes after those of the class.
    fn precedes(self, op: Op) -> bool {
        let access = match self {
            Class::Read => Op::Read,
            Class::Write => Op::Write,
            Class::Update(kind) => Op::Update(kind),
            Class::Vain(kind) => Op::Vain(kind),
            Class::Acquire => return matches!(op, Op::Release | Op::Downgrade),
            Class::Release => return matches!(op, Op::Acquire | Op::AcquireShared | Op::Upgrade),
            Class::ReleaseShared => return matches!(op, Op::Acquire | Op::Upgrade),
            Class::Signal => return op == Op::Await,
            Class::Reach => return op == Op::Leave,
            Class::Send => return op == Op::Recv,
        };
        let is_access = matches!(
            op,
            Op::Read | Op::Write | Op::ReadWrite | Op::Update(_) | Op::Vain(_)
        );
        is_access && !commute(access, op)
    }

    /// One clock for all strands: the next of its kind comes after it, whoever does it.
    fn is_single(self) -> bool {
        matches!(
            self,
            Class::Write | Class::Acquire | Class::Release | Class::Send
        )
    }
}

impl AerodromeBasic {
    /// An engine at the start of a trace.
    pub fn new() -> AerodromeBasic {
        AerodromeBasic::default()
    }

    /// The slot of a strand that does something.
    fn live(&mut self, id: StrandId) -> u32 {
        let slot = match *self.slot_of.entry(id) {
            Some(slot) => slot,
            None => self.allocate(id),
        };
        self.strands[slot as usize].lived = true;
        slot
    }

    fn allocate(&mut self, id: StrandId) -> u32 {
        let slot = self.strands.len() as u32;
        let mut strand = Strand::default();
        strand.clock.set(slot, 1);
        self.strands.push(strand);
        *self.slot_of.entry(id) = Some(slot);
        slot
    }

    /// `checkAndGet`: the strand in `slot` comes after what `clock` knows.
    fn check_and_get(&mut self, clock: &Clock, slot: u32, position: u64) -> Option<Box<Violation>> {
        let strand = &mut self.strands[slot as usize];
        let open = strand.open.as_ref();
        if let Some(open) = open.filter(|_| clock.knows(&strand.begin)) {
            return Some(Box::new(Violation {
                event: position,
                blame: 0,
                transactions: vec![open.clone()],
                edges: Vec::new(),
            }));
        }
        strand.clock.join(clock);
        None
    }

    fn begin(&mut self, event: Event, position: u64) {
        let slot = self.live(event.strand);
        let strand = &mut self.strands[slot as usize];
        strand.clock.set(slot, strand.clock.get(slot) + 1);
        strand.begin = strand.clock.clone();
        strand.open = Some(Transaction {
            strand: event.strand,
            block: Some(event.block()),
            begin: Some(position),
            site: event.site,
        });
    }

    fn end(&mut self, slot: u32, position: u64) -> Option<Box<Violation>> {
        let strand = &mut self.strands[slot as usize];
        strand.open.take()?;
        let (begin, clock) = (strand.begin.clone(), strand.clock.clone());
        let mut found = None;
        // Most clocks have not even heard of the strand's own time, which is looked at first.
        let knows = |it: &Clock| it.get(slot) >= begin.get(slot) && it.knows(&begin);
        for other in 0..self.strands.len() as u32 {
            if other != slot && knows(&self.strands[other as usize].clock) {
                let violation = self.check_and_get(&clock, other, position);
                found = found.or(violation);
            }
        }
        for last in self.objects.iter_mut().flatten() {
            if knows(&last.clock) {
                last.clock.join(&clock);
            }
        }
        found
    }

    /// An event on an object: it comes after those that it does not commute with, and is the last
    /// of its class.
    fn on_object(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.live(event.strand);
        let mut lasts = self.objects.take(event.target);
        let mut found = None;
        for last in &lasts {
            if last.slot != slot && last.class.precedes(event.op) {
                let violation = self.check_and_get(&last.clock, slot, position);
                found = found.or(violation);
            }
        }
        if let Some(class) = Class::of(event.op) {
            let clock = self.strands[slot as usize].clock.clone();
            let same =
                |last: &&mut Last| last.class == class && (class.is_single() || last.slot == slot);
            let last = Last { class, slot, clock };
            match lasts.iter_mut().find(same) {
                Some(older) => *older = last,
                None => lasts.push(last),
            }
        }
        *self.objects.entry(event.target) = lasts;
        found
    }

    fn retire(&mut self, object: u32) {
        if let Some(lasts) = self.objects.get_mut(object) {
            lasts.clear();
        }
    }

    fn fork(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let parent = self.live(event.strand);
        let found = self.exit(event.other(), position);
        let child = self.allocate(event.other());
        let clock = self.strands[parent as usize].clock.clone();
        self.strands[child as usize].clock.join(&clock);
        found
    }

    fn join(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.live(event.strand);
        let found = self.exit(event.other(), position);
        let child = self.slot_of.entry(event.other()).take();
        let child = child.map(|child| &self.strands[child as usize]);
        let Some(clock) = child
            .filter(|child| child.lived)
            .map(|child| child.clock.clone())
        else {
            return found;
        };
        let violation = self.check_and_get(&clock, slot, position);
        found.or(violation)
    }

    /// The strand is over, and so is its transaction.
    fn exit(&mut self, id: StrandId, position: u64) -> Option<Box<Violation>> {
        let slot = *self.slot_of.entry(id);
        slot.and_then(|slot| self.end(slot, position))
    }
}

impl Engine for AerodromeBasic {
    fn step(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        match event.op {
            Op::Begin => self.begin(event, position),
            Op::End => {
                let slot = self.live(event.strand);
                return self.end(slot, position);
            }
            Op::Fork => return self.fork(event, position),
            Op::Join => return self.join(event, position),
            Op::Exit => return self.exit(event.strand, position),
            Op::Retire => self.retire(event.target),
            Op::Recv => {
                let found = self.on_object(event, position);
                self.retire(event.target);
                return found;
            }
            no_step!() => {}
            _ => return self.on_object(event, position),
        }
        None
    }
}

#[cfg(test)]
impl super::figures::Clocks for AerodromeBasic {
    fn of_strand(&self, strand: usize) -> &Clock {
        &self.strands[strand].clock
    }

    fn of_write(&self, variable: usize) -> &Clock {
        let mut lasts = self.objects[variable as u32].iter();
        let last = lasts.find(|last| last.class == Class::Write);
        &last.expect("the variable is written").clock
    }
}
