//! Programs that exist only as data, and their runs under a plan.
//!
//! The simulator is the explorer's stand-in: it drives a plan exactly as the contract in
//! `aerodrome::plan` says. It shares nothing with the plans but their types.

use aerodrome::plan::{Action, Choice, End, How, Intent, Kind, Plan};
use std::collections::HashMap;

/// How many looks in a row may find the same before a strand is held back.
const LOOKS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Is(i64),
    Of(usize),
}

/// A variable, or an element of an array of variables by a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place(pub(crate) usize, pub(crate) Option<usize>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fold {
    Add,
    Set,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    Equal,
    Unequal,
    Less,
    AtLeast,
}

/// An operation. Those up to `Yield` are steps; the rest is what a strand does in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Load(usize, Place),
    Store(Place, Value),
    /// The register gets the old value.
    Update(usize, Place, Fold, Value),
    /// The register gets 1 if it succeeded.
    Exchange {
        done: usize,
        place: Place,
        old: Value,
        new: Value,
        weak: bool,
    },
    Lock(usize),
    LockShared(usize),
    /// The register gets 0 if the time was up.
    LockTimed(usize, usize),
    TryLock(usize, usize),
    TryLockShared(usize, usize),
    Unlock(usize),
    /// The register gets 0 if the time was up.
    Wait {
        condvar: usize,
        lock: usize,
        timed: Option<usize>,
    },
    NotifyOne(usize),
    NotifyAll(usize),
    /// The register gets 0 if the time was up.
    Park(Option<usize>),
    Unpark(usize),
    Send(usize, Value),
    /// The register gets -1 if the channel is closed, -2 if the time was up.
    Receive(usize, usize, bool),
    Close(usize),
    Fork(usize),
    Join(usize),
    Sleep,
    Yield,

    Peek(usize, Place),
    Poke(Place, Value),
    Compute(usize, Fold, Value),
    Jump(usize),
    JumpIf(usize, Test, Value, usize),
    Assert(usize, Test, Value),
    Begin,
    End,
}

impl Op {
    pub(crate) fn is_step(&self) -> bool {
        !matches!(
            self,
            Op::Peek(..)
                | Op::Poke(..)
                | Op::Compute(..)
                | Op::Jump(_)
                | Op::JumpIf(..)
                | Op::Assert(..)
                | Op::Begin
                | Op::End
        )
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub(crate) strands: Vec<Vec<Op>>,
    /// Values of the variables at the beginning.
    pub(crate) variables: Vec<i64>,
    /// For each channel, how many messages it holds and how many senders it has.
    pub(crate) channels: Vec<(usize, usize)>,
    /// Whether spurious wake-ups happen.
    pub(crate) wakes: bool,
}

impl Program {
    /// Whether the strand begins with its `Fork` and ends with an `Exit`. Others are there from
    /// the beginning.
    fn is_forked(&self, strand: usize) -> bool {
        let forks = |op: &Op| *op == Op::Fork(strand);
        self.strands.iter().flatten().any(forks)
    }

