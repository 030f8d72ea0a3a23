//! Which looks count: decided before anything else is made of an event.
//!
//! A block that waits or tries again looks at things more than once, and only the last look leads
//! to what it does. The looks before are part of no violation. Which ones those are is known when
//! the block ends at the latest, so this stage holds events back until it is, and gives out a trace
//! without them. The engines, the lowering and the predictors know no retry.
//!
//! # The rules
//!
//! A *look* is a read, a failed exchange, a vain update or a vain `try_lock`, here inside a block.
//! A *run* is what a strand does inside a block, from its begin to its end; a strand that was
//! forked inside a block is inside it until the block ends. A run has *segments*, divided by its
//! waits. To *write* is to do what others can see: a write, an effective update or exchange, a
//! send, a signal. To look *again* at an object is a read of it, an exchange of either result, a
//! guard's read and write in one, or any read-modify-write at the site of an earlier look (that is
//! undecided or of the present segment); at a lock, a vain try or its acquire, unless the segment
//! has read what the lock guards: then reading that again is, and writing it is not. A receive is
//! seen by the update of its channel that follows it.
//!
//! Once a run writes an object, its earlier looks at the object count for good: it may have acted
//! on them. Before that:
//!
//! 1. *An exchange answers.* It drops the segment's earlier looks at its object. One that succeeds
//!    and leaves the value as it was is a look.
//! 2. *A failed exchange is retried* when its object is looked at again, or another exchange is
//!    made at its site. This drops the looks since the one that the exchange answers for (the
//!    segment's last at its object), the failure included; and each look before those when its
//!    object is looked at again after the failure. Where another look comes again instead, at the
//!    site of one of these, its loop has come around: they are dropped, and the failure counts.
//! 3. *A pause is a wait* if, before the strand writes anything, it looks again at what it had
//!    looked at in the segment before the pause: at the same site, or without having written it in
//!    between. Of several pauses the last counts. It becomes a split, and the looks from the first
//!    such one up to the pause are dropped.
//! 4. *After a split*, a look before it is dropped when its object is looked at again. So is an
//!    exchange that nothing but others of its object followed before the wait, where a look came
//!    before it at the site of the present one: a lock word's parked bit.
//! 5. *A vain update made again* at its site drops the earlier one; if that is a `swap`, `fetch_or`
//!    or `fetch_and`, the segment's looks at the object before it as well. A `fetch_or` or
//!    `fetch_and` that comes after a read of the object, and is vain, is a read: of what another
//!    has set since, the block has seen that it was not set.
//! 6. *What was found initialised*, by a vain initialisation in the segment, is found again by a
//!    read of it.
//! 7. *A restart* drops the looks of a segment that has written nothing, and is a split, unless
//!    other strands work for the block.
//! 8. *An answer is a wait*: a split comes before the receive of a message that was sent because
//!    the segment had sent one, over any number of strands. No schedule has the one without the
//!    other in between, whether or not the block had to wait for it this time.
//!
//! Outside of blocks a failed exchange and a vain `swap`, `fetch_or` or `fetch_and` are nothing, as
//! a vain `try_lock` is: whoever tries to take what a block holds does so in its middle. So are they
//! where they are the only thing that counts in a block, for such a block says no more.
//!
//! # The queue
//!
//! Events wait in one queue for each group of strands ([`set_group`](Retries::set_group)), and
//! leave it in the order in which they came: nothing overtakes an undecided look. While nothing is
//! undecided, events pass straight through. Groups are independent of each other until they touch
//! the same object: then their queues become one. More than a million events are not held: the
//! oldest undecided looks then count.

mod messages;
mod queue;
mod run;

use rustc_hash::FxHashMap;

use self::messages::{Causes, Message};
use self::queue::{Forced, Queue, State};
use self::run::{By, Key, Run};
use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, StrandId, Update};

