//! Schedules: a way for the strands to run that puts given accesses into a given order.
//!
//! This is the one answer to "is it feasible?": [`Realiser::settle`] looks for a schedule of a
//! prediction, replays it and asks whether its reads can be believed.
//!
//! The [`Skeleton`] has what can make a strand wait (locks, messages, forks and the like) and where
//! its transactions begin and end, but no accesses. From it a schedule is made in two parts. The
//! *base* runs every strand that matters to the last point before the transactions in question at
//! which it is in no transaction and holds no lock, in the recorded order; leaving out whole
//! critical sections from a valid order leaves a valid order. The *window* is what is left, and is
//! searched: of the possible steps only the acquires need a choice, because every other step, once
//! it is possible, takes nothing away from anybody. So the search sees one state for each
//! combination of acquires, remembers the states that failed, and is complete for the window unless
//! it hits its bound.
//!
//! Where the schedule that is found has a read that sees something else, another is looked for in
//! which every read comes after the write that it saw.

use super::reads::{Belief, Reads, last_accesses};
use super::{Context, Prediction, Run, Skeleton, Step, Tier, changes_lock, is_access, replay};
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is a schedule, and it can be believed.
    Predicted,
    /// There is a schedule in which a read sees another value than it did, or may do so.
    Doubtful,
    /// There is none.
    Impossible,
    /// The search was given up.
    Bound,
    /// The trace has more lock and order events than the skeleton has room for.
    Window,
}

/// Finds the schedules of predictions, within bounds.
pub(super) struct Realiser<'a> {
    now: &'a Context,
    /// So many schedules may yet be looked for.
    schedules: u64,
    /// So many interleavings are tried for one.
    states: usize,
    /// So many steps may yet be looked at, for all schedules together.
    work: usize,
}

impl<'a> Realiser<'a> {
    pub(super) fn new(now: &'a Context, schedules: u64, states: usize) -> Realiser<'a> {
        Realiser {
            now,
            schedules,
            states,
            work: WORK + 16 * now.skeleton.len(),
        }
    }

    /// Whether there was more to look for than the bound allows.
    pub(super) fn is_exhausted(&self) -> bool {
        self.schedules == 0 || self.work == 0
    }

    /// Looks for a schedule in which the first access of each pair comes before the second and each
    /// of these strands comes to the position; enters what it finds into the prediction.
    pub(super) fn settle(
        &mut self,
        prediction: &mut Prediction,
        pairs: &[(Point, Point)],
        ends: &[(StrandId, u64)],
    ) -> Answer {
        let answer = self.answer(prediction, pairs, ends);
        let (tier, note) = match answer {
            Answer::Predicted => (Tier::Predicted, None),
            Answer::Doubtful => (Tier::Hint, None),
            Answer::Impossible => return answer,
            Answer::Bound => (Tier::Potential, Some(GIVEN_UP)),
            Answer::Window => (Tier::Potential, Some(OVERFLOWN)),
        };
        // What was not looked at cannot be believed where values count.
        let is_blind = tier == Tier::Potential && self.now.reads.is_on();
        prediction.tier = if is_blind { Tier::Hint } else { tier };
        prediction.notes.extend(note.map(str::to_owned));
        answer
    }

    fn answer(
        &mut self,
        prediction: &mut Prediction,
        pairs: &[(Point, Point)],
        ends: &[(StrandId, u64)],
    ) -> Answer {
        let Context {
            skeleton, reads, ..
        } = self.now;
        if skeleton.is_overflown() {
            return Answer::Window;
        }
        let mut doubtful = None;
        for reads in [None, reads.is_on().then_some(reads)] {
            if doubtful.is_some() && reads.is_none() {
                break;
            }
            if self.is_exhausted() {
                return doubtful.map_or(Answer::Bound, |_| Answer::Doubtful);
            }
            self.schedules -= 1;
            let last = last_accesses(prediction);
            let needs = Needs {
                skeleton,
                reads,
                last: &last,
            };
            let (found, work) = realise(&needs, pairs, ends, self.states);
            self.work = self.work.saturating_sub(work);
            let (schedule, order) = match (found, doubtful) {
                (Realised::Yes(schedule, order), _) => (schedule, order),
                (_, Some(_)) => break,
                (Realised::No, None) => return Answer::Impossible,
                (Realised::Unknown, None) => return Answer::Bound,
            };
            let mut shown = prediction.clone();
            shown.schedule = schedule;
            let place = |step: &Step| order.iter().position(|&at| at == step.access.position);
            shown.accesses.sort_by_key(place);
            if !replay::violates(&shown, skeleton) {
                return doubtful.map_or(Answer::Bound, |_| Answer::Doubtful);
            }
            let belief = self.now.reads.judge(&shown);
            if belief == Belief::Believable || doubtful.is_none() {
                *prediction = shown;
            }
            match belief {
                Belief::Believable => return Answer::Predicted,
                Belief::Doubtful(at) => doubtful = doubtful.or(Some(Some(at))),
                Belief::Unknown => doubtful = doubtful.or(Some(None)),
            }
        }
        prediction.notes.push(match doubtful.flatten() {
            Some(at) => format!(
                "event {at} would see another value than on this run, and its thread may do something else"
            ),
            None => "not checked: whether its reads would see the same values".to_owned(),
        });
        Answer::Doubtful
    }
}

/// What the steps of schedules may be in all, beside a share for each event of the trace.
const WORK: usize = 8 << 20;
const GIVEN_UP: &str =
    "no schedule was looked for, or none found within the bound: locks and order allow it";
const OVERFLOWN: &str = "schedule not checked: window too small";

/// What a strand has to wait for.
struct Needs<'a> {
    skeleton: &'a Skeleton,
    /// Where reads come after the writes that they saw.
    reads: Option<&'a Reads>,
    /// By strand: its last access that counts.
    last: &'a FxHashMap<StrandId, u64>,
}

