//! The whole check of a trace: semantics, engine, violations held back, repeats.

use std::collections::VecDeque;
use std::collections::hash_map::{DefaultHasher, Entry, HashMap};
use std::hash::{Hash, Hasher};

use super::kind::{AnyEngine, Inlined, Visitor};
use super::{Engine, EngineKind, FORESIGHT, Lowering, Violation};
use crate::trace::{BlockId, Event, Names, ObjectKind, Op, Semantics, SiteId, StrandId};

/// Checks a trace: [`Lowering`], an [`Engine`], and what stands between the engine and the user.
///
/// - Lock events that do not order are nothing to it: those of a [`ObjectKind::Lock`] under `rust`. They may be left out.
/// - Under `rust` a violation is *held* while its cycle passes through an open transaction that has written nothing yet: such a
///   transaction may still find out that it has read nonsense, and start anew, and then nobody was misled. The
///   violation is released when every such transaction has written or ended, and forgotten if one of them restarts. What a transaction
///   has read before it restarts is [abandoned](Engine::abandon): it is part of no violation that is found later, either.
/// - Of violations with the same block, entry and exit site, and type of object, the first is given out, the others are counted.
///
/// ```
/// use aerodrome::check::{Checker, EngineKind};
/// use aerodrome::trace::{Event, Op, Semantics, SiteId, StrandId};
/// # use aerodrome::trace::*;
/// # struct NoNames;
/// # impl Names for NoNames {
/// #     fn strand(&self, _: StrandId) -> StrandInfo { StrandInfo::default() }
/// #     fn object(&self, _: ObjectId) -> ObjectInfo {
/// #         ObjectInfo { kind: ObjectKind::Variable, name: None, type_name: None, created: SiteId::NONE }
/// #     }
/// #     fn kind(&self, _: ObjectId) -> ObjectKind { ObjectKind::Variable }
/// #     fn site(&self, _: SiteId) -> Option<SiteInfo> { None }
/// #     fn block(&self, _: BlockId) -> BlockInfo { BlockInfo { name: String::new(), site: SiteId::NONE } }
/// # }
/// # let names = NoNames;
/// let event = |strand, op, target| Event { strand: StrandId(strand), target, site: SiteId::NONE, op };
/// let trace = [
///     event(0, Op::Begin, 1),
///     event(0, Op::Read, 7),
///     event(1, Op::Write, 7),
///     event(1, Op::Write, 8),
///     event(0, Op::Read, 8), // closes a cycle, but might be validated
///     event(0, Op::End, 1),  // it was not
/// ];
/// let mut checker = Checker::new(EngineKind::Exact, Semantics::Rust);
/// for (event, position) in trace.into_iter().zip(1..) {
///     if let Some(violation) = checker.step(event, position, &names) {
///         assert_eq!((position, violation.event), (6, 5));
///     }
/// }
/// assert!(checker.finish().is_none());
/// assert_eq!(checker.counts(), [1]);
/// ```
#[derive(Debug)]
pub struct Checker {
    lowering: Lowering,
    engine: AnyEngine,
    open: Open,
    found: Vec<Violation>,
    held: Vec<Held>,
    ready: VecDeque<Box<Violation>>,
    abandoned: Abandoned,
    /// The number of each violation that was given out.
    known: HashMap<Key, usize>,
    counts: Vec<u64>,
    /// Whether violations that are the same to a user are given out each time.
    repeats: bool,
}

/// What makes two violations the same to a user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    block: Option<BlockId>,
    entry: SiteId,
    exit: SiteId,
    /// A hash of the type of the object of the closing event; of its name or number where the type is not known.
    object: u64,
}

#[derive(Debug)]
struct Held {
    violation: Box<Violation>,
    key: Key,
    /// How often it was seen.
    count: u64,
    /// The transactions that have written nothing yet: a strand, and where it began.
    unwritten: Vec<(StrandId, u64)>,
}

