use std::any::type_name;
use std::fmt;
use std::sync::atomic::{self as real, Ordering};

use super::core::Core;
use crate::record::value::Recorded;
use crate::record::{Effect, What};
use crate::trace::Update;

/// What a read-modify-write did: this, or an update of this kind in vain.
macro_rules! effect {
    ($what:ident, $kind:ident, $is_vain:expr) => {
        if $is_vain {
            Effect::Vain(Update::$kind)
        } else {
            Effect::Did(What::$what)
        }
    };
}

/// What every atomic has: `$Atomic` of a `$Value`, made of std's `$Real`.
///
/// Methods that are not generic are calls where the program is not optimised: with `opt-level` set
/// for this crate alone, all of them runs optimised.
macro_rules! common {
    ([$($generics:tt)*] $Atomic:ty, $Real:ty, $Value:ty) => {
        impl $($generics)* $Atomic {
            /// As std's; remembers where it was called.
            #[inline]
            #[must_use]
            #[track_caller]
            pub const fn new(v: $Value) -> Self {
                Self(Core::new(<$Real>::new(v), type_name::<Self>))
            }

            /// As std's. Nothing is recorded: the access is exclusive.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $Value {
                self.0.inner.get_mut()
            }

            /// As std's, but for being no `const fn`. Nothing is recorded: the access is exclusive.
            #[inline]
            pub fn into_inner(self) -> $Value {
                self.0.inner.into_inner()
            }

            /// As std's. What is done through the pointer is not recorded.
            #[inline]
            pub const fn as_ptr(&self) -> *mut $Value {
                self.0.inner.as_ptr()
            }

            /// As std's: a read.
            #[cfg_attr(not(debug_assertions), inline)]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $Value {
                self.0.read(|a| a.load(order))
            }

            /// As std's: a write.
            #[cfg_attr(not(debug_assertions), inline)]
            #[track_caller]
            pub fn store(&self, val: $Value, order: Ordering) {
                self.0.write(|a| a.store(val, order))
            }

            /// As std's: a read and a write in one; in vain if it leaves the value as it was.
            #[cfg_attr(not(debug_assertions), inline)]
            #[track_caller]
            pub fn swap(&self, val: $Value, order: Ordering) -> $Value {
                self.0.operate(|a| {
                    let old = a.swap(val, order);
                    (old, effect!(ReadWrite, Swap, old == val))
                })
            }

            /// As std's: a read and a write in one that answers for earlier reads; a read where it
            /// fails.
            #[inline]
            #[track_caller]
            #[deprecated(note = "use `compare_exchange` or `compare_exchange_weak` instead")]
            pub fn compare_and_swap(
                &self,
                current: $Value,
                new: $Value,
                order: Ordering,
            ) -> $Value {
                let failure = match order {
                    Ordering::AcqRel => Ordering::Acquire,
                    Ordering::Release => Ordering::Relaxed,
                    other => other,
                };
                match self.compare_exchange(current, new, order, failure) {
                    Ok(value) | Err(value) => value,
                }
            }

            /// As std's: a read and a write in one that answers for earlier reads; a read where it
            /// fails.
            #[cfg_attr(not(debug_assertions), inline)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $Value,
                new: $Value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$Value, $Value> {
                self.0.exchange(new, |a| a.compare_exchange(current, new, success, failure))
            }

            /// As std's: a read and a write in one that answers for earlier reads; a read where it
            /// fails.
            #[cfg_attr(not(debug_assertions), inline)]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $Value,
                new: $Value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$Value, $Value> {
                self.0.exchange_weak(
                    new,
                    |a| a.load(failure),
                    |a| a.compare_exchange_weak(current, new, success, failure),
                )
            }

            /// As std's: a read and a write in one, or a read where `f` gives up, whatever the
            /// number of tries.
            #[inline]
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$Value, $Value>
            where
                F: FnMut($Value) -> Option<$Value>,
            {
                self.try_update(set_order, fetch_order, f)
            }

            /// As std's: a read and a write in one, or a read where `f` gives up, whatever the
            /// number of tries.
            #[inline]
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: impl FnMut($Value) -> Option<$Value>,
            ) -> Result<$Value, $Value> {
                self.0.update(
                    |a| a.load(fetch_order),
                    |a, seen, next| a.compare_exchange_weak(seen, next, set_order, fetch_order),
                    f,
                )
            }

            /// As std's: a read and a write in one, whatever the number of tries.
            #[inline]
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($Value) -> $Value,
            ) -> $Value {
                match self.try_update(set_order, fetch_order, |value| Some(f(value))) {
                    Ok(value) | Err(value) => value,
                }
            }
        }

        impl $($generics)* From<$Value> for $Atomic {
            #[inline]
            #[track_caller]
            fn from(v: $Value) -> Self {
                Self::new(v)
            }
        }

        impl $($generics)* fmt::Debug for $Atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.inner.fmt(f)
            }
        }

        impl $($generics)* Recorded for $Atomic {
            #[inline]
            fn recorded(&self) -> i128 {
                self.0.inner.recorded()
            }
        }

        impl $($generics)* crate::name::Tracked for $Atomic {}

        impl $($generics)* crate::name::Sealed for $Atomic {
            #[track_caller]
            fn record_name(&self, number: u32) {
                self.0.name(number);
            }
        }
    };
}

