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
use crate::record::control::{Intent, Kind, wait};
use crate::record::strand::pen;

/// A cell that is written once, by whoever comes first; the others wait for it.
pub(crate) struct OnceCore<T> {
    pub(crate) object: Object<Clock>,
    /// Decides who initialises, and makes the others wait.
    gate: OnceCell<()>,
    busy: AtomicBool,
    /// Set inside the gate, as one with the object's tickets.
    value: OnceCell<T>,
}

impl<T> OnceCore<T> {
    #[track_caller]
    pub(crate) const fn new(type_name: TypeName) -> Self {
        Self {
            object: Object::atomic(type_name),
            gate: OnceCell::new(),
            busy: AtomicBool::new(false),
            value: OnceCell::new(),
        }
    }

    #[track_caller]
    pub(crate) const fn with_value(type_name: TypeName, value: T) -> Self {
        Self {
            object: Object::atomic(type_name),
            gate: OnceCell::with_value(()),
            busy: AtomicBool::new(false),
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
            .look(What::Read, Location::caller(), || self.value.get())
    }

    /// A read; an atomic block ends before it waits and begins again after.
    #[track_caller]
    pub(crate) fn wait(&self) -> &T {
        let site = Location::caller();
        let wait = wait(
            move || Intent::new(Kind::Read, &self.object, site),
            || self.value.get().is_some(),
        );
        if let Some(pen) = wait {
            pen.split(site);
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
            let (result, has_run) = initialise(&self.object, &self.busy, site, |inside| {
                self.gate.get_or_try_init(|| {
                    inside.enter();
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
    object: &Object<Clock>,
    busy: &AtomicBool,
    site: &'static Location<'static>,
    pass: impl FnOnce(&Inside<'_>) -> R,
) -> (R, bool) {
    let announced = wait(
        move || Intent::new(Kind::Update, object, site),
        || !busy.load(Ordering::Relaxed),
    );
    if let Some(pen) = announced {
        // What is held back must not wait with us.
        pen.flush();
    }
    let inside = Inside {
        busy,
        is_entered: Cell::new(false),
    };
    let result = pass(&inside);
    let has_run = inside.is_entered.get();
    drop(inside);
    if !has_run {
        if let Some(pen) = pen() {
            pen.split(site);
        }
    }
    (result, has_run)
}

/// Whether the strand has come to be the one that initialises, and keeps others out.
pub(crate) struct Inside<'a> {
    /// Whether somebody initialises: the gate itself cannot be asked without waiting for it.
    busy: &'a AtomicBool,
    is_entered: Cell<bool>,
}

impl Inside<'_> {
    /// The strand is the one.
    pub(crate) fn enter(&self) {
        self.is_entered.set(true);
        self.busy.store(true, Ordering::Relaxed);
    }
}

impl Drop for Inside<'_> {
    // In a destructor: an initialisation that panics is over, too.
    fn drop(&mut self) {
        if self.is_entered.get() {
            self.busy.store(false, Ordering::Relaxed);
        }
    }
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
    busy: AtomicBool,
    done: AtomicBool,
}

impl Done {
    #[track_caller]
    pub(crate) const fn new(type_name: TypeName) -> Self {
        Self {
            object: Object::atomic(type_name),
            busy: AtomicBool::new(false),
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
        self.object.look(What::Read, site, || self.peek())
    }

    /// Waits until it was done: announces that, and ends the transaction.
    #[cfg(since = "1.86")]
    pub(crate) fn wait(&self, site: &'static Location<'static>) {
        let wait = move || Intent::new(Kind::Read, &self.object, site);
        if let Some(pen) = crate::record::control::wait(wait, || self.peek()) {
            pen.split(site);
        }
    }

    /// Does it by `enter`, which calls [`Inside::enter`], does it, and calls what it is given, all
    /// while it keeps others out; or waits, and finds that it was done.
    #[inline]
    pub(crate) fn once(
        &self,
        site: &'static Location<'static>,
        enter: impl FnOnce(&Inside<'_>, &dyn Fn()),
    ) {
        if !self.peek() {
            let ((), has_run) = initialise(&self.object, &self.busy, site, |inside| {
                enter(inside, &|| self.complete(site));
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
