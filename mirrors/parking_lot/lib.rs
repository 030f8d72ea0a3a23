//! [`aerodrome::parking_lot`](https://docs.rs/aerodrome), as a crate that can take parking_lot's place.
//!
//! A project that depends on parking_lot writes, in place of that dependency,
//!
//! ```toml
//! [dependencies]
//! parking_lot = { package = "aerodrome-parking_lot", version = "0.1" }
//!
//! [dev-dependencies]
//! parking_lot = { package = "aerodrome-parking_lot", version = "0.1", features = ["check"] }
//! ```
//!
//! and changes nothing in its sources. Without `check` everything is parking_lot's own.

pub use aerodrome::parking_lot::*;
