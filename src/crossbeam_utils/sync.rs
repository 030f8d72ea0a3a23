//! Waiting, and a lock for many readers.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::crossbeam_utils::sync as real;

pub use crate::sync::{
    RwLock as ShardedLock, RwLockReadGuard as ShardedLockReadGuard,
    RwLockWriteGuard as ShardedLockWriteGuard,
};

use crate::record::{Object, What, pen};
use crate::trace::ObjectKind;

/// Splits the transaction, waits, and comes after every signal so far.
fn wait(object: &Object, site: &'static Location<'static>, wait: impl FnOnce()) {
    let Some(pen) = pen() else { return wait() };
    pen.split(site);
    wait();
    if let Some(pen) = crate::record::pen() {
        pen.event(What::Await, object, site);
    }
}

fn signal(object: &Object, site: &'static Location<'static>) {
    if let Some(pen) = pen() {
        pen.event(What::Signal, object, site);
    }
}

/// As crossbeam's. Waiting for another thread cannot be atomic: a transaction ends where it parks,
/// and a new one begins.
pub struct Parker {
    unparker: Unparker,
    /// A parker is one thread's.
    marker: PhantomData<*const ()>,
}

// SAFETY: as crossbeam's: it may move to another thread, and only there it parks then.
unsafe impl Send for Parker {}

/// As crossbeam's.
pub struct Unparker(Arc<Parking>);

struct Parking {
    parker: real::Parker,
    object: Object,
}

// SAFETY: only the one `Parker` parks, and that is not `Sync`. Whoever else has it unparks.
unsafe impl Sync for Parking {}

impl Default for Parker {
    #[track_caller]
    fn default() -> Self {
        let object = Object::new(ObjectKind::Signal, type_name::<Parker>);
        let parker = real::Parker::new();
        Self::of(Unparker(Arc::new(Parking { parker, object })))
    }
}

impl Parker {
    /// As crossbeam's.
    #[track_caller]
    pub fn new() -> Parker {
        Self::default()
    }

    fn of(unparker: Unparker) -> Parker {
        let marker = PhantomData;
        Parker { unparker, marker }
    }

    #[track_caller]
    fn wait(&self, park: impl FnOnce(&real::Parker)) {
        let Parking { parker, object } = &*self.unparker.0;
        wait(object, Location::caller(), || park(parker));
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn park(&self) {
        self.wait(real::Parker::park);
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn park_timeout(&self, timeout: Duration) {
        self.wait(|parker| parker.park_timeout(timeout));
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn park_deadline(&self, deadline: Instant) {
        self.wait(|parker| parker.park_deadline(deadline));
    }

    /// As crossbeam's.
    pub fn unparker(&self) -> &Unparker {
        &self.unparker
    }

    /// As crossbeam's.
    pub fn into_raw(this: Parker) -> *const () {
        Unparker::into_raw(this.unparker)
    }

    /// As crossbeam's.
    ///
    /// # Safety
    ///
    /// The pointer is one that [`into_raw`](Self::into_raw) has given, and no other parker was made
    /// of it.
    pub unsafe fn from_raw(ptr: *const ()) -> Parker {
        // SAFETY: the caller's.
        Self::of(unsafe { Unparker::from_raw(ptr) })
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Parker { .. }")
    }
}

impl Unparker {
    /// As crossbeam's. Comes before the parker's next return from a wait.
    #[track_caller]
    pub fn unpark(&self) {
        signal(&self.0.object, Location::caller());
        self.0.parker.unparker().unpark();
    }

    /// As crossbeam's.
    pub fn into_raw(this: Unparker) -> *const () {
        Arc::into_raw(this.0).cast()
    }

    /// As crossbeam's.
    ///
    /// # Safety
    ///
    /// The pointer is one that [`into_raw`](Self::into_raw) has given, for each time once.
    pub unsafe fn from_raw(ptr: *const ()) -> Unparker {
        // SAFETY: the caller's.
        Unparker(unsafe { Arc::from_raw(ptr.cast()) })
    }
}

impl Clone for Unparker {
    fn clone(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Unparker { .. }")
    }
}

/// As crossbeam's. What its clones' threads did before they dropped them comes before the return of
/// [`wait`](Self::wait).
pub struct WaitGroup {
    /// Nothing when it waits.
    inner: Option<real::WaitGroup>,
    object: Arc<Object>,
}

impl Default for WaitGroup {
    #[track_caller]
    fn default() -> Self {
        let object = Object::new(ObjectKind::Signal, type_name::<WaitGroup>);
        WaitGroup {
            inner: Some(real::WaitGroup::new()),
            object: Arc::new(object),
        }
    }
}

impl WaitGroup {
    /// As crossbeam's.
    #[track_caller]
    pub fn new() -> Self {
        Self::default()
    }

    /// As crossbeam's. A transaction ends where it waits, and a new one begins.
    #[track_caller]
    pub fn wait(mut self) {
        if let Some(inner) = self.inner.take() {
            wait(&self.object, Location::caller(), || inner.wait());
        }
    }
}

impl Drop for WaitGroup {
    #[track_caller]
    fn drop(&mut self) {
        if self.inner.is_some() {
            signal(&self.object, Location::caller());
        }
    }
}

impl Clone for WaitGroup {
    fn clone(&self) -> WaitGroup {
        WaitGroup {
            inner: self.inner.clone(),
            object: Arc::clone(&self.object),
        }
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.as_ref().expect("it does not wait").fmt(f)
    }
}
