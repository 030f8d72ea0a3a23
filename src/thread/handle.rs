//! Threads that are joined by hand, or not at all.

use std::fmt;
use std::io;
use std::panic::Location;
use std::thread;

use super::park::{Parker, Thread};
use crate::collect;
use crate::record::{self, Child, pen};

/// A strand that a handle stands for, until it was joined or the handle is dropped.
pub(crate) struct Forked(Option<u32>);

impl Forked {
    /// Forks; the child is to [`start`](Child::start) on its thread.
    #[track_caller]
    pub(crate) fn new(name: Option<&str>) -> (Self, Option<Child>) {
        let site = Location::caller();
        let child = pen().and_then(|pen| pen.fork(name, site));
        (Self(child.as_ref().map(Child::id)), child)
    }

    /// The strand's number, which somebody else is going to join.
    pub(crate) fn into_id(mut self) -> Option<u32> {
        self.0.take()
    }

    /// The thread has been joined, and nobody asks yet what it did.
    #[track_caller]
    pub(crate) fn joined_quietly(mut self) {
        let Some(id) = self.0.take() else { return };
        if let Some(pen) = pen() {
            pen.join(id, Location::caller());
        }
    }

    /// The thread has been joined.
    #[track_caller]
    pub(super) fn joined(mut self) {
        let Some(id) = self.0.take() else { return };
        if let Some(pen) = pen() {
            pen.join(id, Location::caller());
            collect::joined();
        }
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        if let Some(pen) = pen() {
            pen.detach(id);
        }
    }
}

/// See [`std::thread::JoinHandle`].
pub struct JoinHandle<T> {
    inner: thread::JoinHandle<T>,
    thread: Thread,
    forked: Forked,
}

impl<T> JoinHandle<T> {
    /// See [`std::thread::JoinHandle::thread`].
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// See [`std::thread::JoinHandle::join`]. Everything that the thread did comes before.
    ///
    /// # Errors
    ///
    /// What the thread panicked with.
    ///
    /// # Panics
    ///
    /// With the report, if this is a test's own thread, or `main`'s, and a violation was found
    /// among its threads.
    #[track_caller]
    pub fn join(self) -> thread::Result<T> {
        record::wait_for_end(self.forked.0, Location::caller());
        let result = self.inner.join();
        self.forked.joined();
        result
    }

    /// See [`std::thread::JoinHandle::is_finished`].
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        record::step_look_at(self.forked.0, Location::caller());
        self.inner.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[cfg(unix)]
impl<T> std::os::unix::thread::JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> std::os::unix::thread::RawPthread {
        self.inner.as_pthread_t()
    }

    fn into_pthread_t(self) -> std::os::unix::thread::RawPthread {
        self.inner.into_pthread_t()
    }
}

/// See [`std::thread::Builder`].
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    inner: thread::Builder,
    name: Option<String>,
}

impl Builder {
    /// See [`std::thread::Builder::new`].
    #[allow(clippy::new_without_default, reason = "as in std")]
    pub fn new() -> Self {
        Self {
            inner: thread::Builder::new(),
            name: None,
        }
    }

    /// See [`std::thread::Builder::name`].
    pub fn name(self, name: String) -> Self {
        Self {
            inner: self.inner.name(name.clone()),
            name: Some(name),
        }
    }

    /// See [`std::thread::Builder::stack_size`].
    pub fn stack_size(self, size: usize) -> Self {
        Self {
            inner: self.inner.stack_size(size),
            ..self
        }
    }

    pub(super) fn into_parts(self) -> (thread::Builder, Option<String>) {
        (self.inner, self.name)
    }

    /// See [`std::thread::Builder::spawn`].
    ///
    /// # Errors
    ///
    /// As std's: where the system cannot make another thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: everything is `'static`.
        unsafe { self.spawn_unchecked(f) }
    }

    /// See [`std::thread::Builder::spawn_unchecked`].
    ///
    /// # Safety
    ///
    /// As std's: the thread must not outlive what it borrows.
    ///
    /// # Errors
    ///
    /// As std's.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let (forked, child) = Forked::new(self.name.as_deref());
        let parker = Parker::new();
        let childs = parker.clone();
        let main = move || {
            if let Some(child) = child {
                child.start();
            }
            childs.install();
            f()
        };
        // SAFETY: the caller's.
        let inner = unsafe { self.inner.spawn_unchecked(main) }?;
        let thread = Thread::new(inner.thread().clone(), Some(parker));
        Ok(JoinHandle {
            inner,
            thread,
            forked,
        })
    }

    /// See [`std::thread::Builder::spawn_scoped`].
    ///
    /// # Errors
    ///
    /// As std's.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope super::Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<super::ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.fork(self, f)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// See [`std::thread::spawn`].
///
/// # Panics
///
/// As std's: where the system cannot make another thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Ends the current strand when dropped, on return as on unwinding.
pub(crate) struct ExitHere;

impl Drop for ExitHere {
    fn drop(&mut self) {
        record::exit();
    }
}
