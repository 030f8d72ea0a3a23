//! A program whose only lines about aerodrome are the first two, in editions 2018 to 2024.

extern crate aerodrome as core;
extern crate aerodrome as std;

pub mod bank;
pub mod items;
#[cfg(test)]
mod tests;

/// Marks find aerodrome by the name that the dependency has.
#[std::atomic]
pub fn peek(number: &std::sync::Mutex<u32>) -> u32 {
    *number.lock().unwrap()
}

#[cfg(test)]
#[std::test]
fn a_mark_without_a_path_to_aerodrome_works() {
    assert_eq!(peek(&std::sync::Mutex::new(7)), 7);
}
