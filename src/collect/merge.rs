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

use std::collections::HashMap;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use crate::check::Whose;
use crate::record::{Chunk, Cursor, Published, Record, Strand, What, pool};
use crate::trace::{Event, ObjectId, ObjectKind, Op, SiteId, StrandId, Update};

/// Takes the merged events, and what is learned of strands and objects on the way.
pub(super) trait Sink {
    fn event(&mut self, event: Event);
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
    /// The record's place among the object's.
    pub(super) ticket: u64,
}

/// What a record says of a new object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    pub(super) kind: ObjectKind,
    /// The code of its type's name; 0 for a message.
    pub(super) type_name: u32,
    pub(super) created: u32,
}

/// What the merge knows of a strand.
#[derive(Debug)]
struct Reader {
    strand: NonNull<Strand>,
    id: u32,
    chunk: NonNull<Chunk>,
    index: u32,
    /// How far the chunk was filled, and what came after it, when the run began. The writer's line
    /// is looked at once a run: to take it from the writer all the time costs it more than all
    /// else.
    published: Published,
    next: Option<NonNull<Chunk>>,
    /// The code of the block that begins next, or began last; and whether its begin was emitted and
    /// its end was not.
    block: u32,
    is_open: bool,
    /// A record that must wait for its turn, and with it the transaction that is next; and since
    /// when it was seen to wait.
    waits: Option<Record>,
    since: Option<Instant>,
    exited: bool,
    /// How many records were emitted.
    taken: u64,
}

impl Reader {
    /// Looks at how far the strand has come.
    fn look(&mut self) -> (Option<NonNull<Chunk>>, Published) {
        // SAFETY: a reader's chunk lives until the reader recycles it.
        let chunk = unsafe { self.chunk.as_ref() };
        // In this order: see `Chunk::next`.
        self.next = chunk.next();
        self.published = chunk.published();
        (self.next, self.published)
    }
}

/// What was published of a chunk.
#[derive(Clone, Copy)]
struct Page<'a> {
    records: &'a [Record],
    /// Whether a block ended after them.
    ended: bool,
}

impl Page<'_> {
    /// Whether a block ended after the records before `at`.
    #[inline(always)]
    fn ends_before(&self, at: u32) -> bool {
        self.records
            .get(at as usize)
            .map_or(self.ended, Record::ended)
    }
}

/// A block begins or ends.
fn bound(strand: StrandId, op: Op, block: u32, sink: &mut impl Sink) {
    sink.event(Event {
        strand,
        target: block,
        site: SiteId::NONE,
        op,
    });
}

/// What becomes of a strand's number.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    /// Its fork was merged.
    forked: bool,
    exited: bool,
    /// Joined, or its handle is gone.
    released: bool,
    /// The strand in whose transaction it was forked, until that was seen to end.
    works_for: Option<u32>,
}

/// The most records of one strand before it is the next one's turn.
const TURN: u32 = 4_096;

/// The records after which a run ends though there may be more.
const ENOUGH: u32 = 1 << 16;

/// The most records of a transaction that waits until it can be emitted whole.
const WHOLE: u32 = 64;

/// For how long a strand waits for its turn before a transaction is taken apart, though its end may
/// be still to come.
const PATIENCE: Duration = Duration::from_micros(100);

/// Where an object's records are.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// How many it had: the ticket of its next one; [`UNDEFINED`] while there is no such object.
    all: u64,
    /// How many of these were one of several holders'. The ticket of the next such one counts the
    /// others.
    shared: u32,
}

const UNDEFINED: u64 = u64::MAX;

impl Place {
    const NOWHERE: Place = Place {
        all: UNDEFINED,
        shared: 0,
    };

    /// After the first so many records.
    const fn after(all: u64) -> Place {
        Place { all, shared: 0 }
    }

    /// Whether it is a record's turn, where it has a ticket. Records of several holders of a lock
    /// come in any order.
    #[inline(always)]
    fn awaits(&self, ticket: u32, is_shared: bool) -> bool {
        if is_shared {
            self.all != UNDEFINED && (self.all as u32).wrapping_sub(self.shared) == ticket
        } else {
            self.all == u64::from(ticket)
        }
    }

