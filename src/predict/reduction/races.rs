//! Races: accesses that nothing keeps apart.
//!
//! Three tests of the papers, from the coarse to the precise. *Lockset* (RV 2003, theorem 4.4;
//! Eraser): one lock is held at every access. *Multilockset* (TSE 2006, figure 3): the locks held
//! at all writes (`WriteSet`), the least locksets of reads (`ReadSets`), and the periods of both.
//! *Pairwise* (RV 2003, theorem 4.3, with periods): some two accesses of different strands
//! conflict, are parallel and have no lock in common. Whatever a coarser test calls free of races,
//! a more precise one does. The first two judge a variable, the last one each sort of access by
//! itself: a read that no other strand's write meets is free of races though the same strand's
//! write may not be.
//!
//! Shared locks: a lock protects two accesses from each other if one of them holds it exclusively.
//! So `WriteSet` is kept twice, with the locks held in any way and with those held exclusively.
//! Updates: a variable that is only ever updated, by one kind, is as good as read only; otherwise
//! an update is a read and a write.

use crate::check::Transaction;
use crate::predict::{Context, Hold, LockState, Map, Order, Period, Race, Step, access, conflict};
use crate::trace::{Event, ObjectId, Op, StrandId};

/// Which test decides whether a variable's accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RaceTest {
    /// One lock is held at every access (RV 2003, theorem 4.4).
    Lockset,
    /// `ReadSets`, `WriteSet` and the sets of periods (TSE 2006, figure 3).
    Multilockset,
    /// Every two accesses (RV 2003, theorem 4.3): the only test that tells the accesses of a
    /// variable apart.
    Pairwise,
}

/// What a variable has been used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// By one strand only, or read only, or updated by one kind only: every access commutes with
    /// everything.
    Harmless,
    /// By several strands, and changed.
    Contended,
}

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
    event: Event,
    position: u64,
    transaction: Option<Transaction>,
}

#[derive(Debug)]
struct Variable {
    owner: StrandId,
    escaped: bool,
    /// All accesses so far were this, or there were several.
    only: Option<Op>,
    changed: bool,
    /// Locks held at every access, and whether every change held it exclusively.
    lockset: Vec<(ObjectId, bool)>,
    /// Locks held at every write: in any way, exclusively.
    write_any: Option<Vec<ObjectId>>,
    write_exclusive: Vec<ObjectId>,
    /// The least locksets of reads.
    read_sets: Vec<Vec<Hold>>,
    read_periods: Vec<Period>,
    write_periods: Vec<Period>,
    /// Every sort of access, in the order in which they came.
    sorts: Vec<Seen>,
    numbers: Map<Sort, u32>,
    /// The answers for the variable and, as far as somebody asked, for each sort, until another
    /// sort of access comes.
    racy: Option<bool>,
    racing: Vec<Option<bool>>,
}

/// The races of all variables.
#[derive(Debug)]
pub(super) struct Races {
    test: RaceTest,
    variables: Map<ObjectId, Variable>,
    /// A variable had more sorts of accesses than are kept.
    cut_short: bool,
}

impl Races {
    pub(super) fn new(test: RaceTest) -> Races {
        Races {
            test,
            variables: Map::default(),
            cut_short: false,
        }
    }

    /// What to know about the races, if they may not be all.
    pub(super) fn note(&self) -> Option<String> {
        let note = format!(
            "reduction: more than {MOST} lock states at the accesses of an object: may be incomplete"
        );
        self.cut_short.then_some(note)
    }

