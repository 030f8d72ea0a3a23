//! `cargo aerodrome suggest`: which public methods behave atomically in the tests.
//!
//! All of them are marked, the tests run to their end whatever is found, and each process writes
//! its events into a file. A method is worth a mark if some run of it outside of other methods
//! touches tracked state more than once; it can be marked if none of its runs was to blame for a
//! violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::Failure;
use super::arguments::{Options, Verb};
use super::run::{prepare, read_reports};
use crate::report::Report;
use crate::trace::{self, Class, Names, ObjectKind, Op, Source};

pub(super) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let (prepared, marks) = prepare(options, |marks| marks.public_methods = true)?;
    let folder = &prepared.project.folder;
    let (reports, traces) = (folder.join("suggest.json"), folder.join("suggest"));
    let _ = fs::remove_dir_all(&traces);
    fs::create_dir_all(&traces).map_err(|error| Failure::file(&traces, &error))?;
    let directory = traces
        .to_str()
        .ok_or_else(|| Failure::new(format!("{}: expected a path in UTF-8", traces.display())))?;
    let variables = [("AERODROME", "log"), ("AERODROME_TRACE", directory)];
    prepared.cargo(Verb::Test, options, Some(&reports), &variables)?;
    let usage = usage_of(&traces)?;
    let _ = fs::remove_dir_all(&traces);
    let verdicts = Verdicts::new(&usage, &read_reports(&reports)?);
    print!("{}", verdicts.text(marks.marked().len()));
    Ok(ExitCode::SUCCESS)
}

/// What the runs of a block have touched.
#[derive(Debug, Default)]
struct Usage {
    runs: u64,
    /// The largest number of tracked accesses in one run.
    accesses: u64,
}

/// What the blocks did, by their names.
fn usage_of(folder: &Path) -> Result<BTreeMap<String, Usage>, Failure> {
    let mut usage = BTreeMap::new();
    let entries = fs::read_dir(folder).map_err(|error| Failure::file(folder, &error))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let wrong =
            |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
        let name = path.to_string_lossy();
        let mut source = trace::open(&name, None).map_err(|error| wrong(&error))?;
        count(&mut *source, &mut usage).map_err(|error| wrong(&error))?;
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

/// Adds what the runs of a trace's blocks did. What is done under one hold of a lock is one access.
fn count(source: &mut dyn Source, usage: &mut BTreeMap<String, Usage>) -> Result<(), trace::Error> {
    let mut strands: BTreeMap<u32, Open> = BTreeMap::new();
    let mut batch = Vec::new();
    while source.fill(&mut batch)? {
        for event in batch.drain(..) {
            let open = strands.entry(event.strand.0).or_default();
            match event.op {
                Op::Begin => {
                    open.depth += 1;
                    if open.depth == 1 {
                        open.block = source.names().block(event.block()).name;
                        open.accesses = 0;
                    }
                }
                Op::End => {
                    open.depth = open.depth.saturating_sub(1);
                    if open.depth == 0 {
                        let usage = usage.entry(std::mem::take(&mut open.block)).or_default();
                        usage.runs += 1;
                        usage.accesses = usage.accesses.max(open.accesses);
                    }
                }
                Op::Acquire | Op::AcquireShared => open.accesses += 1,
                op => {
                    let is_data =
                        matches!(op.row().class, Class::Read | Class::Write | Class::Update);
                    let locks = [ObjectKind::Lock, ObjectKind::BareLock];
                    let is_guarded = || locks.contains(&source.names().kind(event.object()));
                    open.accesses += u64::from(is_data && !is_guarded());
                }
            }
        }
    }
    Ok(())
}

/// What is said of the methods.
struct Verdicts {
    atomic: Vec<(String, u64)>,
    /// With what went wrong.
    not_atomic: Vec<(String, String)>,
    /// Methods that ran and touched tracked state once at most: a mark would say nothing.
    single: usize,
}

impl Verdicts {
    fn new(usage: &BTreeMap<String, Usage>, reports: &[Report]) -> Verdicts {
        let mut blamed: BTreeMap<&str, &Report> = BTreeMap::new();
        for report in reports {
            if let Some(block) = &report.transactions[report.blame].block {
                blamed.entry(&block.name).or_insert(report);
            }
        }
        let several = usage
            .iter()
            .filter(|(name, usage)| usage.accesses > 1 && !blamed.contains_key(name.as_str()));
        let single = usage
            .iter()
            .filter(|(name, usage)| usage.accesses <= 1 && !blamed.contains_key(name.as_str()));
        Verdicts {
            atomic: several
                .map(|(name, usage)| (name.clone(), usage.runs))
                .collect(),
            not_atomic: blamed
                .iter()
                .map(|(name, report)| (name.to_string(), text_of(report)))
                .collect(),
            single: single.count(),
        }
    }

    fn text(&self, marked: usize) -> String {
        let ran: BTreeSet<_> = self.atomic.iter().map(|(name, _)| name).collect();
        let mut text = String::new();
        let mut line = |part: String| {
            text += &part;
            text.push('\n');
        };
        for (name, report) in &self.not_atomic {
            line(format!("{name} was not atomic:\n\n{report}"));
        }
        for (name, runs) in &self.atomic {
            line(format!("{name} was atomic in all of {runs} runs"));
        }
        if !ran.is_empty() {
            let names: Vec<_> = ran.iter().map(|name| format!("{name:?}")).collect();
            line(format!("\naerodrome.toml: atomic = [{}]", names.join(", ")));
        }
        line(format!(
            "{marked} public methods: {} atomic, {} not; {} touched tracked state once at most, \
             the others did not run outside of these",
            self.atomic.len(),
            self.not_atomic.len(),
            self.single,
        ));
        text
    }
}

fn text_of(report: &Report) -> String {
    crate::report::text::render(
        report,
        &crate::report::text::Style::detect(&std::io::stdout()),
    )
}
