//! Random programs, run with checking: what was recorded is what happened, and everybody judges it
//! alike.
//!
//! Each program runs in a process of its own, which writes its merged events to a file.
//! `AERODROME_STRESS_EVENTS` asks for more events than the usual million, `AERODROME_STRESS_SEED`
//! for other programs.

// Locks are downgraded.
#![cfg(all(feature = "check", since = "1.92"))]

mod blocks;
mod log;
#[path = "../process/mod.rs"]
mod process;
mod program;
mod replay;
mod stack;

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use aerodrome::check::{Checker, EngineKind};
use aerodrome::trace::{self, Event, Semantics, Tables, WellFormed};

use self::process::Directory;
use self::program::{Random, Shape};
use self::replay::Replay;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}: expected a number, found `{text}`")),
    )
}

/// A program from the environment; leaves its trace, its strands' logs, and its violations.
#[test]
fn child() {
    if !process::is_child() {
        return;
    }
    let shape = Shape {
        seed: number("STRESS_SEED").expect("set"),
        strands: number("STRESS_STRANDS").expect("set") as u32,
        steps: number("STRESS_STEPS").expect("set") as u32,
        wide: number("STRESS_WIDE").expect("set") == 1,
    };
    let directory = std::env::var("AERODROME_TRACE").expect("set");
    let outcome = aerodrome::check(|| program::run(shape));
    let file = |name| BufWriter::new(File::create(Path::new(&directory).join(name)).unwrap());
    log::save(file("log")).unwrap();
    let events: Vec<_> = outcome
        .violations
        .iter()
        .map(|report| report.event.to_string())
        .collect();
    std::fs::write(Path::new(&directory).join("violations"), events.join(" ")).unwrap();
}

/// What a program left.
struct Run {
    trace: String,
    logs: Vec<Vec<log::Entry>>,
    violations: Vec<u64>,
    _directory: Directory,
}

#[track_caller]
fn run(shape: Shape, engine: EngineKind) -> Run {
    let directory = Directory::new();
    let wide = u8::from(shape.wide).to_string();
    process::run(
        process::child("child")
            .env("AERODROME_TRACE", directory.path())
            .env("AERODROME_ENGINE", engine.name())
            .env("STRESS_SEED", shape.seed.to_string())
            .env("STRESS_STRANDS", shape.strands.to_string())
            .env("STRESS_STEPS", shape.steps.to_string())
            .env("STRESS_WIDE", wide),
    )
    .expect_code(0);
    let file = |name| directory.path().join(name);
    let violations = std::fs::read_to_string(file("violations")).unwrap();
    Run {
        trace: directory.trace(),
        logs: log::load(BufReader::new(File::open(file("log")).unwrap())),
        violations: violations
            .split_whitespace()
            .map(|event| event.parse().unwrap())
            .collect(),
        _directory: directory,
    }
}

/// Hands every event of a trace on, with its position, once as it stands and once as it counts.
#[track_caller]
fn read(path: &str, mut take: impl FnMut(&Event, Option<Event>, u64, &Tables)) -> u64 {
    let mut source = trace::open(path, None).unwrap();
    let (mut rules, mut batch, mut position) = (WellFormed::new(), Vec::new(), 0);
    while source.fill(&mut batch).unwrap() {
        for event in &batch {
            position += 1;
            let counts = match rules.admit(event) {
                Ok(counts) => counts,
                Err(malformed) => {
                    panic!("event {position}: {:?}", malformed.explain(source.names()))
                }
            };
            take(event, counts, position, source.names());
        }
    }
    position
}

/// The violations that an engine finds in a file.
fn judge(path: &str, engine: EngineKind, semantics: Semantics) -> Vec<u64> {
    let mut checker = Checker::new(engine, semantics);
    let mut found = Vec::new();
    read(path, |_, event, position, names| {
        found.extend(
            event
                .and_then(|event| checker.step(event, position, names))
                .map(|violation| violation.event),
        );
    });
    let names = Tables::new();
    found.extend(std::iter::from_fn(|| checker.finish(&names)).map(|violation| violation.event));
    found
}

#[test]
fn random_programs_are_recorded_as_they_happened_and_judged_alike_by_all() {
    let seed = number("AERODROME_STRESS_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    });
    let wanted = number("AERODROME_STRESS_EVENTS").unwrap_or(1_000_000);
    println!("AERODROME_STRESS_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut events, mut programs, mut guilty) = (0, 0, 0);
    while events < wanted {
        let strands = 2 + random.below(31) as u32;
        let shape = Shape {
            seed: random.next(),
            strands,
            // Of the small ones, some are serializable and some not.
            steps: [1_000, 15_000][random.below(2)] / strands,
            wide: random.below(3) == 0,
        };
        let engine = EngineKind::ALL[random.below(EngineKind::ALL.len())];
        let Run {
            trace,
            logs,
            violations,
            _directory,
        } = run(shape, engine);
        println!(
            "{shape:?}, {}: {} violations",
            engine.name(),
            violations.len()
        );

        let mut replay = Replay::new(logs);
        events += read(&trace, |event, _, position, _| {
            if !shape.wide {
                replay
                    .step(event)
                    .unwrap_or_else(|error| panic!("event {position}, {event:?}: {error}"));
            }
        });
        if !shape.wide {
            replay.finish().unwrap();
        }

        assert_eq!(
            judge(&trace, engine, Semantics::Rust),
            violations,
            "offline as in process"
        );
        for semantics in [Semantics::Rust, Semantics::Paper] {
            let verdicts: Vec<_> = EngineKind::ALL
                .iter()
                .map(|&engine| (engine, !judge(&trace, engine, semantics).is_empty()))
                .collect();
            assert!(
                verdicts
                    .iter()
                    .all(|(_, verdict)| *verdict == verdicts[0].1),
                "{semantics:?}: {verdicts:?}"
            );
        }
        programs += 1;
        guilty += u32::from(!violations.is_empty());
    }
    println!("{programs} programs, {guilty} of them not serializable, {events} events");
}
