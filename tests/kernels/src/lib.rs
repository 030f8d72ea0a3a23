//! Small programs after real atomicity bugs; `README.md` says what they are, `programs/*/NOTES.md`
//! where they come from.

#![allow(
    missing_docs,
    dead_code,
    reason = "the programs are written as programs"
)]
#![allow(clippy::all, reason = "the programs are kept as they came")]

/// With std's locks, swapped for aerodrome's.
pub mod with_std {
    include!(concat!(env!("OUT_DIR"), "/with_std.rs"));
}

/// With parking_lot's.
pub mod with_parking_lot {
    include!(concat!(env!("OUT_DIR"), "/with_parking_lot.rs"));
}
