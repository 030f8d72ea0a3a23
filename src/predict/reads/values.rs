//! Values: as they were recorded, or told apart by who wrote them.

use super::look::{accesses, is_counter, is_read};
use crate::dense::{Dense, mix};
use crate::trace::{Event, Op, StrandId, Update};
use rustc_hash::FxHashMap;

/// The content of an object at some point of a schedule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Current {
    /// The value, where it is known.
    known: Option<i64>,
    /// What was there before the updates of `run`.
    base: u64,
    /// Of the positions of these updates.
    sum: u64,
    run: Option<Update>,
    pub(super) writer: Option<Writer>,
    /// Who wrote a value that this run has not seen.
    pub(super) unseen: Option<StrandId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    pub(super) event: Event,
    pub(super) position: u64,
}

impl Current {
    /// That of an object that begins with this value.
    pub(super) fn of(known: Option<i64>) -> Current {
        Current {
            known,
            ..Current::default()
        }
    }

    /// Tells this value from all others of its object.
    pub(super) fn value(&self) -> u64 {
        match (self.known, self.run) {
            (Some(known), _) => mix(mix(known as u64) ^ VALUE),
            (None, None) => self.base,
            (None, Some(kind)) => mix(self.base ^ mix(kind as u64 + 1)).wrapping_add(self.sum),
        }
    }

    /// The same as seen by an access: counters see through their own kind.
    pub(super) fn seen_by(&self, op: Op) -> u64 {
        match op {
            Op::Update(kind) if is_counter(kind) && self.run == Some(kind) => self.base,
            _ => self.value(),
        }
    }

    /// A write that does this to the value; `is_same` says whether it finds what it has found on
    /// this run.
    pub(super) fn write(
        &mut self,
        writer: Writer,
        (effect, is_same): (Effect, bool),
        is_unseen: bool,
    ) {
        let is_update = matches!(writer.event.op, Op::Update(_));
        let known = match effect {
            Effect::Adds(number) => self.known.map(|known| known.wrapping_add(number)),
            Effect::Leaves(value) => Some(value).filter(|_| is_same || !is_update),
            Effect::Unknown => None,
        };
        match writer.event.op {
            Op::Update(kind) => {
                if self.run != Some(kind) {
                    (self.base, self.sum, self.run) = (self.value(), 0, Some(kind));
                }
                self.sum = self.sum.wrapping_add(mix(writer.position));
            }
            _ => {
                (self.base, self.sum, self.run) = (writer.position, 0, None);
                self.unseen = None;
            }
        }
        self.known = known.filter(|_| !is_unseen);
        if is_unseen {
            self.unseen = Some(writer.event.strand);
        }
        self.writer = Some(writer);
    }
}

/// What keeps values apart from positions.
const VALUE: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a write does to a value, as far as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Unknown,
    Leaves(i64),
    Adds(i64),
}

/// The recorded values of an access.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToldValue {
    pub(super) before: Option<i64>,
    after: Option<i64>,
}

impl ToldValue {
    pub(super) fn effect(self, op: Op) -> Effect {
        match (op, self.before, self.after) {
            (Op::Update(Update::Add), Some(before), Some(after)) => {
                Effect::Adds(after.wrapping_sub(before))
            }
            (_, _, Some(after)) => Effect::Leaves(after),
            _ => Effect::Unknown,
        }
    }
}

/// The recorded values of accesses that are not analysed yet, by their positions.
#[derive(Debug, Default)]
pub(super) struct ToldValues {
    announced: Dense<StrandId, ToldValue>,
    accesses: FxHashMap<u64, ToldValue>,
}

impl ToldValues {
    /// Takes the next event as it was recorded.
    pub(super) fn note(&mut self, event: Event, position: u64) {
        if event.op != Op::Value && !accesses(event.op) {
            return;
        }
        let announced = self.announced.entry(event.strand);
        if event.op == Op::Value {
            announced.before = announced.after.replace(event.value());
            return;
        }
        let mut told = std::mem::take(announced);
        if is_read(event.op) {
            told.before = told.after;
        }
        if told.after.is_some() {
            self.accesses.insert(position, told);
        }
    }

    /// Those of the access at a position.
    pub(super) fn take(&mut self, position: u64) -> Option<ToldValue> {
        self.accesses.remove(&position)
    }
}
