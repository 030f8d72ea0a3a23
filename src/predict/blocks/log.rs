//! Schedules: a way for the strands to run that puts given accesses into a given order.
//!
//! The log keeps what can make a strand wait (locks, messages, forks and the like) and where its transactions begin and end, but no
//! accesses. From it a schedule is made in two parts. The *base* runs every strand that matters to the last point before
//! the transactions in question at which it is in no transaction and holds no lock, in the recorded order; leaving out whole
//! critical sections from a valid order leaves a valid order. The *window* is what is left, and is searched: of the
//! possible steps only the acquires need a choice, because every other step, once it is possible, takes nothing away from
//! anybody. So the search sees one state for each combination of acquires, remembers the states that failed, and is
//! complete for the window unless it hits its bound.

use crate::predict::{Map, Run, Set, is_access};
use crate::trace::{Event, ObjectId, Op, StrandId};

/// An access that a schedule must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) event: Event,
    pub(super) position: u64,
    /// Where its transaction began; its own position where it is in none.
    pub(super) begin: u64,
}

/// What the search for a schedule came to.
#[derive(Debug)]
pub(super) enum Realised {
    /// A schedule, and the events of its window, with those accesses that were asked for.
    Yes(Vec<Run>, Vec<(Event, u64)>),
    /// There is none in the window.
    No,
    /// The bound was hit.
    Unknown,
}

/// The index of a strand and of one of its steps.
type At = (usize, usize);

#[derive(Debug, Default)]
struct Strand {
    steps: Vec<(Event, u64)>,
    /// Before which steps the strand is in no transaction and holds no lock.
    free: Vec<usize>,
    holds: usize,
    open: bool,
    /// The steps that wait for other strands' steps, and for which.
    needs: Vec<(usize, Vec<At>)>,
    forked: Option<At>,
}

impl Strand {
    /// The number of steps before a position.
    fn before(&self, position: u64) -> usize {
        self.steps.partition_point(|&(_, p)| p < position)
    }

    fn needs_until(&self, end: usize) -> impl Iterator<Item = &(usize, Vec<At>)> {
        self.needs.iter().take_while(move |(at, _)| *at < end)
    }
}

/// What orders and blocks, of the whole trace.
#[derive(Debug, Default)]
pub(super) struct Log {
    strands: Vec<Strand>,
    sent: Map<ObjectId, At>,
    signalled: Map<ObjectId, Vec<At>>,
    count: usize,
}

/// How many lock, order and block events are kept: 96 MiB.
const ROOM: usize = 4 << 20;

impl Log {
    /// Takes the next event. False if there is no room for it: then no schedule can be made any more.
    pub(super) fn step(&mut self, event: Event, position: u64) -> bool {
        let at = event.strand.0 as usize;
        let other = if matches!(event.op, Op::Fork | Op::Join) {
            event.target as usize
        } else {
            at
        };
        if at.max(other) >= self.strands.len() {
            self.strands.resize_with(at.max(other) + 1, Strand::default);
        }
        if is_access(event.op) {
            return true;
        }
        let index = self.strands[at].steps.len();
        let mut needs: Vec<At> = Vec::new();
        if index == 0 {
            needs.extend(self.strands[at].forked);
        }
        match event.op {
            Op::Fork => self.strands[other].forked = Some((at, index)),
            Op::Join => {
                if let Some(last) = self.strands[other].steps.len().checked_sub(1) {
                    needs.push((other, last));
                } else {
                    needs.extend(self.strands[other].forked);
                }
            }
            Op::Send => drop(self.sent.insert(event.object(), (at, index))),
            Op::Recv => needs.extend(self.sent.remove(&event.object())),
            Op::Signal => {
                let signals = self.signalled.entry(event.object()).or_default();
                signals.retain(|&(strand, _)| strand != at);
                signals.push((at, index));
            }
            Op::Await => needs.extend(self.signalled.get(&event.object()).into_iter().flatten()),
            _ => {}
        }
        let strand = &mut self.strands[at];
        let free = strand.holds == 0 && !strand.open;
        match event.op {
            Op::Begin => strand.open = true,
            Op::End => strand.open = false,
            Op::Acquire | Op::AcquireShared => strand.holds += 1,
            Op::Release | Op::ReleaseShared => strand.holds = strand.holds.saturating_sub(1),
            Op::Upgrade
            | Op::Downgrade
            | Op::Fork
            | Op::Join
            | Op::Send
            | Op::Recv
            | Op::Signal
            | Op::Await => {}
            _ => return true,
        }
        if free {
            strand.free.push(index);
        }
        if !needs.is_empty() {
            strand.needs.push((index, needs));
        }
        strand.steps.push((event, position));
        self.count += 1;
        self.count <= ROOM
    }