/// Takes recorded, well-formed events and gives out those that count, in the same order: by the
/// [rules](crate#what-counts-as-what) of waiting and retrying.
///
/// What comes out has no [`Op::Pause`], [`Op::Busy`] and [`Op::Restart`]; an exchange comes out as
/// a read and write, a failed one as a read. With each event goes a tag of the caller's, such as
/// its position.
///
/// ```
/// use aerodrome::check::Retries;
/// use aerodrome::trace::{Event, Op, SiteId, StrandId};
///
/// let event = |op, target| Event { strand: StrandId(0), target, site: SiteId::NONE, op };
/// let mut retries = Retries::new();
/// let mut out = Vec::new();
/// for (recorded, position) in [
///     event(Op::Begin, 1),
///     event(Op::Read, 7), // what the exchange answers for
///     event(Op::CompareExchangeFailed, 7),
///     event(Op::CompareExchange, 7),
///     event(Op::End, 1),
/// ].into_iter().zip(1..) {
///     retries.take(recorded, position, &mut |event, position| out.push((event.op, position)));
/// }
/// assert_eq!(out, [(Op::Begin, 1), (Op::ReadWrite, 4), (Op::End, 5)]);
/// ```
#[derive(Debug)]
pub struct Retries<T> {
    strands: Dense<StrandId, Strand>,
    /// Those that are not empty.
    queues: Vec<Queue<T>>,
    /// One that is, for its memory.
    spare: Option<Queue<T>>,
    /// By object: the [`id`](Queue::id) of the queue that an event on it was put into last.
    touched: Dense<ObjectId, u32>,
    /// Those on their way that come after a send of an open block.
    messages: FxHashMap<u32, Message>,
    /// What an exchange comes out as.
    exchange: Op,
    queue_ids: u32,
    /// Those that have worked for the block that has just ended: what they do next comes after it.
    released: Vec<StrandId>,
    /// The number of the last event.
    now: u64,
    held: usize,
    /// The last restart came after something was written.
    is_restart_vain: bool,
}

#[derive(Debug, Default)]
struct Strand {
    group: u32,
    /// The queue that its last event was put into.
    touched: u32,
    in_block: bool,
    /// The strand in whose block this one was forked.
    root: Option<StrandId>,
    /// Those that were forked in this one's block.
    workers: Vec<StrandId>,
    /// The lock that was acquired last.
    acquired: Option<u32>,
    /// The block began with this event.
    began: u64,
    /// The sends that messages have told the strand of.
    causes: Causes,
    /// Counts the runs, and what else decides all looks.
    runs: u32,
    run: Run,
}

impl Strand {
    #[inline]
    fn is_inside(&self) -> bool {
        self.in_block | self.root.is_some()
    }
}

impl<T: Copy> Default for Retries<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Retries<T> {
    /// At the start of a trace.
    pub fn new() -> Self {
        Self {
            strands: Dense::new(),
            queues: Vec::new(),
            spare: None,
            touched: Dense::new(),
            messages: FxHashMap::default(),
            exchange: Op::ReadWrite,
            queue_ids: 0,
            released: Vec::new(),
            now: 0,
            held: 0,
            is_restart_vain: false,
        }
    }

    /// Exchanges come out as such: predictors have to know that they succeeded. And the look that
    /// one answers for, where its strand got the expected value, comes out as a failed exchange: it
    /// is no access, but what the strand does next depends on it.
    #[must_use]
    pub fn with_exchanges(self) -> Self {
        Self {
            exchange: Op::CompareExchange,
            ..self
        }
    }

    /// What a strand does is of this group from here on; all are of group 0 at first.
    pub fn set_group(&mut self, strand: StrandId, group: u32) {
        self.strands.entry(strand).group = group;
    }

    /// Whether nothing is held back.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Whether a restart has had no effect, because its block had written before it; asked once.
    pub(super) fn take_vain_restart(&mut self) -> bool {
        std::mem::take(&mut self.is_restart_vain)
    }

    /// Whether events on the object are held back: then its number must not be given to another.
    pub fn holds_object(&self, object: ObjectId) -> bool {
        let touched = self.touched.get(object);
        touched.is_some_and(|&id| self.has_queue(id))
    }

    /// Whether events of the strand are held back: then its number must not be given to another.
    pub fn holds_strand(&self, strand: StrandId) -> bool {
        let strand = self.strands.get(strand);
        strand.is_some_and(|it| self.has_queue(it.touched))
    }

