//! The default engine: reports every cycle at the very event that closes it.
//!
//! # The algorithm
//!
//! The trace is a graph. Its nodes are transactions, an event outside any block being one of its
//! own; its edges are program order, fork and join, release and acquire, signal and await, send and
//! receive, and pairs of accesses that do not commute. The trace is conflict serializable if and
//! only if the graph has no cycle (Flanagan, Freund and Yi, *Velodrome*, PLDI 2008; Mathur and
//! Viswanathan, *Atomicity checking in linear time using vector clocks*, ASPLOS 2020, definition
//! 1).
//!
//! A new edge ends in the transaction that executes now. It closes a cycle if and only if that
//! transaction reaches the edge's origin. So the engine keeps exactly that: for each *open*
//! transaction `a` and strand `v`, `S[a][v]`, the first node of `v` that `a` reaches; the later
//! ones follow by program order. A node is a strand and an index, and an edge `(u, k) -> t` is
//!
//! - nothing, where `u` is `t`: that is program order;
//! - nothing, where no open `a` has `S[a][u] <= k`: the node is dead (below);
//! - a violation, where `t` is open and `S[t][u] <= k`;
//! - otherwise, for every open `a` with `S[a][u] <= k` that does not reach `t` yet: `S[a][t]`
//!   becomes `t`'s present node, and `a` reaches whatever `t`'s open transaction reaches.
//!
//! # Why this is exact
//!
//! *Only open transactions matter.* A transaction that has ended gains no in-edges any more: every
//! edge ends in the transaction that executes. A cycle that is closed later than its end enters it
//! by a path from the transaction that closes the cycle, which is open then and has been since
//! before the path was complete. So when a transaction ends its row is dropped, and a node that no
//! open transaction reaches is *dead*: nobody will ever reach it, and its edges close no cycle.
//!
//! *Rows are complete.* Claim: an open `a` reaches `(v, j)` if and only if `S[a][v] <= j`. A new
//! edge `(u, k) -> t` adds the pairs (whatever reaches `(u, k)`, whatever `t`'s node reaches). What
//! reaches `(u, k)` and is open is found by the claim. `t`'s node reaches itself, the later nodes
//! of `t`, of which there are none, and, where it is open, its row; where it is not, it is an event
//! that just happened, and has no out-edges.
//!
//! *Events outside blocks share nodes.* Such an event gets a new index only where somebody reaches
//! it who did not reach the strand before. Otherwise it is reached by just those who reach the
//! strand's last node, so one index serves both. It cannot close a cycle: it has no out-edges yet.
//!
//! # Objects
//!
//! A variable keeps the *current group* of commuting accesses (reads, or updates of one kind, or
//! one write), and the *group before*. An access that commutes with the current group gets edges
//! from the group before, and joins; any other gets edges from the current group, and starts a new
//! one. Edges from older accesses are implied: every member of a group got edges from every member
//! of the group before it, so by induction there is a path from every older access that does not
//! commute to the present one. A group of one write has no use for the group before, because
//! nothing commutes with it.
//!
//! Three kinds of members are dropped. A strand's older access of the group: program order leads
//! from it to the newer one. A repeated access of one node: it is the same node. And dead members:
//! where a member `m` is dead, all of the group before are dead too, because whoever reached one of
//! them would reach `m` by the edge between them. So nothing is lost even where a group loses all
//! of its members.
//!
//! *Vain updates* commute with reads, with each other and with updates of their own kind, which do
//! not commute with reads; so they are in no group. Those since the last write are listed beside,
//! and a write or an update of another kind gets edges from them. A vain update gets edges from the
//! last group that it does not commute with. That is the current group or the one before, or, where
//! these two are reads and updates of the vain one's kind, the *base*: the group before the
//! variable's last groups of these two sorts.
//!
//! A lock keeps its last exclusive acquire, release or downgrade, and the shared releases since;
//! older ones are implied through the acquire that came between. A release by another strand than
//! the one that acquired (the guard was moved) comes after the acquire. A signalled object keeps
//! each strand's last signal, a message its send.
//!
//! # Bounds
//!
//! A variable is two `Mark`s, 32 bytes: the current group's only member and that of the group
//! before; or, where the group before is dead, two members of the current one. A group with more
//! live members has them in a list beside. `S` is kept sparsely, by column: a strand lists the
//! other open transactions that reach it, so cost and memory follow what is shared and not the
//! number of strands. A strand that is over gives its slot back when nobody reaches it any more:
//! all its nodes are then dead, and the next owner of the slot goes on with larger indices.
//!
//! # Speed
//!
//! Most accesses come after nothing but their strand's own and dead ones, and are done with after a
//! few comparisons. Those are joined by `|` and `&` where their outcomes are as good as random: a
//! mispredicted branch costs more than all of them. Where there are many variables the rest of the
//! cost is in waiting for memory, so [`run`](Engine::run) fetches the variables of the next events
//! while it works on this one.
//!
//! # Witness
//!
//! An entry `S[a][v]` remembers the edge that made it. The origin of that edge is reached by `a` as
//! well, so a violation walks from entry to entry back to `a`; it arrives, because the graph has no
//! cycle. Transactions that have ended are remembered by name while an open one reaches them and
//! some object keeps an access of theirs: an edge comes out of nothing else. Those without one are
//! swept out when there are many. Positions older than 2^32 events are off by a multiple of that.
//!
//! After a violation the closing edge is not taken, so all of this stays true, for the graph
//! without the edges that were reported.

