//! `parking_lot` 0.12, tracked.
//!
//! Without the `check` feature every name here *is* the one of parking_lot. With it, the locks are
//! types of the same interface that record what is done with them, by the same rules as those of
//! [`sync`](crate::sync); the lock itself is parking_lot's.
//!
//! ```
//! use aerodrome::parking_lot::{Mutex, RwLock, RwLockUpgradableReadGuard};
//!
//! let balance = Mutex::new(10);
//! *balance.lock() += 1;
//!
//! let names = RwLock::new(vec!["ada"]);
//! let read = names.upgradable_read();
//! if !read.contains(&"bob") {
//!     RwLockUpgradableReadGuard::upgrade(read).push("bob");
//! }
//! assert_eq!(names.read().len() + *balance.lock(), 13);
//! ```
//!
//! # How
//!
//! The raw locks implement the traits of [`lock_api`] and record every way in which they are taken,
//! given back, upgraded or downgraded, fairly, recursively or by a deadline: `force_unlock`, `raw`
//! and a `lock_api::Mutex<RawMutex, T>` of the program's own are seen, too. That alone is not
//! enough: the order of two critical sections comes from the data, which only a guard sees, in its
//! `Deref` and `DerefMut`. So locks and guards are types of this crate, around lock_api's own on
//! these raw locks. A raw lock on its own orders as a lock around nothing does.
//!
//! | operation | recorded as |
//! |---|---|
//! | upgradable read | a shared hold; its upgrade, and a downgrade, change the kind of that one hold |
//! | `ReentrantMutex` | its outermost lock and unlock; the content is only read |
//! | `map` and its kin | a read; accesses of a mapped guard are accesses of the lock's content |
//! | `unlocked`, `bump` | release, acquire: what was read before may have changed, and a block that does this is not atomic |
//! | `with_upgraded`, `leak` | a write |
//! | `Once` | its call is a write, every look at it a read |
//! | `data_ptr` | nothing |
//!
//! # Features
//!
//! parking_lot's own features are this crate's, prefixed: `parking_lot-arc_lock`,
//! `parking_lot-hardware-lock-elision`, `parking_lot-send_guard`, `parking_lot-serde`. With
//! `parking_lot-send_guard` every access through a guard is recorded with a ticket of its own,
//! because another strand may give the lock back; so what a thread outside of blocks reads before
//! it waits on a `Condvar` counts. There is no `owning_ref`: the crate of that name
//! is unsound (RUSTSEC-2022-0040) and abandoned; `MutexGuard::map` and its kin do its work. Nor is
//! there `deadlock_detection`, which parking_lot itself excludes together with `send_guard`;
//! `aerodrome predict` finds potential deadlocks.
//!
//! # Left out
//!
//! With `check`, a [`Mutex`] is no `lock_api::Mutex`, so a function that is generic over the raw
//! lock and takes one does not take it; its guards are no guards of lock_api's either.

#[cfg(all(feature = "check", feature = "parking_lot-arc_lock"))]
mod arc;
#[cfg(feature = "check")]
mod condvar;
#[cfg(feature = "check")]
mod guard;
#[cfg(feature = "check")]
mod mutex;
#[cfg(feature = "check")]
mod once;
#[cfg(feature = "check")]
mod raw;
#[cfg(feature = "check")]
mod remutex;
#[cfg(feature = "check")]
mod rwlock;
#[cfg(all(feature = "check", feature = "parking_lot-serde"))]
mod serde;

#[cfg(not(feature = "check"))]
pub use ::parking_lot::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard,
    MappedReentrantMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    Once, RawFairMutex, RawMutex, RawRwLock, ReentrantMutex, ReentrantMutexGuard, RwLock,
    RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, const_fair_mutex, const_mutex,
    const_reentrant_mutex, const_rwlock,
};

#[cfg(all(not(feature = "check"), feature = "parking_lot-arc_lock"))]
pub use ::parking_lot::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};

#[cfg(feature = "check")]
pub use self::{
    condvar::Condvar,
    mutex::{
        FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard, Mutex, MutexGuard,
        const_fair_mutex, const_mutex,
    },
    once::Once,
    raw::{RawFairMutex, RawMutex, RawRwLock},
    remutex::{
        MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard, const_reentrant_mutex,
    },
    rwlock::{
        MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard,
        RwLockUpgradableReadGuard, RwLockWriteGuard, const_rwlock,
    },
};

#[cfg(all(feature = "check", feature = "parking_lot-arc_lock"))]
pub use self::arc::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};

// parking_lot's own in either build.
pub use ::parking_lot::{OnceState, RawThreadId, WaitTimeoutResult, lock_api};
