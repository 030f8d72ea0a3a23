//! A program whose allocator uses a tracked mutex, a tracked atomic and its thread's handle: every
//! allocation is recorded, on every thread, from before `main` until after it.

#![cfg(feature = "check")]

mod process;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use aerodrome::sync::atomic::{AtomicU64, Ordering};
use aerodrome::sync::{Condvar, Mutex, OnceLock, RwLock, mpsc};
use aerodrome::{atomic, atomic_block, thread};

use self::process::{Directory, child, run};

struct Counting {
    allocated: AtomicU64,
    /// How many of each power of two.
    sizes: Mutex<[u64; 64]>,
    /// Counted while the lock is held: a strand that waits for a chunk here keeps everybody from
    /// allocating.
    inside: [AtomicU64; 4],
    /// Not after the test: std's `current` panics when its thread is all but gone, and there is
    /// still something to free.
    asks_for_the_thread: AtomicBool,
}

impl Counting {
    fn count_inside(&self) {
        for counter in &self.inside {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// An allocator may: std says so with `GlobalAlloc`.
    fn ask_for_the_thread(&self) {
        if self.asks_for_the_thread.load(Ordering::Relaxed) {
            thread::current().clone().unpark();
        }
    }
}

// SAFETY: all memory is the system's; counting does not touch it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.allocated.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut sizes) = self.sizes.lock() {
            sizes[layout.size().ilog2() as usize] += 1;
            self.count_inside();
        }
        self.ask_for_the_thread();
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.allocated.fetch_sub(1, Ordering::Relaxed);
        if let Ok(mut sizes) = self.sizes.lock() {
            sizes[layout.size().ilog2() as usize] -= 1;
            self.count_inside();
        }
        self.ask_for_the_thread();
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting {
    allocated: AtomicU64::new(0),
    sizes: Mutex::new([0; 64]),
    inside: [const { AtomicU64::new(0) }; 4],
    asks_for_the_thread: AtomicBool::new(false),
};

#[test]
fn a_tracked_allocator_works() {
    for engine in ["exact", "aerodrome", "aerodrome-basic", "velodrome"] {
        let directory = Directory::new();
        let mut command = child("child_allocates");
        command
            .env("AERODROME_ENGINE", engine)
            .env("AERODROME_TRACE", directory.path());
        let ended = run(&mut command).expect_code(0);
        assert_eq!(ended.count("aerodrome:"), 0, "{}", ended.output());
        assert_eq!(ended.count("done"), 1, "{}", ended.output());
    }
}

#[test]
fn child_allocates() {
    if !process::is_child() {
        return;
    }
    ALLOCATOR.asks_for_the_thread.store(true, Ordering::Relaxed);
    let words = RwLock::new(Vec::new());
    let (cell, bell) = (OnceLock::new(), Condvar::new());
    let (sender, receiver) = mpsc::channel();
    let (bounded, from_bounded) = mpsc::sync_channel(0);
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for strand in 0..6 {
            let (words, cell, bell, count) = (&words, &cell, &bell, &count);
            let (sender, bounded) = (sender.clone(), bounded.clone());
            scope.spawn(move || {
                for n in 0..2_000 {
                    words.write().unwrap().push(format!("{strand} {n}"));
                    cell.get_or_init(|| vec![n]);
                    sender.send(vec![n]).unwrap();
                }
                bounded.send(vec![strand]).unwrap();
                // A lock of its own: no allocation of others comes between.
                atomic_block! { *count.lock().unwrap() += 1; }
                bell.notify_all();
            });
        }
        for _ in 0..6 {
            assert_eq!(from_bounded.recv().unwrap().len(), 1);
        }
        let all = bell
            .wait_while(count.lock().unwrap(), |count| *count < 6)
            .unwrap();
        assert_eq!(*all, 6);
    });
    assert_eq!(words.read().unwrap().len(), 12_000);
    assert_eq!(receiver.try_iter().count(), 12_000);
    let threads: Vec<_> = (0..50)
        .map(|n| {
            let name = format!("worker {n}");
            thread::Builder::new()
                .name(name)
                .spawn(move || vec![n; n])
                .unwrap()
        })
        .collect();
    for (n, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap().len(), n);
    }
    assert!(ALLOCATOR.allocated.load(Ordering::Relaxed) > 12_000);
    ALLOCATOR
        .asks_for_the_thread
        .store(false, Ordering::Relaxed);
    println!("done");
}

#[test]
fn strands_that_fill_their_chunks_inside_of_the_allocator_go_on() {
    for _ in 0..3 {
        let ended = run(&mut child("child_allocates_much")).expect_code(0);
        assert_eq!(ended.count("aerodrome:"), 0, "{}", ended.output());
        assert_eq!(ended.count("done"), 1, "{}", ended.output());
    }
}

#[test]
fn child_allocates_much() {
    if !process::is_child() {
        return;
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..25_000 {
                    let object = Box::new(AtomicU64::new(0));
                    object.store(n, Ordering::SeqCst);
                    // Numbers that never come back make the collector's tables grow.
                    if n % 4 == 0 {
                        std::mem::forget(object);
                    }
                }
            });
        }
    });
    println!("done");
}

/// A violation unwinds through no allocation: it is told at the end of the scope, or at that of the
/// test.
#[test]
fn a_violation_beside_a_tracked_allocator_is_told() {
    let ended = run(&mut child("child_is_told_at_the_end_of_the_scope")).expect_code(101);
    assert_eq!(
        (
            ended.count("error: `twice` is not atomic"),
            ended.count("allocated for a while"),
            ended.count("went on"),
        ),
        (1, 1, 0),
        "{}",
        ended.output()
    );
    let ended = run(&mut child("child_is_judged_at_its_end")).expect_code(101);
    assert_eq!(
        ended.count("error: `twice` is not atomic"),
        1,
        "{}",
        ended.output()
    );
    assert_eq!(ended.count("went on"), 1, "{}", ended.output());
    let ended = run(child("child_goes_on").env("AERODROME", "log")).expect_code(0);
    assert_eq!(
        ended.count("told: `twice` is not atomic"),
        1,
        "{}",
        ended.output()
    );
    assert_eq!(ended.count("went on"), 1, "{}", ended.output());
}

#[test]
fn child_is_told_at_the_end_of_the_scope() {
    if !process::is_child() {
        return;
    }
    violate();
    println!("went on");
}

#[aerodrome::test]
fn child_is_judged_at_its_end() {
    if !process::is_child() {
        return;
    }
    violate();
    println!("went on");
}

#[test]
fn child_goes_on() {
    if !process::is_child() {
        return;
    }
    aerodrome::on_violation(|report| println!("told: {}", report.message));
    violate();
    println!("went on");
}

/// Another strand writes between this one's two reads, and then all that this one does for a while
/// is to allocate.
fn violate() {
    let (value, turn) = (Mutex::new(0), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            turn.wait();
            *value.lock().unwrap() = 1;
            turn.wait();
        });
        twice(&value, &turn);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            drop(vec![0]);
        }
        println!("allocated for a while");
    });
}

#[atomic]
fn twice(value: &Mutex<u32>, turn: &Barrier) {
    let before = *value.lock().unwrap();
    turn.wait();
    turn.wait();
    assert_ne!(*value.lock().unwrap(), before);
}
