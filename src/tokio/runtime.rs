//! `tokio::runtime`, tracked: what it runs are strands.

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Deref;
use std::panic::Location;
use std::pin::pin;
use std::time::Duration;

pub use ::tokio::runtime::*;

use super::task::{JoinHandle, fork, fork_blocking};
use crate::collect;
use crate::record::pen;

/// Runs a future on the current strand, which publishes what it holds back before it waits.
async fn here<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        let result = future.as_mut().poll(context);
        if let (true, Some(pen)) = (result.is_pending(), pen()) {
            pen.flush();
        }
        result
    })
    .await
}

/// See [`tokio::runtime::Runtime`](::tokio::runtime::Runtime), which it derefs to.
#[derive(Debug)]
pub struct Runtime {
    inner: ::tokio::runtime::Runtime,
    handle: Handle,
}

impl From<::tokio::runtime::Runtime> for Runtime {
    fn from(inner: ::tokio::runtime::Runtime) -> Self {
        let handle = Handle::from(inner.handle().clone());
        Self { inner, handle }
    }
}

impl Deref for Runtime {
    type Target = ::tokio::runtime::Runtime;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl Runtime {
    /// See [`tokio::runtime::Runtime::new`](::tokio::runtime::Runtime::new).
    ///
    /// # Errors
    ///
    /// As tokio's.
    pub fn new() -> io::Result<Self> {
        ::tokio::runtime::Runtime::new().map(Self::from)
    }

    /// tokio's own.
    pub fn into_inner(self) -> ::tokio::runtime::Runtime {
        self.inner
    }

    /// See [`tokio::runtime::Runtime::handle`](::tokio::runtime::Runtime::handle).
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// See [`tokio::runtime::Runtime::spawn`](::tokio::runtime::Runtime::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// See [`tokio::runtime::Runtime::spawn_blocking`](::tokio::runtime::Runtime::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(f)
    }

    /// See [`tokio::runtime::Runtime::block_on`](::tokio::runtime::Runtime::block_on). The future
    /// runs on the current strand.
    ///
    /// # Panics
    ///
    /// As tokio's; and with the report, if this is a test's own thread, or `main`'s, and a
    /// violation was found among its threads and tasks.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let output = self.inner.block_on(here(future));
        collect::joined();
        output
    }

    /// See [`tokio::runtime::Runtime::shutdown_timeout`](::tokio::runtime::Runtime::shutdown_timeout).
    pub fn shutdown_timeout(self, duration: Duration) {
        self.inner.shutdown_timeout(duration);
    }

    /// See [`tokio::runtime::Runtime::shutdown_background`](::tokio::runtime::Runtime::shutdown_background).
    pub fn shutdown_background(self) {
        self.inner.shutdown_background();
    }
}

/// See [`tokio::runtime::Handle`](::tokio::runtime::Handle), which it derefs to.
#[derive(Clone, Debug)]
pub struct Handle {
    inner: ::tokio::runtime::Handle,
}

impl From<::tokio::runtime::Handle> for Handle {
    fn from(inner: ::tokio::runtime::Handle) -> Self {
        Self { inner }
    }
}

impl Deref for Handle {
    type Target = ::tokio::runtime::Handle;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl Handle {
    /// See [`tokio::runtime::Handle::current`](::tokio::runtime::Handle::current).
    #[track_caller]
    pub fn current() -> Self {
        ::tokio::runtime::Handle::current().into()
    }

    /// See [`tokio::runtime::Handle::try_current`](::tokio::runtime::Handle::try_current).
    ///
    /// # Errors
    ///
    /// As tokio's: outside of a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        ::tokio::runtime::Handle::try_current().map(Self::from)
    }

    /// tokio's own.
    pub fn into_inner(self) -> ::tokio::runtime::Handle {
        self.inner
    }

    /// See [`tokio::runtime::Handle::spawn`](::tokio::runtime::Handle::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let site = Location::caller();
        let (task, strand) = fork(future, site);
        JoinHandle::new(self.inner.spawn(task), strand, site)
    }

    /// See [`tokio::runtime::Handle::spawn_blocking`](::tokio::runtime::Handle::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let site = Location::caller();
        let (run, strand) = fork_blocking(f, site);
        JoinHandle::new(self.inner.spawn_blocking(run), strand, site)
    }

    /// See [`tokio::runtime::Handle::block_on`](::tokio::runtime::Handle::block_on). The future
    /// runs on the current strand.
    ///
    /// # Panics
    ///
    /// As [`Runtime::block_on`].
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let output = self.inner.block_on(here(future));
        collect::joined();
        output
    }
}

/// See [`tokio::runtime::Builder`](::tokio::runtime::Builder).
pub struct Builder {
    inner: ::tokio::runtime::Builder,
}

/// The settings, which are tokio's.
macro_rules! settings {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!(
            "See [`tokio::runtime::Builder::", stringify!($name),
            "`](::tokio::runtime::Builder::", stringify!($name), ").",
        )]
        #[track_caller]
        pub fn $name(&mut self $(, $argument: $type)*) -> &mut Self {
            self.inner.$name($($argument),*);
            self
        }
    )*};
}

impl Builder {
    /// See [`tokio::runtime::Builder::new_current_thread`](::tokio::runtime::Builder::new_current_thread).
    pub fn new_current_thread() -> Self {
        let inner = ::tokio::runtime::Builder::new_current_thread();
        Self { inner }
    }

    /// See [`tokio::runtime::Builder::new_multi_thread`](::tokio::runtime::Builder::new_multi_thread).
    pub fn new_multi_thread() -> Self {
        let inner = ::tokio::runtime::Builder::new_multi_thread();
        Self { inner }
    }

    /// tokio's own, for settings that only some of its features have.
    pub fn as_inner(&mut self) -> &mut ::tokio::runtime::Builder {
        &mut self.inner
    }

    settings! {
        enable_all();
        enable_time();
        worker_threads(val: usize);
        max_blocking_threads(val: usize);
        thread_name(val: impl Into<String>);
        thread_name_fn(f: impl Fn() -> String + Send + Sync + 'static);
        thread_stack_size(val: usize);
        on_thread_start(f: impl Fn() + Send + Sync + 'static);
        on_thread_stop(f: impl Fn() + Send + Sync + 'static);
        on_thread_park(f: impl Fn() + Send + Sync + 'static);
        on_thread_unpark(f: impl Fn() + Send + Sync + 'static);
        thread_keep_alive(duration: Duration);
        global_queue_interval(val: u32);
        event_interval(val: u32);
    }

    /// See [`tokio::runtime::Builder::build`](::tokio::runtime::Builder::build).
    ///
    /// # Errors
    ///
    /// As tokio's.
    pub fn build(&mut self) -> io::Result<Runtime> {
        self.inner.build().map(Runtime::from)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
