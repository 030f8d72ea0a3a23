//! `tokio::task`, tracked.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub use ::tokio::task::*;

use crate::collect;
use crate::future::Stranded;
use crate::record::{Fiber, Part, pen};
use crate::tokio::runtime::Handle;

/// The strand of a task, until the task was joined or its handle is dropped.
#[derive(Debug)]
pub(super) struct Strand(Option<u32>);

impl Strand {
    /// The task has ended: everything that it did comes before what follows.
    #[track_caller]
    fn join(&mut self, site: &'static Location<'static>) {
        if let (Some(id), Some(pen)) = (self.0.take(), pen()) {
            pen.join(id, site);
            collect::joined();
        }
    }
}

impl Drop for Strand {
    fn drop(&mut self) {
        if let (Some(id), Some(pen)) = (self.0, pen()) {
            pen.detach(id);
        }
    }
}

/// Forks a task's strand, on which the future runs.
pub(super) fn fork<F: Future>(
    future: F,
    site: &'static Location<'static>,
) -> (impl Future<Output = F::Output> + use<F>, Strand) {
    let (task, id) = Stranded::task(future, site);
    (task, Strand(id))
}

/// Forks a strand that runs a closure.
pub(super) fn fork_blocking<R>(
    f: impl FnOnce() -> R,
    site: &'static Location<'static>,
) -> (impl FnOnce() -> R, Strand) {
    let fiber = pen().and_then(|pen| pen.fork_fiber(Part::Task, site));
    let strand = Strand(fiber.as_ref().map(Fiber::id));
    let run = move || {
        let mut fiber = fiber;
        let _entered = fiber.as_mut().map(Fiber::enter);
        f()
    };
    (run, strand)
}

/// See [`tokio::task::JoinHandle`](::tokio::task::JoinHandle).
pub struct JoinHandle<T> {
    inner: ::tokio::task::JoinHandle<T>,
    strand: Strand,
    site: &'static Location<'static>,
}

impl<T> JoinHandle<T> {
    pub(super) fn new(
        inner: ::tokio::task::JoinHandle<T>,
        strand: Strand,
        site: &'static Location<'static>,
    ) -> Self {
        Self {
            inner,
            strand,
            site,
        }
    }

    /// See [`tokio::task::JoinHandle::abort`](::tokio::task::JoinHandle::abort).
    pub fn abort(&self) {
        self.inner.abort();
    }

    /// See [`tokio::task::JoinHandle::is_finished`](::tokio::task::JoinHandle::is_finished).
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    /// See [`tokio::task::JoinHandle::abort_handle`](::tokio::task::JoinHandle::abort_handle).
    pub fn abort_handle(&self) -> AbortHandle {
        self.inner.abort_handle()
    }

    /// See [`tokio::task::JoinHandle::id`](::tokio::task::JoinHandle::id).
    pub fn id(&self) -> Id {
        self.inner.id()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(Pin::new(&mut self.inner).poll(context));
        let site = self.site;
        self.strand.join(site);
        Poll::Ready(result)
    }
}

impl<T: fmt::Debug> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// See [`tokio::spawn`](::tokio::spawn()).
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let site = Location::caller();
    let (task, strand) = fork(future, site);
    JoinHandle::new(::tokio::spawn(task), strand, site)
}

/// See [`tokio::task::spawn_local`](::tokio::task::spawn_local()).
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let site = Location::caller();
    let (task, strand) = fork(future, site);
    JoinHandle::new(::tokio::task::spawn_local(task), strand, site)
}

/// See [`tokio::task::spawn_blocking`](::tokio::task::spawn_blocking()).
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let site = Location::caller();
    let (run, strand) = fork_blocking(f, site);
    JoinHandle::new(::tokio::task::spawn_blocking(run), strand, site)
}