impl Checker {
    /// At the start of a trace.
    pub fn new(engine: EngineKind, semantics: Semantics) -> Checker {
        Checker {
            lowering: Lowering::new(semantics),
            engine: AnyEngine::new(engine),
            open: Open::default(),
            found: Vec::new(),
            held: Vec::new(),
            ready: VecDeque::new(),
            abandoned: Abandoned::default(),
            known: HashMap::new(),
            counts: Vec::new(),
            repeats: false,
        }
    }

    /// Gives out every violation, and counts none: two tests that run in one process may have the same one, and are to fail each for itself.
    #[cfg(feature = "check")]
    pub(crate) fn with_repeats(self) -> Checker {
        Checker {
            repeats: true,
            ..self
        }
    }

    /// The position at which the strand's open transaction began.
    pub fn open_since(&self, strand: StrandId) -> Option<u64> {
        Some(self.open.since(strand)).filter(|&begin| begin != 0)
    }

    /// Takes the next event, as [`WellFormed`](crate::trace) lets it through; `position` counts the trace's events from 1.
    ///
    /// Answers with a violation that is new. Where one event releases several, the others come with the next calls.
    #[inline]
    pub fn step(
        &mut self,
        event: Event,
        position: u64,
        names: &(impl Names + ?Sized),
    ) -> Option<Box<Violation>> {
        let rust = self.lowering.semantics() == Semantics::Rust;
        let found = if !orders(&event, rust, names) {
            None
        } else if self.lowering.stands(&event) {
            self.open.note(&event, position);
            self.engine.step(event, position)
        } else {
            return self.step_other(event, position, names);
        };
        if found.is_none() && self.held.is_empty() && self.ready.is_empty() {
            return None;
        }
        self.found.extend(found.map(|violation| *violation));
        self.conclude(event, names)
    }

    /// An event that does not stand for itself.
    #[inline(never)]
    fn step_other(
        &mut self,
        event: Event,
        position: u64,
        names: &(impl Names + ?Sized),
    ) -> Option<Box<Violation>> {
        let Checker {
            lowering,
            engine,
            open,
            found,
            held,
            abandoned,
            ..
        } = self;
        if event.op == Op::Restart
            && lowering.semantics() == Semantics::Rust
            && let Some(strand) = lowering.unwritten(event.strand)
        {
            let begin = open.since(strand);
            held.retain(|held| !held.unwritten.contains(&(strand, begin)));
            // If no other is open, no cycle passes through it.
            if open.count > 1 && lowering.has_only_read(strand) && !engine.abandon(strand) {
                abandoned.add(strand, begin, position);
            }
        }
        lowering.lower_other(event, &mut |event| {
            open.note(&event, position);
            found.extend(engine.step(event, position).map(|violation| *violation));
        });
        self.conclude(event, names)
    }

    /// The event was taken: what it found, and what it did to those that are held.
    #[inline(never)]
    fn conclude(&mut self, event: Event, names: &(impl Names + ?Sized)) -> Option<Box<Violation>> {
        if !self.found.is_empty() || (!self.held.is_empty() && event.op != Op::Read) {
            self.settle(event, names);
        }
        self.ready.pop_front()
    }

    /// Takes the first `count` of these events, which follow one another from `position` on, up to one that a violation is given out at; says
    /// how many were taken.
    ///
    /// The same as [`step`](Self::step) on each, in less time. The events behind `count` are those that the trace goes on with, as far as known: what they
    /// need is fetched from memory meanwhile.
    pub fn run(
        &mut self,
        events: &[Event],
        count: usize,
        position: u64,
        names: &(impl Names + ?Sized),
    ) -> (usize, Option<Box<Violation>>) {
        let mut at = 0;
        while at < count {
            if self.held.is_empty() && self.ready.is_empty() {
                let (taken, found) = self.engine.accept(Plain {
                    lowering: &mut self.lowering,
                    open: &mut self.open,
                    events: &events[at..],
                    count: count - at,
                    position: position + at as u64,
                    names,
                });
                at += taken;
                if let Some(violation) = found {
                    self.found.push(*violation);
                    let found = self.conclude(events[at - 1], names);
                    if found.is_some() {
                        return (at, found);
                    }
                    continue;
                }
            }
            let Some(event) = events[..count].get(at) else {
                break;
            };
            let found = self.step(*event, position + at as u64, names);
            at += 1;
            if found.is_some() {
                return (at, found);
            }
        }
        (count, None)
    }

