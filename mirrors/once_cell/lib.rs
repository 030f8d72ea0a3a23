//! [`aerodrome::once_cell`](https://docs.rs/aerodrome), as a crate that can take once_cell's place.
//!
//! A project that depends on once_cell writes, in place of that dependency,
//!
//! ```toml
//! [dependencies]
//! once_cell = { package = "aerodrome-once_cell", version = "0.1" }
//!
//! [dev-dependencies]
//! once_cell = { package = "aerodrome-once_cell", version = "0.1", features = ["check"] }
//! ```
//!
//! and changes nothing in its sources. Without `check` everything is once_cell's own.

pub use aerodrome::once_cell::*;
