//! Which looks count: decided before anything else is made of an event.
//!
//! A block that waits or tries again looks at things more than once, and only the last look leads
//! to what it does. The looks before are part of no violation. Which ones those are is known when
//! the block ends at the latest, so this stage holds events back until it is, and gives out a trace
//! without them. The engines, the lowering and the predictors know no retry.
//!
//! # The rules
//!
//! A *look* is a read, a failed exchange, a vain update or a vain `try_lock` inside a block. A
//! *run* is what a strand does inside a block, from its begin to its end; a strand that was forked
//! inside a block is inside it until the block ends. A run has *segments*, divided by its waits. To
//! *write* is to do what others can see: a write, an effective update or exchange, a send, a
//! signal. To look *again* at an object is a read of it, an exchange of either result, a
//! guard's read and write in one, or any read-modify-write at the site of an earlier look (that is
//! undecided or of the present segment); at a lock, a vain try or its acquire. A receive is seen by
//! the update of its channel that follows it.
//!
//! Once a run writes an object, its earlier looks at the object count for good: it may have acted
//! on them. Before that:
//!
//! 1. *An exchange answers.* It drops the segment's earlier looks at its object.
//! 2. *A failed exchange is retried* when its object is looked at again, or another exchange is
//!    made at its site. This drops the looks since the one that the exchange answers for (the
//!    segment's last at its object), the failure included; and each look before those when its
//!    object is looked at again after the failure.
//! 3. *A pause is a wait* if, before the strand writes anything, it looks again at what it had
//!    looked at in the segment before the pause: at the same site, or without having written it in
//!    between. Of several pauses the last counts. It becomes a split, and the looks from the first
//!    such one up to the pause are dropped.
//! 4. *After a split*, a look before it is dropped when its object is looked at again. So is an
//!    exchange that nothing but others of its object followed before the wait, where a look came
//!    before it at the site of the present one: a lock word's parked bit.
//! 5. *A vain update made again* at its site drops the earlier one.
//! 6. *A restart* drops the looks of a segment that has written nothing, and is a split, unless
//!    other strands work for the block.
//! 7. *An answer is a wait*: a split comes before the receive of a message that was sent because
//!    the segment had sent one, over any number of strands. No schedule has the one without the
//!    other in between, whether or not the block had to wait for it this time.
//!
//! # The queue
//!
//! Events wait in one queue for each group of strands ([`set_group`](Retries::set_group)), and
//! leave it in the order in which they came: nothing overtakes an undecided look. While nothing is
//! undecided, events pass straight through. Groups are independent of each other until they touch
//! the same object: then their queues become one. More than [`LIMIT`] events are not held: the
//! oldest undecided looks then count.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};

/// So many events wait at most.
const LIMIT: usize = 1 << 20;

/// The memory of a queue for so many events is kept.
const SPARE: usize = 4_096;

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
    /// The number of the last event.
    now: u64,
    held: usize,
}

/// Sends of open blocks: the strand of each block, and the number of its last such send.
type Causes = Vec<(StrandId, u64)>;

#[derive(Debug)]
struct Message {
    /// The strand of the block that it was sent in.
    block: Option<StrandId>,
    causes: Causes,
}

#[derive(Debug)]
struct Queue<T> {
    id: u32,
    groups: Vec<u32>,
    items: VecDeque<Item<T>>,
    /// Dropped items are removed when there are so many in all.
    tidy_at: usize,
}

#[derive(Debug)]
struct Item<T> {
    event: Event,
    tag: T,
    number: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Counts,
    /// While the strand's [`run`](Strand::runs) is this one.
    Undecided(u32),
    Dropped,
}

/// Whose looks count though they are undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forced {
    None,
    /// Of the strand that comes first.
    First,
    Group(u32),
    All,
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

/// What a strand has done inside the block.
#[derive(Debug, Default)]
struct Run {
    looks: Vec<Look>,
    /// The last look at each object: its index and one.
    last: Lasts,
    /// Exchanges of one object that no other write has followed.
    exchanges: Vec<Exchange>,
    failures: Vec<Failure>,
    /// Looks before this were followed by a failure that was retried.
    retried: u64,
    /// The segment began with this event.
    segment: u64,
    has_written: bool,
    /// The segment's last pause, if nothing was written since.
    pause: Option<u64>,
    /// The looks are tidied up when there are so many.
    tidy_at: usize,
}

