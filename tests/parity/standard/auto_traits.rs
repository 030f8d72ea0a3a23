//! The mirror's types are `Send`, `Sync`, `UnwindSafe`, `RefUnwindSafe` and `Unpin` exactly where
//! std's are, and have the same other traits.

use std::cell::{Cell, RefCell};
use std::fmt::{Debug, Display, Pointer};
use std::marker::{PhantomData, PhantomPinned};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Whether a type has a trait: an inherent constant, where its bounds hold, comes before a trait's.
macro_rules! has {
    ($T:ty: $($Trait:tt)+) => {{
        #[allow(dead_code, reason = "one of the two is not asked")]
        trait No {
            const HAS: bool = false;
        }
        impl<T: ?Sized> No for PhantomData<T> {}
        struct Probe<T: ?Sized>(PhantomData<T>);
        impl<T: ?Sized> No for Probe<T> {}
        #[allow(dead_code, reason = "one of the two is not asked")]
        impl<T: ?Sized + $($Trait)+> Probe<T> {
            const HAS: bool = true;
        }
        <Probe<$T>>::HAS
    }};
}

macro_rules! traits_of {
    ($T:ty) => {
        [
            ("Send", has!($T: Send)),
            ("Sync", has!($T: Sync)),
            ("UnwindSafe", has!($T: UnwindSafe)),
            ("RefUnwindSafe", has!($T: RefUnwindSafe)),
            ("Unpin", has!($T: Unpin)),
            ("Debug", has!($T: Debug)),
            ("Display", has!($T: Display)),
            ("Pointer", has!($T: Pointer)),
            ("Default", has!($T: Default)),
            ("Clone", has!($T: Clone)),
            ("PartialEq", has!($T: PartialEq)),
            ("Eq", has!($T: Eq)),
            ("Iterator", has!($T: Iterator)),
            ("IntoIterator", has!($T: IntoIterator)),
            ("From<i32>", has!($T: From<i32>)),
        ]
    };
}

macro_rules! same {
    ($($($path:ident)::+ $(<$($arg:ty),+>)?;)*) => {$(
        assert_eq!(
            traits_of!(aerodrome::$($path)::+ $(<$($arg),+>)?),
            traits_of!(std::$($path)::+ $(<$($arg),+>)?),
            "{}", stringify!($($path)::+ $(<$($arg),+>)?),
        );
    )*};
}

/// The same of types with a lifetime.
macro_rules! same_borrowing {
    ($($($path:ident)::+ <'static, $arg:ty>;)*) => {$(
        assert_eq!(
            traits_of!(aerodrome::$($path)::+ <'static, $arg>),
            traits_of!(std::$($path)::+ <'static, $arg>),
            "{}", stringify!($($path)::+ <'static, $arg>),
        );
    )*};
}

/// The types around one `T`.
macro_rules! same_around {
    ($($T:ty),* $(,)?) => {$(
        same! {
            sync::Mutex<$T>;
            sync::RwLock<$T>;
            sync::OnceLock<$T>;
            sync::LazyLock<$T>;
            sync::LazyLock<i32, $T>;
            sync::mpsc::Sender<$T>;
            sync::mpsc::SyncSender<$T>;
            sync::mpsc::Receiver<$T>;
            sync::mpsc::IntoIter<$T>;
            sync::atomic::AtomicPtr<$T>;
            thread::JoinHandle<$T>;
        }
        same_borrowing! {
            sync::mpsc::Iter<'static, $T>;
            sync::mpsc::TryIter<'static, $T>;
            thread::ScopedJoinHandle<'static, $T>;
        }
        guards!($T);
    )*};
}

macro_rules! guards {
    ($($T:ty),*) => {$(
        same_borrowing! {
            sync::MutexGuard<'static, $T>;
            sync::RwLockReadGuard<'static, $T>;
            sync::RwLockWriteGuard<'static, $T>;
        }
    )*};
}

#[test]
fn the_probe_tells_yes_from_no() {
    assert!(has!(i32: Send) && !has!(Rc<i32>: Send));
    assert!(has!(Cell<i32>: Send) && !has!(Cell<i32>: Sync));
}

#[test]
fn traits_are_those_of_std() {
    same_around!(
        i32,
        String,
        Rc<i32>,
        Cell<i32>,
        RefCell<i32>,
        &'static mut i32,
        *mut i32,
        PhantomPinned,
        std::sync::MutexGuard<'static, i32>,
        fn() -> i32,
        dyn_box::Any,
        Bare,
    );
    same! {
        sync::Barrier;
        sync::BarrierWaitResult;
        sync::Condvar;
        sync::Once;
        sync::atomic::AtomicBool;
        sync::atomic::AtomicI8;
        sync::atomic::AtomicU8;
        sync::atomic::AtomicI16;
        sync::atomic::AtomicU16;
        sync::atomic::AtomicI32;
        sync::atomic::AtomicU32;
        sync::atomic::AtomicI64;
        sync::atomic::AtomicU64;
        sync::atomic::AtomicIsize;
        sync::atomic::AtomicUsize;
        thread::Builder;
        thread::Thread;
    }
    assert_eq!(
        traits_of!(aerodrome::thread::Scope<'static, 'static>),
        traits_of!(std::thread::Scope<'static, 'static>),
        "Scope",
    );
}

#[test]
fn traits_are_those_of_std_around_what_has_no_size() {
    same! {
        sync::Mutex<[u8]>;
        sync::Mutex<dyn Debug>;
        sync::Mutex<dyn Debug + Send>;
        sync::RwLock<[u8]>;
        sync::RwLock<dyn Debug + Send + Sync>;
        sync::RwLock<dyn Debug + Send>;
    }
    guards!([u8], dyn Debug, dyn Debug + Send, dyn Debug + Sync);
}

/// Has nothing but the auto traits.
struct Bare;

mod dyn_box {
    pub(super) type Any = Box<dyn std::any::Any>;
}
