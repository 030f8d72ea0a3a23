//! Whether something has been done, once and for all: what `Once` and its kin carry.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

use super::clock::Clock;
use super::code::TypeName;
use super::{Object, What, initialise, pen};

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
        match pen() {
            Some(pen) => pen.load(&self.object, site, || self.peek()),
            None => self.peek(),
        }
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
        if let Some(pen) = pen() {
            pen.look(What::Found, &self.object, site, || self.peek());
        }
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
