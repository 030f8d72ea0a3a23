//! What each access saw, and whether another schedule can be believed.
//!
//! The published analyses assume that each strand does on the other schedule what it did on this
//! one. What a strand does depends on what it reads. So a schedule is a prediction only if the
//! reads that *bind* see what they saw on this run; otherwise it is a hint.
//!
//! # Which reads bind
//!
//! 1. *Atomics* (and other variables, and a channel's state): every read that its strand goes on
//!    from. A branch may depend on it. The last access of a strand in the schedule is free, because
//!    nothing follows from it, unless it *decides*. A read in a block does so where the block goes
//!    on after it, and where it looks again at what the block had looked at before it did something
//!    else: what was not as expected may be tried again, and such looks are part of no violation.
//!    So does the only look of a block that on this run has gone on after a first look at this
//!    place, as the fast path of a lazy initialisation has, and a look at a place where the block
//!    has waited for another value, or gone on to an exchange of something else, which may answer
//!    for looks before. A failed `compare_exchange` does: with another value it may succeed, or be
//!    tried again. A read outside of blocks decides where the strand goes on to use the same atomic.
//! 2. *A `compare_exchange` that succeeded*, the last access included: with another value it would
//!    have failed, and written nothing. The look that it has the expected value from is no access,
//!    and binds as a read.
//! 3. *A `swap`, `fetch_or`, `fetch_and`, `fetch_xor`* as a read does. As the last access it is
//!    free, unless it would follow one of its own place in the source: a lock word that is set
//!    already is not set again.
//! 4. *`fetch_add` and other counters* see through their own kind: one more or less by others
//!    changes nothing, unless their result *decides*: on this run strands went on differently after
//!    this update, in the same block. Where the result is another one, what is read after it until
//!    the block ends has to be shown, as below: it may be compared with the result, as a ticket is.
//! 5. *The content of a lock that a `Condvar` belongs to*: every access, the last one included,
//!    because with another value the strand may wait, and a write may change a part of it. Whoever
//!    notifies says which lock it is: one that it holds, or the one that it released last.
//! 6. *The content of other locks* does not bind. To check in one critical section and to act in
//!    the next is the bug that prediction is for, and both would see another value on the other
//!    schedule.
//! 7. *What is taken and given back*, a lock's content included: where a block updates an object
//!    and later changes it once more, an update of the same place in between may find it taken.
//!
//! A read may see another value than on this run if on this run an access of the same place in the
//! source saw that very value, after its block had seen the same until then (results of counters
//! included: a ticket), and went on in the same way: two strands that run the same code have shown
//! it for each other, unless a block has waited there. The strand has *strayed* then: all that it
//! sees from there on has to be shown, and what it writes nobody has seen.
//!
//! Values are told apart by who wrote them: the position of the write, and for updates of one kind
//! that follow each other the set of their positions, as their order does not matter.

use super::{Prediction, Run, is_access};
use crate::check::Access;
use crate::dense::Dense;
use crate::trace::{BlockId, Event, ObjectId, ObjectKind, Op, SiteId, StrandId, Update};
use rustc_hash::{FxHashMap, FxHashSet};

/// The content of an object at some point of a schedule.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// What was there before the updates of `run`.
    base: u64,
    /// Of the positions of these updates.
    sum: u64,
    run: Option<Update>,
    writer: Option<Writer>,
    /// Who wrote a value that this run has not seen.
    unseen: Option<StrandId>,
}

#[derive(Clone, Copy, Debug)]
struct Writer {
    event: Event,
    position: u64,
}

fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ value >> 29
}

impl Current {
    /// Tells this value from all others of its object.
    fn value(&self) -> u64 {
        match self.run {
            None => self.base,
            Some(kind) => mix(self.base ^ mix(kind as u64 + 1)).wrapping_add(self.sum),
        }
    }

    /// The same as seen by an access: counters see through their own kind.
    fn seen_by(&self, op: Op) -> u64 {
        match op {
            Op::Update(kind) if is_counter(kind) && self.run == Some(kind) => self.base,
            _ => self.value(),
        }
    }

