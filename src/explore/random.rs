//! Random numbers of the operating system, the same in every run.
//!
//! The order in which a hash table is walked, and the shard in which a concurrent map puts a key,
//! depend on keys that std draws for each thread. A run whose keys were others would be another run.
//! So where a strand under control asks the system for random bytes, it gets those that belong to
//! its place in the run. Everybody else gets the system's.
//!
//! Only on Linux with glibc, where std asks by a function that a program may define itself.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::record::control;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
    safe fn __errno_location() -> *mut c_int;
}

type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;

/// The next definition after this one: glibc's.
const NEXT: *mut c_void = -1_isize as *mut c_void;

/// `getrandom(2)`.
///
/// # Safety
///
/// As glibc's: `buffer` has room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if let Some(mut random) = control::random() {
        for at in 0..length {
            // SAFETY: the caller's promise.
            unsafe { buffer.cast::<u8>().add(at).write(random.next()) };
        }
        return length as isize;
    }
    // SAFETY: the caller's promise.
    match real() {
        Some(real) => unsafe { real(buffer, length, flags) },
        None => unsupported(),
    }
}

fn real() -> Option<GetRandom> {
    const NAME: &CStr = c"getrandom";
    static REAL: AtomicUsize = AtomicUsize::new(0);
    let mut address = REAL.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: the name is a C string.
        address = unsafe { dlsym(NEXT, NAME.as_ptr()) }.addr();
        REAL.store(address, Ordering::Relaxed);
    }
    // SAFETY: glibc's function of that name, or nothing.
    unsafe { std::mem::transmute::<usize, Option<GetRandom>>(address) }
}

/// As a kernel that does not know it: std then asks in another way.
fn unsupported() -> isize {
    const ENOSYS: c_int = 38;
    // SAFETY: this thread's own.
    unsafe { *__errno_location() = ENOSYS };
    -1
}
