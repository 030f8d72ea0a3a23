//! From names to numbers, fast: most of the cost of reading a text is here.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::shown::clean;
use crate::dense::prefetch;

const INLINE: usize = 22;

/// A short string that lives where it stands.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Name {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<[u8]>),
}

const _: () = assert!(size_of::<Name>() == 24);

impl Default for Name {
    fn default() -> Self {
        Name::new(b"")
    }
}

impl Name {
    pub(crate) fn new(name: &[u8]) -> Self {
        if name.len() <= INLINE {
            let mut bytes = [0; INLINE];
            bytes[..name.len()].copy_from_slice(name);
            Name::Inline {
                len: name.len() as u8,
                bytes,
            }
        } else {
            Name::Heap(name.into())
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Name::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Name::Heap(bytes) => bytes,
        }
    }

    /// The name as it is shown: bytes that are no UTF-8 are replaced, and so are control
    /// characters.
    pub(crate) fn to_text(&self) -> String {
        clean(&String::from_utf8_lossy(self.bytes()))
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_text().fmt(f)
    }
}

/// A name as the table looks for it.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    bytes: &'a [u8],
    /// The first bytes, up to eight, with zeros behind them.
    word: u64,
}

impl<'a> Key<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut word = [0; 8];
        let first = bytes.len().min(8);
        word[..first].copy_from_slice(&bytes[..first]);
        Key {
            bytes,
            word: u64::from_le_bytes(word),
        }
    }

    /// The key of `text[start..end]`, where at least eight bytes of `text` follow `start`.
    #[inline]
    pub(crate) fn within(text: &'a [u8], start: usize, end: usize) -> Self {
        let bytes = &text[start..end];
        let word = first_bytes(load(text, start), bytes.len());
        Key { bytes, word }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn word(&self) -> u64 {
        self.word
    }

    /// The number of a name that is a letter of ASCII and a number without leading zeros, of up to
    /// seven digits.
    fn number(&self) -> Option<usize> {
        let digits = self.bytes.len().wrapping_sub(1);
        if !(1..8).contains(&digits) || !(self.word as u8).is_ascii_alphabetic() {
            return None;
        }
        canonical(self.word >> 8, digits).map(|number| number as usize)
    }
}

/// Eight bytes from `at`, which must be there.
#[inline]
pub(crate) fn load(text: &[u8], at: usize) -> u64 {
    match text.get(at..at + 8) {
        Some(bytes) => u64::from_le_bytes(bytes.try_into().unwrap_or_default()),
        None => 0,
    }
}

/// The first `count` bytes of the word, or all; zeros behind them.
#[inline]
pub(crate) fn first_bytes(word: u64, count: usize) -> u64 {
    match count {
        0 => 0,
        1..8 => word & (u64::MAX >> (64 - 8 * count)),
        _ => word,
    }
}

/// The number whose decimal digits are the first `count` bytes of `word`, between one and eight,
/// if it has no leading zeros.
#[inline(always)]
pub(crate) fn canonical(word: u64, count: usize) -> Option<u32> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    // The digits' values become the high bytes, with zeros before them: eight digits in all.
    let values = (word ^ ZEROS) << (64 - 8 * count);
    let beyond = values | values.wrapping_add(0x7676_7676_7676_7676);
    let leading = (count > 1) & (word as u8 == b'0');
    if (beyond & 0x8080_8080_8080_8080 != 0) | leading {
        return None;
    }
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) as u32)
}

/// A table from names to numbers.
///
/// Most traces call their things `V0`, `V1`, `V2`. Such names, of one letter, are found in an
/// array, which is a tenth of a hash table's size: with hundreds of thousands of variables the cost
/// is in the cache misses.
#[derive(Default)]
pub(crate) struct Interner {
    /// The letter; 0 while no such name has come.
    letter: u8,
    /// By the number in the name, the id and one; 0 where there is none. A name of the letter whose
    /// number is below the array's length is nowhere else.
    numbered: Vec<u32>,
    /// How many names of the letter have come.
    letters: usize,
    others: FxHashMap<Name, u32>,
}

/// The array may be so many times as long as there are names for it, and some: a few names with
/// great numbers do not make it long.
const SPARSE: usize = 8;
const SOME: usize = 1024;

impl Interner {
    /// The number in a name of the array's letter.
    #[inline(always)]
    fn number(&self, key: &Key<'_>) -> Option<usize> {
        (key.word as u8 == self.letter).then(|| key.number())?
    }

    /// The place in the array of a name inside a text, if it has one. At least nine bytes of the
    /// text follow the name's start.
    #[inline(always)]
    fn place(&self, text: &[u8], name: &Range<usize>) -> Option<usize> {
        let digits = name.end.wrapping_sub(name.start + 1);
        // While there is no letter the array is empty.
        if !(1..8).contains(&digits) || text[name.start] != self.letter {
            return None;
        }
        let number = canonical(load(text, name.start + 1), digits)? as usize;
        (number < self.numbered.len()).then_some(number)
    }

    pub(crate) fn get(&self, key: &Key<'_>) -> Option<u32> {
        let numbered = self
            .number(key)
            .and_then(|number| self.numbered.get(number));
        match numbered {
            Some(id1) => id1.checked_sub(1),
            None => self.get_other(key.bytes),
        }
    }

    /// As [`get`](Self::get), for a name inside a text; see [`place`](Self::place).
    #[inline(always)]
    pub(crate) fn get_within(&self, text: &[u8], name: Range<usize>) -> Option<u32> {
        match self.place(text, &name) {
            Some(place) => self.numbered[place].checked_sub(1),
            None => self.get_other(&text[name]),
        }
    }

