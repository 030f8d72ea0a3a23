//! What a check costs from end to end, against reading the trace alone; and whether the cost of an
//! event grows with the trace.
//!
//! `cargo bench --features cli --bench pipeline`. Prints two tables; `benches/README.md` says how
//! to read them.

mod shapes;

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aerodrome::check::{Engine, Exact};
use aerodrome::trace::{self, AeroWriter, Event, Op, Semantics, Source, StdReader};
use shapes::{LOCKS, Shape};

const MILLION: usize = 1_000_000;
/// Events of a file.
const LENGTH: usize = 2 * MILLION;
const SAMPLES: usize = 9;

/// Every shape, the small ones first.
const NAMES: [&str; 8] = [
    "locked_by_8_strands",
    "locked_by_64_strands",
    "one_transaction_stays_open",
    "transactions_of_4000_accesses",
    "many_short_strands",
    "read_shared_by_8_strands",
    "read_shared_by_64_strands",
    "thread_local_over_400k_variables",
];

fn main() {
    // Cargo passes its own options; anything else chooses shapes.
    let filters: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let is_chosen =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
    let names = || NAMES.into_iter().filter(|name| is_chosen(name));

    println!("end to end, {LENGTH} events, ns an event, fastest of {SAMPLES}");
    println!(
        "{:34} {:>6} {:>6} {:>6} {:>6} {:>7} {:>13}",
        "", "read", "engine", "check", "rest", "format", "check / read"
    );
    for name in names() {
        end_to_end(name);
    }
    println!();
    println!(
        "engine alone, ns an event: the median million of the first, of 1 to 10, and of 10 to 50 million"
    );
    println!("{:34} {:>6} {:>6} {:>6}", "", "1M", "10M", "50M");
    for name in names() {
        flatness(name);
    }
}

/// The trace as a text: locks and variables have names of their own there.
fn text(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        let (op, letter) = match event.op {
            Op::Begin => ("begin", 'm'),
            Op::End => ("end", 'm'),
            Op::Read => ("r", 'V'),
            Op::Write => ("w", 'V'),
            Op::Acquire => ("acq", 'L'),
            Op::Release => ("rel", 'L'),
            Op::Fork => ("fork", 'T'),
            Op::Join => ("join", 'T'),
            op => panic!("no shape has {op:?}"),
        };
        let target = event.target % LOCKS;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "T{}|{op}({letter}{target})|{}",
            event.strand.0, event.site.0
        );
    }
    text
}

fn binary(text: &str) -> Vec<u8> {
    let mut source = StdReader::new("text", text.as_bytes());
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Paper).expect("memory takes all");
    let mut batch = Vec::new();
    while source.fill(&mut batch).expect("it is a trace") {
        for event in &batch {
            writer
                .event_with(event, source.names())
                .expect("memory takes all");
        }
    }
    writer.finish().expect("memory takes all")
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn nanoseconds(time: Duration, events: usize) -> f64 {
    time.as_secs_f64() * 1e9 / events as f64
}

/// Reading the file, the engine on the events in memory, and the command on the file, by turns.
fn end_to_end(name: &str) {
    let text = text(&Shape::named(name).take(LENGTH));
    let binary = binary(&text);
    for (format, bytes) in [("std", text.as_bytes()), ("aero", &binary[..])] {
        let path = format!("{}/pipeline.{format}", env!("CARGO_TARGET_TMPDIR"));
        fs::write(&path, bytes).expect("the target directory can be written to");
        let mut events: Vec<Event> = Vec::new();
        let mut best = [Duration::MAX; 3];
        for _ in 0..SAMPLES {
            events.clear();
            let read = timed(|| {
                let mut source = trace::open(&path, None).expect("it was just written");
                let mut batch = Vec::new();
                while source.fill(&mut batch).expect("it is a trace") {
                    std::hint::black_box(&batch);
                }
            });
            let mut source = trace::open(&path, None).expect("it was just written");
            let mut batch = Vec::new();
            while source.fill(&mut batch).expect("it is a trace") {
                events.extend(&batch);
            }
            let engine = timed(|| {
                let (_, found) = Exact::new().run(&events, 1);
                assert!(found.is_none(), "the shapes are serializable");
            });
            let check = timed(|| {
                let status = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
                    .args(["check", &path])
                    .stdout(Stdio::null())
                    .status()
                    .expect("the command was built");
                assert!(status.success(), "the shapes are serializable");
            });
            for (best, time) in best.iter_mut().zip([read, engine, check]) {
                *best = time.min(*best);
            }
        }
        let [read, engine, check] = best.map(|time| nanoseconds(time, events.len()));
        println!(
            "{name:34} {read:6.1} {engine:6.1} {check:6.1} {:6.1} {format:>7} {:13.2}",
            check - read - engine,
            check / read
        );
        // What is left behind is overwritten by the next run.
        let _ = fs::remove_file(&path);
    }
}

/// The cost of an event at the trace's beginning and after fifty million.
fn flatness(name: &str) {
    let mut shape = Shape::named(name);
    let mut engine = Exact::new();
    let mut position = 1;
    let mut costs = [const { Vec::new() }; 3];
    for million in 0..50 {
        let events = shape.take(MILLION);
        let time = timed(|| {
            let (_, found) = engine.run(&events, position);
            assert!(found.is_none(), "the shapes are serializable");
        });
        position += events.len() as u64;
        let range = match million {
            0 => 0,
            1..10 => 1,
            _ => 2,
        };
        costs[range].push(nanoseconds(time, events.len()));
    }
    let [first, ten, fifty] = costs.map(|mut costs| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    });
    println!("{name:34} {first:6.1} {ten:6.1} {fifty:6.1}");
}
