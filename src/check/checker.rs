//! The whole check of a trace: retries, semantics, engine, repeats.

use std::collections::VecDeque;
use std::collections::hash_map::{DefaultHasher, Entry, HashMap};
use std::hash::{Hash, Hasher};

use super::kind::{AnyEngine, Inlined, Visitor};
use super::{EngineKind, FORESIGHT, Lowering, Retries, Violation};
use crate::dense::Dense;
use crate::trace::{BlockId, Event, Names, ObjectKind, Op, Owner, Semantics, SiteId, StrandId};

/// Checks a trace: [`Retries`], [`Lowering`], an [`Engine`](super::Engine), and what stands between
/// the engine and the user.
///
/// - Lock events that do not order are nothing to the engine: those of a [`ObjectKind::Lock`] under
///   `rust`.
/// - Under `rust` a look of a block counts once it is decided that it was not made in vain, which
///   is when the block ends at the latest. Events that come after it wait, and so does a violation
///   that they close.
/// - Of violations with the same block, entry and exit site, and type of object, the first is given
///   out, the others are counted.
///
/// ```
/// use aerodrome::check::{Checker, EngineKind};
/// use aerodrome::trace::{Event, Op, Semantics, SiteId, StrandId, Tables};
///
/// let names = Tables::new();
/// let event = |strand, op, target| Event::new(StrandId(strand), op, target, SiteId::NONE);
/// let trace = [
///     event(0, Op::Begin, 1),
///     event(0, Op::Read, 7),
///     event(1, Op::Write, 7),
///     event(1, Op::Write, 8),
///     event(0, Op::Read, 8), // closes a cycle, but the block might try again
///     event(0, Op::End, 1),  // it did not
/// ];
/// let mut checker = Checker::new(EngineKind::Exact, Semantics::Rust);
/// for (event, position) in trace.into_iter().zip(1..) {
///     if let Some(violation) = checker.step(event, position, &names) {
///         assert_eq!((position, violation.event), (6, 5));
///     }
/// }
/// assert!(checker.finish(&names).is_none());
/// assert_eq!(checker.counts(), [1]);
/// ```
#[derive(Debug)]
pub struct Checker {
    front: Front,
    engine: AnyEngine,
    ready: VecDeque<(Box<Violation>, SiteId)>,
    /// The site of the event that closed the violation given out last.
    closed_at: SiteId,
    /// The number of each violation that was given out.
    known: HashMap<Key, usize>,
    counts: Vec<u64>,
    /// Whether violations that are the same to a user are given out each time.
    repeats: bool,
}

/// What an event passes before it comes to the engine, and what comes out there.
#[derive(Debug)]
struct Front {
    /// Under `rust`.
    retries: Option<Retries<u64>>,
    back: Back,
    /// By strand: where its block began or was split last, as recorded; 0 where it is in none.
    since: Dense<StrandId, u64>,
    /// Blocks that have restarted after they had written, the newest: whose, and since when they
    /// are open.
    vain_restarts: VecDeque<(StrandId, u64)>,
}

/// So many blocks that have restarted in vain are remembered.
const VAIN_RESTARTS: usize = 4_096;

/// What stands between [`Retries`] and the engine.
#[derive(Debug)]
struct Back {
    lowering: Lowering,
    open: OpenTransactions,
    /// Violations, each with the site of the recorded event that closed it.
    found: Vec<(Box<Violation>, SiteId)>,
}

/// What makes two violations the same to a user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    block: Option<BlockId>,
    entry: SiteId,
    exit: SiteId,
    /// A hash of the type of the object of the closing event; of its name or number where the type
    /// is not known.
    object: u64,
}

impl Checker {
    /// At the start of a trace.
    pub fn new(engine: EngineKind, semantics: Semantics) -> Checker {
        Checker {
            front: Front {
                retries: (semantics == Semantics::Rust).then(Retries::new),
                back: Back {
                    lowering: Lowering::new(semantics),
                    open: OpenTransactions::default(),
                    found: Vec::new(),
                },
                since: Dense::new(),
                vain_restarts: VecDeque::new(),
            },
            engine: AnyEngine::new(engine),
            ready: VecDeque::new(),
            closed_at: SiteId::NONE,
            known: HashMap::new(),
            counts: Vec::new(),
            repeats: false,
        }
    }

    /// Gives out every violation, and counts none: two tests that run in one process may have the
    /// same one, and are to fail each for itself.
    #[cfg(feature = "check")]
    pub(crate) fn with_repeats(self) -> Checker {
        Checker {
            repeats: true,
            ..self
        }
    }

