//! Names for tracked things.

/// Gives a tracked lock, atomic, channel or cell a name, for reports to call it by, and atomics for
/// [properties](crate::watch#named-atomics) too.
///
/// In a build without checking this does nothing, and takes anything.
///
/// ```
/// use aerodrome::sync::Mutex;
///
/// let balance = Mutex::new(10);
/// aerodrome::name(&balance, "balance");
/// ```
#[cfg(not(feature = "check"))]
#[inline(always)]
pub fn name<T: ?Sized>(_object: &T, _name: &str) {}

#[cfg(feature = "check")]
pub(crate) use self::tracked::Sealed;
#[cfg(feature = "check")]
pub use self::tracked::{Tracked, name};

#[cfg(feature = "check")]
mod tracked {
    use crate::record::{Object, Order, names, pen, untracked};
    use crate::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};

    /// Gives a tracked lock, atomic, channel or cell a name, for reports to call it by, and atomics
    /// for [properties](crate::watch#named-atomics) too.
    ///
    /// The last name counts. In a build without checking this does nothing, and takes anything. A
    /// name is kept for as long as the process runs.
    ///
    /// ```
    /// use aerodrome::sync::Mutex;
    ///
    /// let balance = Mutex::new(10);
    /// aerodrome::name(&balance, "balance");
    /// ```
    ///
    /// # Panics
    ///
    /// If the object is an atomic whose value is outside `i64`, and an open property speaks of it.
    #[track_caller]
    pub fn name<T: Tracked + ?Sized>(object: &T, name: &str) {
        if pen().is_some() {
            object.record_name(untracked(|| names::number(name)));
        }
    }

    /// What is tracked, and so can have a [name](name()).
    pub trait Tracked: Sealed {}

    /// Keeps [`Tracked`] ours.
    pub trait Sealed {
        #[doc(hidden)]
        #[track_caller]
        fn record_name(&self, number: u32);
    }

    /// Records that an object has a name.
    fn record<O: Order>(object: &Object<O>, number: u32) {
        if let Some(pen) = pen() {
            pen.name(object, number);
        }
    }

    /// `[generics] type: its objects`.
    macro_rules! tracked {
        ($([$($generics:tt)*] $Type:ty: |$this:ident| $($object:expr),*;)*) => {$(
            impl<$($generics)*> Tracked for $Type {}

            impl<$($generics)*> Sealed for $Type {
                fn record_name(&self, number: u32) {
                    let ($this, _) = (self, number);
                    $(record($object, number);)*
                }
            }
        )*};
    }

    tracked! {
        [T: ?Sized] Mutex<T>: |this| &this.object;
        [T: ?Sized] RwLock<T>: |this| &this.object;
        [] Barrier: |this| &this.signals[0], &this.signals[1];
        [] Once: |this| &this.done.object;
        [T] OnceLock<T>: |this| &this.0.object;
        [T, F] LazyLock<T, F>: |this| &this.object;
        [T] mpsc::Sender<T>: |this| &this.channel;
        [T] mpsc::SyncSender<T>: |this| &this.channel;
        [T] mpsc::Receiver<T>: |this| &this.channel;
        // Its waits are its mutex's events: it has none of its own to be named in.
        [] Condvar: |_this|;
    }

    mod cell {
        use super::{Sealed, Tracked, record};
        use crate::cell;

        tracked! {
            [T: ?Sized] cell::TrackedUnsafeCell<T>: |this| &this.object;
            [T: ?Sized] cell::Tracked<T>: |this| this.object();
        }
    }

    #[cfg(feature = "once_cell")]
    mod once_cell {
        use super::{Sealed, Tracked, record};
        use crate::once_cell::{race, sync};

        tracked! {
            [T] sync::OnceCell<T>: |this| &this.0.object;
            [T, F] sync::Lazy<T, F>: |this| &this.cell.0.object;
            [] race::OnceNonZeroUsize: |this| &this.object;
            [] race::OnceBool: |this| &this.object;
            [T] race::OnceRef<'_, T>: |this| &this.object;
            [T] race::OnceBox<T>: |this| &this.object;
        }
    }

    #[cfg(feature = "parking_lot")]
    mod parking_lot {
        use super::{Sealed, Tracked, record};
        use crate::parking_lot::{Condvar, FairMutex, Mutex, Once, ReentrantMutex, RwLock};

        tracked! {
            [T: ?Sized] Mutex<T>: |this| this.object();
            [T: ?Sized] FairMutex<T>: |this| this.object();
            [T: ?Sized] ReentrantMutex<T>: |this| this.object();
            [T: ?Sized] RwLock<T>: |this| this.object();
            [] Once: |this| &this.done.object;
            [] Condvar: |_this|;
        }
    }

    #[cfg(feature = "crossbeam-channel")]
    mod crossbeam_channel {
        use super::{Sealed, Tracked, record};
        use crate::crossbeam_channel::{Receiver, Sender};

        tracked! {
            [T] Sender<T>: |this| &this.channel;
        }

        impl<T> Tracked for Receiver<T> {}

        impl<T> Sealed for Receiver<T> {
            fn record_name(&self, number: u32) {
                if let Some(channel) = self.channel() {
                    record(channel, number);
                }
            }
        }
    }
}
