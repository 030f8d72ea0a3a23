//! Nothing that the recorder does, and nothing that is done to it, breaks the program. Each case
//! runs in a process of its own.

#![cfg(feature = "check")]

mod process;

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aerodrome::sync::atomic::{AtomicU64, Ordering};
use aerodrome::sync::{Condvar, Mutex, RwLock, mpsc};
use aerodrome::trace::{self, Event, Names, Op};
use aerodrome::{atomic_block, thread};
use serde_json::Value;

use self::process::{Directory, Ended, child, run};

/// A violation, always: a write of another thread between two reads of a block.
fn torn_read() {
    torn_read_and(|| ());
}

/// The same, and something else at the end of the block.
fn torn_read_and(finally: fn()) {
    let value = Arc::new(Mutex::new(0));
    let others = value.clone();
    let (ask, asked) = std::sync::mpsc::channel();
    let (answer, answered) = std::sync::mpsc::channel();
    let other = thread::spawn(move || {
        asked.recv().unwrap();
        *others.lock().unwrap() = 1;
        answer.send(()).unwrap();
    });
    atomic_block!(name = "torn_read", {
        let before = *value.lock().unwrap();
        ask.send(()).unwrap();
        answered.recv().unwrap();
        assert_ne!(before, *value.lock().unwrap());
        finally();
    });
    // Not joined: nobody hears of it before the end.
    drop(other);
}

/// What a report says of [`torn_read`].
const TORN: &str = "`torn_read` is not atomic";

/// The memory of this process, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A child that ends well, says `done`, and nothing else.
#[track_caller]
fn fine(test: &str) -> Ended {
    let ended = run(&mut child(test)).expect_code(0);
    assert_eq!(ended.count("aerodrome:"), 0, "{}", ended.output());
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
    ended
}

// Panics, poison, guards that are never dropped.

#[test]
fn panics_in_blocks_and_guards_end_them() {
    fine("child_panics");
}

#[test]
fn child_panics() {
    if !process::is_child() {
        return;
    }
    let mutex = Arc::new(Mutex::new(0));
    for round in 0..100 {
        let theirs = mutex.clone();
        let result = thread::spawn(move || {
            atomic_block! {
                let mut guard = theirs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                *guard += 1;
                atomic_block! {
                    std::panic::resume_unwind(Box::new("inside"));
                }
            }
        })
        .join();
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"inside"));
        assert_eq!(*mutex.lock().unwrap_err().into_inner(), round + 1);
        assert!(mutex.is_poisoned());
        mutex.clear_poison();
        assert_eq!(*mutex.lock().unwrap(), round + 1);
    }
    // On one and the same strand, the transaction is over when the panic is caught.
    let outcome = aerodrome::check(|| {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            atomic_block! {
                let _first = *mutex.lock().unwrap();
                std::panic::resume_unwind(Box::new(()));
            }
        }));
        assert!(unwound.is_err());
        let theirs = mutex.clone();
        thread::spawn(move || *theirs.lock().unwrap() += 1)
            .join()
            .unwrap();
        let _second = *mutex.lock().unwrap();
    });
    assert!(outcome.is_serializable());
    println!("done");
}

/// Runs its closure when it is dropped.
struct AtDrop<F: Fn()>(F);

impl<F: Fn()> Drop for AtDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn only_a_panic_out_of_the_block_is_told() {
    fine("child_unwinding");
}

