//! Reduction: which way each event of a transaction moves, by the papers' rules and tests for
//! races.
//!
//! *Lockset* (RV 2003, theorem 4.4; Eraser): one lock is held at every access. *Multilockset* (TSE
//! 2006, figure 3): the locks held at all writes (`WriteSet`), the locksets of reads (`ReadSets`),
//! and the periods of both. *Pairwise* (RV 2003, theorem 4.3, with periods): some two accesses of
//! different strands conflict, are parallel and have no lock in common. Whatever a coarser test
//! calls free of races, a more precise one does. The first two judge a variable, the last one each
//! access.
//!
//! Offline, events are judged by the whole run. Online, each is judged by the run so far, so that
//! violations are missed.

use super::transactions::{Held, Moment, Whole, disjoint};
use aerodrome::predict::reduction::Rules;
use aerodrome::predict::{Period, conflict};
use aerodrome::trace::{Event, ObjectId, Op, StrandId};
use std::collections::BTreeSet;

/// Which test decides whether an access races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaceTest {
    Lockset,
    /// Eraser's locksets with ownership (von Praun and Gross, OOPSLA 2001): they are taken from the
    /// moment on at which the variable has had so many owners in turn. The published algorithm has
    /// two, or one where it is known when a variable escapes.
    Ownership(usize),
    Multilockset,
    Pairwise,
}

/// When events are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Online,
    Offline,
}

/// How the events of each transaction move, in the order in which the transactions began: `R`ight,
/// `L`eft, `B`oth ways or `N`either.
pub(crate) fn forms(trace: &[Event], test: RaceTest, rules: Rules, when: When) -> Vec<String> {
    let whole = Whole::of(trace);
    let blocks = whole.transactions.iter().filter(|it| it.is_block);
    let forms = blocks.map(|transaction| {
        let moments = transaction.moments.iter().filter_map(|moment| {
            let so_far;
            let known = match when {
                When::Offline => &whole,
                When::Online => {
                    so_far = Whole::of(&trace[..moment.position as usize]);
                    &so_far
                }
            };
            let mover = Judge {
                whole: known,
                test,
                rules,
            }
            .mover(moment)?;
            Some((moment, mover))
        });
        word(moments.collect(), rules)
    });
    forms.collect()
}

/// Those that are not reducible.
pub(crate) fn not_reducible(forms: Vec<String>) -> Vec<String> {
    let left = forms.into_iter().filter(|form| !is_reducible(form));
    left.collect()
}

/// Has it the form `(R + B)* N? (L + B)*`?
pub(crate) fn is_reducible(form: &str) -> bool {
    let rest = form.trim_start_matches(['R', 'B']);
    let rest = rest.strip_prefix('N').unwrap_or(rest);
    rest.chars().all(|mover| matches!(mover, 'L' | 'B'))
}

/// The movers of a transaction, of which between two lock or order events those of one sort that
/// move the same way count at most twice. By the later rules a region is left out in which nothing is left.
fn word(moments: Vec<(&Moment, char)>, rules: Rules) -> String {
    let mut left: Vec<(&Moment, char)> = Vec::new();
    for (moment, mover) in moments {
        let is_like = |other: &Moment| {
            let sort = |it: &Moment| (it.event.op, it.event.object(), it.period);
            sort(other) == sort(moment)
        };
        let segment = left.iter().rev().take_while(|(other, _)| other.is_access());
        let like = segment
            .filter(|&&(other, moves)| moves == mover && is_like(other))
            .count();
        if moment.is_access() && like == 2 {
            continue;
        }
        let gives = matches!(moment.event.op, Op::Release | Op::ReleaseShared);
        let takes = |&(other, _): &(&Moment, char)| {
            matches!(other.event.op, Op::Acquire | Op::AcquireShared)
                && other.event.object() == moment.event.object()
        };
        if gives && rules == Rules::Tse2006 && left.last().is_some_and(takes) {
            left.pop();
            continue;
        }
        left.push((moment, mover));
    }
    left.iter().map(|&(_, mover)| mover).collect()
}

/// What is known when an event is judged.
struct Judge<'a> {
    whole: &'a Whole,
    test: RaceTest,
    rules: Rules,
}

