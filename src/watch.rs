//! Variables that properties speak of.
//!
//! A [`Watched`] is an atomic integer or `bool` with a name. With the feature `check` every write
//! is recorded with its value, so that a property of the
//! [lattice](https://docs.rs/aerodrome/latest/aerodrome/lattice) can be checked on every run that
//! is consistent with the observed one. Without it, it is the atomic and nothing else: no name, no
//! record.
//!
//! ```
//! use aerodrome::watch::Watched;
//!
//! static RADIO: Watched<bool> = Watched::<bool>::new("radio", true);
//! static ALTITUDE: Watched<i32> = Watched::<i32>::new("altitude", 3_000);
//!
//! if RADIO.get() {
//!     ALTITUDE.fetch_sub(500);
//! }
//! assert_eq!(ALTITUDE.get(), 2_500);
//! ```
//!
//! All operations are sequentially consistent. Values are recorded as `i64`.
//!
//! # Named atomics
//!
//! A tracked atomic is a variable as well, of any integer type, `bool` or a pointer (which is its
//! address, 0 for null), once
//! [`aerodrome::name`](crate::name()) has given it a name:
//!
//! ```
//! use aerodrome::sync::atomic::{AtomicUsize, Ordering};
//! use aerodrome::thread;
//!
//! let open = AtomicUsize::new(0);
//! aerodrome::name(&open, "open");
//! aerodrome::property!("open <= 2");
//! thread::scope(|s| {
//!     s.spawn(|| open.fetch_add(1, Ordering::Relaxed));
//!     s.spawn(|| open.fetch_add(1, Ordering::Relaxed));
//! });
//! ```
//!
//! - The value that it has when it is named is its initial one; what was written before is no event
//!   of the variable.
//! - The same name again changes nothing. Another one makes it another variable: the former keeps
//!   its last value.
//! - An atomic that is dropped leaves its last value behind. The next one that gets the name goes
//!   on from there, with its own value as a write.
//! - Two that live at the same time under one name are an error, for a property that speaks of it.
//!   Tests that run side by side may each have one: a property's variables are those that its own
//!   threads have named or touched, and only where they have none those of other tests.
//! - A value outside `i64` is an error as with `Watched`, but only while a property speaks of the
//!   variable; a name for reports asks nothing of the values.
//! - What is done by `get_mut`, `into_inner` and `as_ptr` is not recorded.
//! - Every write of a named atomic is recorded, also those that say nothing new to an atomic block,
//!   and takes its place among all writes of variables. That costs the thread between two and three
//!   times as much as a write of an atomic without a name, and more where many threads write named
//!   ones.

use std::fmt;

use crate::sync::atomic::{self, Ordering};

#[cfg(feature = "check")]
mod checked;
#[cfg(not(feature = "check"))]
mod plain;
#[cfg(feature = "check")]
mod property;

#[cfg(feature = "check")]
use checked::Name;
#[cfg(not(feature = "check"))]
use plain::Name;

#[cfg(not(feature = "check"))]
pub use plain::{PropertyGuard, property};
#[cfg(feature = "check")]
pub use property::{PropertyGuard, property};

/// Checks a property of [`Watched`](crate::watch::Watched) variables and [named
/// atomics](crate::watch#named-atomics), from here to the end of the block it stands in, on every
/// run that is consistent with the one that is observed. Without the feature `check` it does
/// nothing.
///
/// Threads count that the current thread's family has; join them before the block ends.
///
/// ```
/// use aerodrome::{thread, watch::Watched};
///
/// static OPEN: Watched<i32> = Watched::<i32>::new("open", 0);
///
/// aerodrome::property!("open >= 0 && open <= 2");
/// thread::scope(|s| {
///     s.spawn(|| OPEN.fetch_add(1));
///     s.spawn(|| OPEN.fetch_add(1));
/// });
/// ```
///
/// # Panics
///
/// Where the property is malformed, at once; at the end of the block where a consistent run breaks
/// the property, or where it names a variable that does not exist.
#[macro_export]
macro_rules! property {
    ($text:expr) => {
        let _property = $crate::watch::property($text);
    };
}

mod sealed {
    /// A type that can be watched, and the atomic that holds it.
    pub trait Value {
        type Atomic: std::fmt::Debug;

        fn into_inner(atomic: Self::Atomic) -> Self;
    }
}

/// What can be watched: the integers of at most 64 bits, and `bool`.
pub trait Value: sealed::Value {}

/// An atomic variable with a name, for properties to speak of; see [the module's page](self).
pub struct Watched<T: Value> {
    name: Name,
    value: T::Atomic,
}