mod lists;
mod mark;
mod paged;
mod reach;
#[cfg(test)]
mod tests;
mod vain;

use lists::Lists;
use mark::{Mark, Tag};
use paged::Paged;
use reach::{Reachability, Step};

#[cfg(since = "1.88")]
use std::hint::select_unpredictable;

use rustc_hash::FxHashMap;

use super::{Engine, FORESIGHT, Violation};
use crate::trace::{Event, Op};

/// A variable: see the module's documentation.
#[derive(Clone, Copy, Debug, Default)]
struct Variable {
    current: Mark,
    before: Mark,
}

const _: () = assert!(size_of::<Variable>() <= 32);

impl Variable {
    /// `before` is a second member of the current group. The group before never has the kind of the
    /// current one, or they would be one group.
    #[inline]
    fn is_pair(&self) -> bool {
        self.current.is_single()
            && self.before.is_a(self.current.own_tag())
            && !self.current.own_tag().excludes()
    }
}

/// A lock: the last exclusive acquire or release, and the shared releases since.
#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    exclusive: Mark,
    shared: Mark,
}

/// The engine that reports every cycle at the event that closes it. See the [module's
/// documentation](self).
///
/// ```
/// use aerodrome::check::{Engine, Exact};
/// use aerodrome::trace::{Event, Op, SiteId, StrandId};
///
/// let event = |strand, op, target| Event { strand: StrandId(strand), target, site: SiteId::NONE, op };
/// let trace = [
///     event(0, Op::Begin, 1),
///     event(0, Op::Read, 7),
///     event(1, Op::Write, 7),
///     event(0, Op::Write, 7),
/// ];
/// let mut engine = Exact::new();
/// let found = trace.iter().zip(1..).find_map(|(event, position)| engine.step(*event, position));
/// assert_eq!(found.unwrap().event, 4);
/// ```
#[derive(Debug)]
pub struct Exact {
    graph: Reachability,
    variables: Paged<Variable>,
    locks: Paged<Lock>,
    signals: Paged<Mark>,
    messages: Paged<Mark>,
    lists: Lists,
    /// By variable: the vain updates since the last write.
    vain: FxHashMap<u32, Vec<Mark>>,
    /// By variable: the base, where it is alive.
    bases: FxHashMap<u32, Mark>,
}

impl Default for Exact {
    fn default() -> Exact {
        Exact::new()
    }
}

impl Exact {
    /// An engine at the start of a trace.
    pub fn new() -> Exact {
        Exact {
            graph: Reachability::default(),
            variables: Paged::new(),
            locks: Paged::new(),
            signals: Paged::new(),
            messages: Paged::new(),
            lists: Lists::default(),
            vain: FxHashMap::default(),
            bases: FxHashMap::default(),
        }
    }

