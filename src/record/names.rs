//! The names that the program gives to objects.

use parking_lot::Mutex;

static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps a name; its number. The same name has one number.
pub(crate) fn keep(name: &str) -> u32 {
    let mut names = NAMES.lock();
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u32
}

/// The name of a number.
pub(crate) fn get(number: u32) -> String {
    NAMES
        .lock()
        .get(number as usize)
        .cloned()
        .unwrap_or_default()
}