    /// Whether events of the group are held back.
    pub fn holds_group(&self, group: u32) -> bool {
        self.queue_of(group).is_some_and(|index| {
            let mut items = self.queues[index].items.iter();
            items.any(|item| self.group(item.event.strand) == group)
        })
    }

    fn has_queue(&self, id: u32) -> bool {
        self.queues.iter().any(|queue| queue.id == id)
    }

    /// How many of these events, which begin a block, pass straight through and leave no trace
    /// here: all of the block, if nothing is held back, no other strand comes in between, and no
    /// rule drops a look, because the block has no exchange, vain update, message, pause or wait.
    /// Otherwise none.
    #[inline]
    pub(super) fn plain_block(&self, events: &[Event]) -> usize {
        /// A longer block is not looked through.
        const LONG: usize = 64;
        let strand = events[0].strand;
        let is_inside = self.strands.get(strand).is_some_and(Strand::is_inside);
        if is_inside || !self.is_empty() {
            return 0;
        }
        let is_plain = |event: &&Event| {
            use Op::*;
            let op = event.op;
            event.strand == strand
                && (matches!(op, Read | Write | ReadWrite | Update(_) | Reach | Leave)
                    || matches!(op, Acquire | Release | AcquireShared | ReleaseShared))
        };
        let plain = events[1..].iter().take(LONG).take_while(is_plain).count();
        match events.get(plain + 1) {
            Some(end) if end.op == Op::End && end.strand == strand => plain + 2,
            _ => 0,
        }
    }

    /// Takes the next event, and gives out what is decided.
    pub fn take(&mut self, event: Event, tag: T, emit: &mut impl FnMut(Event, T)) {
        self.now += 1;
        let strand = self.strands.entry(event.strand);
        if strand.is_inside() {
            return self.take_inside(event, tag, emit);
        }
        match event.op {
            Op::Begin => {
                strand.in_block = true;
                strand.began = self.now;
                strand.run.clear();
            }
            Op::Fork => {
                let causes = strand.causes.clone();
                self.end(event.other());
                self.strands[event.other()].causes = causes;
            }
            Op::Join => self.join(event),
            Op::Exit => self.end(event.strand),
            Op::Send => self.send(event),
            Op::Recv => {
                self.receive(event);
            }
            // A try in vain, as that of a lock that another has.
            Op::CompareExchangeFailed | Op::Vain(Update::Swap | Update::Or | Update::And) => return,
            Op::Pause | Op::Busy | Op::Restart => return,
            _ => {}
        }
        self.pass(event, tag, State::Counts, emit);
    }

    /// A lock that does not order was acquired or released: what [`take`](Self::take) does, but the
    /// event itself is left out.
    pub fn pass_over(&mut self, event: Event) {
        let strand = self.strands.entry(event.strand);
        if strand.is_inside() && matches!(event.op, Op::Acquire | Op::AcquireShared | Op::Upgrade) {
            self.now += 1;
            self.acquire(event);
        }
    }

    /// Gives out what is held back of a group: its open blocks have looked at what they have looked
    /// at. What waits for a look of another group's goes on waiting.
    pub fn flush(&mut self, group: u32, emit: &mut impl FnMut(Event, T)) {
        if let Some(index) = self.queue_of(group) {
            self.give_out(index, Forced::Group(group), emit);
        }
    }

    /// Gives out all that is held back.
    pub fn flush_all(&mut self, emit: &mut impl FnMut(Event, T)) {
        while !self.queues.is_empty() {
            self.give_out(0, Forced::All, emit);
        }
    }

