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
//!    Nobody looks at a cell again for that, because it is set once and for all.
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
//!    schedule. But a block that has started anew somewhere (`restart`) compares: its later looks at
//!    an object have to see what the last one has seen where they did so on this run.
//! 7. *What is taken and given back*, a lock's content included: where a block updates an object
//!    and later changes it once more, an update of the same place in between may find it taken.
//!
//! A read may see another value than on this run if on this run an access of the same place in the
//! source saw that very value, after its block had seen the same until then (results of counters
//! included: a ticket), and went on in the same way: two strands that run the same code have shown
//! it for each other, unless a strand has looked there again and again: who waits for its turn does
//! with a value what no other does. The strand has *strayed* then: all that it sees from there on
//! has to be shown, and what it writes nobody has seen.
//!
//! What lock-guarded content decides cannot be known from a trace: a claim, a flag, an entry that is
//! found, a compare. Where a strand reads the content of a lock that the prediction is not about,
//! goes on to one of its accesses, and nobody has shown what it does with the value, or where it
//! reads once more what the prediction is about and sees a change that it did not see on this run,
//! the prediction *depends* on that read, and says so. A write to a `bool` under a lock may be a swap
//! and counts as a read here. And no strand uses an object before another
//! can have told of it: see [`told`].
//!
//! Values of atomics are compared where they were recorded ([`Op::Value`]): a count that went up and
//! down again is the same. Others are told apart by who wrote them: the position of the write, and
//! for updates of one kind that follow each other the set of their positions, as their order does
//! not matter.

mod judge;
mod look;
mod recorded;
mod told;
mod values;

use super::Prediction;
use crate::check::Access;
use crate::dense::Dense;
use crate::trace::{BlockId, Event, ObjectId, ObjectKind, Op, SiteId, StrandId, Update};
pub use judge::Belief;
use judge::Replay;
pub(super) use judge::last_accesses;
pub(super) use look::accesses;
use look::{Look, Path, Shown, is_read};
use recorded::{Nexts, Recorded};
use rustc_hash::FxHashSet;
use values::{Current, Effect, ToldValues, Writer};

/// Whether a type is that of a cell: one that is set once and for all, or plain data.
fn is_cell(type_name: &str) -> bool {
    let path = type_name.split('<').next().unwrap_or_default();
    let name = path.rsplit("::").next().unwrap_or_default();
    name.starts_with("Once") || name.starts_with("Lazy") || name == "Tracked"
}

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

#[derive(Clone, Copy, Debug, Default)]
struct Object {
    /// No lock's content: an atomic, say.
    is_variable: Option<bool>,
    /// A cell, at which nobody looks again to see whether he may go on.
    is_cell: bool,
    /// A lock around a `bool`, which is mostly swapped to see what it was.
    is_flag: bool,
    /// A lock whose content may refer to other objects.
    can_refer: bool,
    /// The value that its first access has found.
    initial: Option<i64>,
    /// Who has used it first, and where.
    first: Option<(StrandId, u64)>,
    /// A `Condvar` belongs to it.
    is_awaited: bool,
    /// It is another one's [zero](super::zeros).
    is_zero: bool,
    current: Current,
}

/// The accesses of a trace with what they saw.
#[derive(Debug, Default)]
pub struct Reads {
    is_on: bool,
    strands: Dense<StrandId, Strand>,
    objects: Dense<ObjectId, Object>,
    shown: FxHashSet<Shown>,
    /// By the place of a counter's update.
    results: Nexts,
    recorded: Recorded,
    told_values: ToldValues,
    /// So many accesses are kept.
    kept: usize,
    is_overflown: bool,
    /// So many were looked at by [`judge`](Self::judge).
    spent: std::cell::Cell<usize>,
}

impl Reads {
    /// How many accesses are kept: 176 MiB.
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
    pub fn note(&mut self, event: Event, position: u64) {
        if self.is_on {
            self.told_values.note(event, position);
            if event.op != Op::Value {
                self.recorded.note(event);
            }
        }
    }

