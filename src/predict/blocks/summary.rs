//! What is kept of the transactions: one summary for all that look the same.

use crate::check::Transaction;
use crate::dense::{Dense, Sparse};
use crate::predict::{Class, Context, Hold, Period, is_access};
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// A lock that a strand holds, and the transaction's ticks at which it was acquired and became
/// exclusive; 0 before the transaction's begin.
#[derive(Clone, Copy, Debug)]
struct Held {
    hold: Hold,
    since: u32,
    exclusive_since: u32,
}

/// An access of a transaction that is under way.
#[derive(Clone, Copy, Debug)]
struct Seen {
    op: Op,
    tick: u32,
    position: u64,
    site: SiteId,
    period: Period,
}

/// What represents the accesses of a transaction so far: of each variable the first plain read that
/// no plain write comes before, the last plain write, and the last update of each kind.
#[derive(Debug, Default)]
struct Representatives {
    seen: Vec<(ObjectId, Class, Seen)>,
    /// Indices into `seen`: of a variable the plain write, or else the plain read; and the updates
    /// of each kind.
    index: Sparse,
}

/// Reads and writes have the same.
fn key(variable: ObjectId, class: Class) -> u64 {
    let class = match class {
        Class::Read | Class::Change => 0,
        Class::Update(kind) => 1 + kind as u64,
    };
    u64::from(variable.0) << 8 | class
}

impl Representatives {
    #[inline]
    fn note(&mut self, variable: ObjectId, class: Class, seen: impl Fn() -> Seen) {
        let key = key(variable, class);
        match self.index.get(key).map(|at| at as usize) {
            Some(_) if class == Class::Read => {}
            Some(at) if self.seen[at].1 == class => self.seen[at].2 = seen(),
            _ => {
                self.index.set(key, self.seen.len() as u32);
                self.seen.push((variable, class, seen()));
            }
        }
    }

    fn clear(&mut self) {
        self.seen.clear();
        self.index.clear();
    }

    /// When they were, in order.
    fn ticks(&self) -> Vec<u32> {
        let mut ticks: Vec<u32> = self.seen.iter().map(|(_, _, seen)| seen.tick).collect();
        ticks.sort_unstable();
        ticks
    }
}

/// A transaction that is under way, or the memory of one that was.
#[derive(Debug, Default)]
struct Open {
    is_open: bool,
    block: Option<BlockId>,
    begin: u64,
    site: SiteId,
    /// Grows with each access and lock operation.
    tick: u32,
    first: Period,
    accesses: Representatives,
    /// In ticks.
    sections: Vec<Section>,
    /// Sections beyond this number are thinned out.
    most: usize,
}

/// How many sections a transaction has before they are first thinned out.
const SECTIONS: usize = 1024;

/// A lock held from one access of a summary to another: it covers access `i` if `from <= i < to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Section {
    hold: Hold,
    from: u32,
    to: u32,
}

/// Transactions that cannot be told apart by what they access and which locks they hold when.
#[derive(Debug)]
pub(super) struct Shape {
    /// The initial reads and final writes, in order.
    pub(super) accesses: Box<[(Op, ObjectId)]>,
    /// Sorted, each once.
    sections: Box<[Section]>,
}

impl Shape {
    /// The locks held at an access.
    pub(super) fn held(&self, at: usize) -> Vec<Hold> {
        self.held_throughout(at, at)
    }

    /// The locks held continuously from one access to a later one.
    pub(super) fn held_throughout(&self, from: usize, to: usize) -> Vec<Hold> {
        self.holds(|section| section.from as usize <= from && section.to as usize > to)
    }

    /// The papers' `heldmid`: locks acquired after the one access and released before the other,
    /// and held at neither.
    pub(super) fn held_between(&self, from: usize, to: usize) -> Vec<Hold> {
        self.holds(|section| section.from as usize > from && section.to as usize <= to)
    }

    fn holds(&self, wanted: impl Fn(&Section) -> bool) -> Vec<Hold> {
        let sections = self.sections.iter().filter(|section| wanted(section));
        sections.map(|section| section.hold).collect()
    }
}

/// Where one of the transactions of a [`Summary`] was.
#[derive(Debug)]
pub(super) struct Occurrence {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) site: SiteId,
    /// Of each access of the shape: position and site.
    pub(super) accesses: Box<[(u64, SiteId)]>,
}

impl Occurrence {
    fn new(open: &Open, end: u64) -> Occurrence {
        Occurrence {
            begin: open.begin,
            end,
            site: open.site,
            accesses: open.places().collect(),
        }
    }
}

/// All transactions of one strand with one shape, in the same periods.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) strand: StrandId,
    pub(super) block: Option<BlockId>,
    pub(super) shape: Shape,
    /// Of each access.
    pub(super) periods: Box<[Period]>,
    /// In which it began and in which it ended.
    pub(super) span: (Period, Period),
    pub(super) first: Occurrence,
    last: Option<Occurrence>,
}