    fn write(&mut self, writer: Writer, is_unseen: bool) {
        match writer.event.op {
            Op::Update(kind) => {
                if self.run != Some(kind) {
                    (self.base, self.sum, self.run) = (self.value(), 0, Some(kind));
                }
                self.sum = self.sum.wrapping_add(mix(writer.position));
            }
            _ => {
                (self.base, self.sum, self.run) = (writer.position, 0, None);
                self.unseen = None;
            }
        }
        if is_unseen {
            self.unseen = Some(writer.event.strand);
        }
        self.writer = Some(writer);
    }
}

/// Sees or changes an object's content.
#[inline]
pub(super) fn accesses(op: Op) -> bool {
    is_access(op) || op == Op::CompareExchange || is_read(op)
}

/// Sees an object's content and leaves it as it is. A failed exchange stands for the look that one
/// which succeeded answers for.
#[inline]
fn is_read(op: Op) -> bool {
    matches!(op, Op::Read | Op::Vain(_) | Op::CompareExchangeFailed)
}

/// Whether an update's own result is not tracked.
fn is_counter(kind: Update) -> bool {
    use Update::{Add, Channel, Init, Max, Min};
    matches!(kind, Add | Max | Min | Channel | Init)
}

/// Enters what came next at a place; nothing where that differed.
fn merge(nexts: &mut FxHashMap<Place, Option<(Op, SiteId)>>, place: Place, next: (Op, SiteId)) {
    let known = nexts.entry(place).or_insert(Some(next));
    *known = known.filter(|&known| known == next);
}

/// An access, and what it saw.
#[derive(Clone, Copy, Debug)]
struct Look {
    event: Event,
    position: u64,
    seen: u64,
    /// The same, its own kind included.
    value: u64,
    /// Who wrote that; position 0 is nobody.
    writer: (StrandId, u64),
    /// What the strand did next.
    next: (Op, SiteId),
    /// It is the first since a block began or ended.
    is_first: bool,
    /// It is a read that decides.
    decides: bool,
    is_inside: bool,
    /// The block that it is inside of.
    block: BlockId,
}

const _: () = assert!(size_of::<Look>() <= 72);

/// What a strand has seen since a block began or ended, in one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Path(u64);

impl Path {
    fn then(self, look: &Look, seen: u64) -> Path {
        let place = u64::from(look.event.site.0) + 1;
        Path(mix(mix(mix(self.0).wrapping_add(seen)).wrapping_add(place)))
    }
}

/// An access at this place in the source saw this, and its strand went on like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shown {
    object: ObjectId,
    seen: u64,
    site: SiteId,
    op: Op,
    next: (Op, SiteId),
    /// Before the access; of a lock's content, none.
    path: Path,
}

/// A block, and a place in the source.
type Place = (Option<BlockId>, SiteId);

#[derive(Clone, Debug, Default)]
struct Strand {
    looks: Vec<Look>,
    /// The last look waits for what comes next, after this path.
    pending: Option<Path>,
    /// It is not known yet whether the last look decides.
    is_open_end: bool,
    /// What the block has seen.
    path: Path,
    /// Nothing was looked at since a block began or ended.
    is_at_boundary: bool,
    /// The open block.
    block: Option<BlockId>,
    /// What the open block has looked at before its last access.
    looked_at: FxHashSet<ObjectId>,
    /// The lock that was released last.
    released: Option<ObjectId>,
}

/// A strand as it was recorded, with the looks that led to nothing but looking again.
#[derive(Clone, Copy, Debug, Default)]
struct Recorded {
    /// The open block.
    block: Option<BlockId>,
    /// The block has not looked at anything.
    is_at_begin: bool,
    /// Its last event, if that was a look; whether it was the block's first one.
    look: Option<(Event, bool)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Object {
    /// No lock's content: an atomic, say.
    is_variable: Option<bool>,
    /// A `Condvar` belongs to it.
    is_awaited: bool,
    current: Current,
}

/// What became of a schedule's reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// All that bind see what they saw.
    Believable,
    /// The one at this position does not.
    Doubtful(u64),
    /// There were more accesses than room, or the schedules that were judged were too long.
    Unknown,
}

