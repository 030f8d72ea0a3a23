use std::any::type_name;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::PoisonError;

use crate::record::clock::Clock;
use crate::record::{Object, What, initialise, publish};

/// [`std::sync::LazyLock`], tracked.
pub struct LazyLock<T, F = fn() -> T> {
    pub(crate) object: Object<Clock>,
    /// Decides who initialises, and makes the others wait.
    gate: std::sync::Once,
    /// Set inside the gate, as one with the object's tickets.
    value: std::sync::OnceLock<T>,
    /// Taken when it runs: without it and without a value, it has panicked.
    init: std::sync::Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// As std's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock {
            object: Object::atomic(type_name::<Self>),
            gate: std::sync::Once::new(),
            value: std::sync::OnceLock::new(),
            init: std::sync::Mutex::new(Some(f)),
        }
    }

    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        if this.value.get().is_none() {
            let init = this.init.get_mut().unwrap_or_else(PoisonError::into_inner);
            let value = init.take().unwrap_or_else(|| panic_poisoned())();
            this.value = value.into();
        }
        this.value.get_mut().expect("there is a value by now")
    }

    /// As std's: a write where it initialises, else a read.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let site = Location::caller();
        if this.value.get().is_none() {
            let ((), has_run) = initialise(site, |has_run| {
                this.gate.call_once_force(|_| {
                    has_run.set(true);
                    let mut init = this.init.lock().unwrap_or_else(PoisonError::into_inner);
                    let f = init.take().unwrap_or_else(|| panic_poisoned());
                    drop(init);
                    let value = f();
                    let set = || this.value.set(value).is_ok();
                    publish(&this.object, site, What::UpdateInit, set);
                });
            });
            if let Some(value) = this.value.get().filter(|_| has_run) {
                return value;
            }
        }
        let value = this.object.look(What::Found, site, || this.value.get());
        value.expect("the gate opens when the value is there")
    }
}

impl<T, F> LazyLock<T, F> {
    /// As std's. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        this.value.get_mut()
    }

    /// As std's: a read.
    #[inline]
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        this.object
            .look_anew(Location::caller(), || this.value.get())
    }
}

#[cold]
#[inline(never)]
fn panic_poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[inline]
    #[track_caller]
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_tuple("LazyLock");
        match self.value.get() {
            Some(value) => d.field(value),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
    }
}

// As std's, which does not see a mutex around `F`.
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