    /// Looks for a schedule in which the first point of each pair comes before the second, and in which each of these strands comes
    /// to the position.
    pub(super) fn realise(
        &self,
        pairs: &[(Point, Point)],
        ends: &[(StrandId, u64)],
        bound: usize,
    ) -> Realised {
        let Some(window) = Window::new(self, pairs, ends) else {
            return Realised::Unknown;
        };
        window.search(bound)
    }
}

/// One strand's part of a window.
#[derive(Debug)]
struct Lane {
    strand: usize,
    items: Vec<Slot>,
    /// So many of them must run. The others, up to the strand's next free point, may: to give back a lock, for example.
    required: usize,
}

#[derive(Debug)]
struct Slot {
    event: Event,
    position: u64,
    /// Lanes and how many of their items must have run.
    needs: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Window {
    base: Vec<Run>,
    lanes: Vec<Lane>,
}

/// A window with more steps is not searched.
const LONGEST: usize = 20_000;

impl Window {
    fn new(log: &Log, pairs: &[(Point, Point)], ends: &[(StrandId, u64)]) -> Option<Window> {
        let count = log.strands.len();
        let points: Vec<Point> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        // How far each strand must come, and from where on its steps may be chosen freely.
        let mut stop = vec![0; count];
        let mut start: Vec<Option<usize>> = vec![None; count];
        for point in &points {
            let at = point.event.strand.0 as usize;
            let strand = log.strands.get(at)?;
            stop[at] = stop[at].max(strand.before(point.position));
            let free = strand.last_free(strand.before(point.begin));
            start[at] = Some(start[at].map_or(free, |start| start.min(free)));
        }
        for &(strand, position) in ends {
            let at = strand.0 as usize;
            stop[at] = stop[at].max(log.strands.get(at)?.before(position + 1));
        }
        // A strand that is to run an access at all must have been forked.
        let mut work: Vec<At> = Vec::new();
        for point in &points {
            let at = point.event.strand.0 as usize;
            work.push((at, stop[at]));
            if stop[at] == 0 {
                work.extend(
                    log.strands[at]
                        .forked
                        .map(|(strand, index)| (strand, index + 1)),
                );
            }
        }
        let mut reached = vec![0; count];
        while let Some((at, end)) = work.pop() {
            stop[at] = stop[at].max(end);
            if reached[at] >= end {
                continue;
            }
            let from = std::mem::replace(&mut reached[at], end);
            for (index, needs) in log.strands[at].needs_until(end) {
                if *index >= from {
                    work.extend(needs.iter().map(|&(strand, step)| (strand, step + 1)));
                }
            }
        }
        // The base must be closed: what a strand's base waits for is in the base.
        let mut base: Vec<usize> = (0..count).map(|at| start[at].unwrap_or(stop[at])).collect();
        for (at, base) in base.iter_mut().enumerate() {
            *base = log.strands[at].last_free(*base);
        }
        loop {
            let mut changed = false;
            for at in 0..count {
                let strand = &log.strands[at];
                let open = strand
                    .needs_until(base[at])
                    .find(|(_, needs)| needs.iter().any(|&(s, i)| base[s] <= i));
                if let Some(&(index, _)) = open {
                    base[at] = strand.last_free(index);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut lanes: Vec<Lane> = Vec::new();
        let mut steps = 0;
        for at in 0..count {
            let mut items: Vec<Slot> = Vec::new();
            let mut own: Vec<Point> = points
                .iter()
                .copied()
                .filter(|p| p.event.strand.0 as usize == at)
                .collect();
            own.sort_unstable_by_key(|point| point.position);
            own.dedup_by_key(|point| point.position);
            let last = own.last().map(|point| point.position);
            let mut own = own.into_iter().peekable();
            for index in base[at]..log.strands[at].next_free(stop[at]) {
                let (event, position) = log.strands[at].steps[index];
                while let Some(point) = own.next_if(|point| point.position < position) {
                    items.push(Slot {
                        event: point.event,
                        position: point.position,
                        needs: Vec::new(),
                    });
                }
                items.push(Slot {
                    event,
                    position,
                    needs: Vec::new(),
                });
            }
            items.extend(own.map(|point| Slot {
                event: point.event,
                position: point.position,
                needs: Vec::new(),
            }));
            let must = |slot: &Slot| {
                Some(slot.position) <= last || log.strands[at].before(slot.position + 1) <= stop[at]
            };
            let required = items.partition_point(must);
            steps += items.len();
            if steps > LONGEST {
                return None;
            }
            if !items.is_empty() {
                lanes.push(Lane {
                    strand: at,
                    items,
                    required,
                });
            }
        }
        // Needs, in terms of lanes.
        let find = |lanes: &[Lane], strand: usize, position: u64| -> Option<(usize, usize)> {
            let lane = lanes.iter().position(|lane| lane.strand == strand)?;
            let at = lanes[lane]
                .items
                .binary_search_by_key(&position, |slot| slot.position)
                .ok()?;
            Some((lane, at))
        };
        let mut needs: Vec<((usize, usize), (usize, usize))> = Vec::new();
        for (number, lane) in lanes.iter().enumerate() {
            let strand = &log.strands[lane.strand];
            for (index, waits) in &strand.needs {
                let Some(slot) = find(&lanes, lane.strand, strand.steps[*index].1) else {
                    continue;
                };
                for &(other, step) in waits {
                    match find(&lanes, other, log.strands[other].steps[step].1) {
                        Some(first) => needs.push((slot, first)),
                        None if step < base[other] => {}
                        // Never: only a step that need not run can wait for what is in no lane.
                        None => needs.push((slot, (number, usize::MAX - 1))),
                    }
                }
            }
            // Its first item may be an access, which waits for the fork as any first step does.
            if base[lane.strand] == 0
                && let Some((other, step)) = strand.forked
                && let Some(first) = find(&lanes, other, log.strands[other].steps[step].1)
            {
                needs.push(((number, 0), first));
            }
        }
        // A join waits for all that the other strand did, accesses included.
        for (number, lane) in lanes.iter().enumerate() {
            for (at, slot) in lane.items.iter().enumerate() {
                if slot.event.op == Op::Join
                    && let Some(other) = lanes
                        .iter()
                        .position(|lane| lane.strand == slot.event.target as usize)
                    && let Some(last) = lanes[other].items.len().checked_sub(1)
                {
                    needs.push(((number, at), (other, last)));
                }
            }
        }
        for (a, b) in pairs {
            let first = find(&lanes, a.event.strand.0 as usize, a.position)?;
            let then = find(&lanes, b.event.strand.0 as usize, b.position)?;
            needs.push((then, first));
        }
        for ((lane, item), (other, first)) in needs {
            lanes[lane].items[item].needs.push((other, first + 1));
        }
        Some(Window {
            base: base_runs(log, &base),
            lanes,
        })
    }

    fn search(&self, bound: usize) -> Realised {
        let mut state = State {
            next: vec![0; self.lanes.len()],
            locks: Map::default(),
            trail: Vec::new(),
        };
        let mut failed: Set<Vec<usize>> = Set::default();
        // Where each choice was made: the length of the trail before it, and the lanes not tried yet.
        let mut choices: Vec<(usize, Vec<usize>)> = Vec::new();
        loop {
            state.run(&self.lanes);
            if state.done(&self.lanes) {
                let trail = self.tidy(&state.trail);
                return Realised::Yes(self.schedule(&trail), self.events(&trail));
            }
            if failed.len() > bound {
                return Realised::Unknown;
            }
            let fresh = failed.insert(state.next.clone());
            // Those that were first in the recording are tried first.
            let mut lanes: Vec<usize> = if fresh {
                state.possible(&self.lanes)
            } else {
                Vec::new()
            };
            lanes.sort_by_key(|&lane| {
                std::cmp::Reverse(self.lanes[lane].items[state.next[lane]].position)
            });
            choices.push((state.trail.len(), lanes));
            loop {
                let Some((length, lanes)) = choices.last_mut() else {
                    return Realised::No;
                };
                state.undo(*length, &self.lanes);
                match lanes.pop() {
                    Some(lane) => {
                        state.take(lane, &self.lanes);
                        break;
                    }
                    None => drop(choices.pop()),
                }
            }
        }
    }

    /// The same schedule with fewer changes from strand to strand, and without the steps that nothing needs. Program order, needs
    /// and the order in which locks went from hand to hand are kept, so it is as valid as the other.
    fn tidy(&self, trail: &[usize]) -> Vec<usize> {
        // For each step of the trail, the steps that come right before it.
        let mut at = vec![0; self.lanes.len()];
        let mut number: Vec<Vec<usize>> = self.lanes.iter().map(|_| Vec::new()).collect();
        let mut before: Vec<Vec<usize>> = Vec::new();
        let mut locks: Map<ObjectId, Vec<usize>> = Map::default();
        let mut slots: Vec<&Slot> = Vec::new();
        for (step, &lane) in trail.iter().enumerate() {
            let slot = &self.lanes[lane].items[at[lane]];
            let mut needs: Vec<usize> = slot
                .needs
                .iter()
                .map(|&(other, count)| number[other][count - 1])
                .collect();
            needs.extend(number[lane].last());
            if changes_lock(slot.event.op) {
                let own = locks.entry(slot.event.object()).or_default();
                let shared = |op| matches!(op, Op::AcquireShared | Op::ReleaseShared);
                needs.extend(
                    own.iter()
                        .filter(|&&s| !(shared(slots[s].event.op) && shared(slot.event.op))),
                );
                own.push(step);
            }
            at[lane] += 1;
            number[lane].push(step);
            before.push(needs);
            slots.push(slot);
        }
        let mut wanted = vec![false; trail.len()];
        for (lane, steps) in self.lanes.iter().zip(&number) {
            steps[..lane.required.min(steps.len())]
                .iter()
                .for_each(|&step| wanted[step] = true);
        }
        for step in (0..trail.len()).rev() {
            if wanted[step] {
                before[step]
                    .iter()
                    .for_each(|&needed| wanted[needed] = true);
            }
        }
        // Strands come in the order of their accesses.
        let first = |lane: usize| {
            number[lane]
                .iter()
                .position(|&step| is_access(slots[step].event.op))
                .map(|i| number[lane][i])
        };
        let mut lanes: Vec<usize> = (0..self.lanes.len()).collect();
        lanes.sort_by_key(|&lane| first(lane).unwrap_or(usize::MAX));
        let mut done = vec![false; trail.len()];
        let mut next = vec![0; self.lanes.len()];
        let mut tidy = Vec::new();
        while let Some(&lane) = lanes.iter().find(|&&lane| {
            number[lane]
                .get(next[lane])
                .is_some_and(|&step| wanted[step] && before[step].iter().all(|&s| done[s]))
        }) {
            while let Some(&step) = number[lane].get(next[lane])
                && wanted[step]
                && before[step].iter().all(|&s| done[s])
            {
                done[step] = true;
                next[lane] += 1;
                tidy.push(lane);
            }
        }
        tidy
    }

    fn events(&self, trail: &[usize]) -> Vec<(Event, u64)> {
        let mut next = vec![0; self.lanes.len()];
        let event = |&lane: &usize| {
            let slot = &self.lanes[lane].items[next[lane]];
            next[lane] += 1;
            (slot.event, slot.position)
        };
        trail.iter().map(event).collect()
    }

    fn schedule(&self, trail: &[usize]) -> Vec<Run> {
        let mut runs = self.base.clone();
        for (event, position) in self.events(trail) {
            extend(&mut runs, event, position);
        }
        runs
    }
}

impl Strand {
    /// The first free point that is not before a step.
    fn next_free(&self, index: usize) -> usize {
        let at = self.free.partition_point(|&free| free < index);
        self.free.get(at).copied().unwrap_or(self.steps.len())
    }

    /// The last free point that is not after a step.
    fn last_free(&self, index: usize) -> usize {
        if index == self.steps.len() && self.holds == 0 && !self.open {
            return index;
        }
        let at = self.free.partition_point(|&free| free <= index);
        if at == 0 { 0 } else { self.free[at - 1] }
    }
}

fn changes_lock(op: Op) -> bool {
    matches!(
        op,
        Op::Acquire
            | Op::Release
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::Upgrade
            | Op::Downgrade
    )
}

/// Adds a step to a schedule.
fn extend(runs: &mut Vec<Run>, event: Event, to: u64) {
    if event.op == Op::Join {
        // The other strand has come to its end, wherever its last event was.
        match runs.iter_mut().rfind(|run| run.strand == event.other()) {
            Some(run) => run.to = run.to.max(to - 1),
            None => runs.push(Run {
                strand: event.other(),
                to: to - 1,
            }),
        }
    }
    match runs.last_mut() {
        Some(run) if run.strand == event.strand => run.to = to,
        _ => runs.push(Run {
            strand: event.strand,
            to,
        }),
    }
}

/// The base in the recorded order.
fn base_runs(log: &Log, base: &[usize]) -> Vec<Run> {
    let mut steps: Vec<(u64, Event)> = Vec::new();
    for (strand, &end) in log.strands.iter().zip(base) {
        steps.extend(
            strand.steps[..end]
                .iter()
                .map(|&(event, position)| (position, event)),
        );
    }
    steps.sort_unstable_by_key(|&(position, _)| position);
    let mut runs = Vec::new();
    for (position, event) in steps {
        extend(&mut runs, event, position);
    }
    runs
}

/// Does a step take something away from others?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An acquire.
    Choice,
    /// Anything else.
    Plain,
}

/// How far the lanes have come.
#[derive(Debug)]
struct State {
    next: Vec<usize>,
    /// The holders of each lock: lane, shared.
    locks: Map<ObjectId, Vec<(usize, bool)>>,
    /// The lanes in the order in which they stepped.
    trail: Vec<usize>,
}

impl State {
    fn done(&self, lanes: &[Lane]) -> bool {
        lanes
            .iter()
            .zip(&self.next)
            .all(|(lane, &next)| next >= lane.required)
    }

    fn free(&self, lane: usize, slot: &Slot) -> bool {
        let holders = self
            .locks
            .get(&slot.event.object())
            .map_or(&[][..], |holders| holders);
        match slot.event.op {
            Op::Acquire | Op::Upgrade => holders.iter().all(|&(holder, _)| holder == lane),
            Op::AcquireShared => holders
                .iter()
                .all(|&(holder, shared)| shared || holder == lane),
            _ => true,
        }
    }

    /// What the lane's next step is, if it is possible now.
    fn ready(&self, lane: usize, lanes: &[Lane]) -> Option<Kind> {
        let slot = lanes[lane].items.get(self.next[lane])?;
        let waits = slot
            .needs
            .iter()
            .any(|&(other, count)| self.next[other] < count);
        if waits || !self.free(lane, slot) {
            return None;
        }
        match slot.event.op {
            Op::Acquire | Op::AcquireShared | Op::Upgrade => Some(Kind::Choice),
            _ => Some(Kind::Plain),
        }
    }

    /// Takes every step that takes nothing away from anybody.
    fn run(&mut self, lanes: &[Lane]) {
        loop {
            let before = self.trail.len();
            for lane in 0..lanes.len() {
                while self.ready(lane, lanes) == Some(Kind::Plain) {
                    self.take(lane, lanes);
                }
            }
            if self.trail.len() == before {
                return;
            }
        }
    }

    fn possible(&self, lanes: &[Lane]) -> Vec<usize> {
        (0..lanes.len())
            .filter(|&lane| self.ready(lane, lanes).is_some())
            .collect()
    }

    fn take(&mut self, lane: usize, lanes: &[Lane]) {
        let slot = &lanes[lane].items[self.next[lane]];
        self.next[lane] += 1;
        self.trail.push(lane);
        self.apply(lane, slot.event.op, slot.event.object());
    }

    fn apply(&mut self, lane: usize, op: Op, lock: ObjectId) {
        match op {
            Op::Acquire => self.locks.entry(lock).or_default().push((lane, false)),
            Op::AcquireShared => self.locks.entry(lock).or_default().push((lane, true)),
            Op::Release | Op::ReleaseShared => {
                let holders = self.locks.entry(lock).or_default();
                if let Some(at) = holders.iter().rposition(|&(holder, _)| holder == lane) {
                    holders.remove(at);
                }
            }
            Op::Upgrade | Op::Downgrade => {
                let holders = self.locks.entry(lock).or_default();
                if let Some(holder) = holders.iter_mut().rfind(|(holder, _)| *holder == lane) {
                    holder.1 = op == Op::Downgrade;
                }
            }
            _ => {}
        }
    }

    /// Takes the last steps back.
    fn undo(&mut self, length: usize, lanes: &[Lane]) {
        while self.trail.len() > length {
            let lane = self.trail.pop().expect("longer than the length");
            self.next[lane] -= 1;
            let slot = &lanes[lane].items[self.next[lane]];
            let back = match slot.event.op {
                Op::Acquire | Op::AcquireShared => Op::Release,
                Op::Release => Op::Acquire,
                Op::ReleaseShared => Op::AcquireShared,
                Op::Upgrade => Op::Downgrade,
                Op::Downgrade => Op::Upgrade,
                _ => continue,
            };
            self.apply(lane, back, slot.event.object());
        }
    }
}
