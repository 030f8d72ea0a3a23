//! Recorded events, read under a [`Semantics`]: the rules of `docs/rules.md`, as code.

use std::collections::BTreeMap;

use crate::dense::Dense;
use crate::trace::{BlockId, Event, ObjectId, Op, Semantics, SiteId, StrandId};

/// Turns recorded events into plain ones: no [`Op::Split`], each strand in at most one block, and
/// nothing that depends on the semantics any more, except which locks order.
///
/// What comes out is well formed if what goes in is. Under `paper` it is the same trace, with
/// updates and exchanges turned into reads and writes. Under `rust` it takes what
/// [`Retries`](super::Retries) gives out, and:
///
/// - a split, or a join of a strand from outside the transaction, ends the transaction and begins
///   another of the same block;
/// - a strand that is forked inside a transaction *works for it* until that transaction ends: its
///   events are given to the transaction's strand, its own blocks are nested ones. Its fork is
///   emitted when the transaction ends, so that what it does later comes after the transaction; a
///   block that it is inside of at that moment begins there, and locks that it holds are handed
///   over by a release and an acquire.
///
/// ```
/// use aerodrome::check::Lowering;
/// use aerodrome::trace::{Event, Op, Semantics, SiteId, StrandId};
///
/// let event = |strand, op, target| Event::new(StrandId(strand), op, target, SiteId::NONE);
/// let mut lowering = Lowering::new(Semantics::Rust);
/// let mut lowered = Vec::new();
/// for recorded in [event(0, Op::Begin, 1), event(0, Op::Fork, 5), event(5, Op::Read, 7)] {
///     lowering.lower(recorded, &mut |event| lowered.push(event));
/// }
/// assert_eq!(lowered, [event(0, Op::Begin, 1), event(0, Op::Read, 7)]);
/// ```
#[derive(Debug)]
pub struct Lowering {
    semantics: Semantics,
    strands: Dense<StrandId, Strand>,
    /// Acquires by strands that work for others, without their releases.
    held: Vec<Event>,
    /// How often each block was split, by where it waited.
    splits: BTreeMap<(BlockId, SiteId), u64>,
}

#[derive(Debug, Default)]
struct Strand {
    /// The strand whose open transaction this one works for.
    works_for: Option<StrandId>,
    /// The block that the strand is inside of, and where it began.
    block: Option<(BlockId, SiteId)>,
    /// Those who work for the open transaction.
    workers: Vec<StrandId>,
    /// The locks that the strand and its workers share, once for each of them: only the first to
    /// share a lock and the last to let it go are seen.
    shared: Vec<ObjectId>,
    /// What is to be known of a strand while it works for another.
    work: Option<Box<Work>>,
    /// The strand has worked for a transaction that is over: a join by anyone but that
    /// transaction's strand comes after it.
    worked: Option<Worked>,
    /// At least this many strands had the number before this one: what is kept of a strand by its
    /// number is not the next owner's.
    former: u32,
}

/// The transaction that a strand has worked for.
#[derive(Debug)]
struct Worked {
    owner: StrandId,
    /// Of the owner's number.
    former: u32,
    block: BlockId,
}

#[derive(Debug)]
struct Work {
    /// Where the strand was forked.
    site: SiteId,
    /// What the strand's next write stores, or birth finds: other events of the transaction may
    /// come between.
    value: Option<Event>,
    /// The strand is over.
    exited: bool,
}

impl Lowering {
    /// At the start of a trace.
    pub fn new(semantics: Semantics) -> Lowering {
        Lowering {
            semantics,
            strands: Dense::new(),
            held: Vec::new(),
            splits: BTreeMap::new(),
        }
    }

    /// The blocks that were split by waits, each with where it waited and how often: what came
    /// before and what came after was not judged as one.
    pub fn splits(&self) -> impl Iterator<Item = (BlockId, SiteId, u64)> {
        let splits = self.splits.iter();
        splits.map(|(&(block, site), &count)| (block, site, count))
    }

