//! A crate without std.
#![no_std]

/// How long.
pub const LENGTH: usize = core::mem::size_of::<u32>();

/// How often it was asked.
pub static ASKED: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

#[test]
fn an_atomic_of_core_counts() {
    use core::sync::atomic::Ordering;
    assert_eq!(ASKED.fetch_add(1, Ordering::Relaxed), 0);
}
