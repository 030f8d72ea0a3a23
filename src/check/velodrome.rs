//! The transaction graph itself, with garbage collection and incremental cycle search: the
//! baseline, and the judge.
//!
//! # The algorithm
//!
//! Flanagan, Freund and Yi, *Velodrome: a sound and complete dynamic atomicity checker for
//! multithreaded programs*, PLDI 2008. Every transaction is a node, and every pair of events that
//! orders two transactions an edge, kept with its two events. The trace is conflict serializable if
//! and only if there is no cycle. An edge that would close one is reported and left out.
//!
//! # The shortcuts
//!
//! *Garbage collection.* A transaction that has ended gains no in-edges. Where it has none, it is
//! on no cycle, now or later, so it is removed with its out-edges; its successors may follow.
//! Objects refer to nodes by number and generation, and what is gone orders nothing.
//!
//! *Events outside blocks* are nodes only where they must be. Where all that orders before such an
//! event is gone, so would the node be. Where all of it is the strand's last node, which has ended,
//! the event is counted to that node: whoever reaches one reaches the other, and neither gains
//! in-edges. A report still tells them apart, because an access knows its transaction.
//!
//! *Groups of accesses.* As in [`exact`](super::exact): a variable keeps the last groups of
//! commuting accesses, and everything older is implied. Members that are gone are dropped, by the
//! same argument: who leads to a member that is gone is gone as well.
//!
//! *Incremental cycle search.* Nodes carry a topological order (Pearce and Kelly, *A dynamic
//! topological sort algorithm for directed acyclic graphs*, 2006). An edge that agrees with it
//! cannot close a cycle and costs nothing; otherwise only nodes between the edge's two ends in that
//! order are searched, and then given new places.

use super::cycle::{self, Hop};
use super::groups::Groups;
use super::{Access, Edge, Engine, Transaction, Violation};
use crate::dense::Dense;
use crate::trace::{Event, Op, StrandId};

/// The engine that keeps the transaction graph. See the [module's documentation](self).
#[derive(Debug, Default)]
pub struct Velodrome {
    graph: Graph,
    strands: Dense<StrandId, Strand>,
    variables: Dense<u32, Option<Box<Groups<Vec<Mark>>>>>,
    syncs: Dense<u32, Option<Box<Sync>>>,
}

#[derive(Clone, Debug, Default)]
struct Strand {
    /// The last node; the open transaction's, where one is open.
    node: Option<NodeRef>,
    is_open: bool,
    /// The open transaction, or the last one.
    transaction: Option<Transaction>,
    /// The event that forked the strand, until its first event.
    fork: Option<Mark>,
    /// How many strands had the number before this one.
    former: u32,
    /// The last event.
    last: Option<Mark>,
}

/// An access that has a node.
#[derive(Clone, Debug)]
struct Mark {
    node: NodeRef,
    /// The strand's [`former`](Strand::former): numbers are reused, and a new owner's access does
    /// not come after the old one's.
    former: u32,
    access: Access,
    transaction: Transaction,
}

/// What a lock, a signalled object and a message keep.
#[derive(Clone, Debug, Default)]
struct Sync {
    /// The last exclusive acquire, release or downgrade.
    exclusive: Option<Mark>,
    shared: Vec<Mark>,
    signals: Vec<Mark>,
    send: Option<Mark>,
}

impl Velodrome {
    /// An engine at the start of a trace.
    pub fn new() -> Velodrome {
        Velodrome::default()
    }

    fn strand(&mut self, id: StrandId) -> &mut Strand {
        self.strands.entry(id)
    }

