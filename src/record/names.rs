//! The names that the program has given to objects. A record has room for a number only.

use std::collections::HashMap;

use once_cell::sync::Lazy;
use parking_lot::Mutex;

#[derive(Default)]
struct Table {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    /// By object: the number of its name, for those whose values are recorded.
    given: HashMap<u32, u32>,
}

static TABLE: Lazy<Mutex<Table>> = Lazy::new(Mutex::default);

/// The number of a name.
pub(crate) fn number(name: &str) -> u32 {
    let mut table = TABLE.lock();
    if let Some(&number) = table.numbers.get(name) {
        return number;
    }
    let number = table.names.len() as u32;
    table.names.push(name.to_owned());
    table.numbers.insert(name.to_owned(), number);
    number
}

/// The name behind a number.
pub(crate) fn get(number: u32) -> String {
    TABLE.lock().names[number as usize].clone()
}

/// The object has this name until it, or the next owner of its number, gets another.
pub(crate) fn give(object: u32, name: u32) {
    TABLE.lock().given.insert(object, name);
}

/// The name that was given to an object.
pub(crate) fn of(object: u32) -> String {
    let table = TABLE.lock();
    let name = table.given.get(&object).copied();
    name.map_or_else(String::new, |name| table.names[name as usize].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        let (a, b) = (number("a table test"), number("another table test"));
        assert_ne!(a, b);
        assert_eq!(number("a table test"), a);
        assert_eq!(get(b), "another table test");
    }
}