    /// An event will come; `what` is asked for the object's kind and type where it is its first
    /// access.
    #[inline]
    pub fn classify(&mut self, event: Event, what: impl FnOnce() -> (ObjectKind, Option<String>)) {
        if !self.is_on || !accesses(event.op) {
            return;
        }
        let object = self.objects.entry(event.object());
        if object.is_variable.is_none() {
            let (kind, type_name) = what();
            object.is_variable = Some(!matches!(kind, ObjectKind::Lock | ObjectKind::BareLock));
            let has = |what: fn(&str) -> bool| type_name.as_deref().is_some_and(what);
            object.is_cell = has(is_cell);
            object.is_flag = kind == ObjectKind::Lock && has(|name| name.contains("<bool>"));
            object.can_refer = kind == ObjectKind::Lock && has(told::can_refer);
        }
    }

    /// The object is another one's zero.
    pub(super) fn add_zero(&mut self, object: ObjectId) {
        if self.is_on {
            self.objects.entry(object).is_zero = true;
        }
    }

    /// Takes accesses, as [`step`](Self::step) does.
    pub(super) fn accesses(&mut self, run: &[(Event, u64)]) {
        if self.is_on {
            run.iter().for_each(|&(event, at)| self.step(event, at));
        }
    }

    /// Takes the next event, which was [classified](Self::classify).
    #[inline]
    pub fn step(&mut self, event: Event, position: u64) {
        if !self.is_on {
            return;
        }
        self.follow(event);
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
    fn follow(&mut self, event: Event) {
        let strand = self.strands.entry(event.strand);
        let is_zero = |object| self.objects.get(object).is_some_and(|it| it.is_zero);
        if let (Some(path), Some(look)) = (strand.pending.take(), strand.looks.last_mut()) {
            let op = match event.op {
                // The update comes next, whether or not it meets zero.
                Op::Write if is_zero(event.object()) => Op::Update(Update::Add),
                op => op,
            };
            look.next = (op, event.site);
            if look.event.site != SiteId::NONE {
                self.shown.insert(look.shown(look.seen, path));
                if look.is_counter() {
                    self.results.enter(look.place(), look.next);
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
        let is_cell = object.is_cell;
        let told = self.told_values.take(position);
        if object.first.is_none() {
            object.first = Some((event.strand, position));
            object.initial = told.and_then(|told| told.before);
            object.current = Current::of(object.initial);
        }
        let (seen, value) = (object.current.seen_by(event.op), object.current.value());
        let writer = object.current.writer;
        let effect = told.map_or(Effect::Unknown, |told| told.effect(event.op));
        if !is_read(event.op) {
            let writer = Writer { event, position };
            object.current.write(writer, (effect, true), false);
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
            effect,
            writer: writer.map_or((event.strand, 0), |it| (it.event.strand, it.position)),
            next: (Op::Exit, SiteId::NONE),
            is_first: std::mem::take(&mut strand.is_at_boundary),
            decides: is_variable
                && !is_cell
                && is_read(event.op)
                && strand.looked_at.contains(&event.object()),
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
        let (op, is_variable) = (look.event.op, self.is_variable(look.event.object()));
        let is_exchange = matches!(op, Op::CompareExchange | Op::Vain(Update::Exchange));
        let is_last_too = !is_variable || is_exchange || is_read(op) && self.decides(look);
        self.counts(look) && (op != Op::Write || !is_variable) && (goes_on || is_last_too)
    }

    /// Whether with another value the strand may have done something else than end with this look.
    fn decides(&self, look: &Look) -> bool {
        look.decides
            || look.is_first && self.recorded.branches.differ(look.place())
            || self.recorded.retried.contains(&look.place())
            || self.recorded.answered.contains(&look.place())
    }

    /// Whether what one strand has done with a value there shows what another does with it.
    fn is_same_for_all(&self, look: &Look) -> bool {
        let (recorded, place) = (&self.recorded, look.place());
        !recorded.retried.contains(&place) && !recorded.awaited.contains(&place)
    }

    /// Whether what a strand does depends on the result of a counter's update.
    fn is_result(&self, look: &Look) -> bool {
        look.is_counter() && self.results.differ(look.place())
    }

    /// Whether the block of a write changes the object once more, elsewhere and soon.
    fn gives_back(&self, Writer { event, position }: Writer) -> bool {
        let later = self.looks(event.strand, position, u64::MAX).iter();
        let mut block = later
            .take(256)
            .take_while(|it| it.is_inside && !it.is_first);
        let gives_back = |it: &Event| it.target == event.target && it.site != event.site;
        block.any(|look| gives_back(&look.event) && !is_read(look.event.op))
    }

    /// The accesses of a strand between two positions, the later one included.
    pub(super) fn events(
        &self,
        strand: StrandId,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (Event, u64)> + '_ {
        let looks = self.looks(strand, from, to).iter();
        looks.map(|look| (look.event, look.position))
    }

    /// The access of one of the prediction's strands at a position.
    pub(super) fn access_at(&self, prediction: &Prediction, at: u64) -> Option<Access> {
        let mut strands = prediction.accesses.iter().map(|step| step.access.strand);
        let look = strands.find_map(|strand| self.looks(strand, at - 1, at).first())?;
        Some(super::access(look.event, at))
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
    /// `last`. With `contents` they have to see the same of locks' contents, too, and to write over it.
    pub(super) fn sources(
        &self,
        strand: StrandId,
        (from, to): (u64, u64),
        last: u64,
        contents: bool,
        mut need: impl FnMut(u64, StrandId, u64),
    ) {
        for look in self.looks(strand, from, to.min(last)) {
            let (writer, position) = look.writer;
            let goes_on = look.position < last;
            let binds = contents && goes_on || self.binds(look, goes_on);
            if writer != strand && position > 0 && binds {
                need(look.position, writer, position);
            }
        }
    }

    /// Where the accesses of a strand are to which others may bind, up to a position.
    pub(super) fn positions(
        &self,
        strand: StrandId,
        to: u64,
        contents: bool,
    ) -> impl Iterator<Item = u64> + '_ {
        let looks = self.looks(strand, 0, to).iter();
        let looks = looks.filter(move |look| contents || self.counts(look));
        looks.map(|look| look.position)
    }

    /// Whether an access can bind.
    fn counts(&self, look: &Look) -> bool {
        let object = look.event.object();
        self.is_variable(object) || self.objects[object].is_awaited
    }

    /// Whether a look at a lock's content is compared with what the block has seen before: where the
    /// two differed, such a block has started anew.
    fn is_compared(&self, look: &Look) -> bool {
        look.is_inside && self.recorded.restarted.contains(&look.block)
    }

    /// Whether somebody has seen that value of a lock's content there, and went on in the same way.
    fn is_shown(&self, look: &Look, seen: u64) -> bool {
        self.shown.contains(&look.shown(seen, Path::default()))
    }

    /// The accesses of a strand to an object, each with its position and the number of the run of a
    /// block that it is in. They count as what was looked at for schedules.
    pub(super) fn accesses_of(
        &self,
        strand: StrandId,
        object: ObjectId,
    ) -> impl Iterator<Item = (Event, u64, usize)> + '_ {
        let looks = if self.spent.get() < self.budget() {
            self.looks(strand, 0, u64::MAX)
        } else {
            &[]
        };
        self.spent.set(self.spent.get() + looks.len());
        let mut run = 0;
        looks.iter().filter_map(move |look| {
            run += usize::from(look.is_first);
            (look.event.object() == object).then_some((look.event, look.position, run))
        })
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