impl Summary {
    /// The last of the transactions.
    pub(super) fn last(&self) -> &Occurrence {
        self.last.as_ref().unwrap_or(&self.first)
    }

    fn new(open: &Open, strand: StrandId, last: Period, end: u64) -> Summary {
        let seen = &open.accesses.seen;
        Summary {
            strand,
            block: open.block,
            shape: Shape {
                accesses: seen.iter().map(|(of, _, seen)| (seen.op, *of)).collect(),
                sections: open.sections.as_slice().into(),
            },
            periods: seen.iter().map(|(_, _, seen)| seen.period).collect(),
            span: (open.first, last),
            first: Occurrence::new(open, end),
            last: None,
        }
    }

    /// Is the transaction one of these?
    fn is_like(&self, open: &Open, strand: StrandId, last: Period) -> bool {
        let accesses = self.shape.accesses.iter().zip(&self.periods);
        let seen = open.accesses.seen.iter();
        (self.strand, self.block, self.span) == (strand, open.block, (open.first, last))
            && *self.shape.sections == *open.sections
            && accesses
                .map(|(&(op, of), &period)| (op, of, period))
                .eq(seen.map(|(of, _, seen)| (seen.op, *of, seen.period)))
    }

    /// There was another one, in the memory of the last.
    fn again(&mut self, open: &Open, end: u64) {
        match &mut self.last {
            Some(last) => {
                (last.begin, last.end, last.site) = (open.begin, end, open.site);
                let places = last.accesses.iter_mut().zip(open.places());
                places.for_each(|(known, place)| *known = place);
            }
            None => self.last = Some(Occurrence::new(open, end)),
        }
    }

    /// The transaction of an occurrence; nothing for an event outside of blocks.
    pub(super) fn transaction(&self, occurrence: &Occurrence) -> Option<Transaction> {
        Some(Transaction {
            strand: self.strand,
            block: Some(self.block?),
            begin: Some(occurrence.begin),
            site: occurrence.site,
        })
    }
}

#[derive(Debug, Default)]
struct Strand {
    held: Vec<Held>,
    /// The transaction, if it is open.
    open: Open,
}

/// Takes the events of a trace and keeps what the search needs.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    pub(super) summaries: Vec<Summary>,
    strands: Dense<StrandId, Strand>,
    /// By the hash of what their transactions have in common, or one of the next numbers.
    known: FxHashMap<u64, u32>,
}

impl Summaries {
    /// How many strands have a transaction that a cycle can enter at one variable and leave at
    /// another.
    pub(super) fn strands_that_pass_on(&self, now: &Context) -> usize {
        let mut strands: FxHashSet<StrandId> = FxHashSet::default();
        for summary in &self.summaries {
            let accesses = summary.shape.accesses.iter();
            let mut variables = accesses
                .map(|&(_, variable)| variable)
                .filter(|&variable| now.usage(variable).is_contended());
            let first = variables.next();
            if variables.any(|other| Some(other) != first) {
                strands.insert(summary.strand);
            }
        }
        strands.len()
    }

    /// An access will come soon.
    #[inline]
    pub(super) fn fetch(&self, soon: &Event) {
        if let Some(strand) = self.strands.get(soon.strand).filter(|_| is_access(soon.op)) {
            let class = Class::of(soon.op);
            strand.open.accesses.index.fetch(key(soon.object(), class));
        }
    }

    pub(super) fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        match event.op {
            Op::Begin => {
                let first = now.order.period(event.strand);
                let strand = self.strands.entry(event.strand);
                for held in &mut strand.held {
                    (held.since, held.exclusive_since) = (0, 0);
                }
                let block = Some(event.block());
                strand.open.begin(block, position, event.site, first);
            }
            Op::End => self.close(event.strand, position, now),
            op if is_access(op) => self.access(event, position, now),
            _ if now.locks_changed => {
                let strand = self.strands.entry(event.strand);
                strand.lock(now.skeleton.lock_event(event));
            }
            _ => {}
        }
    }

    /// Takes some accesses of one strand.
    pub(super) fn accesses(&mut self, run: &[(Event, u64)], now: &mut Context) {
        let strand = run[0].0.strand;
        let period = now.order.period(strand);
        let open = &mut self.strands.entry(strand).open;
        if !open.is_open {
            return run.iter().for_each(|it| self.access(it.0, it.1, now));
        }
        for &(event, position) in run {
            open.access(event, position, period);
        }
    }

    fn access(&mut self, event: Event, position: u64, now: &mut Context) {
        let period = now.order.period(event.strand);
        let open = &mut self.strands.entry(event.strand).open;
        let is_unary = !open.is_open;
        if is_unary {
            open.begin(None, position, event.site, period);
        }
        open.access(event, position, period);
        if is_unary {
            self.close(event.strand, position, now);
        }
    }

    /// The strand's transaction ends.
    fn close(&mut self, id: StrandId, position: u64, now: &mut Context) {
        let Strand { held, open } = self.strands.entry(id);
        if !open.is_open {
            return;
        }
        open.is_open = false;
        for held in &*held {
            open.leave(held, u32::MAX);
        }
        let last = now.order.period(id);
        let seen = &mut open.accesses.seen;
        seen.sort_unstable_by_key(|(_, _, seen)| seen.tick);
        compact(&mut open.sections, seen);
        let mut hash = open.likeness(id, last);
        while let Some(&at) = self.known.get(&hash) {
            let summary = &mut self.summaries[at as usize];
            if summary.is_like(open, id, last) {
                return summary.again(open, position);
            }
            hash = hash.wrapping_add(1);
        }
        self.known.insert(hash, self.summaries.len() as u32);
        self.summaries.push(Summary::new(open, id, last, position));
    }

    /// Transactions that are still under way at the end of the trace count as far as they came.
    pub(super) fn finish(&mut self, now: &mut Context) {
        for strand in 0..self.strands.len() {
            self.close(StrandId(strand as u32), u64::MAX - 1, now);
        }
    }
}