/// Operations that read and write in one: `method(argument) -> result: what it counts as`, and
/// where it does, if it changes nothing.
macro_rules! operations {
    ($(
        $method:ident($($val:ident: $Arg:ty)?) -> $Value:ty:
        $what:ident $(in vain ($kind:ident) if |$old:ident| $is_vain:expr)?;
    )*) => {$(
        #[doc = concat!("As std's: ", operations!(@doc $($kind)?), ".")]
        #[cfg_attr(not(debug_assertions), inline)]
        #[track_caller]
        pub fn $method(&self, $($val: $Arg,)? order: Ordering) -> $Value {
            self.0.operate(|a| {
                let old = a.$method($($val,)? order);
                (old, operations!(@ old $what $($kind |$old| $is_vain)?))
            })
        }
    )*};
    (@doc) => { "a read and a write in one" };
    (@doc $kind:ident) => { "an update, in vain if it leaves the value as it was" };
    (@ $value:ident $what:ident) => { Effect::Did(What::$what) };
    (@ $value:ident $what:ident $kind:ident |$old:ident| $is_vain:expr) => {{
        let $old = $value;
        effect!($what, $kind, $is_vain)
    }};
}

/// Additions and subtractions: `method, or nothing where it wraps: what it counts as`.
macro_rules! sums {
    ($($method:ident, $checked:ident: $effect:ident of $Value:ty;)*) => {$(
        #[doc = concat!("As std's: ", operations!(@doc Add), ".")]
        #[cfg_attr(not(debug_assertions), inline)]
        #[track_caller]
        pub fn $method(&self, val: $Value, order: Ordering) -> $Value {
            self.0.operate(|a| {
                let old = a.$method(val, order);
                (old, Effect::$effect(old, old.$checked(val)))
            })
        }
    )*};
}

macro_rules! integer {
    ($($Atomic:ident: $Value:ty;)*) => {$(
        #[doc = concat!("[`std::sync::atomic::", stringify!($Atomic), "`], tracked.")]
        #[repr(transparent)]
        pub struct $Atomic(pub(crate) Core<real::$Atomic>);

        common!([] $Atomic, real::$Atomic, $Value);

        impl $Atomic {
            sums! {
                fetch_add, checked_add: of_addition of $Value;
                fetch_sub, checked_sub: of_subtraction of $Value;
            }

            operations! {
                fetch_and(val: $Value) -> $Value: UpdateAnd in vain (And) if |old| old & val == old;
                fetch_nand(val: $Value) -> $Value: ReadWrite;
                fetch_or(val: $Value) -> $Value: UpdateOr in vain (Or) if |old| old | val == old;
                fetch_xor(val: $Value) -> $Value: UpdateXor in vain (Xor) if |_old| val == 0;
                fetch_max(val: $Value) -> $Value: UpdateMax in vain (Max) if |old| old >= val;
                fetch_min(val: $Value) -> $Value: UpdateMin in vain (Min) if |old| old <= val;
            }
        }

        impl Default for $Atomic {
            #[inline]
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    )*};
}

/// Hands the atomic integers and their values to a macro.
macro_rules! integers {
    ($then:ident) => {
        $then! {
            AtomicI8: i8;
            AtomicU8: u8;
            AtomicI16: i16;
            AtomicU16: u16;
            AtomicI32: i32;
            AtomicU32: u32;
            AtomicI64: i64;
            AtomicU64: u64;
            AtomicIsize: isize;
            AtomicUsize: usize;
        }
    };
}

#[cfg(any(feature = "serde", feature = "crossbeam-utils"))]
pub(crate) use integers;

integers!(integer);

/// [`std::sync::atomic::AtomicBool`], tracked.
#[repr(transparent)]
pub struct AtomicBool(pub(crate) Core<real::AtomicBool>);

common!([] AtomicBool, real::AtomicBool, bool);

impl AtomicBool {
    operations! {
        fetch_and(val: bool) -> bool: UpdateAnd in vain (And) if |old| old & val == old;
        fetch_nand(val: bool) -> bool: ReadWrite;
        fetch_or(val: bool) -> bool: UpdateOr in vain (Or) if |old| old | val == old;
        fetch_xor(val: bool) -> bool: UpdateXor in vain (Xor) if |_old| !val;
        fetch_not() -> bool: ReadWrite;
    }
}

impl Default for AtomicBool {
    #[inline]
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

/// [`std::sync::atomic::AtomicPtr`], tracked.
#[repr(transparent)]
pub struct AtomicPtr<T>(pub(crate) Core<real::AtomicPtr<T>>);

common!([<T>] AtomicPtr<T>, real::AtomicPtr<T>, *mut T);

#[cfg(since = "1.91")]
impl<T> AtomicPtr<T> {
    operations! {
        fetch_ptr_add(val: usize) -> *mut T: UpdateAdd in vain (Add) if |_old| val == 0;
        fetch_ptr_sub(val: usize) -> *mut T: UpdateAdd in vain (Add) if |_old| val == 0;
        fetch_byte_add(val: usize) -> *mut T: UpdateAdd in vain (Add) if |_old| val == 0;
        fetch_byte_sub(val: usize) -> *mut T: UpdateAdd in vain (Add) if |_old| val == 0;
        fetch_or(val: usize) -> *mut T: UpdateOr in vain (Or) if |old| !old.addr() & val == 0;
        fetch_and(val: usize) -> *mut T: UpdateAnd in vain (And) if |old| old.addr() & !val == 0;
        fetch_xor(val: usize) -> *mut T: UpdateXor in vain (Xor) if |_old| val == 0;
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0.inner, f)
    }
}

/// An [`AtomicBool`] that is `false`.
#[deprecated(note = "the `new` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "as std has it")]
pub const ATOMIC_BOOL_INIT: AtomicBool = AtomicBool::new(false);

/// An [`AtomicIsize`] that is 0.
#[deprecated(note = "the `new` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "as std has it")]
pub const ATOMIC_ISIZE_INIT: AtomicIsize = AtomicIsize::new(0);

/// An [`AtomicUsize`] that is 0.
#[deprecated(note = "the `new` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "as std has it")]
pub const ATOMIC_USIZE_INIT: AtomicUsize = AtomicUsize::new(0);
