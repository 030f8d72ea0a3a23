//! A bank whose withdrawals are not atomic.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! // The lock is of the type that the library knows.
//! let account = bank::Account::around(Arc::new(Mutex::new(3)));
//! assert_eq!(account.balance(), 3);
//! ```
// What is denied here is denied of std's types.
#![deny(variant_size_differences)]

mod account;

pub use account::Account;

/// What a build script has said.
pub const YEAR: &str = env!("YEAR");

/// Text that is not compiled.
pub const NOTES: &str = include_str!("../notes.txt");

/// How much may be taken out. A tracked atomic is larger than its value.
pub enum Limit {
    Fixed(u64),
    Shared(std::sync::atomic::AtomicU64),
}