    /// The strand's event has happened after those of `before`: gives it its node, and the edges.
    fn happen<'a>(
        &mut self,
        event: Event,
        position: u64,
        before: impl IntoIterator<Item = &'a Mark>,
    ) -> (Option<Mark>, Option<Box<Violation>>) {
        let access = Access {
            position,
            strand: event.strand,
            op: event.op,
            object: event.its_object(),
            site: event.site,
        };
        let strand = self.strands.entry(event.strand);
        let transaction = match &strand.transaction {
            Some(transaction) if strand.is_open => transaction.clone(),
            _ => Transaction {
                strand: event.strand,
                block: None,
                begin: Some(position),
                site: event.site,
            },
        };
        let fork = strand.fork.take();
        let last = strand.node.filter(|&node| self.graph.is_live(node));
        let mut node = last;
        let mut found = None;
        let before = before.into_iter().map(|mark| -> &Mark { mark });
        for mark in before.chain(&fork) {
            if Some(mark.node) == last || !self.graph.is_live(mark.node) {
                continue;
            }
            if node == last && !strand.is_open {
                node = Some(self.graph.follow(last, false));
            }
            let Some(node) = node else { break };
            let hop = Hop {
                edge: Edge {
                    from: mark.access,
                    to: access,
                },
                from: mark.transaction.clone(),
                to: transaction.clone(),
            };
            let hops = self.graph.edge(mark.node, node, Some(hop));
            found = found.or_else(|| hops.map(|hops| cycle::violation(hops, position)));
        }
        strand.node = node;
        let mark = node.map(|node| Mark {
            node,
            former: strand.former,
            access,
            transaction,
        });
        strand.last = mark.clone();
        (mark, found)
    }

    fn begin(&mut self, event: Event, position: u64) {
        let strand = self.strands.entry(event.strand);
        let last = strand.node.filter(|&node| self.graph.is_live(node));
        strand.node = Some(self.graph.follow(last, true));
        strand.is_open = true;
        strand.transaction = Some(Transaction {
            strand: event.strand,
            block: Some(event.block()),
            begin: Some(position),
            site: event.site,
        });
        self.happen(event, position, &[]);
    }

    fn end(&mut self, strand: StrandId) {
        let strand = self.strand(strand);
        let was_open = std::mem::take(&mut strand.is_open);
        if let Some(node) = strand.node.filter(|_| was_open) {
            self.graph.close(node);
        }
    }

    fn access(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let mut groups = self.variables.take(event.target).unwrap_or_default();
        let before = groups.before(event.op).flat_map(|group| group.iter());
        let (mark, found) = self.happen(event, position, before);
        let group = groups.join(event.op);
        if let Some(mark) = mark {
            self.graph.join(group, mark);
        }
        *self.variables.entry(event.target) = Some(groups);
        found
    }

    fn sync(&mut self, event: Event) -> &mut Sync {
        self.syncs.entry(event.target).get_or_insert_default()
    }

    /// An event that others come after.
    fn leave(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let before = match event.op {
            // After the acquire: the guard may have been moved.
            Op::Release | Op::Downgrade => self.sync(event).exclusive.take(),
            _ => None,
        };
        let (mark, found) = self.happen(event, position, before.as_slice());
        let Some(mark) = mark else { return found };
        let Velodrome { graph, syncs, .. } = self;
        let sync = syncs.entry(event.target).get_or_insert_default();
        match event.op {
            Op::Send => sync.send = Some(mark),
            Op::Signal | Op::Reach => graph.join(&mut sync.signals, mark),
            Op::ReleaseShared => graph.join(&mut sync.shared, mark),
            _ => sync.exclusive = Some(mark),
        }
        found
    }

    /// An event that comes after others.
    fn arrive(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        let mut sync = self.syncs.take(event.target).unwrap_or_default();
        let (mark, found) = match event.op {
            Op::Recv => self.happen(event, position, &sync.send),
            Op::Await | Op::Leave => self.happen(event, position, &sync.signals),
            Op::AcquireShared => self.happen(event, position, &sync.exclusive),
            _ => self.happen(event, position, sync.exclusive.iter().chain(&sync.shared)),
        };
        if matches!(event.op, Op::Acquire | Op::Upgrade) {
            sync.exclusive = mark;
            sync.shared.clear();
        }
        *self.syncs.entry(event.target) = Some(sync);
        found
    }

    fn retire(&mut self, object: u32) {
        if let Some(variable) = self.variables.get_mut(object) {
            *variable = None;
        }
        if let Some(sync) = self.syncs.get_mut(object) {
            *sync = None;
        }
    }
}

