//! tokio 1, tracked: `use aerodrome::tokio;` in place of the crate.
//!
//! Without the feature `check` every name here *is* the one of tokio. With it, a task is a strand
//! of its own, and so is a branch of [`join!`], [`try_join!`] and [`select!`]; the locks and
//! channels of [`sync`] record what is done with them. What is not declared here is tokio's own.
//!
//! ```
//! use aerodrome::atomic;
//! use aerodrome::tokio; // shadows the crate, in `#[tokio::main]` and `#[tokio::test]`, too
//! use aerodrome::tokio::sync::Mutex;
//! use std::sync::Arc;
//!
//! #[atomic]
//! async fn deposit(balance: &Mutex<u64>, amount: u64) -> u64 {
//!     let mut balance = balance.lock().await;
//!     *balance += amount;
//!     *balance
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() {
//!     let balance = Arc::new(Mutex::new(1));
//!     let other = balance.clone();
//!     let task = tokio::spawn(async move { deposit(&other, 2).await });
//!     deposit(&balance, 3).await;
//!     task.await.unwrap();
//!     assert_eq!(*balance.lock().await, 6);
//! }
//! ```
//!
//! # What is recorded
//!
//! | operation | recorded as |
//! |---|---|
//! | a guard of [`Mutex`](sync::Mutex) or [`RwLock`](sync::RwLock) is taken, dropped | acquire, release; its first `Deref`, `DerefMut` in a transaction a read, a write of the content. To wait for the lock does not end the transaction |
//! | permits of a [`Semaphore`](sync::Semaphore) | with one permit a lock; with several, acquire and release commute. `available_permits` and a failed try read, `close` and `forget_permits` write |
//! | `notify_one`, `notify_waiters` | what is notified comes after it; `notify_waiters` also reads who waits |
//! | `notified` | an update of who waits, after which the transaction ends; so it does before the future waits |
//! | a [`watch`](sync::watch) channel | its value is a lock's content: `send` writes, `borrow` reads. `send` reads who has subscribed, and `subscribe` updates that, after which the transaction ends. `changed` and `wait_for` wait |
//! | a [`broadcast`](sync::broadcast) channel | the message's send before its receipts; `subscribe` as above; `len` and a receiver that lags read the channel |
//! | [`mpsc`](sync::mpsc), [`oneshot`](sync::oneshot) | the message's send before its receipt, and an update of the channel. To wait for a message or for room ends the transaction |
//! | [`OnceCell`](sync::OnceCell), [`Barrier`](sync::Barrier) | as `OnceLock` and `Barrier` of [`aerodrome::sync`](crate::sync) |
//! | [`spawn`], [`JoinHandle`](task::JoinHandle), [`JoinSet`](task::JoinSet), [`LocalSet`](task::LocalSet) | everything so far comes before the task; a task that was awaited comes before what follows |
//! | [`yield_now`](task::yield_now), [`sleep`](time::sleep) | a pause |
//!
//! # Panics
//!
//! A violation is told by the test's own thread, as everywhere: at the end of `block_on`, where it
//! awaits a task, and where it begins a transaction. Tasks do not tell any, because tokio catches
//! their panics.
//!
//! # Left out
//!
//! Tasks that are spawned by other crates, by way of tokio itself, are not told apart: each counts
//! as part of the thread that polls it. `tokio::time`'s `timeout` and `interval` are tokio's own.

pub use ::tokio::*;

#[cfg(feature = "check")]
pub mod runtime;
#[cfg(feature = "check")]
pub mod sync;
#[cfg(feature = "check")]
pub mod task;
#[cfg(feature = "check")]
pub mod time;

#[cfg(feature = "check")]
#[allow(
    hidden_glob_reexports,
    reason = "tokio's module of this name is private"
)]
mod macros;

#[cfg(feature = "check")]
pub use self::task::spawn;
#[cfg(feature = "check")]
pub use crate::{__tokio_join as join, __tokio_select as select, __tokio_try_join as try_join};