/// What is looked at: an object's content, or the object as a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u64);

impl Key {
    const LOCK: u64 = 1 << 32;

    fn content(object: u32) -> Key {
        Key(u64::from(object))
    }

    fn lock(object: u32) -> Key {
        Key(u64::from(object) | Key::LOCK)
    }

    /// The object, if this is its content.
    fn object(self) -> Option<u32> {
        (self.0 & Key::LOCK == 0).then_some(self.0 as u32)
    }
}

/// A number by key, 0 where there is none. Most blocks look at few things.
#[derive(Debug, Default)]
struct Lasts {
    few: Vec<(Key, u32)>,
    /// Those beyond [`FEW`](Self::FEW).
    many: FxHashMap<Key, u32>,
}

impl Lasts {
    const FEW: usize = 8;

    #[inline]
    fn get(&self, key: Key) -> u32 {
        let found = self.few.iter().find(|(it, _)| *it == key);
        match found {
            Some(&(_, number)) => number,
            None if self.many.is_empty() => 0,
            None => self.many.get(&key).copied().unwrap_or(0),
        }
    }

    /// Sets a number: the one before.
    #[inline]
    fn replace(&mut self, key: Key, number: u32) -> u32 {
        if let Some((_, last)) = self.few.iter_mut().find(|(it, _)| *it == key) {
            return std::mem::replace(last, number);
        }
        if self.few.len() == Self::FEW {
            return self.many.insert(key, number).unwrap_or(0);
        }
        self.few.push((key, number));
        0
    }

    fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }
}

#[derive(Clone, Copy, Debug)]
struct Look {
    number: u64,
    key: Key,
    site: SiteId,
    /// The look at the same object before this: its index and one.
    previous: u32,
    is_vain: bool,
    is_undecided: bool,
    /// The run has written the object since.
    is_overwritten: bool,
}

/// A failed exchange that was not retried yet.
#[derive(Clone, Copy, Debug)]
struct Failure {
    number: u64,
    object: u32,
    site: SiteId,
    /// The look that the exchange answers for, or its own.
    since: u64,
}

#[derive(Clone, Copy, Debug)]
struct Exchange {
    number: u64,
    object: u32,
    /// The segment that it was made in.
    segment: u64,
}

/// What a look again is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Exchange,
    Other,
}

impl Run {
    fn clear(&mut self) {
        self.looks.clear();
        self.last.clear();
        self.exchanges.clear();
        self.failures.clear();
        (self.retried, self.segment, self.tidy_at) = (0, 0, 0);
        (self.has_written, self.pause) = (false, None);
    }

    /// The looks at an object, the last one first: their indices.
    fn looks_at(&self, key: Key) -> impl Iterator<Item = usize> {
        let mut next = self.last.get(key);
        std::iter::from_fn(move || {
            let index = (next as usize).checked_sub(1)?;
            next = self.looks[index].previous;
            Some(index)
        })
    }

    fn is_in_segment(&self, look: &Look) -> bool {
        look.number > self.segment
    }

    /// Whether the strand has looked at anything in the segment.
    fn has_looked(&self) -> bool {
        self.looks
            .last()
            .is_some_and(|look| self.is_in_segment(look))
    }

    /// Whether a read-modify-write at this site is a look again.
    fn repeats(&self, key: Key, site: SiteId) -> bool {
        site != SiteId::NONE
            && self.looks_at(key).any(|index| {
                let look = &self.looks[index];
                look.site == site && (look.is_undecided || self.is_in_segment(look))
            })
    }

    /// The object is about to be looked at again: what that takes back, and the pause that it makes
    /// a split of.
    fn look_again(
        &mut self,
        key: Key,
        site: SiteId,
        by: By,
        dropped: &mut Vec<u64>,
    ) -> Option<u64> {
        if let Some(object) = key.object() {
            self.retry(object, site, by, dropped);
        }
        let pause = self
            .pause
            .filter(|&pause| self.wait_ends(key, site, pause, dropped));
        if let Some(pause) = pause {
            self.begin_segment(pause);
        }
        let taken_back = self.segment.max(self.retried.saturating_sub(1));
        let mut next = self.last.get(key);
        while let Some(index) = (next as usize).checked_sub(1) {
            let look = &mut self.looks[index];
            if look.number <= taken_back && look.is_undecided {
                look.is_undecided = false;
                dropped.push(look.number);
            }
            next = look.previous;
        }
        if !self.exchanges.is_empty() && site != SiteId::NONE {
            self.drop_exchanges(key, site, dropped);
        }
        pause
    }

