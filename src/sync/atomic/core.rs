//! What all tracked atomics share: std's atomic beside its clock, and the ways to touch it.

use std::panic::Location;

use crate::record::clock::Clock;
use crate::record::code::TypeName;
use crate::record::value::Recorded;
use crate::record::{self, Effect, Object, What};
use crate::trace::Update;

/// An atomic `A` of std and its record, in one cache line: a clock that changes hands without its
/// value would cost as much again. The value comes first, so that a pointer to the whole is one to
/// the value: programs hand it to the system as a futex.
#[repr(C, align(64))]
pub(crate) struct Core<A> {
    pub(super) inner: A,
    pub(crate) object: Object<Clock>,
}

impl<A: Recorded> Core<A> {
    #[track_caller]
    pub(super) const fn new(inner: A, type_name: TypeName) -> Self {
        Self {
            inner,
            object: Object::atomic(type_name),
        }
    }

    /// A read. Costs no shared write where this strand has read this very value in this
    /// transaction.
    #[inline]
    #[track_caller]
    pub(super) fn read<R>(&self, load: impl Fn(&A) -> R) -> R {
        self.object.look_at_value(
            Location::caller(),
            || self.inner.recorded(),
            || load(&self.inner),
        )
    }

    /// A write.
    #[inline]
    #[track_caller]
    pub(super) fn write(&self, store: impl FnOnce(&A)) {
        self.operate(|inner| (store(inner), Effect::Did(What::Write)));
    }

    /// An operation, which says what it did.
    #[inline]
    #[track_caller]
    pub(super) fn operate<R>(&self, operation: impl FnOnce(&A) -> (R, Effect)) -> R {
        match record::pen() {
            Some(pen) => pen.change(
                &self.object,
                Location::caller(),
                || self.inner.recorded(),
                || operation(&self.inner),
            ),
            None => operation(&self.inner).0,
        }
    }

    /// Gives it a name, by which properties know it as well.
    #[track_caller]
    pub(super) fn name(&self, number: u32) {
        if let Some(pen) = record::pen() {
            pen.name_watched(&self.object, number, || self.inner.recorded());
        }
    }

    /// A compare and exchange, for the value `new`.
    #[inline]
    #[track_caller]
    pub(super) fn exchange<V: Copy + PartialEq>(
        &self,
        new: V,
        operation: impl FnOnce(&A) -> Result<V, V>,
    ) -> Result<V, V> {
        self.operate(|inner| match operation(inner) {
            Ok(value) if value == new => (Ok(value), Effect::Vain(Update::Exchange)),
            Ok(value) => (Ok(value), Effect::Did(What::CompareExchange)),
            Err(value) => (Err(value), Effect::Did(What::CompareExchangeFailed)),
        })
    }

    /// A loop of load, `f`, compare and exchange, recorded as such: the exchange answers for what
    /// was read. `f` is the program's: it may panic, or use this very atomic, so it runs outside
    /// the clock's turn.
    #[inline]
    #[track_caller]
    pub(super) fn update<V: Copy + PartialEq>(
        &self,
        load: impl Fn(&A) -> V,
        exchange: impl Fn(&A, V, V) -> Result<V, V>,
        mut f: impl FnMut(V) -> Option<V>,
    ) -> Result<V, V> {
        let mut seen = self.read(load);
        while let Some(next) = f(seen) {
            match self.exchange(next, |inner| exchange(inner, seen, next)) {
                Ok(value) => return Ok(value),
                Err(other) => seen = other,
            }
        }
        Err(seen)
    }
}
