//! How many events a second an observer takes, from end to end: from the first event of a process
//! to the observer's report.
//!
//! `cargo bench --features check,cli --bench observe`. `benches/README.md` says how to read it.

mod shapes;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Instant;

use aerodrome::sync::Mutex;
use aerodrome::trace::{AeroWriter, Event, Semantics};
use aerodrome::{atomic_block, thread};
use shapes::Shape;

const MILLION: usize = 1_000_000;
/// Events of a trace.
const LENGTH: usize = 20 * MILLION;
const SAMPLES: usize = 5;
/// Transactions of a program, five events each.
const TRANSACTIONS: usize = 4 * MILLION;
/// Set for the program that is observed: how many threads it has.
const THREADS: &str = "OBSERVED_THREADS";

const NAMES: [&str; 4] = [
    "locked_by_8_strands",
    "one_transaction_stays_open",
    "read_shared_by_64_strands",
    "thread_local_over_400k_variables",
];

fn main() {
    if let Some(threads) = std::env::var_os(THREADS) {
        return program(threads.to_string_lossy().parse().expect("a number"));
    }
    // Cargo passes its own options; anything else chooses lines.
    let filters: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let is_chosen =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
    println!("events over a Unix socket, millions a second, the samples in order");
    for name in NAMES.into_iter().filter(|name| is_chosen(name)) {
        let events = Shape::named(name).take(LENGTH);
        measure(name, || send(&events));
    }
    for threads in [1, 2] {
        let name = format!("program_of_{threads}_threads");
        if is_chosen(&name) {
            measure(&name, || run(threads));
        }
    }
}

/// Prints what the samples take, where one has so many events.
fn measure(name: &str, sample: impl Fn() -> u64) {
    let mut rates: Vec<f64> = Vec::new();
    for _ in 0..SAMPLES {
        let start = Instant::now();
        let events = sample() as f64;
        rates.push(events / start.elapsed().as_secs_f64() / MILLION as f64);
    }
    rates.sort_by(f64::total_cmp);
    let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:6.1}")).collect();
    println!("{name:34} {}", rates.join(" "));
}

/// An observer of one process, which only checks.
struct Observer {
    process: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Observer {
    fn start() -> Observer {
        let mut process = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
            .args(["observe", "--processes=1", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let mut stderr = BufReader::new(process.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it says where");
        let (_, address) = line.trim().split_once('=').expect("an address");
        Observer {
            address: address.to_owned(),
            process,
            stderr,
        }
    }

    /// How many events it has judged, and that they are serializable.
    fn end(mut self) -> u64 {
        let mut report = String::new();
        let mut stdout = self.process.stdout.take().expect("piped");
        stdout.read_to_string(&mut report).expect("a report");
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("what it says");
        assert!(self.process.wait().expect("it ends").success(), "{said}");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["verdict"], "serializable");
        report["events"].as_u64().expect("a number")
    }
}

/// Sends a trace as a process does.
fn send(events: &[Event]) -> u64 {
    let observer = Observer::start();
    let path = observer.address.trim_start_matches("unix:");
    let socket = UnixStream::connect(path).expect("it listens");
    let mut writer = AeroWriter::new(socket, Semantics::Paper).expect("it reads");
    for event in events {
        writer.event(event).expect("it reads");
    }
    drop(writer.finish().expect("it reads"));
    assert_eq!(observer.end(), events.len() as u64);
    events.len() as u64
}

/// Runs a program to its end, and the observer to its report.
fn run(threads: usize) -> u64 {
    let observer = Observer::start();
    let status = Command::new(std::env::current_exe().expect("this program"))
        .env(THREADS, threads.to_string())
        .env("AERODROME_OBSERVER", &observer.address)
        .env("AERODROME_QUIET", "1")
        .status()
        .expect("this program runs");
    assert!(status.success());
    observer.end()
}

/// Threads that have a lock each.
fn program(threads: usize) {
    let counters: Vec<Mutex<u64>> = (0..threads).map(|_| Mutex::new(0)).collect();
    thread::scope(|s| {
        for counter in &counters {
            s.spawn(move || {
                for _ in 0..TRANSACTIONS / threads {
                    atomic_block!(*counter.lock().unwrap() += 1);
                }
            });
        }
    });
}
