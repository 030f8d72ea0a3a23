use std::any::type_name;
use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;

use ::tokio::sync::{self as original, AcquireError, TryAcquireError};

use crate::record::clock::Clock;
use crate::record::{Effect, Object, What, pen};
use crate::trace::ObjectKind;

/// See [`tokio::sync::Semaphore`](original::Semaphore).
///
/// With one permit it is a lock that guards nothing that is seen: taking and giving back order.
/// With several they commute, and conflict with looks at how many there are.
#[derive(Debug)]
pub struct Semaphore {
    object: Object<Clock>,
    /// What taking and giving back count as.
    change: What,
    inner: original::Semaphore,
}

/// See [`tokio::sync::SemaphorePermit`](original::SemaphorePermit).
#[must_use]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: Permits,
}

/// See [`tokio::sync::OwnedSemaphorePermit`](original::OwnedSemaphorePermit).
#[must_use]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: Permits,
}

/// How many permits, and where they were taken.
#[derive(Debug)]
struct Permits {
    count: u32,
    taken: &'static Location<'static>,
}

impl Semaphore {
    /// See [`tokio::sync::Semaphore::MAX_PERMITS`](original::Semaphore::MAX_PERMITS).
    pub const MAX_PERMITS: usize = original::Semaphore::MAX_PERMITS;

    /// See [`tokio::sync::Semaphore::new`](original::Semaphore::new).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Self::of(original::Semaphore::new(permits), permits)
    }

    /// See [`tokio::sync::Semaphore::const_new`](original::Semaphore::const_new).
    #[track_caller]
    pub const fn const_new(permits: usize) -> Self {
        Self::of(original::Semaphore::const_new(permits), permits)
    }

    #[track_caller]
    const fn of(inner: original::Semaphore, permits: usize) -> Self {
        let change = match permits {
            1 => What::ReadWrite,
            _ => What::UpdateChannel,
        };
        Self {
            object: Object::clocked(ObjectKind::Channel, type_name::<Self>),
            change,
            inner,
        }
    }

    /// Does something to the permits that counts as what the result says.
    fn attempt<R>(
        &self,
        site: &'static Location<'static>,
        attempt: impl FnOnce() -> (R, Effect),
    ) -> R {
        match pen() {
            Some(pen) => pen.attempt(&self.object, site, attempt),
            None => attempt().0,
        }
    }

    /// See [`tokio::sync::Semaphore::available_permits`](original::Semaphore::available_permits).
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        let available = || self.inner.available_permits();
        self.object.look(What::Read, Location::caller(), available)
    }

    /// See [`tokio::sync::Semaphore::add_permits`](original::Semaphore::add_permits).
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        self.give_back(n, Location::caller());
    }

    fn give_back(&self, n: usize, site: &'static Location<'static>) {
        self.attempt(site, || {
            self.inner.add_permits(n);
            ((), Effect::Did(self.change))
        });
    }

    /// See [`tokio::sync::Semaphore::forget_permits`](original::Semaphore::forget_permits). A write.
    #[track_caller]
    pub fn forget_permits(&self, n: usize) -> usize {
        self.attempt(Location::caller(), || {
            (self.inner.forget_permits(n), Effect::Did(What::Write))
        })
    }

    /// See [`tokio::sync::Semaphore::close`](original::Semaphore::close). A write.
    #[track_caller]
    pub fn close(&self) {
        self.attempt(Location::caller(), || {
            (self.inner.close(), Effect::Did(What::Write))
        });
    }

    /// See [`tokio::sync::Semaphore::is_closed`](original::Semaphore::is_closed).
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let is_closed = || self.inner.is_closed();
        self.object.look(What::Read, Location::caller(), is_closed)
    }

    /// Takes permits, polling in the semaphore's turn: what it says of them changes as one with
    /// what is recorded. To wait does not end the transaction.
    async fn take(
        &self,
        count: u32,
        taken: &'static Location<'static>,
    ) -> Result<Permits, AcquireError> {
        let mut acquire = pin!(self.inner.acquire_many(count));
        std::future::poll_fn(|context| {
            self.attempt(taken, || {
                let result = acquire.as_mut().poll(context);
                let effect = match result {
                    std::task::Poll::Ready(Ok(_)) => Effect::Did(self.change),
                    std::task::Poll::Ready(Err(_)) => Effect::Did(What::Read),
                    std::task::Poll::Pending => Effect::Nothing,
                };
                (result, effect)
            })
        })
        .await?
        .forget();
        Ok(Permits { count, taken })
    }

    fn try_take(
        &self,
        count: u32,
        taken: &'static Location<'static>,
    ) -> Result<Permits, TryAcquireError> {
        self.attempt(taken, || match self.inner.try_acquire_many(count) {
            Ok(permit) => {
                permit.forget();
                (Ok(Permits { count, taken }), Effect::Did(self.change))
            }
            Err(error) => (Err(error), Effect::Did(What::Read)),
        })
    }

    /// See [`tokio::sync::Semaphore::acquire`](original::Semaphore::acquire).
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_many(1)
    }

    /// See [`tokio::sync::Semaphore::acquire_many`](original::Semaphore::acquire_many).
    #[track_caller]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        let (semaphore, taken) = (self, Location::caller());
        async move {
            let permits = self.take(n, taken).await?;
            Ok(SemaphorePermit { semaphore, permits })
        }
    }

    /// See [`tokio::sync::Semaphore::try_acquire`](original::Semaphore::try_acquire).
    ///
    /// # Errors
    ///
    /// As tokio's.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// See [`tokio::sync::Semaphore::try_acquire_many`](original::Semaphore::try_acquire_many).
    ///
    /// # Errors
    ///
    /// As tokio's.
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let permits = self.try_take(n, Location::caller())?;
        let semaphore = self;
        Ok(SemaphorePermit { semaphore, permits })
    }

    /// See [`tokio::sync::Semaphore::acquire_owned`](original::Semaphore::acquire_owned).
    #[track_caller]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_many_owned(1)
    }

    /// See [`tokio::sync::Semaphore::acquire_many_owned`](original::Semaphore::acquire_many_owned).
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        let (semaphore, taken) = (self, Location::caller());
        async move {
            let permits = semaphore.take(n, taken).await?;
            Ok(OwnedSemaphorePermit { semaphore, permits })
        }
    }

    /// See [`tokio::sync::Semaphore::try_acquire_owned`](original::Semaphore::try_acquire_owned).
    ///
    /// # Errors
    ///
    /// As tokio's.
    #[track_caller]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// See [`tokio::sync::Semaphore::try_acquire_many_owned`](original::Semaphore::try_acquire_many_owned).
    ///
    /// # Errors
    ///
    /// As tokio's.
    #[track_caller]
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let permits = self.try_take(n, Location::caller())?;
        let semaphore = self;
        Ok(OwnedSemaphorePermit { semaphore, permits })
    }
}

