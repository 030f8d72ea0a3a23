//! Nothing stops a program that is checked: many threads, forks, signal handlers, a record that
//! never comes. Each case runs in a process of its own.

#![cfg(all(feature = "check", unix))]

mod process;

use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU64 as Untracked};
use std::sync::{Arc, Barrier, Condvar as UntrackedCondvar, Mutex as UntrackedMutex};
use std::time::{Duration, Instant};

use aerodrome::sync::Mutex;
use aerodrome::sync::atomic::{AtomicU64, Ordering::*};
use aerodrome::trace::{Names, SiteInfo};
use aerodrome::{thread, trace};

use self::process::{Directory, Ended, child, run};

/// A child that ends well, says `done`, and nothing else.
#[track_caller]
fn fine(test: &str) -> Ended {
    let ended = run(&mut child(test)).expect_code(0);
    assert_eq!(ended.count("aerodrome:"), 0, "{}", ended.output());
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
    ended
}

/// The memory of this process, in MiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() / 1024
}

// Many strands.

#[test]
fn more_strands_than_chunks_go_on() {
    fine("child_fills_chunks");
}

#[test]
fn child_fills_chunks() {
    if !process::is_child() {
        return;
    }
    const STRANDS: usize = 300;
    let all = Barrier::new(STRANDS);
    let shared = AtomicU64::new(0);
    thread::scope(|s| {
        for _ in 0..STRANDS {
            s.spawn(|| {
                // Of stores to one of them, nobody else having one, all but the first would say
                // nothing new.
                let own = [AtomicU64::new(0), AtomicU64::new(0)];
                shared.fetch_add(1, SeqCst);
                all.wait();
                for n in 0..5_000 {
                    own[n as usize % 2].store(n, SeqCst);
                }
                all.wait();
            });
        }
    });
    assert_eq!(shared.load(SeqCst), STRANDS as u64);
    println!("done");
}

#[test]
fn ten_thousand_strands_live_at_once() {
    let ended = fine("child_has_ten_thousand_strands");
    println!("{}", ended.stdout);
}

#[test]
fn child_has_ten_thousand_strands() {
    if !process::is_child() {
        return;
    }
    const STRANDS: usize = 10_000;
    let start = Instant::now();
    static ALIVE: (UntrackedMutex<usize>, UntrackedCondvar) =
        (UntrackedMutex::new(0), UntrackedCondvar::new());
    let strands: Vec<_> = (0..STRANDS)
        .map(|_| {
            let work = || {
                let objects: [AtomicU64; 64] = std::array::from_fn(|_| AtomicU64::new(0));
                for (n, object) in objects.iter().enumerate() {
                    object.store(n as u64, SeqCst);
                }
                let mut alive = ALIVE.0.lock().unwrap();
                *alive += 1;
                ALIVE.1.notify_all();
                drop(ALIVE.1.wait_while(alive, |alive| *alive < STRANDS + 1));
                objects
                    .iter()
                    .map(|object| object.load(SeqCst))
                    .sum::<u64>()
            };
            let builder = thread::Builder::new().stack_size(64 << 10);
            builder.spawn(work).unwrap()
        })
        .collect();
    let mut alive = ALIVE.0.lock().unwrap();
    while *alive < STRANDS {
        alive = ALIVE.1.wait(alive).unwrap();
    }
    println!("{} MiB with {STRANDS} strands", memory());
    *alive += 1;
    ALIVE.1.notify_all();
    drop(alive);
    for strand in strands {
        assert_eq!(strand.join().unwrap(), 63 * 64 / 2);
    }
    println!("done in {:?}", start.elapsed());
}

// A forked child.

/// Runs `work` in a forked child, which then ends as programs do; fails if it does not end.
fn in_child(work: impl FnOnce()) {
    // SAFETY: the child uses nothing that another thread of its parent may have held, but for the
    // allocator, which takes care of that.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        work();
        exit(0);
    }
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: our own child.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: as above.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("a child hangs");
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    assert_eq!(status, 0);
}

#[test]
fn a_forked_child_runs_untracked_and_exits() {
    fine("child_forks");
}

