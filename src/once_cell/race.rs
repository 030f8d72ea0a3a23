//! Cells that many strands share, of which all that find one empty initialise it and the first
//! wins.

use std::any::type_name;
use std::convert::Infallible;
use std::fmt;
use std::num::NonZeroUsize;
use std::panic::Location;

use crate::record::clock::Clock;
use crate::record::{Intent, Kind, Object, What, step};

/// Counts as `done` where there was no value, else as `found`.
#[inline]
#[track_caller]
fn write<R>(
    object: &Object<Clock>,
    done: What,
    found: What,
    set: impl FnOnce() -> Result<(), R>,
) -> Result<(), R> {
    let site = Location::caller();
    match step(move || Intent::new(Kind::Update, object, site)) {
        Some(pen) => pen.atomic(object, site, || {
            let result = set();
            let what = if result.is_ok() { done } else { found };
            (result, what)
        }),
        None => set(),
    }
}

/// What all these cells have. `Value` goes in, `Seen` comes out, `Back` is what a vain `set` gives
/// back.
macro_rules! cell {
    (
        [$($generics:tt)*] $Cell:ty, $real:path; $Value:ty, $Seen:ty, $Back:ty
    ) => {
        impl<$($generics)*> $Cell {
            /// As once_cell's; remembers where it was called.
            #[inline]
            #[track_caller]
            pub const fn new() -> Self {
                Self { object: Object::atomic(type_name::<Self>), inner: <$real>::new() }
            }

            /// As once_cell's: a read.
            #[inline]
            #[track_caller]
            pub fn get(&self) -> Option<$Seen> {
                self.object.look(What::Read, Location::caller(), || self.inner.get())
            }

            /// As once_cell's: a write, or a read where there was a value.
            #[inline]
            #[track_caller]
            #[allow(clippy::result_unit_err, reason = "as once_cell's")]
            pub fn set(&self, value: $Value) -> Result<(), $Back> {
                write(&self.object, What::ReadWrite, What::Read, || self.inner.set(value))
            }

            /// As once_cell's: an initialisation where the value of `f` is taken, else the cell is
            /// found initialised.
            #[track_caller]
            pub fn get_or_init<F>(&self, f: F) -> $Seen
            where
                F: FnOnce() -> $Value,
            {
                match self.get_or_try_init(|| Ok::<_, Infallible>(f())) {
                    Ok(value) => value,
                }
            }

            /// As once_cell's: an initialisation where the value of `f` is taken, else the cell is
            /// found initialised; nothing where it fails.
            #[track_caller]
            pub fn get_or_try_init<F, E>(&self, f: F) -> Result<$Seen, E>
            where
                F: FnOnce() -> Result<$Value, E>,
            {
                if self.inner.get().is_none() && !self.is_set_next(Location::caller()) {
                    // Whether it comes first or not, there is a value then.
                    let value = f()?;
                    let set = || self.inner.set(value);
                    let _ = write(&self.object, What::UpdateInit, What::Found, set);
                    return Ok(self.inner.get().expect("set by somebody"));
                }
                let value = self.object.look(What::Found, Location::caller(), || self.inner.get());
                Ok(value.expect("set by somebody"))
            }
        }

        impl<$($generics)*> $Cell {
            /// Announces the look at a cell that was found empty; whether it has a value by then.
            #[cold]
            fn is_set_next(&self, site: &'static Location<'static>) -> bool {
                step(move || Intent::new(Kind::Read, &self.object, site));
                self.inner.get().is_some()
            }
        }

        impl<$($generics)*> Default for $Cell {
            #[track_caller]
            fn default() -> Self {
                Self::new()
            }
        }

        impl<$($generics)*> fmt::Debug for $Cell {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.fmt(f)
            }
        }
    };
}

/// [`race::OnceNonZeroUsize` of once_cell](::once_cell::race::OnceNonZeroUsize), tracked.
pub struct OnceNonZeroUsize {
    pub(crate) object: Object<Clock>,
    inner: ::once_cell::race::OnceNonZeroUsize,
}

cell! { [] OnceNonZeroUsize, ::once_cell::race::OnceNonZeroUsize; NonZeroUsize, NonZeroUsize, () }

impl OnceNonZeroUsize {
    /// As once_cell's: a read.
    ///
    /// # Safety
    ///
    /// As once_cell's: the cell must have a value, which this strand knows of.
    ///
    /// # Panics
    ///
    /// If it has none.
    #[inline]
    #[track_caller]
    pub unsafe fn get_unchecked(&self) -> NonZeroUsize {
        self.get()
            .expect("a cell that the caller knows to have a value")
    }
}

/// [`race::OnceBool` of once_cell](::once_cell::race::OnceBool), tracked.
pub struct OnceBool {
    pub(crate) object: Object<Clock>,
    inner: ::once_cell::race::OnceBool,
}

cell! { [] OnceBool, ::once_cell::race::OnceBool; bool, bool, () }

/// [`race::OnceRef` of once_cell](::once_cell::race::OnceRef), tracked.
pub struct OnceRef<'a, T> {
    pub(crate) object: Object<Clock>,
    inner: ::once_cell::race::OnceRef<'a, T>,
}

cell! { ['a, T] OnceRef<'a, T>, ::once_cell::race::OnceRef<'a, T>; &'a T, &'a T, () }

/// [`race::OnceBox` of once_cell](::once_cell::race::OnceBox), tracked.
pub struct OnceBox<T> {
    pub(crate) object: Object<Clock>,
    inner: ::once_cell::race::OnceBox<T>,
}

cell! { [T] OnceBox<T>, ::once_cell::race::OnceBox<T>; Box<T>, &T, Box<T> }

impl<T> OnceBox<T> {
    /// As once_cell's; remembers where it was called.
    #[track_caller]
    pub fn with_value(value: Box<T>) -> Self {
        // Not by `with_value` of once_cell's own, which is newer than what many lock files have.
        let cell = Self::new();
        let _ = cell.inner.set(value);
        cell
    }
}

impl<T: Clone> Clone for OnceBox<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self.get() {
            Some(value) => OnceBox::with_value(Box::new(value.clone())),
            None => OnceBox::new(),
        }
    }
}
