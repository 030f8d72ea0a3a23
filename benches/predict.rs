//! How fast prediction is: the shapes of the largest runs of Farzan, Madhusudan and Sorrentino (CAV 2009, table 1).
//!
//! `tsp`: 20 threads, 1,510 variables, 2 locks, 106 transactions and 11 million events, at two lengths: the time an event must
//! not depend on it. `elevator`: 50 locks and 200 variables, which is the run where the published tool spends its time comparing
//! acquisition histories.

use aerodrome::predict::{AnalysisKind, Predictor};
use aerodrome::trace::*;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

struct Shape {
    threads: u32,
    variables: u32,
    locks: u32,
    transactions: u32,
    /// How deep locks are nested at most.
    depth: u32,
    /// Of 100 events that are no accesses, how many are lock operations.
    locking: u32,
    events: usize,
}

fn tsp(events: usize) -> Shape {
    Shape {
        threads: 20,
        variables: 1_510,
        locks: 2,
        transactions: 106,
        depth: 2,
        locking: 10,
        events,
    }
}

fn elevator(events: usize) -> Shape {
    Shape {
        threads: 5,
        variables: 200,
        locks: 50,
        transactions: 273,
        depth: 6,
        locking: 30,
        events,
    }
}

const SITES: u32 = 24;

/// Threads that take turns of some events each, every thread's events cut into equal transactions.
fn run(shape: &Shape) -> Vec<Event> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut events = Vec::with_capacity(shape.events + 1024);
    let per_transaction = shape.events as u32 / shape.transactions;
    let locks = |at: u32| shape.variables + at;
    let mut held: Vec<Vec<u32>> = vec![Vec::new(); shape.threads as usize];
    let mut left = vec![0_u32; shape.threads as usize];
    let mut taken = vec![false; shape.locks as usize];
    let event = |thread: u32, op, target, site| Event {
        strand: StrandId(thread),
        target,
        site: SiteId(site),
        op,
    };
    for thread in 1..shape.threads {
        events.push(event(0, Op::Fork, thread, 1));
    }
    while events.len() < shape.events {
        let thread = random.below(shape.threads);
        for _ in 0..random.below(40) {
            let (mine, left) = (&mut held[thread as usize], &mut left[thread as usize]);
            if *left == 0 {
                if let Some(lock) = mine.pop() {
                    taken[(lock - shape.variables) as usize] = false;
                    events.push(event(thread, Op::Release, lock, 2));
                    continue;
                }
                if events.len() > shape.threads as usize * 4 {
                    events.push(event(thread, Op::End, 1, 3));
                }
                events.push(event(thread, Op::Begin, 1 + thread % 4, 4));
                *left = per_transaction;
            }
            *left -= 1;
            let next = mine.last().map_or(0, |&lock| lock - shape.variables + 1);
            match random.below(100) {
                kind if kind >= shape.locking => {
                    // A variable is touched at few places.
                    let variable = random.below(shape.variables);
                    let op = if random.below(4) == 0 {
                        Op::Write
                    } else {
                        Op::Read
                    };
                    events.push(event(thread, op, variable, 5 + variable % SITES));
                }
                kind if kind % 2 == 0
                    && (mine.len() as u32) < shape.depth
                    && next < shape.locks =>
                {
                    let lock = next + random.below(shape.locks - next);
                    if !taken[lock as usize] {
                        taken[lock as usize] = true;
                        mine.push(locks(lock));
                        events.push(event(thread, Op::Acquire, locks(lock), 40 + lock));
                    }
                }
                _ => {
                    if let Some(lock) = mine.pop() {
                        taken[(lock - shape.variables) as usize] = false;
                        events.push(event(thread, Op::Release, lock, 2));
                    }
                }
            }
        }
    }
    fix_transactions(events)
}

/// Leaves out ends that have no begin.
fn fix_transactions(mut events: Vec<Event>) -> Vec<Event> {
    let mut open = std::collections::HashSet::new();
    events.retain(|event| match event.op {
        Op::Begin => open.insert(event.strand),
        Op::End => open.remove(&event.strand),
        _ => true,
    });
    events
}

struct Nameless;

impl Names for Nameless {
    fn strand(&self, _: StrandId) -> StrandInfo {
        StrandInfo::default()
    }
    fn object(&self, id: ObjectId) -> ObjectInfo {
        ObjectInfo {
            kind: self.kind(id),
            name: None,
            type_name: None,
            created: SiteId::NONE,
        }
    }
    fn kind(&self, _: ObjectId) -> ObjectKind {
        ObjectKind::Variable
    }
    fn site(&self, _: SiteId) -> Option<SiteInfo> {
        None
    }
    fn block(&self, _: BlockId) -> BlockInfo {
        BlockInfo {
            name: String::new(),
            site: SiteId::NONE,
        }
    }
}

fn predict(bencher: Bencher, kind: AnalysisKind, shape: &Shape) {
    measure(bencher, kind, &run(shape));
}

fn measure(bencher: Bencher, kind: AnalysisKind, events: &[Event]) {
    bencher
        .counter(ItemsCount::new(events.len()))
        .bench_local(|| {
            let mut predictor = Predictor::new(&[kind]);
            for (&event, position) in events.iter().zip(1..) {
                predictor.step(event, position, &Nameless);
            }
            let found = predictor.finish().outcome;
            black_box(found.predictions.len() + found.deadlocks.len())
        });
}

