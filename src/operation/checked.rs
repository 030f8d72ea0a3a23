//! What an object is in a checked build.

use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use parking_lot::{Mutex, MutexGuard};

use super::Object;
use crate::record::clock::Clock;
use crate::record::code::TypeName;
use crate::record::{self, Intent, Kind, Suspended, What};

/// The record, and the lock under which operations are recorded and done.
pub(super) struct Inner {
    turn: Mutex<()>,
    object: record::Object<Clock>,
}

impl Inner {
    #[track_caller]
    pub(super) const fn new(type_name: TypeName) -> Self {
        Inner {
            turn: Mutex::new(()),
            object: record::Object::atomic(type_name),
        }
    }
}

// A panic leaves nothing half done: the lock guards no data.
impl UnwindSafe for Inner {}
impl RefUnwindSafe for Inner {}

/// What an operation does to its object.
#[derive(Clone, Copy, Debug)]
#[allow(
    non_camel_case_types,
    reason = "the names are the attribute's arguments"
)]
pub enum Access {
    /// Looks.
    read,
    /// Changes.
    write,
    /// Looks and changes.
    update,
}

/// An operation, until this is dropped. Recording goes on before the next one has its turn.
#[must_use = "the operation ends when this is dropped"]
pub struct Operation<'a> {
    _rest: Option<(Suspended, MutexGuard<'a, ()>)>,
}

/// Begins an operation: waits for its turn, records the access, and suspends recording.
pub fn operate<'a, T: ?Sized>(
    object: &'a Object<T>,
    access: Access,
    site: &'static Location<'static>,
) -> Operation<'a> {
    let Inner { turn, object } = &object.inner;
    let (kind, what) = match access {
        Access::read => (Kind::Read, What::Read),
        Access::write => (Kind::Write, What::Write),
        Access::update => (Kind::Update, What::ReadWrite),
    };
    let announced = move || Intent::new(kind, object, site);
    let Some(pen) = record::wait(announced, || !turn.is_locked()) else {
        // Inside of another operation, for one.
        return Operation { _rest: None };
    };
    let turn = turn.try_lock().unwrap_or_else(|| {
        pen.flush();
        turn.lock()
    });
    pen.access(object, site, what);
    Operation {
        _rest: Some((Suspended::new(), turn)),
    }
}

impl<T: ?Sized> crate::name::Tracked for Object<T> {}

impl<T: ?Sized> crate::name::Sealed for Object<T> {
    #[track_caller]
    fn record_name(&self, number: u32) {
        if let Some(pen) = record::pen() {
            pen.name(&self.inner.object, number);
        }
    }
}