    /// The semantics that events are read under.
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Takes the next recorded event and emits what it stands for: nothing, one event, or several.
    #[inline]
    pub fn lower(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        if self.stands(&event) {
            emit(event);
        } else {
            self.lower_other(event, emit);
        }
    }

    /// Takes the next recorded event if it stands for itself and nothing else, as most do.
    /// Otherwise nothing has happened, and it is
    /// [`lower_other`](Self::lower_other)'s.
    #[inline(always)]
    pub(super) fn stands(&mut self, event: &Event) -> bool {
        match self.semantics {
            Semantics::Rust => self.stands_under::<true>(event),
            Semantics::Paper => self.stands_under::<false>(event),
        }
    }

    /// The same, where the semantics is known to be `rust` or `paper`.
    #[inline(always)]
    pub(super) fn stands_under<const RUST: bool>(&mut self, event: &Event) -> bool {
        if !RUST {
            return !matches!(
                event.op,
                Op::Split
                    | Op::Restart
                    | Op::Pause
                    | Op::Busy
                    | Op::Reach
                    | Op::Leave
                    | Op::Update(_)
                    | Op::Vain(_)
                    | Op::CompareExchange
                    | Op::CompareExchangeFailed
            );
        }
        let Some(strand) = self.strands.get_mut(event.strand) else {
            return false;
        };
        if strand.works_for.is_some() {
            return false;
        }
        match event.op {
            Op::Begin => strand.block = Some((event.block(), event.site)),
            Op::End if strand.workers.is_empty() => strand.block = None,
            Op::End
            | Op::Split
            | Op::Fork
            | Op::Join
            | Op::Exit
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::Upgrade
            | Op::Downgrade => return false,
            // The lock may be one that a worker has acquired: guards move.
            Op::Release => return self.held.is_empty(),
            _ => {}
        }
        true
    }

    /// An event that does not stand for itself, or a strand's first.
    #[inline(never)]
    pub(super) fn lower_other(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        if self.semantics == Semantics::Paper {
            let op = match event.op {
                Op::Update(_) | Op::Vain(_) | Op::CompareExchange => Op::ReadWrite,
                Op::CompareExchangeFailed => Op::Read,
                _ => return,
            };
            return emit(Event { op, ..event });
        }
        if self.strand(event.strand).works_for.is_some() {
            return self.lower_work(event, emit);
        }
        match event.op {
            Op::End => {
                self.release_workers(event.strand, emit);
                self.strand(event.strand).block = None;
                emit(event);
            }
            Op::AcquireShared | Op::ReleaseShared | Op::Upgrade | Op::Downgrade => {
                self.share(event, emit);
            }
            Op::Release => {
                self.give_back(&event);
                emit(event);
            }
            Op::Split | Op::Fork | Op::Join | Op::Exit => self.lower_rare(event, emit),
            // A strand's first event: it is known now.
            _ => self.lower(event, emit),
        }
    }

    #[inline]
    fn strand(&mut self, id: StrandId) -> &mut Strand {
        self.strands.entry(id)
    }

    /// The strand whose transaction the events of this strand belong to.
    fn transaction(&self, strand: StrandId) -> Option<StrandId> {
        let works_for = self.strands.get(strand)?.works_for;
        let owner = works_for.unwrap_or(strand);
        let block = self.strands.get(owner)?.block;
        block.is_some().then_some(owner)
    }

    /// The operations that act on transactions.
    fn lower_rare(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        let transaction = self.transaction(event.strand);
        match event.op {
            Op::Split => {
                if let Some(owner) = transaction {
                    self.split(owner, event.site, emit);
                }
            }
            Op::Fork => {
                self.end_strand(event.other(), emit);
                match transaction {
                    Some(owner) => self.put_to_work(event.other(), owner, event.site),
                    None => emit(event),
                }
            }
            Op::Join => self.join(event, transaction, emit),
            Op::Exit => {
                self.release_workers(event.strand, emit);
                if let Some((block, _)) = self.strand(event.strand).block.take() {
                    emit(Event {
                        target: block.0,
                        op: Op::End,
                        ..event
                    });
                }
                self.carry_order(event.strand, emit);
                emit(event);
            }
            _ => unreachable!("handled by the callers"),
        }
    }

