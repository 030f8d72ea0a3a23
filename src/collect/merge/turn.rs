//! A strand's turn: what it has is emitted, as far as the policy allows.

use super::decode::emit_plain;
use super::tickets::Traits;
use super::whole::{Apart, Page};
use super::{Merge, Sink};
use crate::record::{Record, What, pool};
use crate::trace::{Event, Op, SiteId, StrandId};

/// The most records of one strand before it is the next one's turn.
const TURN: u32 = 4_096;

/// What may be done for a strand before others have their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// Transactions wait until they can be emitted whole.
    Whole,
    /// One that has ended, and that others have come in between of, is taken apart.
    Overlapping,
    /// One that has not ended is taken apart, too.
    Open,
    /// A strand that works for another's transaction, though that other strand has more, until
    /// anybody else can go on.
    Work,
}

impl Policy {
    /// Whether a transaction waits for the turn of one of its records, which may be amid it.
    fn waits_for_turn(self, is_amid: bool) -> bool {
        self == Policy::Whole || !is_amid
    }

    /// Whether a transaction waits for its end, which is not there by the end of the turn or, if
    /// this is the last chunk, was not written.
    fn waits_for_end(self, is_end_of_turn: bool, is_last: bool) -> bool {
        is_end_of_turn || (self != Policy::Open && is_last)
    }
}

/// Whether the turn goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoesOn,
    /// All of the chunk was emitted that this turn may emit.
    EndOfPage,
    /// It is the next strand's turn.
    Over,
}

pub(super) struct Turn<'m, S> {
    merge: &'m mut Merge,
    sink: &'m mut S,
    policy: Policy,
    index: usize,
    id: StrandId,
    works_for: Option<u32>,
    /// Where the next record is in the chunk.
    at: u32,
    /// How many more may be emitted.
    left: u32,
    block: u32,
    is_open: bool,
    /// How many blocks have ended.
    ends: u32,
    waits: Option<Record>,
}

impl Merge {
    /// Emits what a strand has, for one turn; how many records and ends that were.
    pub(super) fn advance(&mut self, index: usize, policy: Policy, sink: &mut impl Sink) -> u32 {
        let reader = &mut self.readers[index];
        let waits = reader.waits.as_ref();
        if policy == Policy::Whole && waits.is_some_and(|record| !self.tickets.awaits(record)) {
            self.is_blocked = true;
            return 0;
        }
        reader.waits = None;
        let (id, at) = (reader.id, reader.index);
        let (block, is_open) = (reader.block, reader.is_open);
        let life = *self.lives.life(id);
        if !life.forked {
            return 0;
        }
        let works_for = life.works_for;
        if policy != Policy::Work && works_for.is_some_and(|master| self.has_more(master)) {
            self.left_workers = true;
            return 0;
        }
        let turn = Turn {
            merge: self,
            sink,
            policy,
            index,
            id: StrandId(id),
            works_for,
            at,
            left: TURN,
            block,
            is_open,
            ends: 0,
            waits: None,
        };
        turn.run()
    }

    /// Whether there is something of a strand's that was not emitted. Where a strand works for this
    /// one's transaction, what it does is part of that until the end, and an end has no ticket: so
    /// the end is emitted before whatever it does not have to wait for. Asked after a look at the
    /// worker, the answer includes every end that came before what was seen there.
    fn has_more(&mut self, strand: u32) -> bool {
        let mut readers = self.readers.iter_mut();
        readers
            .find(|reader| reader.id == strand)
            .is_some_and(|reader| {
                reader.look();
                reader.has_more()
            })
    }

    /// Whether it is now the turn of a record that has waited for it.
    fn can_go_on(&self) -> bool {
        let mut waits = self.readers.iter().filter_map(|it| it.waits.as_ref());
        waits.any(|record| self.tickets.awaits(record))
    }
}

