//! Collecting: the strands' records are put into one order, judged, and what is found is told.
//!
//! The collector's state sits behind one mutex; whoever holds it drains. A background thread polls,
//! because waking it would cost a strand more than the event itself; a strand that needs an answer
//! now (a join by a family's first strand, the end of a test, the end of the process) drains by
//! itself.

mod cancelled;
mod config;
mod deliver;
mod export;
mod families;
mod live;
mod memory;
mod merge;
mod observer;
mod predictor;
mod properties;
mod repeats;
mod session;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

pub use self::config::{Config, ConfigError, Mode, Predict};
pub use self::deliver::run_test;
use self::deliver::say;
pub use self::deliver::{Outcome, check, on_violation};
use self::merge::Merge;
use self::session::Session;
use crate::record::host::{self, Host, Started};
use crate::record::{self, pool};
use crate::trace::ObjectId;

/// The collector.
struct Collector {
    merge: Merge,
    session: Session,
    /// The record for which somebody has waited in vain: nobody else does.
    given_up: Option<(ObjectId, Option<u32>)>,
}

impl Collector {
    /// Merges and judges what is there, for a while; whether there was anything.
    fn drain(&mut self) -> bool {
        self.work(true) > 0
    }

    /// Like [`drain`](Self::drain); what can be had for less later is left until then. How many
    /// records it were.
    fn work(&mut self, everything: bool) -> u32 {
        let records = self.merge.run(everything, &mut self.session);
        pool::note_run(self.session.sees_spinning());
        for first in self.session.families.take_alarms() {
            self.merge.alarm(|strand| strand == first);
        }
        records
    }

    /// What the collector's thread does again and again; how many records it were.
    fn poll(&mut self) -> u32 {
        let records = self.work(false);
        if records >= MANY || !self.session.is_observed() {
            return records;
        }
        // What the observer has survives this process, transactions that are open included.
        let rest = self.work(true);
        self.session.flush_observer();
        records + rest
    }
}

/// A few records can wait, and to wake up for them takes a processor from the program.
const MANY: u32 = 256;

static COLLECTOR: Mutex<Option<Collector>> = Mutex::new(None);

const NOT_STARTED: u8 = 0;
const STARTING: u8 = 1;
const RUNNING: u8 = 2;
static STAGE: AtomicU8 = AtomicU8::new(NOT_STARTED);

// The attribute of the same name would be one more procedural macro to compile.
ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn at_start() {
        host::install(&Process);
        start();
    }
}

/// This process's collector, as the recorder knows it.
struct Process;

impl Host for Process {
    fn start(&self) -> Started {
        start()
    }

    #[track_caller]
    fn deliver(&self, family: u32) {
        deliver(family);
    }

    fn first_strand_ends(&self) {
        first_strand_ends();
    }

    fn speaks_of(&self, family: u32, name: &dyn Fn() -> String) -> Option<String> {
        if OPEN.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let name = name();
        let speaks = with(|it| it.session.properties.speak_of(family, &name))?;
        speaks.then_some(name)
    }

    fn failed(&self, payload: Box<dyn Any + Send>) {
        let telling = Telling::begin();
        telling.fail(&describe(payload));
    }

    fn give_up(&self, what: &'static str) {
        let telling = Telling::begin();
        if pool::fail() {
            telling.fail(&format!("{what}; the verdict is incomplete"));
        }
    }
}

/// Starts collecting, once.
fn start() -> Started {
    if STAGE.load(Ordering::Acquire) != RUNNING {
        match STAGE.compare_exchange(NOT_STARTED, STARTING, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                record::untracked(|| record::guarded(launch));
                STAGE.store(RUNNING, Ordering::Release);
            }
            Err(RUNNING) => {}
            Err(_) => return Started::NotYet,
        }
    }
    if pool::is_off() {
        Started::Off
    } else {
        Started::Yes
    }
}

