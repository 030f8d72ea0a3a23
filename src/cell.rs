//! `std::cell`, and cells whose accesses are seen.
//!
//! `Cell`, `RefCell`, `UnsafeCell` and all else that std has are std's own in either build: no two
//! threads share the safe ones, and of an `UnsafeCell` unsafe code knows the layout.
//!
//! A tracked lock sees what its guards are dereferenced for. What is guarded otherwise (by a lock
//! around nothing, by an atomic flag, by an argument in a comment) is seen if it lies in one of
//! these two. In a build without checking they are std's `UnsafeCell` and nothing more.
//!
//! - [`TrackedUnsafeCell`] is for lock-free structures, with the methods of loom's `UnsafeCell`:
//!   what runs under loom runs here after `use aerodrome::cell::TrackedUnsafeCell as UnsafeCell`.
//! - [`Tracked`] is a value with safe methods, for data that a foreign lock or a `Mutex<()>`
//!   guards.
//!
//! ```
//! use aerodrome::cell::Tracked;
//! use aerodrome::sync::Mutex;
//!
//! struct Ledger {
//!     lock: Mutex<()>,
//!     total: Tracked<u32>,
//! }
//!
//! impl Ledger {
//!     fn add(&self, amount: u32) {
//!         let _guard = self.lock.lock().unwrap();
//!         // SAFETY: `total` is private, and only touched while the lock is held.
//!         unsafe { self.total.with_mut(|total| *total += amount) }
//!     }
//! }
//!
//! let ledger = Ledger { lock: Mutex::new(()), total: Tracked::new(1) };
//! ledger.add(2);
//! assert_eq!(ledger.total.get(), 3);
//! ```

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

pub use std::cell::*;

#[cfg(feature = "check")]
use self::on::Record;

/// What is done to a cell.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    ReadWrite,
}

#[cfg(feature = "check")]
mod on {
    use std::panic::Location;

    use super::{Access, Tracked, TrackedUnsafeCell};
    use crate::record::clock::Clock;
    use crate::record::{Intent, Kind, Object, What, step};

    /// What is kept of a cell beside its value.
    pub(super) type Record = Object<Clock>;

    impl<T: ?Sized> TrackedUnsafeCell<T> {
        /// Before the access: whoever may touch the cell now, may touch its record.
        #[inline]
        #[track_caller]
        pub(super) fn note(&self, access: Access) {
            let (object, site) = (&self.object, Location::caller());
            let (kind, what) = match access {
                Access::Read => return object.look(What::Read, site, || ()),
                Access::Write => (Kind::Write, What::Write),
                Access::ReadWrite => (Kind::Update, What::ReadWrite),
            };
            if let Some(pen) = step(move || Intent::new(kind, object, site)) {
                pen.atomic(object, site, || ((), what));
            }
        }
    }

    impl<T: ?Sized> Tracked<T> {
        pub(crate) fn object(&self) -> &Record {
            &self.0.object
        }
    }
}

/// [`std::cell::UnsafeCell`], tracked, with the methods of loom's.
///
/// ```
/// use aerodrome::cell::TrackedUnsafeCell;
///
/// let cell = TrackedUnsafeCell::new(1);
/// // SAFETY: nobody else has the cell.
/// cell.with_mut(|value| unsafe { *value += 1 });
/// assert_eq!(cell.with(|value| unsafe { *value }), 2);
/// ```
#[cfg_attr(not(feature = "check"), repr(transparent))]
pub struct TrackedUnsafeCell<T: ?Sized> {
    #[cfg(feature = "check")]
    pub(crate) object: Record,
    value: std::cell::UnsafeCell<T>,
}

impl<T> TrackedUnsafeCell<T> {
    /// A cell; remembers where it was made.
    #[inline]
    #[track_caller]
    pub const fn new(value: T) -> Self {
        TrackedUnsafeCell {
            #[cfg(feature = "check")]
            object: Record::atomic(std::any::type_name::<Self>),
            value: std::cell::UnsafeCell::new(value),
        }
    }

    /// The value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> TrackedUnsafeCell<T> {
    #[cfg(not(feature = "check"))]
    #[inline(always)]
    fn note(&self, access: Access) {
        // A name of the other build.
        let _ = access;
    }

    /// Reads: `f` gets a pointer to the value, which is meant for as long as it runs.
    #[inline]
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.note(Access::Read);
        f(self.value.get())
    }

    /// Writes: `f` gets a pointer to the value, which is meant for as long as it runs.
    #[inline]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.note(Access::Write);
        f(self.value.get())
    }

    /// Reads: a pointer to the value.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        self.note(Access::Read);
        ConstPtr(self.value.get())
    }

    /// Writes: a pointer to the value.
    #[inline]
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        self.note(Access::Write);
        MutPtr(self.value.get())
    }
}