impl<S: Sink> Turn<'_, S> {
    fn run(mut self) -> u32 {
        while self.read_page() == Flow::EndOfPage && self.turn_page() {}
        let taken = TURN - self.left;
        let reader = &mut self.merge.readers[self.index];
        (reader.index, reader.waits) = (self.at, self.waits);
        (reader.block, reader.is_open) = (self.block, self.is_open);
        reader.taken += u64::from(taken);
        if taken > 0 {
            reader.since = None;
            pool::note_merged(taken);
        }
        taken + self.ends
    }

    /// Goes on in the next chunk, if everything of this one was emitted.
    fn turn_page(&mut self) -> bool {
        let reader = &mut self.merge.readers[self.index];
        let Some(next) = reader.next else {
            return false;
        };
        if self.at < reader.published.records {
            return false;
        }
        pool::recycle(reader.chunk);
        reader.chunk = next;
        reader.look();
        self.at = 0;
        // Whom it works for is to be looked at after it.
        self.works_for.is_none()
    }

    fn read_page(&mut self) -> Flow {
        let reader = &self.merge.readers[self.index];
        let published = reader.published;
        let page = Page {
            // SAFETY: a reader's chunk lives until the reader recycles it, and it is the one
            // reader.
            records: unsafe { reader.chunk.as_ref().records(published.records) },
            ended: published.ended,
        };
        let end = published.records.min(self.at.saturating_add(self.left));
        loop {
            let flow = self.step(page, end);
            if flow != Flow::GoesOn {
                return flow;
            }
        }
    }

    /// Emits the end of a block, what nobody needs to see, and then a transaction or a record.
    #[inline(always)]
    fn step(&mut self, page: Page<'_>, end: u32) -> Flow {
        if self.is_open && page.ends_before(self.at) {
            self.sink.event(self.bound(Op::End));
            (self.is_open, self.ends) = (false, self.ends + 1);
            self.merge.lives.dismiss(self.id.0);
        }
        if self.sink.is_quiet()
            && !self.is_open
            && !self.merge.lives.has_retiring()
            && !self.merge.is_watched
        {
            let tickets = &mut self.merge.tickets;
            let passed = tickets.pass_over(self.at, end, page, &mut self.block);
            self.sink.skip(passed.events, passed.transactions);
            self.count(passed.records);
        }
        if self.at == end {
            return Flow::EndOfPage;
        }
        if self.policy == Policy::Work && self.left < TURN && self.merge.can_go_on() {
            return Flow::Over;
        }
        let record = page.records[self.at as usize];
        if record.begins() && self.policy != Policy::Work {
            match self.merge.tickets.take_whole(self.at, end, page) {
                Ok(records) => return self.take_whole(records, page),
                Err(apart) => {
                    if self.must_wait(apart, end, page) {
                        return Flow::Over;
                    }
                }
            }
        }
        self.take(record)
    }

    fn count(&mut self, records: u32) {
        (self.at, self.left) = (self.at + records, self.left - records);
    }

    /// The begin or the end of the block.
    fn bound(&self, op: Op) -> Event {
        Event {
            strand: self.id,
            target: self.block,
            site: SiteId::NONE,
            op,
        }
    }

    /// Emits a transaction of so many records, the turns of which were taken.
    fn take_whole(&mut self, records: u32, page: Page<'_>) -> Flow {
        let end = self.at + records;
        let records = &page.records[self.at as usize..end as usize];
        let mut events = std::mem::take(&mut self.merge.transaction);
        events.push(self.bound(Op::Begin));
        for record in records {
            emit_plain(self.id, record, |event| {
                if self.sink.counts(&event) {
                    events.push(event);
                }
            });
        }
        events.push(self.bound(Op::End));
        self.sink.transaction(&events);
        events.clear();
        self.merge.transaction = events;
        if self.merge.lives.has_retiring() {
            for record in records.iter().filter(|record| record.what().has_ticket()) {
                self.retire_late(record);
            }
        }
        self.count(records.len() as u32);
        Flow::GoesOn
    }

    /// Whether a transaction that cannot be emitted whole has to wait.
    fn must_wait(&mut self, apart: Apart, end: u32, page: Page<'_>) -> bool {
        match apart {
            Apart::Waits(record, is_amid) => {
                self.merge.is_blocked = true;
                let waits = self.policy.waits_for_turn(is_amid);
                if waits {
                    self.waits = Some(record);
                }
                waits
            }
            Apart::Unfinished => {
                let is_end_of_turn = end < page.records.len() as u32;
                let is_last = self.merge.readers[self.index].next.is_none();
                self.policy.waits_for_end(is_end_of_turn, is_last)
            }
            Apart::Unfit => false,
        }
    }

    /// Emits a record by itself, if it is its turn.
    fn take(&mut self, record: Record) -> Flow {
        let traits = Traits::of(&record);
        let is_ready = self.merge.is_ready(&record);
        if !is_ready && record.what() != What::Retire {
            self.merge.is_blocked = true;
            self.waits = traits.is_plain().then_some(record);
            return Flow::Over;
        }
        if record.begins() {
            self.sink.event(self.bound(Op::Begin));
            self.is_open = true;
        }
        self.count(1);
        if !is_ready {
            let object = record.target();
            self.merge.lives.retire_later(object, record.ticket());
            self.sink.drops(self.id, object);
        } else if traits.is_plain() {
            if traits.has_ticket() {
                let position = self.merge.tickets.position(record.target());
                position.step(traits.is_shared());
            }
            self.merge.emit(self.id, &record, self.sink);
            self.retire_late(&record);
        } else {
            self.take_other(&record);
        }
        Flow::GoesOn
    }

    /// Emits a record that is more than an access or an operation on a lock.
    fn take_other(&mut self, record: &Record) {
        match record.what() {
            What::Block => return self.block = record.target(),
            What::Exit => {
                self.merge.readers[self.index].exited = true;
                self.merge.lives.life(self.id.0).exited = true;
            }
            _ => {}
        }
        self.merge.emit(self.id, record, self.sink);
        if record.what() == What::Fork {
            let master = self.works_for.or(self.is_open.then_some(self.id.0));
            self.merge.lives.set_master(record.target(), master);
        }
    }

    fn retire_late(&mut self, record: &Record) {
        let Merge { lives, tickets, .. } = self.merge;
        lives.retire_late(self.id, record.target(), tickets, self.sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Policy; 4] = [
        Policy::Whole,
        Policy::Overlapping,
        Policy::Open,
        Policy::Work,
    ];

    #[test]
    fn only_a_whole_transaction_waits_for_a_record_amid_it() {
        // Nobody can emit a first record before its turn.
        assert!(ALL.iter().all(|policy| policy.waits_for_turn(false)));
        assert_eq!(
            ALL.map(|policy| policy.waits_for_turn(true)),
            [true, false, false, false]
        );
    }

    #[test]
    fn only_an_open_transaction_does_not_wait_for_its_end() {
        // The next turn has all of it.
        assert!(ALL.iter().all(|policy| policy.waits_for_end(true, false)));
        assert!(ALL.iter().all(|policy| policy.waits_for_end(true, true)));
        assert_eq!(
            ALL.map(|policy| policy.waits_for_end(false, true)),
            [true, true, false, true]
        );
        // It goes on in the next chunk, which this turn does not look into.
        assert!(!ALL.iter().any(|policy| policy.waits_for_end(false, false)));
    }
}