    /// The place in the array of a name inside a text, if it has one; it is brought into the
    /// cache.
    #[inline(always)]
    pub(crate) fn fetch(&self, text: &[u8], name: &Range<usize>) -> Option<u32> {
        let place = self.place(text, name)?;
        prefetch(&self.numbered[place]);
        Some(place as u32)
    }

    /// The number of the name with this place in the array.
    #[inline(always)]
    pub(crate) fn at(&self, place: u32) -> Option<u32> {
        self.numbered[place as usize].checked_sub(1)
    }

    #[inline(never)]
    fn get_other(&self, name: &[u8]) -> Option<u32> {
        self.others.get(name).copied()
    }

    /// The key must not be there yet.
    pub(crate) fn insert(&mut self, key: &Key<'_>, id: u32) {
        if self.letter == 0 && key.number().is_some() {
            self.letter = key.word as u8;
        }
        if let Some(number) = self.number(key) {
            self.letters += 1;
            if number >= self.numbered.len() && number < self.letters * SPARSE + SOME {
                self.lengthen(number);
            }
            if let Some(id1) = self.numbered.get_mut(number) {
                *id1 = id + 1;
                return;
            }
        }
        self.others.insert(Name::new(key.bytes), id);
    }

    /// Makes the array long enough for the number, and moves there what belongs there now.
    fn lengthen(&mut self, number: usize) {
        let mut numbered = std::mem::take(&mut self.numbered);
        numbered.resize((number + 1).next_power_of_two(), 0);
        let mut others = std::mem::take(&mut self.others);
        others.retain(|name, id| {
            let number = self.number(&Key::new(name.bytes()));
            match number.and_then(|number| numbered.get_mut(number)) {
                Some(id1) => *id1 = *id + 1,
                None => return true,
            }
            false
        });
        self.numbered = numbered;
        self.others = others;
    }

    /// Forgets a name.
    pub(crate) fn remove(&mut self, key: &Key<'_>) -> Option<u32> {
        let number = self.number(key);
        self.letters -= usize::from(number.is_some() && self.get(key).is_some());
        match number.and_then(|number| self.numbered.get_mut(number)) {
            Some(id1) => std::mem::take(id1).checked_sub(1),
            None => self.others.remove(key.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn names_are_kept_as_they_are_whatever_their_length() {
        for len in 0..64 {
            let bytes: Vec<u8> = (0..len).collect();
            assert_eq!(Name::new(&bytes).bytes(), bytes);
        }
    }

    #[test]
    fn the_table_does_what_a_hash_map_does() {
        let mut state = 1u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as u32
        };
        let mut model: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut id = 0;
        let mut table = Interner::default();
        for _ in 0..200_000 {
            let number = random() % 500;
            let text = if number % 2 == 0 {
                format!("V{number}")
            } else {
                format!("some.longer.name#{number}")
            };
            let key = Key::new(text.as_bytes());
            assert_eq!(table.get(&key), model.get(text.as_bytes()).copied());
            match random() % 3 {
                0 => assert_eq!(table.remove(&key), model.remove(text.as_bytes())),
                _ if !model.contains_key(text.as_bytes()) => {
                    table.insert(&key, id);
                    model.insert(text.into_bytes(), id);
                    id += 1;
                }
                _ => {}
            }
        }
        let letters = model.keys().filter(|name| name[0] == b'V').count();
        assert_eq!(table.letters, letters);
    }

    #[test]
    fn a_name_is_a_letter_and_a_number_only_if_it_is_written_so() {
        for number in [0, 1, 7, 10, 99, 100, 12_345, 987_654, 1_000_000, 9_999_999] {
            assert_eq!(
                Key::new(format!("V{number}").as_bytes()).number(),
                Some(number)
            );
        }
        for name in [
            "V",
            "",
            "7",
            "V00",
            "V01",
            "V1x",
            "Vx",
            "V-1",
            "V 1",
            "V12345678",
            "VV1",
            "V1:",
            "V1/",
            "#1",
            "V1\u{e9}",
            "V\u{ff}",
        ] {
            assert_eq!(Key::new(name.as_bytes()).number(), None, "{name}");
        }
        for byte in (0..=255).filter(|byte: &u8| !byte.is_ascii_digit()) {
            for at in 1..8 {
                let mut name = *b"V1234567";
                name[at] = byte;
                assert_eq!(Key::new(&name).number(), None, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn great_numbers_in_names_do_not_make_the_array_long() {
        let mut table = Interner::default();
        for (id, name) in ["V9999999", "V5", "V8888888", "W3", "V1500"]
            .iter()
            .enumerate()
        {
            table.insert(&Key::new(name.as_bytes()), id as u32);
            assert_eq!(table.get(&Key::new(name.as_bytes())), Some(id as u32));
        }
        assert!(table.numbered.len() < 2 * SOME);
        // What came before the array was long enough for it is there once it is.
        for number in 0..400 {
            if number != 5 {
                table.insert(&Key::new(format!("V{number}").as_bytes()), 100 + number);
            }
        }
        table.insert(&Key::new(b"V1600"), 7);
        let key = Key::new(b"V1500");
        assert!(table.numbered.len() > 1500);
        assert_eq!(table.get(&key), Some(4));
        assert_eq!(table.remove(&key), Some(4));
        assert_eq!(table.get(&key), None);
    }

    #[test]
    fn a_key_inside_a_text_is_the_key_of_its_bytes() {
        let text = b"abcdefghijklmnopqrstuvwxyz........";
        for start in 0..10 {
            for end in start..26 {
                let (a, b) = (Key::within(text, start, end), Key::new(&text[start..end]));
                assert_eq!(a.bytes(), b.bytes());
                assert_eq!(a.word, b.word, "{start}..{end}");
            }
        }
    }
}