    /// An access. Most come after nothing but the strand's own and dead ones.
    #[inline(always)]
    fn access(&mut self, tag: Tag, event: &Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.graph.slot(event, position);
        if tag != Tag::Read && !self.vain.is_empty() && self.vain.contains_key(&event.target) {
            return self.access_after_vain(slot, tag, event, position);
        }
        let node = self.graph.node(slot);
        let Some(variable) = self.variables.get_mut(event.target) else {
            self.variables.add(event.target);
            return self.access_slowly(slot, tag, event, position);
        };
        let Variable { current, before } = variable;
        if current.is_of(node)
            && (current.is_a(tag) || current.is_a(Tag::Write) || current.is_a(Tag::ReadWrite))
        {
            return None;
        }
        if !current.is_list() && !before.is_list() {
            let mark = Mark::new(node, tag, event.site, position);
            let is_free = self.graph.is_settled(*current, slot);
            let is_dead = before.is_empty() | self.graph.is_dead(*before);
            let is_own = before.slot() == slot;
            if current.is_a(tag) && !tag.excludes() {
                // Joins the group, as its only member or as one of two.
                let is_pair = before.is_a(tag);
                let is_second_own = is_pair & is_own;
                if is_pair | is_own | is_dead && is_free | is_second_own | is_dead {
                    let is_second = is_second_own | !is_free;
                    *select_unpredictable(is_second, before, current) = mark;
                    return None;
                }
            } else if tag.excludes() {
                if is_free & (is_dead | is_own) || is_free && !variable.is_pair() {
                    *variable = Variable {
                        current: mark,
                        before: Mark::EMPTY,
                    };
                    return None;
                }
            } else if is_free && is_dead && !variable.is_pair() {
                variable.before = variable.current;
                variable.current = mark;
                return None;
            }
        }
        self.access_slowly(slot, tag, event, position)
    }

    /// An access that comes after others, or joins others.
    #[inline(never)]
    fn access_slowly(
        &mut self,
        slot: u32,
        tag: Tag,
        event: &Event,
        position: u64,
    ) -> Option<Box<Violation>> {
        let mut step = Step::new(*event, position, tag);
        self.access_step(slot, &mut step);
        step.found
    }

    #[inline(always)]
    fn access_step(&mut self, slot: u32, step: &mut Step) {
        let Step {
            event,
            position,
            tag,
            ..
        } = *step;
        let variable = self.variables.entry(event.target);
        if variable.is_pair() {
            let Variable { current, before } = *variable;
            variable.current = self.lists.pair(current.own_tag(), current, before);
            variable.before = Mark::EMPTY;
        }
        let commutes = variable.current.tag().commutes(tag);
        if commutes
            && self
                .lists
                .has(variable.current, self.graph.node(slot), slot)
        {
            return;
        }
        if commutes {
            if !variable.before.is_empty() {
                self.lists
                    .edges(&mut variable.before, slot, step, &mut self.graph);
            }
            let mark = Mark::new(self.graph.node(slot), tag, event.site, position);
            self.lists.trim(&mut variable.current, &self.graph);
            if variable.before.is_empty()
                && !variable.current.is_list()
                && !self.graph.is_settled(variable.current, slot)
            {
                variable.before = mark;
            } else {
                variable.current = self.lists.join(variable.current, tag, mark, &self.graph);
            }
        } else {
            self.lists
                .edges(&mut variable.current, slot, step, &mut self.graph);
            let mark = Mark::new(self.graph.node(slot), tag, event.site, position);
            let older = std::mem::replace(&mut variable.before, variable.current);
            variable.current = mark;
            if tag.excludes() {
                self.lists.discard(std::mem::take(&mut variable.before));
            }
            let last = variable.before.tag();
            self.keep_base(event.target, tag, last, older);
        }
    }

    /// A group of `tag` follows one of `last`, and `older` is no more one of the two groups that a
    /// variable keeps.
    fn keep_base(&mut self, object: u32, tag: Tag, last: Tag, older: Mark) {
        let takes_turns = (tag == Tag::Read) != (last == Tag::Read);
        let is_between = takes_turns && !last.excludes() && last != Tag::Empty;
        if is_between && older.tag() == tag {
            return self.lists.discard(older);
        }
        self.discard_base(object);
        let is_alive = older.is_list() || older.is_single() && !self.graph.is_dead(older);
        if is_between && is_alive {
            self.bases.insert(object, older);
        } else {
            self.lists.discard(older);
        }
    }

