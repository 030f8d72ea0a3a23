//! Where events wait until it is decided which looks before them count.

use std::collections::VecDeque;

use super::Retries;
use crate::trace::{Event, Op, StrandId};

/// So many events wait at most.
const LIMIT: usize = 1 << 20;

/// The memory of a queue for so many events is kept.
const SPARE: usize = 4_096;

#[derive(Debug)]
pub(super) struct Queue<T> {
    pub(super) id: u32,
    pub(super) groups: Vec<u32>,
    pub(super) items: VecDeque<Item<T>>,
    /// Dropped items are removed when there are so many in all.
    pub(super) tidy_at: usize,
}

#[derive(Debug)]
pub(super) struct Item<T> {
    pub(super) event: Event,
    pub(super) tag: T,
    pub(super) number: u64,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Counts,
    /// While the strand's [`run`](Strand::runs) is this one.
    Undecided(u32),
    Dropped,
    /// By an exchange: see [`with_exchanges`](super::Retries::with_exchanges).
    Answered,
}

/// Whose looks count though they are undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forced {
    None,
    /// Of the strand that comes first.
    First,
    Group(u32),
    All,
}

impl<T> Queue<T> {
    pub(super) fn find(&mut self, number: u64) -> Option<&mut Item<T>> {
        let at = self.items.partition_point(|item| item.number < number);
        self.items.get_mut(at).filter(|item| item.number == number)
    }

    /// Makes a split of a pause, unless the strand has done nothing since its last one: a strand
    /// may wait for long.
    pub(super) fn split(&mut self, pause: u64) {
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
    pub(super) fn tidy_up(&mut self) -> usize {
        if self.items.len() < self.tidy_at {
            return 0;
        }
        let length = self.items.len();
        self.items.retain(|item| item.state != State::Dropped);
        self.tidy_at = (2 * self.items.len()).max(1024);
        length - self.items.len()
    }
}

impl<T: Copy> Retries<T> {
    /// Gives an event out, or puts it into the queue that it has to wait in.
    #[inline]
    pub(super) fn pass(
        &mut self,
        event: Event,
        tag: T,
        state: State,
        emit: &mut impl FnMut(Event, T),
    ) {
        if self.queues.is_empty() && state == State::Counts {
            return give(self.exchange, event, tag, emit);
        }
        self.wait(event, tag, state, emit);
    }

    #[inline(never)]
    pub(super) fn wait(
        &mut self,
        event: Event,
        tag: T,
        state: State,
        emit: &mut impl FnMut(Event, T),
    ) {
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
        if let Op::Fork | Op::Join | Op::End | Op::Exit = event.op {
            for worker in self.released.drain(..) {
                self.strands[worker].touched = id;
            }
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
    pub(super) fn release(&mut self, strand: StrandId, emit: &mut impl FnMut(Event, T)) {
        let touched = self.strands[strand].touched;
        if let Some(index) = self.queues.iter().position(|queue| queue.id == touched) {
            self.give_out(index, Forced::None, emit);
        }
    }

    /// Gives out a queue's events up to the first that is undecided and not `forced`.
    pub(super) fn give_out(
        &mut self,
        index: usize,
        mut forced: Forced,
        emit: &mut impl FnMut(Event, T),
    ) {
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
                self.strands[id].count_looks();
            }
            let Some(item) = self.queues[index].items.pop_front() else {
                return;
            };
            self.held -= 1;
            match item.state {
                State::Dropped => {}
                State::Answered => {
                    let op = Op::CompareExchangeFailed;
                    emit(Event { op, ..item.event }, item.tag);
                }
                _ => give(self.exchange, item.event, item.tag, emit),
            }
        }
        let queue = self.queues.swap_remove(index);
        self.spare = Some(queue).filter(|queue| queue.items.capacity() <= SPARE);
    }

    pub(super) fn new_queue(&mut self, group: u32) -> usize {
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
    pub(super) fn group(&self, strand: StrandId) -> u32 {
        let strand = &self.strands[strand];
        let root = strand.root.map(|root| &self.strands[root]);
        root.unwrap_or(strand).group
    }

    pub(super) fn queue_of(&self, group: u32) -> Option<usize> {
        let mut queues = self.queues.iter();
        queues.position(|queue| queue.groups.contains(&group))
    }

    /// The queue that an event has to wait in: those of its group, its strand, its object and its
    /// other strand are one from here on.
    pub(super) fn queue_for(&mut self, event: &Event) -> Option<usize> {
        let strand = &self.strands[event.strand];
        let group = self.group(event.strand);
        if matches!(&self.queues[..], [queue] if queue.groups.contains(&group)) {
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
        if let Some(index) = found.filter(|&it| !self.queues[it].groups.contains(&group)) {
            self.queues[index].groups.push(group);
        }
        found
    }

    /// Makes one queue of two.
    pub(super) fn unite(&mut self, a: usize, b: usize) -> usize {
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