    #[inline(always)]
    fn step(&mut self, is_shared: bool) {
        self.all = u64::from((self.all as u32).wrapping_add(1));
        if is_shared {
            self.shared = self.shared.wrapping_add(1);
        }
    }

    fn step_back(&mut self, is_shared: bool) {
        self.all = u64::from((self.all as u32).wrapping_sub(1));
        if is_shared {
            self.shared = self.shared.wrapping_sub(1);
        }
    }
}

/// What is to be known of a record on the way: whether it is plain, then how many events it stands
/// for; whether it has a ticket; whether it is one of several holders'.
#[derive(Clone, Copy)]
struct Traits(u8);

impl Traits {
    const TICKET: u8 = 1 << 6;
    const SHARED: u8 = 1 << 7;

    const ALL: [Traits; 128] = {
        let mut all = [Traits(0); 128];
        let mut at = 0;
        while at < What::PLAIN.len() {
            let what = What::PLAIN[at];
            let ticket = if what.has_ticket() { Self::TICKET } else { 0 };
            let shared = if what.is_shared() { Self::SHARED } else { 0 };
            all[what as usize] = Traits(steps(what).len() as u8 | ticket | shared);
            at += 1;
        }
        all
    };

    #[inline(always)]
    fn of(record: &Record) -> Traits {
        Self::ALL[record.what() as usize % Self::ALL.len()]
    }

    #[inline(always)]
    fn is_plain(self) -> bool {
        self.0 != 0
    }

    #[inline(always)]
    fn has_ticket(self) -> bool {
        self.0 & Self::TICKET != 0
    }

    #[inline(always)]
    fn is_shared(self) -> bool {
        self.0 & Self::SHARED != 0
    }

    #[inline(always)]
    fn events(self) -> u64 {
        u64::from(self.0 & !(Self::TICKET | Self::SHARED))
    }
}

/// How much is done for a strand before others have their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
    /// Transactions wait until they can be emitted whole.
    Whole,
    /// One that has ended, and that others have come in between of, is taken apart.
    Overlapping,
    /// One that has not ended is taken apart, too.
    Open,
    /// A strand that works for another's transaction, though that other strand has more, until
    /// anybody else can go on.
    Work,
}

