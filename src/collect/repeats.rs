//! Transactions that say nothing new.
//!
//! A strand that waits for another by spinning runs the same block again and again. If a
//! transaction only reads, the strand's last one read the same at the same places, and nobody has
//! changed any of that in between, it need not be judged: whatever comes before it comes before the
//! last one, or is that one, and whatever comes after its reads comes after those of the last one.
//! So every cycle that it is part of is one with the last in its place. Nor need anything be
//! predicted from it: it fits into every schedule right after the last one.

use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, StrandId};

#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// By object that some last transaction has read: the position of its last event that was no
    /// read.
    changed: Dense<ObjectId, u64>,
    strands: Dense<StrandId, Last>,
    /// What came up to this position was not seen here.
    since: u64,
    /// How many events were part of repetitions since [`prevail`](Self::prevail) was asked, and the
    /// position then.
    repeated: u64,
    asked: u64,
}

/// A strand's last transaction, if it only read, and nothing of the strand came after.
#[derive(Debug, Default)]
struct Last {
    position: u64,
    /// Empty where there is none.
    events: Vec<Event>,
}

impl Repeats {
    /// A longer transaction is not kept.
    const LONG: usize = 64;

    /// An event that is not part of a whole transaction.
    #[inline]
    pub(super) fn event(&mut self, event: &Event, position: u64) {
        self.change(event, position);
        self.forget(event.strand);
    }

    /// A whole transaction, from its begin at `position` to its end: whether it repeats the
    /// strand's last.
    #[inline]
    pub(super) fn transaction(&mut self, events: &[Event], position: u64) -> bool {
        let [begin, inner @ .., _] = events else {
            return false;
        };
        let last = self.strands.entry(begin.strand);
        // What a read has seen goes before it, where predictions are wanted.
        let is_read = |event: &Event| event.op == Op::Read;
        let is_unchanged =
            |event: &Event| !is_read(event) || self.changed[event.object()] < last.position;
        if last.position > self.since && last.events == events && inner.iter().all(is_unchanged) {
            self.repeated += events.len() as u64;
            return true;
        }
        last.events.clear();
        let only_reads = |event: &Event| is_read(event) || event.op == Op::Value;
        if events.len() <= Self::LONG && inner.iter().all(only_reads) {
            last.events.extend_from_slice(events);
            last.position = position;
            for event in inner.iter().filter(|event| is_read(event)) {
                self.changed.entry(event.object());
            }
        } else {
            for event in inner {
                self.change(event, position);
            }
        }
        false
    }

    /// Nothing of the strand is repeated by what comes next.
    #[inline]
    pub(super) fn forget(&mut self, strand: StrandId) {
        if let Some(last) = self.strands.get_mut(strand) {
            last.events.clear();
        }
    }

    /// Events up to this position were judged without being seen here.
    #[inline]
    pub(super) fn forget_all(&mut self, position: u64) {
        self.since = position;
    }

    /// Whether most events up to this position, since the last call, were part of repetitions.
    pub(super) fn prevail(&mut self, position: u64) -> bool {
        let repeated = std::mem::take(&mut self.repeated);
        let before = std::mem::replace(&mut self.asked, position);
        repeated > (position - before) / 2
    }

