use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::OnceState;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::record::clock::Clock;
use crate::record::{self, Object, What};

/// [`std::sync::Once`], tracked.
pub struct Once {
    pub(crate) object: Object<Clock>,
    /// Whether a call has completed. Changes as one with the object's tickets, which std's own state cannot.
    done: AtomicBool,
    inner: std::sync::Once,
}

/// A [`Once`] that nobody has called.
#[deprecated(note = "the `Once::new()` function is now preferred")]
pub const ONCE_INIT: Once = Once::new();

impl Once {
    /// As std's; remembers where it was called.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new() -> Once {
        Once {
            object: Object::atomic(type_name::<Self>),
            done: AtomicBool::new(false),
            inner: std::sync::Once::new(),
        }
    }

    /// As std's: a write where `f` runs, else a read.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let site = Location::caller();
        let mut ran = false;
        if !self.done.load(Ordering::Acquire) {
            self.inner.call_once(|| {
                f();
                self.complete(site);
                ran = true;
            });
        }
        if !ran {
            self.look(site);
        }
    }

    /// As std's: a write where `f` runs, else a read.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let site = Location::caller();
        let mut ran = false;
        if !self.done.load(Ordering::Acquire) {
            self.inner.call_once_force(|state| {
                f(state);
                self.complete(site);
                ran = true;
            });
        }
        if !ran {
            self.look(site);
        }
    }

    /// As std's: a read.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.look(Location::caller())
    }

    /// As std's: a read; an atomic block ends before it waits and begins again after.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for(std::sync::Once::wait, Location::caller());
    }

    /// As std's: a read; an atomic block ends before it waits and begins again after.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_for(std::sync::Once::wait_force, Location::caller());
    }

    fn wait_for(&self, wait: impl FnOnce(&std::sync::Once), site: &'static Location<'static>) {
        if let Some(pen) = record::pen() {
            pen.split();
        }
        wait(&self.inner);
        self.look(site);
    }

    #[inline]
    fn look(&self, site: &'static Location<'static>) -> bool {
        let done = || self.done.load(Ordering::Acquire);
        match record::pen() {
            Some(pen) => pen.load(&self.object, site, done),
            None => done(),
        }
    }

    /// The call has run. In a callback of std's, so this must not panic.
    fn complete(&self, site: &'static Location<'static>) {
        let done = || self.done.store(true, Ordering::Release);
        match record::quiet_pen() {
            Some(pen) => pen.atomic(&self.object, site, || (done(), What::Write)),
            None => done(),
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
