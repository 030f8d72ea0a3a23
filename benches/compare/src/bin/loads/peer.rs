//! The types that the loads are run on, and how: one of the peers, chosen by a feature.

#[cfg(feature = "aerodrome")]
pub(crate) use aerodrome::{atomic_block as block, sync, thread};
#[cfg(not(feature = "aerodrome"))]
pub(crate) use super::plain_block as block;
#[cfg(feature = "shuttle")]
pub(crate) use shuttle::{sync, thread};
#[cfg(not(any(feature = "aerodrome", feature = "shuttle")))]
pub(crate) use std::thread;

/// Whether the peer sees atomics and channels.
pub(crate) const MORE_THAN_LOCKS: bool =
    cfg!(any(feature = "aerodrome", feature = "shuttle"));

#[cfg(feature = "aerodrome")]
pub(crate) fn run(load: fn()) {
    let outcome = aerodrome::check(load);
    assert!(outcome.is_serializable(), "{:?}", outcome.violations);
}

/// One schedule, at random, of any length.
#[cfg(feature = "shuttle")]
pub(crate) fn run(load: fn()) {
    let mut config = shuttle::Config::new();
    config.max_steps = shuttle::MaxSteps::None;
    let scheduler = shuttle::scheduler::RandomScheduler::new(1);
    shuttle::Runner::new(scheduler, config).run(load);
}

#[cfg(feature = "parking_lot")]
pub(crate) fn run(load: fn()) {
    load();
    assert!(parking_lot::deadlock::check_deadlock().is_empty());
}

#[cfg(not(any(feature = "aerodrome", feature = "shuttle", feature = "parking_lot")))]
pub(crate) fn run(load: fn()) {
    load();
}

#[cfg(feature = "tracing-mutex")]
pub(crate) mod sync {
    pub(crate) use std::sync::{atomic, mpsc};
    pub(crate) use tracing_mutex::stdsync::tracing::{Mutex, RwLock};
}

/// parking_lot's locks, with std's signatures.
#[cfg(feature = "parking_lot")]
pub(crate) mod sync {
    use std::convert::Infallible;

    use parking_lot::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use std::sync::{atomic, mpsc};

    pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(parking_lot::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> Result<MutexGuard<'_, T>, Infallible> {
            Ok(self.0.lock())
        }

        pub(crate) fn into_inner(self) -> Result<T, Infallible> {
            Ok(self.0.into_inner())
        }
    }

    pub(crate) struct RwLock<T>(parking_lot::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            RwLock(parking_lot::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, T>, Infallible> {
            Ok(self.0.read())
        }

        pub(crate) fn write(&self) -> Result<RwLockWriteGuard<'_, T>, Infallible> {
            Ok(self.0.write())
        }
    }
}