#[test]
fn child_unwinding() {
    if !process::is_child() {
        return;
    }
    let panicked = |f: fn()| {
        let outcome = aerodrome::check(|| {
            let _ = thread::spawn(f).join();
        });
        assert_eq!(outcome.violations.len(), 1);
        let transactions = &outcome.violations[0].transactions;
        transactions.iter().any(|transaction| transaction.panicked)
    };
    fn panics() {
        std::panic::resume_unwind(Box::new(()));
    }
    // A destructor's block, which runs to its end while the thread unwinds.
    assert!(!panicked(|| {
        let _at_drop = AtDrop(torn_read);
        panics();
    }));
    assert!(panicked(|| torn_read_and(panics)));
    // The first has left nothing behind on its strand.
    assert!(panicked(|| {
        let _ = catch_unwind(|| {
            let value = AtomicU64::new(0);
            let _at_drop = AtDrop(move || atomic_block!(value.store(1, Ordering::SeqCst)));
            panics();
        });
        torn_read_and(panics);
    }));
    println!("done");
}

#[test]
fn a_poisoned_lock_is_as_std_has_it() {
    fine("child_poison");
}

#[test]
fn child_poison() {
    if !process::is_child() {
        return;
    }
    let (mutex, rwlock) = (Mutex::new(1), RwLock::new(1));
    let poison = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    poison(&|| {
        let _guard = mutex.lock();
        std::panic::resume_unwind(Box::new(()));
    });
    poison(&|| {
        let _guard = rwlock.read();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(mutex.is_poisoned() && !rwlock.is_poisoned());
    poison(&|| {
        let _guard = rwlock.write();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(rwlock.is_poisoned());
    *mutex.lock().unwrap_err().into_inner() = 2;
    *rwlock.write().unwrap_err().into_inner() = 2;
    assert!(matches!(
        mutex.try_lock(),
        Err(std::sync::TryLockError::Poisoned(_))
    ));
    assert_eq!(*rwlock.read().unwrap_err().into_inner(), 2);
    let condvar = Condvar::new();
    let guard = mutex.lock().unwrap_err().into_inner();
    assert!(
        condvar
            .wait_timeout(guard, Duration::from_millis(1))
            .is_err()
    );
    mutex.clear_poison();
    rwlock.clear_poison();
    assert_eq!(
        mutex.into_inner().unwrap() + rwlock.into_inner().unwrap(),
        4
    );
    println!("done");
}

#[test]
fn leaked_guards_leave_the_rest_alone() {
    let start = Instant::now();
    fine("child_leaked_guards");
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "nobody waits for what never comes"
    );
}

#[test]
fn child_leaked_guards() {
    if !process::is_child() {
        return;
    }
    for round in 0..1_000 {
        let (mut mutex, rwlock) = (Mutex::new(round), RwLock::new(round));
        let (bare, watched) = (Mutex::new(()), Arc::new(RwLock::new(())));
        atomic_block! {
            mem::forget(mutex.lock());
            mem::forget(rwlock.read());
            mem::forget(rwlock.read());
            mem::forget(bare.lock());
            mem::forget(watched.write());
        }
        // The lock is elsewhere, and still held.
        let moved = Box::new(rwlock);
        assert!(mutex.try_lock().is_err() && moved.try_write().is_err());
        *mutex.get_mut().unwrap() += 1;
        assert_eq!(mutex.into_inner().unwrap(), round + 1);
        drop(moved);
        // Given back by another strand than the one that holds it.
        if round % 100 == 0 {
            thread::spawn(move || drop((bare, watched))).join().unwrap();
        }
    }
    println!("done");
}

#[test]
fn a_lock_that_another_strand_drops_while_its_guard_is_leaked_holds_nobody_up() {
    let start = Instant::now();
    fine("child_leaked_and_dropped");
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn child_leaked_and_dropped() {
    if !process::is_child() {
        return;
    }
    let (give, take) = std::sync::mpsc::channel::<Arc<Mutex<u32>>>();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    // Holds a lock for good, says nothing more, and lives on.
    let holder = thread::spawn(move || {
        let mutex = Arc::new(Mutex::new(1));
        mem::forget(mutex.lock());
        give.send(mutex).unwrap();
        stopped.recv().unwrap();
    });
    let mutex = take.recv().unwrap();
    while Arc::strong_count(&mutex) > 1 {
        std::thread::yield_now();
    }
    drop(mutex);
    for _ in 0..10 {
        thread::spawn(|| ()).join().unwrap();
    }
    // More than there is room for, if it were to wait.
    let mutex = Mutex::new(0);
    for _ in 0..300_000 {
        *mutex.lock().unwrap() += 1;
    }
    stop.send(()).unwrap();
    holder.join().unwrap();
    println!("done");
}

// Threads.

#[test]
fn ten_thousand_short_threads_need_no_memory() {
    fine("child_short_threads");
}

#[test]
fn child_short_threads() {
    if !process::is_child() {
        return;
    }
    let sum = Arc::new(Mutex::new(0_u64));
    let round = |join: bool| {
        let start = *sum.lock().unwrap();
        for n in 1..=1_000 {
            let theirs = sum.clone();
            let thread = thread::spawn(move || {
                atomic_block! { *theirs.lock().unwrap() += 1; }
            });
            if join {
                thread.join().unwrap();
            } else if n % 20 == 0 {
                // How many live at a time is what counts, and is up to the machine otherwise.
                while *sum.lock().unwrap() < start + n {
                    std::thread::yield_now();
                }
            }
        }
        thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| *sum.lock().unwrap() += 1);
            }
        });
        for _ in 0..100 {
            // Threads that the mirror knows nothing of are families of their own.
            let theirs = sum.clone();
            std::thread::spawn(move || *theirs.lock().unwrap() += 1)
                .join()
                .unwrap();
        }
    };
    round(true);
    round(false);
    let before = memory();
    for n in 0..10 {
        round(n % 2 == 0);
    }
    assert_eq!(*sum.lock().unwrap(), 12 * 1_110);
    let after = memory();
    // Chunks of 4 MiB are kept once a busy machine has needed them.
    let chunks = 4 * 1024;
    assert!(
        after < before + chunks + 1024,
        "{before} KiB, then {after} KiB"
    );
    println!("done");
}

