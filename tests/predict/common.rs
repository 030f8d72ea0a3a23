//! What the tests of prediction share: a terse notation for traces, random ones, and the
//! brute-force judge.
//!
//! The judge knows nothing of locksets, histories or periods: it plays every schedule that locks,
//! forks, joins, signals and messages allow. The places that schedules lead through (how far each
//! strand has come) are kept, so that each is looked at once; [`Judge::schedules`] lists the
//! schedules themselves, one by one, for traces small enough.

#![allow(dead_code, reason = "each test file uses a part")]

use aerodrome::predict::{AnalysisKind, Outcome, Predictions, Predictor, Step, conflict};
use aerodrome::trace::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A trace: the event at index `i` has position `i + 1`, and that as its site unless the notation
/// says otherwise.
pub(crate) type Trace = Vec<Event>;

pub(crate) fn event(strand: u32, op: Op, target: u32, site: u32) -> Event {
    Event {
        strand: StrandId(strand),
        target,
        site: SiteId(site),
        op,
    }
}

/// Reads `"0 begin, 0 r x, 0 acq l, 1 w x"`: a strand's number, an operation, and what it is on.
/// Names of one letter are objects, numbers are strands. Each event's site is its position.
pub(crate) fn trace(text: &str) -> Trace {
    let parse = |(at, item): (usize, &str)| {
        let words: Vec<&str> = item.split_whitespace().collect();
        let strand = words[0].parse().expect("a strand's number");
        let op = match words[1] {
            "begin" => Op::Begin,
            "end" => Op::End,
            "r" => Op::Read,
            "w" => Op::Write,
            "rw" => Op::ReadWrite,
            "add" => Op::Update(Update::Add),
            "or" => Op::Update(Update::Or),
            "acq" => Op::Acquire,
            "rel" => Op::Release,
            "acqs" => Op::AcquireShared,
            "rels" => Op::ReleaseShared,
            "up" => Op::Upgrade,
            "down" => Op::Downgrade,
            "fork" => Op::Fork,
            "join" => Op::Join,
            "signal" => Op::Signal,
            "await" => Op::Await,
            "send" => Op::Send,
            "recv" => Op::Recv,
            "retire" => Op::Retire,
            other => panic!("unknown operation {other:?} in {item:?}"),
        };
        let target = match words.get(2) {
            None => 0,
            Some(word) => word
                .parse()
                .unwrap_or_else(|_| u32::from(word.as_bytes()[0] - b'a')),
        };
        event(strand, op, target, at as u32 + 1)
    };
    text.split([',', '\n'])
        .filter(|item| !item.trim().is_empty())
        .enumerate()
        .map(parse)
        .collect()
}

/// Names for traces that have none.
pub(crate) struct Plain;

impl Names for Plain {
    fn strand(&self, id: StrandId) -> StrandInfo {
        StrandInfo {
            name: format!("strand {}", id.0),
        }
    }
    fn object(&self, id: ObjectId) -> ObjectInfo {
        let name = char::from_u32(u32::from(b'a') + id.0).map(String::from);
        ObjectInfo {
            kind: self.kind(id),
            name,
            type_name: None,
            created: SiteId::NONE,
        }
    }
    fn kind(&self, _: ObjectId) -> ObjectKind {
        ObjectKind::Lock
    }
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        (id != SiteId::NONE).then(|| SiteInfo::Label(id.0.to_string()))
    }
    fn block(&self, id: BlockId) -> BlockInfo {
        BlockInfo {
            name: format!("block {}", id.0),
            site: SiteId::NONE,
        }
    }
}

/// Runs analyses over a trace. Strands and objects in the outcome have the trace's numbers.
pub(crate) fn predict(trace: &[Event], kinds: &[AnalysisKind]) -> Outcome {
    predict_by(Predictor::new(kinds), trace)
}