#[divan::bench(args = [1_100_000, 11_000_000], sample_count = 5, sample_size = 1)]
fn minimal_tsp(bencher: Bencher, events: usize) {
    predict(bencher, AnalysisKind::Minimal, &tsp(events));
}

#[divan::bench(args = [78_000, 780_000], sample_count = 5, sample_size = 1)]
fn minimal_elevator(bencher: Bencher, events: usize) {
    predict(bencher, AnalysisKind::Minimal, &elevator(events));
}

#[divan::bench(args = [78_000], sample_count = 5, sample_size = 1)]
fn deadlock_elevator(bencher: Bencher, events: usize) {
    predict(bencher, AnalysisKind::Deadlock, &elevator(events));
}

/// The shape in which every transaction touches every variable: all blocks are different, and the searches run to their bounds.
#[divan::bench(args = [(AnalysisKind::Blocks, 110_000), (AnalysisKind::Blocks, 1_100_000), (AnalysisKind::Reduction, 110_000), (AnalysisKind::Reduction, 1_100_000)], sample_count = 3, sample_size = 1)]
fn blocks_and_reduction_tsp(bencher: Bencher, (kind, events): (AnalysisKind, usize)) {
    predict(bencher, kind, &tsp(events));
}

/// Short transactions, few of them different: time an event and memory must not depend on the length.
#[divan::bench(args = [(AnalysisKind::Blocks, 100_000), (AnalysisKind::Blocks, 1_000_000), (AnalysisKind::Reduction, 100_000), (AnalysisKind::Reduction, 1_000_000)], sample_count = 3, sample_size = 1)]
fn blocks_and_reduction_short(bencher: Bencher, (kind, events): (AnalysisKind, usize)) {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut run = Vec::with_capacity(events + 16);
    while run.len() < events {
        let (strand, account) = (random.below(8), random.below(20));
        let lock = 100 + account;
        // Reads under the lock, and now and then writes under it in a second region.
        let regions = 1 + u32::from(random.below(4) == 0);
        run.push((strand, Op::Begin, 1 + regions));
        for region in 0..regions {
            run.push((strand, Op::Acquire, lock));
            run.push((strand, Op::Read, account));
            run.extend((region + 1 == regions).then_some((strand, Op::Write, account)));
            run.push((strand, Op::Release, lock));
        }
        run.push((strand, Op::End, 1 + regions));
    }
    let event = |(strand, op, target): (u32, Op, u32)| Event {
        strand: StrandId(strand),
        target,
        site: SiteId(if op == Op::Write { 2 } else { 1 }),
        op,
    };
    let events: Vec<Event> = run.into_iter().map(event).collect();
    measure(bencher, kind, &events);
}

/// The client of a small database: long transactions under a table's lock, in which pages are looked up under the lock of their stripe and of their
/// own. Every access has other locks, and every lock a long history.
fn database(events: usize) -> Vec<Event> {
    const VARIABLES: u32 = 50;
    let (tables, stripes, pages) = (VARIABLES, VARIABLES + 3, VARIABLES + 134);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut run = Vec::with_capacity(events + 4096);
    let mut push = |strand, op, target, site| {
        run.push(Event {
            strand: StrandId(strand),
            target,
            site: SiteId(site),
            op,
        });
        run.len()
    };
    let mut length = 0;
    while length < events {
        let (strand, table) = (random.below(4), tables + random.below(3));
        push(strand, Op::Begin, 1 + strand % 2, 1);
        push(strand, Op::Acquire, table, 2);
        for _ in 0..300 {
            let (stripe, page) = (stripes + random.below(131), pages + random.below(2000));
            push(strand, Op::Acquire, stripe, 3);
            push(
                strand,
                Op::Read,
                random.below(VARIABLES),
                4 + random.below(8),
            );
            push(strand, Op::Acquire, page, 12);
            push(strand, Op::Read, page, 13);
            if random.below(4) == 0 {
                push(strand, Op::Write, page, 14);
                push(
                    strand,
                    Op::Write,
                    random.below(VARIABLES),
                    15 + random.below(8),
                );
            }
            push(strand, Op::Release, page, 23);
            push(strand, Op::Release, stripe, 24);
        }
        push(strand, Op::Release, table, 25);
        length = push(strand, Op::End, 1 + strand % 2, 26);
    }
    run
}

/// Time an event must not depend on the length.
#[divan::bench(args = [
    (AnalysisKind::Minimal, 110_000), (AnalysisKind::Minimal, 440_000),
    (AnalysisKind::Blocks, 110_000), (AnalysisKind::Blocks, 440_000),
    (AnalysisKind::Reduction, 110_000), (AnalysisKind::Reduction, 440_000),
    (AnalysisKind::Deadlock, 110_000), (AnalysisKind::Deadlock, 440_000),
], sample_count = 1, sample_size = 1)]
fn many_lock_sets(bencher: Bencher, (kind, events): (AnalysisKind, usize)) {
    measure(bencher, kind, &database(events));
}
