//! Cells that many strands share, of which one initialises and the others wait.

use std::any::type_name;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::RefUnwindSafe;
use std::sync::{Mutex, PoisonError};

use crate::record::OnceCore;
use crate::sync::once_cell;

/// [`sync::OnceCell` of once_cell](::once_cell::sync::OnceCell), tracked.
pub struct OnceCell<T>(pub(crate) OnceCore<T>);

once_cell! { OnceCell, "once_cell" }

impl<T> OnceCell<T> {
    /// As once_cell's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn with_value(value: T) -> OnceCell<T> {
        OnceCell(OnceCore::with_value(type_name::<Self>, value))
    }

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
    pub unsafe fn get_unchecked(&self) -> &T {
        self.0
            .get()
            .expect("a cell that the caller knows to have a value")
    }

    /// As once_cell's: a write, or a read where there was a value.
    #[inline]
    #[track_caller]
    pub fn try_insert(&self, value: T) -> Result<&T, (&T, T)> {
        self.0.try_insert(value)
    }

    /// As once_cell's: a write where `f` runs and gives a value, else a read; nothing where it
    /// fails.
    #[inline]
    #[track_caller]
    pub fn get_or_try_init<F, E>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Result<T, E>,
    {
        self.0.get_or_try_init(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.peek() {
            Some(value) => f.debug_tuple("OnceCell").field(value).finish(),
            None => f.write_str("OnceCell(Uninit)"),
        }
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    #[track_caller]
    fn clone(&self) -> OnceCell<T> {
        match self.get() {
            Some(value) => Self::with_value(value.clone()),
            None => Self::new(),
        }
    }

    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        match (self.get_mut(), source.get()) {
            (Some(this), Some(source)) => this.clone_from(source),
            _ => *self = source.clone(),
        }
    }
}

/// [`sync::Lazy` of once_cell](::once_cell::sync::Lazy), tracked.
pub struct Lazy<T, F = fn() -> T> {
    pub(crate) cell: OnceCell<T>,
    /// Taken when it runs: without it and without a value, it has panicked.
    init: Mutex<Option<F>>,
}

impl<T, F: RefUnwindSafe> RefUnwindSafe for Lazy<T, F> where OnceCell<T>: RefUnwindSafe {}

impl<T: fmt::Debug, F> fmt::Debug for Lazy<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy")
            .field("cell", &self.cell)
            .field("init", &"..")
            .finish()
    }
}

#[cold]
#[track_caller]
fn poisoned() -> ! {
    panic!("Lazy instance has previously been poisoned")
}

impl<T, F> Lazy<T, F> {
    /// As once_cell's; remembers where it was called.
    #[track_caller]
    pub const fn new(f: F) -> Lazy<T, F> {
        Lazy {
            cell: OnceCell(OnceCore::new(type_name::<Self>)),
            init: Mutex::new(Some(f)),
        }
    }

    /// As once_cell's. Nothing is recorded: the access is exclusive.
    #[track_caller]
    pub fn into_value(this: Lazy<T, F>) -> Result<T, F> {
        let init = this
            .init
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        this.cell
            .into_inner()
            .ok_or_else(|| init.unwrap_or_else(|| poisoned()))
    }
}

impl<T, F: FnOnce() -> T> Lazy<T, F> {
    /// As once_cell's: a write where it initialises, else a read.
    #[track_caller]
    pub fn force(this: &Lazy<T, F>) -> &T {
        this.cell.get_or_init(|| {
            let init = this
                .init
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            init.unwrap_or_else(|| poisoned())()
        })
    }

    /// As once_cell's. Nothing is recorded: the access is exclusive.
    #[track_caller]
    pub fn force_mut(this: &mut Lazy<T, F>) -> &mut T {
        if this.cell.get_mut().is_none() {
            let init = this
                .init
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let value = init.unwrap_or_else(|| poisoned())();
            this.cell = OnceCell(OnceCore::with_value(type_name::<Self>, value));
        }
        this.cell.get_mut().expect("there is a value by now")
    }

    /// As once_cell's: a read.
    #[track_caller]
    pub fn get(this: &Lazy<T, F>) -> Option<&T> {
        this.cell.get()
    }

    /// As once_cell's. Nothing is recorded: the access is exclusive.
    pub fn get_mut(this: &mut Lazy<T, F>) -> Option<&mut T> {
        this.cell.get_mut()
    }
}

impl<T, F: FnOnce() -> T> Deref for Lazy<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Lazy::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for Lazy<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        Lazy::force_mut(self)
    }
}

impl<T: Default> Default for Lazy<T> {
    #[track_caller]
    fn default() -> Lazy<T> {
        Lazy::new(T::default)
    }
}