impl Needs<'_> {
    /// What a strand's reads between two positions, the later one included, have to come after.
    fn sources(&self, strand: StrandId, range: (u64, u64), need: impl FnMut(u64, StrandId, u64)) {
        if let Some(reads) = self.reads {
            let last = self.last.get(&strand).copied().unwrap_or(u64::MAX);
            reads.sources(strand, range, last, need);
        }
    }
}

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
enum Realised {
    /// A schedule, and the order in which its window has the events.
    Yes(Vec<Run>, Vec<u64>),
    /// There is none in the window.
    No,
    /// The bound was hit.
    Unknown,
}

/// Looks for a schedule in which the first point of each pair comes before the second, and in which
/// each of these strands comes to the position.
fn realise(
    needs: &Needs<'_>,
    pairs: &[(Point, Point)],
    ends: &[(StrandId, u64)],
    bound: usize,
) -> (Realised, usize) {
    match Window::new(needs, pairs, ends) {
        Some(window) => {
            let (found, states) = window.search(needs, bound);
            let steps = match found {
                Realised::Yes(..) => 4 * needs.skeleton.len(),
                _ => needs.skeleton.len() / 4,
            };
            let items = window.lanes.iter().map(|lane| lane.items.len());
            (
                found,
                steps + items.sum::<usize>() + states * window.lanes.len(),
            )
        }
        None => (Realised::Unknown, LONGEST),
    }
}

/// One strand's part of a window.
#[derive(Debug)]
struct Lane {
    strand: StrandId,
    items: Vec<Slot>,
    /// So many of them must run. The others, up to the strand's next free point, may: to give back
    /// a lock, for example.
    required: usize,
}