    /// The strand works for the owner's transaction from here on.
    fn put_to_work(&mut self, worker: StrandId, owner: StrandId, site: SiteId) {
        self.strand(owner).workers.push(worker);
        let it = self.strand(worker);
        it.works_for = Some(owner);
        it.work = Some(Box::new(Work {
            site,
            value: None,
            exited: false,
        }));
    }

    /// A join of a worker by its own transaction is nothing; any other is a wait.
    fn join(&mut self, event: Event, transaction: Option<StrandId>, emit: &mut impl FnMut(Event)) {
        let joined = event.other();
        let works_for = self.strand(joined).works_for;
        if works_for.is_some() && works_for == transaction {
            return self.end_strand(joined, emit);
        }
        if let Some(other) = works_for {
            self.release_worker(other, joined, emit);
        }
        let me = (event.strand, self.strand(event.strand).former);
        let worked = &self.strand(joined).worked;
        if worked
            .as_ref()
            .is_some_and(|worked| (worked.owner, worked.former) != me)
        {
            self.carry_order(joined, emit);
        }
        if let Some(owner) = transaction {
            self.split(owner, event.site, emit);
        }
        emit(event);
        self.end_strand(joined, emit);
    }

    /// An event of a strand that works for another's transaction.
    fn lower_work(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        let strand = self.strand(event.strand);
        let (Some(owner), Some(work)) = (strand.works_for, &mut strand.work) else {
            unreachable!("only called for a strand that works for another");
        };
        let own = Event {
            strand: owner,
            ..event
        };
        match event.op {
            Op::Begin => strand.block = Some((event.block(), event.site)),
            Op::End => strand.block = None,
            Op::Split | Op::Fork | Op::Join => self.lower_rare(event, emit),
            Op::Value => work.value = Some(own),
            // The end of a worker is not the end of whom it works for.
            Op::Exit => {
                work.exited = true;
                work.value = None;
                strand.block = None;
            }
            op => {
                match op {
                    Op::Acquire | Op::AcquireShared => self.held.push(event),
                    Op::Release | Op::ReleaseShared => self.give_back(&event),
                    Op::Upgrade => self.hold(&event, Op::Acquire),
                    Op::Downgrade => self.hold(&event, Op::AcquireShared),
                    Op::Write | Op::ReadWrite | Op::Update(_) | Op::Born => {
                        if let Some(value) = work.value.take() {
                            emit(value);
                        }
                    }
                    _ => {}
                }
                self.share(own, emit);
            }
        }
    }

    /// A lock is given back: an exclusive one by whoever has its guard, a shared one by whoever
    /// acquired it.
    fn give_back(&mut self, event: &Event) {
        let is_shared = event.op == Op::ReleaseShared;
        self.held
            .retain(|held| held.target != event.target || is_shared && held.strand != event.strand);
    }

    /// A strand that works for another holds the lock in another way.
    fn hold(&mut self, event: &Event, op: Op) {
        for held in &mut self.held {
            if (held.strand, held.target) == (event.strand, event.target) {
                held.op = op;
            }
        }
    }

    /// Emits an event; of a lock that a strand shares several times over, the outermost acquire and
    /// release.
    fn share(&mut self, event: Event, emit: &mut impl FnMut(Event)) {
        let shared = &mut self.strand(event.strand).shared;
        let lock = event.object();
        let held = shared.iter().position(|&held| held == lock);
        match (event.op, held) {
            (Op::AcquireShared, Some(_)) => return shared.push(lock),
            (Op::AcquireShared | Op::Downgrade, _) => shared.push(lock),
            (Op::ReleaseShared | Op::Upgrade, Some(at)) => {
                shared.swap_remove(at);
                if shared.contains(&lock) {
                    return;
                }
            }
            _ => {}
        }
        emit(event);
    }

