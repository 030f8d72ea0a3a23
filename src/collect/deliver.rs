//! Telling: a violation is told on a strand of its own family, or, if none is left, when the
//! process ends.
//!
//! The collector's thread itself says nothing: a test harness captures the output of the test that
//! runs, which is another one.

use std::collections::HashSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use super::config::{Config, Mode, Predict};
use super::families::{Findings, test_of};
use super::session::Counts;
use crate::mark::{self, Block};
use crate::observe::Address;
use crate::predict::Forecast;
use crate::record::{self, pool};
use crate::report::source::{self, Workspace};
use crate::report::{Cause, Group, Report, Split, between, groups, json, text};
use crate::trace::shown::clean_lines;

type Handler = Arc<dyn Fn(&Report) + Send + Sync>;

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Calls `handler` with every violation, where the mode is [`Mode::Log`], instead of printing it.
///
/// It runs on the strand that tells the violation, and what it does is not recorded. If it panics,
/// that is said on standard error and the program goes on.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// static VIOLATIONS: AtomicUsize = AtomicUsize::new(0);
/// aerodrome::on_violation(|report| {
///     assert!(report.message.contains("is not atomic"));
///     VIOLATIONS.fetch_add(1, Ordering::Relaxed);
/// });
/// ```
pub fn on_violation(handler: impl Fn(&Report) + Send + Sync + 'static) {
    record::untracked(|| *HANDLER.lock() = Some(Arc::new(handler)));
}

/// How many forecasts have predicted a violation.
static PREDICTIONS: AtomicU64 = AtomicU64::new(0);

/// Writes to standard error, past the test harness. There may be names of the program's in it.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "aerodrome: {}", clean_lines(text));
}

/// What was told in tests, until the process ends.
static HELD: Mutex<String> = Mutex::new(String::new());

