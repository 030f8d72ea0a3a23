use std::any::type_name;
use std::fmt;

use crate::record::OnceCore;

/// What the cells that are initialised once share: `Cell, whose they are`.
macro_rules! once_cell {
    ($Cell:ident, $whose:literal) => {
        impl<T> $Cell<T> {
            #[doc = concat!("As ", $whose, "'s; remembers where it was called.")]
            #[inline]
            #[must_use]
            #[track_caller]
            pub const fn new() -> Self {
                $Cell(OnceCore::new(type_name::<Self>))
            }

            #[doc = concat!("As ", $whose, "'s: a read.")]
            #[inline]
            #[track_caller]
            pub fn get(&self) -> Option<&T> {
                self.0.get()
            }

            #[doc = concat!("As ", $whose, "'s. Nothing is recorded: the access is exclusive.")]
            #[inline]
            pub fn get_mut(&mut self) -> Option<&mut T> {
                self.0.get_mut()
            }

            #[doc = concat!("As ", $whose, "'s: a read; an atomic block ends before it waits and ")]
            /// begins again after.
            #[inline]
            #[track_caller]
            pub fn wait(&self) -> &T {
                self.0.wait()
            }

            #[doc = concat!("As ", $whose, "'s: a write, or a read where there was a value.")]
            #[inline]
            #[track_caller]
            pub fn set(&self, value: T) -> Result<(), T> {
                match self.0.try_insert(value) {
                    Ok(_) => Ok(()),
                    Err((_, value)) => Err(value),
                }
            }

            #[doc = concat!("As ", $whose, "'s: a write where `f` runs, else a read.")]
            #[inline]
            #[track_caller]
            pub fn get_or_init<F>(&self, f: F) -> &T
            where
                F: FnOnce() -> T,
            {
                self.0.get_or_init(f)
            }

            #[doc = concat!("As ", $whose, "'s. Nothing is recorded: the access is exclusive.")]
            #[inline]
            pub fn into_inner(self) -> Option<T> {
                self.0.into_inner()
            }

            #[doc = concat!("As ", $whose, "'s. Nothing is recorded: the access is exclusive.")]
            #[inline]
            pub fn take(&mut self) -> Option<T> {
                self.0.take()
            }
        }

        impl<T> Default for $Cell<T> {
            #[inline]
            #[track_caller]
            fn default() -> Self {
                Self::new()
            }
        }

        impl<T> From<T> for $Cell<T> {
            #[inline]
            #[track_caller]
            fn from(value: T) -> Self {
                $Cell(OnceCore::with_value(type_name::<Self>, value))
            }
        }

        impl<T: PartialEq> PartialEq for $Cell<T> {
            #[inline]
            #[track_caller]
            fn eq(&self, other: &Self) -> bool {
                self.get() == other.get()
            }
        }

        impl<T: Eq> Eq for $Cell<T> {}
    };
}

#[cfg(feature = "once_cell")]
pub(crate) use once_cell;

/// [`std::sync::OnceLock`], tracked.
pub struct OnceLock<T>(pub(crate) OnceCore<T>);

once_cell! { OnceLock, "std" }

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
