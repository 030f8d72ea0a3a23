//! Published benchmark programs, re-made as data: what matters of them, without the rest.

use crate::sim::{Fold, Op, Place, Program, Test, Value};
use Op::{Assert, Compute, JumpIf, Lock, Peek, Poke, Unlock};

fn at(variable: usize) -> Place {
    Place(variable, None)
}

fn load(register: usize, variable: usize) -> Op {
    Op::Load(register, at(variable))
}

fn store(variable: usize, value: i64) -> Op {
    Op::Store(at(variable), Value::Is(value))
}

fn put(variable: usize, register: usize) -> Op {
    Op::Store(at(variable), Value::Of(register))
}

fn add(register: usize, variable: usize, value: i64) -> Op {
    Op::Update(register, at(variable), Fold::Add, Value::Is(value))
}

fn peek(register: usize, variable: usize) -> Op {
    Peek(register, at(variable))
}

fn poke(variable: usize, value: i64) -> Op {
    Poke(at(variable), Value::Is(value))
}

fn poke_from(variable: usize, register: usize) -> Op {
    Poke(at(variable), Value::Of(register))
}

fn plus(register: usize, value: i64) -> Op {
    Compute(register, Fold::Add, Value::Is(value))
}

fn is(register: usize, value: i64) -> Op {
    Assert(register, Test::Equal, Value::Is(value))
}

fn jump_if(register: usize, value: i64, target: usize) -> Op {
    JumpIf(register, Test::Equal, Value::Is(value), target)
}

fn jump_unless(register: usize, value: i64, target: usize) -> Op {
    JumpIf(register, Test::Unequal, Value::Is(value), target)
}

/// A strand that starts the others in order, joins them, and then does the rest.
fn started(workers: Vec<Vec<Op>>, rest: Vec<Op>, variables: Vec<i64>) -> Program {
    let count = workers.len();
    let mut main: Vec<Op> = (1..=count).map(Op::Fork).collect();
    main.extend((1..=count).map(Op::Join));
    main.extend(rest);
    let mut strands = vec![main];
    strands.extend(workers);
    Program {
        strands,
        variables,
        ..Program::default()
    }
}

fn repeated(worker: Vec<Op>, count: usize) -> Vec<Vec<Op>> {
    vec![worker; count]
}

/// The checker is to see one setter between its two stores, and none that is through.
pub(crate) fn reorder(setters: usize) -> Program {
    let mut workers = repeated(vec![store(0, 1), store(1, -1)], setters);
    let sum = Compute(0, Fold::Add, Value::Of(1));
    workers.push(vec![load(0, 0), load(1, 1), sum, is(0, 0)]);
    started(workers, vec![], vec![0, 0])
}

/// The reader is to come between the two stages of the first writer, and before those of others.
pub(crate) fn twostage(writers: usize) -> Program {
    let writer = vec![
        Lock(0),
        poke(0, 1),
        Unlock(0),
        Lock(1),
        peek(0, 0),
        plus(0, 1),
        poke_from(1, 0),
        Unlock(1),
    ];
    let mut workers = repeated(writer, writers);
    workers.push(vec![
        Lock(0),
        peek(0, 0),
        Unlock(0),
        jump_if(0, 0, 8),
        Lock(1),
        peek(1, 1),
        Unlock(1),
        is(1, 2),
    ]);
    started(workers, vec![], vec![0, 0])
}

pub(crate) fn account() -> Program {
    let change =
        |amount: i64, flag: usize| vec![Lock(0), poke(0, 100 + amount), poke(flag, 1), Unlock(0)];
    let check = vec![
        Lock(0),
        peek(0, 1),
        peek(1, 2),
        peek(2, 0),
        Unlock(0),
        jump_if(0, 0, 8),
        jump_if(1, 0, 8),
        is(2, 110),
    ];
    started(
        vec![change(30, 1), change(-20, 2), check],
        vec![],
        vec![100, 0, 0],
    )
}

