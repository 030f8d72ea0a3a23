//! What all tracked atomics share: std's atomic beside its clock, and the four ways to touch it.

use std::panic::Location;

use crate::record::clock::Clock;
use crate::record::code::TypeName;
use crate::record::value::Recorded;
use crate::record::{self, Attempt, Object, Pen, What};

/// An atomic `A` of std and its record, in one cache line: a clock that changes hands without its value would cost as much again.
#[repr(align(64))]
pub(crate) struct Core<A> {
    pub(crate) object: Object<Clock>,
    pub(super) inner: A,
}

impl<A: Recorded> Core<A> {
    #[track_caller]
    pub(super) const fn new(inner: A, type_name: TypeName) -> Self {
        Self {
            object: Object::atomic(type_name),
            inner,
        }
    }

    /// A read. Costs no shared write where this strand has read this very value in this transaction.
    #[inline]
    #[track_caller]
    pub(super) fn read<R>(&self, load: impl Fn(&A) -> R) -> R {
        match record::pen() {
            Some(pen) => {
                pen.see_anew(&self.object);
                pen.load(&self.object, Location::caller(), || load(&self.inner))
            }
            None => load(&self.inner),
        }
    }

    /// An operation that always does the same: a write, a read and a write, an update.
    #[inline]
    #[track_caller]
    pub(super) fn operate<R>(&self, what: What, operation: impl FnOnce(&A) -> R) -> R {
        match record::pen() {
            Some(pen) => self.change(pen, |inner| (operation(inner), Attempt::Did(what))),
            None => operation(&self.inner),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn change<R>(&self, pen: Pen, operation: impl FnOnce(&A) -> (R, Attempt)) -> R {
        pen.see_anew(&self.object);
        pen.change(
            &self.object,
            Location::caller(),
            || self.inner.recorded(),
            || operation(&self.inner),
        )
    }

    /// Gives it a name, by which properties know it as well.
    #[track_caller]
    pub(super) fn name(&self, number: u32) {
        if let Some(pen) = record::pen() {
            pen.name_watched(&self.object, number, || self.inner.recorded());
        }
    }

    /// A compare and exchange: a read and a write, or a failed try.
    #[inline]
    #[track_caller]
    pub(super) fn exchange<R>(&self, operation: impl FnOnce(&A) -> Result<R, R>) -> Result<R, R> {
        match record::pen() {
            Some(pen) => self.change(pen, |inner| match operation(inner) {
                Ok(value) => (Ok(value), Attempt::Did(What::ReadWrite)),
                Err(value) => (Err(value), Attempt::Failed),
            }),
            None => operation(&self.inner),
        }
    }

    /// A loop of load, `f`, compare and exchange; one record at its end, however many rounds it takes. `f` is the program's: it may panic, or use
    /// this very atomic, so it runs outside the clock's turn.
    ///
    /// Where `f` gives up, what it saw was read; if that has been overwritten by now, the read is older than what was recorded since, and
    /// is left out.
    #[inline]
    #[track_caller]
    pub(super) fn update<V: Copy + PartialEq>(
        &self,
        load: impl Fn(&A) -> V,
        exchange: impl Fn(&A, V, V) -> Result<V, V>,
        mut f: impl FnMut(V) -> Option<V>,
    ) -> Result<V, V> {
        let mut seen = load(&self.inner);
        loop {
            let next = f(seen);
            let last = |round| match round {
                Ok(_) => Attempt::Did(What::ReadWrite),
                Err(_) => Attempt::Nothing,
            };
            // Asked for in each round: what `f` records needs room too.
            let pen = record::pen();
            let Some(next) = next else {
                if let Some(pen) = pen {
                    pen.attempt(&self.object, Location::caller(), || {
                        let unchanged = load(&self.inner) == seen;
                        (
                            (),
                            if unchanged {
                                Attempt::Did(What::Read)
                            } else {
                                Attempt::Nothing
                            },
                        )
                    });
                }
                return Err(seen);
            };
            let round = match pen {
                Some(pen) => self.change(pen, |inner| {
                    let round = exchange(inner, seen, next);
                    (round, last(round))
                }),
                None => exchange(&self.inner, seen, next),
            };
            match round {
                Ok(value) => return Ok(value),
                Err(other) => seen = other,
            }
        }
    }
}
