//! Where blocks begin and end among locks that are taken before, inside and after them: the trace
//! has every strand's own account of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use aerodrome::sync::atomic::{AtomicU64, Ordering};
use aerodrome::sync::{Mutex, MutexGuard, RwLock};
use aerodrome::trace::{Names, Op};
use aerodrome::{atomic_block, name, thread};

use super::process::{self, Directory};
use super::program::Random;
use super::{number, read};

const BLOCKS: [&str; 3] = ["a", "b", "c"];
const LOCKS: usize = 6;

/// What a strand did or, from a trace, is said to have done.
#[derive(Default)]
struct Account {
    /// Begins, ends, acquires, releases and updates.
    steps: String,
    transactions: u32,
    is_inside: bool,
    sections: u32,
    /// By section, and by transaction, or 0 outside: whether the lock's content was written and not
    /// only read.
    touched: BTreeMap<(u32, u32), bool>,
}

impl Account {
    fn step(&mut self, what: char, on: &str) {
        write!(self.steps, "{what}{on} ").unwrap();
    }

    fn begin(&mut self, block: &str) {
        self.step('B', block);
        self.is_inside = true;
        self.transactions += 1;
    }

    fn end(&mut self, block: &str) {
        self.step('E', block);
        self.is_inside = false;
    }

    fn acquire(&mut self, lock: &str) -> u32 {
        self.step('+', lock);
        self.sections += 1;
        self.sections
    }

    fn touch(&mut self, section: u32, is_write: bool) {
        let transaction = if self.is_inside { self.transactions } else { 0 };
        *self.touched.entry((section, transaction)).or_default() |= is_write;
    }

    fn tell(&self, strand: &str) -> String {
        format!("{strand}: {}{:?}\n", self.steps, self.touched)
    }
}

struct World {
    mutexes: [Mutex<u64>; LOCKS],
    rwlocks: [RwLock<u64>; LOCKS],
    counter: AtomicU64,
}

/// A strand at work, which keeps account.
struct Worker<'a> {
    world: &'a World,
    random: Random,
    account: Account,
    /// The blocks that it is in.
    blocks: Vec<&'static str>,
    /// The first lock that it may take: they are taken in one order.
    free: usize,
}

/// Unwinds, as a panic does, without words.
struct Stop;

impl Worker<'_> {
    /// Something is about to be recorded: the block shows.
    fn record(&mut self) {
        let block = self.blocks.first();
        if let Some(block) = block.filter(|_| !self.account.is_inside) {
            self.account.begin(block);
        }
    }

    fn work(&mut self, depth: u32) {
        for _ in 0..self.random.below(4) {
            match self.random.below(8) {
                0 => {
                    self.record();
                    self.account.step('U', "counter");
                    self.world.counter.fetch_add(1, Ordering::Relaxed);
                }
                1 | 2 if depth > 0 => self.block(depth - 1),
                3 if self.blocks.is_empty() => self.carry_out(),
                4 | 5 if depth > 0 && self.free < LOCKS => self.mutex(depth - 1),
                6 if depth > 0 && self.free < LOCKS => self.rwlock(depth - 1),
                _ => {}
            }
        }
    }

    fn block(&mut self, depth: u32) {
        let which = self.random.below(BLOCKS.len());
        let how = self.random.below(4);
        self.blocks.push(BLOCKS[which]);
        let run = AssertUnwindSafe(|| {
            let mut body = || {
                self.work(depth);
                match how {
                    0 => resume_unwind(Box::new(Stop)),
                    1 => return,
                    _ => {}
                }
                self.work(depth);
            };
            match which {
                0 => atomic_block!(name = "a", { body() }),
                1 => atomic_block!(name = "b", { body() }),
                _ => atomic_block!(name = "c", { body() }),
            }
        });
        let _ = catch_unwind(run);
        self.blocks.pop();
        if self.blocks.is_empty() && self.account.is_inside {
            self.account.end(BLOCKS[which]);
        }
    }

    fn choose(&mut self) -> (usize, usize) {
        let before = self.free;
        let lock = before + self.random.below(LOCKS - before);
        self.free = lock + 1;
        (lock, before)
    }

    fn mutex(&mut self, depth: u32) {
        let (lock, before) = self.choose();
        let mut guard = lock_mutex(&self.world.mutexes[lock]);
        self.section(&format!("mutex {lock}"), &mut guard, depth);
        drop(guard);
        self.free = before;
    }

    fn rwlock(&mut self, depth: u32) {
        let (lock, before) = self.choose();
        let rwlock = &self.world.rwlocks[lock];
        let name = format!("rwlock {lock}");
        if self.random.below(2) == 0 {
            let mut guard = rwlock.write().unwrap_or_else(PoisonError::into_inner);
            self.section(&name, &mut guard, depth);
        } else {
            let guard = rwlock.read().unwrap_or_else(PoisonError::into_inner);
            self.record();
            let section = self.account.acquire(&name);
            for _ in 0..self.random.below(3) {
                let _ = *guard;
                self.record();
                self.account.touch(section, false);
                self.work(depth);
            }
            self.record();
            self.account.step('-', &name);
        }
        self.free = before;
    }

    /// What is done while a lock is held, up to its release.
    fn section(&mut self, name: &str, guard: &mut impl DerefMut<Target = u64>, depth: u32) {
        self.record();
        let section = self.account.acquire(name);
        for _ in 0..self.random.below(4) {
            if self.blocks.is_empty() && self.random.below(2) == 0 {
                self.account.begin("c");
                atomic_block!(name = "c", { self.touch(section, guard) });
                self.account.end("c");
            } else {
                self.touch(section, guard);
            }
            self.work(depth);
        }
        self.record();
        self.account.step('-', name);
    }

    fn touch(&mut self, section: u32, guard: &mut impl DerefMut<Target = u64>) {
        self.record();
        let is_write = self.random.below(2) == 0;
        self.account.touch(section, is_write);
        if is_write {
            **guard += 1;
        } else {
            let _ = **guard;
        }
    }

    /// A guard leaves the block in which it was made.
    fn carry_out(&mut self) {
        if self.free == LOCKS {
            return;
        }
        let (lock, before) = self.choose();
        let world = self.world;
        let name = format!("mutex {lock}");
        self.account.begin("a");
        let (section, mut guard) = atomic_block!(name = "a", {
            let mut guard = lock_mutex(&world.mutexes[lock]);
            let section = self.account.acquire(&name);
            if self.random.below(2) == 0 {
                self.touch(section, &mut guard);
            }
            (section, guard)
        });
        self.account.end("a");
        if self.random.below(2) == 0 {
            self.touch(section, &mut guard);
        }
        self.work(1);
        self.account.step('-', &name);
        drop(guard);
        self.free = before;
    }
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs strands and leaves their accounts.
#[test]
fn child_with_blocks() {
    if !process::is_child() {
        return;
    }
    let (seed, strands) = (number("STRESS_SEED").unwrap(), number("STRESS_STRANDS"));
    let world = World {
        mutexes: Default::default(),
        rwlocks: Default::default(),
        counter: AtomicU64::new(0),
    };
    name(&world.counter, "counter");
    for lock in 0..LOCKS {
        name(&world.mutexes[lock], &format!("mutex {lock}"));
        name(&world.rwlocks[lock], &format!("rwlock {lock}"));
    }
    let mut accounts = String::new();
    let world = &world;
    let _ = aerodrome::check(|| {
        let strands: Vec<_> = (0..strands.unwrap())
            .map(|strand| format!("strand {strand}"))
            .collect();
        thread::scope(|scope| {
            let spawn = |(at, strand): (usize, &String)| {
                let run = move || {
                    let mut worker = Worker {
                        world,
                        random: Random::new(seed ^ (at as u64) << 32),
                        account: Account::default(),
                        blocks: Vec::new(),
                        free: 0,
                    };
                    for _ in 0..2_000 {
                        worker.work(4);
                    }
                    worker.account
                };
                let builder = thread::Builder::new().name(strand.clone());
                builder.spawn_scoped(scope, run).unwrap()
            };
            let workers: Vec<_> = strands.iter().enumerate().map(spawn).collect();
            for (worker, strand) in workers.into_iter().zip(&strands) {
                accounts += &worker.join().unwrap().tell(strand);
            }
        });
    });
    let directory = std::env::var("AERODROME_TRACE").unwrap();
    std::fs::write(format!("{directory}/accounts"), accounts).unwrap();
}