    /// Drops exchanges that led only to waiting: after a look at this site, and before a split.
    fn drop_exchanges(&mut self, key: Key, site: SiteId, dropped: &mut Vec<u64>) {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        exchanges.retain(|it| {
            let led_to_waiting = key == Key::content(it.object)
                && it.number <= self.segment
                && self.looks_at(key).any(|index| {
                    let look = &self.looks[index];
                    look.site == site && (it.segment + 1..it.number).contains(&look.number)
                });
            dropped.extend(led_to_waiting.then_some(it.number));
            !led_to_waiting
        });
        self.exchanges = exchanges;
    }

    /// Drops what failures that are hereby retried take back.
    fn retry(&mut self, object: u32, site: SiteId, by: By, dropped: &mut Vec<u64>) {
        let mut at = 0;
        while let Some(&failure) = self.failures.get(at) {
            let is_same_place = by == By::Exchange && site != SiteId::NONE && failure.site == site;
            if failure.object != object && !is_same_place {
                at += 1;
                continue;
            }
            self.failures.swap_remove(at);
            self.drop_between(failure.since, failure.number, dropped);
            self.retried = self.retried.max(failure.since);
            let after = self
                .looks
                .partition_point(|look| look.number <= failure.number);
            for again in after..self.looks.len() {
                let mut next = self.looks[again].previous;
                while let Some(index) = (next as usize).checked_sub(1) {
                    let look = &mut self.looks[index];
                    if look.number < failure.since && look.is_undecided {
                        look.is_undecided = false;
                        dropped.push(look.number);
                    }
                    next = look.previous;
                }
            }
        }
    }

    /// Whether this look ends a wait that had come to the pause; drops the looks that led to it.
    fn wait_ends(&mut self, key: Key, site: SiteId, pause: u64, dropped: &mut Vec<u64>) -> bool {
        let (mut here, mut elsewhere) = (None, None);
        for index in self.looks_at(key) {
            let look = &self.looks[index];
            if !self.is_in_segment(look) {
                break;
            }
            if look.number < pause {
                if site != SiteId::NONE && look.site == site {
                    here = Some(look.number);
                }
                if !look.is_overwritten {
                    elsewhere = Some(look.number);
                }
            }
        }
        let Some(first) = here.or(elsewhere) else {
            return false;
        };
        self.drop_between(first, pause, dropped);
        true
    }

    /// Drops the undecided looks from one event to another.
    fn drop_between(&mut self, first: u64, last: u64, dropped: &mut Vec<u64>) {
        let from = self.looks.partition_point(|look| look.number < first);
        for look in &mut self.looks[from..] {
            if look.number > last {
                break;
            }
            if std::mem::take(&mut look.is_undecided) {
                dropped.push(look.number);
            }
        }
    }

    /// The transaction was split at this event.
    fn begin_segment(&mut self, number: u64) {
        self.segment = number;
        self.has_written = false;
        self.pause = None;
    }

    /// An exchange answers for the segment's looks at its object.
    fn answer(&mut self, key: Key, dropped: &mut Vec<u64>) {
        let segment = self.segment;
        self.drop_looks(key, dropped, |look| {
            look.number > segment && !look.is_overwritten
        });
    }

    /// A read-modify-write at the site of vain ones before it takes their place.
    fn drop_vain(&mut self, key: Key, site: SiteId, dropped: &mut Vec<u64>) {
        if site != SiteId::NONE {
            self.drop_looks(key, dropped, |look| look.is_vain && look.site == site);
        }
    }

    fn drop_looks(&mut self, key: Key, dropped: &mut Vec<u64>, which: impl Fn(&Look) -> bool) {
        let mut next = self.last.get(key);
        while let Some(index) = (next as usize).checked_sub(1) {
            let look = &mut self.looks[index];
            if look.is_undecided && which(look) {
                look.is_undecided = false;
                dropped.push(look.number);
            }
            next = look.previous;
        }
    }

