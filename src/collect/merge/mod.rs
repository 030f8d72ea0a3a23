//! The merge: every strand's records, in one order.
//!
//! A record is emitted when it is first in its strand and next on its object; see
//! [`record`](crate::record) for why any order that this gives is right. If every drawn ticket has
//! been published, some strand is always ready, so the strands are simply tried in turn.
//!
//! Of the many orders the best one has transactions whole: what nothing came in between of is part
//! of no cycle and need not be judged ([`Sink::skip`]). So a transaction waits at its begin until
//! all of it can be emitted in one go. In a program whose locking is right some strand always can.
//! Where none can, because transactions really overlap or one goes on for long, one is taken apart.
//!
//! Strands write while the merge reads, perhaps faster than it does: a run ends after so many
//! records, and in it no strand keeps the others from their turn.

mod decode;
mod lives;
mod reader;
mod tickets;
mod turn;
mod whole;

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use self::lives::Lives;
use self::reader::Reader;
use self::tickets::Tickets;
use self::turn::Policy;
use crate::check::Whose;
use crate::record::{Cursor, Record, Strand, What, pool};
use crate::trace::{Event, ObjectId, ObjectKind, StrandId};

/// Takes the merged events, and what is learned of strands and objects on the way.
pub(super) trait Sink {
    fn event(&mut self, event: Event);
    /// A whole transaction, from its begin to its end.
    fn transaction(&mut self, events: &[Event]);
    /// A strand is about to have its first event, under a number that may have been another's.
    fn strand(&mut self, id: u32, strand: NonNull<Strand>, family: u32);
    fn strand_exited(&mut self, id: u32);
    fn family(&mut self, strand: u32, family: u32);
    /// An object is about to have its first event, by this strand, under a number that may have
    /// been another's.
    fn object(&mut self, id: u32, definition: Definition, strand: StrandId);
    /// The strand has dropped the object, though the retirement is yet to come: there are records
    /// of others before it.
    fn drops(&mut self, strand: StrandId, object: u32);
    /// The retirement of such an object was the last event.
    fn retires(&mut self, object: u32);
    fn name(&mut self, object: u32, name: u32);
    /// Whether no transaction is open and nobody wants to see the events of those that begin and
    /// end in one go: see [`skip`](Self::skip).
    fn is_quiet(&self) -> bool;
    /// So many events that nobody needs to see: an event outside of any block, or a whole
    /// transaction with nothing of other strands inside, taken while no transaction is open. Edges
    /// lead forward in time, so whatever such a node reaches begins after it, and what begins after
    /// it never reaches it: it is part of no cycle.
    fn skip(&mut self, events: u64, transactions: u64);
    /// Whether events of these are still to be judged.
    fn holds(&self, whose: Whose) -> bool;
    /// The strand's next event has this stack.
    fn stack(&mut self, strand: u32, stack: u32);
    /// The future of the strand's transaction is dropped.
    fn cancelled(&mut self, strand: u32);
    /// The strand's transaction ends next, by a panic.
    fn panicked(&mut self, strand: u32);
}

/// How far a strand had written at some moment.
#[derive(Debug)]
pub(super) struct Goal {
    strand: NonNull<Strand>,
    records: u64,
}

// SAFETY: the pointer is compared and not followed.
unsafe impl Send for Goal {}

/// A record that others have to wait for, and that was not published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    /// One who waits.
    pub(super) waiter: StrandId,
    pub(super) object: ObjectId,
    /// The record's place among the object's; nothing where it defines the object.
    pub(super) ticket: Option<u32>,
}

/// What a record says of a new object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Definition {
    pub(super) kind: ObjectKind,
    /// The code of its type's name; 0 for a message.
    pub(super) type_name: u32,
    pub(super) created: u32,
}

/// The records after which a run ends though there may be more.
const ENOUGH: u32 = 1 << 16;

/// For how long a strand waits for its turn before a transaction is taken apart, though its end may
/// be still to come.
const PATIENCE: Duration = Duration::from_micros(100);

