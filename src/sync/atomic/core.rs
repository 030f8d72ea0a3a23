//! What all tracked atomics share: std's atomic beside its clock, and the ways to touch it.

use std::panic::Location;

use crate::record::clock::Clock;
use crate::record::code::TypeName;
use crate::record::value::Recorded;
use crate::record::{self, Effect, Intent, Kind, Object, Pen, What};
use crate::trace::Update;

/// An atomic `A` of std and its record, in one cache line: a clock that changes hands without its
/// value would cost as much again. The value comes first, so that a pointer to the whole is one to
/// the value: programs hand it to the system as a futex.
#[repr(C, align(64))]
pub(crate) struct Core<A> {
    pub(super) inner: A,
    pub(crate) object: Object<Clock>,
}

/// The result of an exchange for the value `new`, and what it did.
#[inline]
fn exchanged<V: Copy + PartialEq>(result: Result<V, V>, new: V) -> (Result<V, V>, Effect) {
    let effect = match result {
        Ok(value) if value == new => Effect::Vain(Update::Exchange),
        Ok(_) => Effect::Did(What::CompareExchange),
        Err(_) => Effect::Did(What::CompareExchangeFailed),
    };
    (result, effect)
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
        self.perform(Kind::Write, |inner| {
            (store(inner), Effect::Did(What::Write))
        });
    }

    /// An update, which says what it did.
    #[inline]
    #[track_caller]
    pub(super) fn operate<R>(&self, operation: impl FnOnce(&A) -> (R, Effect)) -> R {
        self.perform(Kind::Update, operation)
    }

    #[inline]
    #[track_caller]
    fn perform<R>(&self, kind: Kind, operation: impl FnOnce(&A) -> (R, Effect)) -> R {
        let pen = record::step(move || Intent::new(kind, &self.object, Location::caller()));
        self.record(pen, operation)
    }

    /// Performs and records an operation that was announced.
    #[inline]
    #[track_caller]
    fn record<R>(&self, pen: Option<Pen>, operation: impl FnOnce(&A) -> (R, Effect)) -> R {
        match pen {
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
        self.operate(|inner| exchanged(operation(inner), new))
    }

    /// The same of one that may fail without a reason; under control that is a choice. `load`
    /// reads the value.
    #[inline]
    #[track_caller]
    pub(super) fn exchange_weak<V: Copy + PartialEq>(
        &self,
        new: V,
        load: impl FnOnce(&A) -> V,
        operation: impl FnOnce(&A) -> Result<V, V>,
    ) -> Result<V, V> {
        let site = Location::caller();
        let (pen, fails) = record::step_weak(move || Intent::new(Kind::Update, &self.object, site));
        self.record(pen, |inner| {
            let result = if fails {
                Err(load(inner))
            } else {
                operation(inner)
            };
            exchanged(result, new)
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