    /// Adds a look, which is undecided.
    fn look(&mut self, number: u64, key: Key, site: SiteId, is_vain: bool) {
        self.looks.push(Look {
            number,
            key,
            site,
            previous: 0,
            is_vain,
            is_undecided: true,
            is_overwritten: false,
        });
        let index = self.looks.len() as u32;
        let previous = self.last.replace(key, index);
        self.looks[index as usize - 1].previous = previous;
        if self.looks.len() >= self.tidy_at.max(64) {
            self.tidy_up();
        }
    }

    /// The strand has done what others can see; on this object, where it is known.
    fn write(&mut self, object: Option<u32>) {
        self.has_written = true;
        self.pause = None;
        let Some(object) = object else { return };
        let key = Key::content(object);
        let mut next = self.last.get(key);
        while let Some(index) = (next as usize).checked_sub(1) {
            let look = &mut self.looks[index];
            if look.is_overwritten {
                break;
            }
            look.is_overwritten = true;
            look.is_undecided = false;
            next = look.previous;
        }
    }

    /// Forgets looks that no rule asks for: those that are decided and of an earlier segment, and,
    /// of the present segment's at one object and site, all but the first and the last.
    fn tidy_up(&mut self) {
        let kept = self.exchanges.first().map(|it| it.object);
        let mut firsts = FxHashMap::default();
        let mut lasts = FxHashMap::default();
        let place = |look: &Look| (look.key, look.site, look.is_overwritten);
        for look in self.looks.iter().filter(|look| look.number > self.segment) {
            firsts.entry(place(look)).or_insert(look.number);
            lasts.insert(place(look), look.number);
        }
        let segment = self.segment;
        self.looks.retain(|look| {
            look.is_undecided
                || look.key.object().is_some_and(|object| Some(object) == kept)
                || look.number > segment
                    && [&firsts, &lasts]
                        .map(|them| them[&place(look)])
                        .contains(&look.number)
        });
        self.last.clear();
        for (look, index) in self.looks.iter_mut().zip(1..) {
            look.previous = self.last.replace(look.key, index);
        }
        self.tidy_at = 2 * self.looks.len();
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
            now: 0,
            held: 0,
        }
    }

    /// Exchanges come out as such: predictors have to know that they succeeded.
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
        let mut dropped = Vec::new();
        let strand = &mut self.strands[event.strand];
        let undecided = State::Undecided(strand.runs);
        let run = &mut strand.run;
        let key = Key::content(event.target);
        let mut state = State::Counts;
        let mut split = None;
        let mut op = event.op;
        match event.op {
            Op::Read => {
                split = run.look_again(key, event.site, By::Other, &mut dropped);
                run.look(number, key, event.site, false);
                state = undecided;
            }
            Op::CompareExchangeFailed => {
                split = run.look_again(key, event.site, By::Exchange, &mut dropped);
                let answered = run.looks_at(key).next().map(|index| run.looks[index]);
                let since = answered
                    .filter(|look| run.is_in_segment(look) && !look.is_overwritten)
                    .map_or(number, |look| look.number);
                run.answer(key, &mut dropped);
                run.failures.push(Failure {
                    number,
                    object: event.target,
                    site: event.site,
                    since,
                });
                run.look(number, key, event.site, false);
                state = undecided;
            }
            Op::CompareExchange => {
                split = run.look_again(key, event.site, By::Exchange, &mut dropped);
                run.answer(key, &mut dropped);
                run.exchanges.retain(|it| it.object == event.target);
                run.exchanges.push(Exchange {
                    number,
                    object: event.target,
                    segment: run.segment,
                });
                run.write(Some(event.target));
                state = undecided;
            }
            Op::Vain(_) => {
                split = run.look_again(key, event.site, By::Other, &mut dropped);
                run.drop_vain(key, event.site, &mut dropped);
                run.look(number, key, event.site, true);
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
            Op::Write => {
                run.exchanges.clear();
                run.write(Some(event.target));
            }
            Op::Send => {
                run.exchanges.clear();
                run.write(None);
                self.send(event);
            }
            Op::Recv => {
                if self.receive(event) {
                    self.strands[event.strand].run.begin_segment(number);
                    let op = Op::Split;
                    self.pass(Event { op, ..event }, tag, State::Counts, emit);
                }
            }
            Op::Signal => {
                run.exchanges.clear();
                run.write(None);
            }
            Op::Busy => {
                let lock = Key::lock(event.target);
                split = run.look_again(lock, event.site, By::Other, &mut dropped);
                run.look(number, lock, event.site, false);
            }
            Op::Acquire | Op::AcquireShared | Op::Upgrade => {
                self.acquire(event);
            }
            Op::Pause if run.has_looked() => {
                run.pause = Some(number);
                state = undecided;
            }
            Op::Split => run.begin_segment(number),
            Op::Restart if !run.has_written => {
                run.drop_between(run.segment + 1, number, &mut dropped);
                if strand.root.is_none() && strand.workers.is_empty() {
                    run.begin_segment(number);
                    op = Op::Split;
                }
            }
            Op::Begin => {
                strand.in_block = true;
                strand.began = number;
            }
            Op::End => {
                strand.in_block = false;
                if strand.root.is_none() {
                    self.end(event.strand);
                }
            }
            Op::Fork => {
                let root = strand.root.unwrap_or(event.strand);
                let causes = strand.causes.clone();
                self.end(event.other());
                let child = self.strands.entry(event.other());
                child.root = Some(root);
                child.causes = causes;
                child.run.clear();
                self.strands[root].workers.push(event.other());
            }
            Op::Join => {
                let root = strand.root.unwrap_or(event.strand);
                let child = self.strands.entry(event.other()).root;
                if child != Some(root) {
                    let run = &mut self.strands[event.strand].run;
                    run.begin_segment(number);
                }
                self.join(event);
            }
            Op::Exit => self.end(event.strand),
            _ => {}
        }
        self.decide(event.strand, split, &dropped);
        if matches!(op, Op::Busy | Op::Restart) || op == Op::Pause && state == State::Counts {
            return self.release(event.strand, emit);
        }
        self.pass(Event { op, ..event }, tag, state, emit);
    }

    /// The message comes after what its sender knows of, and after the sender's block.
    fn send(&mut self, event: Event) {
        let sender = &self.strands[event.strand];
        let block = sender
            .is_inside()
            .then_some(sender.root.unwrap_or(event.strand));
        if block.is_none() && sender.causes.is_empty() {
            if !self.messages.is_empty() {
                self.messages.remove(&event.target);
            }
            return;
        }
        let mut causes = sender.causes.clone();
        let own = block.map(|strand| (strand, self.now));
        self.learn(&mut causes, own.as_slice());
        self.messages
            .insert(event.target, Message { block, causes });
    }

    /// Whether the message comes from outside the receiver's block, and after a send of the block.
    fn receive(&mut self, event: Event) -> bool {
        if self.messages.is_empty() {
            return false;
        }
        let Some(message) = self.messages.remove(&event.target) else {
            return false;
        };
        let receiver = &mut self.strands[event.strand];
        let block = receiver.root.unwrap_or(event.strand);
        let mut known = std::mem::take(&mut receiver.causes);
        self.learn(&mut known, &message.causes);
        self.strands[event.strand].causes = known;
        let is_own = |&cause: &(StrandId, u64)| cause.0 == block && self.is_open(cause);
        message.block != Some(block) && message.causes.iter().any(is_own)
    }

    /// Adds the sends that are of open blocks and not before their last wait.
    fn learn(&self, known: &mut Causes, causes: &[(StrandId, u64)]) {
        known.retain(|&cause| self.is_open(cause));
        for &(strand, number) in causes.iter().filter(|&&cause| self.is_open(cause)) {
            match known.iter_mut().find(|(it, _)| *it == strand) {
                Some((_, last)) => *last = number.max(*last),
                None => known.push((strand, number)),
            }
        }
    }

    fn is_open(&self, (strand, number): (StrandId, u64)) -> bool {
        let strand = &self.strands[strand];
        strand.in_block && number > strand.began.max(strand.run.segment)
    }

    /// What the other strand knows of comes before what follows.
    fn join(&mut self, event: Event) {
        let causes = std::mem::take(&mut self.strands.entry(event.other()).causes);
        if !causes.is_empty() {
            let mut known = std::mem::take(&mut self.strands[event.strand].causes);
            self.learn(&mut known, &causes);
            self.strands[event.strand].causes = known;
        }
        self.end(event.other());
    }

    /// A strand inside a block has acquired a lock.
    fn acquire(&mut self, event: Event) {
        let strand = &mut self.strands[event.strand];
        if event.op == Op::Acquire {
            strand.acquired = Some(event.target);
        }
        let key = Key::lock(event.target);
        if strand.run.last.get(key) == 0 {
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
        for worker in workers {
            // A block of its own goes on, and begins here.
            let worker = &mut self.strands[worker];
            worker.root = None;
            worker.runs = worker.runs.wrapping_add(1);
            worker.run.clear();
        }
    }

    /// Gives an event out, or puts it into the queue that it has to wait in.
    #[inline]
    fn pass(&mut self, event: Event, tag: T, state: State, emit: &mut impl FnMut(Event, T)) {
        if self.queues.is_empty() && state == State::Counts {
            return give(self.exchange, event, tag, emit);
        }
        self.wait(event, tag, state, emit);
    }

    #[inline(never)]
    fn wait(&mut self, event: Event, tag: T, state: State, emit: &mut impl FnMut(Event, T)) {
        let index = match self.queue_for(&event) {
            Some(index) => index,
            None if state == State::Counts => return give(self.exchange, event, tag, emit),
            None => self.new_queue(self.group(event.strand)),
        };
        let id = self.queues[index].id;
        self.strands[event.strand].touched = id;
        if let Op::Fork | Op::Join = event.op {
            self.strands.entry(event.other()).touched = id;
        }
        if let Some(object) = event.its_object() {
            *self.touched.entry(object) = id;
        }
        self.queues[index].items.push_back(Item {
            event,
            tag,
            number: self.now,
            state,
        });
        self.held += 1;
        self.give_out(index, Forced::None, emit);
        if self.held > LIMIT {
            let longest = (0..self.queues.len()).max_by_key(|&at| self.queues[at].items.len());
            if let Some(index) = longest {
                self.give_out(index, Forced::First, emit);
            }
        }
    }

    /// Gives out what is decided where the strand's events wait.
    fn release(&mut self, strand: StrandId, emit: &mut impl FnMut(Event, T)) {
        let touched = self.strands[strand].touched;
        if let Some(index) = self.queues.iter().position(|queue| queue.id == touched) {
            self.give_out(index, Forced::None, emit);
        }
    }

    /// Gives out a queue's events up to the first that is undecided and not `forced`.
    fn give_out(&mut self, index: usize, mut forced: Forced, emit: &mut impl FnMut(Event, T)) {
        while let Some(item) = self.queues[index].items.front() {
            let id = item.event.strand;
            if item.state == State::Undecided(self.strands[id].runs) {
                let is_forced = match forced {
                    Forced::None => false,
                    Forced::First | Forced::All => true,
                    Forced::Group(group) => self.group(id) == group,
                };
                if !is_forced {
                    return;
                }
                if forced == Forced::First {
                    forced = Forced::None;
                }
                self.strands[id].settle();
            }
            let Some(item) = self.queues[index].items.pop_front() else {
                return;
            };
            self.held -= 1;
            if item.state != State::Dropped {
                give(self.exchange, item.event, item.tag, emit);
            }
        }
        let queue = self.queues.swap_remove(index);
        self.spare = Some(queue).filter(|queue| queue.items.capacity() <= SPARE);
    }

    fn new_queue(&mut self, group: u32) -> usize {
        self.queue_ids = self.queue_ids.wrapping_add(1).max(1);
        let mut queue = self.spare.take().unwrap_or_else(|| Queue {
            id: 0,
            groups: Vec::new(),
            items: VecDeque::new(),
            tidy_at: 0,
        });
        (queue.id, queue.tidy_at) = (self.queue_ids, 1024);
        queue.groups.clear();
        queue.groups.push(group);
        self.queues.push(queue);
        self.queues.len() - 1
    }

    /// The strand's group: while it works for another's block, that one's.
    fn group(&self, strand: StrandId) -> u32 {
        let strand = &self.strands[strand];
        let root = strand.root.map(|root| &self.strands[root]);
        root.unwrap_or(strand).group
    }

    fn queue_of(&self, group: u32) -> Option<usize> {
        let mut queues = self.queues.iter();
        queues.position(|queue| queue.groups.contains(&group))
    }

    /// The queue that an event has to wait in: those of its group, its strand, its object and its
    /// other strand are one from here on.
    fn queue_for(&mut self, event: &Event) -> Option<usize> {
        let strand = &self.strands[event.strand];
        let group = self.group(event.strand);
        if let [queue] = &self.queues[..]
            && queue.groups.contains(&group)
        {
            return Some(0);
        }
        let other = match event.op {
            Op::Fork | Op::Join => self.strands.get(event.other()).map(|it| it.touched),
            _ => None,
        };
        let object = event.its_object().and_then(|it| self.touched.get(it));
        let ids = [Some(strand.touched), other, object.copied()];
        let mut found: Option<usize> = self.queue_of(group);
        for id in ids.into_iter().flatten() {
            let Some(index) = self.queues.iter().position(|queue| queue.id == id) else {
                continue;
            };
            found = match found {
                Some(found) if found != index => Some(self.unite(found, index)),
                _ => Some(index),
            };
        }
        if let Some(index) = found
            && !self.queues[index].groups.contains(&group)
        {
            self.queues[index].groups.push(group);
        }
        found
    }

    /// Makes one queue of two.
    fn unite(&mut self, a: usize, b: usize) -> usize {
        let (kept, gone) = (a.min(b), a.max(b));
        let gone = self.queues.swap_remove(gone);
        for strand in self.strands.iter_mut() {
            if strand.touched == gone.id {
                strand.touched = self.queues[kept].id;
            }
        }
        for touched in self.touched.iter_mut() {
            if *touched == gone.id {
                *touched = self.queues[kept].id;
            }
        }
        let queue = &mut self.queues[kept];
        queue.groups.extend(gone.groups);
        queue.items.extend(gone.items);
        queue
            .items
            .make_contiguous()
            .sort_by_key(|item| item.number);
        kept
    }
}

