//! The locks beneath: parking_lot's own, and what records that they are taken and given back.

use std::any::type_name;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::parking_lot::lock_api::{
    self, GuardNoSend, GuardSend, RawMutexFair, RawMutexTimed, RawRwLock as _, RawRwLockDowngrade,
    RawRwLockFair, RawRwLockRecursive, RawRwLockRecursiveTimed, RawRwLockTimed, RawRwLockUpgrade,
    RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};

use crate::record::code::TypeName;
use crate::record::{Gate, Pen, about_to_wait, found_locked, pen};

/// Where a lock is taken.
pub(super) type Site = &'static Location<'static>;

#[cfg(feature = "parking_lot-send_guard")]
type Marker = GuardSend;
#[cfg(not(feature = "parking_lot-send_guard"))]
type Marker = GuardNoSend;
// Either is a name of the other build.
const _: PhantomData<(GuardSend, GuardNoSend)> = PhantomData;

thread_local! {
    /// Where the lock that is being taken is taken, if the way there leads through functions that
    /// do not pass it on.
    static SITE: Cell<Option<Site>> = const { Cell::new(None) };
}

/// Takes a lock at `site`, whatever the way there.
#[inline]
pub(super) fn at<R>(site: Site, take: impl FnOnce() -> R) -> R {
    SITE.set(Some(site));
    let result = take();
    SITE.set(None);
    result
}

/// The names of types as reports give them.
pub(super) mod named {
    use std::marker::PhantomData;

    pub struct Mutex<T: ?Sized>(PhantomData<T>);
    pub struct FairMutex<T: ?Sized>(PhantomData<T>);
    pub(in crate::parking_lot) struct ReentrantMutex<T: ?Sized>(PhantomData<T>);
    pub(in crate::parking_lot) struct RwLock<T: ?Sized>(PhantomData<T>);
}

/// A raw mutex of parking_lot.
pub trait Real: RawMutexFair + RawMutexTimed<Duration = Duration, Instant = Instant> {
    /// A mutex made of it, by name.
    type Named<T: ?Sized>;
}

impl Real for ::parking_lot::RawMutex {
    type Named<T: ?Sized> = named::Mutex<T>;
}

impl Real for ::parking_lot::RawFairMutex {
    type Named<T: ?Sized> = named::FairMutex<T>;
}

/// A raw mutex, tracked.
///
/// On its own it orders as a lock around nothing does: nobody sees what it guards.
pub struct Raw<L> {
    pub(super) gate: Gate,
    /// Around nothing, for parking_lot's condition variable, which wants a guard.
    real: lock_api::Mutex<L, ()>,
}

/// [`parking_lot::RawMutex`](::parking_lot::RawMutex), tracked.
pub type RawMutex = Raw<::parking_lot::RawMutex>;

/// [`parking_lot::RawFairMutex`](::parking_lot::RawFairMutex), tracked.
pub type RawFairMutex = Raw<::parking_lot::RawFairMutex>;

impl<L: Real> Raw<L> {
    #[track_caller]
    pub(super) const fn new() -> Self {
        Self {
            gate: Gate::bare(type_name::<Self>),
            real: lock_api::Mutex::new(()),
        }
    }

    /// The lock is put around a `T`, the accesses of which are seen.
    #[track_caller]
    pub(super) const fn around<T>(mut self, type_name: TypeName) -> Self {
        self.gate.describe::<T>(type_name);
        self
    }

    #[inline]
    fn real(&self) -> &L {
        // SAFETY: nobody holds a guard of `real`, so nothing is unlocked behind one's back.
        unsafe { self.real.raw() }
    }

    /// Takes the lock in one of the real lock's ways; whether that went well.
    #[inline]
    pub(super) fn take(&self, pen: Option<Pen>, site: Site, how: impl FnOnce(&L) -> bool) -> bool {
        let taken = how(self.real());
        if taken {
            self.gate.entered(pen, site);
        } else {
            found_locked(pen, self.gate.object(), site);
        }
        taken
    }

    #[inline]
    #[track_caller]
    fn take_quietly(&self, how: impl FnOnce(&L) -> bool) -> bool {
        self.take(pen(), SITE.take().unwrap_or(Location::caller()), how)
    }
}

