//! Potential deadlocks: locks taken in a circle.
//!
//! Each acquire of a lock while others are held gives an edge "holds this, wants that" of its
//! strand. A circle of such edges is a potential deadlock when each edge belongs to another strand,
//! no two of the strands hold a lock that excludes the other at that moment (a *gate lock* that
//! both hold lets only one of them in), and their periods are parallel, each with each. Two readers
//! do not wait for each other: an edge leads on only to a hold that excludes what is wanted. Nor do
//! two upgrades of one lock: a hold that can be upgraded excludes another such. One edge is kept for
//! each (strand, held lock, wanted lock, lock state before, period), found by a depth-first search
//! that starts each circle at its smallest edge, so that it is found once.

use super::{
    Access, Analysis, Context, Deadlock, Hold, LockState, Outcome, Period, Wait, access, takes_lock,
};
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many edges are kept.
const EDGES: usize = 1 << 16;
/// How many edges the search for circles follows.
const BOUND: usize = 1 << 22;

#[derive(Clone, Debug)]
struct Edge {
    strand: StrandId,
    held: Hold,
    wanted: Hold,
    /// Before the acquire.
    state: LockState,
    period: Period,
    /// Where the held lock was taken, and where the wanted one is.
    taken: Access,
    acquire: Access,
}

impl Edge {
    fn upgrades(&self) -> Option<ObjectId> {
        let lock = self.wanted.lock;
        (lock == self.held.lock).then_some(lock)
    }
}

/// The analysis; see the module.
#[derive(Debug, Default)]
pub struct Deadlocks {
    edges: Vec<Edge>,
    known: FxHashSet<(StrandId, ObjectId, Hold, LockState, Period)>,
    /// Where each strand took what it holds.
    taken: FxHashMap<(StrandId, ObjectId), Access>,
    full: bool,
}

impl Deadlocks {
    /// Nothing seen yet.
    pub fn new() -> Deadlocks {
        Deadlocks::default()
    }

    fn acquire(&mut self, event: Event, position: u64, now: &mut Context) {
        let strand = event.strand;
        let wanted = Hold {
            lock: event.object(),
            shared: event.op == Op::AcquireShared,
        };
        let acquire = access(event, position);
        let period = now.order.period(strand);
        // An upgrade waits for the other readers of the same lock.
        for &held in now.locks.held(now.before) {
            let key = (strand, held.lock, wanted, now.before, period);
            if self.known.contains(&key) {
                continue;
            }
            if self.edges.len() >= EDGES {
                self.full = true;
                break;
            }
            self.known.insert(key);
            let taken = self.taken.get(&(strand, held.lock));
            self.edges.push(Edge {
                strand,
                held,
                wanted,
                state: now.before,
                period,
                taken: taken.copied().unwrap_or(acquire),
                acquire,
            });
        }
        self.taken.insert((strand, wanted.lock), acquire);
    }
}

/// What a reader would call the same edge.
type Look = ((SiteId, SiteId), Option<ObjectId>);

/// The search for circles.
struct Circles<'a> {
    edges: &'a [Edge],
    /// Edges by the lock that is held.
    holding: &'a FxHashMap<ObjectId, Vec<usize>>,
    now: &'a Context,
    path: Vec<usize>,
    found: Vec<Deadlock>,
    known: FxHashMap<Vec<Look>, usize>,
    budget: usize,
}

impl Circles<'_> {
    /// May this edge's strand stand before its acquire while those of the path stand before theirs?
    fn fits(&self, at: usize) -> bool {
        let edge = &self.edges[at];
        self.path.iter().all(|&other| {
            let other = &self.edges[other];
            edge.strand != other.strand
                && (edge.upgrades().is_none() || edge.upgrades() != other.upgrades())
                && self.now.locks.compatible(edge.state, other.state)
                && self.now.order.parallel(edge.period, other.period)
        })
    }

    fn search(&mut self) {
        let (first, last) = (self.path[0], self.path[self.path.len() - 1]);
        let wanted = self.edges[last].wanted;
        if self.path.len() > 1 && wanted.excludes(self.edges[first].held) {
            self.report();
        }
        for &at in self.holding.get(&wanted.lock).into_iter().flatten() {
            let Some(budget) = self.budget.checked_sub(1) else {
                return;
            };
            self.budget = budget;
            if at > first && wanted.excludes(self.edges[at].held) && self.fits(at) {
                self.path.push(at);
                self.search();
                self.path.pop();
            }
        }
    }

    fn report(&mut self) {
        // The same sites in the same circle are the same to a reader; where a site is missing, the
        // locks tell them apart.
        let path = self.path.iter().map(|&at| &self.edges[at]);
        let look = path.clone().map(|edge| {
            let sites = (edge.taken.site, edge.acquire.site);
            let is_nowhere = sites.0 == SiteId::NONE || sites.1 == SiteId::NONE;
            (sites, is_nowhere.then_some(edge.wanted.lock))
        });
        let mut look: Vec<_> = look.collect();
        let start = (0..look.len()).min_by_key(|&at| look[at]).unwrap_or(0);
        look.rotate_left(start);
        let at = *self.known.entry(look).or_insert(self.found.len());
        if let Some(known) = self.found.get_mut(at) {
            known.count += 1;
            return;
        }
        let waits = path.map(|edge| Wait {
            held: edge.taken,
            wanted: edge.acquire,
            locks: self.now.locks.held(edge.state).to_vec(),
        });
        self.found.push(Deadlock {
            waits: waits.collect(),
            count: 1,
        });
    }
}

impl Analysis for Deadlocks {
    fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        if self.full {
            return;
        }
        let lock_event = now.skeleton.lock_event(event);
        let key = (event.strand, lock_event.object());
        match lock_event.op {
            // Who is given a lock by another strand does not wait for it.
            Op::Acquire | Op::AcquireShared if event.op == Op::Recv => {
                self.taken.insert(key, access(lock_event, position));
            }
            op if takes_lock(op) => self.acquire(event, position, now),
            Op::Release | Op::ReleaseShared => drop(self.taken.remove(&key)),
            _ => {}
        }
    }

    fn finish(&mut self, now: &mut Context) -> Outcome {
        let mut holding: FxHashMap<ObjectId, Vec<usize>> = FxHashMap::default();
        for (at, edge) in self.edges.iter().enumerate() {
            holding.entry(edge.held.lock).or_default().push(at);
        }
        let mut circles = Circles {
            edges: &self.edges,
            holding: &holding,
            now,
            path: Vec::new(),
            found: Vec::new(),
            known: FxHashMap::default(),
            budget: BOUND,
        };
        for first in 0..self.edges.len() {
            circles.path = vec![first];
            circles.search();
        }
        let mut notes = Vec::new();
        if circles.budget == 0 {
            notes.push("deadlock: the search for circles was cut short".to_owned());
        }
        if self.full {
            notes.push(format!(
                "deadlock: more than {EDGES} nested acquires: may be incomplete"
            ));
        }
        Outcome {
            deadlocks: circles.found,
            notes,
            ..Outcome::default()
        }
    }
}