/// The same with a predictor that has analyses already.
pub(crate) fn predict_by(mut predictor: Predictor, trace: &[Event]) -> Outcome {
    for (&event, position) in trace.iter().zip(1..) {
        predictor.step(event, position, &Plain);
    }
    let Predictions {
        mut outcome,
        ledger,
    } = predictor.finish();
    let original = |step: &mut Step| {
        step.access.strand = ledger.strand_number(step.access.strand);
        step.access.object = step
            .access
            .object
            .map(|object| ledger.object_number(object));
        step.held
            .iter_mut()
            .for_each(|hold| hold.lock = ledger.object_number(hold.lock));
        if let Some(transaction) = &mut step.transaction {
            transaction.strand = ledger.strand_number(transaction.strand);
        }
    };
    for prediction in &mut outcome.predictions {
        prediction.accesses.iter_mut().for_each(original);
        prediction
            .schedule
            .iter_mut()
            .for_each(|run| run.strand = ledger.strand_number(run.strand));
    }
    for race in &mut outcome.races {
        original(&mut race.first);
        original(&mut race.second);
    }
    for wait in outcome
        .deadlocks
        .iter_mut()
        .flat_map(|deadlock| &mut deadlock.waits)
    {
        for access in [&mut wait.held, &mut wait.wanted] {
            access.strand = ledger.strand_number(access.strand);
            access.object = access.object.map(|object| ledger.object_number(object));
        }
        wait.locks
            .iter_mut()
            .for_each(|hold| hold.lock = ledger.object_number(hold.lock));
    }
    outcome
}

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
    /// For each position: the transaction's number, if in a block.
    transaction: HashMap<u64, u64>,
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
        let mut transaction = HashMap::new();
        for (&event, position) in trace.iter().zip(1_u64..) {
            let strand = event.strand.0 as usize;
            strands[strand].push((position, event));
            let mut holds = held[strand].last().expect("at least the start").clone();
            let event = lock_event(event, &carried);
            let place = holds.iter().position(|held| held.lock == event.target);
            match event.op {
                Op::Acquire | Op::AcquireShared => {
                    let shared = event.op == Op::AcquireShared;
                    for held in &mut holds {
                        *held.since.entry(event.target).or_insert(true) &= shared;
                    }
                    let since = BTreeMap::new();
                    holds.push(Held {
                        lock: event.target,
                        shared,
                        since,
                    });
                }
                Op::Upgrade | Op::Downgrade => {
                    holds[place.expect("held")].shared = event.op == Op::Downgrade;
                }
                Op::Release | Op::ReleaseShared => drop(holds.remove(place.expect("held"))),
                Op::Begin => open[strand] = Some(position),
                Op::End => open[strand] = None,
                _ => {}
            }
            if let Some(begin) = open[strand] {
                transaction.insert(position, begin);
            }
            held[strand].push(holds);
        }
        Judge {
            strands,
            held,
            transaction,
            carried,
            trace: trace.to_vec(),
        }
    }

    /// The strand of an event, and how many of its events come before.
    fn find(&self, position: u64) -> (usize, usize) {
        let strand = self.trace[position as usize - 1].strand.0 as usize;
        let at = self.strands[strand]
            .iter()
            .position(|&(p, _)| p == position)
            .expect("an event of its strand");
        (strand, at)
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
                let Some(&(f, between)) = theirs.get(usize::from(place[other])) else {
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
                    for &(e1, first) in &mine[..here] {
                        for &(e2, second) in &mine[here..there] {
                            let together = self.transaction.contains_key(&e1)
                                && self.transaction.get(&e1) == self.transaction.get(&e2);
                            let same =
                                first.target == between.target && between.target == second.target;
                            if together
                                && same
                                && conflict(first.op, between.op)
                                && conflict(between.op, second.op)
                            {
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
        let at = |position: u64| &self.trace[position as usize - 1];
        for (i, &e1) in schedule.iter().enumerate() {
            for (j, &f) in schedule.iter().enumerate().skip(i + 1) {
                for &e2 in &schedule[j + 1..] {
                    let (first, between, second) = (at(e1), at(f), at(e2));
                    let together = self.transaction.contains_key(&e1)
                        && self.transaction.get(&e1) == self.transaction.get(&e2);
                    if together
                        && first.strand == second.strand
                        && first.strand != between.strand
                        && first.target == between.target
                        && between.target == second.target
                        && conflict(first.op, between.op)
                        && conflict(between.op, second.op)
                    {
                        found.insert([e1, f, e2]);
                    }
                }
            }
        }
        found
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

/// Random numbers that a seed brings back (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    pub(crate) fn chance(&mut self, one_in: u32) -> bool {
        self.below(one_in) == 0
    }
}

/// What random traces look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) strands: u32,
    pub(crate) objects: u32,
    pub(crate) locks: u32,
    /// Events a strand, about.
    pub(crate) length: u32,
    /// Reads and writes only, exclusive locks only.
    pub(crate) plain: bool,
    /// Locks are taken in the order of their numbers only, so that no schedule deadlocks.
    pub(crate) ordered: bool,
    /// Forks, joins, signals and messages.
    pub(crate) order: bool,
}

/// Locks have numbers from here on.
pub(crate) const LOCKS: u32 = 10;
/// Messages and signals have numbers from here on.
pub(crate) const MESSAGES: u32 = 16;

/// A random trace with nested locking: each strand's events are drawn first, then one of their
/// schedules.
pub(crate) fn random_trace(random: &mut Random, shape: Shape) -> Trace {
    loop {
        let mut strands: Vec<Trace> = (0..shape.strands)
            .map(|strand| program(random, strand, shape))
            .collect();
        if shape.order {
            add_order(random, &mut strands);
        }
        if let Some(mut trace) = interleave(random, &strands) {
            for (event, site) in trace.iter_mut().zip(1..) {
                event.site = SiteId(site);
            }
            return trace;
        }
    }
}

fn program(random: &mut Random, strand: u32, shape: Shape) -> Trace {
    let mut events = Vec::new();
    let mut held: Vec<(u32, bool)> = Vec::new();
    let mut open = false;
    let length = 2 + random.below(shape.length);
    while (events.len() as u32) < length || !held.is_empty() || open {
        let closing = events.len() as u32 >= length;
        match random.below(if closing { 2 } else { 8 }) {
            0 => match held.last() {
                Some(&(lock, shared)) => {
                    held.pop();
                    events.push(event(
                        strand,
                        if shared {
                            Op::ReleaseShared
                        } else {
                            Op::Release
                        },
                        lock,
                        0,
                    ));
                }
                None if open => {
                    open = false;
                    events.push(event(strand, Op::End, 1 + strand, 0));
                }
                None => {}
            },
            1 => {
                if open && (closing || random.chance(3)) {
                    open = false;
                    events.push(event(strand, Op::End, 1 + strand, 0));
                } else if !open && !closing {
                    open = true;
                    events.push(event(strand, Op::Begin, 1 + strand, 0));
                }
            }
            2 | 3 if !closing => {
                let low = if shape.ordered {
                    held.last().map_or(0, |&(lock, _)| lock - LOCKS + 1)
                } else {
                    0
                };
                if low < shape.locks {
                    let lock = LOCKS + low + random.below(shape.locks - low);
                    if held.iter().all(|&(known, _)| known != lock) {
                        let shared = !shape.plain && random.chance(3);
                        held.push((lock, shared));
                        events.push(event(
                            strand,
                            if shared {
                                Op::AcquireShared
                            } else {
                                Op::Acquire
                            },
                            lock,
                            0,
                        ));
                    }
                }
            }
            _ if !closing => {
                let op = match random.below(if shape.plain { 4 } else { 8 }) {
                    0 | 1 => Op::Read,
                    2..=4 => Op::Write,
                    5 => Op::ReadWrite,
                    6 => Op::Update(Update::Add),
                    _ => Op::Update(Update::Or),
                };
                events.push(event(strand, op, random.below(shape.objects), 0));
            }
            _ => {}
        }
    }
    events
}

fn add_order(random: &mut Random, strands: &mut [Trace]) {
    let count = strands.len() as u32;
    let mut insert = |random: &mut Random, strand: u32, op, target| {
        let events = &mut strands[strand as usize];
        let at = random.below(events.len() as u32 + 1) as usize;
        events.insert(at, event(strand, op, target, 0));
    };
    if random.chance(2) {
        insert(random, 0, Op::Fork, 1);
        if random.chance(2) {
            insert(random, 0, Op::Join, 1);
        }
    }
    for message in 0..random.below(2) {
        let (from, to) = (random.below(count), random.below(count));
        if from != to {
            insert(random, from, Op::Send, MESSAGES + message);
            insert(random, to, Op::Recv, MESSAGES + message);
        }
    }
    if random.chance(4) {
        let (from, to) = (random.below(count), random.below(count));
        if from != to {
            insert(random, from, Op::Signal, MESSAGES + 5);
            insert(random, to, Op::Await, MESSAGES + 5);
        }
    }
}

/// A random schedule of all events; nothing if it gets stuck.
fn interleave(random: &mut Random, strands: &[Trace]) -> Option<Trace> {
    let whole: Trace = strands.iter().flatten().copied().collect();
    // Positions of the concatenation do not say what is before what, so that needs are looked up by
    // hand here.
    let mut place = vec![0; strands.len()];
    let mut held: Vec<(usize, u32, bool)> = Vec::new();
    let mut trace = Trace::new();
    while trace.len() < whole.len() {
        let ready: Vec<usize> = (0..strands.len())
            .filter(|&strand| {
                let Some(next) = strands[strand].get(place[strand]) else {
                    return false;
                };
                let done = |wanted: &dyn Fn(&Event) -> bool| {
                    whole.iter().filter(|e| wanted(e)).count()
                        == trace.iter().filter(|e| wanted(e)).count()
                };
                let started =
                    place[strand] > 0 || done(&|e| e.op == Op::Fork && e.target as usize == strand);
                started
                    && match next.op {
                        Op::Acquire => held.iter().all(|&(_, lock, _)| lock != next.target),
                        Op::AcquireShared => held
                            .iter()
                            .all(|&(_, lock, shared)| lock != next.target || shared),
                        Op::Join => {
                            place[next.target as usize] == strands[next.target as usize].len()
                        }
                        Op::Recv => done(&|e| e.op == Op::Send && e.target == next.target),
                        Op::Await => done(&|e| e.op == Op::Signal && e.target == next.target),
                        _ => true,
                    }
            })
            .collect();
        if ready.is_empty() {
            return None;
        }
        let strand = ready[random.below(ready.len() as u32) as usize];
        // Longer stretches look more like real runs.
        let next = strands[strand][place[strand]];
        match next.op {
            Op::Acquire => held.push((strand, next.target, false)),
            Op::AcquireShared => held.push((strand, next.target, true)),
            Op::Release | Op::ReleaseShared => {
                held.retain(|&(s, lock, _)| (s, lock) != (strand, next.target))
            }
            _ => {}
        }
        place[strand] += 1;
        trace.push(next);
    }
    Some(trace)
}

/// The trace in the notation of [`trace`], an event a line.
pub(crate) fn show(trace: &[Event]) -> String {
    let mut text = String::new();
    for (event, position) in trace.iter().zip(1..) {
        text += &format!(
            "{position:3}: {:?} {} {:?} site {}\n",
            event.strand, event.target, event.op, event.site.0
        );
    }
    text
}

/// Leaves out accesses as long as the trace still fails.
pub(crate) fn shrink(mut trace: Trace, fails: impl Fn(&[Event]) -> bool) -> Trace {
    let mut at = 0;
    while at < trace.len() {
        let mut smaller = trace.clone();
        smaller.remove(at);
        if aerodrome::predict::is_access(trace[at].op) && fails(&smaller) {
            trace = smaller;
        } else {
            at += 1;
        }
    }
    trace
}

/// Accesses that conflict with the same.
pub(crate) fn class(op: Op) -> Op {
    if op == Op::ReadWrite { Op::Write } else { op }
}

/// Runs a test on so many random traces, of each shape in turn, and shrinks the first one that
/// fails.
pub(crate) fn on_random_traces(
    count: u64,
    shapes: &[Shape],
    test: impl Fn(&[Event]) -> Result<(), String>,
) {
    for seed in 0..traces(count) {
        let shape = shapes[seed as usize % shapes.len()];
        let trace = random_trace(&mut Random(seed), shape);
        if let Err(why) = test(&trace) {
            let small = shrink(trace, |trace| test(trace).is_err());
            let why = test(&small).err().unwrap_or(why);
            panic!("seed {seed} of {shape:?}\n{}{why}", show(&small));
        }
    }
}

/// How many random traces a test looks at: `AERODROME_TRACES` or what the test asks for.
pub(crate) fn traces(default: u64) -> u64 {
    std::env::var("AERODROME_TRACES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
