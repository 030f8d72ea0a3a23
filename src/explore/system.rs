//! What a program learns from the system, and a run depends on.
//!
//! **Random bytes.** The order in which a hash table is walked, and the shard in which a concurrent
//! map puts a key, depend on keys that std draws for each thread. Where a strand under control asks
//! the system for random bytes, it gets those that belong to its place in the run. Everybody else
//! gets the system's.
//!
//! **The time.** A run's time is its own, but a program that reads the clock would see that: from
//! there on waits take the time that they say. So it is noted that a strand under control has asked.
//!
//! Both stand in the way of glibc's functions of these names, which std calls. The definitions are
//! weak: a program that has its own keeps it.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::record::control;

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".weak getrandom",
    ".type getrandom, @function",
    "getrandom: jmp {getrandom}",
    ".weak clock_gettime",
    ".type clock_gettime, @function",
    "clock_gettime: jmp {clock_gettime}",
    getrandom = sym getrandom,
    clock_gettime = sym clock_gettime,
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".weak getrandom",
    ".type getrandom, %function",
    "getrandom: b {getrandom}",
    ".weak clock_gettime",
    ".type clock_gettime, %function",
    "clock_gettime: b {clock_gettime}",
    getrandom = sym getrandom,
    clock_gettime = sym clock_gettime,
);

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
    safe fn __errno_location() -> *mut c_int;
}

/// A function of glibc that one of ours stands in the way of.
struct Real {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Real {
    const fn new(name: &'static CStr) -> Self {
        Real {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// Its address, or 0.
    fn find(&self) -> usize {
        /// The next definition after the program's.
        const NEXT: *mut c_void = -1_isize as *mut c_void;
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            // SAFETY: the name is a C string.
            address = unsafe { dlsym(NEXT, self.name.as_ptr()) }.addr();
            self.address.store(address, Ordering::Relaxed);
        }
        address
    }
}

/// As a kernel that does not know the call.
fn unsupported() -> c_int {
    const ENOSYS: c_int = 38;
    // SAFETY: this thread's own.
    unsafe { *__errno_location() = ENOSYS };
    -1
}

/// `getrandom(2)`.
///
/// # Safety
///
/// As glibc's: `buffer` has room for `length` bytes.
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    static REAL: Real = Real::new(c"getrandom");
    if let Some(mut random) = control::random() {
        for at in 0..length {
            // SAFETY: the caller's promise.
            unsafe { buffer.cast::<u8>().add(at).write(random.next()) };
        }
        return length as isize;
    }
    // SAFETY: glibc's function of that name, or nothing.
    match unsafe { std::mem::transmute::<usize, Option<GetRandom>>(REAL.find()) } {
        // SAFETY: the caller's promise.
        Some(real) => unsafe { real(buffer, length, flags) },
        None => unsupported() as isize,
    }
}

/// `clock_gettime(2)`.
///
/// # Safety
///
/// As glibc's: `time` has room for a `timespec`.
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut c_void) -> c_int {
    type ClockGetTime = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;
    static REAL: Real = Real::new(c"clock_gettime");
    control::note_clock();
    // SAFETY: glibc's function of that name, or nothing.
    match unsafe { std::mem::transmute::<usize, Option<ClockGetTime>>(REAL.find()) } {
        // SAFETY: the caller's promise.
        Some(real) => unsafe { real(clock, time) },
        None => unsupported(),
    }
}
