//! The small programs of SCTBench's first suite (`CS`): each is the least that has its bug.

use std::array;

use aerodrome::sync::{Condvar, Mutex, MutexGuard};

use super::{Is, Row, Var, run};

pub(super) const PROGRAMS: &[Row] = &[
    ("CS/account", account, false, [1, 4]),
    ("CS/bluetooth_driver", bluetooth_driver, true, [45, 53]),
    ("CS/carter01", carter, false, [1, -1]),
    ("CS/circular_buffer", circular_buffer, false, [1, 3]),
    ("CS/deadlock01", deadlock, false, [4, 2]),
    ("CS/din_phil2", din_phil::<2>, false, [-1, -1]),
    ("CS/din_phil3", din_phil::<3>, false, [-1, -1]),
    ("CS/din_phil5", din_phil::<5>, false, [-1, -1]),
    ("CS/din_phil7", din_phil::<7>, false, [-1, -1]),
    ("CS/lazy01", lazy, false, [5, 2]),
    ("CS/phase01", phase, false, [-1, -1]),
    ("CS/queue", queue, false, [1, 2]),
    ("CS/reorder_10", reorder::<9>, true, [5, 18]),
    ("CS/reorder_100", reorder::<99>, true, [5, 112]),
    ("CS/reorder_20", reorder::<19>, true, [5, 4]),
    ("CS/reorder_3", reorder::<2>, true, [6, 4]),
    ("CS/reorder_4", reorder::<3>, true, [5, 4]),
    ("CS/reorder_5", reorder::<4>, true, [5, 6]),
    ("CS/reorder_50", reorder::<49>, true, [5, 12]),
    ("CS/stack", stack, false, [1, 4]),
    ("CS/sync01", sync, false, [-1, -1]),
    ("CS/token_ring", token_ring, false, [4, 7]),
    ("CS/twostage", two_stage::<1>, true, [6, 6]),
    ("CS/twostage_100", two_stage::<99>, true, [25, 272]),
    ("CS/twostage_20", two_stage::<19>, true, [18, 5]),
    ("CS/twostage_50", two_stage::<49>, true, [32, 16]),
    ("CS/wronglock", wrong_lock::<7>, true, [1, 4]),
    ("CS/wronglock_3", wrong_lock::<3>, true, [1, 7]),
];

/// A lock's guard; no program panics while it holds one and goes on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// The check of the balance has the wrong sign. It runs once both transfers are done.
fn account(is: Is) {
    #[derive(Default)]
    struct Account {
        balance: i32,
        deposited: bool,
        withdrawn: bool,
    }
    let expected = if is.fixed() { 1 + 2 - 4 } else { 1 - 2 - 4 };
    let account = Mutex::new(Account {
        balance: 1,
        ..Account::default()
    });
    run(&[
        &|| {
            let mut account = lock(&account);
            account.balance += 2;
            account.deposited = true;
        },
        &|| {
            let mut account = lock(&account);
            account.balance -= 4;
            account.withdrawn = true;
        },
        &|| {
            let account = lock(&account);
            let is_done = account.deposited && account.withdrawn;
            is.sure(!is_done || account.balance == expected);
        },
    ]);
}

/// A driver is stopped between its look at the flag and its entry.
fn bluetooth_driver(is: Is) {
    let (stopping, event, stopped) = (Var::new(0), Var::new(0), Var::new(0));
    let pending = Mutex::new(1);
    let enter = || {
        let looked_first = !is.fixed() && stopping.get() != 0;
        let mut pending = lock(&pending);
        if looked_first || is.fixed() && stopping.get() != 0 {
            return false;
        }
        *pending += 1;
        true
    };
    let leave = || {
        let mut pending = lock(&pending);
        *pending -= 1;
        if *pending == 0 {
            event.set(1);
        }
    };
    run(&[
        &|| {
            let entered = is.atomic(enter);
            if entered {
                is.sure(stopped.get() == 0);
                leave();
            }
        },
        &|| {
            is.atomic(|| {
                stopping.set(1);
                leave();
            });
            if event.get() != 0 {
                stopped.set(1);
            }
        },
    ]);
}

