//! Tickets: whose turn it is on an object.

use super::decode::steps;
use crate::dense::Dense;
use crate::record::{Record, What};
use crate::trace::ObjectId;

/// Where an object's records are, in eight bytes: there may be millions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// How many it had: the ticket of its next one.
    all: u32,
    /// Twice how many of these were one of several holders', and one if there is such an object.
    /// The ticket of the next such record counts the others.
    shared: u32,
}

impl Position {
    /// Of no object.
    pub(super) const NOWHERE: Position = Position { all: 0, shared: 0 };

    /// After the first so many records.
    pub(super) const fn after(all: u32) -> Position {
        Position { all, shared: 1 }
    }

    /// Whether there is such an object.
    #[inline(always)]
    pub(super) fn is_defined(&self) -> bool {
        self.shared & 1 != 0
    }

    /// The ticket of the object's next record, if there is such an object.
    pub(super) fn next(&self) -> Option<u32> {
        self.is_defined().then_some(self.all)
    }

    /// Whether it is a record's turn, where it has a ticket. Records of several holders of a lock
    /// come in any order.
    #[inline(always)]
    pub(super) fn awaits(&self, ticket: u32, is_shared: bool) -> bool {
        if is_shared {
            // The highest bit is lost. No two tickets that are waited for are so far apart.
            let others = self.all.wrapping_sub(self.shared >> 1);
            others << 1 == ticket << 1 && self.is_defined()
        } else {
            self.all == ticket && self.is_defined()
        }
    }

    #[inline(always)]
    pub(super) fn step(&mut self, is_shared: bool) {
        self.all = self.all.wrapping_add(1);
        if is_shared {
            self.shared = self.shared.wrapping_add(2);
        }
    }

    fn step_back(&mut self, is_shared: bool) {
        self.all = self.all.wrapping_sub(1);
        if is_shared {
            self.shared = self.shared.wrapping_sub(2);
        }
    }
}

/// What is to be known of a record on the way: whether it is plain, then how many events it stands
/// for; whether it has a ticket; whether it is one of several holders'.
#[derive(Clone, Copy)]
pub(super) struct Traits(u8);

impl Traits {
    const TICKET: u8 = 1 << 6;
    const SHARED: u8 = 1 << 7;

    const ALL: [Traits; 128] = {
        let mut all = [Traits(0); 128];
        let mut at = 0;
        while at < What::PLAIN.len() {
            let what = What::PLAIN[at];
            let ticket = if what.has_ticket() { Self::TICKET } else { 0 };
            let shared = if what.is_shared() { Self::SHARED } else { 0 };
            all[what as usize] = Traits(steps(what).len() as u8 | ticket | shared);
            at += 1;
        }
        all
    };

    #[inline(always)]
    pub(super) fn of(record: &Record) -> Traits {
        Self::ALL[record.what() as usize % Self::ALL.len()]
    }

    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 != 0
    }

    #[inline(always)]
    pub(super) fn has_ticket(self) -> bool {
        self.0 & Self::TICKET != 0
    }

    #[inline(always)]
    pub(super) fn is_shared(self) -> bool {
        self.0 & Self::SHARED != 0
    }

    #[inline(always)]
    pub(super) fn events(self) -> u64 {
        u64::from(self.0 & !(Self::TICKET | Self::SHARED))
    }
}

/// Where all objects' records are.
#[derive(Debug, Default)]
pub(super) struct Tickets(Dense<ObjectId, Position>);

impl Tickets {
    #[inline]
    pub(super) fn position(&mut self, object: u32) -> &mut Position {
        self.0.entry(ObjectId(object))
    }

    #[inline]
    pub(super) fn get(&self, object: u32) -> Option<&Position> {
        self.0.get(ObjectId(object))
    }

    /// Whether there is such an object. The number may be anything that a program has written over
    /// its memory.
    #[inline]
    pub(super) fn is_defined(&self, object: u32) -> bool {
        self.get(object).is_some_and(Position::is_defined)
    }

    /// Whether it is the turn of a record that has a ticket.
    #[inline]
    pub(super) fn awaits(&self, record: &Record) -> bool {
        self.get(record.target())
            .is_some_and(|it| it.awaits(record.ticket(), record.what().is_shared()))
    }

    /// Takes a plain record's turn, if it is.
    #[inline(always)]
    pub(super) fn take(&mut self, record: &Record, traits: Traits) -> bool {
        if !traits.has_ticket() {
            return true;
        }
        match self.0.get_mut(ObjectId(record.target())) {
            Some(position) if position.awaits(record.ticket(), traits.is_shared()) => {
                position.step(traits.is_shared());
                true
            }
            _ => false,
        }
    }

    /// Gives turns back that were taken.
    #[inline(never)]
    pub(super) fn give_back(&mut self, taken: &[Record]) {
        for record in taken.iter().filter(|record| record.what().has_ticket()) {
            self.position(record.target())
                .step_back(record.what().is_shared());
        }
    }
}