impl RawMutex {
    /// Waits, with the lock held, in the way `wait` says; records that it is given back and taken
    /// again.
    pub(super) fn wait<R>(
        &self,
        site: Site,
        wait: impl FnOnce(&mut ::parking_lot::MutexGuard<'_, ()>) -> R,
    ) -> R {
        struct Again<'a>(&'a RawMutex, Site);
        impl Drop for Again<'_> {
            // In a destructor: a wait that panics holds the lock, too.
            fn drop(&mut self) {
                self.0.gate.entered(pen(), self.1);
            }
        }
        about_to_wait(self.gate.object());
        self.gate.leaving();
        if let Some(pen) = pen() {
            pen.split(site);
        }
        let _again = Again(self, site);
        // SAFETY: the caller holds the lock, and no other guard of `real` is ever made. This one
        // does not give it back.
        let mut guard = ManuallyDrop::new(unsafe { self.real.make_guard_unchecked() });
        wait(&mut guard)
    }
}

// SAFETY: the real lock is exclusive, and every function forwards to its own.
unsafe impl<L: Real> lock_api::RawMutex for Raw<L> {
    const INIT: Self = Self::new();

    type GuardMarker = Marker;

    #[inline]
    #[track_caller]
    fn lock(&self) {
        self.take_quietly(|real| {
            real.lock();
            true
        });
    }

    #[inline]
    #[track_caller]
    fn try_lock(&self) -> bool {
        self.take_quietly(L::try_lock)
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.gate.leaving();
        // SAFETY: the caller's.
        unsafe { self.real().unlock() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.real().is_locked()
    }
}

// SAFETY: as above.
unsafe impl<L: Real> RawMutexFair for Raw<L> {
    #[inline]
    unsafe fn unlock_fair(&self) {
        self.gate.leaving();
        // SAFETY: the caller's.
        unsafe { self.real().unlock_fair() }
    }

    #[inline]
    #[track_caller]
    unsafe fn bump(&self) {
        self.gate.leaving();
        let pen = pen();
        // SAFETY: the caller's.
        unsafe { self.real().bump() }
        self.gate
            .entered(pen, SITE.take().unwrap_or(Location::caller()));
    }
}

// SAFETY: as above.
unsafe impl<L: Real> RawMutexTimed for Raw<L> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    #[track_caller]
    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.take_quietly(|real| real.try_lock_for(timeout))
    }

    #[inline]
    #[track_caller]
    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.take_quietly(|real| real.try_lock_until(timeout))
    }
}

/// [`parking_lot::RawRwLock`](::parking_lot::RawRwLock), tracked.
///
/// On its own it orders as a lock around nothing does: nobody sees what it guards.
pub struct RawRwLock {
    pub(super) gate: Gate,
    real: ::parking_lot::RawRwLock,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Exclusive,
    Shared,
}

impl RawRwLock {
    #[track_caller]
    pub(super) const fn new() -> Self {
        Self {
            gate: Gate::bare(type_name::<Self>),
            real: ::parking_lot::RawRwLock::INIT,
        }
    }

    /// The lock is put around a `T`, the accesses of which are seen.
    #[track_caller]
    pub(super) const fn around<T>(mut self, type_name: TypeName) -> Self {
        self.gate.describe::<T>(type_name);
        self
    }

    /// Takes the lock in one of the real lock's ways; whether that went well.
    #[inline]
    pub(super) fn take(
        &self,
        hold: Hold,
        pen: Option<Pen>,
        site: Site,
        how: impl FnOnce(&::parking_lot::RawRwLock) -> bool,
    ) -> bool {
        let taken = how(&self.real);
        if taken {
            match hold {
                Hold::Exclusive => self.gate.entered(pen, site),
                Hold::Shared => self.gate.entered_shared(pen, site),
            }
        } else {
            found_locked(pen, self.gate.object(), site);
        }
        taken
    }

    #[inline]
    #[track_caller]
    fn take_quietly(
        &self,
        hold: Hold,
        how: impl FnOnce(&::parking_lot::RawRwLock) -> bool,
    ) -> bool {
        self.take(hold, pen(), SITE.take().unwrap_or(Location::caller()), how)
    }

    /// Upgrades the lock in one of the real lock's ways; whether that went well.
    #[track_caller]
    fn upgrade_quietly(&self, how: impl FnOnce(&::parking_lot::RawRwLock) -> bool) -> bool {
        let pen = pen();
        let upgraded = how(&self.real);
        if upgraded {
            self.gate.upgraded(pen, Location::caller());
        } else {
            found_locked(pen, self.gate.object(), Location::caller());
        }
        upgraded
    }
}

/// `fn name(arguments) = hold, real name;`: functions that take the lock.
macro_rules! takes {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $Type:ty)?) = $hold:ident;)*) => {$(
        #[inline]
        #[track_caller]
        fn $name(&self $(, $argument: $Type)?) -> bool {
            self.take_quietly(Hold::$hold, |real| real.$name($($argument)?))
        }
    )*};
}

