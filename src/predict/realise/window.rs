//! The part of a schedule that is searched.

use super::state::State;
use super::{Answer, Goal, Needs, Point};
use crate::predict::{Run, changes_lock, is_access};
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::FxHashMap;

/// One strand's part of a window.
#[derive(Debug)]
pub(super) struct Lane {
    strand: StrandId,
    pub(super) items: Vec<Slot>,
    /// So many of them must run. The others, up to the strand's next free point, may: to give back
    /// a lock, for example.
    pub(super) required: usize,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) event: Event,
    pub(super) position: u64,
    /// The lock that it hands over or receives.
    pub(super) carries: Option<ObjectId>,
    /// Lanes and how many of their items must have run.
    pub(super) needs: Vec<(usize, usize)>,
}

#[derive(Debug)]
pub(super) struct Window {
    /// By strand.
    base: Vec<u64>,
    lanes: Vec<Lane>,
}

/// A schedule, and the order in which its window has the events.
type Schedule = (Vec<Run>, Vec<u64>);

/// A window with more steps is not searched.
pub(super) const LONGEST: usize = 20_000;

impl Window {
    /// The window of a goal, if it is not too long.
    pub(super) fn new(needs: &Needs<'_>, goal: &Goal) -> Option<Window> {
        let mut points: Vec<Point> = goal.pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        points.sort_unstable_by_key(|point| point.position);
        points.dedup_by_key(|point| point.position);
        let stop = reach(needs, &points, &goal.ends);
        let base = base(needs, &points, &stop);
        let strands = || (0..).map(StrandId).zip(base.iter().zip(&stop));
        let limits = strands()
            .map(|(strand, (&base, &stop))| needs.skeleton.next_free(strand, stop).max(base));
        let limits: Vec<u64> = limits.collect();
        let accesses = points.iter().map(|point| (point.event, point.position));
        let mut marks: Vec<(Event, u64)> = accesses.collect();
        marks.extend(self::marks(needs, &base, &limits));
        let mut lanes: Vec<Lane> = Vec::new();
        let mut count = 0;
        for ((strand, (&base, &stop)), &limit) in strands().zip(&limits) {
            let lane = Lane::new(needs, strand, (base, stop, limit), &marks);
            count += lane.items.len();
            if count > LONGEST {
                return None;
            }
            lanes.extend((!lane.items.is_empty()).then_some(lane));
        }
        let mut window = Window { base, lanes };
        for (slot, need) in window.needs(needs, &limits) {
            window.lanes[slot.0].items[slot.1].needs.push(need);
        }
        for (a, b) in &goal.pairs {
            let (lane, first) = window.find(a)?;
            let then = window.find(b)?;
            let needs = &mut window.lanes[then.0].items[then.1].needs;
            needs.push((lane, first + 1));
        }
        Some(window)
    }