    /// Takes an access, and says which sort of access it is: what tells the variable's accesses
    /// apart, if anything does.
    pub(super) fn access(&mut self, event: Event, position: u64, now: &mut Context) -> u32 {
        let sort = Sort {
            op: event.op,
            state: now.locks.state(event.strand),
            period: now.order.period(event.strand),
        };
        let variable = self
            .variables
            .entry(event.object())
            .or_insert_with(|| Variable::new(event, now.locks.held(sort.state)));
        variable.escaped |= variable.owner != event.strand;
        if variable.only != Some(event.op) {
            variable.only = None;
        }
        variable.changed |= event.op != Op::Read;
        let number = match variable.numbers.get(&sort) {
            // An access like an earlier one changes nothing below.
            Some(&number) => number,
            None if variable.sorts.len() >= MOST => {
                self.cut_short = true;
                MOST as u32
            }
            None => variable.add(sort, (event, position), now),
        };
        match self.test {
            // With so many sorts, the variable is judged as one.
            RaceTest::Pairwise => number.min(MOST as u32),
            _ => 0,
        }
    }

    pub(super) fn retire(&mut self, object: ObjectId) {
        if self
            .variables
            .get(&object)
            .is_some_and(|variable| !variable.escaped)
        {
            self.variables.remove(&object);
        }
    }

    pub(super) fn usage(&self, object: ObjectId) -> Use {
        match self.variables.get(&object) {
            Some(variable) if variable.contended() => Use::Contended,
            _ => Use::Harmless,
        }
    }

    /// Is an access of this sort, as far as is known now, in a race?
    pub(super) fn racy(&mut self, object: ObjectId, sort: u32, now: &Context) -> bool {
        match self.variables.get_mut(&object) {
            Some(variable) => variable.racy(self.test, Some(sort), now),
            None => false,
        }
    }

    /// Pairs that race, one for each variable on which the test finds some.
    pub(super) fn report(&mut self, now: &Context) -> Vec<Race> {
        let mut objects: Vec<ObjectId> = self.variables.keys().copied().collect();
        objects.sort_unstable();
        let mut races = Vec::new();
        for object in objects {
            let Some(variable) = self.variables.get_mut(&object) else {
                continue;
            };
            if !variable.racy(self.test, None, now) {
                continue;
            }
            if let Some((a, b)) = variable.pair(now) {
                let step = |number: usize| {
                    let seen = &variable.sorts[number];
                    Step {
                        access: access(seen.event, seen.position),
                        transaction: seen.transaction.clone(),
                        held: now.locks.held(seen.sort.state).to_vec(),
                    }
                };
                races.push(Race {
                    first: step(a),
                    second: step(b),
                    count: 1,
                });
            }
        }
        races
    }
}

/// So many sorts of accesses are kept of a variable.
const MOST: usize = 256;

impl Variable {
    fn new(event: Event, held: &[Hold]) -> Variable {
        Variable {
            owner: event.strand,
            escaped: false,
            only: Some(event.op),
            changed: false,
            lockset: held.iter().map(|hold| (hold.lock, true)).collect(),
            write_any: None,
            write_exclusive: Vec::new(),
            read_sets: Vec::new(),
            read_periods: Vec::new(),
            write_periods: Vec::new(),
            sorts: Vec::new(),
            numbers: Map::default(),
            racy: None,
            racing: Vec::new(),
        }
    }

    fn contended(&self) -> bool {
        self.escaped && self.changed && !matches!(self.only, Some(Op::Update(_)))
    }

    /// Is some access in a race, of this sort where the test tells them apart?
    fn racy(&mut self, test: RaceTest, sort: Option<u32>, now: &Context) -> bool {
        if !self.contended() {
            return false;
        }
        let pairwise = test == RaceTest::Pairwise;
        // What has no sort of its own is judged with the whole variable.
        let sort = sort.filter(|_| pairwise).map(|sort| sort as usize);
        let sort = sort.filter(|&sort| sort < self.sorts.len());
        let known = match sort {
            Some(sort) => self.racing.get(sort).copied().flatten(),
            None => self.racy,
        };
        known.unwrap_or_else(|| {
            let racy = match sort {
                Some(sort) => (0..self.sorts.len()).any(|other| self.race(sort, other, now)),
                None if pairwise => self.pair(now).is_some(),
                None if test == RaceTest::Lockset => {
                    !self.lockset.iter().any(|(_, protects)| *protects)
                }
                None => self.multilockset(&now.order),
            };
            match sort {
                Some(sort) => {
                    self.racing.resize(self.sorts.len(), None);
                    self.racing[sort] = Some(racy);
                }
                None => self.racy = Some(racy),
            }
            racy
        })
    }

