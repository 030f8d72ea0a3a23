//! Whole transactions: taken in one go, if it is the turn of each of their records.

use super::tickets::{Tickets, Traits};
use crate::record::{Record, What};

/// The most records of a transaction that waits until it can be emitted whole.
const WHOLE: u32 = 64;

/// What was published of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    pub(super) records: &'a [Record],
    /// Whether a block ended after them.
    pub(super) ended: bool,
}

impl Page<'_> {
    /// Whether a block ended after the records before `at`.
    #[inline(always)]
    pub(super) fn ends_before(&self, at: u32) -> bool {
        self.records
            .get(at as usize)
            .map_or(self.ended, Record::ended)
    }
}

/// What was taken and is not to be judged.
#[derive(Default)]
pub(super) struct Passed {
    pub(super) records: u32,
    pub(super) events: u64,
    pub(super) transactions: u64,
}

/// A transaction that can be emitted whole.
pub(super) struct Whole {
    pub(super) records: u32,
    /// How many events they stand for, with the begin and the end.
    pub(super) events: u64,
}

/// Why a transaction cannot be emitted whole.
pub(super) enum Apart {
    /// This record must wait for its turn; whether one before it need not.
    Waits(Record, bool),
    /// Its end is not there yet.
    Unfinished,
    /// It is long, or has records that need more than their turn.
    Unfit,
}

impl Tickets {
    /// Takes the turns of whole transactions, and of plain records outside of blocks, as long as it
    /// is theirs and they end before `end`.
    #[inline(never)]
    pub(super) fn pass_over(
        &mut self,
        from: u32,
        end: u32,
        page: Page<'_>,
        block: &mut u32,
    ) -> Passed {
        let mut passed = Passed::default();
        let mut at = from;
        while at < end {
            let first = &page.records[at as usize];
            if first.begins() {
                let Ok(whole) = self.take_whole(at, end, page) else {
                    break;
                };
                at += whole.records;
                passed.events += whole.events;
                passed.transactions += 1;
            } else if first.what() == What::Block {
                *block = first.target();
                at += 1;
            } else {
                let traits = Traits::of(first);
                if !traits.is_plain() || !self.take(first, traits) {
                    break;
                }
                at += 1;
                passed.events += traits.events();
            }
        }
        passed.records = at - from;
        passed
    }

    /// Takes the turns of all records of the transaction that begins at `at`, if it ends before
    /// `end` and each is next on its object.
    #[inline(always)]
    pub(super) fn take_whole(&mut self, at: u32, end: u32, page: Page<'_>) -> Result<Whole, Apart> {
        let mut events = 2;
        let mut index = at;
        let limit = end.min(at + WHOLE);
        let apart = loop {
            if index == limit {
                break if limit < end {
                    Apart::Unfit
                } else {
                    Apart::Unfinished
                };
            }
            let record = &page.records[index as usize];
            let traits = Traits::of(record);
            if !traits.is_plain() {
                break Apart::Unfit;
            }
            if !self.take(record, traits) {
                break Apart::Waits(*record, index > at);
            }
            events += traits.events();
            index += 1;
            if page.ends_before(index) {
                let records = index - at;
                return Ok(Whole { records, events });
            }
        };
        self.give_back(&page.records[at as usize..index as usize]);
        Err(apart)
    }
}
