//! Atomic types.

pub use ::crossbeam_utils::atomic::{AtomicCell, AtomicConsume};

use crate::sync::atomic::{self, Ordering, integers};

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

integers!(consume);
consume! {
    AtomicBool: bool;
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
