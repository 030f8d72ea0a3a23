//! All that std has in the modules of which aerodrome tracks something.
//!
//! `tests/parity/std_items.rs` compares these names with std's documentation.

#![allow(deprecated, unused_imports)]

pub mod sync {
    pub use std::sync::{
        Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard,
        ONCE_INIT, Once, OnceLock, OnceState, PoisonError, RwLock, RwLockReadGuard,
        RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak,
    };

    pub mod atomic {
        pub use std::sync::atomic::{
            ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8,
            AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
            AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence, spin_loop_hint,
        };
    }

    pub mod mpsc {
        pub use std::sync::mpsc::{
            IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender,
            TryIter, TryRecvError, TrySendError, channel, sync_channel,
        };
    }
}

pub mod thread {
    pub use std::thread::{
        AccessError, Builder, JoinHandle, LocalKey, Result, Scope, ScopedJoinHandle, Thread,
        ThreadId, available_parallelism, current, panicking, park, park_timeout, park_timeout_ms,
        scope, sleep, sleep_ms, spawn, yield_now,
    };
}

pub mod cell {
    pub use std::cell::{
        BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut, UnsafeCell,
    };
}

pub mod hint {
    pub use std::hint::{
        assert_unchecked, black_box, cold_path, select_unpredictable, spin_loop,
        unreachable_unchecked,
    };
}