#[derive(Debug, Default)]
pub(super) struct Merge {
    readers: Vec<Reader>,
    lives: Lives,
    tickets: Tickets,
    /// The events of the transaction that is emitted whole.
    transaction: Vec<Event>,
    /// The ticket of the next change of a watched variable.
    watched: u32,
    /// Whether one is under way: its value is remembered for properties to come, though nobody else
    /// may need to see it.
    is_watched: bool,
    /// A strand that works for another's transaction was left for later.
    left_workers: bool,
    /// Some record had to wait for its turn in the last pass.
    is_blocked: bool,
    stall: Option<Stall>,
}

/// Records wait for their turn, and nothing was taken.
#[derive(Debug)]
struct Stall {
    since: Instant,
    runs: u32,
}

impl Stall {
    /// No load of the machine keeps a strand for so long from publishing a ticket that it has
    /// drawn.
    const TIME: Duration = Duration::from_secs(5);
    /// So often the strands were looked at: time alone passes in a process that was stopped as a
    /// whole, too.
    const RUNS: u32 = 100;

    fn is_long(&self) -> bool {
        self.runs >= Self::RUNS && self.since.elapsed() > Self::TIME
    }
}

// SAFETY: the pointers lead to strands and chunks that live until the merge gives them back, and of
// which it is the one reader.
unsafe impl Send for Merge {}

impl Merge {
    /// Emits what can be emitted now, or [`ENOUGH`] of it; how many records that were. What could
    /// be emitted later as a whole transaction waits for a while, unless everything is wanted at
    /// once.
    pub(super) fn run(&mut self, everything: bool, sink: &mut impl Sink) -> u32 {
        for reader in &mut self.readers {
            reader.look();
        }
        let mut total = 0;
        loop {
            self.add_announced(sink);
            self.look_for_ends();
            (self.left_workers, self.is_blocked) = (false, false);
            let mut taken = 0;
            for index in 0..self.readers.len() {
                taken += self.advance(index, Policy::Whole, sink);
            }
            if taken == 0 {
                taken = self.take_one(Policy::Overlapping, sink);
            }
            if taken == 0 && self.left_workers {
                taken = match self.take_one(Policy::Open, sink) {
                    0 => self.take_one(Policy::Work, sink),
                    taken => taken,
                };
            }
            if taken == 0 && everything {
                taken = self.take_one(Policy::Open, sink);
            }
            total += taken;
            if (taken == 0 || total >= ENOUGH) && self.is_impatient() {
                let apart = match self.take_one(Policy::Overlapping, sink) {
                    0 => self.take_one(Policy::Open, sink),
                    taken => taken,
                };
                (taken, total) = (taken + apart, total + apart);
            }
            self.free_exited(sink);
            if taken == 0 || total >= ENOUGH {
                self.note_progress(total);
                return total;
            }
        }
    }

    /// Looks again at the strands with an open transaction: until it ends, nothing that is emitted
    /// can be passed over.
    fn look_for_ends(&mut self) {
        for reader in self.readers.iter_mut().filter(|reader| reader.is_open) {
            reader.look();
        }
    }

    /// A run has taken so many records.
    fn note_progress(&mut self, taken: u32) {
        if taken > 0 || !self.is_blocked {
            if self.stall.take().is_some_and(|stall| stall.is_long()) {
                pool::note_stalled(false);
            }
            return;
        }
        let stall = self.stall.get_or_insert_with(|| Stall {
            since: Instant::now(),
            runs: 0,
        });
        stall.runs += 1;
        if stall.is_long() {
            pool::note_stalled(true);
        }
    }

    /// Lets the first strand that can go on do so; then others may be able to go on whole.
    fn take_one(&mut self, policy: Policy, sink: &mut impl Sink) -> u32 {
        (0..self.readers.len())
            .map(|index| self.advance(index, policy, sink))
            .find(|&taken| taken > 0)
            .unwrap_or(0)
    }

    /// Whether some strand has been waiting for its turn on an object for long, though others may
    /// have gone on.
    fn is_impatient(&mut self) -> bool {
        let mut now = None;
        self.readers.iter_mut().any(|reader| {
            reader.waits.is_some() && {
                let now = *now.get_or_insert_with(Instant::now);
                now - *reader.since.get_or_insert(now) > PATIENCE
            }
        })
    }