impl Permits {
    /// See [`SemaphorePermit::split`].
    fn split(&mut self, n: usize) -> Option<Permits> {
        let count = u32::try_from(n).ok()?;
        self.count = self.count.checked_sub(count)?;
        let taken = self.taken;
        Some(Permits { count, taken })
    }
}

/// What permits share.
macro_rules! permits {
    ($($Permit:ident$(<$lifetime:lifetime>)? of $Semaphore:ty, $same:path;)*) => {$(
        impl$(<$lifetime>)? $Permit$(<$lifetime>)? {
            #[doc = concat!("See [`tokio::sync::", stringify!($Permit), "::forget`](original::", stringify!($Permit), "::forget).")]
            pub fn forget(mut self) {
                self.permits.count = 0;
            }

            #[doc = concat!("See [`tokio::sync::", stringify!($Permit), "::merge`](original::", stringify!($Permit), "::merge).")]
            ///
            /// # Panics
            ///
            /// As tokio's: if both are of different semaphores.
            #[track_caller]
            pub fn merge(&mut self, mut other: Self) {
                assert!(
                    $same(&self.semaphore, &other.semaphore),
                    "merging permits from different semaphore instances"
                );
                self.permits.count += std::mem::take(&mut other.permits.count);
            }

            #[doc = concat!("See [`tokio::sync::", stringify!($Permit), "::split`](original::", stringify!($Permit), "::split).")]
            pub fn split(&mut self, n: usize) -> Option<Self> {
                let permits = self.permits.split(n)?;
                let semaphore = self.semaphore.clone();
                Some(Self { semaphore, permits })
            }

            #[doc = concat!("See [`tokio::sync::", stringify!($Permit), "::num_permits`](original::", stringify!($Permit), "::num_permits).")]
            pub fn num_permits(&self) -> usize {
                self.permits.count as usize
            }

            #[doc = concat!("See [`tokio::sync::", stringify!($Permit), "::semaphore`](original::", stringify!($Permit), "::semaphore).")]
            pub fn semaphore(&self) -> &$Semaphore {
                &self.semaphore
            }
        }

        impl$(<$lifetime>)? Drop for $Permit$(<$lifetime>)? {
            fn drop(&mut self) {
                if self.permits.count > 0 {
                    let count = self.permits.count as usize;
                    self.semaphore.give_back(count, self.permits.taken);
                }
            }
        }
    )*};
}

fn is_same(a: &&Semaphore, b: &&Semaphore) -> bool {
    std::ptr::eq(*a, *b)
}

permits! {
    SemaphorePermit<'a> of Semaphore, is_same;
    OwnedSemaphorePermit of Arc<Semaphore>, Arc::ptr_eq;
}