#[test]
fn threads_that_the_mirror_did_not_fork_are_strands_of_their_own() {
    let directory = Directory::new();
    let mut command = child("child_foreign_threads");
    run(command.env("AERODROME_TRACE", directory.path())).expect_code(0);
    // Their numbers are not those of strands that were joined.
    let mut source = aerodrome::trace::open(&directory.trace(), None).unwrap();
    let (mut rules, mut batch) = (aerodrome::trace::WellFormed::new(), Vec::new());
    let mut events = 0;
    while source.fill(&mut batch).unwrap() {
        for event in &batch {
            events += 1;
            rules
                .admit(event)
                .unwrap_or_else(|malformed| panic!("{:?}", malformed.explain(source.names())));
        }
    }
    assert!(events > 1_000);
}

#[test]
fn child_foreign_threads() {
    if !process::is_child() {
        return;
    }
    let sum = Arc::new(Mutex::new(0_u64));
    for _ in 0..100 {
        let theirs = sum.clone();
        thread::spawn(move || *theirs.lock().unwrap() += 1)
            .join()
            .unwrap();
        let theirs = sum.clone();
        std::thread::spawn(move || *theirs.lock().unwrap() += 1)
            .join()
            .unwrap();
    }
}

#[test]
fn threads_that_outlive_main_are_left_alone() {
    let start = Instant::now();
    fine("child_outlived");
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn child_outlived() {
    if !process::is_child() {
        return;
    }
    let sum = Arc::new(AtomicU64::new(0));
    for _ in 0..3 {
        let own = Mutex::new(0_u64);
        thread::spawn(move || {
            loop {
                atomic_block! { *own.lock().unwrap() += 1; }
            }
        });
    }
    thread::spawn(|| thread::park());
    thread::spawn(|| {
        mpsc::channel::<()>()
            .1
            .recv_timeout(Duration::from_secs(100))
    });
    // A join needs an answer, although others never come to rest.
    for _ in 0..20 {
        let theirs = sum.clone();
        thread::spawn(move || theirs.load(Ordering::Relaxed))
            .join()
            .unwrap();
    }
    println!("done");
}

#[test]
fn the_process_may_exit_inside_a_block() {
    let ended = run(&mut child("child_exits")).expect_code(7);
    assert_eq!(ended.count("aerodrome"), 0, "{}", ended.output());
}

#[test]
fn child_exits() {
    if !process::is_child() {
        return;
    }
    let mutex = Arc::new(Mutex::new(0));
    let theirs = mutex.clone();
    let other = thread::spawn(move || {
        atomic_block! {
            let _guard = theirs.lock();
            exit(7);
        }
    });
    atomic_block! {
        other.join().unwrap();
    }
}

// Before `main`, in the destructors of thread-local variables, and during exit.

/// Uses everything that a start or an end might; says whether it worked.
fn use_everything() -> bool {
    static MUTEX: Mutex<u64> = Mutex::new(0);
    static ATOMIC: AtomicU64 = AtomicU64::new(0);
    let local = RwLock::new(1);
    atomic_block! {
        *MUTEX.lock().unwrap() += *local.read().unwrap();
        ATOMIC.fetch_add(1, Ordering::Relaxed);
    }
    let (sender, receiver) = mpsc::channel();
    sender.send(1).unwrap();
    receiver.recv() == Ok(1) && ATOMIC.load(Ordering::Relaxed) > 0
}

static BEFORE_MAIN: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn before_main() {
    let worked = use_everything();
    BEFORE_MAIN.store(worked, Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISER: extern "C" fn() = before_main;

unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> std::ffi::c_int;
}

extern "C" fn after_main() {
    println!("at exit: {}", use_everything());
}

/// Uses everything when the thread ends.
struct AtThreadEnd(&'static str);

impl Drop for AtThreadEnd {
    fn drop(&mut self) {
        println!("{}: {}", self.0, use_everything());
    }
}

thread_local! {
    static AT_END: std::cell::RefCell<Vec<AtThreadEnd>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[test]
fn it_works_before_main_at_the_end_of_threads_and_during_exit() {
    let ended = fine("child_early_and_late");
    for place in ["spawned", "scoped", "foreign", "untouched", "at exit"] {
        assert_eq!(
            ended.count(&format!("{place}: true")),
            1,
            "{place}: {}",
            ended.output()
        );
    }
}

#[test]
fn child_early_and_late() {
    if !process::is_child() {
        return;
    }
    assert!(BEFORE_MAIN.load(Ordering::Relaxed));
    // SAFETY: a function that C may call.
    unsafe { atexit(after_main) };
    let leave = |place| AT_END.with_borrow_mut(|list| list.push(AtThreadEnd(place)));
    thread::spawn(move || leave("spawned")).join().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || leave("scoped"));
    });
    let foreign = move || {
        leave("foreign");
        use_everything();
    };
    std::thread::spawn(foreign).join().unwrap();
    // The thread's first tracked operation is in the destructor.
    std::thread::spawn(move || leave("untouched"))
        .join()
        .unwrap();
    println!("done");
}

// What nobody hears.

#[test]
fn a_violation_that_nobody_hears_is_told_at_exit_and_fails_the_process() {
    let ended = run(&mut child("child_unheard")).expect_code(101);
    assert_eq!(ended.count(TORN), 1, "{}", ended.output());
    assert_eq!(ended.count("done"), 1);
}

#[test]
fn child_unheard() {
    if !process::is_child() {
        return;
    }
    // Detached, so that nobody waits for it; and waited for in a way that nobody sees.
    let (end, ended) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        torn_read();
        drop(end);
    });
    assert!(ended.recv().is_err());
    println!("done");
    exit(0);
}