/// 0 the pending operations, 1 stopping, 2 the event, 3 stopped.
pub(crate) fn bluetooth() -> Program {
    let adder = vec![
        load(0, 1),
        jump_unless(0, 0, 8),
        add(1, 0, 1),
        load(2, 3),
        is(2, 0),
        add(1, 0, -1),
        jump_unless(1, 1, 8),
        store(2, 1),
    ];
    let stopper = vec![
        store(1, 1),
        add(1, 0, -1),
        jump_unless(1, 1, 4),
        store(2, 1),
        load(2, 2),
        jump_if(2, 0, 7),
        store(3, 1),
    ];
    started(vec![adder, stopper], vec![], vec![1, 0, 0, 0])
}

/// Each copies from its neighbour; only one order of the ring gives the same value everywhere.
pub(crate) fn token_ring() -> Program {
    let copy = |from: usize, to: usize| vec![Lock(0), peek(0, from), poke_from(to, 0), Unlock(0)];
    let check = vec![
        Lock(0),
        peek(0, 0),
        peek(1, 2),
        Unlock(0),
        Assert(0, Test::Equal, Value::Of(1)),
    ];
    let workers = vec![copy(2, 0), copy(0, 1), copy(1, 2)];
    started(workers, check, vec![1, 2, 1])
}

/// One takes the wrong lock.
pub(crate) fn wronglock(others: usize) -> Program {
    let checked = vec![
        Lock(0),
        load(0, 0),
        plus(0, 1),
        put(0, 0),
        load(1, 0),
        Assert(1, Test::Equal, Value::Of(0)),
        Unlock(0),
    ];
    let other = vec![Lock(1), load(0, 0), plus(0, 1), put(0, 0), Unlock(1)];
    let mut workers = vec![checked];
    workers.extend(repeated(other, others));
    started(workers, vec![], vec![0])
}

pub(crate) fn deadlock01() -> Program {
    let both = |one: usize, other: usize| vec![Lock(one), Lock(other), Unlock(other), Unlock(one)];
    started(vec![both(0, 1), both(1, 0)], vec![], vec![])
}

/// The length is asked for in one critical section, and used in the next.
pub(crate) fn stringbuffer() -> Program {
    let append = vec![
        Op::Begin,
        Lock(0),
        peek(0, 0),
        Unlock(0),
        Lock(0),
        peek(1, 0),
        Assert(1, Test::AtLeast, Value::Of(0)),
        Unlock(0),
        Op::End,
    ];
    let erase = vec![
        Lock(0),
        poke(0, 0),
        Unlock(0),
        Lock(0),
        poke(0, 3),
        Unlock(0),
    ];
    started(vec![append, erase], vec![], vec![3])
}

/// 0 in, 1 out, 2.. the buffer; nobody looks whether there is something.
pub(crate) fn circular_buffer() -> Program {
    let (mut sender, mut receiver) = (Vec::new(), Vec::new());
    for item in 0..4 {
        sender.extend([
            load(0, 0),
            Op::Store(Place(2, Some(0)), Value::Is(10 + item)),
            plus(0, 1),
            put(0, 0),
        ]);
        let skip = receiver.len() + 7;
        receiver.extend([
            load(0, 1),
            load(1, 0),
            JumpIf(0, Test::AtLeast, Value::Of(1), skip),
            Op::Load(2, Place(2, Some(0))),
            is(2, 10 + item),
            plus(0, 1),
            put(1, 0),
        ]);
    }
    started(vec![sender, receiver], vec![], vec![0; 8])
}

pub(crate) fn lazy01() -> Program {
    let change = |by: i64| vec![Lock(0), peek(0, 0), plus(0, by), poke_from(0, 0), Unlock(0)];
    let check = vec![
        Lock(0),
        peek(0, 0),
        Assert(0, Test::Less, Value::Is(3)),
        Unlock(0),
    ];
    started(vec![change(1), change(2), check], vec![], vec![0])
}

/// What a flag says of a stack is no longer so after the first pop.
pub(crate) fn stack() -> Program {
    let (mut push, mut pop) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        push.extend([
            Lock(0),
            peek(0, 0),
            plus(0, 1),
            poke_from(0, 0),
            poke(1, 1),
            Unlock(0),
        ]);
        let end = pop.len() + 7;
        pop.extend([
            Lock(0),
            peek(0, 1),
            jump_if(0, 0, end - 1),
            peek(1, 0),
            Assert(1, Test::AtLeast, Value::Is(1)),
            plus(1, -1),
            Unlock(0),
        ]);
        let last = pop.len();
        // The value is put back under the lock.
        pop.insert(last - 1, poke_from(0, 1));
        pop[last - 5] = jump_if(0, 0, last);
    }
    started(vec![push, pop], vec![], vec![0, 0])
}