/// See [`tokio::task::yield_now`](::tokio::task::yield_now()). In a block it is a wait if the block
/// then looks again at what it has looked at.
#[track_caller]
pub fn yield_now() -> impl Future<Output = ()> {
    let site = Location::caller();
    async move {
        if let Some(pen) = pen() {
            pen.pause(site);
        }
        ::tokio::task::yield_now().await;
    }
}

/// See [`tokio::task::LocalSet`](::tokio::task::LocalSet).
#[derive(Debug, Default)]
pub struct LocalSet {
    inner: ::tokio::task::LocalSet,
}

impl LocalSet {
    /// See [`tokio::task::LocalSet::new`](::tokio::task::LocalSet::new).
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`tokio::task::LocalSet::enter`](::tokio::task::LocalSet::enter).
    pub fn enter(&self) -> LocalEnterGuard {
        self.inner.enter()
    }

    /// See [`tokio::task::LocalSet::spawn_local`](::tokio::task::LocalSet::spawn_local).
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let site = Location::caller();
        let (task, strand) = fork(future, site);
        JoinHandle::new(self.inner.spawn_local(task), strand, site)
    }

    /// See [`tokio::task::LocalSet::block_on`](::tokio::task::LocalSet::block_on).
    #[track_caller]
    pub fn block_on<F: Future>(
        &self,
        runtime: &crate::tokio::runtime::Runtime,
        future: F,
    ) -> F::Output {
        runtime.block_on(self.run_until(future))
    }

    /// See [`tokio::task::LocalSet::run_until`](::tokio::task::LocalSet::run_until).
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        self.inner.run_until(future).await
    }
}

impl Future for LocalSet {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.inner).poll(context)
    }
}

/// See [`tokio::task::JoinSet`](::tokio::task::JoinSet).
pub struct JoinSet<T> {
    inner: ::tokio::task::JoinSet<T>,
    strands: HashMap<Id, Strand>,
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> JoinSet<T> {
    /// See [`tokio::task::JoinSet::new`](::tokio::task::JoinSet::new).
    pub fn new() -> Self {
        Self {
            inner: ::tokio::task::JoinSet::new(),
            strands: HashMap::new(),
        }
    }

    /// See [`tokio::task::JoinSet::len`](::tokio::task::JoinSet::len).
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// See [`tokio::task::JoinSet::is_empty`](::tokio::task::JoinSet::is_empty).
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

impl<T: 'static> JoinSet<T> {
    fn add(&mut self, handle: AbortHandle, strand: Strand) -> AbortHandle {
        self.strands.insert(handle.id(), strand);
        handle
    }

    /// See [`tokio::task::JoinSet::spawn`](::tokio::task::JoinSet::spawn).
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let (task, strand) = fork(task, Location::caller());
        let handle = self.inner.spawn(task);
        self.add(handle, strand)
    }

