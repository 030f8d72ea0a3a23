//! Random traces, and tests on them.

use super::{Trace, event, show};
use aerodrome::trace::*;

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
