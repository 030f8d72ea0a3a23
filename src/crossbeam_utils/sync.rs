//! Waiting, and a lock for many readers.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ::crossbeam_utils::sync as real;

pub use crate::sync::{
    RwLock as ShardedLock, RwLockReadGuard as ShardedLockReadGuard,
    RwLockWriteGuard as ShardedLockWriteGuard,
};

use crate::record::{self, Intent, Kind, Object, What, is_controlled, left_until, step};
use crate::thread::scope_parts::Token;
use crate::trace::ObjectKind;

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
    token: Token,
}

// SAFETY: only the one `Parker` parks, and that is not `Sync`. Whoever else has it unparks.
unsafe impl Sync for Parking {}

impl Default for Parker {
    #[track_caller]
    fn default() -> Self {
        let token = Token::new(type_name::<Parker>);
        let parker = real::Parker::new();
        Self::of(Unparker(Arc::new(Parking { parker, token })))
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
    fn wait(&self, limit: impl FnOnce() -> Option<Duration>, park: impl FnOnce(&real::Parker)) {
        let Parking { parker, token } = &*self.unparker.0;
        match record::pen() {
            Some(pen) => token.park(pen, limit, Location::caller(), || park(parker)),
            None => park(parker),
        }
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn park(&self) {
        self.wait(|| None, real::Parker::park);
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn park_timeout(&self, timeout: Duration) {
        self.wait(|| Some(timeout), |parker| parker.park_timeout(timeout));
    }

    /// As crossbeam's.
    #[track_caller]
    pub fn park_deadline(&self, deadline: Instant) {
        let limit = || Some(left_until(deadline));
        self.wait(limit, |parker| parker.park_deadline(deadline));
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
        self.0.token.unpark(Location::caller());
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

/// One of a group waits.
struct Waits<'a>(&'a Group);

impl<'a> Waits<'a> {
    fn new(group: &'a Group) -> Self {
        group.waiting.fetch_add(1, Ordering::Relaxed);
        Waits(group)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As crossbeam's. What its clones' threads did before they dropped them comes before the return of
/// [`wait`](Self::wait).
pub struct WaitGroup {
    /// Nothing when it waits.
    inner: Option<real::WaitGroup>,
    group: Arc<Group>,
}

/// What the members of a group share. Each has it once.
struct Group {
    object: Object,
    /// How many of them wait.
    waiting: AtomicUsize,
}

impl Group {
    /// One of them has arrived.
    fn signal(&self, site: &'static Location<'static>) {
        if let Some(pen) = step(move || Intent::new(Kind::Close, &self.object, site)) {
            pen.event(What::Signal, &self.object, site);
        }
    }
}

impl Default for WaitGroup {
    #[track_caller]
    fn default() -> Self {
        let object = Object::new(ObjectKind::Signal, type_name::<WaitGroup>);
        WaitGroup {
            inner: Some(real::WaitGroup::new()),
            group: Arc::new(Group {
                object,
                waiting: AtomicUsize::new(0),
            }),
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
        let (group, site) = (&self.group, Location::caller());
        let Some(inner) = self.inner.take() else {
            return;
        };
        let Some(pen) = step(move || Intent::new(Kind::Close, &group.object, site)) else {
            return inner.wait();
        };
        pen.split(site);
        let _waits = Waits::new(group);
        if is_controlled() {
            // The others that wait have not begun to do so really.
            drop(inner);
            let wait = move || Intent::new(Kind::Read, &group.object, site);
            let all_wait = || Arc::strong_count(group) == group.waiting.load(Ordering::Relaxed);
            record::wait(wait, all_wait);
        } else {
            inner.wait();
        }
        if let Some(pen) = record::pen() {
            pen.event(What::Await, &group.object, site);
        }
    }
}

impl Drop for WaitGroup {
    #[track_caller]
    fn drop(&mut self) {
        if self.inner.is_some() {
            self.group.signal(Location::caller());
        }
    }
}

impl Clone for WaitGroup {
    fn clone(&self) -> WaitGroup {
        WaitGroup {
            inner: self.inner.clone(),
            group: Arc::clone(&self.group),
        }
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.as_ref().expect("it does not wait").fmt(f)
    }
}