fn launch() {
    let config = Config::from_env().unwrap_or_else(|error| {
        say(&error.to_string());
        std::process::exit(2);
    });
    if config.mode == Mode::Off {
        return pool::switch_off();
    }
    pool::prepare();
    *COLLECTOR.lock() = Some(Collector {
        merge: Merge::default(),
        session: Session::new(config),
        given_up: None,
    });
    let thread = std::thread::Builder::new()
        .name("aerodrome".into())
        .spawn(poll);
    if let Err(error) = thread {
        let reason = format!("the collector's thread could not be started: {error}");
        return Telling::begin().fail(&reason);
    }
    // SAFETY: both are functions that C may call.
    unsafe {
        #[cfg(unix)]
        pthread_atfork(None, None, Some(in_forked_child));
        atexit(at_exit);
    }
}

/// The process is a child of `fork(2)`: it has neither the collector's thread nor any that might
/// hold its locks. Nothing is recorded in it.
#[cfg(unix)]
extern "C" fn in_forked_child() {
    pool::switch_off();
    // A thread that was about to print does so in the parent.
    TELLING.store(0, Ordering::Relaxed);
    observer::close_inherited();
    record::never_track_this_thread();
}

unsafe extern "C" {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[link_name = "exit"]
    safe fn go_on_exiting(code: std::ffi::c_int) -> !;
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    #[link_name = "_exit"]
    safe fn go_on_exiting(code: std::ffi::c_int) -> !;
    fn atexit(f: extern "C" fn()) -> std::ffi::c_int;
    #[cfg(unix)]
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> std::ffi::c_int;
}

/// The background thread.
fn poll() {
    record::never_track_this_thread();
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut pause = Duration::from_micros(50);
    while !pool::is_off() {
        let records = with(Collector::poll);
        pool::give_way(processors);
        // As many, and four a microsecond: otherwise a long pause finds many of any program.
        pause = if records >= Some(MANY.max(4 * pause.as_micros() as u32)) {
            Duration::from_micros(50)
        } else {
            (pause * 2).min(Duration::from_millis(2))
        };
        std::thread::sleep(pause);
    }
}

/// Runs `f` on the collector; nothing if checking is off, or ends with this.
fn with<R>(f: impl FnOnce(&mut Collector) -> R) -> Option<R> {
    if pool::is_off() {
        return None;
    }
    let mut guard = COLLECTOR.lock();
    let collector = guard.as_mut().filter(|_| !pool::is_off())?;
    let telling = Telling::begin();
    let result = catch(|| f(collector));
    let complaints = collector.session.take_complaints();
    if collector.session.export.has_lost_observer {
        pool::fail();
    }
    // A thread that drains comes back for more, and must not starve the others.
    MutexGuard::unlock_fair(guard);
    // Standard error may be slow, or a pipe whose reader waits for the program.
    complaints.iter().for_each(|complaint| say(complaint));
    result.map_err(|reason| telling.fail(&reason)).ok()
}

/// How many threads may be about to say something.
static TELLING: AtomicUsize = AtomicUsize::new(0);

/// While it lives, the process does not end.
struct Telling;

impl Telling {
    fn begin() -> Telling {
        TELLING.fetch_add(1, Ordering::Release);
        Telling
    }

    /// Checking ends here; the program goes on.
    fn fail(&self, reason: &str) {
        pool::fail();
        say(&format!("{reason}; checking is off from here on"));
    }

    /// Waits until everything was said, unless nobody reads it.
    fn wait_for_all() {
        let start = Instant::now();
        while TELLING.load(Ordering::Acquire) > 0 && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        TELLING.fetch_sub(1, Ordering::Release);
    }
}

/// Runs what is ours alone. If it panics, checking is off before anybody else sees what it has
/// left, and the reason is still to be told.
fn catch<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(describe)
}

/// The reason of an internal failure, after which nothing is recorded any more.
fn describe(payload: Box<dyn Any + Send>) -> String {
    pool::switch_off();
    let reason = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words");
    format!("internal failure: {reason}")
}