    /// Few runs have a base at all.
    #[inline]
    fn discard_base(&mut self, object: u32) {
        if self.bases.is_empty() {
            return;
        }
        if let Some(base) = self.bases.remove(&object) {
            self.lists.discard(base);
        }
    }

    /// A strand takes a lock.
    #[inline(always)]
    fn acquire(&mut self, tag: Tag, event: &Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.graph.slot(event, position);
        let Some(lock) = self.locks.get_mut(event.target) else {
            return self.acquire_slowly(slot, tag, event, position);
        };
        if !self.graph.is_settled(lock.exclusive, slot) || !lock.shared.is_empty() {
            return self.acquire_slowly(slot, tag, event, position);
        }
        if tag != Tag::AcquireShared {
            lock.exclusive = Mark::new(self.graph.node(slot), tag, event.site, position);
        }
        None
    }

    /// A strand takes a lock that others have given back.
    #[inline(never)]
    fn acquire_slowly(
        &mut self,
        slot: u32,
        tag: Tag,
        event: &Event,
        position: u64,
    ) -> Option<Box<Violation>> {
        let lock = self.locks.entry(event.target);
        let mut step = Step::new(*event, position, tag);
        if !lock.exclusive.is_empty() {
            self.graph.edge(lock.exclusive, slot, &mut step);
        }
        if tag != Tag::AcquireShared {
            let Lock { exclusive, shared } = lock;
            self.lists.edges(shared, slot, &mut step, &mut self.graph);
            self.lists.discard(std::mem::take(shared));
            *exclusive = Mark::new(self.graph.node(slot), tag, event.site, position);
        }
        step.found
    }

    /// A strand gives a lock back, or its right to exclude others.
    #[inline(always)]
    fn release(&mut self, tag: Tag, event: &Event, position: u64) -> Option<Box<Violation>> {
        let slot = self.graph.slot(event, position);
        let lock = self.locks.entry(event.target);
        if tag == Tag::ReleaseShared {
            let mark = Mark::new(self.graph.node(slot), tag, event.site, position);
            lock.shared = self.lists.join(lock.shared, tag, mark, &self.graph);
            return None;
        }
        let acquire = lock.exclusive;
        lock.exclusive = Mark::new(self.graph.node(slot), tag, event.site, position);
        if acquire.slot() != slot && !acquire.is_empty() {
            return self.release_moved(acquire, slot, tag, event, position);
        }
        None
    }

    /// A strand gives back a lock that another one took: the guard was moved.
    #[cold]
    fn release_moved(
        &mut self,
        acquire: Mark,
        slot: u32,
        tag: Tag,
        event: &Event,
        position: u64,
    ) -> Option<Box<Violation>> {
        let mut step = Step::new(*event, position, tag);
        self.graph.edge(acquire, slot, &mut step);
        let mark = Mark::new(self.graph.node(slot), tag, event.site, position);
        self.locks.entry(event.target).exclusive = mark;
        step.found
    }

    /// Forgets the transactions that no object keeps an access of.
    #[cold]
    #[inline(never)]
    fn sweep(&mut self) {
        let variables = self.variables.all().flat_map(|it| [it.current, it.before]);
        let locks = self.locks.all().flat_map(|it| [it.exclusive, it.shared]);
        let others = self.signals.all().chain(self.messages.all());
        let listed = self.lists.members();
        let beside = self.vain.values().flatten().chain(self.bases.values());
        let (mut looked_at, mut named) = (0, Vec::new());
        for mark in variables
            .chain(locks)
            .chain(others.copied())
            .chain(listed.copied())
            .chain(beside.copied())
        {
            looked_at += 1;
            if mark.is_single() && !mark.is_unary() && !self.graph.is_dead(mark) {
                named.push((mark.slot(), mark.index()));
            }
        }
        self.graph.forget_all_but(named, looked_at);
    }

    fn retire(&mut self, object: u32) {
        let variable = self.variables.take(object);
        let lock = self.locks.take(object);
        let signals = self.signals.take(object);
        self.messages.take(object);
        if !self.vain.is_empty() {
            self.vain.remove(&object);
        }
        self.discard_base(object);
        for mark in [variable.current, variable.before, lock.shared, signals] {
            self.lists.discard(mark);
        }
    }
}

