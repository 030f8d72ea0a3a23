//! A crate without std.
#![no_std]

/// How long.
pub const LENGTH: usize = core::mem::size_of::<u32>();

/// How often it was asked.
pub static ASKED: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

#[cfg(test)]
#[macro_use]
extern crate std;

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering;
    use std::prelude::v1::*;

    #[test]
    fn an_atomic_of_core_counts() {
        assert_eq!(crate::ASKED.fetch_add(1, Ordering::Relaxed), 0);
        println!("{}", vec!["counted".to_string()].concat());
    }
}