/// The first of a class takes the resource while it has the counter's lock. Both classes have the
/// same one.
fn carter(is: Is) {
    let (counters, resource) = ([Mutex::new(0), Mutex::new(0)], Mutex::new(()));
    let class = |nth: usize| {
        let counter = &counters[if is.fixed() { nth } else { 0 }];
        let mut mine = lock(counter);
        *mine += 1;
        let held = lock(&resource);
        drop(mine);
        *lock(counter) -= 1;
        drop(held);
    };
    run(&[&|| class(0), &|| class(1), &|| {}, &|| {}]);
}

/// Sender and receiver take turns, and each counts the turns in which it did nothing.
fn circular_buffer(is: Is) {
    take_turns(is, 7);
}

/// The same with a queue that is longer, and begins with an element.
fn queue(is: Is) {
    take_turns(is, 20);
}

fn take_turns(is: Is, rounds: i32) {
    #[derive(Default)]
    struct Buffer {
        items: Vec<i32>,
        first: usize,
        is_full: bool,
    }
    let buffer = Mutex::new(Buffer::default());
    run(&[
        &|| {
            let mut nth = 0;
            for _ in 0..rounds {
                let mut buffer = lock(&buffer);
                if !buffer.is_full {
                    buffer.items.push(nth);
                    buffer.is_full = true;
                    nth += i32::from(is.fixed());
                }
                nth += i32::from(!is.fixed());
            }
        },
        &|| {
            let mut nth = 0;
            for _ in 0..rounds {
                let mut buffer = lock(&buffer);
                if buffer.is_full {
                    is.sure(buffer.items[buffer.first] == nth);
                    buffer.first += 1;
                    buffer.is_full = false;
                    nth += i32::from(is.fixed());
                }
                nth += i32::from(!is.fixed());
            }
        },
    ]);
}

/// Two locks in two orders.
fn deadlock(is: Is) {
    let (a, b) = (Mutex::new(0), Mutex::new(0));
    let both = |first: &Mutex<i32>, second: &Mutex<i32>| {
        let mut first = lock(first);
        *first += 1;
        *lock(second) += 1;
    };
    run(&[&|| both(&a, &b), &|| match is.fixed() {
        true => both(&a, &b),
        false => both(&b, &a),
    }]);
}

/// Philosophers take their left fork first, but for one who is right.
fn din_phil<const N: usize>(is: Is) {
    let forks: [_; N] = array::from_fn(|_| Mutex::new(()));
    let eat = |nth: usize| {
        let (mut one, mut other) = (nth, (nth + 1) % N);
        if is.fixed() && one > other {
            (one, other) = (other, one);
        }
        let _one = lock(&forks[one]);
        let _other = lock(&forks[other]);
    };
    let eaters: [_; N] = array::from_fn(|nth| move || eat(nth));
    run(&eaters.each_ref().map(|eater| eater as &(dyn Fn() + Sync)));
}

/// The last of three sees what both others did.
fn lazy(is: Is) {
    let data = Mutex::new(0);
    let most = if is.fixed() { 3 } else { 2 };
    run(&[&|| *lock(&data) += 1, &|| *lock(&data) += 2, &|| {
        is.sure(*lock(&data) <= most)
    }]);
}

/// A lock is never given back.
fn phase(is: Is) {
    let (first, second) = (Mutex::new(()), Mutex::new(()));
    let thread = || {
        drop(lock(&first));
        let guard = lock(&second);
        match is.fixed() {
            true => drop(guard),
            false => std::mem::forget(guard),
        }
    };
    run(&[&thread, &thread]);
}

