//! Values, as properties know them.

use std::sync::atomic::*;

/// An atomic whose values can be recorded.
pub(crate) trait Recorded {
    /// The value it has now. Only what is an `i64` can be recorded.
    fn recorded(&self) -> i128;
}

macro_rules! recorded {
    ($($Atomic:ident)*) => {$(
        impl Recorded for $Atomic {
            fn recorded(&self) -> i128 {
                self.load(Ordering::SeqCst) as i128
            }
        }
    )*};
}

recorded! {
    AtomicBool
    AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize
    AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize
}

impl<T> Recorded for AtomicPtr<T> {
    /// The address, which is 0 for null.
    fn recorded(&self) -> i128 {
        self.load(Ordering::SeqCst).addr() as i128
    }
}

/// Says that a value cannot be recorded.
#[cold]
#[track_caller]
pub(crate) fn refuse(name: &str, value: i128) -> ! {
    panic!(
        "`{name}` became {value}: expected a value of i64, which is at most {}",
        i64::MAX
    )
}