/// For how long a verdict is waited for, where a strand has drawn a ticket and does not publish it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until everything that the current strand has recorded was merged and judged, and as far as
/// possible what others have written by now: threads that the mirror did not fork may have been
/// joined without its knowledge.
///
/// # Errors
///
/// Why that could not be reached.
fn catch_up() -> Result<(), String> {
    let Some(pen) = record::pen() else {
        return unless_failed();
    };
    let (strand, cursor) = (pen.strand(), pen.cursor());
    record::untracked(|| {
        let start = Instant::now();
        let mut goals = None;
        loop {
            let is_over = with(|collector| {
                let goals = goals.get_or_insert_with(|| collector.merge.goals());
                let has_drained = collector.drain();
                if collector.merge.has_reached(strand, cursor) {
                    let is_late = start.elapsed() > PATIENCE;
                    let is_over = !has_drained || is_late || collector.merge.has_passed(goals);
                    return is_over.then_some(Ok(()));
                }
                let missing = collector.merge.missing(strand);
                let record = missing.map(|missing| (missing.object, missing.ticket));
                let is_known = record.is_some() && record == collector.given_up;
                if has_drained || (start.elapsed() < PATIENCE && !is_known) {
                    return None;
                }
                let reason = collector.session.explain(missing);
                if !is_known {
                    collector.given_up = record;
                    collector.session.complain(incomplete(reason.clone()));
                }
                Some(Err(reason))
            });
            match is_over {
                None => return unless_failed(),
                Some(Some(reached)) => return reached,
                // Some strand has drawn a ticket and was interrupted before it could publish it.
                Some(None) => std::thread::yield_now(),
            }
        }
    })
}

/// The same for a family whose verdict is asked for. What it shares with another family may have
/// been looked at by a block of that one which has not ended, and may look again.
///
/// # Errors
///
/// Why that could not be reached.
fn catch_up_with_family(family: u32) -> Result<(), String> {
    let reached = catch_up();
    record::untracked(|| {
        let start = Instant::now();
        loop {
            let is_judged = with(|collector| {
                collector.drain();
                collector.session.flush(family)
            });
            match is_judged {
                None => return unless_failed(),
                Some(is_judged) if is_judged || reached.is_err() => return reached.clone(),
                Some(_) if start.elapsed() < PATIENCE => std::thread::yield_now(),
                Some(_) => {
                    let reason = "a block of another test, which shares an object with this one, \
                                  has not ended";
                    say(&incomplete(reason.to_owned()));
                    return Err(reason.to_owned());
                }
            }
        }
    })
}

/// Nothing is recorded: that is well where it was asked for, and no verdict where it came of a
/// failure.
fn unless_failed() -> Result<(), String> {
    if pool::has_failed() {
        Err("checking was switched off by a failure".to_owned())
    } else {
        Ok(())
    }
}

/// Checks a property on what the current strand's family does from here on; the number it is known
/// by.
pub(crate) fn declare(property: crate::lattice::Property) -> Option<u64> {
    record::pen()?;
    let (_, family) = record::current()?;
    record::name_current_strand();
    let _ = catch_up();
    let number =
        record::untracked(|| with(|collector| collector.session.declare(property, family)))?;
    OPEN.fetch_add(1, Ordering::Relaxed);
    Some(number)
}

/// The property's test is over: what is to be told of it, if anything.
pub(crate) fn decide(number: u64) -> Option<String> {
    let reached = catch_up();
    OPEN.fetch_sub(1, Ordering::Relaxed);
    let decided = record::untracked(|| with(|collector| collector.session.decide(number)))?;
    decided.or(reached.err().map(incomplete))
}

/// What is said where a verdict was asked for and could not be reached.
fn incomplete(reason: String) -> String {
    format!("verdict incomplete: {reason}")
}

/// How many properties are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Tells what is wrong with a property.
///
/// # Panics
///
/// With the text, where the settings say so.
pub(crate) fn tell_property(text: &str) {
    match config().mode {
        Mode::Panic => panic!("property violation\n\n{text}"),
        Mode::Log | Mode::Off => say(text),
    }
}

