//! Collecting: the strands' records are put into one order, judged, and what is found is told.
//!
//! The collector's state sits behind one mutex; whoever holds it drains. A background thread polls, because waking it would cost a strand more
//! than the event itself; a strand that needs an answer now (a join by a family's first strand, the end of a test, the end of the process)
//! drains by itself.

mod merge;
mod session;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use self::merge::Merge;
use self::session::Session;
use crate::record::{self, pool};

/// The collector.
struct Collector {
    merge: Merge,
    session: Session,
}

static COLLECTOR: Mutex<Option<Collector>> = Mutex::new(None);

const NOT_STARTED: u8 = 0;
const STARTING: u8 = 1;
const RUNNING: u8 = 2;
static STAGE: AtomicU8 = AtomicU8::new(NOT_STARTED);

#[ctor::ctor(unsafe)]
fn at_start() {
    start();
}

/// Starts collecting, once; whether anything is to be recorded.
pub(crate) fn start() -> bool {
    if STAGE.load(Ordering::Acquire) != RUNNING {
        match STAGE.compare_exchange(NOT_STARTED, STARTING, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                record::untracked(launch);
                STAGE.store(RUNNING, Ordering::Release);
            }
            // Another thread is at it, or this one: what the start itself does is not recorded.
            Err(RUNNING) => {}
            Err(_) => return false,
        }
    }
    !pool::is_off()
}

fn launch() {
    pool::prepare();
    *COLLECTOR.lock() = Some(Collector {
        merge: Merge::default(),
        session: Session::default(),
    });
    let thread = std::thread::Builder::new()
        .name("aerodrome".into())
        .spawn(poll);
    if let Err(error) = thread {
        fail(&format!(
            "the collector's thread could not be started: {error}"
        ));
    }
}

/// The background thread.
fn poll() {
    record::never_track_this_thread();
    let mut pause = Duration::from_micros(50);
    while !pool::is_off() {
        let busy = with(|collector| collector.merge.run(&mut collector.session));
        pause = if busy == Some(true) {
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
    let collector = guard.as_mut()?;
    match catch_unwind(AssertUnwindSafe(|| f(collector))) {
        Ok(result) => Some(result),
        Err(payload) => {
            let reason = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(payload.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without words");
            fail(&format!("internal failure: {reason}"));
            None
        }
    }
}

/// Checking ends here; the program goes on.
fn fail(reason: &str) {
    use std::io::Write;
    pool::switch_off();
    let _ = writeln!(
        std::io::stderr(),
        "aerodrome: {reason}; checking is off from here on"
    );
}

/// Waits until everything that the current strand has recorded was merged and judged.
fn settle() {
    let Some(pen) = record::quiet_pen() else {
        return;
    };
    let (strand, cursor) = (pen.strand(), pen.cursor());
    record::untracked(|| {
        let start = Instant::now();
        loop {
            let reached = with(|collector| {
                collector.merge.run(&mut collector.session);
                collector.merge.has_reached(strand, cursor)
            });
            if reached != Some(false) || start.elapsed() > Duration::from_secs(5) {
                return;
            }
            // Some strand has drawn a ticket and was interrupted before it could publish it.
            std::thread::yield_now();
        }
    });
}

/// The current strand has joined others: if it is the first of its family, what they did is judged now.
///
/// # Panics
///
/// With the report, if the family has violations.
#[track_caller]
pub(crate) fn joined() {
    if record::is_first_of_family() && !std::thread::panicking() {
        settle();
        if let Some((_, family)) = record::current() {
            record::untracked(|| deliver(family));
        }
    }
}

/// Tells the family's violations, on the family's own strand.
///
/// # Panics
///
/// With the report, as the settings demand.
#[track_caller]
pub(crate) fn deliver(family: u32) {
    let _ = with(|collector| collector.session.take(family));
}
