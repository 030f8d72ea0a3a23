//! The brute-force judge of prediction.
//!
//! It knows nothing of locksets, histories or periods: it plays every schedule that locks, forks,
//! joins, signals and messages allow. The places that schedules lead through (how far each strand
//! has come) are kept, so that each is looked at once; [`Judge::schedules`] lists the schedules
//! themselves, one by one, for traces small enough.

use super::Trace;
use aerodrome::predict::conflict;
use aerodrome::trace::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A sandwich: two accesses of a transaction and the one between them, as positions in the order of
/// the schedule.
pub(crate) type Triple = [u64; 3];

/// What a strand holds, in the order of acquisition: locksets with their acquisition histories.
pub(crate) type LockState = Vec<Held>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    lock: u32,
    shared: bool,
    /// What was taken since, and whether only ever shared.
    since: BTreeMap<u32, bool>,
}

/// A sandwich, and how many events its transaction's strand has done when the one between comes.
pub(crate) type Meeting = (Triple, u8);

/// Plays a trace's schedules. Numbers must not be given twice.
pub(crate) struct Judge {
    /// Each strand's events with their positions.
    strands: Vec<Vec<(u64, Event)>>,
    /// For each strand and number of its events done: what it holds.
    held: Vec<Vec<LockState>>,
    /// Of each event of the trace: its strand, and how many of the strand's events come before.
    found: Vec<(usize, usize)>,
    /// Of each event of the trace: where its transaction begins, if it is in a block.
    transaction: Vec<Option<u64>>,
    /// The messages that hand a lock over.
    carried: Carried,
    trace: Trace,
}

/// By message: the lock that it hands over, and whether that is shared.
pub(crate) type Carried = BTreeMap<u32, (u32, bool)>;

/// A message that hands a lock over is its release and its acquire.
fn lock_event(event: Event, carried: &Carried) -> Event {
    let (op, &(target, _)) = match (event.op, carried.get(&event.target)) {
        (Op::Send, Some(lock)) => (Op::Release, lock),
        (Op::Recv, Some(lock @ (_, false))) => (Op::Acquire, lock),
        (Op::Recv, Some(lock @ (_, true))) => (Op::AcquireShared, lock),
        _ => return event,
    };
    Event {
        op,
        target,
        ..event
    }
}

/// What a strand holds after an event.
fn after(before: &LockState, event: Event) -> LockState {
    let mut holds = before.clone();
    let place = holds.iter().position(|held| held.lock == event.target);
    match event.op {
        Op::Acquire | Op::AcquireShared => {
            let shared = event.op == Op::AcquireShared;
            for held in &mut holds {
                *held.since.entry(event.target).or_insert(true) &= shared;
            }
            holds.push(Held {
                lock: event.target,
                shared,
                since: BTreeMap::new(),
            });
        }
        Op::Upgrade | Op::Downgrade => {
            holds[place.expect("held")].shared = event.op == Op::Downgrade;
        }
        Op::Release | Op::ReleaseShared => drop(holds.remove(place.expect("held"))),
        _ => {}
    }
    holds
}

/// How many events of each strand have been played.
pub(crate) type Place = Vec<u8>;

impl Judge {
    pub(crate) fn new(trace: &[Event]) -> Judge {
        Judge::with_carried(trace, Carried::new())
    }

    /// Of a trace in which some messages hand a lock over.
    pub(crate) fn with_carried(trace: &[Event], carried: Carried) -> Judge {
        let count = trace
            .iter()
            .flat_map(|e| {
                [
                    e.strand.0,
                    if matches!(e.op, Op::Fork | Op::Join) {
                        e.target
                    } else {
                        0
                    },
                ]
            })
            .max()
            .map_or(0, |last| last as usize + 1);
        let mut strands = vec![Vec::new(); count];
        let mut held = vec![vec![LockState::new()]; count];
        let mut open: Vec<Option<u64>> = vec![None; count];
        let (mut found, mut transaction) = (Vec::new(), Vec::new());
        for (&event, position) in trace.iter().zip(1_u64..) {
            let strand = event.strand.0 as usize;
            found.push((strand, strands[strand].len()));
            strands[strand].push((position, event));
            match event.op {
                Op::Begin => open[strand] = Some(position),
                Op::End => open[strand] = None,
                _ => {}
            }
            transaction.push(open[strand]);
            let before = held[strand].last().expect("at least the start");
            let after = after(before, lock_event(event, &carried));
            held[strand].push(after);
        }
        Judge {
            strands,
            held,
            found,
            transaction,
            carried,
            trace: trace.to_vec(),
        }
    }

    /// The strand of an event, and how many of its events come before.
    fn find(&self, position: u64) -> (usize, usize) {
        self.found[position as usize - 1]
    }

    fn is_done(&self, place: &Place, position: u64) -> bool {
        let (strand, at) = self.find(position);
        usize::from(place[strand]) > at
    }

    /// What its strand holds at an event.
    pub(crate) fn held_at(&self, position: u64) -> &LockState {
        let (strand, at) = self.find(position);
        &self.held[strand][at]
    }

