//! What comes before what on every schedule: fork, join, signals and messages.
//!
//! Locks and data order events of the schedule that was seen; these four order them on all. A
//! strand's run falls into *periods* (Wang and Stoller, TSE 2006): within one, nothing is learned
//! from others and nothing passed on. A period has an epoch, which grows whenever the strand passes
//! something on, and a clock: for each other strand the last epoch that is wholly before it. So two
//! periods are parallel when neither clock covers the other's epoch.

use crate::dense::{self, Dense};
use crate::trace::{Event, ObjectId, Op, StrandId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A stretch of one strand between two ordering events, numbered by [`Order`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(pub u32);

/// For each strand the last epoch that is before; 0 is none. Shared by all that learned the same.
type Clock = Arc<dense::Clock>;

#[derive(Clone, Debug, Default)]
struct Run {
    /// How often the strand has passed something on.
    passed_on: u32,
    /// The strand's own entry is not kept up to date: its epoch says it.
    clock: Clock,
    /// The number of the period, once somebody has asked for it.
    period: Option<Period>,
}

#[derive(Clone, Debug)]
struct Stretch {
    strand: StrandId,
    epoch: u32,
    clock: Clock,
}

/// The order of all strands' periods. Takes every event; those that do not order change nothing.
#[derive(Debug, Default)]
pub struct Order {
    runs: Dense<StrandId, Run>,
    stretches: Vec<Stretch>,
    /// What a message carries, or all signals of an object so far.
    carried: FxHashMap<ObjectId, Clock>,
}

impl Order {
    /// Takes the next event; true if its strand enters a new period with it. The event that passes
    /// something on is the last of its period, the event that learns something is the first of the
    /// next.
    #[inline]
    pub fn step(&mut self, event: Event) -> bool {
        let (strand, object) = (event.strand, event.object());
        match event.op {
            Op::Fork => {
                let clock = self.pass_on(strand);
                self.learn(event.other(), &clock);
            }
            Op::Join => {
                // The last event of the joined strand passes everything on.
                let clock = self.pass_on(event.other());
                return self.learn(strand, &clock);
            }
            Op::Send => {
                let clock = self.pass_on(strand);
                self.carried.insert(object, clock);
            }
            Op::Signal => {
                let clock = self.pass_on(strand);
                merge(self.carried.entry(object).or_default(), &clock);
            }
            Op::Recv | Op::Await => {
                let clock = match event.op {
                    Op::Recv => self.carried.remove(&object),
                    _ => self.carried.get(&object).cloned(),
                };
                return clock.is_some_and(|clock| self.learn(strand, &clock));
            }
            Op::Retire => {
                self.carried.remove(&object);
                return false;
            }
            _ => return false,
        }
        true
    }

    /// What is before whatever learns from the strand's last event; the next period begins.
    fn pass_on(&mut self, strand: StrandId) -> Clock {
        let run = self.runs.entry(strand);
        let mut clock = dense::Clock::clone(&run.clock);
        run.passed_on += 1;
        run.period = None;
        clock.set(strand, run.passed_on);
        Arc::new(clock)
    }

    fn learn(&mut self, strand: StrandId, clock: &Clock) -> bool {
        let run = self.runs.entry(strand);
        let learned = merge(&mut run.clock, clock);
        if learned {
            run.period = None;
        }
        learned
    }

    /// The period in which a strand is after the last event that was taken.
    #[inline]
    pub fn period(&mut self, strand: StrandId) -> Period {
        match self.runs.entry(strand).period {
            Some(period) => period,
            None => self.number(strand),
        }
    }

    #[cold]
    fn number(&mut self, strand: StrandId) -> Period {
        let period = Period(u32::try_from(self.stretches.len()).expect("fewer than 2^32 periods"));
        let run = self.runs.entry(strand);
        run.period = Some(period);
        let stretch = Stretch {
            strand,
            epoch: run.passed_on + 1,
            clock: run.clock.clone(),
        };
        self.stretches.push(stretch);
        period
    }

    /// Whose period it is.
    pub fn strand(&self, period: Period) -> StrandId {
        self.stretches[period.0 as usize].strand
    }

    /// Does every event of `a` come before every event of `b`, on all schedules?
    #[inline]
    pub fn before(&self, a: Period, b: Period) -> bool {
        let (first, second) = (&self.stretches[a.0 as usize], &self.stretches[b.0 as usize]);
        if first.strand == second.strand {
            // A strand's periods are numbered in their order.
            return a < b;
        }
        second.clock.get(first.strand) >= first.epoch
    }

    /// May events of `a` and `b`, as far as fork, join, signals and messages are concerned, come in
    /// either order?
    #[inline]
    pub fn parallel(&self, a: Period, b: Period) -> bool {
        self.strand(a) != self.strand(b) && !self.before(a, b) && !self.before(b, a)
    }
}

/// False if there is nothing new.
fn merge(into: &mut Clock, from: &Clock) -> bool {
    let is_known = Arc::ptr_eq(into, from) || into.knows(from);
    if !is_known {
        Arc::make_mut(into).join(from);
    }
    !is_known
}
