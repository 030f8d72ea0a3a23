//! `property!`, checked.

use std::panic::Location;

use crate::collect;

/// A property under check; it is decided when this is dropped.
#[derive(Debug)]
#[must_use = "the property is decided when this is dropped"]
pub struct PropertyGuard {
    number: Option<u64>,
    place: &'static Location<'static>,
}

/// Checks a property until the guard is dropped: what [`property!`](crate::property!) does.
///
/// # Panics
///
/// Where the property is malformed. The guard panics when it is dropped, with the runs that break
/// the property or the reason why it could not be decided.
#[track_caller]
pub fn property(text: &str) -> PropertyGuard {
    let place = Location::caller();
    match text.parse() {
        Ok(property) => PropertyGuard {
            number: collect::declare(property),
            place,
        },
        Err(error) => panic!("malformed property: {error}"),
    }
}

impl Drop for PropertyGuard {
    fn drop(&mut self) {
        let verdict = self.number.and_then(collect::decide);
        // A test that has failed already says why by itself.
        if let Some(text) = verdict.filter(|_| !std::thread::panicking()) {
            collect::tell_property(&format!(
                "{text}\nThe property was declared at {}.",
                self.place
            ));
        }
    }
}