/// What the trace says of its strands.
fn accounts(trace: &str) -> String {
    let mut accounts: BTreeMap<String, (Account, BTreeMap<u32, u32>)> = BTreeMap::new();
    read(trace, |event, _, position, names| {
        let (account, open) = accounts.entry(names.strand(event.strand).name).or_default();
        let object = || {
            let info = names.object(event.object());
            info.name
                .unwrap_or_else(|| panic!("event {position}: what has no name, {event:?}"))
        };
        let mut touch = |is_write| account.touch(open[&event.target], is_write);
        match event.op {
            Op::Begin => account.begin(&names.block(event.block()).name),
            Op::End => account.end(&names.block(event.block()).name),
            Op::Acquire | Op::AcquireShared => {
                open.insert(event.target, account.acquire(&object()));
            }
            Op::Release | Op::ReleaseShared => account.step('-', &object()),
            Op::Update(_) => account.step('U', &object()),
            Op::Read => touch(false),
            Op::Write | Op::ReadWrite => touch(true),
            _ => {}
        }
    });
    let mut told = String::new();
    for (strand, (account, _)) in accounts {
        if strand.starts_with("strand ") {
            told += &account.tell(&strand);
        }
    }
    told
}

#[test]
fn every_strand_finds_its_blocks_and_sections_in_the_trace() {
    let seed = number("AERODROME_STRESS_SEED").unwrap_or(1);
    for (seed, strands) in [(seed, 1), (seed + 1, 2), (seed + 2, 4), (seed + 3, 8)] {
        let directory = Directory::new();
        process::run(
            process::child("blocks::child_with_blocks")
                .env("AERODROME_TRACE", directory.path())
                .env("STRESS_SEED", seed.to_string())
                .env("STRESS_STRANDS", strands.to_string()),
        )
        .expect_code(0);
        let expected = std::fs::read_to_string(directory.path().join("accounts")).unwrap();
        let found = accounts(&directory.trace());
        assert_eq!(expected.lines().count(), strands);
        for (expected, found) in expected.lines().zip(found.lines()) {
            assert!(expected.len() > 10_000, "{} bytes", expected.len());
            let same = expected
                .bytes()
                .zip(found.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let from = same.saturating_sub(200);
            assert!(
                expected == found,
                "seed {seed}:\n{}\n{}",
                expected.get(from..same + 100).unwrap_or(&expected[from..]),
                found.get(from..same + 100).unwrap_or(&found[from..])
            );
        }
        assert_eq!(expected.lines().count(), found.lines().count());
    }
}