/// Replaces ticks by indices into the accesses, and drops what is the same.
fn compact(sections: &mut Vec<Section>, accesses: &[(ObjectId, Class, Seen)]) {
    let index = |tick| accesses.partition_point(|(_, _, seen)| seen.tick < tick) as u32;
    for section in sections.iter_mut() {
        section.from = index(section.from);
        section.to = index(section.to);
    }
    sections.sort_unstable();
    sections.dedup();
}

impl Strand {
    /// The strand's locks change.
    fn lock(&mut self, event: Event) {
        let open = &mut self.open;
        let now = if open.is_open { open.next() } else { 0 };
        let lock = event.object();
        let at = self.held.iter().position(|held| held.hold.lock == lock);
        match (event.op, at) {
            (Op::Acquire | Op::AcquireShared, None) => {
                let shared = event.op == Op::AcquireShared;
                self.held.push(Held {
                    hold: Hold { lock, shared },
                    since: now,
                    exclusive_since: now,
                });
            }
            (Op::Release | Op::ReleaseShared, Some(at)) => {
                let held = self.held.remove(at);
                if open.is_open {
                    open.leave(&held, now);
                }
            }
            (Op::Upgrade, Some(at)) => {
                self.held[at].hold.shared = false;
                self.held[at].exclusive_since = now;
            }
            (Op::Downgrade, Some(at)) => {
                let held = &mut self.held[at];
                if open.is_open {
                    let (hold, from, to) = (held.hold, held.exclusive_since, now);
                    open.sections.push(Section { hold, from, to });
                }
                held.hold.shared = true;
            }
            _ => {}
        }
    }
}

impl Open {
    /// The next transaction begins, in the memory of the one before.
    fn begin(&mut self, block: Option<BlockId>, begin: u64, site: SiteId, first: Period) {
        (self.is_open, self.block, self.begin) = (true, block, begin);
        (self.site, self.tick, self.first, self.most) = (site, 0, first, SECTIONS);
        self.accesses.clear();
        self.sections.clear();
    }

    /// The hash of what it has in common with the transactions of its summary.
    fn likeness(&self, strand: StrandId, last: Period) -> u64 {
        let mut hasher = FxHasher::default();
        (strand, self.block, self.first, last).hash(&mut hasher);
        for (of, _, seen) in &self.accesses.seen {
            (of, seen.op, seen.period).hash(&mut hasher);
        }
        self.sections.hash(&mut hasher);
        hasher.finish()
    }

    /// Position and site of each access.
    fn places(&self) -> impl Iterator<Item = (u64, SiteId)> + '_ {
        let seen = self.accesses.seen.iter();
        seen.map(|(_, _, seen)| (seen.position, seen.site))
    }

    #[inline]
    fn access(&mut self, event: Event, position: u64, period: Period) {
        let tick = self.next();
        let seen = || Seen {
            op: event.op,
            tick,
            position,
            site: event.site,
            period,
        };
        let class = Class::of(event.op);
        self.accesses.note(event.object(), class, seen);
    }

    fn next(&mut self) -> u32 {
        self.tick += 1;
        self.tick
    }

    /// A lock is released, or its transaction ends.
    fn leave(&mut self, held: &Held, to: u32) {
        let lock = held.hold.lock;
        let mut section = |shared, from| {
            let hold = Hold { lock, shared };
            self.sections.push(Section { hold, from, to });
        };
        if !held.hold.shared {
            section(false, held.exclusive_since);
        }
        if held.hold.shared || held.since != held.exclusive_since {
            section(true, held.since);
        }
        if self.sections.len() > self.most {
            self.thin();
        }
    }

    /// Of the sections that lie between the same accesses one is enough, whatever later accesses
    /// replace.
    fn thin(&mut self) {
        let ticks = self.accesses.ticks();
        let index = |tick: u32| ticks.partition_point(|&known| known < tick);
        let mut known = FxHashSet::default();
        self.sections
            .retain(|section| known.insert((section.hold, index(section.from), index(section.to))));
        self.most = (self.sections.len() * 2).max(SECTIONS);
    }
}