#[derive(Debug, Default)]
pub(super) struct Merge {
    readers: Vec<Reader>,
    lives: Vec<Life>,
    /// By object.
    places: Vec<Place>,
    /// By object: the ticket of its retirement, where that was read before what must come before
    /// it.
    retiring: HashMap<u32, u32>,
    /// Numbers that go back to the pool once nothing is held back that they are needed for.
    retired: Vec<Whose>,
    /// The ticket of the next change of a watched variable.
    watched: u32,
    /// Whether one is under way: its value is remembered for properties to come, though nobody else
    /// may need to see it.
    is_watched: bool,
    /// Some strand may work for another's transaction; and one was left for later because of that.
    has_workers: bool,
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

/// What was taken and is not to be judged.
#[derive(Default)]
struct Passed {
    records: u32,
    events: u64,
    transactions: u64,
}

/// A transaction that can be emitted whole.
struct Whole {
    records: u32,
    /// How many events they stand for, with the begin and the end.
    events: u64,
}

/// Why a transaction cannot be emitted whole.
enum Apart {
    /// This record must wait for its turn; whether one before it need not.
    Waits(Record, bool),
    /// Its end is not there yet.
    Unfinished,
    /// It is long, or has records that need more than their turn.
    Unfit,
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
            self.meet(sink);
            (self.left_workers, self.is_blocked) = (false, false);
            let mut taken = 0;
            for index in 0..self.readers.len() {
                taken += self.advance(index, Care::Whole, sink);
            }
            if taken == 0 {
                taken = self.take_one(Care::Overlapping, sink);
            }
            if taken == 0 && self.left_workers {
                taken = match self.take_one(Care::Open, sink) {
                    0 => self.take_one(Care::Work, sink),
                    taken => taken,
                };
            }
            if taken == 0 && everything {
                taken = self.take_one(Care::Open, sink);
            }
            total += taken;
            if (taken == 0 || total >= ENOUGH) && self.is_impatient() {
                let apart = match self.take_one(Care::Overlapping, sink) {
                    0 => self.take_one(Care::Open, sink),
                    taken => taken,
                };
                (taken, total) = (taken + apart, total + apart);
            }
            self.bury(sink);
            if taken == 0 || total >= ENOUGH {
                self.note_progress(total);
                return total;
            }
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
    fn take_one(&mut self, care: Care, sink: &mut impl Sink) -> u32 {
        (0..self.readers.len())
            .map(|index| self.advance(index, care, sink))
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
        let goal = |reader: &Reader| {
            // SAFETY: a reader's chunk lives until the reader recycles it, and so do those after
            // it.
            let mut chunk = unsafe { reader.chunk.as_ref() };
            let mut records = reader.taken - u64::from(reader.index);
            loop {
                // In this order: see `Chunk::next`.
                let (next, published) = (chunk.next(), chunk.published());
                records += u64::from(published.records);
                let Some(next) = next else { break };
                // SAFETY: as above.
                chunk = unsafe { next.as_ref() };
            }
            Goal {
                strand: reader.strand,
                records,
            }
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
        let place = self.places.get(record.target() as usize)?;
        Some(Missing {
            waiter: StrandId(reader.id),
            object: ObjectId(record.target()),
            ticket: place.all,
        })
    }

    /// Makes every living strand of which `which` is true look up from its work.
    pub(super) fn alarm(&self, which: impl Fn(u32) -> bool) {
        for reader in self.readers.iter().filter(|reader| which(reader.id)) {
            // SAFETY: a reader's strand lives until the reader is removed.
            unsafe { reader.strand.as_ref() }.alarm();
        }
    }

    fn meet(&mut self, sink: &mut impl Sink) {
        for strand in pool::announced() {
            // SAFETY: an announced strand lives until we free it.
            let new = unsafe { strand.as_ref() };
            let (id, is_first) = (new.id, !new.forked);
            if self.lives.len() <= id as usize {
                self.lives.resize(id as usize + 1, Life::default());
            }
            self.lives[id as usize] = Life {
                // A strand that nobody forked runs from the start, and nobody joins it.
                forked: is_first,
                exited: false,
                released: is_first,
                works_for: None,
            };
            let mut reader = Reader {
                strand,
                id,
                chunk: new.first,
                index: 0,
                published: Published::default(),
                next: None,
                block: 0,
                is_open: false,
                waits: None,
                since: None,
                exited: false,
                taken: 0,
            };
            reader.look();
            self.readers.push(reader);
            if is_first {
                sink.strand(id, strand, new.first_family);
            }
        }
    }

    /// Emits what a strand has, for one turn; how many records that were.
    fn advance(&mut self, index: usize, care: Care, sink: &mut impl Sink) -> u32 {
        let reader = &mut self.readers[index];
        if let Some(record) = &reader.waits
            && care == Care::Whole
            && !awaits(&self.places, record)
        {
            self.is_blocked = true;
            return 0;
        }
        reader.waits = None;
        if !self.lives[reader.id as usize].forked {
            return 0;
        }
        let works_for = self.lives[reader.id as usize].works_for;
        if care != Care::Work && works_for.is_some_and(|master| self.has_more(master)) {
            self.left_workers = true;
            return 0;
        }
        let reader = &self.readers[index];
        let (mut chunk, mut at, id) = (reader.chunk, reader.index, StrandId(reader.id));
        let (mut next_chunk, mut published) = (reader.next, reader.published);
        let (mut block, mut is_open) = (reader.block, reader.is_open);
        let (mut left, mut ends) = (TURN, 0);
        let mut waits = None;
        'chunks: loop {
            let page = Page {
                // SAFETY: a reader's chunk lives until the reader recycles it, and it is the one
                // reader.
                records: unsafe { chunk.as_ref().records(published.records) },
                ended: published.ended,
            };
            let end = published.records.min(at.saturating_add(left));
            loop {
                if is_open && page.ends_before(at) {
                    bound(id, Op::End, block, sink);
                    (is_open, ends) = (false, ends + 1);
                    self.dismiss(id.0);
                }
                if sink.is_quiet() && !is_open && self.retiring.is_empty() && !self.is_watched {
                    let passed = self.pass_over(at, end, page, &mut block);
                    sink.skip(passed.events, passed.transactions);
                    (at, left) = (at + passed.records, left - passed.records);
                }
                if at == end {
                    break;
                }
                if care == Care::Work && left < TURN && self.can_go_on() {
                    break 'chunks;
                }
                let record = page.records[at as usize];
                if record.begins() && care != Care::Work {
                    match self.take_whole(at, end, page) {
                        Ok(Whole { records, .. }) => {
                            bound(id, Op::Begin, block, sink);
                            let whole = &page.records[at as usize..][..records as usize];
                            for record in whole {
                                self.emit(id, record, sink);
                            }
                            bound(id, Op::End, block, sink);
                            if !self.retiring.is_empty() {
                                for record in whole.iter().filter(|r| r.what().has_ticket()) {
                                    self.retire_late(id, record.target(), sink);
                                }
                            }
                            (at, left) = (at + records, left - records);
                            continue;
                        }
                        Err(Apart::Waits(record, is_amid)) => {
                            self.is_blocked = true;
                            if care == Care::Whole || !is_amid {
                                waits = Some(record);
                                break 'chunks;
                            }
                        }
                        Err(Apart::Unfinished) => {
                            let is_end_of_turn = end < published.records;
                            if is_end_of_turn || (care != Care::Open && next_chunk.is_none()) {
                                break 'chunks;
                            }
                        }
                        Err(Apart::Unfit) => {}
                    }
                }
                let traits = Traits::of(&record);
                let is_ready = self.is_ready(&record);
                if !is_ready && record.what() != What::Retire {
                    self.is_blocked = true;
                    waits = traits.is_plain().then_some(record);
                    break 'chunks;
                }
                if record.begins() {
                    bound(id, Op::Begin, block, sink);
                    is_open = true;
                }
                (at, left) = (at + 1, left - 1);
                if !is_ready {
                    // Whoever leaks a guard may hold its acquire back for good, and nobody who
                    // drops the lock is to wait for that.
                    self.retiring.insert(record.target(), record.ticket());
                    sink.drops(id, record.target());
                } else if traits.is_plain() {
                    if traits.has_ticket() {
                        self.place(record.target()).step(traits.is_shared());
                    }
                    self.emit(id, &record, sink);
                    if !self.retiring.is_empty() {
                        self.retire_late(id, record.target(), sink);
                    }
                } else if record.what() == What::Block {
                    block = record.target();
                } else {
                    if record.what() == What::Exit {
                        self.readers[index].exited = true;
                        self.lives[id.0 as usize].exited = true;
                    }
                    self.emit(id, &record, sink);
                    if record.what() == What::Fork
                        && let Some(life) = self.lives.get_mut(record.target() as usize)
                    {
                        life.works_for = works_for.or(is_open.then_some(id.0));
                        self.has_workers |= life.works_for.is_some();
                    }
                }
            }
            if at < published.records {
                break;
            }
            let Some(next) = next_chunk else { break };
            pool::recycle(chunk);
            (chunk, at) = (next, 0);
            let reader = &mut self.readers[index];
            reader.chunk = chunk;
            (next_chunk, published) = reader.look();
            if works_for.is_some() {
                // Whom it works for is to be looked at after it.
                break;
            }
        }
        let reader = &mut self.readers[index];
        (reader.index, reader.waits) = (at, waits);
        (reader.block, reader.is_open) = (block, is_open);
        reader.taken += u64::from(TURN - left);
        if left < TURN {
            reader.since = None;
            pool::note_merged(TURN - left);
        }
        TURN - left + ends
    }

