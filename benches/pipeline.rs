//! What a check costs from end to end, against a loop that only reads and splits the same file; and
//! whether the cost of an event grows with the trace.
//!
//! `cargo bench --features cli --bench pipeline`. Prints two tables; `benches/README.md` says how
//! to read them.

mod shapes;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aerodrome::check::{Engine, Exact};
use aerodrome::trace::{self, AeroWriter, Event, Semantics, Source, StdReader};
use shapes::{NAMES, Shape, text};

const MILLION: usize = 1_000_000;
/// Events of a file.
const LENGTH: usize = 3 * MILLION;
const SAMPLES: usize = 9;

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
        "{:34} {:>6} {:>6} {:>6} {:>6} {:>6} {:>14}",
        "", "format", "split", "read", "engine", "check", "check / split"
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

/// What every check of a text is held to: the file is read as a whole and cut into lines, and these
/// into fields.
fn split(path: &str) {
    let text = fs::read(path).expect("it was just written");
    for line in text.split(|&byte| byte == b'\n') {
        for field in line.split(|&byte| byte == b'|') {
            std::hint::black_box(field);
        }
    }
}

/// All events of the file.
fn read(path: &str, mut take: impl FnMut(&[Event])) {
    let mut source = trace::open(path, None).expect("it was just written");
    let mut batch = Vec::new();
    while source.fill(&mut batch).expect("it is a trace") {
        take(&batch);
    }
}

fn check(path: &str) {
    let status = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
        .args(["check", path])
        .stdout(Stdio::null())
        .status()
        .expect("the command was built");
    assert!(status.success(), "the shapes are serializable");
}

/// The loop on the text; reading the file alone, the engine on the events in memory, and the
/// command on the file; by turns.
fn end_to_end(name: &str) {
    let text = text(&Shape::named(name).take(LENGTH));
    let binary = binary(&text);
    let path = |format| format!("{}/pipeline.{format}", env!("CARGO_TARGET_TMPDIR"));
    let std = path("std");
    fs::write(&std, &text).expect("the target directory can be written to");
    fs::write(path("aero"), &binary).expect("the target directory can be written to");
    let mut events: Vec<Event> = Vec::new();
    read(&std, |batch| events.extend(batch));
    for format in ["std", "aero"] {
        let path = path(format);
        let mut best = [Duration::MAX; 4];
        for _ in 0..SAMPLES {
            let times = [
                timed(|| split(&std)),
                timed(|| {
                    read(&path, |batch| {
                        std::hint::black_box(batch);
                    })
                }),
                timed(|| {
                    let (_, found) = Exact::new().run(&events, 1);
                    assert!(found.is_none(), "the shapes are serializable");
                }),
                timed(|| check(&path)),
            ];
            for (best, time) in best.iter_mut().zip(times) {
                *best = time.min(*best);
            }
        }
        let [split, read, engine, check] = best.map(|time| nanoseconds(time, events.len()));
        println!(
            "{name:34} {format:>6} {split:6.1} {read:6.1} {engine:6.1} {check:6.1} {:14.2}",
            check / split
        );
    }
    for format in ["std", "aero"] {
        // What is left behind is overwritten by the next run.
        let _ = fs::remove_file(path(format));
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