    fn split(&mut self, owner: StrandId, site: SiteId, emit: &mut impl FnMut(Event)) {
        self.release_workers(owner, emit);
        if let Some((block, _)) = self.strand(owner).block {
            // A restart has no site. It weakens nothing: there was nothing but looks before it.
            if site != SiteId::NONE {
                *self.splits.entry((block, site)).or_default() += 1;
            }
            emit(Event::new(owner, Op::End, block.0, site));
            emit(Event::new(owner, Op::Begin, block.0, site));
        }
    }

    /// The transaction ends: those who worked for it become strands of their own that come after
    /// it.
    #[inline]
    fn release_workers(&mut self, owner: StrandId, emit: &mut impl FnMut(Event)) {
        if self.strand(owner).workers.is_empty() {
            return;
        }
        for worker in self.strand(owner).workers.clone() {
            self.release_worker(owner, worker, emit);
        }
    }

    /// Makes the worker a strand of its own, which comes after the transaction as far as it has
    /// gone: the fork is emitted now, and what the worker is in the middle of is handed over.
    fn release_worker(&mut self, owner: StrandId, worker: StrandId, emit: &mut impl FnMut(Event)) {
        self.strand(owner).workers.retain(|&other| other != worker);
        let it = self.strand(worker);
        it.works_for = None;
        let block = it.block;
        let Some(work) = it.work.take() else { return };
        let mut taken_along = self.forget_held(worker);
        if work.exited {
            taken_along.clear();
        }
        for &held in &taken_along {
            let op = match held.op {
                Op::Acquire => Op::Release,
                _ => Op::ReleaseShared,
            };
            let strand = owner;
            self.share(Event { strand, op, ..held }, emit);
        }
        emit(Event::new(owner, Op::Fork, worker.0, work.site));
        let it = self.strand(owner);
        let worked = Worked {
            owner,
            former: it.former,
            block: it.block.map_or(BlockId(0), |(block, _)| block),
        };
        self.strand(worker).worked = Some(worked);
        if work.exited {
            self.carry_order(worker, emit);
            emit(Event::new(worker, Op::Exit, 0, work.site));
        }
        if let Some((block, site)) = block {
            emit(Event::new(worker, Op::Begin, block.0, site));
        }
        for held in taken_along {
            self.share(held, emit);
        }
        if let Some(value) = work.value {
            let strand = worker;
            emit(Event { strand, ..value });
        }
    }

    /// The locks that the strand has acquired are not its own any more.
    fn forget_held(&mut self, strand: StrandId) -> Vec<Event> {
        let mut its = Vec::new();
        self.held.retain(|held| {
            its.extend((held.strand == strand).then_some(*held));
            held.strand != strand
        });
        its
    }

    /// A join comes after what the strand has done for another's transaction, but those events are
    /// not its own any more. An empty block of the strand carries that order.
    fn carry_order(&mut self, strand: StrandId, emit: &mut impl FnMut(Event)) {
        let it = self.strand(strand);
        let worked = it.worked.take().filter(|_| it.block.is_none());
        if let Some(Worked { block, .. }) = worked {
            for op in [Op::Begin, Op::End] {
                emit(Event::new(strand, op, block.0, SiteId::NONE));
            }
        }
    }

    /// The strand does nothing any more; its number may be given to another.
    fn end_strand(&mut self, strand: StrandId, emit: &mut impl FnMut(Event)) {
        self.release_workers(strand, emit);
        self.forget_held(strand);
        let it = std::mem::take(self.strand(strand));
        self.strand(strand).former = it.former.wrapping_add(1);
        if let Some(owner) = it.works_for {
            self.strand(owner).workers.retain(|&other| other != strand);
        }
    }
}
