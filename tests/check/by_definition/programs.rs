//! Small programs, run step by step under a random schedule: traces as the recorder writes them.
//!
//! Random events seldom make a retry loop. Here values decide: an exchange fails where another
//! strand came between, a strand spins until it sees what it waits for, and every operation has a
//! site that a loop comes back to.

use std::collections::{HashMap, HashSet};

use aerodrome::trace::{Event, Op, SiteId, Update};

use crate::common::{ROOTS, Random, event};

/// Strands that programs fork have numbers from [`ROOTS`] up to this.
const STRANDS: u32 = 7;
/// Atomics, flags among them, have numbers below this; locks and what they guard those from here
/// on.
const LOCKS: u32 = 6;
/// Messages have numbers from here on.
const MESSAGES: u32 = 100;

/// One step of a strand. An operation that can succeed or not leaves its result for [`Step::Else`].
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Recorded as it stands.
    Record(Op, u32),
    /// Succeeds if the value is the one that was seen last.
    Load(u32),
    Store(u32, u64),
    /// Succeeds if it changed the value.
    Update(Update, u32),
    /// Succeeds if the value is the one that was seen last.
    Exchange(u32),
    /// Succeeds if the flag is set.
    Test(u32),
    Lock(u32),
    TryLock(u32),
    Unlock(u32),
    Send(u32),
    Recv(u32),
    Fork(u32),
    Join(u32),
    Goto(usize),
    /// Goes on elsewhere after a failure.
    Else(usize),
}

/// Writes a strand's steps.
struct Author<'a> {
    random: &'a mut Random,
    steps: Vec<Step>,
}

impl Author<'_> {
    fn below(&mut self, n: u64) -> u32 {
        self.random.below(n) as u32
    }

    fn atomic(&mut self) -> u32 {
        self.below(u64::from(LOCKS))
    }

    fn lock(&mut self) -> u32 {
        LOCKS + self.below(3)
    }

    fn add(&mut self, steps: &[Step]) {
        self.steps.extend(steps);
    }

    /// `body`, and after a failure `otherwise` and `body` again from the given step on.
    fn retry(&mut self, body: &[Step], from: usize, otherwise: &[Step]) {
        let again = self.steps.len() + from;
        self.add(body);
        let exit = self.steps.len() + 2 + otherwise.len() + 1;
        // A success goes around what follows.
        self.add(&[Step::Else(self.steps.len() + 2), Step::Goto(exit)]);
        self.add(otherwise);
        self.add(&[Step::Goto(again)]);
    }

    fn touch(&mut self, lock: u32) {
        let op = [Op::Read, Op::Write, Op::ReadWrite][self.below(3) as usize];
        self.add(&[Step::Record(op, lock)]);
    }

    /// Two guards, what they guard touched in any order.
    fn crossed_guards(&mut self) {
        let (a, b) = (LOCKS, LOCKS + 1 + self.below(2));
        self.add(&[Step::Lock(a), Step::Lock(b)]);
        for _ in 0..1 + self.below(4) {
            let lock = [a, b][self.below(2) as usize];
            self.touch(lock);
        }
        let (first, last) = if self.below(2) == 0 { (a, b) } else { (b, a) };
        self.add(&[Step::Unlock(first)]);
        self.touch(last);
        self.add(&[Step::Unlock(last)]);
    }

    /// A loop of some usual shape, or one that is nearly so.
    fn idiom(&mut self) {
        use Step::*;
        let (x, y, lock) = (self.atomic(), self.atomic(), self.lock());
        let pause = Record(Op::Pause, 0);
        let restart = Record(Op::Restart, 0);
        match self.below(19) {
            0 => self.retry(&[Load(x), Store(y, 0), Exchange(x)], 0, &[]),
            1 => self.retry(&[Load(x), Exchange(x)], 1, &[]),
            2 => self.retry(&[Load(x), Exchange(x)], 0, &[pause]),
            3 => self.retry(&[Load(x), Test(x)], 0, &[pause]),
            4 => {
                self.retry(&[Update(aerodrome::trace::Update::Swap, x)], 0, &[pause]);
                self.add(&[Load(y), Store(y, 2), Store(x, 0)]);
            }
            5 => {
                let or = aerodrome::trace::Update::Or;
                self.retry(&[Update(or, x)], 0, &[Load(x), pause, Load(x)]);
                self.add(&[Store(y, 3), Store(x, 0)]);
            }
            6 => {
                self.retry(&[TryLock(lock)], 0, &[pause]);
                self.touch(lock);
                self.add(&[Unlock(lock)]);
            }
            7 => self.crossed_guards(),
            8 => self.retry(&[Load(x), Load(y), Load(x)], 0, &[restart]),
            9 => self.add(&[Load(x), pause, Store(x, 4)]),
            10 => {
                self.add(&[Lock(lock), Record(Op::Read, lock), Unlock(lock)]);
                self.add(&[Record(Op::Split, 0), Lock(lock)]);
                self.touch(lock);
                self.add(&[Unlock(lock)]);
            }
            11 => self.retry(&[Load(x), Load(y), Exchange(x)], 0, &[]),
            12 => self.retry(&[Load(y), Load(x), Exchange(x)], 1, &[]),
            13 => {
                self.add(&[Update(aerodrome::trace::Update::Add, y)]);
                self.retry(&[Load(x), Exchange(x)], 0, &[]);
            }
            14 => self.add(&[Load(x), Update(aerodrome::trace::Update::Max, y)]),
            15 => self.add(&[Load(x), Store(y, 5), Record(Op::Retire, x)]),
            16 => self.add(&[Lock(lock), Send(lock), Store(x, 6)]),
            17 => {
                let or = aerodrome::trace::Update::Or;
                self.add(&[Load(x), Update(or, x), Store(y, 8)]);
            }
            _ => self.add(&[Load(x), Load(y), Store(x, 7)]),
        }
    }

    fn statement(&mut self) {
        let child = ROOTS + self.below(u64::from(STRANDS - ROOTS));
        let lock = self.lock();
        match self.below(12) {
            0 => self.add(&[Step::Fork(child)]),
            1 => self.add(&[Step::Join(child)]),
            2 => {
                // What was sent is a guard.
                self.add(&[Step::Record(Op::Split, 0), Step::Recv(lock)]);
                self.touch(lock);
                self.add(&[Step::Unlock(lock)]);
            }
            _ => self.idiom(),
        }
    }

    fn program(mut self) -> Vec<Step> {
        for _ in 0..1 + self.below(3) {
            let is_block = self.below(5) > 0;
            if is_block {
                let block = 900 + self.below(3);
                self.add(&[Step::Record(Op::Begin, block)]);
            }
            for _ in 0..1 + self.below(3) {
                self.statement();
            }
            if is_block {
                self.add(&[Step::Record(Op::End, 0)]);
            }
        }
        if self.below(2) == 0 {
            self.add(&[Step::Record(Op::Exit, 0)]);
        }
        self.steps
    }
}

