//! A program without std, and so not tracked, that depends on a crate that is.
#![no_std]

fn main() {
    assert!(!bank::YEAR.is_empty());
}
