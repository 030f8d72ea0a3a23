//! A random program over everything that is mirrored.
//!
//! Written so that it always ends: locks are nested in the order of their numbers, and whoever
//! waits without a time-out waits for a strand that it has just forked.

use std::sync::Arc;
use std::time::Duration;

use aerodrome::sync::atomic::{
    AtomicBool, AtomicI16, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::*,
};
use aerodrome::sync::mpsc::{self, Receiver, Sender, SyncSender};
use aerodrome::sync::{
    Barrier, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, RwLock, RwLockWriteGuard,
};
use aerodrome::{atomic_block, thread};

use super::log::{Log, Step, new_objects, new_strand};

/// What a program is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) seed: u64,
    pub(crate) strands: u32,
    /// Of each strand.
    pub(crate) steps: u32,
    /// Whether several operations make one transaction; if not, each is one, and everything is
    /// recorded.
    pub(crate) wide: bool,
}

/// Numbers that look random (splitmix64).
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Something with its number.
struct Numbered<T> {
    number: u32,
    it: T,
}

fn numbered<T>(log: &mut Log, it: T, value: u64) -> Numbered<T> {
    let number = new_objects(1);
    log.push(Step::New, number, value);
    Numbered { number, it }
}

/// A channel of which anybody may try to receive: the receiver is behind a lock that nobody tracks.
struct Channel {
    number: u32,
    sender: Sender<u64>,
    receiver: std::sync::Mutex<(Receiver<u64>, u64)>,
}

/// What all strands share.
pub(crate) struct World {
    mutexes: Vec<Numbered<Mutex<u64>>>,
    rwlocks: Vec<Numbered<RwLock<u64>>>,
    wide: Vec<Numbered<AtomicU64>>,
    byte: Numbered<AtomicU8>,
    short: Numbered<AtomicI16>,
    word: Numbered<AtomicU32>,
    size: Numbered<AtomicUsize>,
    flag: Numbered<AtomicBool>,
    cells: Vec<Numbered<OnceLock<u64>>>,
    once: Numbered<Once>,
    lazy: Numbered<LazyLock<u64>>,
    bell: Condvar,
    channels: Vec<Channel>,
}

impl World {
    pub(crate) fn new(log: &mut Log) -> Self {
        Self {
            mutexes: (0..6).map(|_| numbered(log, Mutex::new(0), 0)).collect(),
            rwlocks: (0..3).map(|_| numbered(log, RwLock::new(0), 0)).collect(),
            wide: (0..4)
                .map(|_| numbered(log, AtomicU64::new(0), 0))
                .collect(),
            byte: numbered(log, AtomicU8::new(0), 0),
            short: numbered(log, AtomicI16::new(0), 0),
            word: numbered(log, AtomicU32::new(0), 0),
            size: numbered(log, AtomicUsize::new(0), 0),
            flag: numbered(log, AtomicBool::new(false), 0),
            cells: (0..4).map(|_| numbered(log, OnceLock::new(), 0)).collect(),
            once: numbered(log, Once::new(), 0),
            lazy: numbered(log, LazyLock::new(|| 7), 0),
            bell: Condvar::new(),
            channels: (0..2)
                .map(|_| {
                    let (sender, receiver) = mpsc::channel();
                    Channel {
                        number: new_objects(1),
                        sender,
                        receiver: std::sync::Mutex::new((receiver, 0)),
                    }
                })
                .collect(),
        }
    }
}

/// A strand at work.
struct Worker<'a> {
    world: &'a Arc<World>,
    shape: Shape,
    random: Random,
    log: Log,
    /// How many more forks deep it may go.
    forks: u32,
    /// What it awaits when it parks.
    parker: u32,
    values: u64,
}

/// Runs the program; the logs are complete when it returns.
pub(crate) fn run(shape: Shape) {
    let mut log = Log::of(new_strand());
    let world = Arc::new(World::new(&mut log));
    let mut root = Worker::new(&world, shape, log, 2);
    let children: Vec<_> = (1..shape.strands).map(|_| root.fork()).collect();
    root.work();
    for child in children {
        child.join().unwrap();
    }
}

/// The value of a cell; formatting is no access.
fn peek(cell: &OnceLock<u64>) -> u64 {
    let text = format!("{cell:?}");
    let digits = text.trim_matches(|c: char| !c.is_ascii_digit());
    digits.parse().expect("a cell that is set")
}

