//! A watched variable is a tracked atomic that gets its name when it is first used.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::name::Tracked;
use crate::record::pen;
use crate::record::value::{Recorded, refuse};

/// The name of an atomic, which is given to it before its first tracked operation: the value that
/// it has then is the initial one. No record of the variable comes before, because whoever comes
/// second waits.
pub(super) struct Name {
    name: &'static str,
    state: AtomicU8,
}

const UNKNOWN: u8 = 0;
const BEING_GIVEN: u8 = 1;
const GIVEN: u8 = 2;

impl Name {
    pub(super) const fn new(name: &'static str) -> Name {
        Name {
            name,
            state: AtomicU8::new(UNKNOWN),
        }
    }

    /// Makes sure that the atomic has the name.
    #[inline]
    #[track_caller]
    pub(super) fn give(&self, atomic: &(impl Tracked + Recorded)) {
        if self.state.load(Ordering::Acquire) != GIVEN {
            self.give_first(atomic);
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn give_first(&self, atomic: &(impl Tracked + Recorded)) {
        // Where nothing is recorded, the next one gives it.
        let Some(pen) = pen() else { return };
        let (success, failure) = (Ordering::Acquire, Ordering::Acquire);
        let won = self
            .state
            .compare_exchange(UNKNOWN, BEING_GIVEN, success, failure);
        if won.is_err() {
            // What is held back must not wait with us. Giving a name is no operation, so nobody
            // under control is in the middle of it when this strand has the turn.
            pen.flush();
            while self.state.load(Ordering::Acquire) != GIVEN {
                std::thread::yield_now();
            }
            return;
        }
        let given = Given(&self.state);
        crate::name(atomic, self.name);
        drop(given);
        self.admit(atomic);
    }

    /// # Panics
    ///
    /// Where the value cannot be recorded.
    #[inline]
    #[track_caller]
    pub(super) fn admit(&self, atomic: &impl Recorded) {
        let value = atomic.recorded();
        if i64::try_from(value).is_err() && pen().is_some() {
            refuse(self.name, value);
        }
    }
}

/// Says that the name is given, also where giving it has panicked.
struct Given<'a>(&'a AtomicU8);

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.0.store(GIVEN, Ordering::Release);
    }
}