impl<T: Default> Default for TrackedUnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for TrackedUnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for TrackedUnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// A pointer to the value of a [`TrackedUnsafeCell`], for reading.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized>(*const T);

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    ///
    /// The cell must be alive, and nobody write to it for as long as the reference lives.
    #[inline]
    #[allow(
        clippy::should_implement_trait,
        reason = "it is unsafe, and named as loom's"
    )]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's.
        unsafe { &*self.0 }
    }

    /// Hands the pointer to `f`.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.0)
    }
}

/// A pointer to the value of a [`TrackedUnsafeCell`], for writing.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized>(*mut T);

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    ///
    /// The cell must be alive, and nobody else touch it for as long as the reference lives.
    #[inline]
    #[allow(
        clippy::should_implement_trait,
        reason = "it is unsafe, and named as loom's"
    )]
    #[allow(
        clippy::mut_from_ref,
        reason = "as loom's: the caller sees to it that there is one"
    )]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's.
        unsafe { &mut *self.0 }
    }

    /// Hands the pointer to `f`.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.0)
    }
}

/// A value whose accesses are seen.
///
/// Reading needs `&self` and writing `&mut self`, as of any value, so a strand that has neither a
/// lock's guard nor the value to itself writes with the unsafe [`with_mut`](Tracked::with_mut).
/// `Sync` where `T` is both `Send` and `Sync`: a strand that may write can take the value out.
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<aerodrome::cell::Tracked<std::cell::Cell<i32>>>();
/// ```
#[cfg_attr(not(feature = "check"), repr(transparent))]
pub struct Tracked<T: ?Sized>(TrackedUnsafeCell<T>);

// SAFETY: `&self` gives `&T`, for which `T: Sync` is enough. What changes it through `&self` is
// unsafe, and asks for nobody else's access meanwhile; that gives `&mut T`, for which `T: Send` is.
unsafe impl<T: ?Sized + Send + Sync> Sync for Tracked<T> {}

impl<T> Tracked<T> {
    /// A tracked value; remembers where it was made.
    #[inline]
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Tracked(TrackedUnsafeCell {
            #[cfg(feature = "check")]
            object: Record::atomic(std::any::type_name::<Self>),
            value: std::cell::UnsafeCell::new(value),
        })
    }

    /// The value. Nothing is recorded: the access is exclusive.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// A read.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        **self
    }

    /// A write.
    #[inline]
    #[track_caller]
    pub fn set(&mut self, value: T) {
        **self = value;
    }

    /// A read and a write: puts in what `f` makes of the value.
    #[inline]
    #[track_caller]
    pub fn update(&mut self, f: impl FnOnce(T) -> T)
    where
        T: Copy,
    {
        self.0.note(Access::ReadWrite);
        let value = self.0.value.get_mut();
        *value = f(*value);
    }

    /// A read and a write: the value that was there.
    #[inline]
    #[track_caller]
    pub fn replace(&mut self, value: T) -> T {
        self.0.note(Access::ReadWrite);
        mem::replace(self.0.value.get_mut(), value)
    }

    /// A read and a write: the value that was there, with the default in its place.
    #[inline]
    #[track_caller]
    pub fn take(&mut self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }
}

impl<T: ?Sized> Tracked<T> {
    /// A read and a write, through a shared reference: for a value that something guards which the
    /// compiler does not know of.
    ///
    /// # Safety
    ///
    /// Nobody else may touch the value while `f` runs, with any method: hold what guards it.
    #[inline]
    #[track_caller]
    pub unsafe fn with_mut<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.0.note(Access::ReadWrite);
        // SAFETY: the caller's.
        f(unsafe { &mut *self.0.value.get() })
    }

    /// A pointer to the value. What is done through it is not seen.
    #[inline]
    pub const fn as_ptr(&self) -> *mut T {
        self.0.value.get()
    }
}

/// A read.
impl<T: ?Sized> Deref for Tracked<T> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        self.0.note(Access::Read);
        // SAFETY: nobody writes: who does so through `&mut self` has the value to itself, and who
        // calls `with_mut` vouches for it.
        unsafe { &*self.0.value.get() }
    }
}

/// A write.
impl<T: ?Sized> DerefMut for Tracked<T> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        self.0.note(Access::Write);
        self.0.value.get_mut()
    }
}

impl<T: Default> Default for Tracked<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Tracked<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// A read.
impl<T: Clone> Clone for Tracked<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new((**self).clone())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Tracked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: as in `deref`. No access: it is for whoever debugs the program.
        unsafe { &*self.0.value.get() }.fmt(f)
    }
}

#[cfg(not(feature = "check"))]
const _: () = assert!(
    size_of::<TrackedUnsafeCell<u8>>() == 1
        && size_of::<Tracked<[u16; 3]>>() == 6
        && align_of::<Tracked<u64>>() == align_of::<u64>()
);