/// The same, for functions that cannot fail.
macro_rules! blocks {
    ($(fn $name:ident() = $hold:ident;)*) => {$(
        #[inline]
        #[track_caller]
        fn $name(&self) {
            self.take_quietly(Hold::$hold, |real| {
                real.$name();
                true
            });
        }
    )*};
}

/// Functions that give the lock back.
macro_rules! leaves {
    ($(fn $name:ident() = $leaving:ident;)*) => {$(
        #[inline]
        unsafe fn $name(&self) {
            self.gate.$leaving();
            // SAFETY: the caller's.
            unsafe { self.real.$name() }
        }
    )*};
}

/// Functions that give the lock back and take it again.
macro_rules! bumps {
    ($(fn $name:ident() = $leaving:ident, $entered:ident;)*) => {$(
        #[inline]
        #[track_caller]
        unsafe fn $name(&self) {
            self.gate.$leaving();
            let pen = pen();
            // SAFETY: the caller's.
            unsafe { self.real.$name() }
            self.gate.$entered(pen, SITE.take().unwrap_or(Location::caller()));
        }
    )*};
}

// SAFETY: the real lock is exclusive where it has to be, and every function forwards to its own.
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: Self = Self::new();

    type GuardMarker = Marker;

    blocks! {
        fn lock_shared() = Shared;
        fn lock_exclusive() = Exclusive;
    }

    takes! {
        fn try_lock_shared() = Shared;
        fn try_lock_exclusive() = Exclusive;
    }

    leaves! {
        fn unlock_shared() = leaving_shared;
        fn unlock_exclusive() = leaving;
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.real.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.real.is_locked_exclusive()
    }
}

// SAFETY: as above.
unsafe impl RawRwLockFair for RawRwLock {
    leaves! {
        fn unlock_shared_fair() = leaving_shared;
        fn unlock_exclusive_fair() = leaving;
    }

    bumps! {
        fn bump_shared() = leaving_shared, entered_shared;
        fn bump_exclusive() = leaving, entered;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockDowngrade for RawRwLock {
    #[track_caller]
    unsafe fn downgrade(&self) {
        self.gate.downgrading(Location::caller());
        // SAFETY: the caller's.
        unsafe { self.real.downgrade() }
    }
}

// SAFETY: as above.
unsafe impl RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    takes! {
        fn try_lock_shared_for(timeout: Duration) = Shared;
        fn try_lock_shared_until(timeout: Instant) = Shared;
        fn try_lock_exclusive_for(timeout: Duration) = Exclusive;
        fn try_lock_exclusive_until(timeout: Instant) = Exclusive;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockRecursive for RawRwLock {
    blocks! {
        fn lock_shared_recursive() = Shared;
    }

    takes! {
        fn try_lock_shared_recursive() = Shared;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockRecursiveTimed for RawRwLock {
    takes! {
        fn try_lock_shared_recursive_for(timeout: Duration) = Shared;
        fn try_lock_shared_recursive_until(timeout: Instant) = Shared;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgrade for RawRwLock {
    blocks! {
        fn lock_upgradable() = Shared;
    }

    takes! {
        fn try_lock_upgradable() = Shared;
    }

    leaves! {
        fn unlock_upgradable() = leaving_shared;
    }

    #[track_caller]
    unsafe fn upgrade(&self) {
        self.upgrade_quietly(|real| {
            // SAFETY: the caller's.
            unsafe { real.upgrade() }
            true
        });
    }

    #[track_caller]
    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's.
        self.upgrade_quietly(|real| unsafe { real.try_upgrade() })
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeFair for RawRwLock {
    leaves! {
        fn unlock_upgradable_fair() = leaving_shared;
    }

    bumps! {
        fn bump_upgradable() = leaving_shared, entered_shared;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        // One shared holder stays a shared holder.
        // SAFETY: the caller's.
        unsafe { self.real.downgrade_upgradable() }
    }

    #[track_caller]
    unsafe fn downgrade_to_upgradable(&self) {
        self.gate
            .downgrading(SITE.take().unwrap_or(Location::caller()));
        // SAFETY: the caller's.
        unsafe { self.real.downgrade_to_upgradable() }
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeTimed for RawRwLock {
    takes! {
        fn try_lock_upgradable_for(timeout: Duration) = Shared;
        fn try_lock_upgradable_until(timeout: Instant) = Shared;
    }

    #[track_caller]
    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: the caller's.
        self.upgrade_quietly(|real| unsafe { real.try_upgrade_for(timeout) })
    }

    #[track_caller]
    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        // SAFETY: the caller's.
        self.upgrade_quietly(|real| unsafe { real.try_upgrade_until(timeout) })
    }
}
