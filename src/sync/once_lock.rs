use std::any::type_name;
use std::fmt;
use std::panic::Location;

use crate::record::clock::Clock;
use crate::record::{self, Object, What};

/// [`std::sync::OnceLock`], tracked.
pub struct OnceLock<T> {
    pub(crate) object: Object<Clock>,
    /// Decides who initialises, and makes the others wait.
    gate: std::sync::OnceLock<()>,
    /// Set inside the gate, as one with the object's tickets.
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// As std's; remembers where it was called.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock {
            object: Object::atomic(type_name::<Self>),
            gate: std::sync::OnceLock::new(),
            value: std::sync::OnceLock::new(),
        }
    }

    /// As std's: a read.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        match record::pen() {
            Some(pen) => pen.load(&self.object, Location::caller(), || self.value.get()),
            None => self.value.get(),
        }
    }

    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// As std's: a read; an atomic block ends before it waits and begins again after.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> &T {
        if let Some(pen) = record::pen() {
            pen.split();
        }
        self.gate.wait();
        self.get().expect("the gate opens when the value is there")
    }

    /// As std's: a write, or a read where there was a value.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("runs once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// As std's: a write where `f` runs, else a read.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        if self.value.get().is_none() {
            let site = Location::caller();
            let mut ran = false;
            self.gate.get_or_init(|| {
                publish(&self.object, &self.value, f(), site);
                ran = true;
            });
            if ran && let Some(value) = self.value.get() {
                return value;
            }
        }
        self.get().expect("the gate opens when the value is there")
    }

    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.gate.take();
        self.value.take()
    }
}

/// Puts the value of a cell into its place: from here on everybody sees it, and the record says so. In a callback of std's, so this must not
/// panic.
pub(super) fn publish<T>(
    object: &Object<Clock>,
    cell: &std::sync::OnceLock<T>,
    value: T,
    site: &'static Location<'static>,
) {
    let result = match record::quiet_pen() {
        Some(pen) => pen.atomic(object, site, || (cell.set(value), What::Write)),
        None => cell.set(value),
    };
    debug_assert!(result.is_ok(), "set behind the gate");
}

impl<T> Default for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn from(value: T) -> Self {
        OnceLock {
            gate: ().into(),
            value: value.into(),
            ..Self::new()
        }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