/// The accesses of a trace with what they saw.
#[derive(Debug, Default)]
pub struct Reads {
    is_on: bool,
    strands: Dense<StrandId, Strand>,
    objects: Dense<ObjectId, Object>,
    shown: FxHashSet<Shown>,
    /// By the place of a counter's update: what came next, or nothing where that differed.
    results: FxHashMap<Place, Option<(Op, SiteId)>>,
    recorded: Dense<StrandId, Recorded>,
    /// The same as `results`, by the place of a block's first look.
    branches: FxHashMap<Place, Option<(Op, SiteId)>>,
    /// Where a block has looked before it paused, or has failed to exchange.
    retried: FxHashSet<Place>,
    /// Where a block has looked before it exchanged something else.
    answered: FxHashSet<Place>,
    /// So many accesses are kept.
    kept: usize,
    is_overflown: bool,
    /// So many were looked at by [`judge`](Self::judge).
    spent: std::cell::Cell<usize>,
}

impl Reads {
    /// How many accesses are kept: 144 MiB.
    pub const ROOM: usize = 2 << 20;
    /// How many accesses are looked at, for all schedules together, and [`SHARE`](Self::SHARE) more
    /// for each that is kept.
    pub const BUDGET: usize = 2 << 20;
    /// See [`BUDGET`](Self::BUDGET).
    pub const SHARE: usize = 16;

    /// From here on, reads bind.
    pub fn bind(&mut self) {
        self.is_on = true;
    }

    /// Whether reads bind.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether some accesses were not kept, or not looked at.
    pub fn is_incomplete(&self) -> bool {
        self.is_on && (self.is_overflown || self.spent.get() >= self.budget())
    }

    fn budget(&self) -> usize {
        Reads::BUDGET + Reads::SHARE * self.kept
    }

    /// Takes the next event as it was recorded.
    #[inline]
    pub fn note(&mut self, event: Event) {
        if !self.is_on {
            return;
        }
        let strand = self.recorded.entry(event.strand);
        if let (Some((look, is_first)), Some(_)) = (strand.look.take(), strand.block) {
            let place = (strand.block, look.site);
            let is_exchange = matches!(event.op, Op::CompareExchange | Op::CompareExchangeFailed);
            if event.op == Op::Pause {
                self.retried.insert(place);
            } else if is_exchange && event.target != look.target {
                self.answered.insert(place);
            } else if is_first {
                merge(&mut self.branches, place, (event.op, event.site));
            }
        }
        match event.op {
            Op::Begin => (strand.block, strand.is_at_begin) = (Some(event.block()), true),
            Op::End => strand.block = None,
            op if is_read(op) => {
                if op == Op::CompareExchangeFailed {
                    self.retried.insert((strand.block, event.site));
                }
                strand.look = Some((event, std::mem::take(&mut strand.is_at_begin)));
            }
            op if accesses(op) => strand.is_at_begin = false,
            _ => {}
        }
    }

    /// An event will come; `kind` is asked where it is an object's first access.
    #[inline]
    pub fn classify(&mut self, event: Event, kind: impl FnOnce() -> ObjectKind) {
        if self.is_on && accesses(event.op) {
            let is_variable = &mut self.objects.entry(event.object()).is_variable;
            is_variable
                .get_or_insert_with(|| !matches!(kind(), ObjectKind::Lock | ObjectKind::BareLock));
        }
    }

    /// Takes the next event, which was [classified](Self::classify).
    #[inline]
    pub fn step(&mut self, event: Event, position: u64) {
        if !self.is_on {
            return;
        }
        self.settle(event);
        match event.op {
            op if accesses(op) => self.access(event, position),
            Op::Release | Op::ReleaseShared => {
                self.strands.entry(event.strand).released = Some(event.object());
            }
            _ => {}
        }
    }