/// Registered before aerodrome's own handler, so it runs after that.
extern "C" fn late_handler() {
    println!("late handler");
}

extern "C" fn register_late_handler() {
    // SAFETY: a function that C may call.
    unsafe { atexit(late_handler) };
}

#[used]
#[unsafe(link_section = ".init_array.00001")]
static EARLY_INITIALISER: extern "C" fn() = register_late_handler;

#[test]
fn a_process_that_fails_at_exit_runs_the_handlers_of_others() {
    let ended = run(&mut child("child_unheard")).expect_code(101);
    let all = ended.output();
    assert_eq!(ended.count("late handler"), 1, "{all}");
}

#[test]
fn a_violation_stops_the_test_in_mode_panic_and_not_in_mode_log() {
    let ended = run(child("child_heard").env("AERODROME", "panic")).expect_code(101);
    assert_eq!(
        (ended.count(TORN), ended.count("done")),
        (1, 0),
        "{}",
        ended.output()
    );
    let ended = run(child("child_heard").env("AERODROME", "log")).expect_code(0);
    assert_eq!(
        (ended.count(TORN), ended.count("done")),
        (1, 1),
        "{}",
        ended.output()
    );
    let ended = run(child("child_heard").env("AERODROME", "off")).expect_code(0);
    assert_eq!(
        (ended.count(TORN), ended.count("done")),
        (0, 1),
        "{}",
        ended.output()
    );
}

