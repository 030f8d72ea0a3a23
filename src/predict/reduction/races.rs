//! Races: accesses that nothing keeps apart.
//!
//! Two accesses of different strands race if they conflict, are parallel and have no lock in common
//! (RV 2003, theorem 4.3, with periods). A lock protects two accesses from each other if one of
//! them holds it exclusively. A variable that is only ever updated, by one kind, is as good as read
//! only. Each sort of access is judged by itself: a read that no other strand's write meets is free
//! of races though the same strand's write may not be.
//!
//! A variable's first [`MOST`] sorts are compared, each once with each other, and none if one lock
//! is held at all of them: at most so many comparisons for each new sort.

use crate::check::{Access, Transaction};
use crate::predict::{Context, Hold, LockState, Period, Race, Step, access, conflict};
use crate::trace::{Event, ObjectId, Op};
use rustc_hash::FxHashMap;

/// One sort of access to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sort {
    op: Op,
    state: LockState,
    period: Period,
}

/// The first access of a sort.
#[derive(Debug)]
struct Seen {
    sort: Sort,
    access: Access,
    transaction: Option<Transaction>,
    /// How many sorts it does not race with; nothing once one is found that it does.
    harmless: Option<usize>,
}

#[derive(Debug, Default)]
struct Variable {
    /// Every sort of access, in the order in which they came.
    sorts: Vec<Seen>,
    numbers: FxHashMap<Sort, u32>,
    /// Locks that all of them hold exclusively: where there is one, none race.
    protectors: Vec<ObjectId>,
    /// The first two sorts that race, and how many were compared with those before them.
    pair: (Option<(usize, usize)>, usize),
}

/// The races of all variables.
#[derive(Debug, Default)]
pub(super) struct Races {
    variables: FxHashMap<ObjectId, Variable>,
    /// A variable had more sorts of accesses than are kept.
    cut_short: bool,
}

impl Races {
    /// What to know about the races, if they may not be all.
    pub(super) fn note(&self) -> Option<String> {
        let note = format!("reduction: more than {MOST} lock states at the accesses of an object");
        self.cut_short.then(|| note + ": may be incomplete")
    }

    /// Takes an access, and says which sort of access it is: what tells the variable's accesses
    /// apart, if anything does.
    pub(super) fn access(&mut self, event: Event, position: u64, now: &mut Context) -> u32 {
        let sort = Sort {
            op: event.op,
            state: now.locks.state(event.strand),
            period: now.order.period(event.strand),
        };
        let variable = self.variables.entry(event.object()).or_default();
        match variable.numbers.get(&sort) {
            Some(&number) => number,
            None if variable.sorts.len() >= MOST => {
                // With so many sorts, the variable is judged as one.
                self.cut_short = true;
                MOST as u32
            }
            None => {
                let number = variable.sorts.len() as u32;
                variable.protect(now.locks.held(sort.state));
                variable.numbers.insert(sort, number);
                variable.sorts.push(Seen {
                    sort,
                    access: access(event, position),
                    transaction: now.transaction(event.strand).cloned(),
                    harmless: Some(0),
                });
                number
            }
        }
    }

    /// Nobody can touch the object any more.
    pub(super) fn retire(&mut self, object: ObjectId, now: &Context) {
        if now.usage(object).is_harmless() {
            self.variables.remove(&object);
        }
    }

    /// Is an access of this sort in a race?
    pub(super) fn racy(&mut self, object: ObjectId, sort: u32, now: &Context) -> bool {
        let variable = self.variables.get_mut(&object);
        variable.is_some_and(|variable| variable.racy(sort as usize, now))
    }

    /// Pairs that race, one for each variable on which there are some.
    pub(super) fn report(&mut self, now: &Context) -> Vec<Race> {
        let objects = self.variables.keys().copied();
        let mut objects: Vec<ObjectId> =
            objects.filter(|&it| !now.usage(it).is_harmless()).collect();
        objects.sort_unstable();
        let races = objects.into_iter().filter_map(|object| {
            let variable = self.variables.get_mut(&object)?;
            let pair = variable.pair(now)?;
            let step = |number: usize| {
                let seen = &variable.sorts[number];
                Step {
                    access: seen.access,
                    transaction: seen.transaction.clone(),
                    held: now.locks.held(seen.sort.state).to_vec(),
                }
            };
            Some(Race {
                first: step(pair.0),
                second: step(pair.1),
                count: 1,
            })
        });
        races.collect()
    }
}

/// So many sorts of accesses are kept of a variable.
const MOST: usize = 256;

impl Variable {
    /// The next sort of access holds these locks.
    fn protect(&mut self, held: &[Hold]) {
        let exclusive = |lock: &ObjectId| held.iter().any(|it| it.lock == *lock && !it.shared);
        if self.sorts.is_empty() {
            self.protectors = held.iter().map(|hold| hold.lock).collect();
        }
        self.protectors.retain(exclusive);
    }

    /// Is an access of this sort in a race? What has no sort of its own is judged with the whole
    /// variable.
    fn racy(&mut self, sort: usize, now: &Context) -> bool {
        let Some(seen) = self.sorts.get(sort) else {
            return self.pair(now).is_some();
        };
        if let Some(harmless) = seen.harmless.filter(|_| self.protectors.is_empty()) {
            let mut others = harmless..self.sorts.len();
            let is_racy = others.any(|other| self.race(sort, other, now));
            self.sorts[sort].harmless = (!is_racy).then_some(others.end);
        }
        self.sorts[sort].harmless.is_none()
    }

    /// Does nothing keep accesses of these sorts apart?
    fn race(&self, a: usize, b: usize, now: &Context) -> bool {
        let (a, b) = (&self.sorts[a].sort, &self.sorts[b].sort);
        conflict(a.op, b.op)
            && now.order.parallel(a.period, b.period)
            && now.locks.disjoint(a.state, b.state)
    }

    /// The first two sorts of access that nothing keeps apart.
    fn pair(&mut self, now: &Context) -> Option<(usize, usize)> {
        while self.pair.0.is_none() && self.protectors.is_empty() && self.pair.1 < self.sorts.len()
        {
            let (mut firsts, second) = (0..self.pair.1, self.pair.1);
            let first = firsts.find(|&first| self.race(first, second, now));
            self.pair = (first.map(|first| (first, second)), second + 1);
        }
        self.pair.0
    }
}
