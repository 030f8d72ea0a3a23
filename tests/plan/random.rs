//! Random programs, small enough for all their interleavings.

use crate::sim::{Fold, Op, Place, Program, Test, Value};
use proptest::prelude::*;

const VARIABLES: usize = 2;
const LOCKS: usize = 2;
/// The variables after the shared ones belong to the locks.
const GUARDED: usize = VARIABLES;
const CHANNELS: usize = 1;

/// A piece of a strand.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Load(usize),
    Store(usize, i64),
    Add(usize),
    Exchange(usize, bool),
    Section(Taking, usize, Vec<Item>),
    /// Waits under the lock, unless the lock's variable is set already and that is asked for.
    Wait {
        lock: usize,
        checks: bool,
        timed: bool,
    },
    /// Sets the lock's variable under it, and notifies.
    Notify {
        lock: usize,
        all: bool,
    },
    Park(bool),
    Unpark(usize),
    Send(i64),
    Receive(bool),
    Close,
    Sleep,
    Yield,
    /// What follows happens only if the last read saw nothing.
    Unless(Vec<Item>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Taking {
    Lock,
    Shared,
    Try,
    TryShared,
    Timed,
}

fn simple() -> impl Strategy<Value = Item> {
    prop_oneof![
        4 => (0..VARIABLES).prop_map(Item::Load),
        4 => (0..VARIABLES, 1..3_i64).prop_map(|(place, value)| Item::Store(place, value)),
        2 => (0..VARIABLES).prop_map(Item::Add),
        1 => (0..VARIABLES, any::<bool>()).prop_map(|(place, weak)| Item::Exchange(place, weak)),
        1 => any::<bool>().prop_map(Item::Park),
        1 => (0..3_usize).prop_map(Item::Unpark),
        1 => (1..3_i64).prop_map(Item::Send),
        1 => any::<bool>().prop_map(Item::Receive),
        1 => Just(Item::Close),
        1 => Just(Item::Yield),
        1 => Just(Item::Sleep),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let taking = prop_oneof![
        4 => Just(Taking::Lock),
        1 => Just(Taking::Shared),
        1 => Just(Taking::Try),
        1 => Just(Taking::TryShared),
        1 => Just(Taking::Timed),
    ];
    let bool = any::<bool>;
    let wait = (0..LOCKS, bool(), bool());
    let wait = wait.prop_map(|(lock, checks, timed)| Item::Wait {
        lock,
        checks,
        timed,
    });
    let inner = prop_oneof![
        3 => simple(),
        1 => (0..LOCKS, prop::collection::vec(simple(), 0..2))
            .prop_map(|(lock, inner)| Item::Section(Taking::Lock, lock, inner)),
    ];
    prop_oneof![
        6 => simple(),
        4 => (taking, 0..LOCKS, prop::collection::vec(inner, 0..3))
            .prop_map(|(taking, lock, inner)| Item::Section(taking, lock, inner)),
        1 => wait,
        1 => (0..LOCKS, bool()).prop_map(|(lock, all)| Item::Notify { lock, all }),
        1 => prop::collection::vec(simple(), 1..3).prop_map(Item::Unless),
    ]
}

/// Programs of two or three strands.
pub(crate) fn programs() -> impl Strategy<Value = Program> {
    let two = prop::collection::vec(prop::collection::vec(item(), 1..6), 2);
    let three = prop::collection::vec(prop::collection::vec(item(), 1..4), 3);
    let strands = prop_oneof![two, three];
    let rest = (any::<bool>(), 1..3_usize, any::<bool>());
    (strands, rest).prop_map(|(strands, (forked, capacity, wakes))| {
        let count = strands.len();
        let mut code: Vec<Vec<Op>> = strands.iter().map(|items| compile(items, count)).collect();
        if forked {
            for other in 1..count {
                code[0].insert(0, Op::Fork(other));
                code[0].push(Op::Join(other));
            }
            // What was inserted has moved the targets.
            shift(&mut code[0], count - 1);
        }
        Program {
            strands: code,
            variables: vec![0; VARIABLES + LOCKS],
            channels: vec![(capacity, 1); CHANNELS],
            wakes,
        }
    })
}

fn shift(code: &mut [Op], by: usize) {
    for op in code {
        if let Op::Jump(target) | Op::JumpIf(_, _, _, target) = op {
            *target += by;
        }
    }
}

fn compile(items: &[Item], strands: usize) -> Vec<Op> {
    let mut code = Vec::new();
    let mut compiler = Compiler {
        code: &mut code,
        strands,
        register: 0,
        open: true,
    };
    compiler.items(items);
    code
}

struct Compiler<'c> {
    code: &'c mut Vec<Op>,
    strands: usize,
    /// The register of the last read.
    register: usize,
    /// Whether the strand has not closed its end of the channel.
    open: bool,
}

impl Compiler<'_> {
    fn items(&mut self, items: &[Item]) {
        for item in items {
            self.item(item);
        }
    }

    fn fresh(&mut self) -> usize {
        self.register = (self.register + 1) % 8;
        self.register
    }

    fn skip_unless_set(&mut self, register: usize, test: Test, body: impl FnOnce(&mut Self)) {
        let at = self.code.len();
        self.code.push(Op::Yield);
        body(self);
        let end = self.code.len();
        self.code[at] = Op::JumpIf(register, test, Value::Is(0), end);
    }

    fn item(&mut self, item: &Item) {
        match *item {
            Item::Load(variable) => {
                let register = self.fresh();
                self.code.push(Op::Load(register, Place(variable, None)));
            }
            Item::Store(variable, value) => {
                self.code
                    .push(Op::Store(Place(variable, None), Value::Is(value)));
            }
            Item::Add(variable) => {
                let register = self.fresh();
                let (place, one) = (Place(variable, None), Value::Is(1));
                self.code.push(Op::Update(register, place, Fold::Add, one));
            }
            Item::Exchange(variable, weak) => {
                let done = self.fresh();
                self.code.push(Op::Exchange {
                    done,
                    place: Place(variable, None),
                    old: Value::Is(0),
                    new: Value::Is(2),
                    weak,
                });
            }
            Item::Section(taking, lock, ref inner) => self.section(taking, lock, inner),
            Item::Wait {
                lock,
                checks,
                timed,
            } => self.wait(lock, checks, timed),
            Item::Notify { lock, all } => {
                self.code.push(Op::Lock(lock));
                self.code
                    .push(Op::Poke(Place(GUARDED + lock, None), Value::Is(1)));
                self.code.push(Op::Unlock(lock));
                self.code.push(match all {
                    true => Op::NotifyAll(lock),
                    false => Op::NotifyOne(lock),
                });
            }
            Item::Park(timed) => {
                let register = timed.then(|| self.fresh());
                self.code.push(Op::Park(register));
            }
            Item::Unpark(strand) => self.code.push(Op::Unpark(strand % self.strands)),
            Item::Send(value) => self.code.push(Op::Send(0, Value::Is(value))),
            Item::Receive(timed) => {
                let register = self.fresh();
                self.code.push(Op::Receive(register, 0, timed));
            }
            // A jump may pass over the first; to close once too seldom is no harm.
            Item::Close => {
                if std::mem::take(&mut self.open) {
                    self.code.push(Op::Close(0));
                }
            }
            Item::Sleep => self.code.push(Op::Sleep),
            Item::Yield => self.code.push(Op::Yield),
            Item::Unless(ref inner) => {
                let register = self.register;
                self.skip_unless_set(register, Test::Unequal, |this| this.items(inner));
            }
        }
    }

    fn section(&mut self, taking: Taking, lock: usize, inner: &[Item]) {
        // Nobody takes what he has: that would be a deadlock with himself, which is not at issue.
        let again = |item: &&Item| !matches!(item, Item::Section(_, other, _) if *other == lock);
        let inner: Vec<Item> = inner.iter().filter(again).cloned().collect();
        let guarded = Place(GUARDED + lock, None);
        let register = self.fresh();
        let exclusive = |this: &mut Self| {
            let register = this.fresh();
            this.code.push(Op::Peek(register, guarded));
            this.items(&inner);
            this.code
                .push(Op::Compute(register, Fold::Add, Value::Is(1)));
            this.code.push(Op::Poke(guarded, Value::Of(register)));
            this.code.push(Op::Unlock(lock));
        };
        let shared = |this: &mut Self| {
            let register = this.fresh();
            this.code.push(Op::Peek(register, guarded));
            this.items(&inner);
            this.code.push(Op::Unlock(lock));
        };
        match taking {
            Taking::Lock => {
                self.code.push(Op::Lock(lock));
                exclusive(self);
            }
            Taking::Shared => {
                self.code.push(Op::LockShared(lock));
                shared(self);
            }
            Taking::Try => {
                self.code.push(Op::TryLock(register, lock));
                self.skip_unless_set(register, Test::Equal, exclusive);
            }
            Taking::TryShared => {
                self.code.push(Op::TryLockShared(register, lock));
                self.skip_unless_set(register, Test::Equal, shared);
            }
            Taking::Timed => {
                self.code.push(Op::LockTimed(register, lock));
                self.skip_unless_set(register, Test::Equal, exclusive);
            }
        }
    }

    fn wait(&mut self, lock: usize, checks: bool, timed: bool) {
        self.code.push(Op::Lock(lock));
        let timed = timed.then(|| self.fresh());
        let register = self.fresh();
        let wait = Op::Wait {
            condvar: lock,
            lock,
            timed,
        };
        let guarded = Place(GUARDED + lock, None);
        self.code.push(Op::Peek(register, guarded));
        if checks {
            self.skip_unless_set(register, Test::Unequal, |this| this.code.push(wait));
        } else {
            self.code.push(wait);
        }
        self.code.push(Op::Peek(register, guarded));
        self.code.push(Op::Unlock(lock));
    }
}
