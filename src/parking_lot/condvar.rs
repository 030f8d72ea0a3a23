use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::parking_lot::WaitTimeoutResult;

use super::mutex::MutexGuard;
use super::raw::Site;
use crate::record::{self, Intent, Kind, Object, Waiters, left_until};
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
        let (limit, site) = (|| None, Location::caller());
        self.wait_at(mutex_guard, limit, site, drop, |guard| {
            self.inner.wait(guard);
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
        let (limit, site) = (|| Some(left_until(timeout)), Location::caller());
        self.wait_at(mutex_guard, limit, site, result, |guard| {
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
        let (limit, site) = (|| Some(timeout), Location::caller());
        self.wait_at(mutex_guard, limit, site, result, |guard| {
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
        let deadline = record::now().checked_add(timeout);
        self.wait_while_at(mutex_guard, condition, deadline, Location::caller())
    }

    fn wait_while_at<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: Option<Instant>,
        site: Site,
    ) -> WaitTimeoutResult {
        let mut waited = result(false);
        while !waited.timed_out() && MutexGuard::look(mutex_guard, site, &mut condition) {
            let limit = || deadline.map(left_until);
            waited = self.wait_at(mutex_guard, limit, site, result, |guard| match deadline {
                Some(deadline) => self.inner.wait_until(guard, deadline),
                None => {
                    self.inner.wait(guard);
                    waited
                }
            });
        }
        waited
    }

    /// Waits, in the way `wait` says; under control among the waiters, for as long as `limit` says,
    /// and `result` is told whether the time was up.
    fn wait_at<T: ?Sized, R>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        limit: impl FnOnce() -> Option<Duration>,
        site: Site,
        result: impl FnOnce(bool) -> R,
        wait: impl FnOnce(&mut ::parking_lot::MutexGuard<'_, ()>) -> R,
    ) -> R {
        let announced = Intent::new(Kind::Wait, &self.object, site);
        match record::step(|| announced).filter(|_| record::is_controlled()) {
            Some(pen) => {
                let (waiters, limit) = (&self.waiters, limit());
                result(MutexGuard::wait_in_queue(
                    guard, pen, announced, waiters, limit, site,
                ))
            }
            None => MutexGuard::wait(guard, site, wait),
        }
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

/// Parking_lot's result, which only parking_lot can make: by a wait that is over before it begins.
fn result(timed_out: bool) -> WaitTimeoutResult {
    let nothing = ::parking_lot::Mutex::new(());
    let condition = |(): &mut ()| timed_out;
    // It reads the clock, which the program does not.
    record::untracked(|| {
        ::parking_lot::Condvar::new().wait_while_for(&mut nothing.lock(), condition, Duration::ZERO)
    })
}
