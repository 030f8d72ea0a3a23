//! `cargo aerodrome suggest`: which public methods behave atomically in the tests.
//!
//! All of them are marked, the tests run to their end whatever is found, and each process writes
//! its events into a file. A method is worth a mark if some run of it outside of other methods
//! touches tracked state more than once; it can be marked if none of its runs was to blame for a
//! violation. Of a method that waits inside, the parts were judged and not the whole. A wait at a
//! barrier may be a test's way to arrange its schedule, so there the whole is judged as well, as if
//! barriers were not tracked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Failure;
use super::arguments::{Options, Verb};
use super::run::{prepare, read_reports};
use super::summary::several;
use crate::check::{Checker, EngineKind, Violation};
use crate::report::source::Workspace;
use crate::report::{Extras, Place, Report, Split};
use crate::trace::{self, Class, Event, Names, ObjectKind, Op, Semantics, Source, Tables};

/// How many events of each test program are looked at: some 50 MB on the disk.
const BOUND: u64 = 8_000_000;

pub(super) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let prepared = prepare(Verb::Test, options, |marks| marks.public_methods = true)?;
    let folder = &prepared.project.folder;
    let (reports, traces) = (folder.join("suggest.json"), folder.join("suggest"));
    let _ = fs::remove_dir_all(&traces);
    fs::create_dir_all(&traces).map_err(Failure::at(&traces))?;
    // What the compiler says is for the user.
    let mut build = options.clone();
    build.cargo.insert(0, "--no-run".into());
    let built = prepared.cargo(Verb::Test, &build, None, |_| ())?;
    if built.cargo != Some(0) {
        return Ok(built.code());
    }
    // What the tests say has every report in it, as often as it was found.
    let log = folder.join("suggest.log");
    let output = File::create(&log).map_err(Failure::at(&log))?;
    let errors = output.try_clone().map_err(Failure::at(&log))?;
    eprintln!(
        "aerodrome: the tests run, and say what they say in {}",
        log.display()
    );
    let outcome = while_watching(&traces, || {
        prepared.cargo(Verb::Test, options, Some(&reports), |command| {
            command
                .env("AERODROME", "log")
                .env("AERODROME_TRACE", &traces)
                .env("AERODROME_TRACE_EVENTS", BOUND.to_string());
            command.stdout(output).stderr(errors);
        })
    })?;
    if outcome.cargo != Some(0) {
        eprintln!("aerodrome: some of them have failed");
    }
    let places = std::env::current_dir().into_iter();
    let workspace = Workspace::above([prepared.project.root.clone()].into_iter().chain(places));
    let usage = usage_of(&traces, &workspace)?;
    let _ = fs::remove_dir_all(&traces);
    let verdicts = Verdicts::new(usage, &read_reports(&reports)?);
    print!("{}", verdicts.text(prepared.found.functions.len()));
    Ok(ExitCode::SUCCESS)
}

/// Runs something, and shows on a terminal how far the tests are meanwhile.
fn while_watching<R>(traces: &Path, run: impl FnOnce() -> R) -> R {
    let bar = spinner();
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|s| {
        let bar = &bar;
        s.spawn(move || {
            let second = Duration::from_secs(1);
            while ended.recv_timeout(second) == Err(RecvTimeoutError::Timeout) {
                let files = fs::read_dir(traces).into_iter().flatten().flatten();
                let lengths: Vec<u64> = files
                    .filter_map(|file| Some(file.metadata().ok()?.len()))
                    .collect();
                let programs = several(lengths.len() as u64, "test program");
                let megabytes = lengths.iter().sum::<u64>() / 1_000_000;
                bar.set_message(format!("{programs} so far, {megabytes} MB of events"));
            }
        });
        let result = run();
        drop(end);
        bar.finish_and_clear();
        result
    })
}

/// A line on the terminal that moves while something takes its time; nothing elsewhere.
fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {elapsed}  {msg}");
    let bar = ProgressBar::new_spinner().with_style(style.expect("the template is good"));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// What the runs of a block have touched.
#[derive(Debug, Default)]
struct Usage {
    runs: u64,
    /// The largest number of tracked accesses in one run.
    accesses: u64,
    /// Where a run has waited for others.
    wait: Option<Place>,
    /// Whether some wait was at another place than a barrier.
    waits_elsewhere: bool,
    /// What went wrong as if barriers were not tracked.
    without_barriers: Option<Report>,
}