    /// See [`tokio::task::JoinSet::spawn_on`](::tokio::task::JoinSet::spawn_on).
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let (task, strand) = fork(task, Location::caller());
        let handle = self.inner.spawn_on(task, handle);
        self.add(handle, strand)
    }

    /// See [`tokio::task::JoinSet::spawn_local`](::tokio::task::JoinSet::spawn_local).
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        let (task, strand) = fork(task, Location::caller());
        let handle = self.inner.spawn_local(task);
        self.add(handle, strand)
    }

    /// See [`tokio::task::JoinSet::spawn_local_on`](::tokio::task::JoinSet::spawn_local_on).
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        let (task, strand) = fork(task, Location::caller());
        let handle = self.inner.spawn_local_on(task, &local_set.inner);
        self.add(handle, strand)
    }

    /// See [`tokio::task::JoinSet::spawn_blocking`](::tokio::task::JoinSet::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let (run, strand) = fork_blocking(f, Location::caller());
        let handle = self.inner.spawn_blocking(run);
        self.add(handle, strand)
    }

    /// See [`tokio::task::JoinSet::spawn_blocking_on`](::tokio::task::JoinSet::spawn_blocking_on).
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let (run, strand) = fork_blocking(f, Location::caller());
        let handle = self.inner.spawn_blocking_on(run, handle);
        self.add(handle, strand)
    }

    /// The task of a result has ended.
    #[track_caller]
    fn joined(
        &mut self,
        result: Result<(Id, T), JoinError>,
        site: &'static Location<'static>,
    ) -> Result<(Id, T), JoinError> {
        let id = match &result {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        if let Some(mut strand) = self.strands.remove(&id) {
            strand.join(site);
        }
        result
    }

    #[track_caller]
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        site: &'static Location<'static>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        let next = ready!(self.inner.poll_join_next_with_id(context));
        Poll::Ready(next.map(|result| self.joined(result, site)))
    }

    /// See [`tokio::task::JoinSet::join_next`](::tokio::task::JoinSet::join_next).
    #[track_caller]
    pub fn join_next(&mut self) -> impl Future<Output = Option<Result<T, JoinError>>> + '_ {
        let next = self.join_next_with_id();
        async move { next.await.map(without_id) }
    }

    /// See [`tokio::task::JoinSet::join_next_with_id`](::tokio::task::JoinSet::join_next_with_id).
    #[track_caller]
    pub fn join_next_with_id(
        &mut self,
    ) -> impl Future<Output = Option<Result<(Id, T), JoinError>>> + '_ {
        let site = Location::caller();
        std::future::poll_fn(move |context| self.poll_next(context, site))
    }

    /// See [`tokio::task::JoinSet::try_join_next`](::tokio::task::JoinSet::try_join_next).
    #[track_caller]
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id().map(without_id)
    }

    /// See [`tokio::task::JoinSet::try_join_next_with_id`](::tokio::task::JoinSet::try_join_next_with_id).
    #[track_caller]
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        let next = self.inner.try_join_next_with_id();
        next.map(|result| self.joined(result, Location::caller()))
    }

    /// See [`tokio::task::JoinSet::poll_join_next`](::tokio::task::JoinSet::poll_join_next).
    #[track_caller]
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        let next = ready!(self.poll_next(context, Location::caller()));
        Poll::Ready(next.map(without_id))
    }

    /// See [`tokio::task::JoinSet::poll_join_next_with_id`](::tokio::task::JoinSet::poll_join_next_with_id).
    #[track_caller]
    pub fn poll_join_next_with_id(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        self.poll_next(context, Location::caller())
    }

    /// See [`tokio::task::JoinSet::shutdown`](::tokio::task::JoinSet::shutdown).
    #[track_caller]
    pub fn shutdown(&mut self) -> impl Future<Output = ()> + '_ {
        let site = Location::caller();
        async move {
            self.abort_all();
            while std::future::poll_fn(|context| self.poll_next(context, site))
                .await
                .is_some()
            {}
        }
    }

    /// See [`tokio::task::JoinSet::join_all`](::tokio::task::JoinSet::join_all).
    #[track_caller]
    pub fn join_all(mut self) -> impl Future<Output = Vec<T>> {
        let site = Location::caller();
        async move {
            let mut output = Vec::with_capacity(self.len());
            while let Some(result) =
                std::future::poll_fn(|context| self.poll_next(context, site)).await
            {
                match result {
                    Ok((_, value)) => output.push(value),
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(error) => panic!("{error}"),
                }
            }
            output
        }
    }

    /// See [`tokio::task::JoinSet::abort_all`](::tokio::task::JoinSet::abort_all).
    pub fn abort_all(&mut self) {
        self.inner.abort_all();
    }

    /// See [`tokio::task::JoinSet::detach_all`](::tokio::task::JoinSet::detach_all).
    pub fn detach_all(&mut self) {
        self.inner.detach_all();
        self.strands.clear();
    }
}

fn without_id<T>(result: Result<(Id, T), JoinError>) -> Result<T, JoinError> {
    result.map(|(_, value)| value)
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn from_iter<I: IntoIterator<Item = F>>(iter: I) -> Self {
        let mut set = Self::new();
        for task in iter {
            set.spawn(task);
        }
        set
    }
}
