//! Everything that is tracked can be named, in either build.

use aerodrome::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8};
use aerodrome::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};

#[test]
fn everything_tracked_can_be_named() {
    aerodrome::name(&Mutex::new(1), "mutex");
    aerodrome::name::<Mutex<[u8]>>(&Mutex::new([1]), "slice");
    aerodrome::name(&RwLock::new(1), "rwlock");
    aerodrome::name(&Condvar::new(), "condvar");
    aerodrome::name(&Barrier::new(1), "barrier");
    aerodrome::name(&Once::new(), "once");
    aerodrome::name(&OnceLock::<u8>::new(), "once lock");
    aerodrome::name(&LazyLock::new(|| 1), "lazy lock");
    aerodrome::name(&AtomicU8::new(1), "integer");
    aerodrome::name(&AtomicBool::new(true), "bool");
    aerodrome::name(&AtomicPtr::<u8>::default(), "pointer");
    let (sender, receiver) = mpsc::channel::<u8>();
    aerodrome::name(&sender, "sender");
    aerodrome::name(&receiver, "receiver");
    aerodrome::name(&mpsc::sync_channel::<u8>(1).0, "bounded sender");
    aerodrome::restart();
}
