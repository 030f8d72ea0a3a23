use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::parking_lot::WaitTimeoutResult;

use super::mutex::MutexGuard;
use super::raw::Site;
use crate::record::{self, Object, Waiters};
use crate::trace::ObjectKind;

/// [`parking_lot::Condvar`](::parking_lot::Condvar), tracked.
///
/// A wait releases and acquires its mutex. An atomic block ends before the wait and begins again
/// after it, with the acquire inside: to wait for another strand's progress cannot be atomic.
///
/// The condition of the `wait_while` family counts as a read of the content, although it could
/// write.
pub struct Condvar {
    pub(crate) object: Object,
    /// Who waits under control, and not with `inner`.
    waiters: Waiters,
    inner: ::parking_lot::Condvar,
}

impl Condvar {
    /// As parking_lot's; remembers where it was called.
    #[inline]
    #[track_caller]
    pub const fn new() -> Condvar {
        Condvar {
            object: Object::new(ObjectKind::Signal, type_name::<Self>),
            waiters: Waiters::new(),
            inner: ::parking_lot::Condvar::new(),
        }
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn notify_one(&self) -> bool {
        record::step_notify(&self.object, Location::caller());
        self.waiters.notify_one() || self.inner.notify_one()
    }

    /// As parking_lot's.
    #[inline]
    #[track_caller]
    pub fn notify_all(&self) -> usize {
        record::step_notify(&self.object, Location::caller());
        self.waiters.notify_all() + self.inner.notify_all()
    }

    /// As parking_lot's.
    ///
    /// # Panics
    ///
    /// As parking_lot's: if another strand waits with another mutex.
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>) {
        MutexGuard::wait(mutex_guard, Location::caller(), |guard| {
            self.inner.wait(guard)
        });
    }

    /// As parking_lot's.
    ///
    /// # Panics
    ///
    /// As parking_lot's: if another strand waits with another mutex.
    #[track_caller]
    pub fn wait_until<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        timeout: Instant,
    ) -> WaitTimeoutResult {
        MutexGuard::wait(mutex_guard, Location::caller(), |guard| {
            self.inner.wait_until(guard, timeout)
        })
    }

    /// As parking_lot's.
    ///
    /// # Panics
    ///
    /// As parking_lot's: if another strand waits with another mutex.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        MutexGuard::wait(mutex_guard, Location::caller(), |guard| {
            self.inner.wait_for(guard, timeout)
        })
    }

    /// As parking_lot's.
    ///
    /// # Panics
    ///
    /// As parking_lot's: if another strand waits with another mutex.
    #[track_caller]
    pub fn wait_while<T, F>(&self, mutex_guard: &mut MutexGuard<'_, T>, condition: F)
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_at(mutex_guard, condition, None, Location::caller());
    }

    /// As parking_lot's.
    ///
    /// # Panics
    ///
    /// As parking_lot's: if another strand waits with another mutex.
    #[track_caller]
    pub fn wait_while_until<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_at(mutex_guard, condition, Some(timeout), Location::caller())
    }

    /// As parking_lot's.
    ///
    /// # Panics
    ///
    /// As parking_lot's: if another strand waits with another mutex.
    #[track_caller]
    pub fn wait_while_for<T: ?Sized, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        // A time that lies too far ahead to be told is no limit.
        let deadline = Instant::now().checked_add(timeout);
        self.wait_while_at(mutex_guard, condition, deadline, Location::caller())
    }

    fn wait_while_at<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: Option<Instant>,
        site: Site,
    ) -> WaitTimeoutResult {
        let mut result = not_timed_out();
        while !result.timed_out() && MutexGuard::look(mutex_guard, site, &mut condition) {
            result = MutexGuard::wait(mutex_guard, site, |guard| match deadline {
                Some(deadline) => self.inner.wait_until(guard, deadline),
                None => {
                    self.inner.wait(guard);
                    result
                }
            });
        }
        result
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// The result of a wait that was not one, which only parking_lot can make.
fn not_timed_out() -> WaitTimeoutResult {
    let nothing = ::parking_lot::Mutex::new(());
    ::parking_lot::Condvar::new().wait_while_for(&mut nothing.lock(), |()| false, Duration::ZERO)
}