    /// What a strand does is of this group from here on; all are of group 0 at first. What one
    /// group does waits for another's looks to be decided only where they share an object: two
    /// tests that run in one process do not wait for each other.
    pub fn set_group(&mut self, strand: StrandId, group: u32) {
        if let Some(retries) = &mut self.front.retries {
            retries.set_group(strand, group);
        }
    }

    /// Whether events of these are held back.
    #[cfg(feature = "check")]
    pub(crate) fn holds(&self, whose: Whose) -> bool {
        self.front.retries.as_ref().is_some_and(|it| match whose {
            Whose::Object(object) => it.holds_object(object),
            Whose::Strand(strand) => it.holds_strand(strand),
            Whose::Group(group) => it.holds_group(group),
        })
    }

    /// The position at which the strand's open block began, or was split last by a recorded wait.
    pub fn open_since(&self, strand: StrandId) -> Option<u64> {
        let since = self.front.since.get(strand).copied();
        since.filter(|&begin| begin != 0)
    }

    /// Whether the blamed block has called `restart` after it had written something, which has no
    /// effect.
    pub fn restarted_in_vain(&self, violation: &Violation) -> bool {
        let blamed = &violation.transactions[violation.blame];
        let block = blamed.begin.map(|begin| (blamed.strand, begin));
        block.is_some_and(|block| self.front.vain_restarts.contains(&block))
    }

    /// Takes the next event, as [`WellFormed`](crate::trace) lets it through; `position` counts the
    /// trace's events from 1.
    ///
    /// Answers with a violation that is new. Where one event decides several, the others come with
    /// the next calls, or from [`next_found`](Self::next_found).
    #[inline]
    pub fn step(
        &mut self,
        event: Event,
        position: u64,
        names: &(impl Names + ?Sized),
    ) -> Option<Box<Violation>> {
        let front = &mut self.front;
        self.engine.accept(One {
            front,
            event,
            position,
            names,
        });
        self.conclude(names)
    }

    /// Takes the first `count` of these events, which follow one another from `position` on, up to
    /// one that a violation is given out at; says how many were taken.
    ///
    /// The same as [`step`](Self::step) on each, in less time. The events behind `count` are those
    /// that the trace goes on with, as far as known: what they need is fetched from memory
    /// meanwhile.
    pub fn run(
        &mut self,
        events: &[Event],
        count: usize,
        position: u64,
        names: &(impl Names + ?Sized),
    ) -> (usize, Option<Box<Violation>>) {
        let mut taken = 0;
        while taken < count {
            // One that is ready is given out with the next event.
            let count = if self.ready.is_empty() {
                count
            } else {
                taken + 1
            };
            let front = &mut self.front;
            taken += self.engine.accept(Many {
                front,
                events: &events[taken..],
                count: count - taken,
                position: position + taken as u64,
                names,
            });
            let found = self.conclude(names);
            if found.is_some() {
                return (taken, found);
            }
        }
        (count, None)
    }

    /// A violation that an earlier event has decided, where there was more than one.
    pub fn next_found(&mut self) -> Option<Box<Violation>> {
        let (violation, site) = self.ready.pop_front()?;
        self.closed_at = site;
        Some(violation)
    }

    /// Equal for violations that are the same to a user; of the one that was given out last.
    #[cfg(feature = "check")]
    pub(crate) fn signature(&self, violation: &Violation, names: &(impl Names + ?Sized)) -> u64 {
        let mut hasher = DefaultHasher::new();
        key(violation, self.closed_at, names).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether no transaction is open, no event held back and no violation left to give out.
    /// Everything that has happened before such a moment is without meaning for what comes: what a
    /// later transaction reaches begins later.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.front.back.open.count == 0
            && self.ready.is_empty()
            && self.front.retries.as_ref().is_none_or(Retries::is_empty)
    }

    /// The verdict on a group is asked for: its open blocks have looked at what they have looked
    /// at. Gives out one violation a call.
    pub fn flush(&mut self, group: u32, names: &(impl Names + ?Sized)) -> Option<Box<Violation>> {
        self.flush_some(Some(group), names)
    }

    /// The trace is over: gives out what is left, one violation a call.
    pub fn finish(&mut self, names: &(impl Names + ?Sized)) -> Option<Box<Violation>> {
        self.flush_some(None, names)
    }

    fn flush_some(
        &mut self,
        group: Option<u32>,
        names: &(impl Names + ?Sized),
    ) -> Option<Box<Violation>> {
        let front = &mut self.front;
        self.engine.accept(Flush { front, group });
        self.conclude(names)
    }

    /// The blocks that were split by waits; see [`Lowering::splits`].
    pub fn splits(&self) -> impl Iterator<Item = (BlockId, SiteId, u64)> {
        self.front.back.lowering.splits()
    }

