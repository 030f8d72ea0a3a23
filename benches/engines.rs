//! Every engine on the shapes that decide what it costs. `benches/README.md` says how to read the results.

use aerodrome::check::EngineKind;
use aerodrome::trace::{Event, Op, SiteId, StrandId};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const EVENTS: usize = 1_000_000;
/// Locks have numbers of their own.
const LOCKS: u32 = 1 << 20;

/// A trace of serializable transactions, written by strands in turn.
struct Shape(Vec<Event>);

impl Shape {
    fn new() -> Shape {
        Shape(Vec::with_capacity(EVENTS + 64))
    }

    fn push(&mut self, strand: u32, op: Op, target: u32) {
        let site = SiteId(1 + self.0.len() as u32 % 61);
        self.0.push(Event {
            strand: StrandId(strand),
            target,
            site,
            op,
        });
    }

    fn is_full(&self) -> bool {
        self.0.len() >= EVENTS
    }
}

fn noise(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *state >> 8
}

/// Transactions that lock two of `locks` accounts in order, move something, and unlock: two-phase locking. Each
/// transaction begins before the one before it has ended.
fn two_phase_locking(strands: u32, locks: u32) -> Vec<Event> {
    let mut shape = Shape::new();
    let mut state = 1;
    let mut strand = 0;
    let mut last = None;
    while !shape.is_full() {
        strand = (strand + 1 + noise(&mut state) % (strands - 1)) % strands;
        let a = noise(&mut state) % (locks - 1);
        let b = a + 1 + noise(&mut state) % (locks - 1 - a);
        shape.push(strand, Op::Begin, 0);
        if let Some(last) = last.replace(strand) {
            shape.push(last, Op::End, 0);
        }
        for lock in [a, b] {
            shape.push(strand, Op::Acquire, LOCKS + lock);
            shape.push(strand, Op::Read, lock);
            shape.push(strand, Op::Write, lock);
        }
        for lock in [b, a] {
            shape.push(strand, Op::Release, LOCKS + lock);
        }
    }
    shape.0
}

/// Eight strands, each at work on its own 50,000 variables, in transactions of ten accesses.
fn thread_local() -> Vec<Event> {
    let mut shape = Shape::new();
    let mut state = 1;
    while !shape.is_full() {
        for strand in 0..8 {
            shape.push(strand, Op::Begin, 0);
            for _ in 0..5 {
                let variable = strand * 50_000 + noise(&mut state) % 50_000;
                shape.push(strand, Op::Read, variable);
                shape.push(strand, Op::Write, variable);
            }
            shape.push(strand, Op::End, 0);
        }
    }
    shape.0
}

/// Every transaction reads eight of 1,000 variables that all strands read; all transactions of a round are open at once.
fn read_shared(strands: u32) -> Vec<Event> {
    let mut shape = Shape::new();
    let mut state = 1;
    while !shape.is_full() {
        for strand in 0..strands {
            shape.push(strand, Op::Begin, 0);
        }
        for _ in 0..8 {
            for strand in 0..strands {
                shape.push(strand, Op::Read, noise(&mut state) % 1_000);
            }
        }
        for strand in 0..strands {
            shape.push(strand, Op::End, 0);
        }
    }
    shape.0
}

/// One transaction stays open; seven strands pass on what it wrote.
fn one_stays_open() -> Vec<Event> {
    let mut shape = Shape::new();
    shape.push(0, Op::Begin, 0);
    shape.push(0, Op::Write, 0);
    let mut at = 0;
    while !shape.is_full() {
        let strand = 1 + at % 7;
        shape.push(strand, Op::Begin, 0);
        shape.push(strand, Op::Read, at % 1_000);
        shape.push(strand, Op::Write, (at + 1) % 1_000);
        shape.push(strand, Op::End, 0);
        at += 1;
    }
    shape.0
}

/// Transactions of 4,000 accesses each, of four strands by turns, to 64 variables of their own and 64 that all read.
fn long_transactions() -> Vec<Event> {
    let mut shape = Shape::new();
    let mut state = 1;
    while !shape.is_full() {
        for strand in 0..4 {
            shape.push(strand, Op::Begin, 0);
        }
        for _ in 0..4_000 {
            for strand in 0..4 {
                match noise(&mut state) % 4 {
                    0 => shape.push(
                        strand,
                        Op::Write,
                        100 + strand * 64 + noise(&mut state) % 64,
                    ),
                    1 => shape.push(strand, Op::Read, 100 + strand * 64 + noise(&mut state) % 64),
                    _ => shape.push(strand, Op::Read, noise(&mut state) % 64),
                }
            }
        }
        for strand in 0..4 {
            shape.push(strand, Op::End, 0);
        }
    }
    shape.0
}

/// A strand forks short ones that touch a few variables and are joined; their numbers are used again.
fn short_strands() -> Vec<Event> {
    let mut shape = Shape::new();
    let mut at = 0;
    while !shape.is_full() {
        let strand = 1 + at % 16;
        shape.push(0, Op::Fork, strand);
        shape.push(strand, Op::Begin, 0);
        shape.push(strand, Op::Read, at % 100);
        shape.push(strand, Op::Write, at % 100);
        shape.push(strand, Op::End, 0);
        shape.push(0, Op::Join, strand);
        at += 1;
    }
    shape.0
}

fn run(bencher: Bencher<'_, '_>, kind: EngineKind, trace: Vec<Event>) {
    bencher
        .counter(ItemsCount::new(trace.len()))
        .bench_local(|| {
            let mut engine = kind.engine();
            for (event, position) in trace.iter().zip(1..) {
                assert!(
                    engine.step(*event, position).is_none(),
                    "the shapes are serializable"
                );
            }
        });
}

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident = $trace:expr;)*) => {
        $(
            $(#[$doc])*
            #[divan::bench(args = EngineKind::ALL, sample_count = 10, sample_size = 1)]
            fn $name(bencher: Bencher<'_, '_>, kind: &EngineKind) {
                run(bencher, *kind, $trace);
            }
        )*
    };
}

shapes! {
    locked_by_8_strands = two_phase_locking(8, 64);
    locked_by_64_strands = two_phase_locking(64, 512);
    thread_local_over_400k_variables = thread_local();
    read_shared_by_8_strands = read_shared(8);
    read_shared_by_64_strands = read_shared(64);
    one_transaction_stays_open = one_stays_open();
    transactions_of_4000_accesses = long_transactions();
    many_short_strands = short_strands();
}