#[test]
fn the_log_of_a_test_that_passes_is_not_kept_by_the_harness() {
    let mut command = process::clean(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "child_heard"]);
    let ended = run(command.env("AERODROME", "log")).expect_code(0);
    assert_eq!(
        (ended.count(TORN), ended.count("done")),
        (1, 0),
        "{}",
        ended.output()
    );
}

#[test]
fn child_heard() {
    if !process::is_child() {
        return;
    }
    thread::spawn(torn_read).join().unwrap();
    println!("done");
}

#[test]
fn a_handler_that_panics_is_told_of_and_the_program_goes_on() {
    let ended = run(child("child_handler").env("AERODROME", "log")).expect_code(0);
    assert_eq!(ended.count("the handler of `on_violation` panicked"), 1);
    assert_eq!(
        (ended.count(TORN), ended.count("done")),
        (0, 1),
        "{}",
        ended.output()
    );
}

#[test]
fn child_handler() {
    if !process::is_child() {
        return;
    }
    static TOLD: Mutex<u32> = Mutex::new(0);
    aerodrome::on_violation(|_| {
        *TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
        panic!("the handler does not like this");
    });
    thread::spawn(torn_read).join().unwrap();
    assert_eq!(*TOLD.lock().unwrap(), 1);
    println!("done");
}

#[test]
fn a_log_that_cannot_be_written_does_not_stop_the_program() {
    let mut command = child("child_heard");
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command
        .env("AERODROME", "log")
        .stderr(full)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("done"), "{said}");
}

// The disk.

