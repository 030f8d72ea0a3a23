//! Relies on the layout of std's atomics, so it does not compile with tracked ones.
//!
//! ```
//! // The lock is std's, as the library's are.
//! let locks: [std::sync::Mutex<u8>; 1] = [layout::lock()];
//! assert_eq!(*locks[0].lock().unwrap(), 7);
//! ```

use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::Mutex;

/// Two pointers that are null.
pub fn pointers() -> [AtomicPtr<u8>; 2] {
    // SAFETY: `AtomicPtr<T>` has the representation of `*mut T`.
    unsafe { std::mem::transmute([null_mut::<u8>(); 2]) }
}

/// A lock.
pub fn lock() -> Mutex<u8> {
    Mutex::new(7)
}

#[test]
fn pointers_are_null() {
    assert!(pointers().into_iter().all(|pointer| pointer.into_inner().is_null()));
}
