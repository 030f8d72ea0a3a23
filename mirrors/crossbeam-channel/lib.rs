//! [`aerodrome::crossbeam_channel`](https://docs.rs/aerodrome), as a crate that can take crossbeam-channel's place.
//!
//! A project that depends on crossbeam-channel writes, in place of that dependency,
//!
//! ```toml
//! [dependencies]
//! crossbeam-channel = { package = "aerodrome-crossbeam-channel", version = "0.1" }
//!
//! [dev-dependencies]
//! crossbeam-channel = { package = "aerodrome-crossbeam-channel", version = "0.1", features = ["check"] }
//! ```
//!
//! and changes nothing in its sources. Without `check` everything is crossbeam-channel's own.

pub use aerodrome::crossbeam_channel::*;