impl Exact {
    /// [`step`](Engine::step), which a loop is to have inside it.
    #[inline(always)]
    pub(super) fn take(&mut self, event: &Event, position: u64) -> Option<Box<Violation>> {
        match event.op {
            Op::Read => self.access(Tag::Read, event, position),
            Op::Write => self.access(Tag::Write, event, position),
            Op::Begin => {
                let slot = self.graph.slot(event, position);
                self.graph.begin(slot, event, position);
                None
            }
            Op::End => {
                let slot = self.graph.slot(event, position);
                self.graph.end(slot);
                if self.graph.is_crowded() {
                    self.sweep();
                }
                None
            }
            Op::Acquire => self.acquire(Tag::Acquire, event, position),
            Op::Release => self.release(Tag::Release, event, position),
            _ => self.take_rarer(event, position),
        }
    }

    #[inline(never)]
    fn take_rarer(&mut self, event: &Event, position: u64) -> Option<Box<Violation>> {
        match event.op {
            Op::ReadWrite => return self.access(Tag::ReadWrite, event, position),
            Op::Update(kind) => return self.access(Tag::of_update(kind), event, position),
            Op::Vain(kind) => return self.access_in_vain(kind, event, position).found,
            Op::AcquireShared => return self.acquire(Tag::AcquireShared, event, position),
            Op::Upgrade => return self.acquire(Tag::Upgrade, event, position),
            Op::ReleaseShared => return self.release(Tag::ReleaseShared, event, position),
            Op::Downgrade => return self.release(Tag::Downgrade, event, position),
            Op::Fork => {
                let slot = self.graph.slot(event, position);
                self.graph.fork(slot, event, position);
            }
            Op::Join => {
                let slot = self.graph.slot(event, position);
                let mut step = Step::new(*event, position, Tag::Join);
                self.graph.join(slot, &mut step);
                return step.found;
            }
            Op::Signal | Op::Reach => {
                let tag = match event.op {
                    Op::Signal => Tag::Signal,
                    _ => Tag::Reach,
                };
                let slot = self.graph.slot(event, position);
                let mark = Mark::new(self.graph.node(slot), tag, event.site, position);
                let signals = self.signals.entry(event.target);
                *signals = self.lists.join(*signals, tag, mark, &self.graph);
            }
            Op::Await | Op::Leave => {
                let tag = match event.op {
                    Op::Await => Tag::Await,
                    _ => Tag::Leave,
                };
                let slot = self.graph.slot(event, position);
                let mut step = Step::new(*event, position, tag);
                let signals = self.signals.entry(event.target);
                self.lists.edges(signals, slot, &mut step, &mut self.graph);
                return step.found;
            }
            Op::Send => {
                let slot = self.graph.slot(event, position);
                let mark = Mark::new(self.graph.node(slot), Tag::Send, event.site, position);
                *self.messages.entry(event.target) = mark;
            }
            Op::Recv => {
                let slot = self.graph.slot(event, position);
                let send = self.messages.take(event.target);
                let mut step = Step::new(*event, position, Tag::Recv);
                if !send.is_empty() {
                    self.graph.edge(send, slot, &mut step);
                }
                self.retire(event.target);
                return step.found;
            }
            Op::Retire => self.retire(event.target),
            Op::Exit => self.graph.exit(event.strand),
            no_step!() => {}
            Op::Begin | Op::End | Op::Read | Op::Write | Op::Acquire | Op::Release => {
                unreachable!("handled by the caller")
            }
        }
        None
    }
}

impl Engine for Exact {
    #[inline]
    fn step(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        self.take(&event, position)
    }

    fn run(&mut self, events: &[Event], position: u64) -> (usize, Option<Box<Violation>>) {
        for (at, event) in events.iter().enumerate() {
            if let Some(next) = events.get(at + FORESIGHT) {
                self.foresee(next);
            }
            let found = self.take(event, position + at as u64);
            if found.is_some() {
                return (at + 1, found);
            }
        }
        (events.len(), None)
    }

    #[inline]
    fn foresee(&self, event: &Event) {
        self.variables.prefetch(event.target);
    }
}

/// As std's, which is to choose without a branch: an older compiler decides by itself.
#[cfg(not(since = "1.88"))]
fn select_unpredictable<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}
