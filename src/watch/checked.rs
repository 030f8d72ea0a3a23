//! Every write is recorded with its value.
//!
//! The first tracked operation records the variable's birth: its name, and its value so far, which
//! the lattice takes for the initial one. No other record of the variable comes before it, because
//! whoever comes second waits.

use std::panic::Location;
use std::sync::atomic::{AtomicU8, Ordering};

use super::Did;
use crate::record::clock::Clock;
use crate::record::value::{Recorded, refuse};
use crate::record::{self, Effect, Object, Pen, What, names};
use crate::trace::Update;

impl Did {
    /// What it counts as; a read-modify-write may have left the value as it was.
    fn effect(self, changed: bool) -> Effect {
        let (what, kind) = match self {
            Did::Write => return Effect::Did(What::Write),
            Did::CompareExchange => return Effect::Did(What::CompareExchange),
            Did::CompareExchangeFailed => return Effect::Did(What::CompareExchangeFailed),
            Did::Swap => (What::ReadWrite, Update::Swap),
            Did::Add => (What::UpdateAdd, Update::Add),
            Did::And => (What::UpdateAnd, Update::And),
            Did::Or => (What::UpdateOr, Update::Or),
            Did::Xor => (What::UpdateXor, Update::Xor),
            Did::Max => (What::UpdateMax, Update::Max),
            Did::Min => (What::UpdateMin, Update::Min),
        };
        if changed {
            Effect::Did(what)
        } else {
            Effect::Vain(kind)
        }
    }
}

const UNBORN: u8 = 0;
const BEING_BORN: u8 = 1;
const BORN: u8 = 2;

/// The variable's record.
pub(super) struct Track {
    object: Object<Clock>,
    name: &'static str,
    state: AtomicU8,
}

impl Track {
    #[track_caller]
    pub(super) const fn new(name: &'static str, type_name: fn() -> &'static str) -> Track {
        Track {
            object: Object::atomic(type_name),
            name,
            state: AtomicU8::new(UNBORN),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn read<A: Recorded, R>(&self, atomic: &A, load: impl Fn(&A) -> R) -> R {
        match self.pen(atomic) {
            Some(pen) => pen.load(&self.object, Location::caller(), || load(atomic)),
            None => load(atomic),
        }
    }

    /// Runs an operation and records what it did, and the value it left behind.
    #[inline]
    #[track_caller]
    pub(super) fn write<A: Recorded, R>(
        &self,
        atomic: &A,
        operate: impl FnOnce(&A) -> (R, Did),
    ) -> R {
        let Some(pen) = self.pen(atomic) else {
            return operate(atomic).0;
        };
        let mut value = 0;
        let result = pen.watched(&self.object, Location::caller(), || {
            let before = atomic.recorded();
            let (result, did) = operate(atomic);
            value = atomic.recorded();
            (result, did.effect(value != before), value)
        });
        self.admit(value);
        result
    }

    /// The strand's pen, for a variable that has been born.
    #[inline]
    #[track_caller]
    fn pen(&self, atomic: &impl Recorded) -> Option<Pen> {
        let pen = record::pen()?;
        if self.state.load(Ordering::Acquire) == BORN {
            return Some(pen);
        }
        self.birth(pen, atomic);
        // The birth has used the room that the pen came with.
        record::pen()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn birth(&self, pen: Pen, atomic: &impl Recorded) {
        let mine =
            self.state
                .compare_exchange(UNBORN, BEING_BORN, Ordering::Acquire, Ordering::Acquire);
        if mine.is_err() {
            // What is held back must not wait with us.
            pen.flush();
            while self.state.load(Ordering::Acquire) != BORN {
                std::thread::yield_now();
            }
            return;
        }
        pen.name(&self.object, record::untracked(|| names::number(self.name)));
        let value = pen.born(&self.object, || atomic.recorded());
        self.state.store(BORN, Ordering::Release);
        self.admit(value);
    }

    /// # Panics
    ///
    /// Where the value cannot be recorded.
    #[inline]
    #[track_caller]
    fn admit(&self, value: i128) {
        if i64::try_from(value).is_err() {
            refuse(self.name, value);
        }
    }
}
