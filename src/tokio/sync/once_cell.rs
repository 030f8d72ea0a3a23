use std::any::type_name;
use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

use ::tokio::sync::{self as original, SetError};

use crate::record::clock::Clock;
use crate::record::{Object, What, pen, publish};

/// See [`tokio::sync::OnceCell`](original::OnceCell). Initialising commutes with itself and with
/// finding it done; `get` is a read, `set` a write.
pub struct OnceCell<T> {
    object: Object<Clock>,
    /// Decides who initialises, and makes the others wait.
    gate: original::OnceCell<()>,
    /// Set inside the gate, as one with what is recorded.
    value: once_cell::sync::OnceCell<T>,
}

const OPEN: &str = "the gate opens when the value is there";

impl<T> OnceCell<T> {
    /// See [`tokio::sync::OnceCell::new`](original::OnceCell::new).
    #[track_caller]
    pub fn new() -> Self {
        Self::const_new()
    }

    /// See [`tokio::sync::OnceCell::const_new`](original::OnceCell::const_new).
    #[track_caller]
    pub const fn const_new() -> Self {
        Self {
            object: Object::atomic(type_name::<Self>),
            gate: original::OnceCell::const_new(),
            value: once_cell::sync::OnceCell::new(),
        }
    }

    /// See [`tokio::sync::OnceCell::new_with`](original::OnceCell::new_with).
    #[track_caller]
    pub fn new_with(value: Option<T>) -> Self {
        match value {
            Some(value) => Self::const_new_with(value),
            None => Self::const_new(),
        }
    }

    /// See [`tokio::sync::OnceCell::const_new_with`](original::OnceCell::const_new_with).
    #[track_caller]
    pub const fn const_new_with(value: T) -> Self {
        Self {
            object: Object::atomic(type_name::<Self>),
            gate: original::OnceCell::const_new_with(()),
            value: once_cell::sync::OnceCell::with_value(value),
        }
    }

    /// See [`tokio::sync::OnceCell::initialized`](original::OnceCell::initialized). A read.
    #[track_caller]
    pub fn initialized(&self) -> bool {
        self.get().is_some()
    }

    /// See [`tokio::sync::OnceCell::get`](original::OnceCell::get).
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let site = Location::caller();
        self.object.look(What::Read, site, || self.value.get())
    }

    /// See [`tokio::sync::OnceCell::set`](original::OnceCell::set).
    ///
    /// # Errors
    ///
    /// The value, where there is one, or somebody initialises the cell.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        let (site, value) = (Location::caller(), Cell::new(Some(value)));
        let set = || async {
            let value = value.take().expect("runs once");
            publish(&self.object, site, What::Write, || {
                self.value.set(value).is_ok()
            });
        };
        let mut context = Context::from_waker(Waker::noop());
        let poll = pin!(self.gate.get_or_init(set)).poll(&mut context);
        let is_busy = poll.is_pending();
        match value.take() {
            None => Ok(()),
            Some(value) if is_busy => Err(SetError::InitializingError(value)),
            Some(value) => {
                self.get();
                Err(SetError::AlreadyInitializedError(value))
            }
        }
    }

    /// See [`tokio::sync::OnceCell::get_or_init`](original::OnceCell::get_or_init). To wait for
    /// another's initialisation ends the transaction.
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, f: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let site = Location::caller();
        async move {
            let init = || async { Ok::<T, Infallible>(f().await) };
            match self.fill(init, site).await {
                Ok(value) => value,
            }
        }
    }

    /// See [`tokio::sync::OnceCell::get_or_try_init`](original::OnceCell::get_or_try_init), and
    /// [`get_or_init`](Self::get_or_init).
    #[track_caller]
    pub fn get_or_try_init<E, F, Fut>(&self, f: F) -> impl Future<Output = Result<&T, E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let site = Location::caller();
        async move { self.fill(f, site).await }
    }

    async fn fill<E, F, Fut>(&self, f: F, site: &'static Location<'static>) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if self.value.get().is_none() {
            let has_run = AtomicBool::new(false);
            self.gate
                .get_or_try_init(|| async {
                    has_run.store(true, Ordering::Relaxed);
                    let value = f().await?;
                    publish(&self.object, site, What::UpdateInit, || {
                        self.value.set(value).is_ok()
                    });
                    Ok::<(), E>(())
                })
                .await?;
            if has_run.into_inner() {
                return Ok(self.value.get().expect(OPEN));
            }
            if let Some(pen) = pen() {
                pen.split(site);
            }
        }
        let value = self.object.look(What::Found, site, || self.value.get());
        Ok(value.expect(OPEN))
    }

    // Nothing of these is recorded: the access is exclusive.

    /// See [`tokio::sync::OnceCell::get_mut`](original::OnceCell::get_mut).
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// See [`tokio::sync::OnceCell::into_inner`](original::OnceCell::into_inner).
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// See [`tokio::sync::OnceCell::take`](original::OnceCell::take).
    pub fn take(&mut self) -> Option<T> {
        self.gate.take();
        self.value.take()
    }
}

impl<T> Default for OnceCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::const_new_with(value)
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell")
            .field("value", &self.value.get())
            .finish()
    }
}
