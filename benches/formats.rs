//! Reading traces: what a check pays before the engine sees an event.
//!
//! `cargo bench --features trace --bench formats`. Items are events.

use std::fmt::Write;
use std::sync::LazyLock;

use aerodrome::trace::{AeroReader, AeroWriter, Event, Semantics, Source, StdReader, WellFormed};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

const EVENTS: u64 = 1_000_000;

fn main() {
    divan::main();
}

/// Two-phase locked transactions of 8 threads over few variables.
static SMALL: LazyLock<String> = LazyLock::new(|| {
    let (mut text, mut random) = (String::new(), 1);
    for _ in 0..EVENTS / 10 {
        let (t, l) = (next(&mut random) % 8, next(&mut random) % 16);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "T{t}|begin(m{l})|{}\nT{t}|acq(L{l})|{}\n",
            100 + l,
            200 + l
        );
        for _ in 0..6 {
            let v = l * 4 + next(&mut random) % 4;
            let _ = writeln!(
                text,
                "T{t}|{}(V{v})|{}",
                ["r", "w"][(v % 2) as usize],
                300 + l
            );
        }
        let _ = write!(
            text,
            "T{t}|rel(L{l})|{}\nT{t}|end(m{l})|{}\n",
            200 + l,
            100 + l
        );
    }
    text
});

/// Thread-local work over 400,000 variables.
static LARGE: LazyLock<String> = LazyLock::new(|| {
    let (mut text, mut random) = (String::new(), 1);
    for _ in 0..EVENTS {
        let t = next(&mut random) % 8;
        let v = t * 50_000 + next(&mut random) % 50_000;
        let _ = writeln!(
            text,
            "T{t}|{}(V{v})|{}",
            ["r", "w"][(v % 2) as usize],
            v % 5000
        );
    }
    text
});

/// As `SMALL`, with names as a Java tracer gives them.
static LONG: LazyLock<String> = LazyLock::new(|| {
    SMALL
        .replace("(V", "(org.example.bank.Account.balance_")
        .replace("(L", "(java.lang.Object@")
});

fn next(random: &mut u64) -> u64 {
    *random = random
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    *random >> 33
}

fn text(name: &str) -> &'static str {
    match name {
        "small" => &SMALL,
        "large" => &LARGE,
        _ => &LONG,
    }
}

fn drain(source: &mut dyn Source) -> u64 {
    let (mut batch, mut events) = (Vec::new(), 0);
    while source.fill(&mut batch).expect("it is a trace") {
        events += black_box(&batch).len() as u64;
    }
    events
}

fn binary(name: &str) -> Vec<u8> {
    let mut source = StdReader::new(name, text(name).as_bytes());
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

#[divan::bench(args = ["small", "large", "long"], sample_count = 10)]
fn read_std(bencher: Bencher, name: &str) {
    let text = text(name);
    bencher
        .counter(ItemsCount::new(EVENTS))
        .bench(|| drain(&mut StdReader::new(name, text.as_bytes())));
}

#[divan::bench(args = ["small", "large"], sample_count = 10)]
fn read_aero(bencher: Bencher, name: &str) {
    let file = binary(name);
    bencher
        .counter(ItemsCount::new(EVENTS))
        .bench(|| drain(&mut AeroReader::new(name, &file[..]).expect("it is a trace")));
}

#[divan::bench(args = ["small", "large"], sample_count = 10)]
fn well_formed(bencher: Bencher, name: &str) {
    let mut source = StdReader::new(name, text(name).as_bytes());
    let (mut batch, mut events): (Vec<Event>, Vec<Event>) = (Vec::new(), Vec::new());
    while source.fill(&mut batch).expect("it is a trace") {
        events.extend(&batch);
    }
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| {
        let mut rules = WellFormed::new();
        events
            .iter()
            .filter(|event| rules.admit(event).is_ok_and(|counts| counts.is_some()))
            .count()
    });
}

#[divan::bench(args = ["small", "large"], sample_count = 10)]
fn write_aero(bencher: Bencher, name: &str) {
    let mut source = StdReader::new(name, text(name).as_bytes());
    let (mut batch, mut events): (Vec<Event>, Vec<Event>) = (Vec::new(), Vec::new());
    while source.fill(&mut batch).expect("it is a trace") {
        events.extend(&batch);
    }
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| {
        let mut writer =
            AeroWriter::new(std::io::sink(), Semantics::Paper).expect("a sink takes all");
        for event in &events {
            writer
                .event_with(event, source.names())
                .expect("a sink takes all");
        }
        writer.finish().expect("a sink takes all")
    });
}