    /// A new sort of access: figure 3, up to the question. Says its number.
    fn add(&mut self, sort: Sort, (event, position): (Event, u64), now: &Context) -> u32 {
        let number = self.sorts.len() as u32;
        let transaction = now.transaction(event.strand).cloned();
        self.sorts.push(Seen {
            sort,
            event,
            position,
            transaction,
        });
        self.numbers.insert(sort, number);
        let held = now.locks.held(sort.state);
        self.racy = None;
        self.racing.clear();
        self.lockset.retain_mut(|(lock, protects)| {
            let hold = held.iter().find(|hold| hold.lock == *lock);
            *protects &= sort.op == Op::Read || hold.is_some_and(|hold| !hold.shared);
            hold.is_some()
        });
        if sort.op != Op::Write {
            let least = |set: &Vec<Hold>| set.iter().all(|hold| held.contains(hold));
            if !self.read_sets.iter().any(least) {
                self.read_sets
                    .retain(|set| !held.iter().all(|hold| set.contains(hold)));
                self.read_sets.push(held.to_vec());
            }
            add(&mut self.read_periods, sort.period);
        }
        if sort.op != Op::Read {
            let exclusive: Vec<ObjectId> = held
                .iter()
                .filter(|hold| !hold.shared)
                .map(|hold| hold.lock)
                .collect();
            match &mut self.write_any {
                Some(any) => {
                    any.retain(|lock| held.iter().any(|hold| hold.lock == *lock));
                    self.write_exclusive.retain(|lock| exclusive.contains(lock));
                }
                None => {
                    self.write_any = Some(held.iter().map(|hold| hold.lock).collect());
                    self.write_exclusive = exclusive;
                }
            }
            add(&mut self.write_periods, sort.period);
        }
        number
    }

    /// Figure 3's question.
    fn multilockset(&self, order: &Order) -> bool {
        let parallel =
            |a: &[Period], b: &[Period]| a.iter().any(|&p| b.iter().any(|&q| order.parallel(p, q)));
        let Some(any) = &self.write_any else {
            return false;
        };
        let writes = || parallel(&self.write_periods, &self.write_periods);
        let reads = || parallel(&self.write_periods, &self.read_periods);
        if self.write_exclusive.is_empty() {
            // Nothing is held exclusively at all writes. Readers may still keep all writers out, or
            // not.
            return writes() || reads();
        }
        let kept_out = |set: &Vec<Hold>| {
            set.iter().any(|hold| {
                self.write_exclusive.contains(&hold.lock)
                    || (!hold.shared && any.contains(&hold.lock))
            })
        };
        !self.read_sets.iter().all(kept_out) && reads()
    }

    /// Does nothing keep accesses of these sorts apart?
    fn race(&self, a: usize, b: usize, now: &Context) -> bool {
        let (a, b) = (&self.sorts[a].sort, &self.sorts[b].sort);
        conflict(a.op, b.op)
            && now.order.parallel(a.period, b.period)
            && now.locks.disjoint(a.state, b.state)
    }

    /// The first two sorts of access that nothing keeps apart.
    fn pair(&self, now: &Context) -> Option<(usize, usize)> {
        (0..self.sorts.len()).find_map(|b| {
            (0..b)
                .find(|&a| self.race(a, b, now))
                .map(|first| (first, b))
        })
    }
}

fn add(periods: &mut Vec<Period>, period: Period) {
    if !periods.contains(&period) {
        periods.push(period);
    }
}
