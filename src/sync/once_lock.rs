use std::any::type_name;
use std::fmt;

use crate::record::OnceCore;

/// [`std::sync::OnceLock`], tracked.
pub struct OnceLock<T>(pub(crate) OnceCore<T>);

impl<T> OnceLock<T> {
    /// As std's; remembers where it was called.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock(OnceCore::new(type_name::<Self>))
    }

    /// As std's: a read.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.get_mut()
    }

    /// As std's: a read; an atomic block ends before it waits and begins again after.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.0.wait()
    }

    /// As std's: a write, or a read where there was a value.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        self.0
            .try_insert(value)
            .map(|_| ())
            .map_err(|(_, value)| value)
    }

    /// As std's: a write where `f` runs, else a read.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        self.0.get_or_init(f)
    }

    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.0.into_inner()
    }

    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }
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
        let mut d = f.debug_tuple("OnceLock");
        match self.0.peek() {
            Some(value) => d.field(value),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
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
        OnceLock(OnceCore::with_value(type_name::<Self>, value))
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