    fn lane(&self, strand: StrandId) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.strand == strand)
    }

    /// The lane and the item of a point.
    fn find(&self, point: &Point) -> Option<(usize, usize)> {
        let lane = self.lane(point.event.strand)?;
        let items = &self.lanes[lane].items;
        let first = items.partition_point(|slot| slot.position < point.position);
        let here = items[first..].iter();
        let mut here = here.take_while(|slot| slot.position == point.position);
        let at = here.position(|slot| is_access(slot.event.op))?;
        Some((lane, first + at))
    }

    /// Which items wait for how many of which lane's items, by order and forks.
    fn needs(&self, order: &Needs<'_>, limits: &[u64]) -> Vec<((usize, usize), (usize, usize))> {
        let (skeleton, base) = (order.skeleton, &self.base);
        let mut needs = Vec::new();
        for (number, lane) in self.lanes.iter().enumerate() {
            let mut wait = |item: usize, other: StrandId, position: u64| {
                let (base, limit) = (of(base, other), of(limits, other));
                if skeleton.has_steps(other, base.max(limit), position) {
                    // Never: only an item that need not run can wait for what is in no lane.
                    needs.push(((number, item), (number, usize::MAX)));
                }
                if let Some(first) = self.lane(other) {
                    let items = &self.lanes[first].items;
                    let count = items.partition_point(|slot| slot.position <= position);
                    needs.extend((count > 0).then_some(((number, item), (first, count))));
                }
            };
            // The first item may be an access, which waits for the fork as any first step does.
            let forked = skeleton.forked(lane.strand);
            let is_ahead = |&(parent, fork): &(StrandId, u64)| base[parent.0 as usize] < fork;
            if let Some((parent, fork)) = forked.filter(is_ahead) {
                wait(0, parent, fork);
            }
            let at = lane.strand.0 as usize;
            let range = (base[at], limits[at]);
            order.waits(lane.strand, range, |event, other, position| {
                let item = lane.items.partition_point(|slot| slot.position < event);
                wait(item, other, position);
            });
        }
        needs
    }

    /// The answer, and what it took to find it.
    pub(super) fn search(
        &self,
        needs: &Needs<'_>,
        bound: usize,
    ) -> (Result<Schedule, Answer>, usize) {
        let mut state = State::new(&self.lanes);
        let found = match state.search(bound) {
            Ok(()) => {
                let events = self.events(&self.tidy(state.trail()));
                let order = events.iter().map(|&(_, position)| position).collect();
                let mut runs = base_runs(needs, &self.base);
                for &(event, position) in &events {
                    extend(&mut runs, event, position);
                }
                Ok((runs, order))
            }
            Err(answer) => Err(answer),
        };
        let steps = match found {
            Ok(_) => 4 * needs.skeleton.len(),
            Err(_) => needs.skeleton.len() / 4,
        };
        let items: usize = self.lanes.iter().map(|lane| lane.items.len()).sum();
        (found, steps + items + state.failures() * self.lanes.len())
    }

    /// The same schedule with fewer changes from strand to strand, and without the steps that
    /// nothing needs. Program order, needs and the order in which locks went from hand to hand are
    /// kept, so it is as valid as the other.
    fn tidy(&self, trail: &[usize]) -> Vec<usize> {
        let Dependencies { before, steps } = Dependencies::of(&self.lanes, trail);
        let mut is_wanted = vec![false; trail.len()];
        for (lane, steps) in self.lanes.iter().zip(&steps) {
            for &step in &steps[..lane.required.min(steps.len())] {
                is_wanted[step] = true;
            }
        }
        for step in (0..trail.len()).rev() {
            if is_wanted[step] {
                let needed = before[step].iter();
                needed.for_each(|&step| is_wanted[step] = true);
            }
        }
        // Strands come in the order of their accesses.
        let first = |lane: usize| {
            let mut items = self.lanes[lane].items.iter().zip(&steps[lane]);
            let access = items.find(|(slot, _)| is_access(slot.event.op));
            access.map_or(usize::MAX, |(_, &step)| step)
        };
        let mut lanes: Vec<usize> = (0..self.lanes.len()).collect();
        lanes.sort_by_key(|&lane| first(lane));
        let mut is_done = vec![false; trail.len()];
        let mut next = vec![0; self.lanes.len()];
        let mut tidy = Vec::new();
        loop {
            let ready = |lane: usize, next: &[usize], is_done: &[bool]| {
                let step = *steps[lane].get(next[lane])?;
                let is_ready = is_wanted[step] && before[step].iter().all(|&s| is_done[s]);
                is_ready.then_some(step)
            };
            let mut lanes = lanes.iter().copied();
            let Some(lane) = lanes.find(|&lane| ready(lane, &next, &is_done).is_some()) else {
                return tidy;
            };
            while let Some(step) = ready(lane, &next, &is_done) {
                is_done[step] = true;
                next[lane] += 1;
                tidy.push(lane);
            }
        }
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
}

