use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::OnceState;

use crate::record::Done;

/// [`std::sync::Once`], tracked.
pub struct Once {
    pub(crate) done: Done,
    inner: std::sync::Once,
}

/// A [`Once`] that nobody has called.
#[deprecated(note = "the `Once::new()` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "as std has it")]
pub const ONCE_INIT: Once = Once::new();

impl Once {
    /// As std's; remembers where it was called.
    #[inline]
    #[must_use]
    #[track_caller]
    #[allow(clippy::new_without_default, reason = "std's has none")]
    pub const fn new() -> Once {
        Once {
            done: Done::new(type_name::<Self>),
            inner: std::sync::Once::new(),
        }
    }

    /// As std's: an initialisation where `f` runs; else it is found done.
    #[inline]
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.done.once(Location::caller(), |inside, complete| {
            self.inner.call_once(|| {
                inside.enter();
                f();
                complete();
            });
        });
    }

    /// As std's: an initialisation where `f` runs; else it is found done.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        self.done.once(Location::caller(), |inside, complete| {
            self.inner.call_once_force(|state| {
                inside.enter();
                f(state);
                complete();
            });
        });
    }

    /// As std's: a read.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.done.look(Location::caller())
    }

    /// As std's: a read; an atomic block ends before it waits and begins again after.
    #[cfg(since = "1.86")]
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for(std::sync::Once::wait, Location::caller());
    }

    /// As std's: a read; an atomic block ends before it waits and begins again after.
    #[cfg(since = "1.86")]
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_for(std::sync::Once::wait_force, Location::caller());
    }

    #[cfg(since = "1.86")]
    fn wait_for(&self, wait: impl FnOnce(&std::sync::Once), site: &'static Location<'static>) {
        self.done.wait(site);
        wait(&self.inner);
        self.done.look(site);
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