impl<'a> Worker<'a> {
    fn new(world: &'a Arc<World>, shape: Shape, log: Log, forks: u32) -> Self {
        let random = Random::new(shape.seed ^ u64::from(log.strand) << 32);
        Self {
            world,
            shape,
            random,
            log,
            forks,
            parker: new_objects(1),
            values: 0,
        }
    }

    /// A value that nobody else writes.
    fn value(&mut self) -> u64 {
        self.values += 1;
        u64::from(self.log.strand) << 32 | self.values
    }

    /// Forks a strand that works like this one.
    fn fork(&mut self) -> thread::JoinHandle<()> {
        let (world, strand) = (self.world.clone(), new_strand());
        let (shape, forks) = (self.shape, self.forks - 1);
        self.log.push(Step::Fork, strand, 0);
        thread::spawn(move || Worker::new(&world, shape, Log::of(strand), forks).work())
    }

    fn work(&mut self) {
        let mut left = self.shape.steps;
        while left > 0 {
            let together = if self.shape.wide {
                (1 + self.random.below(4) as u32).min(left)
            } else {
                1
            };
            left -= together;
            if self.random.below(8) == 0 {
                self.crossed_mutexes();
            }
            if self.forks > 0 && self.random.below(200) == 0 && !self.shape.wide {
                self.together();
            }
            atomic_block! {
                for _ in 0..together {
                    self.step();
                }
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..18 => self.mutex(),
            18..24 => self.two_mutexes(),
            24..28 => self.try_mutex(),
            28..38 => self.rwlock(),
            38..58 => self.wide_atomic(),
            58..72 => self.narrow_atomic(),
            72..78 => self.cell(),
            78..81 => self.once(),
            81..86 => self.send(),
            86..90 => self.try_receive(),
            90..92 => self.receive_with_timeout(),
            92..94 => self.wait_and_notify(),
            94..98 => self.short_lived(),
            _ if self.shape.wide && self.forks > 0 && self.random.below(8) == 0 => self.together(),
            _ => self.short_lived(),
        }
    }

    fn mutex(&mut self) {
        let world = self.world;
        let at = self.random.below(world.mutexes.len());
        let Numbered { number, it } = &world.mutexes[at];
        self.log.push(Step::Acquire, *number, 0);
        let mut guard = it.lock().unwrap();
        match self.random.below(4) {
            0 => self.log.push(Step::Read, *number, *guard),
            1 => {
                *guard = self.value();
                self.log.push(Step::Write, *number, self.last());
            }
            2 => {
                self.log.push(Step::Read, *number, *guard);
                *guard = self.value();
                self.log.push(Step::Write, *number, self.last());
            }
            // A section in which nothing is touched.
            _ => {}
        }
        self.log.push(Step::Release, *number, 0);
    }

    /// The value that was written last by this strand.
    fn last(&self) -> u64 {
        u64::from(self.log.strand) << 32 | self.values
    }

    fn two_mutexes(&mut self) {
        let world = self.world;
        let first = self.random.below(world.mutexes.len() - 1);
        let second = first + 1 + self.random.below(world.mutexes.len() - first - 1);
        let (a, b) = (&world.mutexes[first], &world.mutexes[second]);
        self.log.push(Step::Acquire, a.number, 0);
        let mut one = a.it.lock().unwrap();
        self.log.push(Step::Read, a.number, *one);
        self.log.push(Step::Acquire, b.number, 0);
        let mut two = b.it.lock().unwrap();
        self.log.push(Step::Read, b.number, *two);
        *two = self.value();
        self.log.push(Step::Write, b.number, self.last());
        if self.random.below(2) == 0 {
            // Not in the order of a stack.
            drop(one);
            self.log.push(Step::Release, a.number, 0);
            drop(two);
            self.log.push(Step::Release, b.number, 0);
        } else {
            drop(two);
            self.log.push(Step::Release, b.number, 0);
            *one = self.value();
            self.log.push(Step::Write, a.number, self.last());
            drop(one);
            self.log.push(Step::Release, a.number, 0);
        }
    }

    /// Holds up to three locks together, outside of blocks, where each access is a transaction of
    /// its own, and touches them in any order.
    fn crossed_mutexes(&mut self) {
        let world = self.world;
        let mut held = Vec::new();
        for Numbered { number, it } in &world.mutexes {
            if held.len() < 3 && self.random.below(2) == 0 {
                self.log.push(Step::Acquire, *number, 0);
                held.push((*number, it.lock().unwrap()));
                // Some are touched before the next lock is taken, some after.
                if self.random.below(3) == 0 {
                    let (number, guard) = held.last_mut().expect("has just been taken");
                    self.touch(*number, guard);
                }
            }
        }
        let mut last = held.len() - usize::from(!held.is_empty());
        for _ in 0..self.random.below(6) {
            let at = self.random.below(held.len().max(1));
            // The second of two touches without anything between them says nothing new.
            if at != last {
                let (number, guard) = &mut held[at];
                self.touch(*number, guard);
                last = at;
            }
        }
        while !held.is_empty() {
            let (number, guard) = held.swap_remove(self.random.below(held.len()));
            self.log.push(Step::Release, number, 0);
            drop(guard);
        }
    }

    /// Reads or writes what a lock guards.
    fn touch(&mut self, number: u32, guard: &mut MutexGuard<'_, u64>) {
        if self.random.below(2) == 0 {
            self.log.push(Step::Read, number, **guard);
        } else {
            **guard = self.value();
            self.log.push(Step::Write, number, self.last());
        }
    }

    fn try_mutex(&mut self) {
        let world = self.world;
        let at = self.random.below(world.mutexes.len());
        let Numbered { number, it } = &world.mutexes[at];
        if let Ok(mut guard) = it.try_lock() {
            self.log.push(Step::Acquire, *number, 0);
            self.log.push(Step::Read, *number, *guard);
            *guard = self.value();
            self.log.push(Step::Write, *number, self.last());
            self.log.push(Step::Release, *number, 0);
        }
    }

    fn rwlock(&mut self) {
        let world = self.world;
        let at = self.random.below(world.rwlocks.len());
        let Numbered { number, it } = &world.rwlocks[at];
        match self.random.below(4) {
            0 | 1 => {
                let guard = it.read().unwrap();
                self.log.push(Step::AcquireShared, *number, 0);
                self.log.push(Step::Read, *number, *guard);
                self.log.push(Step::ReleaseShared, *number, 0);
            }
            2 => {
                let mut guard = it.write().unwrap();
                self.log.push(Step::Acquire, *number, 0);
                self.log.push(Step::Read, *number, *guard);
                *guard = self.value();
                self.log.push(Step::Write, *number, self.last());
                self.log.push(Step::Release, *number, 0);
            }
            _ => {
                let mut guard = it.write().unwrap();
                self.log.push(Step::Acquire, *number, 0);
                *guard = self.value();
                self.log.push(Step::Write, *number, self.last());
                let guard = RwLockWriteGuard::downgrade(guard);
                self.log.push(Step::Downgrade, *number, 0);
                self.log.push(Step::Read, *number, *guard);
                self.log.push(Step::ReleaseShared, *number, 0);
            }
        }
    }

    fn changed(&mut self, number: u32, from: u64, to: u64) {
        self.log.push(Step::Read, number, from);
        self.log.push(Step::Write, number, to);
    }

    fn wide_atomic(&mut self) {
        let world = self.world;
        let at = self.random.below(world.wide.len());
        let Numbered { number, it } = &world.wide[at];
        let number = *number;
        match self.random.below(7) {
            0 | 1 => {
                let value = it.load(Acquire);
                self.log.push(Step::Read, number, value);
            }
            2 => {
                let value = self.value();
                it.store(value, Release);
                self.log.push(Step::Write, number, value);
            }
            3 => {
                let value = self.value();
                let before = it.swap(value, AcqRel);
                self.changed(number, before, value);
            }
            4 => {
                let before = it.fetch_add(1, Relaxed);
                self.changed(number, before, before.wrapping_add(1));
            }
            5 => {
                let value = self.value();
                let expected = it.load(Relaxed);
                self.log.push(Step::Read, number, expected);
                match it.compare_exchange(expected, value, SeqCst, Relaxed) {
                    // The load before was of the same value in the same transaction.
                    Ok(before) => self.changed(number, before, value),
                    Err(found) => self.log.push(Step::Read, number, found),
                }
            }
            _ => {
                let value = self.value();
                let before = it.update(AcqRel, Acquire, |seen| {
                    self.log.push(Step::Read, number, seen);
                    value
                });
                self.changed(number, before, value);
            }
        }
    }

    fn narrow_atomic(&mut self) {
        let world = self.world;
        match self.random.below(5) {
            0 => {
                let before = world.byte.it.fetch_xor(0x5a, AcqRel);
                self.changed(world.byte.number, before.into(), (before ^ 0x5a).into());
            }
            1 => {
                let before = world.short.it.fetch_sub(3, SeqCst);
                let bits = |value: i16| u64::from(value as u16);
                self.changed(
                    world.short.number,
                    bits(before),
                    bits(before.wrapping_sub(3)),
                );
            }
            2 => {
                let candidate = self.random.next() as u32;
                let before = world.word.it.fetch_max(candidate, Relaxed);
                self.changed(
                    world.word.number,
                    before.into(),
                    before.max(candidate).into(),
                );
            }
            3 => {
                let before = world.size.it.fetch_nand(0xff, AcqRel);
                self.changed(world.size.number, before as u64, !(before & 0xff) as u64);
            }
            _ => {
                let before = world.flag.it.fetch_not(AcqRel);
                self.changed(world.flag.number, before.into(), (!before).into());
            }
        }
    }

    /// A cell that is empty counts as holding 0.
    fn cell(&mut self) {
        let world = self.world;
        let at = self.random.below(world.cells.len());
        let Numbered { number, it } = &world.cells[at];
        match self.random.below(3) {
            0 => {
                let value = it.get().copied().unwrap_or(0);
                self.log.push(Step::Read, *number, value);
            }
            1 => {
                let mut ran = false;
                let value = self.value();
                let value = *it.get_or_init(|| {
                    ran = true;
                    value
                });
                let step = if ran { Step::Write } else { Step::Read };
                self.log.push(step, *number, value);
            }
            _ => {
                let value = self.value();
                match it.set(value) {
                    Ok(()) => self.log.push(Step::Write, *number, value),
                    // A read, of a value that `set` does not tell: it stays what it is.
                    Err(_) => self.log.push(Step::Read, *number, peek(it)),
                }
            }
        }
    }

    fn once(&mut self) {
        let world = self.world;
        if self.random.below(2) == 0 {
            let mut ran = false;
            world.once.it.call_once(|| ran = true);
            let step = if ran { Step::Write } else { Step::Read };
            self.log.push(step, world.once.number, 1);
        } else {
            let value = *world.lazy.it;
            self.log.push(Step::Force, world.lazy.number, value);
        }
    }

    fn send(&mut self) {
        let at = self.random.below(self.world.channels.len());
        let channel = &self.world.channels[at];
        let value = self.value();
        self.log.push(Step::Send, channel.number, value);
        channel.sender.send(value).unwrap();
    }

    fn try_receive(&mut self) {
        let at = self.random.below(self.world.channels.len());
        let channel = &self.world.channels[at];
        let mut receiver = channel.receiver.lock().unwrap();
        match receiver.0.try_recv() {
            Ok(value) => {
                receiver.1 += 1;
                self.log.push(Step::Receive, channel.number, value);
            }
            Err(_) => self.log.push(Step::Empty, channel.number, receiver.1),
        }
    }

    fn receive_with_timeout(&mut self) {
        let at = self.random.below(self.world.channels.len());
        let channel = &self.world.channels[at];
        let mut receiver = channel.receiver.lock().unwrap();
        match receiver.0.recv_timeout(Duration::from_micros(50)) {
            Ok(value) => {
                receiver.1 += 1;
                self.log.push(Step::Receive, channel.number, value);
            }
            Err(_) => self.log.push(Step::Empty, channel.number, receiver.1),
        }
    }

    /// On a mutex of which nobody holds another one while waiting.
    fn wait_and_notify(&mut self) {
        let world = self.world;
        let Numbered { number, it } = &world.mutexes[0];
        if self.random.below(2) == 0 {
            world.bell.notify_all();
            return;
        }
        let guard = it.lock().unwrap();
        self.log.push(Step::Acquire, *number, 0);
        self.log.push(Step::Read, *number, *guard);
        self.log.push(Step::Release, *number, 0);
        let (mut guard, _) = world
            .bell
            .wait_timeout(guard, Duration::from_micros(50))
            .unwrap();
        self.log.push(Step::Acquire, *number, 0);
        self.log.push(Step::Read, *number, *guard);
        *guard = self.value();
        self.log.push(Step::Write, *number, self.last());
        self.log.push(Step::Release, *number, 0);
    }

    /// Objects that come and go, so that numbers are used again.
    fn short_lived(&mut self) {
        let value = self.value();
        let mutex = numbered(&mut self.log, Mutex::new(value), value);
        let atomic = numbered(&mut self.log, AtomicU64::new(value), value);
        for _ in 0..self.random.below(3) {
            self.log.push(Step::Acquire, mutex.number, 0);
            let mut guard = mutex.it.lock().unwrap();
            self.log.push(Step::Read, mutex.number, *guard);
            *guard = self.value();
            self.log.push(Step::Write, mutex.number, self.last());
            self.log.push(Step::Release, mutex.number, 0);
        }
        let before = atomic.it.swap(self.value(), AcqRel);
        self.changed(atomic.number, before, self.last());
    }

    /// Strands that this one forks and joins, or that a scope does, with everything that makes them
    /// wait for each other.
    fn together(&mut self) {
        match self.random.below(4) {
            0 => {
                let shape = self.shape;
                self.shape.steps = 20;
                let child = self.fork();
                self.shape = shape;
                self.mutex();
                child.join().unwrap();
            }
            1 => self.barrier(),
            2 => self.pipeline(),
            _ => self.park(),
        }
    }

    fn barrier(&mut self) {
        let parties = 2 + self.random.below(3);
        let rounds = 1 + self.random.below(4);
        let barrier = &numbered(&mut self.log, Barrier::new(parties), 0);
        let (world, mut shape) = (self.world, self.shape);
        shape.steps = 3;
        thread::scope(|scope| {
            for _ in 0..parties {
                let strand = new_strand();
                self.log.push(Step::Fork, strand, 0);
                scope.spawn(move || {
                    let mut worker = Worker::new(world, shape, Log::of(strand), 0);
                    for round in 1..=rounds {
                        worker.work();
                        worker.log.push(Step::Signal, barrier.number, 0);
                        atomic_block! { barrier.it.wait(); }
                        let signals = (round * parties) as u64;
                        worker.log.push(Step::Await, barrier.number, signals);
                    }
                });
            }
        });
    }

    /// A child sends, through a channel of some bound, and this strand receives.
    fn pipeline(&mut self) {
        enum Any {
            Unbounded(Sender<u64>),
            Bounded(SyncSender<u64>),
        }
        let bound = [None, Some(0), Some(1)][self.random.below(3)];
        let (sender, receiver) = match bound {
            None => {
                let (sender, receiver) = mpsc::channel();
                (Any::Unbounded(sender), receiver)
            }
            Some(bound) => {
                let (sender, receiver) = mpsc::sync_channel(bound);
                (Any::Bounded(sender), receiver)
            }
        };
        let (channel, strand) = (new_objects(1), new_strand());
        self.log.push(Step::Fork, strand, 0);
        let count = 1 + self.random.below(5);
        let (world, shape) = (self.world, self.shape);
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut worker = Worker::new(world, shape, Log::of(strand), 0);
                for _ in 0..count {
                    let value = worker.value();
                    worker.log.push(Step::Send, channel, value);
                    atomic_block! {
                        match &sender {
                            Any::Unbounded(sender) => sender.send(value).unwrap(),
                            Any::Bounded(sender) => sender.send(value).unwrap(),
                        }
                    }
                    if bound == Some(0) {
                        worker.log.push(Step::Answered, channel, 0);
                    }
                }
            });
            for _ in 0..count {
                let value = receiver.recv().unwrap();
                self.log.push(Step::Receive, channel, value);
                if bound == Some(0) {
                    self.log.push(Step::Answer, channel, 0);
                }
            }
        });
    }

    /// A child wakes this strand, which looks at a flag before and after it sleeps.
    fn park(&mut self) {
        let flag = numbered(&mut self.log, AtomicU64::new(0), 0);
        let number = flag.number;
        let (flag, me) = (Arc::new(flag), thread::current());
        let (parker, strand) = (self.parker, new_strand());
        self.log.push(Step::Fork, strand, 0);
        let childs = flag.clone();
        let child = thread::spawn(move || {
            let mut log = Log::of(strand);
            atomic_block! { childs.it.store(1, Release); }
            log.push(Step::Write, number, 1);
            log.push(Step::Signal, parker, 0);
            atomic_block! { me.unpark(); }
        });
        loop {
            let value = flag.it.load(Acquire);
            self.log.push(Step::Read, number, value);
            if value == 1 {
                break;
            }
            thread::park();
            self.log.push(Step::Await, parker, 0);
        }
        child.join().unwrap();
    }
}