#[test]
fn child_forks() {
    if !process::is_child() {
        return;
    }
    let (lock, counter) = (Mutex::new(0), AtomicU64::new(0));
    *lock.lock().unwrap() += 1;
    let held = Mutex::new(0);
    let guard = held.lock().unwrap();
    in_child(|| {
        // More than there is room for without a collector.
        for _ in 0..500_000 {
            *lock.lock().unwrap() += 1;
            counter.fetch_add(1, SeqCst);
        }
        drop(guard);
        let other = thread::spawn(move || counter.load(SeqCst));
        assert_eq!(other.join().unwrap(), 500_000);
        assert!(
            aerodrome::check(|| *lock.lock().unwrap() += 1)
                .violations
                .is_empty()
        );
    });
    assert_eq!(*lock.lock().unwrap(), 1);
    println!("done");
}

/// A test's thread has ended with a violation that nobody could be told of, so the process fails;
/// and the child does not.
#[test]
fn the_exit_code_of_a_forked_child_is_its_own() {
    let ended = run(&mut child("child_fails_and_forks")).expect_code(101);
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
}

#[test]
fn child_fails_and_forks() {
    if !process::is_child() {
        return;
    }
    let (met, value) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(0)));
    let late = std::thread::Builder::new().name("tests::late".into());
    let test = late.spawn(move || {
        let (there, also) = (met.clone(), value.clone());
        std::mem::forget(thread::spawn(move || {
            there.wait();
            *also.lock().unwrap() += 1;
            there.wait();
        }));
        aerodrome::atomic_block! {
            let seen = *value.lock().unwrap();
            met.wait();
            met.wait();
            *value.lock().unwrap() = seen;
        }
    });
    test.unwrap().join().unwrap();
    in_child(|| {});
    println!("done");
}

#[test]
fn a_child_that_is_forked_in_the_middle_of_everything_exits() {
    fine("child_forks_while_others_record");
}

#[test]
fn child_forks_while_others_record() {
    if !process::is_child() {
        return;
    }
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let (lock, counter) = (Mutex::new(0_u64), AtomicU64::new(0));
                while !stop.load(Relaxed) {
                    *lock.lock().unwrap() += 1;
                    counter.fetch_add(1, SeqCst);
                }
            });
        }
        let own = Mutex::new(0);
        for _ in 0..300 {
            *own.lock().unwrap() += 1;
            in_child(|| *own.lock().unwrap() += 1);
        }
        stop.store(true, Relaxed);
    });
    println!("done");
}

// Signal handlers.

static SHARED: AtomicU64 = AtomicU64::new(0);
static OTHER: AtomicU64 = AtomicU64::new(0);
static HITS: Untracked = Untracked::new(0);

/// Has `handler` called on this thread every 100 microseconds or so, until it is dropped. Not by a
/// timer of the process: its signals may come to any thread.
struct Interrupts {
    stop: Arc<AtomicBool>,
    sender: Option<std::thread::JoinHandle<()>>,
}

