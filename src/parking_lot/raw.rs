//! The locks beneath: parking_lot's own, and what records that they are taken and given back.

use std::any::type_name;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::time::{Duration, Instant};

use ::parking_lot::lock_api::{
    self, GuardNoSend, GuardSend, RawMutex as _, RawMutexFair, RawMutexTimed, RawRwLock as _,
    RawRwLockDowngrade, RawRwLockFair, RawRwLockRecursive, RawRwLockRecursiveTimed, RawRwLockTimed,
    RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};

use crate::record::code::TypeName;
use crate::record::{
    self, Gate, Intent, Kind, Object, Pen, Turn, Waiters, about_to_wait, found_locked,
    is_controlled, pen, step,
};

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

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Exclusive,
    Shared,
    /// Shared, also where somebody waits to be the exclusive holder.
    Recursive,
    /// Shared, but by one at a time.
    Upgradable,
}

impl Hold {
    /// What it is to take a lock so.
    #[inline(always)]
    fn lock(self, lock: &Object, site: Site) -> Intent<'_> {
        let kind = match self {
            Hold::Exclusive | Hold::Upgradable => Kind::Lock,
            Hold::Shared | Hold::Recursive => Kind::LockShared,
        };
        Intent::new(kind, lock, site)
    }

    /// What it is to try that.
    #[inline(always)]
    fn try_lock(self, lock: &Object, site: Site) -> Intent<'_> {
        let kind = match self {
            Hold::Exclusive | Hold::Upgradable => Kind::TryLock,
            Hold::Shared | Hold::Recursive => Kind::TryLockShared,
        };
        Intent::new(kind, lock, site)
    }
}

/// For how long a lock is waited for.
pub(super) trait Patience: Copy {
    /// Announces that a lock is taken: the pen, and for how long the real lock may be waited for.
    fn announce(
        self,
        hold: Hold,
        lock: &Object,
        site: Site,
        is_free: impl Fn() -> bool,
    ) -> (Option<Pen>, Self);
}

/// As long as it takes.
#[derive(Clone, Copy)]
pub(super) struct Forever;

impl Patience for Forever {
    #[inline(always)]
    fn announce(
        self,
        hold: Hold,
        lock: &Object,
        site: Site,
        is_free: impl Fn() -> bool,
    ) -> (Option<Pen>, Self) {
        (record::wait(move || hold.lock(lock, site), is_free), self)
    }
}

/// Not at all.
impl Patience for () {
    #[inline(always)]
    fn announce(
        self,
        hold: Hold,
        lock: &Object,
        site: Site,
        _: impl Fn() -> bool,
    ) -> (Option<Pen>, Self) {
        (step(move || hold.try_lock(lock, site)), self)
    }
}

impl Patience for Duration {
    #[inline]
    fn announce(
        self,
        hold: Hold,
        lock: &Object,
        site: Site,
        is_free: impl Fn() -> bool,
    ) -> (Option<Pen>, Self) {
        let (pen, limit) = record::wait_for(move || hold.lock(lock, site), Some(self), is_free);
        (pen, limit.unwrap_or(self))
    }
}

impl Patience for Instant {
    #[inline]
    fn announce(
        self,
        hold: Hold,
        lock: &Object,
        site: Site,
        is_free: impl Fn() -> bool,
    ) -> (Option<Pen>, Self) {
        record::wait_until(move || hold.lock(lock, site), self, is_free)
    }
}

/// Announces a look at whether a lock is held so that it could not be taken in this way.
#[track_caller]
fn step_look(lock: &Object, hold: Hold) {
    step(move || hold.try_lock(lock, SITE.take().unwrap_or(Location::caller())));
}