/// The command, under a shell that allows no file of more than this many KiB: writing more is the
/// same as on a disk that is full.
fn limited(command: &Command, kib: u64) -> Command {
    let mut shell = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// The reports in a file.
fn reports(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_report_for_which_there_is_no_room_leaves_nothing_behind() {
    let directory = Directory::new();
    let file = directory.path().join("r.json");
    let violate = || {
        let mut command = child("child_heard");
        command
            .env("AERODROME", "log")
            .env("AERODROME_REPORT", &file);
        command
    };
    run(&mut violate()).expect_code(0);
    let one = std::fs::metadata(&file).unwrap().len();
    assert!(one > 1024 && reports(&file).len() == 1);
    let ended = run(&mut limited(&violate(), one.div_ceil(1024))).expect_code(0);
    let said = format!(
        "aerodrome: AERODROME_REPORT: `{}` cannot be written: File too large",
        file.display()
    );
    assert_eq!(ended.count(&said), 1, "{}", ended.output());
    assert_eq!(std::fs::metadata(&file).unwrap().len(), one);
    // What a process leaves that is killed while it writes ends where the next report begins.
    let half = std::fs::read(&file).unwrap();
    let mut with_half = half.clone();
    with_half.extend(&half[..half.len() / 2]);
    std::fs::write(&file, with_half).unwrap();
    run(&mut violate()).expect_code(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let whole = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
    assert_eq!(text.lines().filter(whole).count(), 2, "{text}");
    assert_eq!(text.lines().count(), 3);
}

#[cfg(since = "1.89")]
#[test]
fn a_report_file_that_another_has_locked_is_not_waited_for_for_ever() {
    let directory = Directory::new();
    let path = directory.path().join("locked.json");
    let file = std::fs::File::create(&path).unwrap();
    file.lock().unwrap();
    let start = Instant::now();
    let mut command = child("child_heard");
    run(command
        .env("AERODROME", "log")
        .env("AERODROME_REPORT", &path))
    .expect_code(0);
    assert!(
        start.elapsed() > Duration::from_secs(5),
        "it waits for a while"
    );
    assert_eq!(reports(&path).len(), 1);
}

#[cfg(unix)]
#[test]
fn a_report_file_that_is_a_pipe_is_refused() {
    let directory = Directory::new();
    let path = directory.path().join("pipe");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let mut command = child("child_heard");
    command
        .env("AERODROME", "log")
        .env("AERODROME_REPORT", &path);
    let ended = run(&mut command).expect_code(0);
    let said = "cannot be written: expected a file, found a named pipe";
    assert_eq!(ended.count(said), 1, "{}", ended.output());
}

#[test]
fn a_killed_process_leaves_the_trace_of_what_it_has_done() {
    let directory = Directory::new();
    let mut command = child("child_deadlocks");
    command.env("AERODROME_TRACE", directory.path());
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(process.stdout.take().unwrap());
    let mut lines = out.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("ready")));
    // The collector may be late where the machine is busy.
    std::thread::sleep(Duration::from_secs(2));
    process.kill().unwrap();
    process.wait().unwrap();
    let mut source = trace::open(&directory.trace(), None).unwrap();
    let (mut batch, mut begins) = (Vec::new(), 0);
    let end = loop {
        match source.fill(&mut batch) {
            Ok(more) => assert!(more, "it was not killed"),
            Err(error) => break error,
        }
        let begun = batch.iter().filter(|it| it.op == Op::Begin);
        let name = |it: &Event| source.names().block(it.block()).name;
        begins += begun.filter(|it| name(it) == "deadlock").count();
    };
    assert!(matches!(end.fault, trace::Fault::Truncated { .. }), "{end}");
    assert_eq!(begins, 2);
}

#[test]
fn child_deadlocks() {
    if !process::is_child() {
        return;
    }
    let locks = [Mutex::new(0), Mutex::new(0)];
    let met = &std::sync::Barrier::new(3);
    thread::scope(|s| {
        for (first, second) in [(&locks[0], &locks[1]), (&locks[1], &locks[0])] {
            s.spawn(move || {
                atomic_block!(name = "deadlock", {
                    *first.lock().unwrap() += 1;
                    let _first = first.lock().unwrap();
                    met.wait();
                    *second.lock().unwrap() += 1;
                })
            });
        }
        met.wait();
        println!("ready");
    });
}

/// As processes of several containers may have one number, so have a program and the one that it
/// becomes.
#[cfg(unix)]
#[test]
fn processes_of_one_number_leave_a_trace_each() {
    let directory = Directory::new();
    let mut command = child("child_becomes_another");
    let ended = run(command.env("AERODROME_TRACE", directory.path())).expect_code(0);
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
    assert_eq!(directory.traces().len(), 2);
}

#[cfg(unix)]
#[test]
fn child_becomes_another() {
    use std::os::unix::process::CommandExt;

    if !process::is_child() {
        return;
    }
    *Mutex::new(0).lock().unwrap() += 1;
    // Until the collector has taken it.
    std::thread::sleep(Duration::from_secs(1));
    let mut next = child("child_busy");
    next.env(
        "AERODROME_TRACE",
        std::env::var_os("AERODROME_TRACE").unwrap(),
    );
    panic!("{}", next.exec());
}

#[test]
fn child_busy() {
    if !process::is_child() {
        return;
    }
    let mutex = Mutex::new(0_u64);
    for _ in 0..100_000 {
        atomic_block! { *mutex.lock().unwrap() += 1; }
    }
    println!("done");
}

// Memory.

#[test]
fn a_million_objects_leave_no_memory_behind() {
    fine("child_objects");
}

#[test]
fn child_objects() {
    if !process::is_child() {
        return;
    }
    let one = |n: u64| {
        let mutex = Mutex::new(n);
        let atomic = AtomicU64::new(n);
        atomic_block! {
            *mutex.lock().unwrap() += 1;
            atomic.fetch_add(1, Ordering::Relaxed);
        }
        black_box((mutex, atomic));
    };
    (0..250_000).for_each(one);
    let before = memory();
    (0..500_000).for_each(one);
    let after = memory();
    // What is on its way to the collector comes and goes.
    assert!(after < before + 8 * 1024, "{before} KiB, then {after} KiB");

    // All at once, and again: the numbers come back, and what is kept by number with them.
    let all_at_once = || {
        let all: Vec<_> = (0..1_000_000).map(|n| Box::new(Mutex::new(n))).collect();
        for mutex in &all {
            *mutex.lock().unwrap() += 1;
        }
        drop(all);
        // A join waits until that was merged.
        thread::spawn(|| ()).join().unwrap();
        memory()
    };
    // The allocator takes a round of its own to find out how many there are.
    all_at_once();
    let (first, second) = (all_at_once(), all_at_once());
    assert!(second < first + 8 * 1024, "{first} KiB, then {second} KiB");
    println!("done");
}

// Settings.

#[test]
fn a_setting_with_a_wrong_value_is_an_error_that_lists_the_right_ones() {
    for (name, value, expected) in [
        (
            "AERODROME",
            "loud",
            "AERODROME: expected `panic` or `log` or `off`, found `loud`",
        ),
        (
            "AERODROME_SEMANTICS",
            "java",
            "AERODROME_SEMANTICS: expected `rust` or `paper`, found `java`",
        ),
        (
            "AERODROME_ENGINE",
            "steam",
            "AERODROME_ENGINE: expected `exact` or `aerodrome` or `aerodrome-basic` or `velodrome`, found `steam`",
        ),
        (
            "AERODROME_PREDICT",
            "all",
            "AERODROME_PREDICT: expected `off` or `warn` or `deny`, found `all`",
        ),
        (
            "AERODROME_WINDOW",
            "wide",
            "AERODROME_WINDOW: \"wide\" is not a number of bytes: expected digits and K, M, G or nothing",
        ),
        (
            "AERODROME_BACKTRACE",
            "deep",
            "AERODROME_BACKTRACE: expected `on` or `off`, found `deep`",
        ),
        (
            "AERODROME_QUIET",
            "very",
            "AERODROME_QUIET: expected `on` or `off`, found `very`",
        ),
    ] {
        let ended = run(child("child_busy").env(name, value)).expect_code(2);
        assert!(
            ended.stderr.contains(&format!("aerodrome: {expected}")),
            "{}",
            ended.output()
        );
        assert_eq!(ended.count("done"), 0, "{name}");
    }
    for (name, value) in [
        ("AERODROME", "0"),
        ("AERODROME", ""),
        ("AERODROME_QUIET", "true"),
        ("AERODROME_WINDOW", "1M"),
    ] {
        run(child("child_busy").env(name, value)).expect_code(0);
    }
}
