//! What comes before what on every schedule: fork, join, signals and messages.
//!
//! Locks and data order events of the schedule that was seen; these four order them on all. A
//! strand's run falls into *periods* (Wang and Stoller, TSE 2006): within one, nothing is learned
//! from others and nothing passed on. A period has an epoch, which grows whenever the strand passes
//! something on, and a clock: for each other strand the last epoch that is wholly before it. So two
//! periods are parallel when neither clock covers the other's epoch.

use super::hash::Map;
use crate::trace::{Event, ObjectId, Op, StrandId};
use std::sync::Arc;

/// A stretch of one strand between two ordering events, numbered by [`Order`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(pub u32);

/// For each strand the last epoch that is before; 0 is none. Missing at the end means 0. Shared by
/// all that learned the same.
type Clock = Arc<Vec<u32>>;

#[derive(Clone, Debug)]
struct Run {
    /// From 1.
    epoch: u32,
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
    runs: Vec<Run>,
    stretches: Vec<Stretch>,
    /// What a message carries, or all signals of an object so far.
    carried: Map<ObjectId, Clock>,
}

impl Order {
    /// Takes the next event; true if its strand enters a new period with it. The event that passes
    /// something on is the last of its period, the event that learns something is the first of the
    /// next.
    #[inline]
    pub fn step(&mut self, event: Event) -> bool {
        match event.op {
            Op::Fork => {
                let clock = self.pass_on(event.strand);
                self.learn(event.other(), &clock);
            }
            Op::Join => {
                // The last event of the joined strand passes everything on.
                let clock = self.pass_on(event.other());
                return self.learn(event.strand, &clock);
            }
            Op::Send => {
                let clock = self.pass_on(event.strand);
                self.carried.insert(event.object(), clock);
            }
            Op::Recv => {
                return match self.carried.remove(&event.object()) {
                    Some(clock) => self.learn(event.strand, &clock),
                    None => false,
                };
            }
            Op::Signal => {
                let clock = self.pass_on(event.strand);
                let carried = self.carried.entry(event.object()).or_default();
                merge(carried, &clock);
            }
            Op::Await => {
                return match self.carried.get(&event.object()) {
                    Some(clock) => {
                        let clock = clock.clone();
                        self.learn(event.strand, &clock)
                    }
                    None => false,
                };
            }
            Op::Retire => {
                self.carried.remove(&event.object());
                return false;
            }
            _ => return false,
        }
        true
    }

    fn run(&mut self, strand: StrandId) -> &mut Run {
        let at = strand.0 as usize;
        if at >= self.runs.len() {
            self.runs.resize_with(at + 1, || Run {
                epoch: 1,
                clock: Clock::default(),
                period: None,
            });
        }
        &mut self.runs[at]
    }

    /// What is before whatever learns from the strand's last event; the next period begins.
    fn pass_on(&mut self, strand: StrandId) -> Clock {
        let run = self.run(strand);
        let mut clock = Vec::clone(&run.clock);
        let at = strand.0 as usize;
        if at >= clock.len() {
            clock.resize(at + 1, 0);
        }
        clock[at] = run.epoch;
        run.epoch += 1;
        run.period = None;
        Arc::new(clock)
    }

    fn learn(&mut self, strand: StrandId, clock: &Clock) -> bool {
        let run = self.run(strand);
        let learned = merge(&mut run.clock, clock);
        if learned {
            run.period = None;
        }
        learned
    }

    /// The period in which a strand is after the last event that was taken.
    #[inline]
    pub fn period(&mut self, strand: StrandId) -> Period {
        match self.run(strand).period {
            Some(period) => period,
            None => self.number(strand),
        }
    }

    #[cold]
    fn number(&mut self, strand: StrandId) -> Period {
        let period = Period(u32::try_from(self.stretches.len()).expect("fewer than 2^32 periods"));
        let run = self.run(strand);
        run.period = Some(period);
        let stretch = Stretch {
            strand,
            epoch: run.epoch,
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
        second
            .clock
            .get(first.strand.0 as usize)
            .is_some_and(|&epoch| epoch >= first.epoch)
    }

    /// May events of `a` and `b`, as far as fork, join, signals and messages are concerned, come in
    /// either order?
    #[inline]
    pub fn parallel(&self, a: Period, b: Period) -> bool {
        self.strand(a) != self.strand(b) && !self.before(a, b) && !self.before(b, a)
    }
}

fn merge(into: &mut Clock, from: &Clock) -> bool {
    if Arc::ptr_eq(into, from)
        || from
            .iter()
            .enumerate()
            .all(|(at, &epoch)| epoch == 0 || into.get(at).is_some_and(|&e| e >= epoch))
    {
        return false;
    }
    let target = Arc::make_mut(into);
    if from.len() > target.len() {
        target.resize(from.len(), 0);
    }
    for (entry, &epoch) in target.iter_mut().zip(from.iter()) {
        *entry = epoch.max(*entry);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::SiteId;

    fn step(order: &mut Order, strand: u32, op: Op, target: u32) -> Period {
        order.step(Event {
            strand: StrandId(strand),
            target,
            site: SiteId::NONE,
            op,
        });
        order.period(StrandId(strand))
    }

    #[test]
    fn what_a_parent_does_before_the_fork_is_before_the_child_and_what_it_does_after_is_parallel() {
        let mut order = Order::default();
        let early = order.period(StrandId(0));
        let late = step(&mut order, 0, Op::Fork, 1);
        let child = order.period(StrandId(1));
        assert!(order.before(early, child) && !order.parallel(early, child));
        assert!(order.parallel(late, child));
        let joined = step(&mut order, 0, Op::Join, 1);
        assert!(order.before(child, joined));
        assert!(
            order.before(early, joined)
                && order.before(late, joined)
                && !order.before(joined, late)
        );
    }

    #[test]
    fn a_message_orders_its_send_before_its_receive_and_nothing_else() {
        let mut order = Order::default();
        let sender = order.period(StrandId(0));
        let receiver = order.period(StrandId(1));
        let after_send = step(&mut order, 0, Op::Send, 7);
        let after_receive = step(&mut order, 1, Op::Recv, 7);
        assert!(order.before(sender, after_receive));
        assert!(order.parallel(sender, receiver));
        assert!(order.parallel(after_send, after_receive));
        // The number is free again: another message's receive learns only from its own send.
        let third = step(&mut order, 2, Op::Send, 7);
        let fourth = step(&mut order, 3, Op::Recv, 7);
        assert!(order.parallel(sender, fourth));
        assert!(order.parallel(third, fourth));
    }

    #[test]
    fn a_barrier_puts_all_that_came_before_it_before_all_that_comes_after() {
        let mut order = Order::default();
        let before: Vec<Period> = (0..3)
            .map(|strand| order.period(StrandId(strand)))
            .collect();
        for strand in 0..3 {
            step(&mut order, strand, Op::Signal, 9);
        }
        let after: Vec<Period> = (0..3)
            .map(|strand| step(&mut order, strand, Op::Await, 9))
            .collect();
        for &a in &before {
            for &b in &after {
                assert!(order.before(a, b));
            }
        }
        assert!(order.parallel(after[0], after[1]));
    }

    #[test]
    fn order_is_passed_on() {
        let mut order = Order::default();
        let first = order.period(StrandId(0));
        step(&mut order, 0, Op::Send, 1);
        step(&mut order, 1, Op::Recv, 1);
        step(&mut order, 1, Op::Signal, 2);
        let last = step(&mut order, 2, Op::Await, 2);
        assert!(order.before(first, last));
    }
}