    /// What the strand of a transaction holds while the other's event comes.
    pub(crate) fn held_meanwhile(&self, &([first, ..], done): &Meeting) -> &LockState {
        &self.held[self.find(first).0][usize::from(done)]
    }

    /// What a strand holds in turn between two of its events.
    pub(crate) fn held_between(&self, first: u64, second: u64) -> &[LockState] {
        let ((strand, from), (_, to)) = (self.find(first), self.find(second));
        &self.held[strand][from + 1..=to]
    }

    /// May the strand's next event come now?
    pub(crate) fn enabled(&self, place: &Place, strand: usize) -> bool {
        let done = usize::from(place[strand]);
        let Some(&(position, event)) = self.strands[strand].get(done) else {
            return false;
        };
        let all_done = |wanted: &dyn Fn(&Event) -> bool, before: u64| {
            (1..before)
                .filter(|&p| wanted(&self.trace[p as usize - 1]))
                .all(|p| self.is_done(place, p))
        };
        let forked = |e: &Event| e.op == Op::Fork && e.target as usize == strand;
        if done == 0 && !all_done(&forked, position) {
            return false;
        }
        match event.op {
            Op::Acquire | Op::AcquireShared | Op::Upgrade => {
                let shared = event.op == Op::AcquireShared;
                (0..place.len()).all(|other| {
                    other == strand
                        || self.held[other][usize::from(place[other])]
                            .iter()
                            .find(|held| held.lock == event.target)
                            .is_none_or(|held| shared && held.shared)
                }) && !self.is_on_its_way(place, event.target, shared)
            }
            Op::Join => {
                usize::from(place[event.target as usize])
                    == self.strands[event.target as usize].len()
            }
            Op::Recv => all_done(&|e| e.op == Op::Send && e.target == event.target, position),
            Op::Await => all_done(
                &|e| e.op == Op::Signal && e.target == event.target,
                position,
            ),
            _ => true,
        }
    }

    /// Is the lock handed over just now, so that nobody can take it?
    fn is_on_its_way(&self, place: &Place, lock: u32, shared: bool) -> bool {
        let mut carried = self.carried.iter();
        carried.any(|(&message, &(carried, by_readers))| {
            let done = |op| {
                let of = |&at: &usize| (self.trace[at].op, self.trace[at].target) == (op, message);
                let at = (0..self.trace.len()).find(of).expect("sent and received");
                self.is_done(place, at as u64 + 1)
            };
            let is_excluded = carried == lock && !(shared && by_readers);
            is_excluded && done(Op::Send) && !done(Op::Recv)
        })
    }

    /// Every place that a schedule leads to, with the places that come next, in an order in which
    /// those come later.
    fn places(&self) -> BTreeMap<(usize, Place), Vec<(usize, Place)>> {
        let start = vec![0; self.strands.len()];
        let mut places = BTreeMap::new();
        let mut todo = vec![(0, start)];
        while let Some(key) = todo.pop() {
            if places.contains_key(&key) {
                continue;
            }
            let next: Vec<(usize, Place)> = (0..self.strands.len())
                .filter(|&strand| self.enabled(&key.1, strand))
                .map(|strand| {
                    let mut place = key.1.clone();
                    place[strand] += 1;
                    (key.0 + 1, place)
                })
                .collect();
            todo.extend(next.iter().cloned());
            places.insert(key, next);
        }
        places
    }

    /// Every place that a schedule leads to: how many events of each strand have been played.
    pub(crate) fn reachable(&self) -> BTreeSet<Place> {
        self.places().into_keys().map(|(_, place)| place).collect()
    }

    /// Can every schedule be played to the end?
    pub(crate) fn deadlock_free(&self) -> bool {
        let length = self.trace.len();
        self.places()
            .iter()
            .all(|((done, _), next)| *done == length || !next.is_empty())
    }

