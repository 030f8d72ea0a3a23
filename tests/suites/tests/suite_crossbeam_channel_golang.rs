//! crossbeam-channel's tests after those of Go, which install an allocator, on the mirror.

include!(concat!(env!("OUT_DIR"), "/crossbeam_channel_golang.rs"));
