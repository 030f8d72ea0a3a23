//! Threads that a scope joins, and that may have others join it.

use std::fmt;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::thread::Result;

use ::crossbeam_utils::thread as real;

use crate::record::wait_for_end;
use crate::thread::Thread;
use crate::thread::scope_parts::{Children, ExitHere, Forked, JoinAll, Parker, WaitForAll};

/// As crossbeam's. Everything that the scope's threads did comes before its end.
///
/// # Errors
///
/// As crossbeam's: what threads panicked with that were not joined.
///
/// # Panics
///
/// If `f` panics; and with the report, if this is a test's own thread, or `main`'s, and a violation
/// was found among its threads.
#[track_caller]
pub fn scope<'env, F, R>(f: F) -> Result<R>
where
    F: FnOnce(&Scope<'env>) -> R,
{
    let children = Arc::new(Children::default());
    let site = Location::caller();
    let join_all = JoinAll(&children, site);
    let result = real::scope(|inner: &real::Scope<'env>| {
        let _wait = WaitForAll(&children, site);
        let children = Arc::clone(&children);
        f(&Scope { inner, children })
    });
    drop(join_all);
    crate::collect::joined();
    result
}

/// As crossbeam's.
pub struct Scope<'env> {
    /// What it was made of outlives it.
    inner: *const real::Scope<'env>,
    children: Arc<Children>,
}

// SAFETY: as crossbeam's: it is for all threads of the scope.
unsafe impl Sync for Scope<'_> {}

impl<'env> Scope<'env> {
    fn inner(&self) -> &real::Scope<'env> {
        // SAFETY: a scope is made of a reference, and lent for less than that lives.
        unsafe { &*self.inner }
    }

    /// As crossbeam's.
    ///
    /// # Panics
    ///
    /// As crossbeam's: where the system cannot make another thread.
    #[track_caller]
    pub fn spawn<'scope, F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce(&Scope<'env>) -> T + Send + 'env,
        T: Send + 'env,
    {
        self.builder()
            .spawn(f)
            .expect("failed to spawn scoped thread")
    }

    /// As crossbeam's.
    pub fn builder<'scope>(&'scope self) -> ScopedThreadBuilder<'scope, 'env> {
        ScopedThreadBuilder {
            scope: self,
            inner: self.inner().builder(),
            name: None,
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}

/// As crossbeam's.
#[derive(Debug)]
pub struct ScopedThreadBuilder<'scope, 'env> {
    scope: &'scope Scope<'env>,
    inner: real::ScopedThreadBuilder<'scope, 'env>,
    name: Option<String>,
}

impl<'scope, 'env> ScopedThreadBuilder<'scope, 'env> {
    /// As crossbeam's.
    pub fn name(self, name: String) -> ScopedThreadBuilder<'scope, 'env> {
        ScopedThreadBuilder {
            inner: self.inner.name(name.clone()),
            name: Some(name),
            ..self
        }
    }

    /// As crossbeam's.
    pub fn stack_size(self, size: usize) -> ScopedThreadBuilder<'scope, 'env> {
        ScopedThreadBuilder {
            inner: self.inner.stack_size(size),
            ..self
        }
    }

    /// As crossbeam's.
    ///
    /// # Errors
    ///
    /// As crossbeam's: where the system cannot make another thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce(&Scope<'env>) -> T + Send + 'env,
        T: Send + 'env,
    {
        let (forked, child) = Forked::new(self.name.as_deref());
        let parker = Parker::new();
        let childs = parker.clone();
        let children = Arc::clone(&self.scope.children);
        let main = move |inner: &real::Scope<'env>| {
            // The scope's end waits for this closure, not for the thread's destructors.
            let _exit = child.map(|child| {
                child.start();
                ExitHere
            });
            childs.install();
            f(&Scope { inner, children })
        };
        let inner = self.inner.spawn(main)?;
        let thread = Thread::new(inner.thread().clone(), Some(parker));
        let strand = forked.into_id();
        let children = Arc::clone(&self.scope.children);
        if let Some(id) = strand {
            children.add(id);
        }
        Ok(ScopedJoinHandle {
            inner,
            thread,
            strand,
            children,
        })
    }
}

/// As crossbeam's.
pub struct ScopedJoinHandle<'scope, T> {
    inner: real::ScopedJoinHandle<'scope, T>,
    thread: Thread,
    strand: Option<u32>,
    children: Arc<Children>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As crossbeam's. Everything that the thread did comes before.
    ///
    /// # Errors
    ///
    /// What the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        wait_for_end(self.strand, Location::caller());
        let result = self.inner.join();
        if let Some(id) = self.strand {
            self.children.join(id, Location::caller());
        }
        result
    }

    /// As crossbeam's, tracked.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

#[cfg(unix)]
impl<T> std::os::unix::thread::JoinHandleExt for ScopedJoinHandle<'_, T> {
    fn as_pthread_t(&self) -> std::os::unix::thread::RawPthread {
        self.inner.as_pthread_t()
    }

    fn into_pthread_t(self) -> std::os::unix::thread::RawPthread {
        self.inner.into_pthread_t()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