/// Writes to standard error, past the test harness: it keeps what `eprintln!` prints in a test that
/// passes to itself. The harness writes a test's name and its result apart, and nothing tells when
/// its line is complete. So what a test has to say is held until the harness has written its last.
fn print(text: &str, in_test: bool) {
    if in_test {
        let mut held = HELD.lock();
        held.push_str(text);
        held.push('\n');
    } else {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// The process ends: writes what was held.
pub(super) fn release() {
    let held = std::mem::take(&mut *HELD.lock());
    let _ = std::io::stderr().write_all(held.as_bytes());
}

/// Reports with one cause as people read them.
fn render(group: &Group<'_>) -> String {
    text::render_group(group, &text::Style::detect(&std::io::stderr()))
}

/// A forecast as people read it.
fn render_forecast(forecast: Forecast, config: &Config) -> String {
    let style = text::Style::detect(&std::io::stderr());
    let denied = config.predict == Predict::Deny;
    let forecast = forecast.with_sources(&Workspace::of_this_program());
    forecast.render(&style, denied)
}

/// A forecast without what is not wanted; nothing where nothing is left.
fn wanted(mut forecast: Forecast, config: &Config) -> Option<Forecast> {
    PREDICTIONS.fetch_add(forecast.fails().into(), Ordering::Relaxed);
    if !config.hints {
        forecast.retain_errors();
    }
    (!forecast.is_empty() || !forecast.notes.is_empty()).then_some(forecast)
}

/// Reads the sources that reports show, and appends them to the report file.
fn prepare(reports: Vec<Report>, config: &Config) -> Vec<Report> {
    if reports.is_empty() {
        return reports;
    }
    let reports = source::attach_all(reports, &Workspace::of_this_program());
    if let Some(path) = &config.report {
        if let Err(error) = json::append(path, &reports) {
            say(&format!(
                "AERODROME_REPORT: `{}` cannot be written: {error}",
                path.display()
            ));
        }
    }
    reports
}

/// Tells violations and predictions as the settings demand.
///
/// # Panics
///
/// With the reports, in [`Mode::Panic`]; with the predictions, under [`Predict::Deny`].
#[track_caller]
pub(super) fn tell(findings: Findings, config: &Config, how: Option<&str>) {
    let in_test = findings.in_test;
    let reports = prepare(findings.reports, config);
    let mut reasons = Vec::new();
    match config.mode {
        Mode::Panic => {
            reasons.extend(groups(&reports).iter().map(render));
            reasons.extend(how.filter(|_| !reports.is_empty()).map(str::to_owned));
        }
        Mode::Log | Mode::Off => {
            log(&reports, in_test);
            how.iter().for_each(|how| print(how, in_test));
        }
    }
    let forecasts = findings.forecasts.into_iter();
    for forecast in forecasts.filter_map(|forecast| wanted(forecast, config)) {
        match config.predict {
            Predict::Deny if config.mode == Mode::Panic && forecast.fails() => {
                reasons.push(render_forecast(forecast, config));
            }
            _ => print(&render_forecast(forecast, config), in_test),
        }
    }
    if !reasons.is_empty() {
        let what = if reports.is_empty() {
            "predicted atomicity violation"
        } else {
            "atomicity violation"
        };
        panic!("{what}\n\n{}", reasons.join("\n\n"));
    }
}

/// Causes, each with its test.
type Causes = HashSet<(Option<String>, Cause)>;

/// The causes that were logged: of what comes later one line is enough.
static LOGGED: LazyLock<Mutex<Causes>> = LazyLock::new(Mutex::default);

fn log(reports: &[Report], in_test: bool) {
    let handler = HANDLER.lock().clone();
    let Some(handler) = handler else {
        return log_by_cause(reports, in_test);
    };
    for report in reports {
        if catch_unwind(AssertUnwindSafe(|| handler(report))).is_err() {
            say("the handler of `on_violation` panicked");
        }
    }
}

fn log_by_cause(reports: &[Report], in_test: bool) {
    let mut logged = LOGGED.lock();
    for group in groups(reports) {
        let report = group.report;
        if logged.insert((report.test.clone(), Cause::of(report))) {
            print(&render(&group), in_test);
            continue;
        }
        for report in std::iter::once(report).chain(group.others) {
            let (message, between) = (&report.message, between(report));
            print(
                &format!("aerodrome: {message}: the same blocks and objects as before, {between}"),
                in_test,
            );
        }
    }
}

/// Tells at the end of the process, or of a test, what nobody has heard; whether the process has
/// thereby failed.
pub(super) fn tell_at_exit(findings: Findings, config: &Config) -> bool {
    let in_test = findings.in_test;
    let reports = prepare(findings.reports, config);
    for reports in reports.chunk_by(|a, b| a.test == b.test) {
        match config.mode {
            Mode::Log => log(reports, in_test),
            Mode::Panic | Mode::Off => {
                let groups = groups(reports);
                groups.iter().for_each(|it| print(&render(it), false));
            }
        }
    }
    let mut failed = !reports.is_empty();
    let forecasts = findings.forecasts.into_iter();
    for forecast in forecasts.filter_map(|forecast| wanted(forecast, config)) {
        failed |= config.predict == Predict::Deny && forecast.fails();
        print(&render_forecast(forecast, config), in_test);
    }
    failed && config.mode == Mode::Panic
}

/// Tells what was found too late for its test to fail of it: whether the process has thereby
/// failed.
pub(super) fn tell_late(findings: Findings, config: &Config, test: &str) -> bool {
    if findings.reports.is_empty() && findings.forecasts.is_empty() {
        return false;
    }
    let failed = tell_at_exit(findings, config);
    if failed {
        let text = format!(
            "aerodrome: test `{test}` has ended without a block or a join after this, so it is the process that fails; \
             with `#[aerodrome::test]` the test does"
        );
        print(&text, true);
    }
    failed
}

/// Appends the counts of the run, and which blocks were entered, to the file that
/// `AERODROME_SUMMARY` names: `cargo aerodrome` adds up those of all processes. Whether there is
/// such a file.
pub(super) fn append_summary(counts: &Counts, splits: &[Split], config: &Config) -> bool {
    let Some(path) = std::env::var_os("AERODROME_SUMMARY") else {
        return false;
    };
    let Counts {
        tests,
        events,
        exits,
        transactions,
        violations,
        repeats: _,
    } = counts;
    let blocks = mark::used_blocks();
    if events > exits || !blocks.is_empty() {
        let empty = mark::untracked_blocks().len();
        let predictions = PREDICTIONS.load(Ordering::Relaxed);
        let splits = splits.len();
        // In one write, because other processes append, too.
        let mut text = if config.observer.is_some() {
            // The sum of what several processes have found is no place for what they have not
            // judged.
            "observed\n".to_owned()
        } else {
            format!("{tests} {events} {transactions} {violations} {predictions} {splits} {empty}\n")
        };
        for block in blocks {
            text += &format!("entered {} {}\n", block.line, block.file);
        }
        let file = std::fs::OpenOptions::new().append(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            let path = std::path::Path::new(&path).display();
            say(&format!(
                "AERODROME_SUMMARY: `{path}` cannot be written: {error}"
            ));
        }
    }
    true
}

/// One line about the run where anything was tracked, one about the blocks that ran and in which
/// nothing was tracked, and one about each block that was split by a wait: marks that are weaker
/// than they look.
pub(super) fn summarize(counts: &Counts, splits: &[Split], config: &Config) {
    if let Some(line) = empty_blocks(&mark::untracked_blocks()) {
        say(&line);
    }
    for split in splits {
        say(&split.to_string());
    }
    if counts.events > counts.exits {
        say(&summary(counts, config));
    }
}

/// How many blocks are named on one line.
const NAMED_BLOCKS: usize = 4;

fn empty_blocks(blocks: &[&'static Block]) -> Option<String> {
    let (named, others) = blocks.split_at(blocks.len().min(NAMED_BLOCKS));
    let name = |block: &&Block| format!("`{}` ({}:{})", block.name(), block.file, block.line);
    let mut names: Vec<_> = named.iter().map(name).collect();
    if !others.is_empty() {
        names.push(format!("{} more", others.len()));
    }
    let last = names.pop()?;
    let names = if names.is_empty() {
        last
    } else {
        format!("{} and {last}", names.join(", "))
    };
    Some(format!(
        "nothing in {names} is tracked: is an import still `std::sync`?"
    ))
}

fn summary(counts: &Counts, config: &Config) -> String {
    let several = |count: u64, what| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {what}{plural}", short(count))
    };
    // A program that is no test has none to speak of.
    let tests = (counts.tests > 0).then(|| several(counts.tests, "test"));
    let rest = [
        several(counts.events, "event"),
        several(counts.transactions, "transaction"),
        match &config.observer {
            None => several(counts.violations, "violation"),
            Some(_) if pool::has_failed() => "not judged".to_owned(),
            Some(address) => format!("judged by the observer at `{address}`"),
        },
    ];
    let repeats = (counts.repeats > 0).then(|| several(counts.repeats, "repeat"));
    let parts = tests.into_iter().chain(rest).chain(repeats);
    let mut line = parts.collect::<Vec<_>>().join(", ");
    if let Some(path) = config.report.as_ref().filter(|_| counts.violations > 0) {
        line += &format!(" (report: {})", path.display());
    }
    line
}

/// A number as people read it: `3,480`, `1.2M`.
fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{},{:03}", number / 1_000, number % 1_000),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// What [`check`] saw.
#[derive(Clone, Debug)]
#[must_use = "the violations are in here and nowhere else"]
pub struct Outcome<R> {
    /// What the closure returned.
    pub value: R,
    /// The violations, in the order in which they were found.
    pub violations: Vec<Report>,
    /// What other schedules would show, where [`Config::predict`] is on and there is anything.
    pub forecast: Option<Forecast>,
    /// Why not everything could be judged. A thread that was stopped in the middle of a tracked
    /// operation, by a signal handler that does not return, say, holds up what others did after it;
    /// it is waited for, but not for ever.
    pub incomplete: Option<String>,
    /// Where events go to an observer ([`Config::observer`]): its address. It judges them, and
    /// nothing was judged here.
    pub observer: Option<Address>,
}

impl<R> Outcome<R> {
    /// Whether everything was judged, in this process, and no violation was found.
    pub fn is_serializable(&self) -> bool {
        self.violations.is_empty() && self.is_complete()
    }

    /// Whether everything was judged, and in this process.
    pub fn is_complete(&self) -> bool {
        self.incomplete.is_none() && self.observer.is_none()
    }
}

/// Runs `f` and returns its violations as a value instead of telling them.
///
/// What counts is what the current thread does in `f` and what the threads do that it starts there.
/// Threads that are still running when `f` returns are judged up to where they are.
///
/// ```
/// use aerodrome::sync::Mutex;
/// use aerodrome::thread;
///
/// let balance = Mutex::new(100);
/// let outcome = aerodrome::check(|| {
///     thread::scope(|s| {
///         s.spawn(|| {
///             aerodrome::atomic_block! {
///                 *balance.lock().unwrap() -= 30;
///             }
///         });
///     });
/// });
/// assert!(outcome.is_serializable());
/// assert_eq!(*balance.lock().unwrap(), 70);
/// ```
///
/// # Panics
///
/// If `f` panics.
pub fn check<R>(f: impl FnOnce() -> R) -> Outcome<R> {
    check_run(false, f)
}

/// The same of one run of several; predictions are made of none that is explored.
pub(crate) fn check_run<R>(is_explored: bool, f: impl FnOnce() -> R) -> Outcome<R> {
    let family = record::new_family();
    record::untracked(|| {
        super::with(|collector| collector.session.families.collect(family, is_explored))
    });
    let regroup = record::regroup(family);
    record::name_current_strand();
    let result = catch_unwind(AssertUnwindSafe(f));
    let incomplete = super::catch_up_with_family(family).err();
    drop(regroup);
    let Findings {
        mut reports,
        forecasts,
        ..
    } = record::untracked(|| super::with(|collector| collector.session.take_all(family)))
        .unwrap_or_default();
    let test = std::thread::current().name().and_then(test_of);
    reports
        .iter_mut()
        .for_each(|report| report.test.clone_from(&test));
    match result {
        Ok(value) => Outcome {
            value,
            violations: reports,
            forecast: forecasts.into_iter().next(),
            incomplete,
            observer: super::config().observer,
        },
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Tells what [`check`] saw in a test; `how` is said of the violations.
///
/// # Panics
///
/// As the settings demand.
#[track_caller]
pub(crate) fn tell_outcome<R>(outcome: Outcome<R>, how: Option<&str>) -> R {
    let findings = Findings {
        reports: outcome.violations,
        forecasts: outcome.forecast.into_iter().collect(),
        in_test: true,
    };
    let _untracked = record::Untracked::new();
    let config = super::config();
    tell(findings, &config, how);
    let incomplete = outcome.incomplete;
    if let Some(reason) = incomplete.filter(|_| config.mode == Mode::Panic) {
        panic!("{}", super::incomplete(reason));
    }
    outcome.value
}

/// Tells a failure of a test that is no violation.
///
/// # Panics
///
/// With the text, where the settings say so.
#[track_caller]
pub(crate) fn tell_problem(text: &str) {
    let _untracked = record::Untracked::new();
    match super::config().mode {
        Mode::Panic => panic!("{text}"),
        Mode::Log | Mode::Off => print(text, true),
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Counts, summary};

    #[test]
    fn the_summary_reads_as_a_sentence() {
        let counts = |tests, events, transactions, violations| Counts {
            tests,
            events,
            exits: 0,
            transactions,
            violations,
            repeats: 7 * u64::from(violations > 1),
        };
        let silent = Config::default();
        let written = Config::default().report("target/aerodrome/report.json");
        for (counts, config, line) in [
            (
                counts(12, 1_234_567, 3_480, 1),
                &written,
                "12 tests, 1.2M events, 3,480 transactions, 1 violation (report: target/aerodrome/report.json)",
            ),
            (
                counts(1, 1, 0, 0),
                &written,
                "1 test, 1 event, 0 transactions, 0 violations",
            ),
            (
                counts(0, 999_999, 1, 2),
                &silent,
                "999,999 events, 1 transaction, 2 violations, 7 repeats",
            ),
            (
                counts(0, 7, 2, 0),
                &Config::default().observer("/tmp/o.sock".parse().unwrap()),
                "7 events, 2 transactions, judged by the observer at `unix:/tmp/o.sock`",
            ),
        ] {
            assert_eq!(summary(&counts, config), line);
        }
    }
}