    /// An event of a strand that is inside a block.
    fn take_inside(&mut self, event: Event, tag: T, emit: &mut impl FnMut(Event, T)) {
        let number = self.now;
        let is_answer = event.op == Op::Recv && self.receive(event);
        let strand = &mut self.strands[event.strand];
        let run = &mut strand.run;
        run.has_acted |= acts(event.op);
        match event.op {
            Op::Write => {
                run.exchanges.clear();
                run.write(Some(event.target));
            }
            Op::Signal => {
                run.exchanges.clear();
                run.write(None);
            }
            Op::Send => {
                run.exchanges.clear();
                run.write(None);
                self.send(event);
            }
            Op::Recv if is_answer => {
                run.begin_segment(number);
                let op = Op::Split;
                self.pass(Event { op, ..event }, tag, State::Counts, emit);
            }
            Op::Acquire | Op::AcquireShared | Op::Upgrade => self.acquire(event),
            Op::Split => run.begin_segment(number),
            Op::Begin => {
                strand.in_block = true;
                strand.began = number;
            }
            Op::End => {
                strand.in_block = false;
                if strand.root.is_none() {
                    let tried = run.lone_try();
                    self.decide(event.strand, None, tried.as_slice());
                    self.end(event.strand);
                }
            }
            Op::Fork => self.fork_inside(event),
            Op::Join => self.join_inside(event),
            Op::Exit => self.end(event.strand),
            Op::Read
            | Op::CompareExchangeFailed
            | Op::CompareExchange
            | Op::Vain(_)
            | Op::ReadWrite
            | Op::Update(_)
            | Op::Busy
            | Op::Pause
            | Op::Restart => {
                return self.take_look(event, tag, emit);
            }
            _ => {}
        }
        self.pass(event, tag, State::Counts, emit);
    }

    /// What a strand inside a block looks at or updates, and what says that it waits.
    fn take_look(&mut self, event: Event, tag: T, emit: &mut impl FnMut(Event, T)) {
        let number = self.now;
        let strand = &mut self.strands[event.strand];
        let undecided = State::Undecided(strand.runs);
        let (mut op, mut state) = (event.op, State::Counts);
        let (mut dropped, mut split, mut answered) = (Vec::new(), None, None);
        let (key, run) = (Key::content(event.target), &mut strand.run);
        match event.op {
            Op::Read => {
                split = run.look_again(key, event.site, By::Other, &mut dropped);
                if run.has_found(key) {
                    op = Op::Vain(Update::Init);
                }
                run.look(number, key, event.site, None);
                state = undecided;
            }
            Op::CompareExchangeFailed => {
                split = run.fail_exchange(number, event, &mut dropped);
                state = undecided;
            }
            Op::CompareExchange => {
                answered = run.expects(key);
                split = run.exchange(number, event, &mut dropped);
                state = undecided;
            }
            Op::Vain(Update::Exchange) => {
                answered = run.expects(key);
                split = run.exchange_in_vain(number, event, &mut dropped);
                state = undecided;
            }
            Op::Vain(kind) => {
                (split, op) = run.update_in_vain(number, event, kind, &mut dropped);
                state = undecided;
            }
            Op::ReadWrite | Op::Update(_) => {
                let is_guard = event.op == Op::ReadWrite && strand.acquired == Some(event.target);
                if is_guard || run.repeats(key, event.site) {
                    split = run.look_again(key, event.site, By::Other, &mut dropped);
                    run.drop_vain(key, event.site, &mut dropped);
                }
                run.exchanges.clear();
                run.write(Some(event.target));
            }
            Op::Busy => {
                let lock = Key::lock(event.target);
                if !run.has_read_guarded(event.target) {
                    split = run.look_again(lock, event.site, By::Other, &mut dropped);
                }
                run.look(number, lock, event.site, None);
            }
            Op::Pause if run.has_looked() => {
                run.pause = Some(number);
                state = undecided;
            }
            Op::Restart if run.has_written => self.is_restart_vain = true,
            Op::Restart => {
                run.drop_between(run.segment + 1, number, &mut dropped);
                if strand.root.is_none() && strand.workers.is_empty() {
                    run.begin_segment(number);
                    op = Op::Split;
                }
            }
            _ => {}
        }
        self.decide(event.strand, split, &dropped);
        self.keep_answered(event.strand, answered);
        if matches!(op, Op::Busy | Op::Restart) || op == Op::Pause && state == State::Counts {
            return self.release(event.strand, emit);
        }
        self.pass(Event { op, ..event }, tag, state, emit);
    }

