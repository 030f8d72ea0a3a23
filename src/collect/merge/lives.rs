//! The lives of numbers: when a strand's or an object's number may be given to another.

use std::collections::HashMap;

use super::Sink;
use super::tickets::{Position, Tickets};
use crate::check::Whose;
use crate::dense::Dense;
use crate::record::pool;
use crate::trace::{Event, ObjectId, Op, SiteId, StrandId};

/// What becomes of a strand's number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// Its fork was merged.
    pub(super) forked: bool,
    pub(super) exited: bool,
    /// Joined, or its handle is gone.
    released: bool,
    /// The strand in whose transaction it was forked, until that was seen to end.
    pub(super) works_for: Option<u32>,
}

/// What becomes of the numbers of strands and objects.
#[derive(Debug, Default)]
pub(super) struct Lives {
    strands: Dense<StrandId, Life>,
    /// By object: the ticket of its retirement, where that was read before what must come before
    /// it.
    retiring: HashMap<u32, u32>,
    /// Numbers that go back to the pool once nothing is held back that they are needed for.
    retired: Vec<Whose>,
    /// Some strand may work for another's transaction.
    has_workers: bool,
}

impl Lives {
    pub(super) fn life(&mut self, strand: u32) -> &mut Life {
        self.strands.entry(StrandId(strand))
    }

    /// A strand begins. One that nobody forked runs from the start, and nobody joins it.
    pub(super) fn begin(&mut self, strand: u32, forked: bool) {
        *self.life(strand) = Life {
            forked: !forked,
            released: !forked,
            ..Life::default()
        };
    }

    /// The strand was forked in this one's transaction, if in any.
    pub(super) fn set_master(&mut self, worker: u32, master: Option<u32>) {
        self.life(worker).works_for = master;
        self.has_workers |= master.is_some();
    }

    /// The strand's transaction has ended: nobody works for it any more.
    #[inline]
    pub(super) fn dismiss(&mut self, master: u32) {
        if self.has_workers {
            self.has_workers = false;
            for life in self.strands.iter_mut() {
                life.works_for = life.works_for.filter(|&it| it != master);
                self.has_workers |= life.works_for.is_some();
            }
        }
    }

    /// Whether the strand has written its last record, if there is one of this number.
    pub(super) fn has_exited(&self, strand: u32) -> bool {
        let life = self.strands.get(StrandId(strand));
        life.is_none_or(|life| life.exited)
    }

    /// Nobody will join the strand any more.
    pub(super) fn release(&mut self, strand: u32) {
        self.life(strand).released = true;
    }

    /// Gives a strand's number back once nobody can mean it any more: it has exited, its records
    /// are gone and nobody will join it.
    pub(super) fn end(&mut self, strand: u32) {
        let life = self.life(strand);
        if life.exited && life.released {
            *life = Life::default();
            self.retired.push(Whose::Strand(StrandId(strand)));
        }
    }

    /// Whether some object's retirement waits for other records of it.
    #[inline]
    pub(super) fn has_retiring(&self) -> bool {
        !self.retiring.is_empty()
    }

    /// The retirement of an object has come before what must come before it. Whoever leaks a guard
    /// may hold its acquire back for good, and nobody who drops the lock is to wait for that.
    pub(super) fn retire_later(&mut self, object: u32, ticket: u32) {
        self.retiring.insert(object, ticket);
    }

    /// Retires such an object, if its last record has just been emitted.
    #[inline]
    pub(super) fn retire_late(
        &mut self,
        strand: StrandId,
        object: u32,
        tickets: &mut Tickets,
        sink: &mut impl Sink,
    ) {
        if !self.has_retiring() {
            return;
        }
        let ticket = self.retiring.get(&object).copied();
        if ticket.is_some() && ticket == tickets.position(object).next() {
            self.retiring.remove(&object);
            sink.event(Event {
                strand,
                target: object,
                site: SiteId::NONE,
                op: Op::Retire,
            });
            sink.retires(object);
            self.retire_object(object, tickets);
        }
    }

    /// An object has had its last record.
    pub(super) fn retire_object(&mut self, object: u32, tickets: &mut Tickets) {
        *tickets.position(object) = Position::NOWHERE;
        self.retired.push(Whose::Object(ObjectId(object)));
    }

    /// Gives the numbers back that nothing is held back for.
    pub(super) fn give_back(&mut self, sink: &impl Sink) {
        self.retired.retain(|&owner| {
            let is_held = sink.holds(owner);
            if !is_held {
                match owner {
                    Whose::Object(object) => pool::give_back_objects([object.0]),
                    Whose::Strand(strand) => pool::give_back_strand(strand.0),
                    Whose::Group(_) => {}
                }
            }
            is_held
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_for_a_transaction_is_dismissed_at_its_end() {
        let mut lives = Lives::default();
        let masters = |lives: &mut Lives| [2, 3, 4].map(|worker| lives.life(worker).works_for);
        for (worker, master) in [(2, Some(0)), (3, Some(1)), (4, Some(0))] {
            lives.set_master(worker, master);
        }
        // A fork outside of transactions changes nothing for the others.
        lives.set_master(5, None);
        assert_eq!(masters(&mut lives), [Some(0), Some(1), Some(0)]);
        lives.dismiss(7);
        assert_eq!(masters(&mut lives), [Some(0), Some(1), Some(0)]);
        lives.dismiss(0);
        assert_eq!(masters(&mut lives), [None, Some(1), None]);
        lives.dismiss(1);
        assert_eq!(masters(&mut lives), [None, None, None]);
        assert!(!lives.has_workers);
    }

    #[test]
    fn a_number_is_free_once_its_strand_has_exited_and_will_not_be_joined() {
        for forked in [true, false] {
            let mut lives = Lives::default();
            lives.begin(3, forked);
            assert_eq!(lives.life(3).forked, !forked);
            lives.end(3);
            assert!(lives.retired.is_empty() && !lives.has_exited(3));
            lives.life(3).exited = true;
            lives.end(3);
            assert_eq!(lives.retired.is_empty(), forked, "it may be joined yet");
            lives.release(3);
            lives.life(3).exited = true;
            lives.end(3);
            assert!(!lives.retired.is_empty());
        }
    }
}
