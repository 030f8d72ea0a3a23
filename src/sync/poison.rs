//! Std's lock results, with another guard in them.

use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

#[inline]
pub(super) fn map<G, H>(result: LockResult<G>, guard: impl FnOnce(G) -> H) -> LockResult<H> {
    match result {
        Ok(inner) => Ok(guard(inner)),
        Err(error) => Err(PoisonError::new(guard(error.into_inner()))),
    }
}

#[inline]
pub(super) fn try_map<G, H>(
    result: TryLockResult<G>,
    guard: impl FnOnce(G) -> H,
) -> TryLockResult<H> {
    match result {
        Ok(inner) => Ok(guard(inner)),
        Err(TryLockError::Poisoned(error)) => Err(TryLockError::Poisoned(PoisonError::new(guard(
            error.into_inner(),
        )))),
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}