    /// All triples that would be a minimal violation in this order, whether some schedule has
    /// them or not.
    pub(crate) fn candidates(&self) -> Vec<Triple> {
        let mut found = Vec::new();
        let mut recorded: Vec<u64> = (1..=self.trace.len() as u64).collect();
        // Every strand after all others has all pairs of its own events in order.
        for strand in 0..self.strands.len() as u32 {
            recorded.sort_by_key(|&at| (self.trace[at as usize - 1].strand.0 == strand, at));
            let own =
                recorded.partition_point(|&at| self.trace[at as usize - 1].strand.0 != strand);
            for between in 0..own {
                let mut order = recorded[own..].to_vec();
                for at in 0..=order.len() {
                    order.insert(at, recorded[between]);
                    found.extend(self.minimal_of(&order));
                    order.remove(at);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Is the first event done and the third not, and the second the last of its strand?
    pub(crate) fn stands_between(&self, place: &Place, &[first, between, second]: &Triple) -> bool {
        let (strand, at) = self.find(between);
        usize::from(place[strand]) == at + 1
            && self.is_done(place, first)
            && !self.is_done(place, second)
    }

    /// All minimal violations of all schedules.
    pub(crate) fn minimal(&self) -> BTreeSet<Triple> {
        let meetings = self.meetings();
        meetings.into_iter().map(|(triple, _)| triple).collect()
    }

    /// The same, with every place where the transaction's strand can stand meanwhile.
    pub(crate) fn meetings(&self) -> BTreeSet<Meeting> {
        let places = self.places();
        // How far each strand can still come from each place: a place is done after those that come
        // next.
        let mut reach: HashMap<&Place, Place> = HashMap::new();
        for ((_, place), next) in places.iter().rev() {
            let mut best = place.clone();
            for (_, after) in next {
                for (mine, theirs) in best.iter_mut().zip(&reach[after]) {
                    *mine = (*mine).max(*theirs);
                }
            }
            reach.insert(place, best);
        }
        let mut found = BTreeSet::new();
        for (_, place) in places.keys() {
            for (other, theirs) in self.strands.iter().enumerate() {
                let Some(&(f, _)) = theirs.get(usize::from(place[other])) else {
                    continue;
                };
                if !self.enabled(place, other) {
                    continue;
                }
                let mut after = place.clone();
                after[other] += 1;
                for (strand, mine) in self
                    .strands
                    .iter()
                    .enumerate()
                    .filter(|&(strand, _)| strand != other)
                {
                    let here = usize::from(place[strand]);
                    let there = usize::from(reach[&after][strand]);
                    for &(e1, _) in &mine[..here] {
                        for &(e2, _) in &mine[here..there] {
                            if self.is_sandwich([e1, f, e2]) {
                                found.insert(([e1, f, e2], place[strand]));
                            }
                        }
                    }
                }
            }
        }
        found
    }

    /// Calls `visit` with every schedule that cannot be continued, as positions; false if there are
    /// more than `bound`.
    pub(crate) fn schedules(&self, bound: usize, mut visit: impl FnMut(&[u64])) -> bool {
        let mut left = bound;
        self.continue_schedule(
            &mut vec![0; self.strands.len()],
            &mut Vec::new(),
            &mut left,
            &mut visit,
        )
    }

    fn continue_schedule(
        &self,
        place: &mut Place,
        schedule: &mut Vec<u64>,
        left: &mut usize,
        visit: &mut impl FnMut(&[u64]),
    ) -> bool {
        let movers: Vec<usize> = (0..place.len())
            .filter(|&strand| self.enabled(place, strand))
            .collect();
        if movers.is_empty() {
            visit(schedule);
            *left = left.saturating_sub(1);
            return *left > 0;
        }
        movers.into_iter().all(|strand| {
            schedule.push(self.strands[strand][usize::from(place[strand])].0);
            place[strand] += 1;
            let go_on = self.continue_schedule(place, schedule, left, visit);
            place[strand] -= 1;
            schedule.pop();
            go_on
        })
    }

    /// The minimal violations of one schedule.
    pub(crate) fn minimal_of(&self, schedule: &[u64]) -> BTreeSet<Triple> {
        let mut found = BTreeSet::new();
        for (i, &e1) in schedule.iter().enumerate() {
            if self.transaction[e1 as usize - 1].is_none() {
                continue;
            }
            for (j, &f) in schedule.iter().enumerate().skip(i + 1) {
                if !self.conflicts(e1, f) {
                    continue;
                }
                let seconds = schedule[j + 1..].iter();
                let triples = seconds.map(|&e2| [e1, f, e2]);
                found.extend(triples.filter(|&triple| self.is_sandwich(triple)));
            }
        }
        found
    }

    /// Do two events of different strands not commute?
    fn conflicts(&self, a: u64, b: u64) -> bool {
        let [a, b] = [a, b].map(|position| &self.trace[position as usize - 1]);
        a.strand != b.strand && a.target == b.target && conflict(a.op, b.op)
    }

    /// Would an access between two others be a minimal violation?
    fn is_sandwich(&self, [first, between, second]: Triple) -> bool {
        let transaction = |position: u64| self.transaction[position as usize - 1];
        transaction(first).is_some()
            && transaction(first) == transaction(second)
            && self.conflicts(first, between)
            && self.conflicts(between, second)
    }

    /// Plays a predicted schedule. The error says which event could not come.
    pub(crate) fn play(&self, runs: &[aerodrome::predict::Run]) -> Result<Vec<u64>, String> {
        let mut place: Place = vec![0; self.strands.len()];
        let mut schedule = Vec::new();
        for run in runs {
            let strand = run.strand.0 as usize;
            while let Some(&(position, event)) =
                self.strands[strand].get(usize::from(place[strand]))
            {
                if position > run.to {
                    break;
                }
                if !self.enabled(&place, strand) {
                    return Err(format!(
                        "event {position} {event:?} of {runs:?} cannot come after {schedule:?}"
                    ));
                }
                schedule.push(position);
                place[strand] += 1;
            }
        }
        Ok(schedule)
    }
}
