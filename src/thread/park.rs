//! Handles to threads, parking and unparking.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::record::code::TypeName;
use crate::record::{self, Intent, Kind, Object, Pen, What, pen};
use crate::trace::ObjectKind;

/// What orders a thread's `unpark`s before its `park`s.
#[derive(Clone)]
pub(crate) struct Parker(Arc<Token>);

/// The order of `unpark`s and `park`s, and the token, which the real park keeps to itself. Parking
/// under control takes it here.
pub(crate) struct Token {
    object: Object,
    is_there: AtomicBool,
}

impl Token {
    #[track_caller]
    pub(crate) const fn new(type_name: TypeName) -> Self {
        Self {
            object: Object::new(ObjectKind::Signal, type_name),
            is_there: AtomicBool::new(false),
        }
    }

    /// Gives the token; the real `unpark` follows.
    pub(crate) fn unpark(&self, site: &'static Location<'static>) {
        if let Some(pen) = record::step(move || Intent::new(Kind::Unpark, &self.object, site)) {
            pen.event(What::Signal, &self.object, site);
        }
        self.is_there.store(true, Ordering::Release);
    }

    /// Splits the transaction, parks, and comes after every `unpark` so far. `park` parks really.
    pub(crate) fn park(
        &self,
        pen: Pen,
        limit: impl FnOnce() -> Option<Duration>,
        site: &'static Location<'static>,
        park: impl FnOnce(),
    ) {
        pen.split(site);
        if record::is_controlled() {
            // The real token, if there is one, is left over, and a later park may find it.
            let is_there = || self.is_there.load(Ordering::Acquire);
            let park = move || Intent::new(Kind::Park, &self.object, site);
            record::wait_for(park, limit(), is_there);
        } else {
            park();
        }
        self.is_there.store(false, Ordering::Release);
        if let Some(pen) = record::pen() {
            pen.event(What::Await, &self.object, site);
        }
    }
}

impl Parker {
    #[track_caller]
    pub(crate) fn new() -> Self {
        Self(Arc::new(Token::new(std::any::type_name::<Thread>)))
    }

    /// Makes this the current thread's.
    pub(crate) fn install(self) {
        // Fails in a thread that is ending, which is not going to park.
        let _ = PARKER.try_with(|parker| parker.set(self));
    }
}

thread_local! {
    static PARKER: OnceCell<Parker> = const { OnceCell::new() };
    /// Whether this thread's parker is being made.
    static BEING_MADE: Cell<bool> = const { Cell::new(false) };
}

/// None in a thread that is ending, and to an allocator that is asked for the parker's own memory.
fn current_parker() -> Option<Parker> {
    PARKER
        .try_with(|parker| {
            if parker.get().is_none() && !BEING_MADE.replace(true) {
                let made = Parker::new();
                BEING_MADE.set(false);
                made.install();
            }
            parker.get().cloned()
        })
        .ok()
        .flatten()
}

/// A handle to a thread: [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread {
    inner: thread::Thread,
    parker: Option<Parker>,
}

impl Thread {
    pub(crate) fn new(inner: thread::Thread, parker: Option<Parker>) -> Self {
        Self { inner, parker }
    }

    /// See [`std::thread::Thread::unpark`]. Comes before the thread's next return from [`park`].
    #[track_caller]
    pub fn unpark(&self) {
        if let Some(Parker(token)) = &self.parker {
            token.unpark(Location::caller());
        }
        self.inner.unpark();
    }

    /// See [`std::thread::Thread::id`].
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.inner.id()
    }

    /// See [`std::thread::Thread::name`].
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.inner.name()
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// See [`std::thread::current`].
#[must_use]
pub fn current() -> Thread {
    Thread {
        inner: thread::current(),
        parker: current_parker(),
    }
}

/// Parks, in the way `park` says.
#[track_caller]
fn parked(limit: Option<Duration>, park: impl FnOnce()) {
    let Some((pen, Parker(token))) = pen().zip(current_parker()) else {
        return park();
    };
    token.park(pen, || limit, Location::caller(), park);
}

/// See [`std::thread::park`]. Waiting for another thread cannot be atomic: a transaction ends here,
/// and a new one begins.
#[track_caller]
pub fn park() {
    parked(None, thread::park);
}

/// See [`std::thread::park_timeout`].
#[track_caller]
pub fn park_timeout(duration: Duration) {
    parked(Some(duration), || thread::park_timeout(duration));
}

/// See [`std::thread::park_timeout_ms`].
#[deprecated(note = "replaced by `park_timeout`, as in std")]
#[track_caller]
pub fn park_timeout_ms(milliseconds: u32) {
    park_timeout(Duration::from_millis(u64::from(milliseconds)));
}