impl Engine for Velodrome {
    fn step(&mut self, event: Event, position: u64) -> Option<Box<Violation>> {
        match event.op {
            Op::Begin => self.begin(event, position),
            Op::End => {
                self.happen(event, position, &[]);
                self.end(event.strand);
            }
            Op::Read | Op::Write | Op::ReadWrite | Op::Update(_) | Op::Vain(_) => {
                return self.access(event, position);
            }
            Op::Acquire | Op::AcquireShared | Op::Upgrade | Op::Await | Op::Leave => {
                return self.arrive(event, position);
            }
            Op::Release | Op::ReleaseShared | Op::Downgrade | Op::Signal | Op::Reach | Op::Send => {
                return self.leave(event, position);
            }
            Op::Recv => {
                let found = self.arrive(event, position);
                self.retire(event.target);
                return found;
            }
            Op::Fork => {
                let (mark, _) = self.happen(event, position, &[]);
                self.end(event.other());
                let child = self.strand(event.other());
                *child = Strand {
                    fork: mark,
                    former: child.former.wrapping_add(1),
                    ..Strand::default()
                };
            }
            Op::Join => {
                self.end(event.other());
                let last = self.strand(event.other()).last.clone();
                return self.happen(event, position, last.as_slice()).1;
            }
            Op::Exit => self.end(event.strand),
            Op::Retire => self.retire(event.target),
            no_step!() => {}
        }
        None
    }
}

/// A node that may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodeRef {
    number: u32,
    generation: u32,
}

#[derive(Debug, Default)]
struct Node {
    generation: u32,
    is_open: bool,
    /// Larger than that of every predecessor.
    order: u64,
    ins: Vec<u32>,
    /// Successors; program order has no hop of its own.
    outs: Vec<(u32, Option<Hop>)>,
    /// The last search that came by, and the node and out-edge that it came from.
    visit: u64,
    came_from: (u32, usize),
}

#[derive(Debug, Default)]
struct Graph {
    nodes: Vec<Node>,
    free: Vec<u32>,
    orders: u64,
    searches: u64,
}

