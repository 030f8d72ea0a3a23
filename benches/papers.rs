//! The tables of the papers, with ours beside: `cargo bench --features trace --bench papers -- ID`.
//!
//! `asplos2020` runs every engine on traces with the parameters of Mathur and Viswanathan's tables 1
//! and 2, then on the shape on which a transaction graph grows, then on longer and longer traces.
//! `cav2009` runs the meta-analysis with the parameters of table 1 of Farzan, Madhusudan and
//! Sorrentino. Traces are made, not recorded: their numbers are the papers', their events are ours.
//! `tse2006` prints Wang and Stoller's tables 1 to 4 for the shapes of their twelve programs, by
//! their algorithms to the letter.
//!
//! `AERODROME_PAPER_EVENTS` is the number of events that a trace has at most (2,000,000), and
//! `AERODROME_PAPER_SECONDS` the time limit of an engine (10). What is scaled down says so.

use std::time::{Duration, Instant};

use aerodrome::check::EngineKind;
use aerodrome::predict::{AnalysisKind, Predictor};
use aerodrome::trace::{Event, Op, SiteId, StrandId, Tables};

#[path = "../tests/predict/common/mod.rs"]
mod common;
#[path = "../tests/predict/papers/notation.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod notation;
#[path = "../tests/predict/papers/programs.rs"]
mod programs;
#[path = "../tests/predict/papers/published/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod published;

/// Where a trace has its violation.
#[derive(Clone, Copy, PartialEq)]
enum Violated {
    Never,
    /// The naive specifications of table 2: "violations are detected early on".
    Early,
    /// The realistic ones of table 1: "discovered late in the trace".
    Late,
}
use Violated::{Early, Late, Never};

struct Run {
    program: &'static str,
    events: u64,
    threads: u32,
    locks: u32,
    variables: u64,
    transactions: u64,
    violated: Violated,
    /// In seconds, as published.
    velodrome: &'static str,
    aerodrome: &'static str,
}

macro_rules! runs {
    ($($program:literal $events:literal $threads:literal $locks:literal $variables:literal
       $transactions:literal $violated:ident $velodrome:literal $aerodrome:literal;)*) => {
        &[$(Run {
            program: $program,
            events: $events,
            threads: $threads,
            locks: $locks,
            variables: $variables,
            transactions: $transactions,
            violated: $violated,
            velodrome: $velodrome,
            aerodrome: $aerodrome,
        }),*]
    };
}

const TABLE_1: &[Run] = runs! {
    "avrora" 2_400_000_000 7 7 1_079_000 498_000_000 Late "TO" "1.5";
    "elevator" 280_000 5 50 725 22_600 Never "162" "1.7";
    "hedc" 9_800 7 13 1_694 84 Late "0.07" "0.06";
    "luindex" 570_000_000 3 65 2_500_000 86_000_000 Late "581" "674";
    "lusearch" 2_000_000_000 14 772 38_000_000 306_000_000 Late "TO" "5.5";
    "moldyn" 1_700_000_000 4 1 121_000 1_400_000 Late "TO" "54.9";
    "montecarlo" 494_000_000 4 1 30_500_000 812_000 Late "TO" "0.75";
    "philo" 613 6 1 24 0 Never "0.02" "0.02";
    "pmd" 367_000_000 13 223 12_900_000 81_000_000 Late "3.1" "3.8";
    "raytracer" 2_800_000_000 4 1 12_600_000 277_000_000 Never "TO" "3340";
    "sor" 608_000_000 4 2 1_000_000 637_000 Late "6.9" "9.6";
    "sunflow" 16_800_000 16 9 1_200_000 2_500_000 Late "67.9" "0.65";
    "tsp" 312_000_000 9 2 181_000_000 9 Late "4.2" "5.7";
    "xalan" 1_000_000_000 13 8_624 31_000_000 214_000_000 Late "1.6" "2.0";
};

const TABLE_2: &[Run] = runs! {
    "batik" 186_000_000 7 1_916 4_900_000 15_000_000 Early "52.7" "65.5";
    "crypt" 126_000_000 7 1 9_000_000 50 Early "92.1" "104";
    "fop" 96_000_000 1 115 5_000_000 25_000_000 Never "88.3" "92.5";
    "lufact" 135_000_000 4 1 252_000 642_000_000 Early "2.4" "2.9";
    "series" 40_000_000 4 1 20_000 20_000_000 Early "61.0" "15.3";
    "sparsematmult" 726_000_000 4 1 1_600_000 25 Early "1210" "1197";
    "tomcat" 726_000_000 4 1 1_600_000 25 Early "3.4" "4.5";
};

/// Writes a trace round by round.
struct Author {
    events: Vec<Event>,
    noise: u64,
}