#[derive(Debug)]
struct Slot {
    event: Event,
    position: u64,
    /// The lock that it hands over or receives.
    carries: Option<ObjectId>,
    /// Lanes and how many of their items must have run.
    needs: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Window {
    /// By strand.
    base: Vec<u64>,
    lanes: Vec<Lane>,
}

/// A window with more steps is not searched.
const LONGEST: usize = 20_000;

impl Window {
    fn new(
        needs: &Needs<'_>,
        pairs: &[(Point, Point)],
        ends: &[(StrandId, u64)],
    ) -> Option<Window> {
        let skeleton = needs.skeleton;
        let mut points: Vec<Point> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        points.sort_unstable_by_key(|point| point.position);
        points.dedup_by_key(|point| point.position);
        let stop = reach(needs, &points, ends);
        let base = base(needs, &points, &stop);
        let limits = (0..).map(StrandId).zip(base.iter().zip(&stop));
        let limits =
            limits.map(|(strand, (&base, &stop))| skeleton.next_free(strand, stop).max(base));
        let limits: Vec<u64> = limits.collect();
        let marks = marks(needs, &base, &limits);
        let mut lanes: Vec<Lane> = Vec::new();
        let mut count = 0;
        for (strand, ((&base, &stop), &limit)) in
            (0..).map(StrandId).zip(base.iter().zip(&stop).zip(&limits))
        {
            let own = points
                .iter()
                .filter(|point| point.event.strand == strand)
                .map(|point| (point.event, point.position));
            let slot = |(event, position)| Slot {
                event,
                position,
                carries: skeleton.carried(event),
                needs: Vec::new(),
            };
            let mut items: Vec<Slot> = skeleton
                .steps(strand, base, limit)
                .take(LONGEST + 1)
                .chain(own)
                .chain(
                    marks
                        .iter()
                        .copied()
                        .filter(|(mark, _)| mark.strand == strand),
                )
                .map(slot)
                .collect();
            count += items.len();
            if count > LONGEST {
                return None;
            }
            // A mark at a point says nothing new.
            let is_mark = |slot: &Slot| slot.event.op == Op::Value;
            items.sort_by_key(|slot| (slot.position, skeleton.rank(slot.event), is_mark(slot)));
            items.dedup_by(|mark, slot| mark.position == slot.position && is_mark(mark));
            let required = items.partition_point(|slot| slot.position <= stop);
            if !items.is_empty() {
                lanes.push(Lane {
                    strand,
                    items,
                    required,
                });
            }
        }
        let mut window = Window { base, lanes };
        for (slot, need) in window.needs(needs, &limits) {
            window.lanes[slot.0].items[slot.1].needs.push(need);
        }
        for (a, b) in pairs {
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
            let at = lane.strand.0 as usize;
            let mut wait = |item: usize, other: StrandId, position: u64| {
                let (base, limit) = (base[other.0 as usize], limits[other.0 as usize]);
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
            if let Some((parent, fork)) = skeleton.forked(lane.strand)
                && base[parent.0 as usize] < fork
            {
                wait(0, parent, fork);
            }
            skeleton.waits(
                lane.strand,
                base[at],
                limits[at],
                |event, other, position| {
                    let item = lane.items.partition_point(|slot| slot.position < event);
                    wait(item, other, position);
                },
            );
            order.sources(
                lane.strand,
                (base[at], limits[at]),
                |event, other, position| {
                    let item = lane.items.partition_point(|slot| slot.position < event);
                    wait(item, other, position);
                },
            );
        }
        needs
    }

    /// The answer, and how many states it took.
    fn search(&self, needs: &Needs<'_>, bound: usize) -> (Realised, usize) {
        let mut state = State {
            next: vec![0; self.lanes.len()],
            locks: FxHashMap::default(),
            trail: Vec::new(),
        };
        let mut failed: FxHashSet<Vec<usize>> = FxHashSet::default();
        // Where each choice was made: the length of the trail before it, and the lanes not tried
        // yet.
        let mut choices: Vec<(usize, Vec<usize>)> = Vec::new();
        loop {
            state.run(&self.lanes);
            if state.done(&self.lanes) {
                let trail = self.tidy(&state.trail);
                let events = self.events(&trail);
                let order = events.iter().map(|&(_, position)| position).collect();
                let schedule = self.schedule(needs, &events);
                return (Realised::Yes(schedule, order), failed.len());
            }
            if failed.len() > bound {
                return (Realised::Unknown, failed.len());
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
                    return (Realised::No, failed.len());
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

    /// The same schedule with fewer changes from strand to strand, and without the steps that
    /// nothing needs. Program order, needs and the order in which locks went from hand to hand are
    /// kept, so it is as valid as the other.
    fn tidy(&self, trail: &[usize]) -> Vec<usize> {
        // For each step of the trail, the steps that come right before it.
        let mut at = vec![0; self.lanes.len()];
        let mut number: Vec<Vec<usize>> = self.lanes.iter().map(|_| Vec::new()).collect();
        let mut before: Vec<Vec<usize>> = Vec::new();
        let mut locks: FxHashMap<ObjectId, (Option<usize>, Vec<usize>)> = FxHashMap::default();
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
                // The last step that excludes, and those since then that share.
                let (excluding, sharing) = locks.entry(slot.event.object()).or_default();
                needs.extend(*excluding);
                if matches!(slot.event.op, Op::AcquireShared | Op::ReleaseShared) {
                    sharing.push(step);
                } else {
                    needs.append(sharing);
                    *excluding = Some(step);
                }
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

    fn schedule(&self, needs: &Needs<'_>, events: &[(Event, u64)]) -> Vec<Run> {
        let mut runs = base_runs(needs, &self.base);
        for &(event, position) in events {
            extend(&mut runs, event, position);
        }
        runs
    }
}

/// How far each strand must come, for these points and ends and for what they wait for.
fn reach(needs: &Needs<'_>, points: &[Point], ends: &[(StrandId, u64)]) -> Vec<u64> {
    let skeleton = needs.skeleton;
    let points = points
        .iter()
        .map(|point| (point.event.strand, point.position));
    let mut work: Vec<(StrandId, u64)> = points.chain(ends.iter().copied()).collect();
    let strands = work.iter().map(|&(strand, _)| strand.0 as usize + 1);
    let mut reached = vec![0; strands.max().unwrap_or(0).max(skeleton.strands())];
    while let Some((strand, end)) = work.pop() {
        let from = reached[strand.0 as usize];
        if from >= end {
            continue;
        }
        if from == 0 {
            work.extend(skeleton.forked(strand));
        }
        reached[strand.0 as usize] = end;
        skeleton.waits(strand, from, end, |_, other, position| {
            work.push((other, position));
        });
        // What is handed over has to arrive, so that the schedule does not end in a deadlock.
        skeleton.hand_overs(strand, (from, end), |_, other, arrival| {
            work.push((other, arrival));
        });
        needs.sources(strand, (from, end), |_, other, position| {
            work.push((other, position));
        });
    }
    reached
}

/// The reads of a window that come after a write of another strand, and these writes.
fn marks(needs: &Needs<'_>, base: &[u64], limits: &[u64]) -> Vec<(Event, u64)> {
    let mut marks = Vec::new();
    for (strand, (&from, &to)) in (0..).map(StrandId).zip(base.iter().zip(limits)) {
        needs.sources(strand, (from, to), |read, writer, write| {
            marks.push((mark(strand), read));
            let at = writer.0 as usize;
            if base[at] < write && write <= limits[at] {
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
        let before = if point.begin < point.position {
            point.begin
        } else {
            point.position - 1
        };
        *own = (*own).min(before);
    }
    for (strand, base) in (0..).map(StrandId).zip(&mut base) {
        *base = skeleton.last_free(strand, *base);
    }
    // The base must be closed: what a strand's base waits for is in the base.
    loop {
        let mut changed = false;
        for at in 0..base.len() {
            let strand = StrandId(at as u32);
            if let Some((parent, fork)) = skeleton.forked(strand)
                && base[at] > 0
                && base[parent.0 as usize] < fork
            {
                base[at] = 0;
                changed = true;
            }
            let mut open = None;
            skeleton.waits(strand, 0, base[at], |event, other, position| {
                let reached = base[other.0 as usize];
                let misses = |point: &Point| {
                    let at = point.position;
                    point.event.strand == other && reached < at && at <= position
                };
                if open.is_none()
                    && (skeleton.has_steps(other, reached, position) || points.iter().any(misses))
                {
                    open = Some(event);
                }
            });
            // No lock is on its way at the end of the base.
            skeleton.hand_overs(strand, (0, base[at]), |event, other, arrival| {
                if base[other.0 as usize] < arrival && open.is_none_or(|open| event < open) {
                    open = Some(event);
                }
            });
            needs.sources(strand, (0, base[at]), |event, other, position| {
                if base[other.0 as usize] < position && open.is_none_or(|open| event < open) {
                    open = Some(event);
                }
            });
            if let Some(event) = open {
                base[at] = skeleton.last_free(strand, event - 1);
                changed = true;
            }
        }
        if !changed {
            return base;
        }
    }
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

/// The base in the recorded order; of accesses, too, where reads count.
fn base_runs(needs: &Needs<'_>, base: &[u64]) -> Vec<Run> {
    let mut steps: Vec<(Event, u64)> = Vec::new();
    for (strand, &end) in (0..).map(StrandId).zip(base) {
        steps.extend(needs.skeleton.steps(strand, 0, end));
        if let Some(reads) = needs.reads {
            steps.extend(reads.positions(strand, end).map(|at| (mark(strand), at)));
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

/// Does a step take something away from others?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An acquire.
    Choice,
    /// Anything else.
    Plain,
}

/// The lane of a lock that is being handed over.
const ON_ITS_WAY: usize = usize::MAX;

/// How far the lanes have come.
#[derive(Debug)]
struct State {
    next: Vec<usize>,
    /// The holders of each lock: lane, shared.
    locks: FxHashMap<ObjectId, Vec<(usize, bool)>>,
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
        if let Some(lock) = slot.carries {
            self.hand_over(lane, slot.event.op, lock);
        }
    }

    /// A lock that a step hands over is nobody's until it is received.
    fn hand_over(&mut self, lane: usize, op: Op, lock: ObjectId) {
        let (from, to) = match op {
            Op::Send => (lane, ON_ITS_WAY),
            _ => (ON_ITS_WAY, lane),
        };
        let holders = self.locks.entry(lock).or_default();
        if let Some(holder) = holders.iter_mut().rfind(|(holder, _)| *holder == from) {
            holder.0 = to;
        }
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
                Op::Send => Op::Recv,
                Op::Recv => Op::Send,
                _ => continue,
            };
            if let Some(lock) = slot.carries {
                self.hand_over(lane, back, lock);
            }
            self.apply(lane, back, slot.event.object());
        }
    }
}