impl Graph {
    fn add(&mut self, is_open: bool) -> NodeRef {
        let number = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::default());
            self.nodes.len() as u32 - 1
        });
        self.orders += 1;
        let node = &mut self.nodes[number as usize];
        node.is_open = is_open;
        node.order = self.orders;
        NodeRef {
            number,
            generation: node.generation,
        }
    }

    /// A new node, after the strand's last one where that is left.
    fn follow(&mut self, last: Option<NodeRef>, is_open: bool) -> NodeRef {
        let node = self.add(is_open);
        if let Some(last) = last {
            self.edge(last, node, None);
        }
        node
    }

    fn is_live(&self, node: NodeRef) -> bool {
        self.nodes[node.number as usize].generation == node.generation
    }

    /// Puts an access into its group, in place of an older one of its strand.
    fn join(&self, group: &mut Vec<Mark>, mark: Mark) {
        let strand = (mark.access.strand, mark.former);
        group.retain(|it| (it.access.strand, it.former) != strand && self.is_live(it.node));
        group.push(mark);
    }

    /// The transaction has ended.
    fn close(&mut self, node: NodeRef) {
        if self.is_live(node) {
            self.nodes[node.number as usize].is_open = false;
            self.collect(node.number);
        }
    }

    /// Removes the node, and what follows from that, if it can be on no cycle any more.
    fn collect(&mut self, node: u32) {
        let mut candidates = vec![node];
        while let Some(number) = candidates.pop() {
            let node = &mut self.nodes[number as usize];
            if node.is_open || !node.ins.is_empty() {
                continue;
            }
            node.generation = node.generation.wrapping_add(1);
            let outs = std::mem::take(&mut node.outs);
            self.free.push(number);
            for (out, _) in outs {
                let ins = &mut self.nodes[out as usize].ins;
                ins.retain(|&other| other != number);
                // Only the last of its predecessors to go takes it along, so that it goes once.
                if ins.is_empty() {
                    candidates.push(out);
                }
            }
        }
    }

    /// Adds an edge; or says which cycle it would close, and does not.
    fn edge(&mut self, from: NodeRef, to: NodeRef, hop: Option<Hop>) -> Option<Vec<Hop>> {
        let (from, to) = (from.number, to.number);
        let known = if self.nodes[from as usize].outs.len() < self.nodes[to as usize].ins.len() {
            self.nodes[from as usize]
                .outs
                .iter()
                .any(|&(out, _)| out == to)
        } else {
            self.nodes[to as usize].ins.contains(&from)
        };
        if known {
            return None;
        }
        if self.nodes[from as usize].order > self.nodes[to as usize].order {
            let Some(forward) = self.forward(to, from) else {
                let mut hops = Vec::new();
                hops.extend(hop);
                let mut at = from;
                while at != to {
                    let (origin, out) = self.nodes[at as usize].came_from;
                    hops.extend(self.nodes[origin as usize].outs[out].1.clone());
                    at = origin;
                }
                hops.reverse();
                return Some(hops);
            };
            let backward = self.backward(from, to);
            self.reorder(backward, forward);
        }
        self.nodes[from as usize].outs.push((to, hop));
        self.nodes[to as usize].ins.push(from);
        None
    }

    /// What `start` leads to, up to the place of `goal`; nothing where that includes `goal`.
    fn forward(&mut self, start: u32, goal: u32) -> Option<Vec<u32>> {
        let limit = self.nodes[goal as usize].order;
        self.searches += 1;
        self.nodes[start as usize].visit = self.searches;
        let mut found = vec![start];
        let mut next = 0;
        while next < found.len() {
            let at = found[next];
            next += 1;
            for out in 0..self.nodes[at as usize].outs.len() {
                let other = self.nodes[at as usize].outs[out].0;
                let node = &mut self.nodes[other as usize];
                if node.order <= limit && node.visit != self.searches {
                    node.visit = self.searches;
                    node.came_from = (at, out);
                    if other == goal {
                        return None;
                    }
                    found.push(other);
                }
            }
        }
        Some(found)
    }

    /// What leads to `start`, down to the place of `goal`.
    fn backward(&mut self, start: u32, goal: u32) -> Vec<u32> {
        let limit = self.nodes[goal as usize].order;
        self.searches += 1;
        self.nodes[start as usize].visit = self.searches;
        let mut found = vec![start];
        let mut next = 0;
        while next < found.len() {
            let at = found[next];
            next += 1;
            for i in 0..self.nodes[at as usize].ins.len() {
                let other = self.nodes[at as usize].ins[i];
                let node = &mut self.nodes[other as usize];
                if node.order >= limit && node.visit != self.searches {
                    node.visit = self.searches;
                    found.push(other);
                }
            }
        }
        found
    }

    /// Puts `first` before `second`, in the places that both have now, and each in its present
    /// order.
    fn reorder(&mut self, mut first: Vec<u32>, mut second: Vec<u32>) {
        first.sort_unstable_by_key(|&node| self.nodes[node as usize].order);
        second.sort_unstable_by_key(|&node| self.nodes[node as usize].order);
        first.append(&mut second);
        let mut places: Vec<u64> = first
            .iter()
            .map(|&node| self.nodes[node as usize].order)
            .collect();
        places.sort_unstable();
        for (node, place) in first.into_iter().zip(places) {
            self.nodes[node as usize].order = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_goes_with_two_predecessors_at_once_goes_once() {
        let mut graph = Graph::default();
        let [first, last, between] = [true, false, false].map(|is_open| graph.add(is_open));
        for (from, to) in [(first, last), (first, between), (between, last)] {
            assert!(graph.edge(from, to, None).is_none());
        }
        graph.close(first);
        assert!(
            [first, last, between]
                .iter()
                .all(|&node| !graph.is_live(node))
        );
        let mut numbers: Vec<_> = (0..4).map(|_| graph.add(false).number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 4, "no two nodes share a number");
    }
}