impl Judge<'_> {
    /// Which way an event moves; nothing where it does not count.
    fn mover(&self, moment: &Moment) -> Option<char> {
        let event = moment.event;
        match event.op {
            Op::Acquire | Op::AcquireShared | Op::Release | Op::ReleaseShared
                if self.is_quiet(event.object()) =>
            {
                Some('B')
            }
            Op::Acquire | Op::AcquireShared | Op::Upgrade => Some('R'),
            Op::Join | Op::Await | Op::Recv => Some('R'),
            Op::Release | Op::ReleaseShared | Op::Downgrade => Some('L'),
            Op::Fork | Op::Signal | Op::Send => Some('L'),
            _ if !moment.is_access() => None,
            _ if self.is_harmless(event.object()) => (self.rules == Rules::Rv2003).then_some('B'),
            _ => Some(if self.is_racy(moment) { 'N' } else { 'B' }),
        }
    }

    /// By one strand only, or read only, or updated by one kind only.
    fn is_harmless(&self, variable: ObjectId) -> bool {
        let ops: BTreeSet<Op> = self
            .whole
            .accesses(variable)
            .map(|it| it.event.op)
            .collect();
        let is_update = |op: &Op| matches!(op, Op::Update(_));
        !self.whole.is_contended(variable) || ops.len() == 1 && ops.iter().all(is_update)
    }

    /// By the later rules: nobody can be at the lock at the same time. It has one user, or another
    /// lock is held exclusively whenever this one is held.
    fn is_quiet(&self, lock: ObjectId) -> bool {
        let moments = self.whole.moments.iter();
        let holding = moments.filter(|it| it.held.iter().any(|held| held.lock == lock));
        let users: BTreeSet<StrandId> = holding.clone().map(|it| it.event.strand).collect();
        let mut common: Option<BTreeSet<ObjectId>> = None;
        for moment in holding {
            let others = moment
                .held
                .iter()
                .filter(|it| it.lock != lock && !it.is_shared());
            let others: BTreeSet<ObjectId> = others.map(|held| held.lock).collect();
            common = Some(match common {
                Some(common) => common.intersection(&others).copied().collect(),
                None => others,
            });
        }
        let is_protected = common.is_some_and(|common| !common.is_empty());
        self.rules == Rules::Tse2006 && (users.len() < 2 || is_protected)
    }

    fn is_racy(&self, moment: &Moment) -> bool {
        let accesses: Vec<&Moment> = self.whole.accesses(moment.event.object()).collect();
        match self.test {
            RaceTest::Pairwise => accesses.iter().any(|other| {
                conflict(other.event.op, moment.event.op)
                    && self.whole.order.parallel(other.period, moment.period)
                    && disjoint(&other.held, &moment.held)
            }),
            RaceTest::Lockset => !accesses[0].held.iter().any(|first| {
                let mut held = accesses.iter();
                held.all(|access| protects(access, first.lock))
            }),
            RaceTest::Ownership(owners) => self.is_racy_when_shared(&accesses, owners),
            RaceTest::Multilockset => self.is_racy_by_sets(&accesses),
        }
    }

    /// Since it is shared: was it changed, is no lock held at all accesses, and are two parallel?
    fn is_racy_when_shared(&self, accesses: &[&Moment], owners: usize) -> bool {
        let mut passed: Vec<StrandId> = Vec::new();
        let shared = accesses.iter().position(|access| {
            if passed.last() != Some(&access.event.strand) {
                passed.push(access.event.strand);
            }
            passed.len() > owners
        });
        let Some(shared) = shared else { return false };
        let since = &accesses[shared..];
        let are_parallel = since.iter().any(|a| {
            let mut all = accesses.iter();
            all.any(|b| {
                let changes = a.event.op != Op::Read || b.event.op != Op::Read;
                changes && self.whole.order.parallel(a.period, b.period)
            })
        });
        let is_protected = since[0].held.iter().any(|first| {
            let mut since = since.iter();
            since.all(|access| protects(access, first.lock))
        });
        are_parallel && !is_protected && since.iter().any(|it| it.event.op != Op::Read)
    }

    /// Figure 3's question.
    fn is_racy_by_sets(&self, accesses: &[&Moment]) -> bool {
        let writes: Vec<&&Moment> = accesses
            .iter()
            .filter(|it| it.event.op != Op::Read)
            .collect();
        let reads: Vec<&&Moment> = accesses
            .iter()
            .filter(|it| it.event.op != Op::Write)
            .collect();
        let are_parallel = |a: &[&&Moment], b: &[&&Moment]| {
            let periods = |moments: &[&&Moment]| -> Vec<Period> {
                moments.iter().map(|moment| moment.period).collect()
            };
            let b = periods(b);
            let mut a = periods(a).into_iter();
            a.any(|p| b.iter().any(|&q| self.whole.order.parallel(p, q)))
        };
        let at_all_writes = |held: &Held, exclusive: bool| {
            writes.iter().all(|write| {
                let mut own = write.held.iter();
                own.any(|own| own.lock == held.lock && !(exclusive && own.is_shared()))
            })
        };
        let first = writes.first().map_or(&[][..], |write| &write.held[..]);
        if !first.iter().any(|held| at_all_writes(held, true)) {
            return are_parallel(&writes, &writes) || are_parallel(&writes, &reads);
        }
        let is_kept_out = |read: &&&Moment| {
            let mut held = read.held.iter();
            held.any(|held| {
                at_all_writes(held, true) || !held.is_shared() && at_all_writes(held, false)
            })
        };
        !reads.iter().all(is_kept_out) && are_parallel(&writes, &reads)
    }
}

/// Is the lock held at an access, exclusively at a change?
fn protects(access: &Moment, lock: ObjectId) -> bool {
    let mut held = access.held.iter();
    held.any(|held| held.lock == lock && (access.event.op == Op::Read || !held.is_shared()))
}

/// Pairs that race, one for each variable on which the test finds some.
pub(crate) fn races(trace: &[Event], test: RaceTest) -> usize {
    let whole = Whole::of(trace);
    let rules = Rules::default();
    let judge = Judge {
        whole: &whole,
        test,
        rules,
    };
    let accesses = whole.moments.iter().filter(|moment| moment.is_access());
    let racy = accesses.filter(|it| !judge.is_harmless(it.event.object()) && judge.is_racy(it));
    let racy: BTreeSet<ObjectId> = racy.map(|moment| moment.event.object()).collect();
    racy.len()
}