impl Strand {
    /// All that the strand has looked at counts.
    fn settle(&mut self) {
        self.runs = self.runs.wrapping_add(1);
        for look in &mut self.run.looks {
            look.is_undecided = false;
        }
        self.run.exchanges.clear();
        self.run.pause = None;
    }
}

impl<T> Queue<T> {
    fn find(&mut self, number: u64) -> Option<&mut Item<T>> {
        let at = self.items.partition_point(|item| item.number < number);
        self.items.get_mut(at).filter(|item| item.number == number)
    }

    /// Makes a split of a pause, unless the strand has done nothing since its last one: a strand
    /// may wait for long.
    fn split(&mut self, pause: u64) {
        /// So far a look back goes.
        const NEAR: usize = 8;
        let at = self.items.partition_point(|item| item.number < pause);
        let Some(strand) = self.items.get(at).map(|item| item.event.strand) else {
            return;
        };
        let mut before = self.items.range(at.saturating_sub(NEAR)..at).rev();
        let last = before.find(|it| it.event.strand == strand && it.state != State::Dropped);
        let is_idle = last.is_some_and(|it| it.event.op == Op::Split);
        let item = &mut self.items[at];
        item.event.op = Op::Split;
        item.state = if is_idle {
            State::Dropped
        } else {
            State::Counts
        };
    }

    /// Removes dropped items once there may be many: so many.
    fn tidy_up(&mut self) -> usize {
        if self.items.len() < self.tidy_at {
            return 0;
        }
        let length = self.items.len();
        self.items.retain(|item| item.state != State::Dropped);
        self.tidy_at = (2 * self.items.len()).max(1024);
        length - self.items.len()
    }
}

/// Gives an event out as what it stands for.
#[inline]
fn give<T>(exchange: Op, event: Event, tag: T, emit: &mut impl FnMut(Event, T)) {
    let op = match event.op {
        Op::CompareExchangeFailed => Op::Read,
        Op::CompareExchange => exchange,
        Op::Pause | Op::Busy | Op::Restart => return,
        op => op,
    };
    emit(Event { op, ..event }, tag);
}
