//! CHESS's work-stealing queues: the owner pushes and pops at one end, a thief takes from the
//! other. Each item is to be taken once.

use std::array;

use aerodrome::sync::Mutex;

use super::{Is, Row, Var, run};

pub(super) const PROGRAMS: &[Row] = &[
    ("Chess/InterlockedWorkStealQueue", exchanged, false, [1, 5]),
    (
        "Chess/InterlockedWorkStealQueueWithState",
        claimed,
        true,
        [6, 4],
    ),
    ("Chess/StateWorkStealQueue", packed, true, [1, 4]),
    ("Chess/WorkStealQueue", locked, false, [8, 5]),
];

const ITEMS: usize = 4;

/// What the owner and the thief do with a queue.
struct Queue<'a> {
    push: &'a (dyn Fn(i32) + Sync),
    pop: &'a (dyn Fn() -> Option<i32> + Sync),
    steal: &'a (dyn Fn() -> Option<i32> + Sync),
}

/// The owner pushes two, pops one, and so on, and then pops what is left.
fn work(is: Is, queue: &Queue<'_>) {
    let taken: [Var; ITEMS] = Default::default();
    let take = |item: Option<i32>| {
        if let Some(item) = item {
            is.sure(taken[item as usize].add_at_once(1) == 1);
        }
        item.is_some()
    };
    let owner = || {
        for first in (0..ITEMS as i32).step_by(2) {
            (queue.push)(first);
            (queue.push)(first + 1);
            take((queue.pop)());
        }
        while take((queue.pop)()) {}
    };
    let thief = || {
        for _ in 0..2 {
            take((queue.steal)());
        }
    };
    run(&[&owner, &thief]);
    is.sure(taken.iter().all(|taken| taken.get() == 1));
}

/// The thief raises the head, then looks at the tail; the owner lowers the tail, then looks at the
/// head. Here it looks first. Who sees that both are after the same item takes the lock.
fn locked(is: Is) {
    let (head, tail, lock) = (Var::new(0), Var::new(0), Mutex::new(()));
    let items: [Var; ITEMS] = Default::default();
    let pop_locked = || {
        let _guard = lock.lock().unwrap();
        let last = tail.add(-1);
        if head.get() <= last {
            return Some(items[last as usize].get());
        }
        tail.set(last + 1);
        None
    };
    let pop = || {
        let last = tail.get() - 1;
        if is.fixed() {
            tail.set(last);
        }
        if head.get() <= last {
            if !is.fixed() {
                tail.set(last);
            }
            return Some(items[last as usize].get());
        }
        tail.set(last + 1);
        pop_locked()
    };
    let steal = || {
        let _guard = lock.lock().unwrap();
        let first = head.get();
        head.set(first + 1);
        if first < tail.get() {
            return Some(items[first as usize].get());
        }
        head.set(first);
        None
    };
    let push = |item: i32| {
        let end = tail.get();
        items[end as usize].set(item);
        tail.set(end + 1);
    };
    let (push, pop, steal) = (&push, &pop, &steal);
    work(is, &Queue { push, pop, steal });
}

/// The thief takes by exchanging the head. For the last item the owner has to do that as well.
fn exchanged(is: Is) {
    let (head, tail) = (Var::new(0), Var::new(0));
    let items: [Var; ITEMS] = Default::default();
    let pop = || {
        let last = tail.add(-1);
        let first = head.get();
        if first < last || !is.fixed() && first == last {
            return Some(items[last as usize].get());
        }
        let is_mine = first == last && head.replace(first, first + 1);
        tail.set(last + 1);
        is_mine.then(|| items[last as usize].get())
    };
    let steal = || {
        let first = head.get();
        if first >= tail.get() {
            return None;
        }
        let item = items[first as usize].get();
        head.replace(first, first + 1).then_some(item)
    };
    let push = |item: i32| {
        let end = tail.get();
        items[end as usize].set(item);
        tail.set(end + 1);
    };
    let (push, pop, steal) = (&push, &pop, &steal);
    work(is, &Queue { push, pop, steal });
}

/// Each item has a state, and whoever changes that has the item. The change is a look and a store.
fn claimed(is: Is) {
    let tail = Var::new(0);
    let states: [Var; ITEMS] = Default::default();
    let claim = |item: &usize| {
        is.atomic(|| {
            let state = &states[*item];
            if is.fixed() {
                return state.replace(0, 1);
            }
            let is_free = state.get() == 0;
            if is_free {
                state.set(1);
            }
            is_free
        })
    };
    let pop = || {
        let mut items = (0..tail.get() as usize).rev();
        items.find(claim).map(|item| item as i32)
    };
    let steal = || {
        let mut items = 0..tail.get() as usize;
        items.find(claim).map(|item| item as i32)
    };
    let push = |item: i32| tail.set(item + 1);
    let (push, pop, steal) = (&push, &pop, &steal);
    work(is, &Queue { push, pop, steal });
}

/// Head and tail are one word, and the slots are used again. The thief exchanges the word, then
/// reads the slot, which may have the next item by then. Fixed, it reads first, and the word counts
/// its changes: otherwise it may be the same again, and the slot another.
fn packed(is: Is) {
    let state = Var::new(0);
    let slots: [Var; ITEMS] = array::from_fn(|_| Var::new(-1));
    // Three items are there at a time, at most.
    let in_use = if is.fixed() { ITEMS } else { 2 };
    let unpack = |word: i32| (word >> 8 & 0xff, word & 0xff);
    let changed = |word: i32, head: i32, tail: i32| {
        let changes = if is.fixed() { (word >> 16) + 1 } else { 0 };
        changes << 16 | head << 8 | tail
    };
    let slot = |at: i32| &slots[at as usize % in_use];
    let steal = || {
        is.atomic(|| {
            let word = state.get();
            let (head, tail) = unpack(word);
            if head == tail {
                return None;
            }
            let before = is.fixed().then(|| slot(head).get());
            let is_mine = state.replace(word, changed(word, head + 1, tail));
            is_mine.then(|| before.unwrap_or_else(|| slot(head).get()))
        })
    };
    let pop = || {
        loop {
            let word = state.get();
            let (head, tail) = unpack(word);
            if head == tail {
                return None;
            }
            let item = slot(tail - 1).get();
            if state.replace(word, changed(word, head, tail - 1)) {
                return Some(item);
            }
        }
    };
    let push = |item: i32| {
        loop {
            let word = state.get();
            let (head, tail) = unpack(word);
            slot(tail).set(item);
            if state.replace(word, changed(word, head, tail + 1)) {
                return;
            }
        }
    };
    let (push, pop, steal) = (&push, &pop, &steal);
    work(is, &Queue { push, pop, steal });
}