/// What the blocks did, by their names.
fn usage_of(folder: &Path, workspace: &Workspace) -> Result<BTreeMap<String, Usage>, Failure> {
    let mut usage: BTreeMap<String, Usage> = BTreeMap::new();
    let entries = fs::read_dir(folder).map_err(Failure::at(folder))?;
    let entries: Vec<_> = entries.flatten().collect();
    let bar = spinner();
    for (at, entry) in entries.iter().enumerate() {
        let path = entry.path();
        let name = path.to_string_lossy();
        let (this, all) = (at + 1, entries.len());
        bar.set_message(format!(
            "looks at the events of test program {this} of {all}"
        ));
        let mut source = trace::open(&name, None).map_err(Failure::at(&path))?;
        let events = count(&mut *source, &mut usage).map_err(Failure::at(&path))?;
        // The rest of the bound is names.
        if events > BOUND / 10 * 9 {
            let stem = path.file_stem().unwrap_or_default();
            bar.suspend(|| {
                eprintln!(
                    "aerodrome: of `{}` only the first {events} events are looked at: a method \
                     that runs later is not known to have run",
                    stem.to_string_lossy()
                );
            });
        }
    }
    bar.finish_and_clear();
    for usage in usage.values_mut() {
        let report = usage.without_barriers.take();
        usage.without_barriers = report.map(|report| report.with_sources(workspace));
    }
    Ok(usage)
}

/// The outermost block that a strand is in, and how often this run of it has touched something.
#[derive(Default)]
struct Open {
    depth: u32,
    block: String,
    accesses: u64,
}

/// Adds what the runs of a trace's blocks did; the number of events.
fn count(
    source: &mut dyn Source,
    usage: &mut BTreeMap<String, Usage>,
) -> Result<u64, trace::Error> {
    let mut strands: BTreeMap<u32, Open> = BTreeMap::new();
    let mut rules = source.rules();
    let mut checker = Checker::new(EngineKind::default(), source.semantics());
    let mut without_barriers = WithoutBarriers::new(source.semantics());
    let mut batch = Vec::new();
    let mut position = 0;
    while source.fill(&mut batch)? {
        for event in batch.drain(..) {
            position += 1;
            let open = strands.entry(event.strand.0).or_default();
            open.take(&event, source.names(), usage);
            // Only the checker knows which pauses were waits; the violations are reported already.
            if let Ok(Some(event)) = rules.admit(&event) {
                let _ = checker.step(event, position, source.names());
                without_barriers.step(event, position, source.names());
            }
        }
    }
    for split in Split::all(&checker, source.names()) {
        usage.entry(split.block).or_default().wait = split.wait;
    }
    without_barriers.finish(source.names(), usage);
    Ok(position)
}

/// A check in which barriers order nothing and split nothing, as if they were std's.
struct WithoutBarriers {
    checker: Checker,
    /// Strands that have come to a barrier, and whose split is their next event.
    waiting: BTreeSet<u32>,
    reports: Vec<Report>,
}

impl WithoutBarriers {
    fn new(semantics: Semantics) -> WithoutBarriers {
        WithoutBarriers {
            checker: Checker::new(EngineKind::default(), semantics),
            waiting: BTreeSet::new(),
            reports: Vec::new(),
        }
    }

    fn step(&mut self, event: Event, position: u64, names: &Tables) {
        let is_waiting = self.waiting.remove(&event.strand.0);
        match event.op {
            Op::Signal | Op::Await if is_barrier(&event, names) => {
                if event.op == Op::Signal {
                    self.waiting.insert(event.strand.0);
                }
            }
            Op::Split if is_waiting => {}
            _ => {
                let found = self.checker.step(event, position, names);
                self.report(found.as_deref(), names);
            }
        }
    }

    fn report(&mut self, found: Option<&Violation>, names: &Tables) {
        let reports = found
            .into_iter()
            .map(|found| Report::new(found, names, &Extras::default()));
        self.reports.extend(reports);
    }

    fn finish(mut self, names: &Tables, usage: &mut BTreeMap<String, Usage>) {
        while let Some(found) = self.checker.finish(names) {
            self.report(Some(&found), names);
        }
        for split in Split::all(&self.checker, names) {
            usage.entry(split.block).or_default().waits_elsewhere = true;
        }
        for report in self.reports {
            if let Some(block) = &report.transactions[report.blame].block {
                let usage = usage.entry(block.name.clone()).or_default();
                usage.without_barriers.get_or_insert(report);
            }
        }
    }
}