    /// The strand notifies a `Condvar` while it holds these locks.
    pub fn notify(&mut self, strand: StrandId, held: impl Iterator<Item = ObjectId>) {
        if !self.is_on {
            return;
        }
        let released = self.strands.entry(strand).released;
        let mut held = held.peekable();
        let last = released.filter(|_| held.peek().is_none());
        for lock in held.chain(last) {
            self.objects.entry(lock).is_awaited = true;
        }
    }

    /// What a strand's last look was followed by is known now.
    fn settle(&mut self, event: Event) {
        let strand = self.strands.entry(event.strand);
        if let (Some(path), Some(look)) = (strand.pending.take(), strand.looks.last_mut()) {
            look.next = (event.op, event.site);
            if look.event.site != SiteId::NONE {
                self.shown.insert(look.shown(look.seen, path));
                if look.is_counter() {
                    merge(&mut self.results, look.place(), look.next);
                }
            }
        }
        // What comes before a lock is given back may well be the last that the block does.
        if strand.is_open_end && !matches!(event.op, Op::Release | Op::ReleaseShared) {
            strand.is_open_end = false;
            if let Some(look) = strand.looks.last_mut() {
                let is_same = accesses(event.op) && event.object() == look.event.object();
                let goes_on = event.op != Op::End;
                look.decides |= if look.is_inside { goes_on } else { is_same };
            }
        }
        if let Op::Begin | Op::End = event.op {
            (strand.path, strand.is_at_boundary) = (Path::default(), true);
            strand.block = (event.op == Op::Begin).then(|| event.block());
            strand.looked_at.clear();
        }
    }

    fn access(&mut self, event: Event, position: u64) {
        let object = self.objects.entry(event.object());
        let is_variable = object.is_variable != Some(false);
        let (seen, value) = (object.current.seen_by(event.op), object.current.value());
        let writer = object.current.writer;
        if !is_read(event.op) {
            object.current.write(Writer { event, position }, false);
        }
        if self.kept == Reads::ROOM {
            self.is_overflown = true;
            return;
        }
        self.kept += 1;
        let strand = self.strands.entry(event.strand);
        let last = strand.looks.last().filter(|last| {
            strand.block.is_some() && is_read(last.event.op) && !strand.is_at_boundary
        });
        let last = last.map(|last| last.event.object());
        let last = last.filter(|&last| last != event.object());
        strand.looked_at.extend(last);
        let look = Look {
            event,
            position,
            seen,
            value,
            writer: writer.map_or((event.strand, 0), |it| (it.event.strand, it.position)),
            next: (Op::Exit, SiteId::NONE),
            is_first: std::mem::take(&mut strand.is_at_boundary),
            decides: is_variable && is_read(event.op) && strand.looked_at.contains(&event.object()),
            is_inside: strand.block.is_some(),
            block: strand.block.unwrap_or(BlockId(0)),
        };
        strand.is_open_end = true;
        let path = is_variable.then_some(strand.path);
        strand.pending = Some(path.unwrap_or_default());
        if is_variable && event.op != Op::Write {
            strand.path = strand.path.then(&look, value);
        }
        strand.looks.push(look);
    }

    fn looks(&self, strand: StrandId, from: u64, to: u64) -> &[Look] {
        let looks = self.strands.get(strand);
        let looks = looks.map_or(&[][..], |strand| &strand.looks);
        let start = looks.partition_point(|look| look.position <= from);
        let end = looks.partition_point(|look| look.position <= to);
        &looks[start..end.max(start)]
    }

    fn is_variable(&self, object: ObjectId) -> bool {
        self.objects[object].is_variable != Some(false)
    }

