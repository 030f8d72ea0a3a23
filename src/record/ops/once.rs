//! What is done once and for all: the value that `OnceLock` and `OnceCell` carry, and the flag of
//! `Once` and its kin.

use std::cell::Cell;
use std::convert::Infallible;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

use once_cell::sync::OnceCell;

use super::clock::Clock;
use super::object::Object;
use crate::record::buffer::code::TypeName;
use crate::record::buffer::record::What;
use crate::record::strand::pen;

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
        self.object
            .look_anew(Location::caller(), || self.value.get())
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

    /// An initialisation where `f` runs and gives a value; else the cell is found initialised.
    #[inline]
    #[track_caller]
    pub(crate) fn get_or_try_init<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        self.fill(What::UpdateInit, What::Found, f)
    }

    /// The same, of what cannot fail.
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
        let insert = || Ok::<T, Infallible>(value.take().expect("runs once"));
        let Ok(there) = self.fill(What::Write, What::Read, insert);
        match value {
            None => Ok(there),
            Some(value) => Err((there, value)),
        }
    }

    /// Does `set` with the value of `f`, or finds that there is one, which counts as `found`.
    #[inline]
    #[track_caller]
    fn fill<E>(&self, set: What, found: What, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let site = Location::caller();
        if self.value.get().is_none() {
            let (result, has_run) = initialise(site, |has_run| {
                self.gate.get_or_try_init(|| {
                    has_run.set(true);
                    let value = f()?;
                    publish(&self.object, site, set, || self.value.set(value).is_ok());
                    Ok(())
                })
            });
            result?;
            if let Some(value) = self.value.get().filter(|_| has_run) {
                return Ok(value);
            }
        }
        let value = self.object.look(found, site, || self.value.get());
        Ok(value.expect(OPEN))
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

/// Passes a gate behind which one strand initialises something while others wait. `pass` says
/// whether it was this one that did. Where it was not, the strand has waited, which splits its
/// block.
pub(crate) fn initialise<R>(
    site: &'static Location<'static>,
    pass: impl FnOnce(&Cell<bool>) -> R,
) -> (R, bool) {
    if let Some(pen) = pen() {
        // What is held back must not wait with us.
        pen.flush();
    }
    let has_run = Cell::new(false);
    let result = pass(&has_run);
    if !has_run.get() {
        if let Some(pen) = pen() {
            pen.split(site);
        }
    }
    (result, has_run.get())
}

/// Puts the value of a cell into its place: from here on everybody sees it, and the record says so.
/// In a callback of somebody else's, so this must not panic. `set` says whether the place was free.
pub(crate) fn publish(
    object: &Object<Clock>,
    site: &'static Location<'static>,
    what: What,
    set: impl FnOnce() -> bool,
) {
    let was_free = match pen() {
        Some(pen) => pen.atomic(object, site, || (set(), what)),
        None => set(),
    };
    debug_assert!(was_free, "set behind the gate");
}

/// A flag that is set once. Changes as one with the object's tickets, which a foreign state cannot.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) object: Object<Clock>,
    done: AtomicBool,
}

impl Done {
    #[track_caller]
    pub(crate) const fn new(type_name: TypeName) -> Self {
        Self {
            object: Object::atomic(type_name),
            done: AtomicBool::new(false),
        }
    }

    /// A look that is not recorded.
    #[inline]
    pub(crate) fn peek(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// A read.
    #[inline]
    #[track_caller]
    pub(crate) fn look(&self, site: &'static Location<'static>) -> bool {
        self.object.look_anew(site, || self.peek())
    }

    /// Does it by `enter`, which calls what it is given while it keeps others out; or waits, and
    /// finds that it was done.
    #[inline]
    pub(crate) fn once(&self, site: &'static Location<'static>, enter: impl FnOnce(&dyn Fn())) {
        if !self.peek() {
            let ((), has_run) = initialise(site, |has_run| {
                enter(&|| {
                    has_run.set(true);
                    self.complete(site);
                });
            });
            if has_run {
                return;
            }
        }
        self.object.look(What::Found, site, || self.peek());
    }

    /// It has been done. In a callback of somebody else's, so this must not panic.
    fn complete(&self, site: &'static Location<'static>) {
        let done = || self.done.store(true, Ordering::Release);
        match pen() {
            Some(pen) => pen.atomic(&self.object, site, || (done(), What::UpdateInit)),
            None => done(),
        }
    }
}
