//! The lattice on long runs: 100,000 relevant events of four strands that synchronize often.
//!
//! The argument is how many writes a strand does between two critical sections; the more, the more
//! of them are concurrent and the wider the lattice. `max alloc` is the peak of memory.

use aerodrome::lattice::{Lattice, Limits, Outcome};
use aerodrome::trace::*;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const EVENTS: u64 = 100_000;
const STRANDS: u32 = 4;
const LOCK: u32 = STRANDS;

fn main() {
    divan::main();
}

/// Each strand's variable has a name.
fn names() -> Tables {
    let mut tables = Tables::new();
    for (id, name) in (0..).map(ObjectId).zip(["a", "b", "c", "d"]) {
        let info = ObjectInfo {
            kind: ObjectKind::Variable,
            name: Some(name.to_string()),
            type_name: None,
            created: SiteId::NONE,
        };
        tables.define_object(id, &info);
    }
    tables
}

/// Each strand in turn does some writes of its own variable, the last of them in a critical
/// section.
fn trace(events: u64, burst: u64) -> Vec<Event> {
    let event = |strand, op, target| Event {
        strand: StrandId(strand),
        op,
        target,
        site: SiteId::NONE,
    };
    let write = |strand, value| {
        [
            Event::of_value(StrandId(strand), value),
            event(strand, Op::Write, strand),
        ]
    };
    let mut trace: Vec<Event> = (0..STRANDS).flat_map(|strand| write(strand, 0)).collect();
    let mut done = 0;
    while done < events {
        for strand in 0..STRANDS {
            for number in 1..=burst {
                let last = number == burst;
                trace.extend(last.then(|| event(strand, Op::Acquire, LOCK)));
                trace.extend(write(strand, (done % 10) as i64));
                trace.extend(last.then(|| event(strand, Op::Release, LOCK)));
                done += 1;
            }
        }
    }
    trace
}

fn explore(property: &str, trace: &[Event]) -> Outcome {
    let mut lattice = Lattice::new(property.parse().unwrap(), Limits::default());
    let names = names();
    for (event, position) in trace.iter().zip(1..) {
        lattice.step(event, position, &names).unwrap();
    }
    lattice.finish().unwrap()
}

#[divan::bench(args = [1, 2, 4], sample_count = 5, sample_size = 1)]
fn a_property_that_holds(bencher: divan::Bencher, burst: u64) {
    let trace = trace(EVENTS, burst);
    bencher.bench_local(|| {
        let outcome = explore("a >= 0 && start(b > 5) -> [c >= 0, d < 0)", &trace);
        assert!(outcome.complete() && outcome.events >= EVENTS && outcome.holds());
        outcome.states
    });
}

#[divan::bench(args = [2], sample_count = 5, sample_size = 1)]
fn a_property_that_fails(bencher: divan::Bencher, burst: u64) {
    let trace = trace(EVENTS, burst);
    bencher.bench_local(|| {
        let outcome = explore("start(b > 5) -> a < 7", &trace);
        // It names two of the four variables, so half of the writes are relevant.
        assert!(outcome.complete() && outcome.events >= EVENTS / 2 && !outcome.holds());
        outcome.states
    });
}