impl Lane {
    /// What a strand does from the base to the limit, with its marks.
    fn new(
        needs: &Needs<'_>,
        strand: StrandId,
        (base, stop, limit): (u64, u64, u64),
        marks: &[(Event, u64)],
    ) -> Lane {
        let skeleton = needs.skeleton;
        let steps = skeleton.steps(strand, base, limit).take(LONGEST + 1);
        let own = marks.iter().filter(|(mark, _)| mark.strand == strand);
        let slot = |(event, position)| Slot {
            event,
            position,
            carries: skeleton.carried(event),
            needs: Vec::new(),
        };
        let mut items: Vec<Slot> = steps.chain(own.copied()).map(slot).collect();
        // A mark at a point says nothing new.
        let is_mark = |slot: &Slot| slot.event.op == Op::Value;
        items.sort_by_key(|slot| (slot.position, skeleton.rank(slot.event), is_mark(slot)));
        items.dedup_by(|mark, slot| mark.position == slot.position && is_mark(mark));
        let required = items.partition_point(|slot| slot.position <= stop);
        Lane {
            strand,
            items,
            required,
        }
    }
}

/// What depends on what in a trail.
struct Dependencies {
    /// For each step of the trail, those that come right before it.
    before: Vec<Vec<usize>>,
    /// Each lane's steps.
    steps: Vec<Vec<usize>>,
}

impl Dependencies {
    fn of(lanes: &[Lane], trail: &[usize]) -> Dependencies {
        let mut steps: Vec<Vec<usize>> = lanes.iter().map(|_| Vec::new()).collect();
        let mut before: Vec<Vec<usize>> = Vec::new();
        // Of each lock the last step that excludes, and those since then that share.
        let mut locks: FxHashMap<ObjectId, (Option<usize>, Vec<usize>)> = FxHashMap::default();
        for (step, &lane) in trail.iter().enumerate() {
            let slot = &lanes[lane].items[steps[lane].len()];
            let needs = slot.needs.iter();
            let mut needs: Vec<usize> = needs
                .map(|&(other, count)| steps[other][count - 1])
                .collect();
            needs.extend(steps[lane].last());
            if changes_lock(slot.event.op) {
                let (excluding, sharing) = locks.entry(slot.event.object()).or_default();
                needs.extend(*excluding);
                if matches!(slot.event.op, Op::AcquireShared | Op::ReleaseShared) {
                    sharing.push(step);
                } else {
                    needs.append(sharing);
                    *excluding = Some(step);
                }
            }
            steps[lane].push(step);
            before.push(needs);
        }
        Dependencies { before, steps }
    }
}

/// How far each strand must come, for these points and ends and for what they wait for.
fn reach(needs: &Needs<'_>, points: &[Point], ends: &[(StrandId, u64)]) -> Vec<u64> {
    let skeleton = needs.skeleton;
    let points = points.iter();
    let points = points.map(|point| (point.event.strand, point.position));
    let mut work: Vec<(StrandId, u64)> = points.chain(ends.iter().copied()).collect();
    let mut reached = vec![0; skeleton.strands()];
    while let Some((strand, end)) = work.pop() {
        // Who only accesses has no place in the skeleton.
        reached.resize(reached.len().max(strand.0 as usize + 1), 0);
        let from = reached[strand.0 as usize];
        if from >= end {
            continue;
        }
        if from == 0 {
            work.extend(skeleton.forked(strand));
        }
        reached[strand.0 as usize] = end;
        needs.waits(strand, (from, end), |_, other, position| {
            work.push((other, position));
        });
        // What is handed over has to arrive, so that the schedule does not end in a deadlock.
        skeleton.hand_overs(strand, (from, end), |_, other, arrival| {
            work.push((other, arrival));
        });
    }
    reached
}

/// How far a strand comes. One that only accesses is not in the table, unless something has to wait
/// for it: it does not run.
fn of(table: &[u64], strand: StrandId) -> u64 {
    table.get(strand.0 as usize).copied().unwrap_or(0)
}

