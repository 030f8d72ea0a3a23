//! Std's lock results, with another guard in them.

use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// The guard, and whether the lock is poisoned.
#[inline(always)]
pub(super) fn split<G>(result: LockResult<G>) -> (G, bool) {
    match result {
        Ok(guard) => (guard, false),
        Err(error) => (error.into_inner(), true),
    }
}

#[inline(always)]
pub(super) fn join<G>(guard: G, is_poisoned: bool) -> LockResult<G> {
    if is_poisoned {
        Err(PoisonError::new(guard))
    } else {
        Ok(guard)
    }
}

#[inline]
pub(super) fn map<G, H>(result: LockResult<G>, guard: impl FnOnce(G) -> H) -> LockResult<H> {
    let (inner, is_poisoned) = split(result);
    join(guard(inner), is_poisoned)
}

/// The same of a try; `busy` says that the lock was taken.
#[inline]
pub(super) fn try_map<G, H>(
    result: TryLockResult<G>,
    guard: impl FnOnce(G) -> H,
    busy: impl FnOnce(),
) -> TryLockResult<H> {
    match result {
        Ok(inner) => Ok(guard(inner)),
        Err(TryLockError::Poisoned(error)) => Err(TryLockError::Poisoned(PoisonError::new(guard(
            error.into_inner(),
        )))),
        Err(TryLockError::WouldBlock) => {
            busy();
            Err(TryLockError::WouldBlock)
        }
    }
}