/// What every watched type has: methods of its atomic, by its name.
macro_rules! watched {
    ($($T:ident $Atomic:ident;)*) => {$(
        impl sealed::Value for $T {
            type Atomic = atomic::$Atomic;

            fn into_inner(atomic: Self::Atomic) -> Self {
                atomic.into_inner()
            }
        }

        impl Value for $T {}

        impl Watched<$T> {
            /// A variable with this name, by which properties know it, and this value to begin
            /// with.
            #[inline]
            #[must_use]
            #[track_caller]
            pub const fn new(name: &'static str, value: $T) -> Self {
                Self { name: Name::new(name), value: atomic::$Atomic::new(value) }
            }

            /// The atomic, which has its name.
            #[inline]
            #[track_caller]
            fn named(&self) -> &atomic::$Atomic {
                self.name.give(&self.value);
                &self.value
            }

            /// The value.
            #[inline]
            #[track_caller]
            pub fn get(&self) -> $T {
                self.named().load(Ordering::SeqCst)
            }

            /// Stores a value.
            ///
            /// # Panics
            ///
            /// Where the value does not fit `i64`, in the build with the feature `check`; so do all
            /// other operations.
            #[inline]
            #[track_caller]
            pub fn set(&self, value: $T) {
                self.named().store(value, Ordering::SeqCst);
                self.name.admit(&self.value);
            }

            /// Stores a value and returns the one before.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $T) -> $T {
                let before = self.named().swap(value, Ordering::SeqCst);
                self.name.admit(&self.value);
                before
            }

            /// Stores `new` where the value is `current`. Returns the value before, as an error
            /// where nothing was stored.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(&self, current: $T, new: $T) -> Result<$T, $T> {
                let order = Ordering::SeqCst;
                let before = self.named().compare_exchange(current, new, order, order);
                self.name.admit(&self.value);
                before
            }

            /// Stores what `f` makes of the value, or nothing where `f` returns nothing. Returns
            /// the value before, as an error where nothing was stored. `f` may be called several
            /// times.
            #[inline]
            #[track_caller]
            pub fn fetch_update(&self, f: impl FnMut($T) -> Option<$T>) -> Result<$T, $T> {
                let before = self.named().fetch_update(Ordering::SeqCst, Ordering::SeqCst, f);
                self.name.admit(&self.value);
                before
            }
        }
    )*};
}

/// What only some types have.
macro_rules! operations {
    ($($T:ident)* : $($method:ident $doc:literal;)*) => {
        operations!(@ [$($T)*] [$($method $doc;)*]);
    };
    (@ [$($T:ident)*] $operations:tt) => {$( operations!(@@ $T $operations); )*};
    (@@ $T:ident [$($method:ident $doc:literal;)*]) => {
        impl Watched<$T> {$(
            #[doc = $doc]
            #[doc = " Returns the value before."]
            #[inline]
            #[track_caller]
            pub fn $method(&self, value: $T) -> $T {
                let before = self.named().$method(value, Ordering::SeqCst);
                self.name.admit(&self.value);
                before
            }
        )*}
    };
}

watched! {
    bool AtomicBool;
    i8 AtomicI8;
    i16 AtomicI16;
    i32 AtomicI32;
    i64 AtomicI64;
    isize AtomicIsize;
    u8 AtomicU8;
    u16 AtomicU16;
    u32 AtomicU32;
    u64 AtomicU64;
    usize AtomicUsize;
}

operations! {
    i8 i16 i32 i64 isize u8 u16 u32 u64 usize:
    fetch_add "Adds, wrapping around on overflow.";
    fetch_sub "Subtracts, wrapping around on overflow.";
    fetch_max "Stores the larger one of the two.";
    fetch_min "Stores the smaller one of the two.";
}

operations! {
    bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize:
    fetch_and "Bitwise \"and\".";
    fetch_or "Bitwise \"or\".";
    fetch_xor "Bitwise exclusive \"or\".";
}

impl<T: Value> Watched<T> {
    /// The value, without the variable around it.
    pub fn into_inner(self) -> T {
        T::into_inner(self.value)
    }
}

impl<T: Value> fmt::Debug for Watched<T> {
    /// The value; looking at it so is not recorded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.value).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_those_of_an_atomic() {
        let number = Watched::<u8>::new("number", 250);
        assert_eq!(number.fetch_add(10), 250);
        assert_eq!(number.get(), 4);
        assert_eq!(number.fetch_sub(5), 4);
        assert_eq!(number.fetch_max(7), 255);
        assert_eq!(number.fetch_min(7), 255);
        assert_eq!(number.swap(0b1100), 7);
        assert_eq!(number.fetch_and(0b0110), 0b1100);
        assert_eq!(number.fetch_or(0b0001), 0b0100);
        assert_eq!(number.fetch_xor(0b0101), 0b0101);
        assert_eq!(number.compare_exchange(0, 9), Ok(0));
        assert_eq!(number.compare_exchange(0, 8), Err(9));
        assert_eq!(number.fetch_update(|value| value.checked_mul(2)), Ok(9));
        assert_eq!(number.fetch_update(|value| value.checked_mul(200)), Err(18));
        number.set(3);
        assert_eq!(format!("{number:?}"), "Watched(3)");
        assert_eq!(number.into_inner(), 3);
    }

    #[test]
    fn truth_values_can_be_watched() {
        static RADIO: Watched<bool> = Watched::<bool>::new("radio", true);
        assert!(RADIO.fetch_and(false));
        assert!(!RADIO.swap(true));
        assert!(RADIO.get());
    }

    #[test]
    #[cfg(not(feature = "check"))]
    fn without_the_check_it_is_no_larger_than_the_atomic() {
        assert_eq!(size_of::<Watched<u64>>(), size_of::<u64>());
        assert_eq!(size_of::<Watched<bool>>(), size_of::<bool>());
    }
}
