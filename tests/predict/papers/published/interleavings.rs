//! Theorem 5 to the letter: every interleaving of the initial reads and final writes.
//!
//! The strands are stepped in every order that locks, forks, joins, signals and messages allow. Two
//! neighbouring steps that are independent (no common lock, no conflict) lead to the same place in
//! either order, so that only one of the orders is tried (sleep sets, Godefroid 1996). The number
//! of interleavings is bounded; the bound being hit is said.

use super::serial::{Equivalence, Reading};
use super::{reads, writes};
use aerodrome::predict::{conflict, is_access};
use aerodrome::trace::{Event, ObjectId, Op};
use std::collections::{HashMap, HashSet};

/// What came of trying the interleavings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every interleaving has an equivalent serial order.
    Atomic,
    /// This one has none: positions, in order.
    NotAtomic(Vec<u64>),
    /// No violation among the interleavings tried, but not all were.
    CutShort,
}

/// Which accesses are interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of them.
    All,
    /// The initial reads and final writes: enough where no pair of 1v-blocks makes a violation.
    InitialAndFinal,
}

/// Tries every interleaving of a lowered trace, at most `bound` of them.
///
/// The trace is well formed, without splits and nested blocks. Deadlocks are passed over: the
/// theorem assumes that there are none.
pub(crate) fn exhaustive(
    trace: &[Event],
    kept: Kept,
    equivalence: Equivalence,
    bound: usize,
) -> Verdict {
    let mut explorer = Explorer::new(trace, kept, equivalence, bound);
    explorer.explore(&HashSet::default());
    match explorer.found {
        Some(found) => Verdict::NotAtomic(found),
        None if explorer.count > bound => Verdict::CutShort,
        None => Verdict::Atomic,
    }
}

#[derive(Debug)]
struct Step {
    event: Event,
    position: u64,
    /// Lanes, and how many of their steps must have been made.
    needs: Vec<(usize, usize)>,
}

struct Explorer {
    lanes: Vec<Vec<Step>>,
    next: Vec<usize>,
    /// The holders of each lock: lane, shared.
    locks: HashMap<ObjectId, Vec<(usize, bool)>>,
    trail: Vec<(usize, usize)>,
    equivalence: Equivalence,
    bound: usize,
    count: usize,
    found: Option<Vec<u64>>,
}

impl Explorer {
    fn new(trace: &[Event], kept: Kept, equivalence: Equivalence, bound: usize) -> Explorer {
        let kept = (kept == Kept::InitialAndFinal).then(|| initial_and_final(trace));
        let mut lanes: Vec<Vec<Step>> = Vec::new();
        let mut forks: HashMap<usize, (usize, usize)> = HashMap::default();
        let mut carried: HashMap<ObjectId, Vec<(usize, usize)>> = HashMap::default();
        for (event, position) in trace.iter().zip(1..) {
            if is_access(event.op) && kept.as_ref().is_some_and(|kept| !kept.contains(&position)) {
                continue;
            }
            let at = event.strand.0 as usize;
            if at >= lanes.len() {
                lanes.resize_with(at + 1, Vec::new);
            }
            let here = (at, lanes[at].len() + 1);
            let mut needs: Vec<(usize, usize)> = Vec::new();
            if lanes[at].is_empty() {
                needs.extend(forks.get(&at));
            }
            match event.op {
                Op::Fork => drop(forks.insert(event.target as usize, here)),
                Op::Join => {
                    let other = event.target as usize;
                    needs.push((other, lanes.get(other).map_or(0, Vec::len)));
                    needs.extend(forks.get(&other));
                }
                Op::Send | Op::Signal => carried.entry(event.object()).or_default().push(here),
                Op::Recv | Op::Await => {
                    needs.extend(carried.get(&event.object()).into_iter().flatten())
                }
                _ => {}
            }
            lanes[at].push(Step {
                event: *event,
                position,
                needs,
            });
        }
        let next = vec![0; lanes.len()];
        let (locks, trail) = (HashMap::default(), Vec::new());
        Explorer {
            lanes,
            next,
            locks,
            trail,
            equivalence,
            bound,
            count: 0,
            found: None,
        }
    }

    fn possible(&self, lane: usize) -> bool {
        let Some(step) = self.lanes[lane].get(self.next[lane]) else {
            return false;
        };
        let waits =
            |&(other, count): &(usize, usize)| self.next.get(other).copied().unwrap_or(0) < count;
        let holders = self
            .locks
            .get(&step.event.object())
            .map_or(&[][..], |holders| holders);
        !step.needs.iter().any(waits)
            && match step.event.op {
                Op::Acquire | Op::Upgrade => holders.iter().all(|&(holder, _)| holder == lane),
                Op::AcquireShared => holders
                    .iter()
                    .all(|&(holder, shared)| shared || holder == lane),
                _ => true,
            }
    }

