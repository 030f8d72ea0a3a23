//! Threads that a scope joins.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::handle::{Builder, ExitHere, Forked};
use super::park::{Parker, Thread};
use crate::collect;
use crate::record::{self, pen};

/// See [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    inner: &'scope thread::Scope<'scope, 'env>,
    /// The strands that the scope's end is going to join.
    children: &'scope Children,
    /// Std's is no `UnwindSafe`, which a reference to it would be.
    unwind: PhantomData<&'scope mut &'env ()>,
}

/// The strands forked in a scope and not joined by hand.
#[derive(Default)]
pub(crate) struct Children(Mutex<Vec<u32>>);

impl Children {
    pub(crate) fn add(&self, id: u32) {
        self.lock().push(id);
    }

    /// The thread has been joined by hand.
    pub(crate) fn join(&self, id: u32, site: &'static Location<'static>) {
        if !self.remove(id) {
            return;
        }
        if let Some(pen) = pen() {
            pen.join(id, site);
            collect::joined();
        }
    }

    /// Whether the child was still there.
    fn remove(&self, id: u32) -> bool {
        let mut ids = self.lock();
        ids.iter()
            .position(|&child| child == id)
            .map(|at| ids.swap_remove(at))
            .is_some()
    }

    /// Waits for the end of all strands, some of which may fork others meanwhile.
    fn wait_for_all(&self, site: &'static Location<'static>) {
        let mut waited = Vec::new();
        loop {
            let next = self.lock().iter().find(|id| !waited.contains(*id)).copied();
            // Where there is none, what is held back is published all the same.
            record::wait_for_end(next, site);
            match next {
                Some(id) => waited.push(id),
                None => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All threads have ended: joins their strands.
    fn join_all(&self, site: &'static Location<'static>) {
        for id in std::mem::take(&mut *self.lock()) {
            if let Some(pen) = pen() {
                pen.join(id, site);
            }
        }
    }
}

/// Waits for the strands when the scope's closure is over, on return as on unwinding: the real
/// scope is about to.
pub(crate) struct WaitForAll<'a>(
    pub(crate) &'a Children,
    pub(crate) &'static Location<'static>,
);

impl Drop for WaitForAll<'_> {
    fn drop(&mut self) {
        self.0.wait_for_all(self.1);
    }
}

/// Joins the strands when the scope is over, on return as on unwinding.
pub(crate) struct JoinAll<'a>(
    pub(crate) &'a Children,
    pub(crate) &'static Location<'static>,
);

impl Drop for JoinAll<'_> {
    fn drop(&mut self) {
        self.0.join_all(self.1);
    }
}

/// See [`std::thread::scope`]. Everything that the scope's threads did comes before its end.
///
/// # Panics
///
/// As std's, if a thread that was not joined panicked; and with the report, if this is a test's own
/// thread, or `main`'s, and a violation was found among its threads.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let children = Children::default();
    let mut place = MaybeUninit::<Scope<'_, '_>>::uninit();
    let place = place.as_mut_ptr().cast::<()>();
    let site = Location::caller();
    let join_all = JoinAll(&children, site);
    let result = thread::scope(|inner| {
        let children: *const Children = &children;
        // SAFETY: `'scope` ends when `thread::scope` returns, and `children` is dropped after that.
        let children = unsafe { &*children };
        let place = place.cast();
        // SAFETY: the place is large and aligned enough for a `Scope` of any lifetimes, is used
        // once, and outlives `'scope`, as above. A `Scope` has nothing to drop.
        let scope = unsafe {
            std::ptr::write(
                place,
                Scope {
                    inner,
                    children,
                    unwind: PhantomData,
                },
            );
            &*place
        };
        let _wait = WaitForAll(children, site);
        f(scope)
    });
    drop(join_all);
    collect::joined();
    result
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// See [`std::thread::Scope::spawn`].
    ///
    /// # Panics
    ///
    /// As std's: where the system cannot make another thread.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new()
            .spawn_scoped(self, f)
            .expect("failed to spawn thread")
    }

    #[track_caller]
    pub(super) fn fork<F, T>(
        &'scope self,
        builder: Builder,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let (builder, name) = builder.into_parts();
        let (forked, child) = Forked::new(name.as_deref());
        let parker = Parker::new();
        let childs = parker.clone();
        let main = move || {
            // The scope's end waits for this closure, not for the thread's destructors: the strand
            // ends here.
            let _exit = child.map(|child| {
                child.start();
                ExitHere
            });
            childs.install();
            f()
        };
        let inner = builder.spawn_scoped(self.inner, main)?;
        let thread = Thread::new(inner.thread().clone(), Some(parker));
        let strand = forked.into_id();
        if let Some(id) = strand {
            self.children.add(id);
        }
        Ok(ScopedJoinHandle {
            inner,
            thread,
            strand,
            children: self.children,
        })
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// See [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    inner: thread::ScopedJoinHandle<'scope, T>,
    thread: Thread,
    strand: Option<u32>,
    children: &'scope Children,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// See [`std::thread::ScopedJoinHandle::thread`].
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// See [`std::thread::ScopedJoinHandle::join`]. Everything that the thread did comes before.
    ///
    /// # Errors
    ///
    /// What the thread panicked with.
    ///
    /// # Panics
    ///
    /// As [`JoinHandle::join`](super::JoinHandle::join).
    #[track_caller]
    pub fn join(self) -> thread::Result<T> {
        record::wait_for_end(self.strand, Location::caller());
        let result = self.inner.join();
        if let Some(id) = self.strand {
            self.children.join(id, Location::caller());
        }
        result
    }

    /// See [`std::thread::ScopedJoinHandle::is_finished`].
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        record::step_look_at(self.strand, Location::caller());
        self.inner.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
