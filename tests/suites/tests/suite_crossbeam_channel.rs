//! crossbeam-channel's own tests on the mirror.

include!(concat!(env!("OUT_DIR"), "/crossbeam_channel.rs"));
