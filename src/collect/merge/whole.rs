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
        let records = &page.records[from as usize..end as usize];
        let ends = page.ends_before(end);
        let (mut at, mut begin, mut events) = (0, 0, 0);
        while let Some(record) = records.get(at) {
            let traits = Traits::of(record);
            if at == begin && !record.begins() {
                if record.what() == What::Block {
                    *block = record.target();
                } else if !traits.is_plain() || !self.take(record, traits) {
                    break;
                }
                passed.events += traits.events();
                at += 1;
                begin = at;
                continue;
            }
            let is_long = at - begin == WHOLE as usize;
            if is_long || !traits.is_plain() || !self.take(record, traits) {
                break;
            }
            at += 1;
            events += traits.events();
            if records.get(at).map_or(ends, Record::ended) {
                passed.events += events + 2;
                passed.transactions += 1;
                (begin, events) = (at, 0);
            }
        }
        self.give_back(&records[begin..at]);
        passed.records = begin as u32;
        passed
    }

    /// Takes the turns of all records of the transaction that begins at `at`, if it ends before
    /// `end` and each is next on its object: how many they are.
    pub(super) fn take_whole(&mut self, at: u32, end: u32, page: Page<'_>) -> Result<u32, Apart> {
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
            index += 1;
            if page.ends_before(index) {
                return Ok(index - at);
            }
        };
        self.give_back(&page.records[at as usize..index as usize]);
        Err(apart)
    }
}
