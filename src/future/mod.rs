//! Futures as strands: what an executor's tasks, branches and transactions do is told apart, on
//! whatever threads they run.
//!
//! What reports call a thread is a *strand* of the program: steps that happen one after the other.
//! A thread that polls many futures runs many strands, and a task that moves between threads stays
//! one. So each task is a strand, each run of an `#[atomic] async fn` that is not part of another
//! transaction, and each branch of what runs futures side by side.
//!
//! With [`aerodrome::tokio`](crate::tokio) the runtime's tasks and the branches of `join!` and
//! `select!` are strands without further ado. Under any other executor wrap what it runs:
//! [`task`] around the future that is spawned, [`branch`] around those that one task polls side by
//! side (`join_all`, `FuturesUnordered`).
//!
//! ```
//! use aerodrome::future;
//! use std::future::Future;
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//!
//! // The smallest executor there is.
//! fn run<T>(future: impl Future<Output = T>) -> T {
//!     let mut future = pin!(future);
//!     loop {
//!         let mut context = Context::from_waker(Waker::noop());
//!         if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
//!             return output;
//!         }
//!     }
//! }
//!
//! assert_eq!(run(future::task(async { 1 + future::branch(async { 2 }).await })), 3);
//! ```
//!
//! Without the feature `check` they are the futures themselves.

#[cfg(feature = "check")]
mod strand;

use std::future::Future;
#[cfg(feature = "check")]
use std::panic::Location;

#[cfg(feature = "check")]
pub(crate) use self::strand::Stranded;
#[cfg(feature = "check")]
#[doc(hidden)]
pub use self::strand::atomic_future;

/// Makes a future a task: what it does is told apart from what else its thread runs. For the future
/// that an executor is given to spawn; everything that was done so far comes before it.
///
/// ```
/// # fn spawn(_: impl std::future::Future<Output = ()> + Send + 'static) {}
/// use aerodrome::future;
///
/// spawn(future::task(async {
///     // ..
/// }));
/// ```
#[cfg_attr(feature = "check", track_caller)]
pub fn task<F: Future>(future: F) -> impl Future<Output = F::Output> {
    #[cfg(feature = "check")]
    let future = Stranded::detached(future, Location::caller());
    future
}

/// Makes a future a branch: what it does is told apart from what is done by the futures that are
/// polled beside it. In a transaction it is part of that, as everything is.
///
/// ```
/// use aerodrome::future::branch;
/// # use std::pin::pin;
/// # use std::task::{Context, Poll, Waker};
/// use std::future::{Future, poll_fn};
///
/// /// Polls both until both are done.
/// async fn both(a: impl Future<Output = ()>, b: impl Future<Output = ()>) {
///     let (mut a, mut b) = (pin!(branch(a)), pin!(branch(b)));
///     let (mut is_a_done, mut is_b_done) = (false, false);
///     poll_fn(|context| {
///         is_a_done = is_a_done || a.as_mut().poll(context).is_ready();
///         is_b_done = is_b_done || b.as_mut().poll(context).is_ready();
///         if is_a_done && is_b_done { Poll::Ready(()) } else { Poll::Pending }
///     })
///     .await
/// }
/// # let future = pin!(both(async {}, async {}));
/// # assert!(future.poll(&mut Context::from_waker(Waker::noop())).is_ready());
/// ```
#[cfg_attr(feature = "check", track_caller)]
pub fn branch<F: Future>(future: F) -> impl Future<Output = F::Output> {
    #[cfg(feature = "check")]
    let future = Stranded::branch(future, Location::caller());
    future
}