/// The elements that are taken are to be those that were put, in order.
pub(crate) fn queue() -> Program {
    let (mut put_in, mut take) = (Vec::new(), Vec::new());
    for item in 0..4 {
        put_in.extend([Lock(0), poke(1 + item, 1), poke(0, 1), Unlock(0)]);
        let end = take.len() + 6;
        take.extend([
            Lock(0),
            peek(0, 0),
            jump_if(0, 0, end - 1),
            peek(1, 1 + item),
            is(1, 1),
            Unlock(0),
        ]);
    }
    started(vec![put_in, take], vec![], vec![0; 5])
}

/// Whoever comes first takes the second lock for all of its kind, and needs the first to return it.
pub(crate) fn carter01() -> Program {
    let user = |count: usize| {
        vec![
            Lock(0),
            peek(0, count),
            plus(0, 1),
            poke_from(count, 0),
            Lock(1),
            Unlock(0),
            Lock(0),
            Unlock(1),
            Unlock(0),
        ]
    };
    let idle = vec![Lock(2), Unlock(2)];
    started(
        vec![user(0), user(1), idle.clone(), idle],
        vec![],
        vec![0, 0],
    )
}

/// The owner looks at the head before it lowers the tail. 0 head, 1 tail, 2.. how often taken.
pub(crate) fn work_stealing(items: usize) -> Program {
    let mut owner = Vec::new();
    for item in 0..items {
        owner.push(store(1, item as i64 + 1));
    }
    for _ in 0..items {
        let end = owner.len() + 10;
        owner.extend([
            load(0, 1),
            plus(0, -1),
            load(1, 0),
            put(1, 0),
            JumpIf(0, Test::Less, Value::Of(1), end - 2),
            Op::Update(2, Place(2, Some(0)), Fold::Add, Value::Is(1)),
            is(2, 0),
            Op::Jump(end),
            plus(0, 1),
            put(1, 0),
        ]);
    }
    let mut thief = Vec::new();
    for _ in 0..items {
        let end = thief.len() + 11;
        thief.extend([
            Lock(0),
            load(0, 0),
            Compute(1, Fold::Set, Value::Of(0)),
            plus(1, 1),
            put(0, 1),
            load(2, 1),
            JumpIf(0, Test::AtLeast, Value::Of(2), end - 2),
            Op::Update(3, Place(2, Some(0)), Fold::Add, Value::Is(1)),
            Op::Jump(end - 1),
            put(0, 0),
            Unlock(0),
        ]);
        // Taken twice is what must not be.
        let taken = thief.len() - 3;
        thief[taken] = Op::JumpIf(3, Test::Equal, Value::Is(0), end - 1);
        thief[end - 2] = Op::Jump(end - 1);
        thief[end - 5] = JumpIf(0, Test::AtLeast, Value::Of(2), end - 1);
    }
    let mut program = started(vec![owner, thief], vec![], vec![0; items + 3]);
    for item in 0..items {
        program.strands[0].extend([load(0, 2 + item), Assert(0, Test::Less, Value::Is(2))]);
    }
    program
}

/// Looked at, and used after it was given back (ConVul's commonest shape).
pub(crate) fn check_then_use() -> Program {
    let user = vec![load(0, 0), jump_if(0, 0, 4), load(1, 0), is(1, 1)];
    started(
        vec![user, vec![load(0, 1), store(0, 0)]],
        vec![],
        vec![1, 0],
    )
}

/// Both give it back.
pub(crate) fn double_free() -> Program {
    let free = vec![
        load(0, 0),
        jump_if(0, 0, 5),
        store(0, 0),
        add(1, 1, 1),
        is(1, 0),
    ];
    started(repeated(free, 2), vec![], vec![1, 0])
}

