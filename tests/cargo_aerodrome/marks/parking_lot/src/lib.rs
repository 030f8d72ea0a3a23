//! A member that has the name and the version of a crate that is mirrored.

use std::sync::Mutex;

/// A place that the mirror does not have.
pub struct Lot(Mutex<u32>);

impl Lot {
    pub const fn new() -> Lot {
        Lot(Mutex::new(0))
    }

    pub fn park(&self) -> u32 {
        let mut cars = self.0.lock().unwrap();
        *cars += 1;
        *cars
    }
}