    /// Whether there is something of a strand's that was not emitted. Where a strand works for this
    /// one's transaction, what it does is part of that until the end, and an end has no ticket: so
    /// the end is emitted before whatever it does not have to wait for. Asked after a look at the
    /// worker, the answer includes every end that came before what was seen there.
    fn has_more(&mut self, strand: u32) -> bool {
        let mut readers = self.readers.iter_mut();
        readers
            .find(|reader| reader.id == strand)
            .is_some_and(|it| {
                let (next, published) = it.look();
                next.is_some() || it.index < published.records || (it.is_open && published.ended)
            })
    }

    /// Whether it is now the turn of a record that has waited for it.
    fn can_go_on(&self) -> bool {
        let mut waits = self.readers.iter().filter_map(|it| it.waits.as_ref());
        waits.any(|record| awaits(&self.places, record))
    }

    /// The strand's transaction has ended: nobody works for it any more.
    #[inline]
    fn dismiss(&mut self, strand: u32) {
        if self.has_workers {
            self.has_workers = false;
            for life in &mut self.lives {
                life.works_for = life.works_for.filter(|&master| master != strand);
                self.has_workers |= life.works_for.is_some();
            }
        }
    }

    /// Takes the turns of whole transactions, and of plain records outside of blocks, as long as it
    /// is theirs and they end before `end`.
    #[inline(never)]
    fn pass_over(&mut self, from: u32, end: u32, page: Page<'_>, block: &mut u32) -> Passed {
        let mut passed = Passed::default();
        let mut at = from;
        while at < end {
            let first = &page.records[at as usize];
            if first.begins() {
                let Ok(whole) = self.take_whole(at, end, page) else {
                    break;
                };
                at += whole.records;
                passed.events += whole.events;
                passed.transactions += 1;
            } else if first.what() == What::Block {
                *block = first.target();
                at += 1;
            } else {
                let traits = Traits::of(first);
                if !traits.is_plain() || !self.takes(first, traits) {
                    break;
                }
                at += 1;
                passed.events += traits.events();
            }
        }
        passed.records = at - from;
        passed
    }

