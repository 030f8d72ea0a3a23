//! Whether something has been done, once and for all: what `Once` and its kin carry.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

use super::clock::Clock;
use super::code::TypeName;
use super::{Object, What, pen};

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

    /// It has been done: a write. In a callback of somebody else's, so this must not panic.
    pub(crate) fn complete(&self, site: &'static Location<'static>) {
        let done = || self.done.store(true, Ordering::Release);
        match pen() {
            Some(pen) => pen.atomic(&self.object, site, || (done(), What::Write)),
            None => done(),
        }
    }
}