impl Author {
    fn push(&mut self, strand: u32, op: Op, target: u32) {
        let site = SiteId(1 + (self.events.len() % 61) as u32);
        let strand = StrandId(strand);
        self.events.push(Event {
            strand,
            target,
            site,
            op,
        });
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        (((self.noise >> 32) * u64::from(bound.max(1))) >> 32) as u32
    }
}

/// The first variable is the leader's, the next ones belong to the locks, the others to one strand each.
const LEADERS: u32 = 0;

/// A trace of this run's numbers, at most `limit` events long, and what it was scaled by.
///
/// Strand 0 leads: its transactions stay open while the others', which come after them, begin and
/// end. Everybody else takes a lock for what is shared, and works on variables of its own.
fn trace(run: &Run, limit: u64) -> (Vec<Event>, u64) {
    let scale = run.events.div_ceil(limit);
    let events = (run.events / scale) as usize;
    let transactions = (run.transactions / scale).max(u64::from(run.transactions > 0));
    let length = (events as u64 / transactions.max(1)).clamp(8, 4_096) as usize;
    let own = ((run.variables / scale).max(64) as u32 / run.threads).max(1);
    let mut author = Author {
        events: Vec::with_capacity(events + length),
        noise: 1,
    };
    let violation = match run.violated {
        Never => usize::MAX,
        Early => events / 100,
        Late => events / 10 * 9,
    };
    let in_blocks = transactions > 0;
    let is_led = in_blocks && run.threads > 1;
    let (mut round, mut followers, mut is_violated) = (0_u32, 0_u32, false);
    while author.events.len() < events {
        if is_led && followers == 0 {
            author.push(0, Op::Begin, 1);
            author.push(0, Op::Write, LEADERS);
        }
        let strand = if is_led {
            1 + round % (run.threads - 1)
        } else {
            0
        };
        round += 1;
        follow(&mut author, run, strand, own, length, in_blocks);
        followers += 1;
        let shared = 1 + (round - 1) % run.locks;
        if is_led && !is_violated && author.events.len() > violation {
            is_violated = true;
            author.push(strand, Op::Write, shared);
            author.push(0, Op::Read, shared);
        }
        // As many as the paper counted in the graph of sunflow.
        if is_led && followers == 9_000.min(transactions as u32 / 10 + 1) {
            author.push(0, Op::End, 1);
            followers = 0;
        }
    }
    (author.events, scale)
}

fn follow(author: &mut Author, run: &Run, strand: u32, own: u32, length: usize, in_block: bool) {
    if in_block {
        author.push(strand, Op::Begin, 2);
    }
    author.push(strand, Op::Read, LEADERS);
    // A lock and what it guards have one number.
    let shared = 1 + author.below(run.locks);
    author.push(strand, Op::Acquire, shared);
    author.push(strand, Op::Read, shared);
    author.push(strand, Op::Write, shared);
    author.push(strand, Op::Release, shared);
    for _ in 0..length.saturating_sub(7) {
        let variable = 1 + run.locks + strand * own + author.below(own);
        let op = if author.below(4) == 0 {
            Op::Write
        } else {
            Op::Read
        };
        author.push(strand, op, variable);
    }
    if in_block {
        author.push(strand, Op::End, 2);
    }
}

/// How long the engine takes up to its first violation, and whether there is one; nothing where it
/// takes longer than the limit.
fn time(engine: EngineKind, trace: &[Event], limit: Duration) -> Option<(Duration, bool)> {
    let mut engine = engine.engine();
    let begin = Instant::now();
    let mut at = 0;
    while at < trace.len() {
        let batch = &trace[at..trace.len().min(at + 1_024)];
        let (taken, found) = engine.run(batch, at as u64 + 1);
        at += taken;
        if found.is_some() {
            return Some((begin.elapsed(), true));
        }
        if begin.elapsed() > limit {
            return None;
        }
    }
    Some((begin.elapsed(), false))
}

fn seconds(time: Option<(Duration, bool)>) -> String {
    time.map_or("TO".into(), |(time, _)| {
        format!("{:.3}", time.as_secs_f64())
    })
}

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    let parse = |text: String| text.parse().unwrap_or_else(|_| panic!("{name}: no number"));
    given.map_or(default, parse)
}

fn table(title: &str, runs: &[Run], events: u64, limit: Duration) {
    println!("\n{title}\n");
    print!(
        "{:14}{:>10}{:>7}{:>8}{:>8}",
        "program", "events", "1 in", "threads", "atomic"
    );
    for engine in EngineKind::ALL {
        print!("{:>17}", engine.name());
    }
    println!("{:>21}{:>11}", "paper's Velodrome", "AeroDrome");
    for run in runs {
        let (trace, scale) = trace(run, events);
        print!(
            "{:14}{:>10}{scale:>7}{:>8}",
            run.program,
            trace.len(),
            run.threads
        );
        let times = EngineKind::ALL.iter().map(|&it| time(it, &trace, limit));
        let times: Vec<_> = times.collect();
        let found = times.iter().flatten().next().map(|it| it.1);
        assert!(
            times.iter().flatten().all(|it| Some(it.1) == found),
            "one verdict"
        );
        print!(
            "{:>8}",
            found.map_or("?", |found| if found { "no" } else { "yes" })
        );
        for time in times {
            print!("{:>17}", seconds(time));
        }
        println!("{:>21}{:>11}", run.velodrome, run.aerodrome);
    }
}

