//! What is kept of the transactions: one summary for all that look the same.

use crate::check::Transaction;
use crate::dense::Dense;
use crate::predict::{Context, Hold, Period, is_access};
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId, Update};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

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

/// What represents a transaction's accesses of one variable so far.
#[derive(Debug, Default)]
struct History {
    /// The first plain read that no plain write comes before.
    initial: Option<Seen>,
    /// The last plain write.
    write: Option<Seen>,
    /// The last update of each kind.
    updates: Vec<(Update, Seen)>,
}

impl History {
    fn note(&mut self, seen: Seen) {
        match seen.op {
            Op::Read if self.write.is_none() => drop(self.initial.get_or_insert(seen)),
            Op::Read => {}
            Op::Update(kind) => match self.updates.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, last)) => *last = seen,
                None => self.updates.push((kind, seen)),
            },
            _ => self.write = Some(seen),
        }
    }

    fn kept(&self) -> impl Iterator<Item = &Seen> {
        let updates = self.updates.iter().map(|(_, last)| last);
        self.initial.iter().chain(&self.write).chain(updates)
    }
}

/// A transaction that is under way.
#[derive(Debug)]
struct Open {
    block: Option<BlockId>,
    begin: u64,
    site: SiteId,
    /// Grows with each access and lock operation.
    tick: u32,
    first: Period,
    variables: FxHashMap<ObjectId, History>,
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) site: SiteId,
    /// Of each access of the shape: position and site.
    pub(super) accesses: Box<[(u64, SiteId)]>,
}

/// All transactions of one strand with one shape, in the same periods.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) strand: StrandId,
    pub(super) block: Option<BlockId>,
    pub(super) shape: Arc<Shape>,
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
    open: Option<Open>,
}

/// What transactions of one summary have in common: strand, block, shape, and the periods of
/// accesses, begin and end.
type Likeness = (StrandId, Option<BlockId>, Arc<Shape>, Box<[Period]>);

/// Takes the events of a trace and keeps what the search needs.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    pub(super) summaries: Vec<Summary>,
    strands: Dense<StrandId, Strand>,
    shapes: FxHashSet<Arc<Shape>>,
    known: FxHashMap<Likeness, usize>,
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

    pub(super) fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        match event.op {
            Op::Begin => {
                let first = now.order.period(event.strand);
                let strand = self.strands.entry(event.strand);
                for held in &mut strand.held {
                    (held.since, held.exclusive_since) = (0, 0);
                }
                strand.open = Some(Open::new(Some(event.block()), position, event.site, first));
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

    fn access(&mut self, event: Event, position: u64, now: &mut Context) {
        let period = now.order.period(event.strand);
        let open = &mut self.strands.entry(event.strand).open;
        let is_unary = open.is_none();
        let open = open.get_or_insert_with(|| Open::new(None, position, event.site, period));
        let seen = Seen {
            op: event.op,
            tick: open.next(),
            position,
            site: event.site,
            period,
        };
        open.variables.entry(event.object()).or_default().note(seen);
        if is_unary {
            self.close(event.strand, position, now);
        }
    }

    /// The strand's transaction ends.
    fn close(&mut self, id: StrandId, position: u64, now: &mut Context) {
        let strand = self.strands.entry(id);
        let Some(mut open) = strand.open.take() else {
            return;
        };
        for held in &strand.held {
            open.leave(held, u32::MAX);
        }
        let last = now.order.period(id);
        let accesses = open.representatives();
        let ticks: Vec<u32> = accesses.iter().map(|(_, seen)| seen.tick).collect();
        compact(&mut open.sections, &ticks);
        let shape = self.intern(Shape {
            accesses: accesses.iter().map(|(of, seen)| (seen.op, *of)).collect(),
            sections: open.sections.into(),
        });
        let periods: Box<[Period]> = accesses.iter().map(|(_, seen)| seen.period).collect();
        let all = [&*periods, &[open.first, last]].concat().into_boxed_slice();
        let places = accesses.iter().map(|(_, seen)| (seen.position, seen.site));
        let occurrence = Occurrence {
            begin: open.begin,
            end: position,
            site: open.site,
            accesses: places.collect(),
        };
        let next = self.summaries.len();
        let likeness = (id, open.block, shape.clone(), all);
        let at = *self.known.entry(likeness).or_insert(next);
        if at < next {
            self.summaries[at].last = Some(occurrence);
            return;
        }
        self.summaries.push(Summary {
            strand: id,
            block: open.block,
            shape,
            periods,
            span: (open.first, last),
            first: occurrence,
            last: None,
        });
    }

    fn intern(&mut self, shape: Shape) -> Arc<Shape> {
        if let Some(shape) = self.shapes.get(&shape) {
            return shape.clone();
        }
        let shape = Arc::new(shape);
        self.shapes.insert(shape.clone());
        shape
    }

    /// Transactions that are still under way at the end of the trace count as far as they came.
    pub(super) fn finish(&mut self, now: &mut Context) {
        for strand in 0..self.strands.len() {
            self.close(StrandId(strand as u32), u64::MAX - 1, now);
        }
    }
}

/// Replaces ticks by indices into the accesses, and drops what is the same.
fn compact(sections: &mut Vec<Section>, ticks: &[u32]) {
    let index = |tick: u32| ticks.partition_point(|&t| t < tick) as u32;
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
        let now = self.open.as_mut().map_or(0, Open::next);
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
                if let Some(open) = &mut self.open {
                    open.leave(&held, now);
                }
            }
            (Op::Upgrade, Some(at)) => {
                self.held[at].hold.shared = false;
                self.held[at].exclusive_since = now;
            }
            (Op::Downgrade, Some(at)) => {
                let held = &mut self.held[at];
                if let Some(open) = &mut self.open {
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
    fn new(block: Option<BlockId>, begin: u64, site: SiteId, first: Period) -> Open {
        Open {
            block,
            begin,
            site,
            tick: 0,
            first,
            variables: FxHashMap::default(),
            sections: Vec::new(),
            most: SECTIONS,
        }
    }

    fn next(&mut self) -> u32 {
        self.tick += 1;
        self.tick
    }

    /// The accesses that represent all, in order.
    fn representatives(&self) -> Vec<(ObjectId, Seen)> {
        let variables = self.variables.iter();
        let accesses =
            variables.flat_map(|(&variable, own)| own.kept().map(move |it| (variable, *it)));
        let mut accesses: Vec<(ObjectId, Seen)> = accesses.collect();
        accesses.sort_unstable_by_key(|(_, seen)| seen.tick);
        accesses
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
        let accesses = self.representatives();
        let index = |tick: u32| accesses.partition_point(|(_, seen)| seen.tick < tick);
        let mut known = FxHashSet::default();
        self.sections
            .retain(|section| known.insert((section.hold, index(section.from), index(section.to))));
        self.most = (self.sections.len() * 2).max(SECTIONS);
    }
}