    /// How often each violation occurred, in the order in which they were given out.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Events were taken: what they have found.
    #[inline]
    fn conclude(&mut self, names: &(impl Names + ?Sized)) -> Option<Box<Violation>> {
        if !self.front.back.found.is_empty() {
            self.count_found(names);
        }
        self.next_found()
    }

    #[cold]
    fn count_found(&mut self, names: &(impl Names + ?Sized)) {
        for (violation, site) in std::mem::take(&mut self.front.back.found) {
            if self.repeats {
                self.ready.push_back((violation, site));
                continue;
            }
            match self.known.entry(key(&violation, site, names)) {
                Entry::Occupied(known) => self.counts[*known.get()] += 1,
                Entry::Vacant(new) => {
                    new.insert(self.counts.len());
                    self.counts.push(1);
                    self.ready.push_back((violation, site));
                }
            }
        }
    }
}

/// Whose events may be held back: as long as they are, the number must not be given to another,
/// whose events would have to wait for them.
#[cfg(feature = "check")]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    Object(crate::trace::ObjectId),
    Strand(StrandId),
    Group(u32),
}

impl Front {
    /// Takes an event, under `rust` or under `paper`.
    #[inline(always)]
    fn take<E: Inlined, const RUST: bool>(
        &mut self,
        engine: &mut E,
        event: &Event,
        position: u64,
        names: &(impl Names + ?Sized),
    ) {
        self.note(event, position);
        let back = &mut self.back;
        let mut lower = |event, position| back.lower::<E, RUST>(engine, event, position);
        match &mut self.retries {
            Some(retries) if RUST => {
                if orders(event, names) {
                    retries.take(*event, position, &mut lower);
                    if event.op == Op::Restart && retries.take_vain_restart() {
                        self.note_vain_restart(event.strand);
                    }
                } else {
                    retries.pass_over(*event);
                }
            }
            _ => lower(*event, position),
        }
    }

    /// How many of these events, which begin a block, need not pass [`Retries`].
    #[inline]
    fn plain_block(&self, events: &[Event]) -> usize {
        let retries = self.retries.as_ref();
        retries.map_or(0, |it| it.plain_block(events))
    }

    /// Takes an event that need not pass [`Retries`].
    #[inline(always)]
    fn take_plain<E: Inlined>(
        &mut self,
        engine: &mut E,
        event: &Event,
        position: u64,
        names: &(impl Names + ?Sized),
    ) {
        self.note(event, position);
        if orders(event, names) {
            self.back.lower::<E, true>(engine, *event, position);
        }
    }

    #[cold]
    fn note_vain_restart(&mut self, strand: StrandId) {
        if self.vain_restarts.len() == VAIN_RESTARTS {
            self.vain_restarts.pop_front();
        }
        let since = self.since.get(strand).copied().unwrap_or_default();
        self.vain_restarts.push_back((strand, since));
    }

    #[inline]
    fn note(&mut self, event: &Event, position: u64) {
        let since = match event.op {
            Op::Begin => position,
            Op::End | Op::Exit => 0,
            Op::Split if self.since.get(event.strand).is_some_and(|&it| it != 0) => position,
            _ => return,
        };
        *self.since.entry(event.strand) = since;
    }

    fn flush<E: Inlined>(&mut self, engine: &mut E, group: Option<u32>) {
        let back = &mut self.back;
        let mut lower = |event, position| back.lower::<E, true>(engine, event, position);
        match (&mut self.retries, group) {
            (Some(retries), Some(group)) => retries.flush(group, &mut lower),
            (Some(retries), None) => retries.flush_all(&mut lower),
            (None, _) => {}
        }
    }
}

impl Back {
    /// Gives an event that counts to the engine, as what it stands for.
    #[inline(always)]
    fn lower<E: Inlined, const RUST: bool>(&mut self, engine: &mut E, event: Event, position: u64) {
        let Self {
            lowering,
            open,
            found,
        } = self;
        let stands = lowering.stands_under::<RUST>(&event);
        if stands && !RUST {
            // Most events take this way, and the loop over them is to have the engine inside it.
            return give(engine, event, event.site, position, open, found);
        }
        let mut take = |lowered| give(engine, lowered, event.site, position, open, found);
        if stands {
            take(event);
        } else {
            lowering.lower_other(event, &mut take);
        }
    }
}

/// Gives an event to the engine, which stands for one that was recorded at the site.
#[inline(always)]
fn give<E: Inlined>(
    engine: &mut E,
    event: Event,
    site: SiteId,
    position: u64,
    open: &mut OpenTransactions,
    found: &mut Vec<(Box<Violation>, SiteId)>,
) {
    open.note(&event);
    if let Some(violation) = engine.take(&event, position) {
        found.push((violation, site));
    }
}

