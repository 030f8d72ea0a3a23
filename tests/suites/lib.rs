//! The mirrored crates' own test suites, run on aerodrome's mirrors.
//!
//! Nothing of the suites is in this repository. `build.rs` takes them from the packages that Cargo
//! has fetched, in the versions of `Cargo.lock`, and swaps the crate's paths for aerodrome's.