/// The settings in force.
fn config() -> Config {
    with(|collector| collector.session.config.clone()).unwrap_or_default()
}

/// Puts other settings into force.
fn install(config: Config) -> Result<(), ConfigError> {
    let late = || {
        ConfigError(
            "settings come too late: something was recorded under others already".to_owned(),
        )
    };
    record::untracked(|| {
        start();
        if config.mode == Mode::Off {
            pool::switch_off();
            return Ok(());
        }
        with(|collector| {
            while collector.drain() {}
            if collector.session.has_begun() {
                return Err(late());
            }
            collector.session.reconfigure(config);
            // Strands that are there already look up, and see that stacks are wanted.
            collector.merge.alarm(|_| true);
            Ok(())
        })
        .unwrap_or_else(|| Err(late()))
    })
}

/// The current strand has joined others: if it is the first of its family, what they did is judged
/// now.
///
/// # Panics
///
/// With the report, if the family has violations.
#[track_caller]
pub(crate) fn joined() {
    if record::is_first_of_family() && !std::thread::panicking() {
        record::name_current_strand();
        // That it is incomplete was said.
        let _ = catch_up();
        if let Some((_, family)) = record::current() {
            deliver(family);
        }
    }
}

/// Tells the family's violations, on the family's own strand.
///
/// # Panics
///
/// With the reports, as the settings demand.
#[track_caller]
fn deliver(family: u32) {
    let _untracked = record::Untracked::new();
    let told = with(|collector| {
        let findings = collector.session.take(family);
        (findings, collector.session.config.clone())
    });
    if let Some((findings, config)) = told {
        deliver::tell(findings, &config);
    }
}

/// A thread ends that the mirror did not fork. If it was a test's own, this is the last moment at
/// which what was found belongs to that test, which may have had no safe point since. It has its
/// result already; so the process fails.
fn first_strand_ends() {
    let Some((_, family)) = record::current() else {
        return;
    };
    let Some(test) = record::current_name().and_then(families::test_of) else {
        return;
    };
    let _ = catch_up_with_family(family);
    let _untracked = record::Untracked::new();
    let last = with(|collector| {
        let findings = collector.session.take_all(family);
        (findings, collector.session.config.clone())
    });
    let told = last
        .map(|(findings, config)| record::guarded(|| deliver::tell_late(findings, &config, &test)));
    if let Some(Some(true)) = told {
        HAS_FAILED.store(true, Ordering::Relaxed);
    }
}

/// Something was told that fails the process, and that nobody could be made to panic with.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// The process ends: judges what there is, and tells what nobody has heard.
///
/// A handler cannot change the exit code but by exiting itself. With glibc that is allowed inside
/// of a handler, and the handlers that were registered before this one (a profiler's, say) still
/// run. Elsewhere they are skipped in a process that fails.
extern "C" fn at_exit() {
    // Nothing may unwind into C.
    if let Ok(true) = catch_unwind(|| record::untracked(finish)) {
        let _ = std::io::Write::flush(&mut std::io::stdout());
        go_on_exiting(101);
    }
}

/// Whether the process has failed.
fn finish() -> bool {
    let last = with(|collector| {
        // Threads that outlive `main` go on without us: they get no more chunks, so there is an end
        // to what they record.
        pool::switch_off();
        while collector.drain() {}
        let unheard = collector.session.finish();
        (
            unheard,
            collector.session.config.clone(),
            collector.session.counts,
            collector.session.splits(),
        )
    });
    Telling::wait_for_all();
    let has_failed = HAS_FAILED.load(Ordering::Relaxed);
    let Some((unheard, config, counts, splits)) = last else {
        return has_failed;
    };
    let failed = deliver::tell_at_exit(unheard, &config) | has_failed;
    // The sum of what several processes have found is no place for what they have not judged.
    let is_told = config.observer.is_none() && deliver::append_summary(&counts, &splits);
    if !config.quiet && !is_told {
        deliver::summarize(&counts, &splits, &config);
    }
    failed
}
