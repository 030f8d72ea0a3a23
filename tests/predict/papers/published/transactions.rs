//! A trace as transactions, with the locks that are held at every event.

use aerodrome::predict::{Order, Period, is_access};
use aerodrome::trace::{Event, ObjectId, Op, StrandId};

/// A lock that a strand holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) lock: ObjectId,
    /// Where it was taken.
    since: u64,
    /// Where it became exclusive; nothing while it is shared.
    exclusive: Option<u64>,
}

impl Held {
    pub(super) fn is_shared(self) -> bool {
        self.exclusive.is_none()
    }

    /// Can the two not be held at the same time?
    fn excludes(self, other: Held) -> bool {
        self.lock == other.lock && !(self.is_shared() && other.is_shared())
    }
}

/// Can the locks of both be held at the same time?
pub(super) fn disjoint(a: &[Held], b: &[Held]) -> bool {
    !a.iter().any(|p| b.iter().any(|q| p.excludes(*q)))
}

/// The locks held from one event of a strand to a later one; shared where they were downgraded.
pub(super) fn throughout(early: &Moment, late: &Moment) -> Vec<Held> {
    let held = early.held.iter().filter_map(|a| {
        let mut held = late.held.iter();
        let b = held.find(|b| (b.lock, b.since) == (a.lock, a.since))?;
        let exclusive = a.exclusive.filter(|_| a.exclusive == b.exclusive);
        Some(Held { exclusive, ..*a })
    });
    held.collect()
}

/// An event, what its strand holds after it (at it, for an access), and its period.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) event: Event,
    pub(super) position: u64,
    pub(super) held: Vec<Held>,
    /// Before the event.
    pub(super) held_before: Vec<Held>,
    pub(super) period: Period,
}

impl Moment {
    pub(super) fn is_access(&self) -> bool {
        is_access(self.event.op)
    }
}

/// A transaction; an event outside of blocks is one by itself.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    pub(super) strand: StrandId,
    pub(super) is_block: bool,
    pub(super) moments: Vec<Moment>,
}

/// All that is known of a trace.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) moments: Vec<Moment>,
    pub(super) transactions: Vec<Transaction>,
    pub(super) order: Order,
}

impl Whole {
    pub(super) fn of(trace: &[Event]) -> Whole {
        let mut whole = Whole::default();
        let mut held: Vec<Vec<Held>> = Vec::new();
        let mut open: Vec<Option<usize>> = Vec::new();
        for (&event, position) in trace.iter().zip(1..) {
            let strand = event.strand.0 as usize;
            held.resize(held.len().max(strand + 1), Vec::new());
            open.resize(open.len().max(strand + 1), None);
            let held_before = held[strand].clone();
            apply(&mut held[strand], event, position);
            whole.order.step(event);
            let moment = Moment {
                event,
                position,
                held: held[strand].clone(),
                held_before,
                period: whole.order.period(event.strand),
            };
            let new = |is_block, moments| Transaction {
                strand: event.strand,
                is_block,
                moments,
            };
            match (event.op, open[strand]) {
                (Op::Begin, _) => {
                    open[strand] = Some(whole.transactions.len());
                    whole.transactions.push(new(true, Vec::new()));
                }
                (Op::End, _) => open[strand] = None,
                (_, Some(own)) => whole.transactions[own].moments.push(moment.clone()),
                (op, None) if is_access(op) => {
                    whole.transactions.push(new(false, vec![moment.clone()]));
                }
                _ => {}
            }
            whole.moments.push(moment);
        }
        whole
    }

    /// All accesses of a variable.
    pub(super) fn accesses(&self, variable: ObjectId) -> impl Iterator<Item = &Moment> {
        let accesses = self.moments.iter().filter(|moment| moment.is_access());
        accesses.filter(move |moment| moment.event.object() == variable)
    }

    /// Is a variable used by several strands, and changed?
    pub(super) fn is_contended(&self, variable: ObjectId) -> bool {
        let mut strands: Vec<StrandId> =
            self.accesses(variable).map(|it| it.event.strand).collect();
        strands.sort_unstable();
        strands.dedup();
        strands.len() > 1 && self.accesses(variable).any(|it| it.event.op != Op::Read)
    }
}

fn apply(held: &mut Vec<Held>, event: Event, position: u64) {
    let lock = event.object();
    let at = held.iter().position(|held| held.lock == lock);
    let exclusive = |is_exclusive: bool| is_exclusive.then_some(position);
    match (event.op, at) {
        (Op::Acquire | Op::AcquireShared, None) => held.push(Held {
            lock,
            since: position,
            exclusive: exclusive(event.op == Op::Acquire),
        }),
        (Op::Release | Op::ReleaseShared, Some(at)) => drop(held.remove(at)),
        (Op::Upgrade | Op::Downgrade, Some(at)) => {
            held[at].exclusive = exclusive(event.op == Op::Upgrade);
        }
        _ => {}
    }
}