    fn explore(&mut self, asleep: &HashSet<usize>) {
        if self.found.is_some() || self.count > self.bound {
            return;
        }
        let done = self
            .next
            .iter()
            .zip(&self.lanes)
            .all(|(&next, lane)| next == lane.len());
        if done {
            self.count += 1;
            let events: Vec<(Event, u64)> = self
                .trail
                .iter()
                .map(|&(lane, at)| self.event(lane, at))
                .collect();
            if !Reading::of(&events).serializable(self.equivalence) {
                self.found = Some(events.iter().map(|&(_, position)| position).collect());
            }
            return;
        }
        let mut asleep = asleep.clone();
        for lane in 0..self.lanes.len() {
            if asleep.contains(&lane) || !self.possible(lane) {
                continue;
            }
            let at = self.next[lane];
            let awake = asleep
                .iter()
                .copied()
                .filter(|&other| self.independent(lane, other))
                .collect();
            let (event, _) = self.event(lane, at);
            let before = self.locks.get(&event.object()).cloned();
            self.step(lane, event);
            self.explore(&awake);
            self.next[lane] -= 1;
            self.trail.pop();
            if changes_lock(event.op) {
                self.locks
                    .insert(event.object(), before.unwrap_or_default());
            }
            asleep.insert(lane);
        }
    }

    fn event(&self, lane: usize, at: usize) -> (Event, u64) {
        let step = &self.lanes[lane][at];
        (step.event, step.position)
    }

    fn step(&mut self, lane: usize, event: Event) {
        self.trail.push((lane, self.next[lane]));
        self.next[lane] += 1;
        if !changes_lock(event.op) {
            return;
        }
        let holders = self.locks.entry(event.object()).or_default();
        match event.op {
            Op::Acquire => holders.push((lane, false)),
            Op::AcquireShared => holders.push((lane, true)),
            Op::Upgrade | Op::Downgrade => {
                holders
                    .iter_mut()
                    .filter(|(holder, _)| *holder == lane)
                    .for_each(|h| h.1 = event.op == Op::Downgrade);
            }
            _ => {
                if let Some(at) = holders.iter().position(|&(holder, _)| holder == lane) {
                    holders.remove(at);
                }
            }
        }
    }

    /// Do the next steps of the two lanes lead to the same place in either order?
    fn independent(&self, a: usize, b: usize) -> bool {
        let (x, _) = self.event(a, self.next[a]);
        let (y, _) = self.event(b, self.next[b]);
        if x.target != y.target {
            return true;
        }
        !(conflict(x.op, y.op) || changes_lock(x.op) && changes_lock(y.op))
    }
}

/// Takes, gives back or converts a lock.
fn changes_lock(op: Op) -> bool {
    use Op::{Acquire, AcquireShared, Downgrade, Release, ReleaseShared, Upgrade};
    matches!(
        op,
        Acquire | AcquireShared | Downgrade | Release | ReleaseShared | Upgrade
    )
}

/// For each strand and variable of its transaction under way: was it written, and where last, by
/// each operation?
type Writes = HashMap<(u32, u32), (bool, Vec<(Op, u64)>)>;

/// The positions of the initial reads and final writes of all transactions: for updates, of every
/// kind.
fn initial_and_final(trace: &[Event]) -> HashSet<u64> {
    let mut kept = HashSet::default();
    let mut open = Writes::default();
    let mut inside: HashSet<u32> = HashSet::default();
    for (event, position) in trace.iter().zip(1..) {
        let strand = event.strand.0;
        match event.op {
            Op::Begin => drop(inside.insert(strand)),
            Op::End => {
                inside.remove(&strand);
                close(&mut open, strand, &mut kept);
            }
            op if is_access(op) => {
                if !inside.contains(&strand) {
                    kept.insert(position);
                    continue;
                }
                let (written, last) = open.entry((strand, event.target)).or_default();
                if reads(op) && !*written {
                    kept.insert(position);
                }
                if writes(op) {
                    // After an update of its own kind another's update still conflicts with a read,
                    // so reads count on.
                    *written |= !matches!(op, Op::Update(_));
                    // A write and a read+write conflict with the same.
                    let class = if op == Op::ReadWrite { Op::Write } else { op };
                    last.retain(|(known, _)| *known != class);
                    last.push((class, position));
                }
            }
            _ => {}
        }
    }
    for strand in inside {
        close(&mut open, strand, &mut kept);
    }
    kept
}

fn close(open: &mut Writes, strand: u32, kept: &mut HashSet<u64>) {
    open.retain(|(owner, _), (_, last)| {
        if *owner == strand {
            kept.extend(last.iter().map(|&(_, position)| position));
        }
        *owner != strand
    });
}