/// Takes one event.
struct One<'a, N: ?Sized> {
    front: &'a mut Front,
    event: Event,
    position: u64,
    names: &'a N,
}

impl<N: Names + ?Sized> Visitor for One<'_, N> {
    type Answer = ();

    #[inline]
    fn visit<E: Inlined>(self, engine: &mut E) {
        let One {
            front,
            event,
            position,
            names,
        } = self;
        match front.back.lowering.semantics() {
            Semantics::Rust => front.take::<E, true>(engine, &event, position, names),
            Semantics::Paper => front.take::<E, false>(engine, &event, position, names),
        }
    }
}

/// Takes events up to one that finds something; answers with how many.
struct Many<'a, N: ?Sized> {
    front: &'a mut Front,
    events: &'a [Event],
    /// How many are to be taken; the others are only foreseen.
    count: usize,
    position: u64,
    names: &'a N,
}

impl<N: Names + ?Sized> Visitor for Many<'_, N> {
    type Answer = usize;

    #[inline]
    fn visit<E: Inlined>(self, engine: &mut E) -> usize {
        match self.front.back.lowering.semantics() {
            Semantics::Rust => self.run::<E, true>(engine),
            Semantics::Paper => self.run::<E, false>(engine),
        }
    }
}

impl<N: Names + ?Sized> Many<'_, N> {
    #[inline(never)]
    fn run<E: Inlined, const RUST: bool>(self, engine: &mut E) -> usize {
        let events = &self.events[..self.count];
        let mut plain_until = 0;
        for (at, event) in events.iter().enumerate() {
            if let Some(next) = self.events.get(at + FORESIGHT) {
                engine.foresee(next);
            }
            if RUST && event.op == Op::Begin && at >= plain_until {
                plain_until = at + self.front.plain_block(&events[at..]);
            }
            let position = self.position + at as u64;
            if RUST && at < plain_until {
                self.front.take_plain(engine, event, position, self.names);
            } else {
                self.front
                    .take::<E, RUST>(engine, event, position, self.names);
            }
            if !self.front.back.found.is_empty() {
                return at + 1;
            }
        }
        self.count
    }
}

/// Gives out what is held back of a group, or of all.
struct Flush<'a> {
    front: &'a mut Front,
    group: Option<u32>,
}

impl Visitor for Flush<'_> {
    type Answer = ();

    #[inline]
    fn visit<E: Inlined>(self, engine: &mut E) {
        self.front.flush(engine, self.group);
    }
}

/// Whether the event has a meaning under `rust`: locks of a [`ObjectKind::Lock`] do not order. What
/// the lowering keeps of locks that are held is thereby of the others alone.
#[inline(always)]
fn orders(event: &Event, names: &(impl Names + ?Sized)) -> bool {
    match event.op {
        Op::Acquire
        | Op::Release
        | Op::AcquireShared
        | Op::ReleaseShared
        | Op::Upgrade
        | Op::Downgrade => names.kind(event.object()) != ObjectKind::Lock,
        _ => true,
    }
}

/// The transactions that are open.
#[derive(Debug, Default)]
struct OpenTransactions {
    /// By strand.
    is_open: Dense<StrandId, bool>,
    count: usize,
}

impl OpenTransactions {
    #[inline(always)]
    fn note(&mut self, event: &Event) {
        match event.op {
            Op::Begin => self.count += usize::from(!self.set(event.strand, true)),
            Op::End => self.count -= usize::from(self.set(event.strand, false)),
            _ => {}
        }
    }

    /// What it was before.
    #[inline]
    fn set(&mut self, strand: StrandId, is_open: bool) -> bool {
        std::mem::replace(self.is_open.entry(strand), is_open)
    }
}

/// `site` is that of the event which closed the cycle.
fn key(violation: &Violation, site: SiteId, names: &(impl Names + ?Sized)) -> Key {
    let mut hasher = DefaultHasher::new();
    let closing = (violation.blame + violation.edges.len())
        .checked_sub(1)
        .map(|at| at % violation.edges.len());
    let access = closing.map(|at| violation.edges[at].to);
    let object = access.and_then(|access| Some((access.object?, access.position)));
    if let Some((object, position)) = object {
        // It was held back, maybe, and the number is another's by now.
        let info = match names.owner_of_object(object, position) {
            Owner::Former { info, .. } => info,
            Owner::Present | Owner::Forgotten => names.object(object),
        };
        match info.type_name.or(info.name) {
            Some(name) => name.hash(&mut hasher),
            // Each message has a number of its own, and another one in the file: to a user they are
            // all the same.
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