/// Two transactions stay open. Strand 2's come after the first and before the second, strand 3's
/// after the second: each edge from a new one of the former into the second looks through all of
/// the latter.
fn growing(rounds: u32) -> Vec<Event> {
    let mut author = Author {
        events: Vec::new(),
        noise: 1,
    };
    for strand in [0, 1] {
        author.push(strand, Op::Begin, 1);
        author.push(strand, Op::Write, strand);
    }
    for round in 0..rounds {
        for (strand, leader) in [(2, 0), (3, 1)] {
            author.push(strand, Op::Begin, 2);
            author.push(strand, Op::Read, leader);
            author.push(strand, Op::Write, 10 + 2 * round + strand - 2);
            author.push(strand, Op::End, 2);
        }
        author.push(1, Op::Read, 10 + 2 * round);
    }
    author.events
}

fn asplos2020() {
    let events = number("AERODROME_PAPER_EVENTS", 2_000_000);
    let limit = Duration::from_secs(number("AERODROME_PAPER_SECONDS", 10));
    println!("Mathur and Viswanathan, ASPLOS 2020. Seconds up to the first violation.");
    table("Table 1: realistic specifications", TABLE_1, events, limit);
    table("Table 2: naive specifications", TABLE_2, events, limit);
    println!("\nThe shape on which a transaction graph grows: seconds by transactions\n");
    for rounds in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000] {
        let trace = growing(rounds);
        print!("{:>8}", 2 * rounds + 2);
        for &engine in EngineKind::ALL {
            let time = seconds(time(engine, &trace, limit));
            print!("{:>17} {time:>8}", engine.name());
        }
        println!();
    }
    println!("\nTheorem 4, linear cost: nanoseconds an event, 8 threads\n");
    for events in [1_000_000, 10_000_000, 100_000_000] {
        print!("{events:>12}");
        for engine in [EngineKind::Exact, EngineKind::Aerodrome] {
            print!("{:>17} {:>6.1}", engine.name(), nanoseconds(engine, events));
        }
        println!();
    }
}

/// The time an event, on one trace that is repeated: its transactions are over at its end.
fn nanoseconds(engine: EngineKind, events: usize) -> f64 {
    let run = Run {
        violated: Never,
        threads: 8,
        transactions: 40_000,
        events: 1_000_000,
        ..TABLE_1[1]
    };
    let (mut trace, _) = trace(&run, u64::MAX);
    trace.push(Event {
        op: Op::End,
        target: 1,
        strand: StrandId(0),
        site: SiteId(1),
    });
    let is_open = trace.iter().filter(|it| it.strand.0 == 0).map(|it| it.op);
    let (begins, ends) = is_open.fold((0, 0), |(begins, ends), op| match op {
        Op::Begin => (begins + 1, ends),
        Op::End => (begins, ends + 1),
        _ => (begins, ends),
    });
    if ends > begins {
        trace.pop();
    }
    let mut engine = engine.engine();
    let begin = Instant::now();
    let mut position = 1;
    while (position as usize) < events {
        assert!(
            engine.run(&trace, position).1.is_none(),
            "it is serializable"
        );
        position += trace.len() as u64;
    }
    begin.elapsed().as_nanos() as f64 / position as f64
}