    /// Takes a plain record's turn, if it is.
    #[inline(always)]
    fn takes(&mut self, record: &Record, traits: Traits) -> bool {
        if !traits.has_ticket() {
            return true;
        }
        match self.places.get_mut(record.target() as usize) {
            Some(place) if place.awaits(record.ticket(), traits.is_shared()) => {
                place.step(traits.is_shared());
                true
            }
            _ => false,
        }
    }

    /// Takes the turns of all records of the transaction that begins at `at`, if it ends before
    /// `end` and each is next on its object.
    #[inline(always)]
    fn take_whole(&mut self, at: u32, end: u32, page: Page<'_>) -> Result<Whole, Apart> {
        let mut events = 2;
        let mut index = at;
        let limit = end.min(at + WHOLE);
        let apart = loop {
            if index == limit {
                break match limit < end {
                    true => Apart::Unfit,
                    false => Apart::Unfinished,
                };
            }
            let record = &page.records[index as usize];
            let traits = Traits::of(record);
            if !traits.is_plain() {
                break Apart::Unfit;
            }
            if !self.takes(record, traits) {
                break Apart::Waits(*record, index > at);
            }
            events += traits.events();
            index += 1;
            if page.ends_before(index) {
                let records = index - at;
                return Ok(Whole { records, events });
            }
        };
        self.give_back(&page.records[at as usize..index as usize]);
        Err(apart)
    }

    /// Gives turns back that were taken.
    #[inline(never)]
    fn give_back(&mut self, taken: &[Record]) {
        for record in taken.iter().filter(|record| record.what().has_ticket()) {
            self.places[record.target() as usize].step_back(record.what().is_shared());
        }
    }

    /// Frees the strands that have written their last record, and the numbers of objects that have
    /// had theirs.
    fn bury(&mut self, sink: &impl Sink) {
        let (lives, retired) = (&mut self.lives, &mut self.retired);
        self.readers.retain(|reader| {
            if reader.exited {
                // SAFETY: the exit was the last record, and the last thing that the strand did with
                // its memory.
                let strand = unsafe { reader.strand.as_ref() };
                pool::give_back_objects(strand.leftover_ids());
                pool::recycle_last(reader.chunk);
                // SAFETY: as above; this reader is being removed.
                unsafe { Strand::free(reader.strand) };
                release_number(lives, reader.id, retired);
            }
            !reader.exited
        });
        if self.retired.is_empty() {
            return;
        }
        let retired = std::mem::take(&mut self.retired);
        let (held, free): (Vec<_>, Vec<_>) = retired.into_iter().partition(|&it| sink.holds(it));
        self.retired = held;
        pool::give_back_objects(free.iter().filter_map(|owner| match owner {
            Whose::Object(object) => Some(object.0),
            _ => None,
        }));
        for owner in free {
            if let Whose::Strand(strand) = owner {
                pool::give_back_strand(strand.0);
            }
        }
    }

