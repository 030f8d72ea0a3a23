use std::any::type_name;
use std::fmt;
use std::panic::Location;

use ::parking_lot::OnceState;

use crate::record::Done;

/// [`parking_lot::Once`](::parking_lot::Once), tracked.
pub struct Once {
    pub(crate) done: Done,
    inner: ::parking_lot::Once,
}

impl Once {
    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn new() -> Once {
        Once {
            done: Done::new(type_name::<Self>),
            inner: ::parking_lot::Once::new(),
        }
    }

    /// As parking_lot's: a read.
    #[inline]
    #[track_caller]
    pub fn state(&self) -> OnceState {
        let site = Location::caller();
        if self.done.look(site) {
            return OnceState::Done;
        }
        let state = self.inner.state();
        if state.done() {
            // In the meantime, which the record has to know.
            self.done.look(site);
        }
        state
    }

    /// As parking_lot's: an initialisation where `f` runs; else it is found done.
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

    /// As parking_lot's: an initialisation where `f` runs; else it is found done.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F: FnOnce(OnceState)>(&self, f: F) {
        self.done.once(Location::caller(), |inside, complete| {
            self.inner.call_once_force(|state| {
                inside.enter();
                f(state);
                complete();
            });
        });
    }
}

impl Default for Once {
    #[inline]
    #[track_caller]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