/// Takes a lock again that a guard is going to give back: also where the run is to end here, which
/// `lock` says by unwinding. Then the strand is not controlled any more, and waits for the others.
pub(super) fn retake(lock: impl Fn()) {
    struct Unwinding<'a, L: Fn()>(&'a L);
    impl<L: Fn()> Drop for Unwinding<'_, L> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let unwinding = Unwinding(&lock);
    lock();
    std::mem::forget(unwinding);
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

    /// Takes the lock in one of the real lock's ways, or says that it is not to be had: the pen,
    /// and whether that went well.
    #[inline]
    pub(super) fn take<P: Patience>(
        &self,
        patience: P,
        site: Site,
        how: impl FnOnce(&L, P) -> bool,
    ) -> (Option<Pen>, bool) {
        let is_free = || !self.real().is_locked();
        let (pen, patience) = patience.announce(Hold::Exclusive, self.gate.object(), site, is_free);
        let taken = how(self.real(), patience);
        if taken {
            self.gate.entered(pen, site);
        } else {
            found_locked(pen, self.gate.object(), site);
        }
        (pen, taken)
    }

    #[inline]
    #[track_caller]
    fn take_quietly<P: Patience>(&self, patience: P, how: impl FnOnce(&L, P) -> bool) -> bool {
        self.take(patience, SITE.take().unwrap_or(Location::caller()), how)
            .1
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
        let _again = self.leave(site, false);
        // SAFETY: the caller holds the lock, and no other guard of `real` is ever made. This one
        // does not give it back.
        let mut guard = ManuallyDrop::new(unsafe { self.real.make_guard_unchecked() });
        wait(&mut guard)
    }

    /// Waits under control, with the lock held, until it is notified; whether its time was up.
    pub(super) fn wait_in_queue(
        &self,
        pen: Pen,
        wait: Intent<'_>,
        waiters: &Waiters,
        limit: Option<Duration>,
        site: Site,
    ) -> bool {
        let place = waiters.enter();
        let _again = self.leave(site, true);
        // SAFETY: the caller holds the lock.
        unsafe { self.real().unlock() };
        let turn = pen.wait_in_queue(
            wait,
            limit,
            &|| place.is_notified(),
            Hold::Exclusive.lock(self.gate.object(), site),
            &|| !self.real().is_locked(),
        );
        turn == Turn::Expired
    }

    /// Records that the lock is given back, and, when the result is dropped, that it is taken
    /// again.
    fn leave(&self, site: Site, is_given_back: bool) -> Again<'_> {
        about_to_wait(self.gate.object());
        self.gate.leaving();
        if let Some(pen) = pen() {
            pen.split(site);
        }
        Again {
            lock: self,
            site,
            is_given_back,
        }
    }
}

/// The end of a wait. In a destructor: one that panics holds the lock, too.
struct Again<'a> {
    lock: &'a RawMutex,
    site: Site,
    /// Whether the real lock is to be taken as well.
    is_given_back: bool,
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        if self.is_given_back {
            self.lock.real().lock();
        }
        self.lock.gate.entered(pen(), self.site);
    }
}

// SAFETY: the real lock is exclusive, and every function forwards to its own.
unsafe impl<L: Real> lock_api::RawMutex for Raw<L> {
    const INIT: Self = Self::new();

    type GuardMarker = Marker;

    #[inline]
    #[track_caller]
    fn lock(&self) {
        self.take_quietly(Forever, |real, Forever| {
            real.lock();
            true
        });
    }

    #[inline]
    #[track_caller]
    fn try_lock(&self) -> bool {
        self.take_quietly((), |real, ()| real.try_lock())
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.gate.leaving();
        // SAFETY: the caller's.
        unsafe { self.real().unlock() }
    }

    #[inline]
    #[track_caller]
    fn is_locked(&self) -> bool {
        step_look(self.gate.object(), Hold::Exclusive);
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
        if is_controlled() {
            // SAFETY: the caller's.
            unsafe { self.unlock_fair() };
            return retake(|| lock_api::RawMutex::lock(self));
        }
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
        self.take_quietly(timeout, L::try_lock_for)
    }

    #[inline]
    #[track_caller]
    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.take_quietly(timeout, L::try_lock_until)
    }
}

/// [`parking_lot::RawRwLock`](::parking_lot::RawRwLock), tracked.
///
/// On its own it orders as a lock around nothing does: nobody sees what it guards.
pub struct RawRwLock {
    pub(super) gate: Gate,
    real: ::parking_lot::RawRwLock,
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

    /// Whether the lock would be taken at once. Asked while nobody else runs.
    #[cold]
    fn is_free(&self, hold: Hold) -> bool {
        let real = &self.real;
        // SAFETY: what was taken is given back at once.
        unsafe {
            match hold {
                Hold::Exclusive => undo(real.try_lock_exclusive(), || real.unlock_exclusive()),
                Hold::Shared => undo(real.try_lock_shared(), || real.unlock_shared()),
                Hold::Recursive => undo(real.try_lock_shared_recursive(), || real.unlock_shared()),
                Hold::Upgradable => undo(real.try_lock_upgradable(), || real.unlock_upgradable()),
            }
        }
    }

    /// Whether the upgradable hold, which there is, would be upgraded at once.
    #[cold]
    fn is_free_for_upgrade(&self) -> bool {
        // SAFETY: the caller has the hold, and an upgrade is taken back at once.
        unsafe {
            let upgraded = self.real.try_upgrade();
            undo(upgraded, || self.real.downgrade_to_upgradable())
        }
    }

    /// Takes the lock in one of the real lock's ways, or says that it is not to be had: the pen,
    /// and whether that went well.
    #[inline]
    pub(super) fn take<P: Patience>(
        &self,
        hold: Hold,
        patience: P,
        site: Site,
        how: impl FnOnce(&::parking_lot::RawRwLock, P) -> bool,
    ) -> (Option<Pen>, bool) {
        let is_free = || self.is_free(hold);
        let (pen, patience) = patience.announce(hold, self.gate.object(), site, is_free);
        let taken = how(&self.real, patience);
        if taken {
            match hold {
                Hold::Exclusive => self.gate.entered(pen, site),
                _ => self.gate.entered_shared(pen, site),
            }
        } else {
            found_locked(pen, self.gate.object(), site);
        }
        (pen, taken)
    }