    #[inline]
    fn change(&mut self, event: &Event, position: u64) {
        if event.op != Op::Read {
            let object = event.its_object();
            if let Some(changed) = object.and_then(|object| self.changed.get_mut(object)) {
                *changed = position;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::{Checker, EngineKind};
    use crate::trace::{Semantics, SiteId, Tables};

    fn event(strand: u32, op: Op, target: u32) -> Event {
        Event::new(StrandId(strand), op, target, SiteId::NONE)
    }

    /// A strand's transaction of these accesses.
    fn transaction(strand: u32, accesses: &[(Op, u32)]) -> Vec<Event> {
        let mut events = vec![event(strand, Op::Begin, 0)];
        events.extend(accesses.iter().map(|&(op, x)| event(strand, op, x)));
        events.push(event(strand, Op::End, 0));
        events
    }

    #[test]
    fn a_transaction_that_reads_the_same_again_is_a_repetition() {
        let mut repeats = Repeats::default();
        let look = transaction(0, &[(Op::Read, 1), (Op::Read, 2)]);
        assert!(!repeats.transaction(&look, 1));
        assert!(repeats.transaction(&look, 5));
        // Another object, and another strand.
        repeats.event(&event(1, Op::Write, 3), 9);
        assert!(repeats.transaction(&look, 10));
    }

    #[test]
    fn what_was_changed_or_done_in_between_is_new() {
        let look = transaction(0, &[(Op::Read, 1), (Op::Read, 2)]);
        let other = transaction(0, &[(Op::Read, 1)]);
        let writes = transaction(1, &[(Op::Write, 2)]);
        let changes: [&dyn Fn(&mut Repeats); 6] = [
            &|it| it.event(&event(1, Op::Write, 2), 5),
            &|it| assert!(!it.transaction(&writes, 5)),
            &|it| it.event(&event(0, Op::Read, 3), 5),
            &|it| assert!(!it.transaction(&other, 5)),
            &|it| it.forget(StrandId(0)),
            &|it| it.forget_all(8),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut repeats = Repeats::default();
            assert!(!repeats.transaction(&look, 1));
            change(&mut repeats);
            assert!(!repeats.transaction(&look, 9), "{number}");
            assert!(repeats.transaction(&look, 13), "{number}");
        }
    }

    #[test]
    fn a_transaction_that_writes_is_never_a_repetition() {
        let mut repeats = Repeats::default();
        let update = transaction(0, &[(Op::Read, 1), (Op::Write, 1)]);
        assert!(!repeats.transaction(&update, 1));
        assert!(!repeats.transaction(&update, 5));
    }

    /// What a strand does next.
    #[derive(Clone, Debug)]
    enum Step {
        /// A transaction that nothing comes in between of; if it reads only, so many times.
        Whole(Vec<(Op, u32)>, usize),
        /// An access, which opens a transaction if none is open.
        Access(Op, u32),
        /// The end of that.
        End,
    }

    fn steps() -> impl Strategy<Value = Vec<(u32, Step)>> {
        let access = || {
            (
                prop_oneof![2 => Just(Op::Read), 1 => Just(Op::Write)],
                0..3_u32,
            )
        };
        let looks = prop::collection::vec((Just(Op::Read), 0..3_u32), 1..3);
        let step = prop_oneof![
            3 => (looks, 1..4_usize).prop_map(|(looks, times)| Step::Whole(looks, times)),
            1 => prop::collection::vec(access(), 1..3).prop_map(|it| Step::Whole(it, 1)),
            3 => access().prop_map(|(op, x)| Step::Access(op, x)),
            1 => Just(Step::End),
        ];
        prop::collection::vec((0..4_u32, step), 1..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn no_verdict_changes(steps in steps()) {
            let names = Tables::default();
            for &kind in EngineKind::ALL {
                let checker = || Checker::new(kind, Semantics::Rust).with_repeats();
                let (mut all, mut new) = (checker(), checker());
                let mut repeats = Repeats::default();
                let mut is_open = [false; 4];
                let (mut position, mut found) = (0, [Vec::new(), Vec::new()]);
                let mut take = |events: &[Event], is_whole: bool| {
                    let is_new = if is_whole {
                        !repeats.transaction(events, position + 1)
                    } else {
                        repeats.event(&events[0], position + 1);
                        true
                    };
                    for &event in events {
                        position += 1;
                        found[0].extend(all.step(event, position, &names));
                        if is_new {
                            found[1].extend(new.step(event, position, &names));
                        }
                    }
                };
                for (strand, step) in &steps {
                    let is_open = &mut is_open[*strand as usize];
                    match step {
                        Step::Whole(accesses, times) if !*is_open => {
                            for _ in 0..*times {
                                take(&transaction(*strand, accesses), true);
                            }
                        }
                        &Step::Access(op, x) => {
                            if !std::mem::replace(is_open, true) {
                                take(&[event(*strand, Op::Begin, 0)], false);
                            }
                            take(&[event(*strand, op, x)], false);
                        }
                        Step::End if *is_open => {
                            *is_open = false;
                            take(&[event(*strand, Op::End, 0)], false);
                        }
                        _ => {}
                    }
                }
                found[0].extend(std::iter::from_fn(|| all.finish(&names)));
                found[1].extend(std::iter::from_fn(|| new.finish(&names)));
                // An engine may see less, or something else, once it has found a violation.
                let [all, new] = found.map(|it| it.iter().map(|it| it.event).min());
                prop_assert_eq!(all, new, "{:?}", kind);
            }
        }
    }
}
