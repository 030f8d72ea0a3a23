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

/// Whether a try has taken the lock. It gives it back at once, and poisons nothing: where the
/// thread is unwinding, it was when it tried.
pub(super) fn is_free<G>(result: TryLockResult<G>) -> bool {
    !matches!(result, Err(TryLockError::WouldBlock))
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

/// What a lock has beside the ways to take it. Nothing of it is recorded: what is exclusive needs
/// no order.
macro_rules! unrecorded {
    ($Lock:ident) => {
        impl<T> $Lock<T> {
            /// As std's; remembers where it was called.
            #[inline]
            #[track_caller]
            pub const fn new(t: T) -> Self {
                $Lock {
                    object: Object::lock::<T>(std::any::type_name::<Self>),
                    inner: std::sync::$Lock::new(t),
                }
            }
        }

        impl<T: ?Sized> $Lock<T> {
            /// As std's.
            #[inline]
            pub fn is_poisoned(&self) -> bool {
                self.inner.is_poisoned()
            }

            /// As std's.
            #[inline]
            pub fn clear_poison(&self) {
                self.inner.clear_poison();
            }

            /// As std's.
            pub fn into_inner(self) -> LockResult<T>
            where
                T: Sized,
            {
                self.inner.into_inner()
            }

            /// As std's.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.inner.get_mut()
            }
        }

        impl<T> From<T> for $Lock<T> {
            #[track_caller]
            fn from(t: T) -> Self {
                Self::new(t)
            }
        }

        impl<T: Default> Default for $Lock<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $Lock<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.fmt(f)
            }
        }
    };
}

pub(super) use unrecorded;