    /// Whether no transaction is open and no violation is held back. Everything that has happened before such a moment is without
    /// meaning for what comes: what a later transaction reaches begins later.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.open.count == 0 && self.held.is_empty() && self.ready.is_empty()
    }

    /// The trace is over: gives out what is left, one violation a call.
    pub fn finish(&mut self) -> Option<Box<Violation>> {
        for held in std::mem::take(&mut self.held) {
            self.give_out(held);
        }
        self.ready.pop_front()
    }

    /// The blocks that were split by waits; see [`Lowering::splits`].
    pub fn splits(&self) -> impl Iterator<Item = (BlockId, SiteId, u64)> {
        self.lowering.splits()
    }

    /// How often each violation occurred, in the order in which they were given out.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    #[cold]
    fn settle(&mut self, event: Event, names: &(impl Names + ?Sized)) {
        for violation in std::mem::take(&mut self.found) {
            if self.abandoned.is_part_of(&violation) {
                continue;
            }
            let unwritten: Vec<_> = match self.lowering.semantics() {
                Semantics::Paper => Vec::new(),
                Semantics::Rust => violation
                    .transactions
                    .iter()
                    .filter_map(|transaction| Some((transaction.strand, transaction.begin?)))
                    .filter(|&transaction| self.is_unwritten(transaction))
                    .collect(),
            };
            let key = key(&violation, event.site, names);
            match self
                .held
                .iter_mut()
                .find(|held| held.key == key && held.unwritten == unwritten)
            {
                Some(held) => held.count += 1,
                None => self.held.push(Held {
                    violation: Box::new(violation),
                    key,
                    count: 1,
                    unwritten,
                }),
            }
        }
        for mut held in std::mem::take(&mut self.held) {
            held.unwritten
                .retain(|&transaction| self.is_unwritten(transaction));
            if held.unwritten.is_empty() {
                self.give_out(held);
            } else {
                self.held.push(held);
            }
        }
    }

    fn is_unwritten(&self, (strand, begin): (StrandId, u64)) -> bool {
        self.open.since(strand) == begin && self.lowering.unwritten(strand) == Some(strand)
    }

    fn give_out(&mut self, held: Held) {
        if self.repeats {
            self.ready.push_back(held.violation);
            return;
        }
        match self.known.entry(held.key) {
            Entry::Occupied(known) => self.counts[*known.get()] += held.count,
            Entry::Vacant(new) => {
                new.insert(self.counts.len());
                self.counts.push(held.count);
                self.ready.push_back(held.violation);
            }
        }
    }
}

/// Takes events as long as they stand for themselves and close no cycle; answers with how many, and the cycle.
struct Plain<'a, N: ?Sized> {
    lowering: &'a mut Lowering,
    open: &'a mut Open,
    events: &'a [Event],
    /// So many are to be taken; the others are only foreseen.
    count: usize,
    position: u64,
    names: &'a N,
}

impl<N: Names + ?Sized> Visitor for Plain<'_, N> {
    type Answer = (usize, Option<Box<Violation>>);

    #[inline]
    fn visit<E: Inlined>(self, engine: &mut E) -> Self::Answer {
        match self.lowering.semantics() {
            Semantics::Rust => self.run::<E, true>(engine),
            Semantics::Paper => self.run::<E, false>(engine),
        }
    }
}

impl<N: Names + ?Sized> Plain<'_, N> {
    #[inline(never)]
    fn run<E: Inlined, const RUST: bool>(self, engine: &mut E) -> (usize, Option<Box<Violation>>) {
        for (at, event) in self.events[..self.count].iter().enumerate() {
            if let Some(next) = self.events.get(at + FORESIGHT) {
                engine.foresee(next);
            }
            if !orders(event, RUST, self.names) {
                continue;
            }
            if !self.lowering.stands_under::<RUST>(event) {
                return (at, None);
            }
            let position = self.position + at as u64;
            self.open.note(event, position);
            let found = engine.take(event, position);
            if found.is_some() {
                return (at + 1, found);
            }
        }
        (self.count, None)
    }
}

