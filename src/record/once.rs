//! A value that is set once: what `OnceLock` and `OnceCell` carry.

use std::convert::Infallible;
use std::panic::Location;

use once_cell::sync::OnceCell;

use super::clock::Clock;
use super::code::TypeName;
use super::{Object, What, pen};

/// A cell that is written once, by whoever comes first; the others wait for it.
pub(crate) struct OnceCore<T> {
    pub(crate) object: Object<Clock>,
    /// Decides who initialises, and makes the others wait.
    gate: OnceCell<()>,
    /// Set inside the gate, as one with the object's tickets.
    value: OnceCell<T>,
}

impl<T> OnceCore<T> {
    #[track_caller]
    pub(crate) const fn new(type_name: TypeName) -> Self {
        Self {
            object: Object::atomic(type_name),
            gate: OnceCell::new(),
            value: OnceCell::new(),
        }
    }

    #[track_caller]
    pub(crate) const fn with_value(type_name: TypeName, value: T) -> Self {
        Self {
            object: Object::atomic(type_name),
            gate: OnceCell::with_value(()),
            value: OnceCell::with_value(value),
        }
    }

    /// A look that is not recorded.
    #[inline]
    pub(crate) fn peek(&self) -> Option<&T> {
        self.value.get()
    }

    /// A read.
    #[inline]
    #[track_caller]
    pub(crate) fn get(&self) -> Option<&T> {
        match pen() {
            Some(pen) => pen.load(&self.object, Location::caller(), || self.value.get()),
            None => self.value.get(),
        }
    }

    /// A read; an atomic block ends before it waits and begins again after.
    #[track_caller]
    pub(crate) fn wait(&self) -> &T {
        if let Some(pen) = pen() {
            pen.split(Location::caller());
        }
        self.gate.wait();
        self.get().expect(OPEN)
    }

    /// A write where `f` runs and gives a value, else a read.
    #[inline]
    #[track_caller]
    pub(crate) fn get_or_try_init<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if self.value.get().is_none() {
            let site = Location::caller();
            let mut ran = false;
            self.gate.get_or_try_init(|| {
                let value = f()?;
                publish(&self.object, site, || self.value.set(value).is_ok());
                ran = true;
                Ok(())
            })?;
            if ran && let Some(value) = self.value.get() {
                return Ok(value);
            }
        }
        Ok(self.get().expect(OPEN))
    }

    /// A write where `f` runs, else a read.
    #[inline]
    #[track_caller]
    pub(crate) fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        match self.get_or_try_init(|| Ok::<T, Infallible>(f())) {
            Ok(value) => value,
        }
    }

    /// A write, or a read where there was a value: that, and the one that came too late.
    #[inline]
    #[track_caller]
    pub(crate) fn try_insert(&self, value: T) -> Result<&T, (&T, T)> {
        let mut value = Some(value);
        let there = self.get_or_init(|| value.take().expect("runs once"));
        match value {
            None => Ok(there),
            Some(value) => Err((there, value)),
        }
    }

    // Nothing of these is recorded: the access is exclusive.

    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    #[inline]
    pub(crate) fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        self.gate.take();
        self.value.take()
    }
}

const OPEN: &str = "the gate opens when the value is there";

/// Puts the value of a cell into its place: from here on everybody sees it, and the record says so. In a callback of somebody else's, so this must
/// not panic. `set` says whether the place was free.
pub(crate) fn publish(
    object: &Object<Clock>,
    site: &'static Location<'static>,
    set: impl FnOnce() -> bool,
) {
    let was_free = match pen() {
        Some(pen) => pen.atomic(object, site, || (set(), What::Write)),
        None => set(),
    };
    debug_assert!(was_free, "set behind the gate");
}