/// Threads, entities, locks, events and transactions of a run, and the published time.
type MetaRun = (u32, u32, u32, u64, u64, &'static str);

const CAV_TABLE_1: &[MetaRun] = &[
    (3, 32, 8, 9_000, 140, "0.09"),
    (5, 32, 8, 29_000, 423, "0.27"),
    (5, 200, 50, 78_000, 273, "26.23"),
    (10, 1, 10, 86, 10, "0.03"),
    (20, 1, 20, 160, 20, "0.02"),
    (40, 1, 40, 320, 40, "0.16"),
    (2, 4, 2, 105, 2, "0.07"),
    (2, 4, 2, 107, 2, "0.08"),
    (10, 6, 2, 176, 10, "0.03"),
    (10, 6, 2, 132, 10, "0.03"),
    (3, 30, 2, 97, 5, "0.03"),
    (8, 50, 2, 18_000, 10, "0.53"),
    (5, 140, 2, 1_400_000, 17, "1.55"),
    (10, 140, 2, 2_500_000, 31, "2.51"),
    (20, 1_510, 2, 11_000_000, 106, "12.58"),
];

fn cav2009() {
    let limit = number("AERODROME_PAPER_EVENTS", 11_000_000);
    println!("Farzan, Madhusudan and Sorrentino, CAV 2009, table 1. Seconds.\n");
    let head = [
        "threads",
        "entities",
        "locks",
        "events",
        "transactions",
        "ours",
        "paper",
    ];
    println!("{}", head.map(|it| format!("{it:>13}")).concat());
    for &(threads, entities, locks, events, transactions, paper) in CAV_TABLE_1 {
        let mut author = Author {
            events: Vec::new(),
            noise: 7,
        };
        let events = events.min(limit);
        let length = (events / transactions).max(6) as usize;
        for transaction in 0..transactions as u32 {
            let strand = transaction % threads;
            author.push(strand, Op::Begin, 1);
            for _ in 0..length.saturating_sub(2) / 4 {
                let (lock, entity) = (entities + author.below(locks), author.below(entities));
                author.push(strand, Op::Acquire, lock);
                author.push(strand, Op::Read, entity);
                author.push(strand, Op::Write, entity);
                author.push(strand, Op::Release, lock);
            }
            author.push(strand, Op::End, 1);
        }
        let names = Tables::default();
        let mut predictor = Predictor::new(&[AnalysisKind::Minimal]);
        let begin = Instant::now();
        for (&event, position) in author.events.iter().zip(1..) {
            predictor.step(event, position, &names);
        }
        let found = predictor.finish().outcome.predictions.len();
        let time = format!("{:.2}", begin.elapsed().as_secs_f64());
        let counts = [
            threads,
            entities,
            locks,
            author.events.len() as u32,
            transactions as u32,
        ];
        print!("{}", counts.map(|it| format!("{it:>13}")).concat());
        println!("{time:>13}{paper:>13}  ({found} predictions)");
    }
}

fn tse2006() {
    use programs::PROGRAMS;
    println!(
        "Wang and Stoller, TSE 2006. Methods: bugs-benign-false alarms. Ours, then the paper's."
    );
    println!("\nTable 1 (online is Atomizer and has missed ones last), and method consistency\n");
    let row = |name: &str, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>22}")).collect();
        println!("{name:14}{}", cells.concat());
    };
    let head = |names: &[&str]| {
        row(
            "",
            &names.iter().map(|it| it.to_string()).collect::<Vec<_>>(),
        )
    };
    head(&["online", "offline", "blocks", "method consistency"]);
    for program in &PROGRAMS {
        let [online, offline, blocks, consistency] = program.row_1();
        let ours = [online, offline, blocks].into_iter().zip(program.table_1);
        let mut cells: Vec<String> = ours
            .map(|(ours, paper)| format!("{ours} | {paper}"))
            .collect();
        cells.push(consistency);
        row(program.name, &cells);
    }
    println!(
        "\nTable 2: reduction with more and more improvements; variables that race in brackets\n"
    );
    head(&[
        "none",
        "escape",
        "happen-before",
        "multilockset",
        "AcqA*Rel",
    ]);
    for program in &PROGRAMS {
        let cells = program.row_2().into_iter().zip(program.table_2);
        let cells = cells.map(|((ours, races), paper)| format!("{ours} [{races}] | {paper}"));
        row(program.name, &cells.collect::<Vec<_>>());
    }
    println!("\nTable 3: blocks; variables and pairs of variables in brackets\n");
    head(&["none", "escape", "happen-before"]);
    for program in &PROGRAMS {
        let cells = program.row_3().into_iter().zip(program.table_3);
        let cells =
            cells.map(|((ours, one, two), paper)| format!("{ours} [{one}-{two}] | {paper}"));
        row(program.name, &cells.collect::<Vec<_>>());
    }
    println!("\nTable 4: variables kept by reduction, blocks, part of the events before escape\n");
    head(&["kept", "blocks", "unescaped"]);
    for program in &PROGRAMS {
        let (kept, blocks, unescaped) = program.row_4();
        let ours = [
            kept.to_string(),
            blocks.to_string(),
            format!("{unescaped:.2}"),
        ];
        let cells = ours.into_iter().zip(program.table_4);
        let cells = cells.map(|(ours, paper)| format!("{ours} | {paper}"));
        row(program.name, &cells.collect::<Vec<_>>());
    }
}

const PAPERS: &str = "asplos2020, cav2009, tse2006";

fn main() {
    let ids: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    for id in &ids {
        match id.as_str() {
            "asplos2020" => asplos2020(),
            "cav2009" => cav2009(),
            "tse2006" => tse2006(),
            other => {
                eprintln!("expected a paper ({PAPERS}), found `{other}`");
                std::process::exit(2);
            }
        }
    }
    if ids.is_empty() {
        println!("which paper? {PAPERS}");
    }
}