/// Whether the event has a meaning: locks of a [`ObjectKind::Lock`] do not order under `rust`. What the lowering keeps of locks that are held is thereby of the
/// others alone, and nothing of a lock is left behind where the rest of its events is left out.
#[inline(always)]
fn orders(event: &Event, rust: bool, names: &(impl Names + ?Sized)) -> bool {
    match event.op {
        Op::Acquire
        | Op::Release
        | Op::AcquireShared
        | Op::ReleaseShared
        | Op::Upgrade
        | Op::Downgrade => !(rust && names.kind(event.object()) == ObjectKind::Lock),
        _ => true,
    }
}

/// The transactions that are open.
#[derive(Debug, Default)]
struct Open {
    /// Where each strand's began; 0 where none is open.
    since: Vec<u64>,
    count: usize,
}

impl Open {
    #[inline]
    fn since(&self, strand: StrandId) -> u64 {
        self.since.get(strand.0 as usize).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn note(&mut self, event: &Event, position: u64) {
        match event.op {
            Op::Begin => self.count += usize::from(self.set(event.strand, position) == 0),
            Op::End => self.count -= usize::from(self.set(event.strand, 0) != 0),
            _ => {}
        }
    }

    /// What it was before.
    #[inline]
    fn set(&mut self, strand: StrandId, position: u64) -> u64 {
        let at = strand.0 as usize;
        if at >= self.since.len() {
            self.since.resize(at + 1, 0);
        }
        std::mem::replace(&mut self.since[at], position)
    }
}

/// Transactions that do not count, where the engine cannot take them back.
#[derive(Debug, Default)]
struct Abandoned {
    /// Whose, where the first one began, and where the one after the last did.
    runs: VecDeque<(StrandId, u64, u64)>,
}

impl Abandoned {
    /// More than this are not kept: a cycle through one of the first would be of a transaction that has been open since.
    const KEPT: usize = 1024;

    fn add(&mut self, strand: StrandId, begin: u64, next: u64) {
        match self.runs.iter_mut().rev().find(|run| run.0 == strand) {
            Some(run) if run.2 == begin => run.2 = next,
            _ => {
                if self.runs.len() == Self::KEPT {
                    self.runs.pop_front();
                }
                self.runs.push_back((strand, begin, next));
            }
        }
    }

    fn is_part_of(&self, violation: &Violation) -> bool {
        let is_one = |strand, begin| {
            let mut runs = self.runs.iter();
            runs.any(|&(of, first, next)| of == strand && (first..next).contains(&begin))
        };
        let mut all = violation.transactions.iter();
        all.any(|it| it.begin.is_some_and(|begin| is_one(it.strand, begin)))
    }
}

/// Equal for violations that are the same to a user.
#[cfg(feature = "check")]
pub(crate) fn signature(violation: &Violation, names: &(impl Names + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    key(violation, SiteId::NONE, names).hash(&mut hasher);
    hasher.finish()
}

/// `site` is that of the event which closed the cycle.
fn key(violation: &Violation, site: SiteId, names: &(impl Names + ?Sized)) -> Key {
    let mut hasher = DefaultHasher::new();
    let closing = (violation.blame + violation.edges.len())
        .checked_sub(1)
        .map(|at| at % violation.edges.len());
    let object = closing.and_then(|at| violation.edges[at].to.object);
    if let Some(object) = object {
        let info = names.object(object);
        match info.type_name.or(info.name) {
            Some(name) => name.hash(&mut hasher),
            // Each message has a number of its own, and another one in the file: to a user they are all the same.
            None if info.kind == ObjectKind::Message => {}
            None => object.0.hash(&mut hasher),
        }
    }
    Key {
        block: violation.transactions[violation.blame].block,
        entry: closing.map_or(site, |at| violation.edges[at].to.site),
        exit: violation
            .edges
            .get(violation.blame)
            .map_or(SiteId::NONE, |edge| edge.from.site),
        object: hasher.finish(),
    }
}