/// The reads of a window that come after a write of another strand, and these writes.
fn marks(needs: &Needs<'_>, base: &[u64], limits: &[u64]) -> Vec<(Event, u64)> {
    let mut marks = Vec::new();
    for (strand, (&from, &to)) in (0..).map(StrandId).zip(base.iter().zip(limits)) {
        needs.sources(strand, (from, to), |read, writer, write| {
            marks.push((mark(strand), read));
            if of(base, writer) < write && write <= of(limits, writer) {
                marks.push((mark(writer), write));
            }
        });
    }
    marks
}

/// How far each strand runs in the recorded order, before anything is chosen.
fn base(needs: &Needs<'_>, points: &[Point], stop: &[u64]) -> Vec<u64> {
    let skeleton = needs.skeleton;
    let mut base = stop.to_vec();
    for point in points {
        let own = &mut base[point.event.strand.0 as usize];
        *own = (*own).min(point.begin.min(point.position - 1));
    }
    for (strand, base) in (0..).map(StrandId).zip(&mut base) {
        *base = skeleton.last_free(strand, *base);
    }
    // The base must be closed: what a strand's base waits for is in the base.
    loop {
        let mut changed = false;
        for (strand, at) in (0..).map(StrandId).zip(0..base.len()) {
            let forked = skeleton.forked(strand).filter(|_| base[at] > 0);
            if forked.is_some_and(|(parent, fork)| base[parent.0 as usize] < fork) {
                base[at] = 0;
                changed = true;
            }
            if let Some(event) = first_open(needs, points, &base, strand) {
                base[at] = skeleton.last_free(strand, event - 1);
                changed = true;
            }
        }
        if !changed {
            return base;
        }
    }
}

/// The first event of a strand's base that waits for something that is not in the base, or hands a
/// lock over that does not arrive there.
fn first_open(needs: &Needs<'_>, points: &[Point], base: &[u64], strand: StrandId) -> Option<u64> {
    let own = (0, base[strand.0 as usize]);
    let mut open = Vec::new();
    needs.skeleton.waits(strand, own, |event, other, position| {
        let reached = of(base, other);
        let is_missed = |point: &Point| {
            let at = point.position;
            point.event.strand == other && reached < at && at <= position
        };
        let has_steps = needs.skeleton.has_steps(other, reached, position);
        open.extend((has_steps || points.iter().any(is_missed)).then_some(event));
    });
    let mut reach = |event, other: StrandId, position| {
        open.extend((of(base, other) < position).then_some(event));
    };
    needs.skeleton.hand_overs(strand, own, &mut reach);
    needs.sources(strand, own, &mut reach);
    open.into_iter().min()
}

/// Adds a step to a schedule.
fn extend(runs: &mut Vec<Run>, event: Event, to: u64) {
    if event.op == Op::Join {
        // The other strand has come to its end, wherever its last event was.
        match runs.iter_mut().rfind(|run| run.strand == event.other()) {
            Some(run) => run.to = run.to.max(to - 1),
            None => runs.push(Run::new(event.other(), to - 1)),
        }
    }
    match runs.last_mut() {
        Some(run) if run.strand == event.strand => run.to = to,
        _ => runs.push(Run::new(event.strand, to)),
    }
}

/// The base in the recorded order; of accesses, too, where reads count.
fn base_runs(needs: &Needs<'_>, base: &[u64]) -> Vec<Run> {
    let mut steps: Vec<(Event, u64)> = Vec::new();
    for (strand, &end) in (0..).map(StrandId).zip(base) {
        steps.extend(needs.skeleton.steps(strand, 0, end));
        if let Some(reads) = needs.reads {
            let positions = reads.positions(strand, end, needs.contents);
            steps.extend(positions.map(|at| (mark(strand), at)));
        }
    }
    steps.sort_by_key(|&(_, position)| position);
    let mut runs = Vec::new();
    for (event, position) in steps {
        extend(&mut runs, event, position);
    }
    runs
}

/// An access that only has a place.
fn mark(strand: StrandId) -> Event {
    Event {
        strand,
        target: 0,
        site: SiteId::NONE,
        op: Op::Value,
    }
}