/// A strand that runs, or has run.
struct Strand {
    steps: Vec<Step>,
    /// The site of the first step.
    site: u32,
    next: usize,
    seen: HashMap<u32, u64>,
    succeeded: bool,
}

impl Strand {
    /// Whether the value is the one that was seen last.
    fn see(&mut self, x: u32, value: u64) -> bool {
        self.seen.insert(x, value).unwrap_or(0) == value
    }

    fn decide(&mut self, step: Step) -> Option<(Op, u32)> {
        match step {
            Step::Goto(to) => self.next = to,
            Step::Else(to) if !self.succeeded => self.next = to,
            Step::Test(x) => self.succeeded = self.seen.get(&x).is_some_and(|&value| value != 0),
            _ => {}
        }
        None
    }
}

struct Machine<'a> {
    random: &'a mut Random,
    strands: HashMap<u32, Strand>,
    values: HashMap<u32, u64>,
    /// Locks that are held, by a strand or by a message.
    held_locks: HashSet<u32>,
    sent: Vec<u32>,
    sites: u32,
    /// The last value that an exchange has stored.
    fresh: u64,
    trace: Vec<Event>,
}

impl Machine<'_> {
    fn start(&mut self, strand: u32) {
        let random = &mut *self.random;
        let steps = Author {
            random,
            steps: Vec::new(),
        }
        .program();
        let new = Strand {
            site: self.sites,
            next: 0,
            seen: HashMap::new(),
            succeeded: true,
            steps,
        };
        self.sites += new.steps.len() as u32;
        self.strands.insert(strand, new);
    }

    fn is_over(&self, strand: u32) -> bool {
        let it = self.strands.get(&strand);
        it.is_some_and(|it| it.next >= it.steps.len())
    }

    /// Takes the strand's next step; not if it has to wait, or is over.
    fn step(&mut self, id: u32) -> bool {
        let Some(mut strand) = self.strands.remove(&id) else {
            return false;
        };
        let step = strand.steps.get(strand.next).copied();
        let step = step.filter(|&step| !self.must_wait(step));
        if let Some(step) = step {
            let site = SiteId(strand.site + strand.next as u32 + 1);
            strand.next += 1;
            let recorded = match step {
                Step::Goto(_) | Step::Else(_) | Step::Test(_) => strand.decide(step),
                Step::Load(_) | Step::Store(..) | Step::Update(..) | Step::Exchange(_) => {
                    Some(self.access(&mut strand, step))
                }
                _ => self.synchronize(id, &mut strand, step),
            };
            self.trace.extend(recorded.map(|(op, target)| Event {
                site,
                ..event(id, op, target)
            }));
        }
        self.strands.insert(id, strand);
        step.is_some()
    }

    fn must_wait(&self, step: Step) -> bool {
        match step {
            Step::Lock(lock) => self.held_locks.contains(&lock),
            Step::Recv(message) => !self.sent.contains(&message),
            Step::Join(child) => !self.is_over(child),
            _ => false,
        }
    }

    fn access(&mut self, strand: &mut Strand, step: Step) -> (Op, u32) {
        match step {
            Step::Store(x, value) => {
                self.values.insert(x, value);
                (Op::Write, x)
            }
            Step::Update(kind, x) => {
                let (op, changed) = self.update(kind, x);
                strand.succeeded = changed;
                (op, x)
            }
            Step::Load(x) => {
                strand.succeeded = strand.see(x, self.value(x));
                (Op::Read, x)
            }
            Step::Exchange(x) if strand.see(x, self.value(x)) => {
                self.fresh += 1;
                self.values.insert(x, self.fresh);
                strand.see(x, self.fresh);
                strand.succeeded = true;
                (Op::CompareExchange, x)
            }
            Step::Exchange(x) => {
                strand.succeeded = false;
                (Op::CompareExchangeFailed, x)
            }
            _ => unreachable!("no access: {step:?}"),
        }
    }

    fn synchronize(&mut self, id: u32, strand: &mut Strand, step: Step) -> Option<(Op, u32)> {
        match step {
            Step::Lock(lock) | Step::TryLock(lock) => {
                strand.succeeded = self.held_locks.insert(lock);
                let op = match strand.succeeded {
                    true => Op::Acquire,
                    false => Op::Busy,
                };
                Some((op, lock))
            }
            Step::Send(lock) if !self.sent.contains(&lock) => {
                self.sent.push(lock);
                Some((Op::Send, MESSAGES + lock))
            }
            // A guard of the lock that is still on its way keeps this one from being sent.
            Step::Unlock(lock) | Step::Send(lock) => {
                let held = self.held_locks.remove(&lock);
                held.then_some((Op::Release, lock))
            }
            Step::Recv(lock) => {
                self.sent.retain(|&it| it != lock);
                Some((Op::Recv, MESSAGES + lock))
            }
            Step::Fork(child) => {
                let is_free = child != id && !self.strands.contains_key(&child);
                if is_free {
                    self.start(child);
                }
                is_free.then_some((Op::Fork, child))
            }
            Step::Join(child) => {
                self.strands.remove(&child);
                Some((Op::Join, child))
            }
            Step::Record(op, target) => {
                if op == Op::Retire {
                    self.values.remove(&target);
                }
                Some((op, target))
            }
            _ => unreachable!("orders nothing: {step:?}"),
        }
    }

    fn value(&self, x: u32) -> u64 {
        self.values.get(&x).copied().unwrap_or(0)
    }

    /// What an update is recorded as, and whether it changed the value.
    fn update(&mut self, kind: Update, x: u32) -> (Op, bool) {
        let old = self.value(x);
        let new = match kind {
            Update::Add => old + 1,
            Update::Max => old.max(self.random.below(4)),
            _ => old | 1,
        };
        self.values.insert(x, new);
        let op = match kind {
            _ if new == old => Op::Vain(kind),
            Update::Swap => Op::ReadWrite,
            _ => Op::Update(kind),
        };
        (op, new != old)
    }
}

/// A run of random programs, at most so many events long.
pub(crate) fn run(seed: u64, length: usize) -> Vec<Event> {
    let mut random = Random(seed);
    let sticky = 1 + random.below(5);
    let mut machine = Machine {
        random: &mut random,
        strands: HashMap::new(),
        values: HashMap::new(),
        held_locks: HashSet::new(),
        sent: Vec::new(),
        sites: 0,
        fresh: 100,
        trace: Vec::new(),
    };
    for root in 0..ROOTS {
        machine.start(root);
    }
    let (mut strand, mut vain) = (0, 0);
    while machine.trace.len() < length && vain < 100 {
        let is_stuck = vain % 4 == 3;
        if is_stuck || machine.random.below(sticky) == 0 {
            strand = machine.random.below(u64::from(STRANDS)) as u32;
        }
        vain = if machine.step(strand) { 0 } else { vain + 1 };
    }
    machine.trace
}