    /// Whether an access has to see what it saw, where its strand goes on from it or ends with it.
    fn binds(&self, look: &Look, goes_on: bool) -> bool {
        let object = look.event.object();
        let (op, is_variable) = (look.event.op, self.is_variable(object));
        let is_exchange = matches!(op, Op::CompareExchange | Op::Vain(Update::Exchange));
        let is_last_too = !is_variable || is_exchange || is_read(op) && self.decides(look);
        self.counts(object) && (op != Op::Write || !is_variable) && (goes_on || is_last_too)
    }

    /// Whether with another value the strand may have done something else than end with this look.
    fn decides(&self, look: &Look) -> bool {
        look.decides
            || look.is_first && self.branches.get(&look.place()) == Some(&None)
            || self.retried.contains(&look.place())
            || self.answered.contains(&look.place())
    }

    /// Whether what a strand does depends on the result of a counter's update.
    fn is_result(&self, look: &Look) -> bool {
        look.is_counter() && self.results.get(&look.place()) == Some(&None)
    }

    /// Whether the block of a write changes the object once more, elsewhere and soon.
    fn gives_back(&self, Writer { event, position }: Writer) -> bool {
        let later = self.looks(event.strand, position, u64::MAX).iter();
        let soon = later.take(256);
        let mut block = soon.take_while(|it| it.is_inside && !it.is_first);
        let gives_back = |it: &Event| it.target == event.target && it.site != event.site;
        block.any(|look| gives_back(&look.event) && !is_read(look.event.op))
    }

    /// The vain update that an analysis takes for this read.
    pub(super) fn vain(&self, access: &Access) -> Option<Op> {
        let at = access.position;
        let looks = self.looks(access.strand, at.saturating_sub(1), at);
        let op = looks.first().map(|look| look.event.op);
        op.filter(|op| matches!(op, Op::Vain(_)))
    }

    /// What the accesses of a strand between two positions, the later one included, have to see and
    /// another strand wrote: calls `need(access, writer, write)` for each. The strand ends with
    /// `last`.
    pub(super) fn sources(
        &self,
        strand: StrandId,
        (from, to): (u64, u64),
        last: u64,
        mut need: impl FnMut(u64, StrandId, u64),
    ) {
        for look in self.looks(strand, from, to.min(last)) {
            let (writer, position) = look.writer;
            if writer != strand && position > 0 && self.binds(look, look.position < last) {
                need(look.position, writer, position);
            }
        }
    }

    /// Where the accesses of a strand are to which others may bind, up to a position.
    pub(super) fn positions(&self, strand: StrandId, to: u64) -> impl Iterator<Item = u64> + '_ {
        let looks = self.looks(strand, 0, to).iter();
        let looks = looks.filter(|look| self.counts(look.event.object()));
        looks.map(|look| look.position)
    }

    /// Whether reads of an object can bind.
    fn counts(&self, object: ObjectId) -> bool {
        self.is_variable(object) || self.objects[object].is_awaited
    }

    /// Whether the prediction's schedule can be believed.
    pub(super) fn judge(&self, prediction: &Prediction) -> Belief {
        if !self.is_on {
            return Belief::Believable;
        }
        if self.is_overflown {
            return Belief::Unknown;
        }
        Replay::new(self, prediction).run(&prediction.schedule)
    }
}

impl Look {
    fn shown(&self, seen: u64, path: Path) -> Shown {
        Shown {
            object: self.event.object(),
            seen,
            site: self.event.site,
            op: self.event.op,
            next: self.next,
            path,
        }
    }

    fn place(&self) -> Place {
        (self.is_inside.then_some(self.block), self.event.site)
    }

    fn is_counter(&self) -> bool {
        matches!(self.event.op, Op::Update(kind) if is_counter(kind))
    }

    /// Whether it most likely changes nothing where another strand has done the same at the same
    /// place: it sets what is set already.
    fn is_setter(&self) -> bool {
        match self.event.op {
            Op::Update(kind) => !is_counter(kind),
            op => op == Op::ReadWrite,
        }
    }
}