    /// Whether everything that a strand had written up to `cursor` was emitted.
    pub(super) fn has_reached(&self, strand: u32, cursor: Cursor) -> bool {
        self.readers
            .iter()
            .find(|reader| reader.id == strand)
            .is_none_or(|r| {
                (r.chunk, r.index) == (cursor.chunk, cursor.records) && r.is_open <= cursor.in_block
            })
    }

    /// How far every strand has written by now.
    pub(super) fn goals(&self) -> Vec<Goal> {
        let goal = |reader: &Reader| Goal {
            strand: reader.strand,
            records: reader.written(),
        };
        self.readers.iter().map(goal).collect()
    }

    /// Whether everything was emitted that these strands had written.
    pub(super) fn has_passed(&self, goals: &[Goal]) -> bool {
        let is_passed = |goal: &Goal| {
            let mut readers = self.readers.iter();
            let reader = readers.find(|reader| reader.strand == goal.strand);
            reader.is_none_or(|reader| reader.taken >= goal.records)
        };
        goals.iter().all(is_passed)
    }

    /// What a strand, or else any, waits for: a record of this object that was not published, by
    /// its ticket.
    pub(super) fn missing(&self, strand: u32) -> Option<Missing> {
        let of = |reader: &&Reader| reader.waits.is_some();
        let mut own = self.readers.iter().filter(|reader| reader.id == strand);
        let reader = own.find(of).or_else(|| self.readers.iter().find(of))?;
        let record = reader.waits?;
        let position = self.tickets.get(record.target())?;
        Some(Missing {
            waiter: StrandId(reader.id),
            object: ObjectId(record.target()),
            ticket: position.next(),
        })
    }

    /// Makes every living strand of which `which` is true look up from its work.
    pub(super) fn alarm(&self, which: impl Fn(u32) -> bool) {
        for reader in self.readers.iter().filter(|reader| which(reader.id)) {
            // SAFETY: a reader's strand lives until the reader is removed.
            unsafe { reader.strand.as_ref() }.alarm();
        }
    }

    /// Begins to read the strands that are new.
    fn add_announced(&mut self, sink: &mut impl Sink) {
        for strand in pool::announced() {
            // SAFETY: an announced strand lives until we free it.
            let new = unsafe { strand.as_ref() };
            self.lives.begin(new.id, new.forked);
            self.readers.push(Reader::new(strand, new.id, new.first));
            if !new.forked {
                sink.strand(new.id, strand, new.first_family);
            }
        }
    }

    /// Frees the strands that have written their last record, and gives back the numbers that
    /// nobody needs any more.
    fn free_exited(&mut self, sink: &impl Sink) {
        let lives = &mut self.lives;
        self.readers.retain(|reader| {
            if reader.exited {
                // SAFETY: the exit was the last record, and the last thing that the strand did with
                // its memory.
                let strand = unsafe { reader.strand.as_ref() };
                pool::give_back_objects(strand.leftover_ids());
                pool::recycle_last(reader.chunk);
                // SAFETY: as above; this reader is being removed.
                unsafe { Strand::free(reader.strand) };
                lives.end(reader.id);
            }
            !reader.exited
        });
        self.lives.give_back(sink);
    }

    /// The strand was joined, or its handle is gone.
    fn release_strand(&mut self, strand: u32) {
        self.lives.release(strand);
        if !self.readers.iter().any(|reader| reader.id == strand) {
            self.lives.end(strand);
        }
    }

    /// Whether a record may be emitted, where it is the strand's next one.
    #[inline]
    fn is_ready(&mut self, record: &Record) -> bool {
        use What::*;
        match record.what() {
            Block | Unwind | Cancel | Split | Restart | Pause | Notify | Value | Written | Fork
            | Detach | Exit | Family | GuardRead | GuardWrite | Stack => true,
            Join => self.lives.has_exited(record.target()),
            Watched => self.watched == record.ticket(),
            Define | Send => !self.tickets.position(record.target()).is_defined(),
            Name | Busy => self.tickets.position(record.target()).is_defined(),
            _ => self.tickets.awaits(record),
        }
    }
}
