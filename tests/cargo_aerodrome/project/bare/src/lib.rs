//! A crate without std.
#![no_std]

/// How long.
pub const LENGTH: usize = core::mem::size_of::<u32>();