    /// Whether anybody tries to take the lock: then giving it back is a step.
    fn is_tried(&self, lock: usize) -> bool {
        let tries = |op: &Op| match *op {
            Op::TryLock(_, tried) | Op::TryLockShared(_, tried) => tried == lock,
            _ => false,
        };
        self.strands.iter().flatten().any(tries)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Object {
    Variable(usize),
    Lock(usize),
    Condvar(usize),
    Token(usize),
    Channel(usize),
    Strand(usize),
    Nothing,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Lock {
    owner: Option<usize>,
    shared: Vec<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Channel {
    messages: Vec<i64>,
    senders: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Unborn,
    Starting,
    /// At the operation that `at` names.
    Running,
    /// In the queue of the condvar of the operation at `at`.
    Queued,
    /// About to take the lock again.
    Relocking,
    Exiting,
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Strand {
    phase: Phase,
    at: usize,
    registers: [i64; 8],
    nth: u32,
    blocks: u32,
    in_block: bool,
    token: bool,
    /// The variable of the last look, its version then, and how many looks found the same.
    looked: (usize, u64, u32),
}

/// All that the future depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    strands: Vec<Strand>,
    pub(crate) variables: Vec<i64>,
    versions: Vec<u64>,
    locks: Vec<Lock>,
    channels: Vec<Channel>,
    queues: Vec<Vec<usize>>,
    pub(crate) failed: bool,
}

/// What happened in an action, for judges.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) strand: usize,
    pub(crate) nth: u32,
    pub(crate) object: Object,
    /// Whether it commutes with its like.
    pub(crate) reads: bool,
    /// Whether it was a time-out, a spurious wake-up or a weak failure.
    pub(crate) surprise: bool,
    /// Whom it woke, whether a weak exchange failed, how it happened.
    pub(crate) details: Vec<usize>,
}

/// A program in the middle of a run.
#[derive(Clone)]
pub(crate) struct Sim<'p> {
    pub(crate) program: &'p Program,
    pub(crate) state: State,
    /// Seats by strand, in the order in which the strands came to be.
    seats: Vec<usize>,
    numbers: HashMap<Object, u32>,
    released: Vec<Object>,
    pub(crate) event: Event,
}

impl<'p> Sim<'p> {
    pub(crate) fn new(program: &'p Program) -> Sim<'p> {
        let all = || program.strands.iter().flatten();
        let locks = all().map(|op| match *op {
            Op::Lock(lock) | Op::LockShared(lock) | Op::Unlock(lock) => lock + 1,
            Op::TryLock(_, lock) | Op::TryLockShared(_, lock) | Op::LockTimed(_, lock) => lock + 1,
            _ => 0,
        });
        let queues = all().map(|op| match *op {
            Op::Wait { condvar, .. } | Op::NotifyOne(condvar) | Op::NotifyAll(condvar) => {
                condvar + 1
            }
            _ => 0,
        });
        let strand = |index| Strand {
            phase: match program.is_forked(index) {
                true => Phase::Unborn,
                false => Phase::Running,
            },
            at: 0,
            registers: [0; 8],
            nth: 0,
            blocks: 0,
            in_block: false,
            token: false,
            looked: (usize::MAX, 0, 0),
        };
        let channel = |&(_, senders): &(usize, usize)| Channel {
            messages: Vec::new(),
            senders,
        };
        let state = State {
            strands: (0..program.strands.len()).map(strand).collect(),
            variables: program.variables.clone(),
            versions: vec![0; program.variables.len()],
            locks: vec![Lock::default(); locks.max().unwrap_or(0)],
            channels: program.channels.iter().map(channel).collect(),
            queues: vec![Vec::new(); queues.max().unwrap_or(0)],
            failed: false,
        };
        let mut sim = Sim {
            program,
            state,
            seats: Vec::new(),
            numbers: HashMap::new(),
            released: Vec::new(),
            event: Event {
                strand: 0,
                nth: 0,
                object: Object::Nothing,
                reads: true,
                surprise: false,
                details: Vec::new(),
            },
        };
        for strand in 0..program.strands.len() {
            if !program.is_forked(strand) {
                sim.seats.push(strand);
                sim.advance(strand);
            }
        }
        sim
    }

    fn op(&self, strand: usize) -> Option<Op> {
        let at = self.state.strands[strand].at;
        self.program.strands[strand].get(at).copied()
    }

    fn value(&self, strand: usize, value: Value) -> i64 {
        match value {
            Value::Is(number) => number,
            Value::Of(register) => self.state.strands[strand].registers[register],
        }
    }

    fn place(&self, strand: usize, Place(base, index): Place) -> usize {
        let index = index.map_or(0, |register| self.state.strands[strand].registers[register]);
        base + index as usize
    }

    fn set(&mut self, strand: usize, register: usize, value: i64) {
        self.state.strands[strand].registers[register] = value;
    }

    fn write(&mut self, variable: usize, value: i64) {
        if self.state.variables[variable] != value {
            self.state.versions[variable] += 1;
        }
        self.state.variables[variable] = value;
    }

    /// Runs what is between two steps.
    fn advance(&mut self, strand: usize) {
        loop {
            let Some(op) = self.op(strand) else {
                let forked = self.program.is_forked(strand);
                let end = if forked { Phase::Exiting } else { Phase::Gone };
                self.state.strands[strand].phase = end;
                return;
            };
            if op.is_step() && !self.is_silent(op) {
                self.state.strands[strand].phase = Phase::Running;
                return;
            }
            self.state.strands[strand].at += 1;
            self.local(strand, op);
        }
    }

    /// Whether the operation is part of the action before it.
    fn is_silent(&self, op: Op) -> bool {
        matches!(op, Op::Unlock(lock) if !self.program.is_tried(lock))
    }

    fn local(&mut self, strand: usize, op: Op) {
        match op {
            Op::Unlock(lock) => self.release(strand, lock),
            Op::Peek(register, place) => {
                let value = self.state.variables[self.place(strand, place)];
                self.set(strand, register, value);
            }
            Op::Poke(place, value) => {
                let value = self.value(strand, value);
                self.write(self.place(strand, place), value);
            }
            Op::Compute(register, fold, value) => {
                let old = self.state.strands[strand].registers[register];
                let new = self.value(strand, value);
                self.set(strand, register, apply(fold, old, new));
            }
            Op::Jump(target) => self.state.strands[strand].at = target,
            Op::JumpIf(register, test, value, target) => {
                if self.holds(strand, register, test, value) {
                    self.state.strands[strand].at = target;
                }
            }
            Op::Assert(register, test, value) => {
                self.state.failed |= !self.holds(strand, register, test, value);
            }
            Op::Begin => {
                self.state.strands[strand].blocks += 1;
                self.state.strands[strand].in_block = true;
            }
            Op::End => self.state.strands[strand].in_block = false,
            _ => unreachable!("{op:?} is a step"),
        }
    }

    fn holds(&self, strand: usize, register: usize, test: Test, value: Value) -> bool {
        let left = self.state.strands[strand].registers[register];
        let right = self.value(strand, value);
        match test {
            Test::Equal => left == right,
            Test::Unequal => left != right,
            Test::Less => left < right,
            Test::AtLeast => left >= right,
        }
    }

    fn release(&mut self, strand: usize, lock: usize) {
        let state = &mut self.state.locks[lock];
        match state.owner {
            Some(owner) if owner == strand => state.owner = None,
            // What was not taken, because the time was up, is not given back.
            _ => match state.shared.iter().position(|&holder| holder == strand) {
                Some(holder) => drop(state.shared.remove(holder)),
                None => return,
            },
        }
        self.released.push(Object::Lock(lock));
    }

    /// What the strand does next: the operation's kind, its object, and its place.
    fn pending(&self, strand: usize) -> Option<(Kind, Object, usize)> {
        let state = &self.state.strands[strand];
        let code = strand_site(self.program, strand);
        let site = match state.phase {
            Phase::Starting => code + 998,
            Phase::Exiting => code + 999,
            _ => code + state.at,
        };
        let (kind, object) = match state.phase {
            Phase::Unborn | Phase::Gone => return None,
            Phase::Starting => (Kind::Start, Object::Strand(strand)),
            Phase::Exiting => (Kind::Exit, Object::Strand(strand)),
            Phase::Running | Phase::Queued => self.intent(strand, self.op(strand)?),
            Phase::Relocking => match self.op(strand)? {
                Op::Wait { lock, .. } => (Kind::Lock, Object::Lock(lock)),
                op => unreachable!("{op:?} does not wait"),
            },
        };
        Some((kind, object, site))
    }

    fn intent(&self, strand: usize, op: Op) -> (Kind, Object) {
        let variable = |place| Object::Variable(self.place(strand, place));
        match op {
            Op::Load(_, place) => (Kind::Read, variable(place)),
            Op::Store(place, _) => (Kind::Write, variable(place)),
            Op::Update(_, place, ..) | Op::Exchange { place, .. } => {
                (Kind::Update, variable(place))
            }
            Op::Lock(lock) | Op::LockTimed(_, lock) => (Kind::Lock, Object::Lock(lock)),
            Op::LockShared(lock) => (Kind::LockShared, Object::Lock(lock)),
            Op::TryLock(_, lock) => (Kind::TryLock, Object::Lock(lock)),
            Op::TryLockShared(_, lock) => (Kind::TryLockShared, Object::Lock(lock)),
            Op::Unlock(lock) => (Kind::Unlock, Object::Lock(lock)),
            Op::Wait { condvar, .. } => (Kind::Wait, Object::Condvar(condvar)),
            Op::NotifyOne(condvar) | Op::NotifyAll(condvar) => {
                (Kind::Notify, Object::Condvar(condvar))
            }
            Op::Park(_) => (Kind::Park, Object::Token(strand)),
            Op::Unpark(other) => (Kind::Unpark, Object::Token(other)),
            Op::Send(channel, _) => (Kind::Send, Object::Channel(channel)),
            Op::Receive(_, channel, _) => (Kind::Receive, Object::Channel(channel)),
            Op::Close(channel) => (Kind::Close, Object::Channel(channel)),
            Op::Fork(other) => (Kind::Fork, Object::Strand(other)),
            Op::Join(other) => (Kind::Join, Object::Strand(other)),
            Op::Sleep => (Kind::Sleep, Object::Nothing),
            Op::Yield => (Kind::Yield, Object::Nothing),
            _ => unreachable!("{op:?} is no step"),
        }
    }

    /// In which ways the strand can go on.
    fn ways(&self, strand: usize) -> Vec<How> {
        let state = &self.state.strands[strand];
        let timed = |ready: bool, timed: bool| {
            let proceeds = ready.then_some(How::Proceed);
            let expires = timed.then_some(How::Expire);
            proceeds.into_iter().chain(expires).collect::<Vec<_>>()
        };
        match state.phase {
            Phase::Unborn | Phase::Gone => Vec::new(),
            Phase::Starting | Phase::Exiting => vec![How::Proceed],
            Phase::Relocking => match self.op(strand) {
                Some(Op::Wait { lock, .. }) => timed(self.is_free(lock), false),
                op => unreachable!("{op:?} does not wait"),
            },
            Phase::Queued => match self.op(strand) {
                Some(Op::Wait { timed: limit, .. }) => {
                    let mut ways = timed(false, limit.is_some());
                    ways.extend(self.program.wakes.then_some(How::Wake));
                    ways
                }
                op => unreachable!("{op:?} does not wait"),
            },
            Phase::Running => match self.op(strand).expect("it runs") {
                Op::Lock(lock) => timed(self.is_free(lock), false),
                Op::LockTimed(_, lock) => timed(self.is_free(lock), true),
                Op::LockShared(lock) => timed(self.state.locks[lock].owner.is_none(), false),
                Op::Park(limit) => {
                    let mut ways = timed(state.token, limit.is_some());
                    ways.extend(self.program.wakes.then_some(How::Wake));
                    ways
                }
                Op::Send(channel, _) => timed(self.has_room(channel), false),
                Op::Receive(_, channel, limit) => timed(self.has_news(channel), limit),
                Op::Join(other) => timed(self.state.strands[other].phase == Phase::Gone, false),
                Op::Sleep => timed(false, true),
                Op::Load(_, place) => timed(!self.spins(strand, self.place(strand, place)), false),
                _ => vec![How::Proceed],
            },
        }
    }

    fn is_free(&self, lock: usize) -> bool {
        let lock = &self.state.locks[lock];
        lock.owner.is_none() && lock.shared.is_empty()
    }

    fn has_room(&self, channel: usize) -> bool {
        self.state.channels[channel].messages.len() < self.program.channels[channel].0
    }

    fn has_news(&self, channel: usize) -> bool {
        let channel = &self.state.channels[channel];
        !channel.messages.is_empty() || channel.senders == 0
    }

    fn spins(&self, strand: usize, variable: usize) -> bool {
        let (looked, version, looks) = self.state.strands[strand].looked;
        looked == variable && version == self.state.versions[variable] && looks >= LOOKS
    }

    fn number(&mut self, object: Object) -> u32 {
        let next = self.numbers.len() as u32;
        match object {
            // No object; a plan must not take it for the first.
            Object::Nothing => 0,
            object => *self.numbers.entry(object).or_insert(next),
        }
    }

    /// The actions that can be next, and those that cannot.
    pub(crate) fn actions(&mut self) -> (Vec<Action>, Vec<Action>) {
        let (mut ready, mut blocked) = (Vec::new(), Vec::new());
        for seat in 0..self.seats.len() {
            let strand = self.seats[seat];
            let Some((kind, object, site)) = self.pending(strand) else {
                continue;
            };
            let state = &self.state.strands[strand];
            let (nth, block) = (state.nth, if state.in_block { state.blocks } else { 0 });
            let action = |how, object| Action {
                seat: seat as u32,
                path: path(strand),
                nth,
                block,
                intent: Intent {
                    kind,
                    object,
                    site: site as u32,
                },
                how,
            };
            let object = self.number(object);
            let ways = self.ways(strand);
            match ways.is_empty() {
                true => blocked.push(action(How::Proceed, object)),
                false => ready.extend(ways.iter().map(|&how| action(how, object))),
            }
        }
        (ready, blocked)
    }

    /// Performs one of the ready actions, with what `pick` chooses in it. Returns the numbers of
    /// the locks that it gave back.
    pub(crate) fn perform(
        &mut self,
        action: &Action,
        pick: &mut dyn FnMut(Choice, usize) -> usize,
    ) -> Vec<u32> {
        let strand = self.seats[action.seat as usize];
        let (kind, object, _) = self.pending(strand).expect("it is ready");
        self.event = Event {
            strand,
            nth: action.nth,
            object,
            reads: matches!(
                kind,
                Kind::Read | Kind::LockShared | Kind::TryLockShared | Kind::Wait | Kind::Join
            ) || action.how != How::Proceed,
            surprise: action.how != How::Proceed && kind != Kind::Sleep,
            details: vec![action.how as usize],
        };
        self.state.strands[strand].nth += 1;
        if !matches!(kind, Kind::Read | Kind::Yield) {
            self.state.strands[strand].looked = (usize::MAX, 0, 0);
        }
        self.released.clear();
        match self.state.strands[strand].phase {
            Phase::Starting => self.advance(strand),
            Phase::Exiting => self.state.strands[strand].phase = Phase::Gone,
            Phase::Queued => self.leave_queue(strand, action.how),
            Phase::Relocking => {
                let Some(Op::Wait { lock, .. }) = self.op(strand) else {
                    unreachable!("only a wait locks again");
                };
                self.state.locks[lock].owner = Some(strand);
                self.state.strands[strand].at += 1;
                self.advance(strand);
            }
            _ => {
                let op = self.op(strand).expect("it runs");
                if self.step(strand, op, action.how, pick) {
                    self.state.strands[strand].at += 1;
                    self.advance(strand);
                }
            }
        }
        let released = std::mem::take(&mut self.released);
        released
            .into_iter()
            .map(|object| self.number(object))
            .collect()
    }

    fn leave_queue(&mut self, strand: usize, how: How) {
        let Some(Op::Wait { condvar, timed, .. }) = self.op(strand) else {
            unreachable!("only a wait is in a queue");
        };
        self.state.queues[condvar].retain(|&waiter| waiter != strand);
        if let Some(register) = timed {
            self.set(strand, register, i64::from(how != How::Expire));
        }
        self.state.strands[strand].phase = Phase::Relocking;
    }

    /// Performs a step. Returns whether the strand goes on to the operation after it.
    fn step(
        &mut self,
        strand: usize,
        op: Op,
        how: How,
        pick: &mut dyn FnMut(Choice, usize) -> usize,
    ) -> bool {
        let expired = how == How::Expire;
        match op {
            Op::Load(register, place) => self.load(strand, register, place),
            Op::Store(place, value) => {
                let value = self.value(strand, value);
                self.write(self.place(strand, place), value);
            }
            Op::Update(register, place, fold, value) => {
                let place = self.place(strand, place);
                let old = self.state.variables[place];
                self.write(place, apply(fold, old, self.value(strand, value)));
                self.set(strand, register, old);
            }
            Op::Exchange {
                done,
                place,
                old,
                new,
                weak,
            } => {
                let place = self.place(strand, place);
                let expected = self.state.variables[place] == self.value(strand, old);
                let fails = weak && expected && pick(Choice::Weak, 2) == 1;
                self.event.details.push(usize::from(fails));
                self.event.surprise = fails;
                if expected && !fails {
                    self.write(place, self.value(strand, new));
                }
                self.set(strand, done, i64::from(expected && !fails));
            }
            Op::Lock(lock) => self.state.locks[lock].owner = Some(strand),
            Op::LockTimed(register, lock) => {
                if !expired {
                    self.state.locks[lock].owner = Some(strand);
                }
                self.set(strand, register, i64::from(!expired));
            }
            Op::LockShared(lock) => insert(&mut self.state.locks[lock].shared, strand),
            Op::TryLock(register, lock) => {
                let free = self.is_free(lock);
                if free {
                    self.state.locks[lock].owner = Some(strand);
                }
                self.event.reads = !free;
                self.set(strand, register, i64::from(free));
            }
            Op::TryLockShared(register, lock) => {
                let free = self.state.locks[lock].owner.is_none();
                if free {
                    insert(&mut self.state.locks[lock].shared, strand);
                }
                self.set(strand, register, i64::from(free));
            }
            Op::Unlock(lock) => {
                self.release(strand, lock);
                // It is the action itself.
                self.released.clear();
                self.event.object = Object::Nothing;
            }
            Op::Wait { condvar, lock, .. } => {
                insert(&mut self.state.queues[condvar], strand);
                self.release(strand, lock);
                self.state.strands[strand].phase = Phase::Queued;
                return false;
            }
            Op::NotifyOne(condvar) => self.notify_one(condvar, pick),
            Op::NotifyAll(condvar) => {
                while !self.state.queues[condvar].is_empty() {
                    self.wake(condvar, 0);
                }
            }
            Op::Park(limit) => {
                // Nobody can tell whether the token was there when the time was up.
                self.event.reads = false;
                self.state.strands[strand].token = false;
                if let Some(register) = limit {
                    self.set(strand, register, i64::from(!expired));
                }
            }
            Op::Unpark(other) => self.state.strands[other].token = true,
            Op::Send(channel, value) => {
                let value = self.value(strand, value);
                self.state.channels[channel].messages.push(value);
            }
            Op::Receive(register, channel, _) => {
                let messages = &mut self.state.channels[channel].messages;
                let message = match (expired, messages.is_empty()) {
                    (true, _) => -2,
                    (false, true) => -1,
                    (false, false) => messages.remove(0),
                };
                self.set(strand, register, message);
            }
            Op::Close(channel) => {
                let senders = &mut self.state.channels[channel].senders;
                *senders = senders.saturating_sub(1);
            }
            Op::Fork(other) => {
                self.seats.push(other);
                self.state.strands[other].phase = Phase::Starting;
            }
            Op::Join(_) | Op::Sleep | Op::Yield => {}
            _ => unreachable!("{op:?} is no step"),
        }
        true
    }

    fn load(&mut self, strand: usize, register: usize, place: Place) {
        let place = self.place(strand, place);
        let version = self.state.versions[place];
        let (looked, then, looks) = self.state.strands[strand].looked;
        let same = looked == place && then == version;
        let looks = if same { looks + 1 } else { 0 };
        self.state.strands[strand].looked = (place, version, looks);
        self.set(strand, register, self.state.variables[place]);
    }

    fn notify_one(&mut self, condvar: usize, pick: &mut dyn FnMut(Choice, usize) -> usize) {
        let waiters = self.state.queues[condvar].len();
        match waiters {
            0 => {}
            1 => self.wake(condvar, 0),
            _ => self.wake(condvar, pick(Choice::Waiter, waiters)),
        }
    }

    fn wake(&mut self, condvar: usize, waiter: usize) {
        let strand = self.state.queues[condvar][waiter];
        self.event.details.push(strand);
        self.leave_queue(strand, How::Proceed);
    }
}

/// Those who hold or wait are a set: their order must not make two states of one.
fn insert(strands: &mut Vec<usize>, strand: usize) {
    strands.push(strand);
    strands.sort_unstable();
}

fn apply(fold: Fold, old: i64, new: i64) -> i64 {
    match fold {
        Fold::Add => old.wrapping_add(new),
        Fold::Set => new,
    }
}

fn path(strand: usize) -> u64 {
    (strand as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Strands that run the same code have the same sites.
fn strand_site(program: &Program, strand: usize) -> usize {
    let code = &program.strands[strand];
    let first = program.strands.iter().position(|other| other == code);
    1000 * first.expect("it is one of them")
}

/// Whether nobody can go on with a reason.
pub(crate) fn is_stuck(ready: &[Action]) -> bool {
    ready.iter().all(|action| action.how == How::Wake)
}

/// A run's result.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) state: State,
    pub(crate) end: End,
    pub(crate) events: Vec<Event>,
    pub(crate) actions: Vec<Action>,
}

impl Run {
    pub(crate) fn failed(&self) -> bool {
        self.state.failed || self.end == End::Deadlock
    }
}

/// The next run under a plan; none if the plan has no more. It is let go after that many steps.
pub(crate) fn run(program: &Program, plan: &mut dyn Plan, limit: usize) -> Option<Run> {
    if !plan.begin() {
        return None;
    }
    let mut sim = Sim::new(program);
    let (mut events, mut actions) = (Vec::new(), Vec::new());
    let end = loop {
        let (ready, blocked) = sim.actions();
        if ready.is_empty() && blocked.is_empty() {
            break End::Complete;
        }
        if events.len() >= limit {
            break End::Abandoned;
        }
        let stuck = is_stuck(&ready);
        let choice = match stuck {
            true => plan.stuck(&ready, &blocked),
            false => plan.choose(&ready, &blocked),
        };
        let Some(index) = choice else {
            break if stuck { End::Deadlock } else { End::Abandoned };
        };
        let mut pick = |choice, n| {
            let index = plan.pick(choice, n);
            assert!(index < n, "{index} of {n}");
            index
        };
        for object in sim.perform(&ready[index], &mut pick) {
            plan.released(object);
        }
        events.push(sim.event.clone());
        actions.push(ready[index]);
    };
    plan.end(end);
    Some(Run {
        state: sim.state,
        end,
        events,
        actions,
    })
}