/// A strand of a schedule in the making.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// How far it has come.
    to: u64,
    path: Path,
    has_strayed: bool,
    /// A counter's result was another one, since a block began or ended.
    has_other_result: bool,
}

/// A schedule in the making, as far as values count.
struct Replay<'a> {
    reads: &'a Reads,
    objects: FxHashMap<ObjectId, Current>,
    strands: Dense<StrandId, Progress>,
    /// By strand: the last access that the prediction is about.
    last: FxHashMap<StrandId, u64>,
}

impl<'a> Replay<'a> {
    fn new(reads: &'a Reads, prediction: &Prediction) -> Replay<'a> {
        Replay {
            reads,
            objects: FxHashMap::default(),
            strands: Dense::new(),
            last: last_accesses(prediction),
        }
    }

    fn run(mut self, schedule: &[Run]) -> Belief {
        for run in schedule {
            let from = self.strands.entry(run.strand).to;
            let looks = self.reads.looks(run.strand, from, run.to);
            let spent = self.reads.spent.get() + looks.len();
            self.reads.spent.set(spent);
            if spent > self.reads.budget() {
                return Belief::Unknown;
            }
            if let Some(doubtful) = looks.iter().find(|look| !self.step(run.strand, look)) {
                return Belief::Doubtful(doubtful.position);
            }
            self.strands[run.strand].to = run.to;
        }
        Belief::Believable
    }

    /// Makes an access; false if it binds and sees something else.
    fn step(&mut self, id: StrandId, look: &Look) -> bool {
        let (event, position) = (look.event, look.position);
        let last = self.last.get(&id).copied().unwrap_or(u64::MAX);
        let current = self.objects.entry(event.object()).or_default();
        let strand = &mut self.strands[id];
        let is_variable = self.reads.is_variable(event.object());
        if look.is_first {
            (strand.path, strand.has_other_result) = (Path::default(), false);
        }
        let (seen, value) = (current.seen_by(event.op), current.value());
        let is_own = current.writer.is_some_and(|by| by.event.strand == id);
        let is_as_recorded = !strand.has_strayed && (!strand.has_other_result || look.is_counter());
        let is_known = is_as_recorded && current.unseen.is_none();
        let like = |by: &Writer| (by.event.op, by.event.site) == (event.op, event.site);
        let before = current.writer.filter(|by| !is_own && like(by));
        let is_taken = event.op != Op::Write && before.is_some_and(|by| self.reads.gives_back(by));
        let is_result = self.reads.is_result(look) || is_taken && look.is_counter();
        let is_same =
            (value == look.value || !is_result && seen == look.seen) && (is_own || is_known);
        // A setter after its like, or of which nobody has shown that it would still set.
        let is_again = is_variable && look.is_setter() && (strand.has_strayed || before.is_some());
        let binds = self.reads.binds(look, position < last) || position == last && is_again;
        if position <= last && !is_same && (binds || is_taken) {
            let path = is_variable.then_some(strand.path);
            let shown = look.shown(seen, path.unwrap_or_default());
            let is_retried = self.reads.retried.contains(&look.place());
            let is_shown = self.reads.shown.contains(&shown) && !is_retried;
            // An exchange expects what its own strand has seen.
            let is_exchange = event.op == Op::CompareExchange && !strand.has_strayed;
            if current.unseen.is_some() || !is_shown || is_exchange || is_result {
                return false;
            }
            strand.has_strayed = true;
        }
        strand.has_other_result |= look.is_counter() && value != look.value;
        if is_variable && event.op != Op::Write {
            strand.path = strand.path.then(look, value);
        }
        if !is_read(event.op) {
            current.write(Writer { event, position }, strand.has_strayed);
        }
        true
    }
}

/// The last access of each strand that a prediction is about.
pub(super) fn last_accesses(prediction: &Prediction) -> FxHashMap<StrandId, u64> {
    let mut last = FxHashMap::default();
    for step in &prediction.accesses {
        let position = last.entry(step.access.strand).or_insert(0_u64);
        *position = step.access.position.max(*position);
    }
    last
}