impl Interrupts {
    fn by(handler: extern "C" fn(libc::c_int)) -> Self {
        // SAFETY: the handlers here use atomics alone.
        unsafe { libc::signal(libc::SIGALRM, handler as *const () as libc::sighandler_t) };
        // SAFETY: has no preconditions.
        let interrupted = unsafe { libc::pthread_self() };
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let sender = std::thread::spawn(move || {
            while !until.load(Relaxed) {
                // SAFETY: the thread joins this one before it ends.
                unsafe { libc::pthread_kill(interrupted, libc::SIGALRM) };
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        Self {
            stop,
            sender: Some(sender),
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.sender.take().map(std::thread::JoinHandle::join);
    }
}

extern "C" fn adds_to_the_same(_: libc::c_int) {
    SHARED.fetch_add(1, SeqCst);
    HITS.fetch_add(1, Relaxed);
}

const HANDLERS_LINE: u32 = line!() + 3;

extern "C" fn stores_to_another(_: libc::c_int) {
    OTHER.store(HITS.fetch_add(1, Relaxed), SeqCst);
}

#[test]
fn a_handler_and_what_it_interrupts_use_the_same_atomic() {
    fine("child_shares_an_atomic_with_its_handler");
}

#[test]
fn child_shares_an_atomic_with_its_handler() {
    if !process::is_child() {
        return;
    }
    let mut own = 0;
    {
        let _interrupts = Interrupts::by(adds_to_the_same);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            for _ in 0..100 {
                SHARED.fetch_add(1, SeqCst);
            }
            SHARED
                .fetch_update(SeqCst, SeqCst, |n| Some(n + 1))
                .unwrap();
            own += 101;
        }
    }
    let hits = HITS.load(Relaxed);
    assert!(hits > 100, "{hits} signals");
    assert_eq!(SHARED.load(SeqCst), own + hits);
    println!("done");
}

static RAISED: AtomicU64 = AtomicU64::new(0);
static IS_TRACKED: AtomicBool = AtomicBool::new(true);

extern "C" fn counts_what_was_raised(_: libc::c_int) {
    let count = || RAISED.store(HITS.fetch_add(1, Relaxed), SeqCst);
    if IS_TRACKED.load(Relaxed) {
        count();
    } else {
        aerodrome::untracked(count);
    }
}

/// Another thread resets the count between two signals that come to a block. What handlers do is
/// the block's, unless they say otherwise.
#[test]
fn a_handler_acts_for_the_block_that_it_interrupts() {
    fine("child_is_interrupted_in_a_block");
}

#[test]
fn child_is_interrupted_in_a_block() {
    if !process::is_child() {
        return;
    }
    let handler = counts_what_was_raised as *const () as libc::sighandler_t;
    // SAFETY: the handler uses atomics alone, of a thread that has used tracked ones already.
    unsafe { libc::signal(libc::SIGALRM, handler) };
    // SAFETY: it has a handler.
    let raise = || assert_eq!(unsafe { libc::raise(libc::SIGALRM) }, 0);
    for is_tracked in [true, false] {
        IS_TRACKED.store(is_tracked, Relaxed);
        let outcome = aerodrome::check(|| {
            let (met, value) = (Barrier::new(2), Mutex::new(0));
            thread::scope(|s| {
                s.spawn(|| {
                    met.wait();
                    RAISED.store(0, SeqCst);
                    met.wait();
                });
                aerodrome::atomic_block!(name = "interrupted", {
                    *value.lock().unwrap() += 1;
                    raise();
                    met.wait();
                    met.wait();
                    raise();
                });
            });
        });
        let messages: Vec<&str> = outcome.violations.iter().map(|it| &*it.message).collect();
        let expected: &[&str] = if is_tracked {
            &["`interrupted` is not atomic"]
        } else {
            &[]
        };
        assert_eq!(messages, expected);
        assert!(outcome.is_complete());
    }
    println!("done");
}

/// What the program itself does is all recorded, whenever a handler comes in between.
#[test]
fn a_handler_destroys_no_record() {
    let directory = Directory::new();
    let mut command = child("child_records_beside_its_handler");
    let ended = run(command.env("AERODROME_TRACE", directory.path())).expect_code(0);
    assert_eq!(ended.count("aerodrome:"), 0, "{}", ended.output());
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
    let number = |name: &str| -> u64 {
        let mut lines = ended.stdout.lines().rev();
        let line = lines.find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    let mut source = trace::open(&directory.trace(), None).unwrap();
    let mut batch = Vec::new();
    let mut lines = std::collections::HashMap::<u32, u64>::new();
    while source.fill(&mut batch).unwrap() {
        for event in &batch {
            use trace::Op::{Read, ReadWrite, Write};
            if !matches!(event.op, Read | Write | ReadWrite) {
                continue;
            }
            if let Some(SiteInfo::Source { line, .. }) = source.names().site(event.site) {
                *lines.entry(line).or_default() += 1;
            }
        }
    }
    let count = |name| lines.get(&(number(name) as u32)).copied().unwrap_or(0);
    let rounds = number("rounds:");
    for name in ["unnamed:", "named:", "locked:", "in a block:"] {
        assert_eq!(count(name), rounds, "{name} {lines:?}");
    }
    let handlers = lines.get(&HANDLERS_LINE).copied().unwrap_or(0);
    assert!(
        handlers > 0 && handlers <= number("hits:"),
        "{handlers}, {}",
        ended.stdout
    );
}

#[test]
fn child_records_beside_its_handler() {
    if !process::is_child() {
        return;
    }
    let [unnamed, named, in_block] = std::array::from_fn(|_| AtomicU64::new(0));
    let locked = Mutex::new(0);
    aerodrome::name(&named, "named");
    let (mut rounds, first) = (0, line!() + 5);
    {
        let _interrupts = Interrupts::by(stores_to_another);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) && rounds < 200_000 {
            unnamed.store(rounds, SeqCst);
            named.store(rounds, SeqCst);
            *locked.lock().unwrap() += 1;
            aerodrome::atomic_block! { in_block.store(rounds, SeqCst); }
            rounds += 1;
        }
    }
    println!("\nrounds:{rounds}\nhits:{}", HITS.load(Relaxed));
    let names = ["unnamed:", "named:", "locked:", "in a block:"];
    for (name, line) in names.iter().zip(first..) {
        println!("{name}{line}");
    }
    println!("done");
}

// A record that never comes.

/// Each copy of an atomic draws the tickets of the other one, so its records never have their turn.
#[test]
fn memory_that_a_program_overwrites_is_not_waited_for_again_and_again() {
    let ended = run(&mut child("child_copies_atomics")).expect_code(0);
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
    assert!(ended.count("verdict incomplete") > 2, "{}", ended.output());
}

#[test]
fn child_copies_atomics() {
    if !process::is_child() {
        return;
    }
    let start = Instant::now();
    for _ in 0..12 {
        // A strand of its own each, whose first record that has no turn is another one.
        let thread = std::thread::spawn(|| {
            let [one, other] = [AtomicU64::new(0), AtomicU64::new(0)];
            one.store(1, SeqCst);
            // SAFETY: it has no destructor to run twice, for neither is dropped. That it is copied
            // is what a program may do by mistake.
            let copy = std::mem::ManuallyDrop::new(unsafe { std::ptr::read(&one) });
            let store = |atomic: &AtomicU64| {
                // What repeats the last record draws no ticket.
                other.store(2, SeqCst);
                atomic.store(2, SeqCst);
            };
            store(&one);
            let outcome = aerodrome::check(|| store(&copy));
            std::mem::forget(one);
            assert!(!outcome.is_complete());
        });
        thread.join().unwrap();
    }
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    println!("done");
}

#[test]
fn more_blocks_than_can_be_counted_end_checking_and_not_the_program() {
    let ended = run(&mut child("child_nests_blocks")).expect_code(0);
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
    let said = "more than 16 million blocks at once; the verdict is incomplete";
    assert_eq!(ended.count(said), 1, "{}", ended.output());
}

#[test]
fn child_nests_blocks() {
    use aerodrome::__private::{Block, Place};

    enum Here {}
    static DEEP: Block = Block::new::<Here>(Some("deep"), module_path!(), Place.here());
    if !process::is_child() {
        return;
    }
    let value = Mutex::new(0);
    aerodrome::atomic_block! {
        let held = value.lock().unwrap();
        for _ in 0..(1 << 24) + 10 {
            // Real recursion would need a stack of a gigabyte.
            std::mem::forget(aerodrome::__private::begin(&DEEP));
        }
        drop(held);
        *value.lock().unwrap() += 1;
    }
    assert_eq!(*value.lock().unwrap(), 1);
    println!("done");
}

/// A guard that is shared with a thread which its holder waits for: the holder's acquire is
/// published by its next operation alone.
#[test]
fn a_record_that_never_comes_ends_checking_and_not_the_program() {
    let ended = run(&mut child("child_waits_for_a_record")).expect_code(0);
    assert_eq!(ended.count("done"), 1, "{}", ended.output());
    assert_eq!(ended.count("aerodrome:"), 1, "{}", ended.output());
    assert_eq!(
        ended.count("the verdict is incomplete; checking is off"),
        1,
        "{}",
        ended.output()
    );
}

#[test]
fn child_waits_for_a_record() {
    if !process::is_child() {
        return;
    }
    let lock = Mutex::new(7);
    let guard = lock.lock().unwrap();
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                assert_eq!(*guard, 7);
                let own = [AtomicU64::new(0), AtomicU64::new(0)];
                for n in 0..2_000_000 {
                    own[n as usize % 2].store(n, SeqCst);
                }
            });
        }
    });
    drop(guard);
    println!("done");
}
