//! parking_lot's own tests on the mirror.

/// What parking_lot's unit tests use of its private parts, in terms of the mirror's public ones.
mod private {
    use std::time::Instant;

    use aerodrome::parking_lot::{Condvar, MutexGuard, WaitTimeoutResult};

    pub(crate) trait WaitWhileUntil {
        fn wait_while_until_internal<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            condition: impl FnMut(&mut T) -> bool,
            timeout: Option<Instant>,
        ) -> WaitTimeoutResult;
    }

    impl WaitWhileUntil for Condvar {
        fn wait_while_until_internal<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            condition: impl FnMut(&mut T) -> bool,
            timeout: Option<Instant>,
        ) -> WaitTimeoutResult {
            match timeout {
                Some(timeout) => self.wait_while_until(guard, condition, timeout),
                // Beyond the last instant that there is: for ever.
                None => self.wait_while_for(guard, condition, std::time::Duration::MAX),
            }
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/parking_lot.rs"));
