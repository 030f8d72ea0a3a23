//! Races: accesses that nothing keeps apart.
//!
//! Three tests of the papers, from the coarse to the precise. *Lockset* (RV 2003, theorem 4.4; Eraser): one lock is held at every
//! access. *Multilockset* (TSE 2006, figure 3): the locks held at all writes (`WriteSet`), the least locksets of reads
//! (`ReadSets`), and the periods of both. *Pairwise* (RV 2003, theorem 4.3, with periods): some two accesses of different strands
//! conflict, are parallel and have no lock in common. Whatever a coarser test calls free of races, a more precise one does.
//!
//! Shared locks: a lock protects two accesses from each other if one of them holds it exclusively. So `WriteSet` is kept
//! twice, with the locks held in any way and with those held exclusively. Updates: a variable that is only ever updated, by one
//! kind, is as good as read only; otherwise an update is a read and a write.

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
    /// Every two accesses (RV 2003, theorem 4.3).
    Pairwise,
}

/// What a variable has been used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// By one strand only, or read only, or updated by one kind only: every access commutes with everything.
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
    /// Every sort of access, with the first of it.
    sorts: Map<Sort, (Event, u64, Option<Transaction>)>,
    /// The answer, until another sort of access comes.
    racy: Option<bool>,
}

/// The races of all variables.
#[derive(Debug)]
pub(super) struct Races {
    test: RaceTest,
    variables: Map<ObjectId, Variable>,
}

impl Races {
    pub(super) fn new(test: RaceTest) -> Races {
        Races {
            test,
            variables: Map::default(),
        }
    }

    /// Takes an access.
    pub(super) fn access(&mut self, event: Event, position: u64, now: &mut Context) {
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
        if variable.sorts.contains_key(&sort) {
            // An access like an earlier one changes nothing below.
            return;
        }
        variable.add(sort, now);
        variable.sorts.insert(
            sort,
            (event, position, now.transaction(event.strand).cloned()),
        );
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

    /// Is some access of the variable, as far as is known now, in a race?
    pub(super) fn racy(&mut self, object: ObjectId, now: &Context) -> bool {
        let Some(variable) = self.variables.get_mut(&object) else {
            return false;
        };
        if !variable.contended() {
            return false;
        }
        if let Some(known) = variable.racy {
            return known;
        }
        let racy = match self.test {
            RaceTest::Lockset => !variable.lockset.iter().any(|(_, protects)| *protects),
            RaceTest::Pairwise if variable.sorts.len() <= MOST => variable.pair(now).is_some(),
            _ => variable.multilockset(&now.order),
        };
        variable.racy = Some(racy);
        racy
    }

    /// Pairs that race, one for each variable on which the test finds some.
    pub(super) fn report(&mut self, now: &Context) -> Vec<Race> {
        let mut objects: Vec<ObjectId> = self.variables.keys().copied().collect();
        objects.sort_unstable();
        let mut races = Vec::new();
        for object in objects {
            if !self.racy(object, now) {
                continue;
            }
            let variable = &self.variables[&object];
            if let Some((a, b)) = variable.pair(now) {
                let step = |sort: &Sort| {
                    let (event, position, transaction) = &variable.sorts[sort];
                    Step {
                        access: access(*event, *position),
                        transaction: transaction.clone(),
                        held: now.locks.held(sort.state).to_vec(),
                    }
                };
                races.push(Race {
                    first: step(&a),
                    second: step(&b),
                    count: 1,
                });
            }
        }
        races
    }
}

/// A variable with more sorts of accesses is not tested pair by pair.
const MOST: usize = 4096;

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
            sorts: Map::default(),
            racy: None,
        }
    }

    fn contended(&self) -> bool {
        self.escaped && self.changed && !matches!(self.only, Some(Op::Update(_)))
    }

    /// Figure 3, up to the question.
    fn add(&mut self, sort: Sort, now: &Context) {
        let held = now.locks.held(sort.state);
        self.racy = None;
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
            // Nothing is held exclusively at all writes. Readers may still keep all writers out, or not.
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

    /// Two accesses that nothing keeps apart.
    fn pair(&self, now: &Context) -> Option<(Sort, Sort)> {
        let mut sorts: Vec<(&Sort, u64)> = self
            .sorts
            .iter()
            .map(|(sort, (_, position, _))| (sort, *position))
            .collect();
        sorts.sort_unstable_by_key(|&(_, position)| position);
        for (at, &(b, _)) in sorts.iter().enumerate() {
            for &(a, _) in &sorts[..at] {
                if conflict(a.op, b.op)
                    && now.order.parallel(a.period, b.period)
                    && now.locks.disjoint(a.state, b.state)
                {
                    return Some((*a, *b));
                }
            }
        }
        None
    }
}

fn add(periods: &mut Vec<Period>, period: Period) {
    if !periods.contains(&period) {
        periods.push(period);
    }
}
