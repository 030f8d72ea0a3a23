//! A report names who did it, not who has its number now: in process, with a window of events, and
//! from the trace of the same run.

#![cfg(all(feature = "check", feature = "json"))]

mod process;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use aerodrome::check::{Checker, EngineKind};
use aerodrome::report::{Extras, Report, json};
use aerodrome::sync::atomic::AtomicU64;
use aerodrome::trace::{self, Semantics};
use aerodrome::{atomic_block, thread};

use self::process::{Directory, Ended, child, run};

/// A schedule by numbers, which nothing tracks.
struct Step(AtomicUsize);

impl Step {
    fn at(&self, number: usize) {
        while self.0.load(SeqCst) < number {
            std::thread::yield_now();
        }
    }

    fn to(&self, number: usize) {
        self.0.store(number, SeqCst);
    }
}

/// Until numbers that were given back before have been merged, and can be had again.
fn until_numbers_are_back() {
    std::thread::sleep(Duration::from_millis(50));
}

/// One violation is reported, by a process that has run `test`, in its trace, and on the page of
/// its report file.
fn reports(test: &str) -> Vec<Report> {
    let (traces, files) = (Directory::new(), Directory::new());
    let file = files.path().join("report.json");
    let plain = run(&mut child(test)).expect_code(0);
    let _ = run(child(test).env("AERODROME_TRACE", traces.path())).expect_code(0);
    let windowed = run(child(test).env("AERODROME_REPORT", &file)).expect_code(0);
    let mut all: Vec<Report> = [plain, windowed].iter().map(told).collect();
    all.extend(judge(&traces.trace()));
    all
}

/// The report that the child has printed.
fn told(child: &Ended) -> Report {
    let line = child.stdout.lines().find(|line| line.starts_with('{'));
    let mut reports = json::read(line.expect("a report").as_bytes()).expect("a report");
    reports.remove(0)
}

/// The violations in a trace.
fn judge(path: &str) -> Vec<Report> {
    let mut source = trace::open(path, None).expect("a trace");
    let mut checker = Checker::new(EngineKind::Exact, Semantics::Rust);
    let (mut batch, mut position, mut reports) = (Vec::new(), 0, Vec::new());
    while source.fill(&mut batch).expect("a whole trace") {
        for &event in &batch {
            position += 1;
            if let Some(violation) = checker.step(event, position, source.names()) {
                let extras = Extras::default();
                reports.push(Report::new(&violation, source.names(), &extras));
            }
        }
    }
    while let Some(violation) = checker.finish(source.names()) {
        reports.push(Report::new(&violation, source.names(), &Extras::default()));
    }
    reports
}

/// Runs it, and prints its only violation.
fn print_violation(program: impl FnOnce()) {
    let mut outcome = aerodrome::check(program);
    assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
    outcome.violations[0].window = None;
    println!("\n{}", json::line(&outcome.violations[0]));
}

#[test]
fn a_strand_keeps_its_name_after_its_number_was_given_to_another() {
    let all = reports("child_strand");
    assert_eq!(all.len(), 3);
    for report in all {
        let names: Vec<&str> = report.accesses.iter().map(|it| &*it.strand).collect();
        assert_eq!(names, ["T", "reader", "reader", "T"], "{report}");
    }
}

#[test]
fn child_strand() {
    if !process::is_child() {
        return;
    }
    let (x, y, step) = (
        AtomicU64::new(0),
        AtomicU64::new(0),
        Step(AtomicUsize::new(0)),
    );
    let named = |name: &str| thread::Builder::new().name(name.into());
    print_violation(|| {
        thread::scope(|scope| {
            let (x, y, step) = (&x, &y, &step);
            let block = move || {
                atomic_block! {
                    y.store(1, SeqCst);
                    step.to(1);
                    step.at(2);
                    x.store(1, SeqCst);
                    step.to(3);
                }
            };
            named("T").spawn_scoped(scope, block).unwrap();
            step.at(1);
            let read = move || {
                y.load(SeqCst);
                x.load(SeqCst);
            };
            let reader = named("reader").spawn_scoped(scope, read).unwrap();
            reader.join().unwrap();
            until_numbers_are_back();
            for _ in 0..3 {
                let wait = move || {
                    y.load(SeqCst);
                    step.at(3);
                };
                named("LATER").spawn_scoped(scope, wait).unwrap();
            }
            until_numbers_are_back();
            step.to(2);
        })
    });
}

#[test]
fn an_object_keeps_its_name_after_its_number_was_given_to_another() {
    let all = reports("child_object");
    assert_eq!(all.len(), 3);
    for report in all {
        let names: Vec<&str> = report
            .accesses
            .iter()
            .map(|it| report.object_of(it).unwrap().name.as_deref().unwrap_or("-"))
            .collect();
        assert_eq!(names, ["old", "old", "x", "x"], "{report}");
    }
}

#[test]
fn child_object() {
    if !process::is_child() {
        return;
    }
    let (x, step) = (AtomicU64::new(0), Step(AtomicUsize::new(0)));
    aerodrome::name(&x, "x");
    print_violation(|| {
        let old = std::sync::Arc::new(AtomicU64::new(0));
        aerodrome::name(&*old, "old");
        let theirs = old.clone();
        thread::scope(|scope| {
            let (x, step) = (&x, &step);
            scope.spawn(move || {
                atomic_block! {
                    theirs.store(1, SeqCst);
                    drop(theirs);
                    step.to(1);
                    step.at(2);
                    x.store(1, SeqCst);
                }
            });
            step.at(1);
            old.load(SeqCst);
            x.load(SeqCst);
            drop(old);
            until_numbers_are_back();
            let new: Vec<_> = (0..256).map(|_| AtomicU64::new(0)).collect();
            for object in &new {
                aerodrome::name(object, "NEW");
                object.store(1, SeqCst);
            }
            until_numbers_are_back();
            step.to(2);
        });
    });
}