    #[inline]
    fn place(&mut self, object: u32) -> &mut Place {
        let index = object as usize;
        if self.places.len() <= index {
            self.places
                .resize((index + 1).next_power_of_two(), Place::NOWHERE);
        }
        &mut self.places[index]
    }

    #[inline]
    fn is_ready(&mut self, record: &Record) -> bool {
        use What::*;
        match record.what() {
            Block | Unwind | Split | Restart | Pause | Notify | Value | Written | Fork | Detach
            | Exit | Family | GuardRead | GuardWrite | Stack => true,
            Join => self
                .lives
                .get(record.target() as usize)
                .is_none_or(|life| life.exited),
            Watched => self.watched == record.ticket(),
            Define | Send => self.place(record.target()).all == UNDEFINED,
            Name | Busy => self.place(record.target()).all != UNDEFINED,
            _ => awaits(&self.places, record),
        }
    }

    #[inline]
    fn emit(&mut self, strand: StrandId, record: &Record, sink: &mut impl Sink) {
        use What::*;
        let target = record.target();
        let mut event = |op, site| {
            sink.event(Event {
                strand,
                target,
                site: SiteId(site),
                op,
            })
        };
        let site = record.site();
        match record.what() {
            Unwind => sink.panicked(strand.0),
            Stack => sink.stack(strand.0, target),
            Watched => self.is_watched = true,
            // Only now: what comes next among watched variables comes after this, whatever the
            // strand has had to wait for in between.
            Written => {
                self.is_watched = false;
                self.watched = self.watched.wrapping_add(1);
            }
            Split => event(Op::Split, site),
            Restart => event(Op::Restart, site),
            Pause => event(Op::Pause, site),
            Busy => event(Op::Busy, site),
            Vain => event(Op::Vain(vain(record.more())), site),
            Notify => event(Op::Notify, site),
            Value => sink.event(Event {
                strand,
                target,
                site: SiteId(record.ticket()),
                op: Op::Value,
            }),
            Fork => {
                // The child may have been announced after this pass began.
                self.meet(sink);
                if let Some(child) = self.readers.iter().find(|reader| reader.id == target) {
                    // SAFETY: as in `meet`.
                    let family = unsafe { child.strand.as_ref() }.first_family;
                    sink.strand(target, child.strand, family);
                    self.lives[target as usize].forked = true;
                }
                sink.event(Event {
                    strand,
                    target,
                    site: SiteId(site),
                    op: Op::Fork,
                });
            }
            Join => {
                event(Op::Join, site);
                self.release(target);
            }
            Detach => self.release(target),
            Exit => {
                event(Op::Exit, site);
                sink.strand_exited(strand.0);
            }
            Family => sink.family(strand.0, target),
            Define => {
                let kind = kind(record.more() as u8);
                sink.object(
                    target,
                    Definition {
                        kind,
                        type_name: record.ticket(),
                        created: site,
                    },
                    strand,
                );
                *self.place(target) = Place::after(0);
                self.retire_late(strand, target, sink);
            }
            Name => sink.name(target, site),
            Send => {
                sink.object(
                    target,
                    Definition {
                        kind: ObjectKind::Message,
                        type_name: 0,
                        created: site,
                    },
                    strand,
                );
                sink.event(Event {
                    strand,
                    target,
                    site: SiteId(site),
                    op: Op::Send,
                });
                *self.place(target) = Place::after(1);
            }
            Recv => {
                event(Op::Recv, site);
                self.retire(target);
            }
            Retire | Lost => {
                event(Op::Retire, site);
                self.retire(target);
            }
            what => {
                let second = SiteId(record.second_site());
                for (op, is_second) in steps(what) {
                    event(*op, if *is_second { second.0 } else { site });
                }
            }
        }
    }

    /// Retires an object whose retirement came before its last record, which has just been emitted.
    #[inline]
    fn retire_late(&mut self, strand: StrandId, object: u32, sink: &mut impl Sink) {
        if !self.retiring.is_empty()
            && let Some(&ticket) = self.retiring.get(&object)
            && self.place(object).all == u64::from(ticket)
        {
            self.retiring.remove(&object);
            sink.event(Event {
                strand,
                target: object,
                site: SiteId::NONE,
                op: Op::Retire,
            });
            sink.retires(object);
            self.retire(object);
        }
    }

