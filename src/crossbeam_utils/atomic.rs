//! Atomic types.

pub use ::crossbeam_utils::atomic::{AtomicCell, AtomicConsume};

use crate::sync::atomic::{self, Ordering};

macro_rules! consume {
    ($($Atomic:ident: $Value:ty;)*) => {$(
        /// A read. `Acquire` promises no less than consume.
        impl AtomicConsume for atomic::$Atomic {
            type Val = $Value;

            #[inline]
            #[track_caller]
            fn load_consume(&self) -> $Value {
                self.load(Ordering::Acquire)
            }
        }
    )*};
}

consume! {
    AtomicBool: bool;
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

/// A read.
impl<T> AtomicConsume for atomic::AtomicPtr<T> {
    type Val = *mut T;

    #[inline]
    #[track_caller]
    fn load_consume(&self) -> *mut T {
        self.load(Ordering::Acquire)
    }
}
