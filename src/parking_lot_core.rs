//! `parking_lot_core` 0.9, tracked, with the feature `parking_lot`.
//!
//! Without the `check` feature every name here *is* the one of parking_lot_core. With it, a step of
//! a [`SpinWait`] and a [`park`] are pauses, as [`spin_loop`](crate::hint::spin_loop()) is: in an
//! atomic block each is a wait if the block then looks again at what it has looked at. Of the
//! functions that unpark, nothing is recorded. All else is parking_lot_core's own.
//!
//! ```
//! use aerodrome::parking_lot_core::SpinWait;
//! use aerodrome::sync::atomic::{AtomicBool, Ordering};
//!
//! fn lock(is_locked: &AtomicBool) {
//!     let mut wait = SpinWait::new();
//!     while is_locked.swap(true, Ordering::Acquire) {
//!         wait.spin();
//!     }
//! }
//!
//! let is_locked = AtomicBool::new(false);
//! lock(&is_locked);
//! assert!(is_locked.into_inner());
//! ```

pub use ::parking_lot_core::*;

#[cfg(feature = "check")]
pub use self::tracked::{SpinWait, park, unpark_all, unpark_filter, unpark_one, unpark_requeue};

#[cfg(feature = "check")]
mod tracked {
    use std::time::Instant;

    use std::panic::Location;

    use ::parking_lot_core::{
        self as real, FilterOp, ParkResult, ParkToken, RequeueOp, UnparkResult, UnparkToken,
    };

    use crate::hint::pause;
    use crate::record::{Intent, Kind, outside, step};

    /// As parking_lot_core's: waits longer with each step. In an atomic block a step is a wait if
    /// the block then looks again at what it has looked at.
    #[derive(Default)]
    pub struct SpinWait(real::SpinWait);

    impl SpinWait {
        /// As parking_lot_core's.
        #[inline]
        pub fn new() -> Self {
            Self::default()
        }

        /// As parking_lot_core's.
        #[inline]
        pub fn reset(&mut self) {
            self.0.reset();
        }

        /// As parking_lot_core's: a pause.
        #[inline]
        #[track_caller]
        pub fn spin(&mut self) -> bool {
            pause(Kind::Yield, || self.0.spin())
        }

        /// As parking_lot_core's: a pause.
        #[inline]
        #[track_caller]
        pub fn spin_no_yield(&mut self) {
            pause(Kind::Yield, || self.0.spin_no_yield());
        }
    }

    /// As parking_lot_core's: a pause.
    ///
    /// # Safety
    ///
    /// As for [`parking_lot_core::park`](::parking_lot_core::park): the caller controls `key`, and
    /// the functions neither panic nor call into parking_lot.
    #[inline]
    #[track_caller]
    pub unsafe fn park(
        key: usize,
        validate: impl FnOnce() -> bool,
        before_sleep: impl FnOnce(),
        timed_out: impl FnOnce(usize, bool),
        park_token: ParkToken,
        timeout: Option<Instant>,
    ) -> ParkResult {
        // SAFETY: the caller's promise, unchanged; recording runs before and after, not in between.
        let park =
            || unsafe { real::park(key, validate, before_sleep, timed_out, park_token, timeout) };
        pause(Kind::Yield, || outside(park))
    }

    /// `fn name(arguments) -> result`: the ways to unpark.
    macro_rules! unparks {
        ($(fn $name:ident($($argument:ident: $Type:ty),*) -> $Result:ty;)*) => {$(
            /// As parking_lot_core's.
            ///
            /// # Safety
            ///
            /// As parking_lot_core's: the caller controls the keys, and the functions neither panic
            /// nor call into parking_lot.
            #[inline]
            #[track_caller]
            pub unsafe fn $name($($argument: $Type),*) -> $Result {
                step(move || Intent::bare(Kind::Unpark, Location::caller()));
                // SAFETY: the caller's promise, unchanged.
                unsafe { real::$name($($argument),*) }
            }
        )*};
    }

    unparks! {
        fn unpark_one(key: usize, callback: impl FnOnce(UnparkResult) -> UnparkToken) -> UnparkResult;
        fn unpark_all(key: usize, unpark_token: UnparkToken) -> usize;
        fn unpark_requeue(
            key_from: usize,
            key_to: usize,
            validate: impl FnOnce() -> RequeueOp,
            callback: impl FnOnce(RequeueOp, UnparkResult) -> UnparkToken
        ) -> UnparkResult;
        fn unpark_filter(
            key: usize,
            filter: impl FnMut(ParkToken) -> FilterOp,
            callback: impl FnOnce(UnparkResult) -> UnparkToken
        ) -> UnparkResult;
    }
}