/// Two variables are set one after the other, by many; one thread compares them.
fn reorder<const SETTERS: usize>(is: Is) {
    let (a, b, both) = (Var::new(0), Var::new(0), Mutex::new(()));
    let exclude = || is.fixed().then(|| lock(&both));
    let set = || {
        is.atomic(|| {
            let _guard = exclude();
            a.set(1);
            b.set(-1);
        });
    };
    let check = || {
        is.atomic(|| {
            let _guard = exclude();
            let unset = a.get() == 0 && b.get() == 0;
            is.sure(unset || a.get() == 1 && b.get() == -1);
        });
    };
    let mut threads: Vec<&(dyn Fn() + Sync)> = vec![&set; SETTERS];
    threads.push(&check);
    run(&threads);
}

/// The flag says that something was pushed, not that it is still there.
fn stack(is: Is) {
    const SIZE: i32 = 5;
    let stack = Mutex::new((Vec::new(), false));
    run(&[
        &|| {
            for item in 0..SIZE {
                let mut stack = lock(&stack);
                stack.0.push(item);
                stack.1 = true;
            }
        },
        &|| {
            for _ in 0..SIZE {
                let mut stack = lock(&stack);
                if stack.1 {
                    is.sure(stack.0.pop().is_some());
                    stack.1 = !is.fixed() || !stack.0.is_empty();
                }
            }
        },
    ]);
}

/// The consumer signals what it waits for itself.
fn sync(is: Is) {
    let (count, full, empty) = (Mutex::new(1), Condvar::new(), Condvar::new());
    run(&[
        &|| {
            let mut count = empty.wait_while(lock(&count), |count| *count > 0).unwrap();
            *count += 1;
            full.notify_one();
        },
        &|| {
            let mut count = full.wait_while(lock(&count), |count| *count == 0).unwrap();
            *count -= 1;
            match is.fixed() {
                true => empty.notify_one(),
                false => full.notify_one(),
            }
        },
    ]);
}

/// Three threads pass a value on; nothing says that they do so in turn.
fn token_ring(is: Is) {
    #[derive(Clone, Copy)]
    struct Ring {
        x: [i32; 3],
        is_done: [bool; 3],
    }
    let ring = Mutex::new(Ring {
        x: [1, 2, 1],
        is_done: [false; 3],
    });
    let pass = |to: usize| {
        let mut ring = lock(&ring);
        if to > 0 && is.fixed() && !ring.is_done[to - 1] {
            return;
        }
        ring.x[to] = if to == 0 {
            (ring.x[2] + 1) % 4
        } else {
            ring.x[to - 1]
        };
        ring.is_done[to] = true;
    };
    run(&[&|| pass(0), &|| pass(1), &|| pass(2), &|| {
        let Ring { x, is_done } = *lock(&ring);
        is.sure(is_done != [true; 3] || x[0] == x[1] && x[1] == x[2]);
    }]);
}

/// The second value follows from the first, in a critical section of its own.
fn two_stage<const WRITERS: usize>(is: Is) {
    let (first, second, both) = (Mutex::new(0), Mutex::new(0), Mutex::new(()));
    let exclude = || is.fixed().then(|| lock(&both));
    let write = || {
        is.atomic(|| {
            let _guard = exclude();
            *lock(&first) = 1;
            let mut second = lock(&second);
            *second = *lock(&first) + 1;
        });
    };
    let read = || {
        is.atomic(|| {
            let _guard = exclude();
            let seen = *lock(&first);
            if seen != 0 {
                is.sure(*lock(&second) == seen + 1);
            }
        });
    };
    let mut threads: Vec<&(dyn Fn() + Sync)> = vec![&write; WRITERS];
    threads.push(&read);
    run(&threads);
}

/// One value under two locks.
fn wrong_lock<const OTHERS: usize>(is: Is) {
    let (right, wrong) = (Mutex::new(()), Mutex::new(()));
    let data = Var::new(0);
    let sure = || {
        is.atomic(|| {
            let _guard = lock(&right);
            let before = data.get();
            data.add(1);
            is.sure(data.get() == before + 1);
        });
    };
    let other = || {
        let _guard = lock(if is.fixed() { &right } else { &wrong });
        data.add(1);
    };
    let mut threads: Vec<&(dyn Fn() + Sync)> = vec![&sure];
    threads.extend([&other as &(dyn Fn() + Sync); OTHERS]);
    run(&threads);
}