    /// A strand inside a block has forked a worker of the block.
    fn fork_inside(&mut self, event: Event) {
        let strand = &self.strands[event.strand];
        let root = strand.root.unwrap_or(event.strand);
        let causes = strand.causes.clone();
        self.end(event.other());
        let child = self.strands.entry(event.other());
        child.root = Some(root);
        child.causes = causes;
        child.run.clear();
        self.strands[root].workers.push(event.other());
    }

    /// A strand inside a block has joined another one, which may be no worker of the block.
    fn join_inside(&mut self, event: Event) {
        let root = self.strands[event.strand].root.unwrap_or(event.strand);
        let child = self.strands.entry(event.other()).root;
        if child != Some(root) {
            let run = &mut self.strands[event.strand].run;
            run.begin_segment(self.now);
        }
        self.join(event);
    }

    /// A strand inside a block has acquired a lock.
    fn acquire(&mut self, event: Event) {
        let strand = &mut self.strands[event.strand];
        if event.op == Op::Acquire {
            strand.acquired = Some(event.target);
        }
        let key = Key::lock(event.target);
        if strand.run.last.get(key) == 0 || strand.run.has_read_guarded(event.target) {
            return;
        }
        let mut dropped = Vec::new();
        let run = &mut strand.run;
        let split = run.look_again(key, event.site, By::Other, &mut dropped);
        self.decide(event.strand, split, &dropped);
    }

    /// Enters into the queue what was decided of a strand's events.
    fn decide(&mut self, strand: StrandId, split: Option<u64>, dropped: &[u64]) {
        if split.is_none() && dropped.is_empty() {
            return;
        }
        let touched = self.strands[strand].touched;
        let Some(queue) = self.queues.iter_mut().find(|queue| queue.id == touched) else {
            return;
        };
        for &number in dropped {
            if let Some(item) = queue.find(number) {
                item.state = State::Dropped;
            }
        }
        if let Some(number) = split {
            queue.split(number);
        }
        self.held -= queue.tidy_up();
    }

    /// The look that an exchange answers for, which was dropped, is what predictors have to know.
    fn keep_answered(&mut self, strand: StrandId, answered: Option<u64>) {
        let (Op::CompareExchange, Some(number)) = (self.exchange, answered) else {
            return;
        };
        let touched = self.strands[strand].touched;
        let mut queues = self.queues.iter_mut();
        let queue = queues.find(|queue| queue.id == touched);
        let item = queue.and_then(|queue| queue.find(number));
        if let Some(item) = item.filter(|item| item.state == State::Dropped) {
            item.state = State::Answered;
        }
    }

    /// The strand does nothing for its block any more, and it has no block.
    fn end(&mut self, id: StrandId) {
        let strand = self.strands.entry(id);
        strand.in_block = false;
        strand.acquired = None;
        strand.runs = strand.runs.wrapping_add(1);
        strand.run.clear();
        let workers = std::mem::take(&mut strand.workers);
        if let Some(root) = strand.root.take() {
            let workers = &mut self.strands[root].workers;
            workers.retain(|&worker| worker != id);
        }
        for &worker in &workers {
            // A block of its own goes on, and begins here.
            let worker = &mut self.strands[worker];
            worker.root = None;
            worker.runs = worker.runs.wrapping_add(1);
            worker.run.clear();
        }
        self.released = workers;
    }
}

/// Whether it orders, and is neither an access nor what [`Run::write`] is told of.
fn acts(op: Op) -> bool {
    use Op::{Acquire, AcquireShared, Downgrade, Release, ReleaseShared, Upgrade};
    let is_lock = matches!(
        op,
        Acquire | Release | AcquireShared | ReleaseShared | Upgrade | Downgrade
    );
    let meets_zero = matches!(op, Op::Reach | Op::Leave);
    is_lock || meets_zero || matches!(op, Op::Split | Op::Fork | Op::Join | Op::Await | Op::Recv)
}

impl Strand {
    /// All that the strand has looked at counts.
    fn count_looks(&mut self) {
        self.runs = self.runs.wrapping_add(1);
        for look in &mut self.run.looks {
            look.is_undecided = false;
        }
        self.run.exchanges.clear();
        (self.run.has_acted, self.run.pause) = (true, None);
    }
}