fn is_barrier(event: &Event, names: &Tables) -> bool {
    let type_name = names.object(event.object()).type_name;
    type_name.is_some_and(|name| name.rsplit("::").next() == Some("Barrier"))
}

impl Open {
    /// Takes the strand's next event. What is done under one hold of a lock is one access.
    fn take(&mut self, event: &Event, names: &Tables, usage: &mut BTreeMap<String, Usage>) {
        match event.op {
            Op::Begin => {
                self.depth += 1;
                if self.depth == 1 {
                    self.block = names.block(event.block()).name;
                    self.accesses = 0;
                }
            }
            Op::End => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    let usage = usage.entry(std::mem::take(&mut self.block)).or_default();
                    usage.runs += 1;
                    usage.accesses = usage.accesses.max(self.accesses);
                }
            }
            Op::Acquire | Op::AcquireShared => self.accesses += 1,
            op => {
                let is_data = matches!(op.row().class, Class::Read | Class::Write | Class::Update);
                let locks = [ObjectKind::Lock, ObjectKind::BareLock];
                let is_guarded = || locks.contains(&names.kind(event.object()));
                self.accesses += u64::from(is_data && !is_guarded());
            }
        }
    }
}

/// What is said of the methods.
#[derive(Default)]
struct Verdicts {
    /// With the number of runs.
    atomic: Vec<(String, u64)>,
    /// With what went wrong.
    not_atomic: Vec<(String, String)>,
    /// With where they waited, and how they did.
    waiting: Vec<(String, Place, Usage)>,
    /// Methods that ran and touched tracked state once at most: a mark would say nothing.
    single: usize,
}

impl Verdicts {
    fn new(usage: BTreeMap<String, Usage>, reports: &[Report]) -> Verdicts {
        let mut blamed: BTreeMap<&str, &Report> = BTreeMap::new();
        for report in reports {
            if let Some(block) = &report.transactions[report.blame].block {
                blamed.entry(&block.name).or_insert(report);
            }
        }
        let mut verdicts = Verdicts::default();
        for (name, usage) in usage {
            match usage.wait {
                _ if blamed.contains_key(name.as_str()) => {}
                Some(ref place) => {
                    let place = place.clone();
                    verdicts.waiting.push((name, place, usage));
                }
                None if usage.accesses > 1 => verdicts.atomic.push((name, usage.runs)),
                None => verdicts.single += 1,
            }
        }
        let told = blamed
            .iter()
            .map(|(name, report)| (name.to_string(), text_of(report)));
        verdicts.not_atomic.extend(told);
        verdicts
    }

    fn text(&self, marked: usize) -> String {
        let mut text = String::new();
        let mut line = |part: String| {
            text += &part;
            text.push('\n');
        };
        for (name, report) in &self.not_atomic {
            line(format!("{name} was not atomic:\n\n{report}"));
        }
        for (name, place, usage) in &self.waiting {
            line(format!(
                "{name} waits for others at {place}: a mark would not hold"
            ));
            if !usage.waits_elsewhere {
                let otherwise = match &usage.without_barriers {
                    Some(report) => format!("{name} was not atomic:\n\n{}", text_of(report)),
                    None => atomic_in(name, usage.runs),
                };
                line(format!(
                    "  if only the test needs that barrier, and takes std's own (`std::real`), \
                     {otherwise}"
                ));
            }
        }
        for (name, runs) in &self.atomic {
            line(atomic_in(name, *runs));
        }
        if !self.atomic.is_empty() {
            let names = self.atomic.iter().map(|(name, _)| format!("{name:?}"));
            let names: Vec<_> = names.collect();
            line(format!("\naerodrome.toml: atomic = [{}]", names.join(", ")));
        }
        line(format!(
            "{marked} public methods: {} atomic, {} not, {} with a wait; {} touched tracked state \
             once at most, the others did not run outside of these",
            self.atomic.len(),
            self.not_atomic.len(),
            self.waiting.len(),
            self.single,
        ));
        text
    }
}

fn atomic_in(name: &str, runs: u64) -> String {
    match runs {
        1 => format!("{name} was atomic in its only run"),
        _ => format!("{name} was atomic in all of {runs} runs"),
    }
}

fn text_of(report: &Report) -> String {
    crate::report::text::render(
        report,
        &crate::report::text::Style::detect(&std::io::stdout()),
    )
}