    fn retire(&mut self, object: u32) {
        *self.place(object) = Place::NOWHERE;
        self.retired.push(Whose::Object(ObjectId(object)));
    }

    fn release(&mut self, strand: u32) {
        if let Some(life) = self.lives.get_mut(strand as usize) {
            life.released = true;
            let buried = !self.readers.iter().any(|reader| reader.id == strand);
            if buried {
                release_number(&mut self.lives, strand, &mut self.retired);
            }
        }
    }
}

/// Whether it is the turn of a record that has a ticket.
#[inline]
fn awaits(places: &[Place], record: &Record) -> bool {
    places
        .get(record.target() as usize)
        .is_some_and(|place| place.awaits(record.ticket(), record.what().is_shared()))
}

/// Gives a strand's number back once nobody can mean it any more: it has exited and nobody will
/// join it.
fn release_number(lives: &mut [Life], id: u32, retired: &mut Vec<Whose>) {
    let life = &mut lives[id as usize];
    if life.exited && life.released {
        *life = Life::default();
        retired.push(Whose::Strand(StrandId(id)));
    }
}

/// The kind that a definition carries as its number.
fn kind(code: u8) -> ObjectKind {
    use ObjectKind::*;
    [Variable, Lock, BareLock, Channel, Message, Signal][code as usize]
}

/// The kind that a vain update carries as its number.
fn vain(code: u32) -> Update {
    use Update::*;
    [Add, And, Or, Xor, Max, Min, Swap][code as usize]
}

/// The events that a plain record stands for, each with whether it has the record's second site.
const fn steps(what: What) -> &'static [(Op, bool)] {
    use Op::*;
    match what {
        What::GuardRead => &[(Read, false)],
        What::GuardWrite => &[(Write, false)],
        What::Acquire => &[(Acquire, false)],
        What::AcquireRead => &[(Acquire, false), (Read, true)],
        What::AcquireWrite => &[(Acquire, false), (Write, true)],
        What::AcquireReadWrite => &[(Acquire, false), (ReadWrite, true)],
        What::Release => &[(Release, false)],
        What::Section => &[(Acquire, false), (Release, false)],
        What::SectionRead => &[(Acquire, false), (Read, true), (Release, false)],
        What::SectionWrite => &[(Acquire, false), (Write, true), (Release, false)],
        What::SectionReadWrite => &[(Acquire, false), (ReadWrite, true), (Release, false)],
        What::AcquireShared => &[(AcquireShared, false)],
        What::AcquireSharedRead => &[(AcquireShared, false), (Read, true)],
        What::ReleaseShared => &[(ReleaseShared, false)],
        What::SectionShared => &[(AcquireShared, false), (ReleaseShared, false)],
        What::SectionSharedRead => &[(AcquireShared, false), (Read, true), (ReleaseShared, false)],
        What::ReadShared => &[(Read, false)],
        #[cfg(feature = "parking_lot")]
        What::Upgrade => &[(Upgrade, false)],
        What::Downgrade => &[(Downgrade, false)],
        What::Read => &[(Read, false)],
        What::Write => &[(Write, false)],
        What::ReadWrite => &[(ReadWrite, false)],
        What::UpdateAdd => &[(Update(self::Update::Add), false)],
        What::UpdateAnd => &[(Update(self::Update::And), false)],
        What::UpdateOr => &[(Update(self::Update::Or), false)],
        What::UpdateXor => &[(Update(self::Update::Xor), false)],
        What::UpdateMax => &[(Update(self::Update::Max), false)],
        What::UpdateMin => &[(Update(self::Update::Min), false)],
        What::UpdateChannel => &[(Update(self::Update::Channel), false)],
        What::UpdateInit => &[(Update(self::Update::Init), false)],
        What::Found => &[(Vain(self::Update::Init), false)],
        What::CompareExchange => &[(CompareExchange, false)],
        What::CompareExchangeFailed => &[(CompareExchangeFailed, false)],
        // Its kind is in the record.
        What::Vain => &[(Read, false)],
        What::Signal => &[(Signal, false)],
        What::Await => &[(Await, false)],
        What::Born => &[(Born, false)],
        _ => &[],
    }
}
