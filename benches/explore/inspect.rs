//! Programs of the Inspect and CB suites, and SafeStack.

use std::collections::VecDeque;

use aerodrome::sync::{Condvar, Mutex};

use super::{Is, Row, Var, run};

pub(super) const PROGRAMS: &[Row] = &[
    ("CB/stringbuffer-jdk1.4", string_buffer, true, [8, 5]),
    ("Inspect/boundedBuffer", bounded_buffer, false, [5, 5]),
    ("Inspect/qsort_mt", qsort, false, [186, 2824]),
    ("SafeStack", safe_stack, false, [0, 204_071]),
];

/// The length of the other string is read, then so many characters of it.
fn string_buffer(is: Is) {
    let (target, source) = (Mutex::new(String::new()), Mutex::new(String::from("abc")));
    run(&[
        &|| {
            is.atomic(|| {
                let mut target = target.lock().unwrap();
                let text = source.lock().unwrap();
                let length = text.len();
                let text = match is.fixed() {
                    true => text,
                    false => {
                        drop(text);
                        source.lock().unwrap()
                    }
                };
                let copied = text.get(..length);
                is.sure(copied.is_some());
                target.push_str(copied.unwrap_or(""));
            });
        },
        &|| {
            source.lock().unwrap().clear();
            source.lock().unwrap().push_str("abc");
        },
    ]);
}

/// A consumer that was woken takes without looking again; another one may have been there first.
fn bounded_buffer(is: Is) {
    let (buffer, filled) = (Mutex::new(VecDeque::new()), Condvar::new());
    let put = || {
        buffer.lock().unwrap().push_back(1);
        filled.notify_one();
    };
    let take = || {
        let mut guard = buffer.lock().unwrap();
        while guard.is_empty() {
            guard = filled.wait(guard).unwrap();
            if !is.fixed() {
                break;
            }
        }
        is.sure(guard.pop_front().is_some());
    };
    run(&[&take, &take, &put, &put]);
}

/// What a worker of the sorter's pool is at.
const IDLE: i32 = 0;
const WORK: i32 = 1;
const END: i32 = 2;

struct Worker {
    at: Var,
    range: Mutex<(usize, usize)>,
    changed: Condvar,
}

/// A sorter that halves its range and gives one half to an idle worker. A worker is sent to work
/// before its range is there: it may do the one of before, and forget the new one.
fn qsort(is: Is) {
    let data = Mutex::new([5, 3, 8, 1, 7, 2]);
    let idle = Mutex::new(1);
    let workers = [(WORK, (0, 6)), (IDLE, (0, 0))].map(|(at, range)| Worker {
        at: Var::new(at),
        range: Mutex::new(range),
        changed: Condvar::new(),
    });
    let give = |range: (usize, usize)| {
        let mut idle = idle.lock().unwrap();
        let Some(worker) = workers.iter().find(|worker| worker.at.get() == IDLE) else {
            return false;
        };
        *idle -= 1;
        if !is.fixed() {
            worker.at.set(WORK);
        }
        let mut given = worker.range.lock().unwrap();
        worker.at.set(WORK);
        drop(idle);
        *given = range;
        worker.changed.notify_one();
        true
    };
    let sort = |mut from: usize, to: usize| {
        while from < to {
            let middle = partition(&mut data.lock().unwrap()[from..to]) + from;
            if !give((from, middle)) {
                data.lock().unwrap()[from..middle].sort_unstable();
            }
            from = middle + 1;
        }
    };
    let rest = |me: &Worker| {
        let mut idle = idle.lock().unwrap();
        {
            let _range = me.range.lock().unwrap();
            me.at.set(IDLE);
        }
        *idle += 1;
        for worker in workers.iter().filter(|_| *idle == workers.len()) {
            let _range = worker.range.lock().unwrap();
            worker.at.set(END);
            worker.changed.notify_one();
        }
    };
    let work = |me: &Worker| {
        loop {
            let range = me.range.lock().unwrap();
            let is_idle = |_: &mut _| me.at.get() == IDLE;
            let range = *me.changed.wait_while(range, is_idle).unwrap();
            if me.at.get() == END {
                return;
            }
            sort(range.0, range.1);
            rest(me);
        }
    };
    run(&[&|| work(&workers[0]), &|| work(&workers[1])]);
    is.sure(data.lock().unwrap().is_sorted());
}

/// Moves what is smaller than the first item before it, and says where that is now.
fn partition(range: &mut [i32]) -> usize {
    let mut at = 0;
    for other in 1..range.len() {
        if range[other] < range[0] {
            at += 1;
            range.swap(at, other);
        }
    }
    range.swap(0, at);
    at
}

/// Vyukov's stack, which no tool finds within a thousand schedules: a pop takes an item out of the
/// list before it owns the head, and puts it back as it was. Several others may have come between.
fn safe_stack(is: Is) {
    const ITEMS: i32 = 3;
    let next: [Var; 3] = [Var::new(1), Var::new(2), Var::new(-1)];
    let owner: [Var; 3] = Default::default();
    let (head, count) = (Var::new(0), Var::new(ITEMS));
    let whole = Mutex::new(());
    let pop = || {
        let _guard = is.fixed().then(|| whole.lock().unwrap());
        while count.get() > 1 {
            let first = head.get();
            let second = next[first as usize].swap(-1);
            if second < 0 {
                continue;
            }
            if head.replace(first, second) {
                count.add_at_once(-1);
                return Some(first);
            }
            next[first as usize].swap(second);
        }
        None
    };
    let push = |item: i32| {
        let _guard = is.fixed().then(|| whole.lock().unwrap());
        loop {
            let first = head.get();
            next[item as usize].set(first);
            if head.replace(first, item) {
                break;
            }
        }
        count.add_at_once(1);
    };
    let thread = |me: i32| {
        for _ in 0..2 {
            let Some(item) = pop() else { continue };
            let owner = &owner[item as usize];
            owner.set(me);
            is.sure(owner.get() == me);
            push(item);
        }
    };
    run(&[&|| thread(1), &|| thread(2), &|| thread(3)]);
}
