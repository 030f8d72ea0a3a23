use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError, WaitTimeoutResult};
use std::time::Duration;

use super::mutex::MutexGuard;
use super::poison;
use crate::record::{self, Exclusive, Intent, Kind, Object, Turn, Waiters};
use crate::trace::ObjectKind;

/// [`std::sync::Condvar`], tracked.
///
/// A wait releases and acquires its mutex. An atomic block ends before the wait and begins again
/// after it, with the acquire inside: to wait for another strand's progress cannot be atomic.
pub struct Condvar {
    pub(crate) object: Object,
    /// Who waits under control, and not with `inner`.
    waiters: Waiters,
    inner: std::sync::Condvar,
}

impl Condvar {
    /// As std's; remembers where it was called.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new() -> Condvar {
        Condvar {
            object: Object::new(ObjectKind::Signal, std::any::type_name::<Self>),
            waiters: Waiters::new(),
            inner: std::sync::Condvar::new(),
        }
    }

    /// As std's.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let site = Location::caller();
        match self.wait_in_queue(guard, None, site) {
            Ok(result) => poison::map(result, |(guard, _)| guard),
            Err(guard) => {
                let (again, inner) = leave(guard, site);
                poison::map(self.inner.wait(inner), again)
            }
        }
    }

    /// Announces a wait. Under control it is done here: the result has the guard, and whether the
    /// time was up. Otherwise the guard comes back.
    fn wait_in_queue<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
        site: &'static Location<'static>,
    ) -> Result<LockResult<(MutexGuard<'a, T>, bool)>, MutexGuard<'a, T>> {
        let wait = Intent::new(Kind::Wait, &self.object, site);
        let Some(pen) = record::step(|| wait).filter(|_| record::is_controlled()) else {
            return Err(guard);
        };
        let mutex = guard.mutex();
        let place = self.waiters.enter();
        let (again, inner) = leave(guard, site);
        drop(inner);
        let turn = pen.wait_in_queue(
            wait,
            limit,
            &|| place.is_notified(),
            Intent::new(Kind::Lock, &mutex.object, site),
            &|| poison::is_free(mutex.inner.try_lock()),
        );
        let inner = mutex.inner.lock();
        Ok(poison::map(inner, |inner| {
            (again(inner), turn == Turn::Expired)
        }))
    }

    /// As std's. The condition counts as a read of the content, although it could write.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while look(&mut guard, Location::caller(), &mut condition) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As std's.
    #[track_caller]
    #[deprecated(note = "replaced by `Condvar::wait_timeout`")]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let result = self.wait_timeout(guard, Duration::from_millis(ms.into()));
        poison::map(result, |(guard, result)| (guard, !result.timed_out()))
    }

    /// As std's.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let site = Location::caller();
        match self.wait_in_queue(guard, Some(dur), site) {
            Ok(result) => poison::map(result, |(guard, timed_out)| {
                (guard, wait_timeout_result(timed_out))
            }),
            Err(guard) => {
                let (again, inner) = leave(guard, site);
                poison::map(self.inner.wait_timeout(inner, dur), |(inner, result)| {
                    (again(inner), result)
                })
            }
        }
    }

    /// As std's. The condition counts as a read of the content, although it could write.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = record::now();
        loop {
            if !look(&mut guard, Location::caller(), &mut condition) {
                return Ok((guard, wait_timeout_result(false)));
            }
            let Some(timeout) = dur.checked_sub(record::now() - start) else {
                return Ok((guard, wait_timeout_result(true)));
            };
            guard = self.wait_timeout(guard, timeout)?.0;
        }
    }

    /// As std's.
    #[inline]
    #[track_caller]
    pub fn notify_one(&self) {
        record::step_notify(&self.object, Location::caller());
        if !self.waiters.notify_one() {
            self.inner.notify_one();
        }
    }

    /// As std's.
    #[inline]
    #[track_caller]
    pub fn notify_all(&self) {
        record::step_notify(&self.object, Location::caller());
        self.waiters.notify_all();
        self.inner.notify_all();
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

/// Records that the mutex is released and the transaction split; what records that it is taken
/// again, and the real guard.
fn leave<'a, T>(
    guard: MutexGuard<'a, T>,
    site: &'static Location<'static>,
) -> (
    impl FnOnce(std::sync::MutexGuard<'a, T>) -> MutexGuard<'a, T>,
    std::sync::MutexGuard<'a, T>,
) {
    let MutexGuard { section, inner } = guard;
    let object = section.leave();
    // Has room for the split and the acquire after it; the release had its own.
    let pen = record::pen();
    if let Some(pen) = pen {
        pen.split(site);
    }
    let again = move |inner| MutexGuard {
        section: Exclusive::new(pen, object, site),
        inner,
    };
    (again, inner)
}

/// Asks the condition.
fn look<T>(
    guard: &mut MutexGuard<'_, T>,
    site: &'static Location<'static>,
    condition: &mut impl FnMut(&mut T) -> bool,
) -> bool {
    guard.section.read(site);
    condition(&mut guard.inner)
}

/// Std's result, which only std can make: by a wait that is over before it begins.
fn wait_timeout_result(timed_out: bool) -> WaitTimeoutResult {
    let nothing = std::sync::Mutex::new(());
    let guard = nothing.lock().unwrap_or_else(PoisonError::into_inner);
    // It reads the clock, which the program does not.
    let wait = record::untracked(|| {
        std::sync::Condvar::new().wait_timeout_while(guard, Duration::ZERO, |()| timed_out)
    });
    wait.unwrap_or_else(PoisonError::into_inner).1
}
