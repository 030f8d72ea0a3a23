//! The attributes of [aerodrome](https://docs.rs/aerodrome). Use them through that crate.