/// One more reference to what has none any more.
pub(crate) fn reference_count() -> Program {
    let clone = vec![
        load(0, 0),
        jump_if(0, 0, 5),
        add(1, 0, 1),
        load(2, 1),
        is(2, 0),
    ];
    let drop = vec![load(3, 2), add(0, 0, -1), jump_unless(0, 1, 4), store(1, 1)];
    started(vec![clone, drop], vec![], vec![1, 0, 0])
}

/// Three strands: one has to be twice between two others' steps (the shape of CVE-2016-1972).
pub(crate) fn three_way() -> Program {
    let user = vec![
        load(0, 0),
        jump_if(0, 0, 6),
        load(1, 1),
        jump_if(1, 0, 6),
        load(2, 2),
        is(2, 0),
    ];
    let one = vec![store(1, 1), load(0, 3), store(0, 0), store(1, 0)];
    let other = vec![
        load(0, 0),
        jump_unless(0, 0, 5),
        load(1, 1),
        jump_if(1, 0, 5),
        store(2, 1),
    ];
    started(vec![user, one, other], vec![], vec![1, 0, 0, 0])
}

/// One condvar for those who wait for room and those who wait for items: the wrong one is woken.
pub(crate) fn bounded_buffer() -> Program {
    let wait = Op::Wait {
        condvar: 0,
        lock: 0,
        timed: None,
    };
    let user = |waits_for: i64, then: i64| {
        vec![
            Lock(0),
            peek(0, 0),
            jump_if(0, waits_for, 5),
            wait,
            Op::Jump(1),
            poke(0, then),
            Unlock(0),
            Op::NotifyOne(0),
        ]
    };
    let mut workers = repeated(user(0, 1), 2);
    workers.extend(repeated(user(1, 0), 2));
    started(workers, vec![], vec![0])
}

/// Waits without a loop.
pub(crate) fn spurious() -> Program {
    let wait = Op::Wait {
        condvar: 0,
        lock: 0,
        timed: None,
    };
    let waiter = vec![
        Lock(0),
        peek(0, 0),
        jump_if(0, 1, 4),
        wait,
        peek(0, 0),
        is(0, 1),
        Unlock(0),
    ];
    let notifier = vec![load(0, 1), Lock(0), poke(0, 1), Unlock(0), Op::NotifyOne(0)];
    let mut program = started(vec![waiter, notifier], vec![], vec![0, 0]);
    program.wakes = true;
    program
}

/// The time is up although the message is there.
pub(crate) fn time_out() -> Program {
    let receiver = vec![
        Op::Receive(0, 0, true),
        jump_unless(0, -2, 4),
        load(1, 0),
        is(1, 0),
    ];
    let sender = vec![Op::Send(0, Value::Is(1)), store(0, 1)];
    let mut program = started(vec![receiver, sender], vec![], vec![0]);
    program.channels = vec![(1, 1)];
    program
}

/// All, by name.
pub(crate) fn programs() -> Vec<(&'static str, Program)> {
    vec![
        ("reorder_3", reorder(3)),
        ("reorder_5", reorder(5)),
        ("reorder_10", reorder(10)),
        ("reorder_20", reorder(20)),
        ("reorder_50", reorder(50)),
        ("twostage_1", twostage(1)),
        ("twostage_20", twostage(20)),
        ("twostage_50", twostage(50)),
        ("account", account()),
        ("bluetooth", bluetooth()),
        ("token_ring", token_ring()),
        ("wronglock_1", wronglock(1)),
        ("wronglock_3", wronglock(3)),
        ("wronglock_7", wronglock(7)),
        ("deadlock01", deadlock01()),
        ("stringbuffer", stringbuffer()),
        ("circular_buffer", circular_buffer()),
        ("lazy01", lazy01()),
        ("queue", queue()),
        ("stack", stack()),
        ("carter01", carter01()),
        ("work_stealing_2", work_stealing(2)),
        ("work_stealing_5", work_stealing(5)),
        ("check_then_use", check_then_use()),
        ("double_free", double_free()),
        ("reference_count", reference_count()),
        ("three_way", three_way()),
        ("bounded_buffer", bounded_buffer()),
        ("spurious", spurious()),
        ("time_out", time_out()),
    ]
}
