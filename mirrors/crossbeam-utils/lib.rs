//! [`aerodrome::crossbeam_utils`](https://docs.rs/aerodrome), as a crate that can take crossbeam-utils' place.
//!
//! A project that depends on crossbeam-utils writes, in place of that dependency,
//!
//! ```toml
//! [dependencies]
//! crossbeam-utils = { package = "aerodrome-crossbeam-utils", version = "0.1" }
//!
//! [dev-dependencies]
//! crossbeam-utils = { package = "aerodrome-crossbeam-utils", version = "0.1", features = ["check"] }
//! ```
//!
//! and changes nothing in its sources. Without `check` everything is crossbeam-utils' own.

pub use aerodrome::crossbeam_utils::*;