    #[inline]
    #[track_caller]
    fn take_quietly<P: Patience>(
        &self,
        hold: Hold,
        patience: P,
        how: impl FnOnce(&::parking_lot::RawRwLock, P) -> bool,
    ) -> bool {
        let site = SITE.take().unwrap_or(Location::caller());
        self.take(hold, patience, site, how).1
    }

    /// Upgrades the lock in one of the real lock's ways; whether that went well.
    #[track_caller]
    fn upgrade_quietly<P: Patience>(
        &self,
        patience: P,
        how: impl FnOnce(&::parking_lot::RawRwLock, P) -> bool,
    ) -> bool {
        let (lock, site) = (self.gate.object(), Location::caller());
        let is_free = || self.is_free_for_upgrade();
        let (pen, patience) = patience.announce(Hold::Exclusive, lock, site, is_free);
        let upgraded = how(&self.real, patience);
        if upgraded {
            self.gate.upgraded(pen, site);
        } else {
            found_locked(pen, lock, site);
        }
        upgraded
    }
}

/// Takes back what was done, if it was; whether it was.
fn undo(done: bool, back: impl FnOnce()) -> bool {
    if done {
        back();
    }
    done
}

/// `fn name(limit) = hold;`: functions that take the lock.
macro_rules! takes {
    ($($(#[$attribute:meta])* fn $name:ident($($limit:ident: $Type:ty)?) = $hold:ident;)*) => {$(
        #[inline]
        #[track_caller]
        #[allow(unused_parens, reason = "the pattern is a name or nothing")]
        fn $name(&self $(, $limit: $Type)?) -> bool {
            self.take_quietly(Hold::$hold, ($($limit)?), |real, ($($limit)?)| real.$name($($limit)?))
        }
    )*};
}

/// The same, for functions that cannot fail.
macro_rules! blocks {
    ($(fn $name:ident() = $hold:ident;)*) => {$(
        #[inline]
        #[track_caller]
        fn $name(&self) {
            self.take_quietly(Hold::$hold, Forever, |real, Forever| {
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

/// `fn name() = what records that the lock is given back, and taken again; what does the one, and
/// the other`: functions that do both.
macro_rules! bumps {
    ($(fn $name:ident() = $leaving:ident, $entered:ident; $unlock:ident, $lock:ident;)*) => {$(
        #[inline]
        #[track_caller]
        unsafe fn $name(&self) {
            if is_controlled() {
                // SAFETY: the caller's.
                unsafe { self.$unlock() };
                return retake(|| self.$lock());
            }
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
    #[track_caller]
    fn is_locked(&self) -> bool {
        step_look(self.gate.object(), Hold::Exclusive);
        self.real.is_locked()
    }

    #[inline]
    #[track_caller]
    fn is_locked_exclusive(&self) -> bool {
        step_look(self.gate.object(), Hold::Shared);
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
        fn bump_shared() = leaving_shared, entered_shared; unlock_shared, lock_shared;
        fn bump_exclusive() = leaving, entered; unlock_exclusive, lock_exclusive;
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
        fn lock_shared_recursive() = Recursive;
    }

    takes! {
        fn try_lock_shared_recursive() = Recursive;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockRecursiveTimed for RawRwLock {
    takes! {
        fn try_lock_shared_recursive_for(timeout: Duration) = Recursive;
        fn try_lock_shared_recursive_until(timeout: Instant) = Recursive;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgrade for RawRwLock {
    blocks! {
        fn lock_upgradable() = Upgradable;
    }

    takes! {
        fn try_lock_upgradable() = Upgradable;
    }

    leaves! {
        fn unlock_upgradable() = leaving_shared;
    }

    #[track_caller]
    unsafe fn upgrade(&self) {
        self.upgrade_quietly(Forever, |real, Forever| {
            // SAFETY: the caller's.
            unsafe { real.upgrade() }
            true
        });
    }

    #[track_caller]
    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's.
        self.upgrade_quietly((), |real, ()| unsafe { real.try_upgrade() })
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeFair for RawRwLock {
    leaves! {
        fn unlock_upgradable_fair() = leaving_shared;
    }

    bumps! {
        fn bump_upgradable() = leaving_shared, entered_shared; unlock_upgradable, lock_upgradable;
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        // One shared holder stays a shared holder: nothing is recorded.
        step(move || Intent::unlock(self.gate.object()));
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
        fn try_lock_upgradable_for(timeout: Duration) = Upgradable;
        fn try_lock_upgradable_until(timeout: Instant) = Upgradable;
    }

    #[track_caller]
    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: the caller's.
        self.upgrade_quietly(timeout, |real, timeout| unsafe {
            real.try_upgrade_for(timeout)
        })
    }

    #[track_caller]
    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        // SAFETY: the caller's.
        self.upgrade_quietly(timeout, |real, timeout| unsafe {
            real.try_upgrade_until(timeout)
        })
    }
}
