//! From names to numbers, fast: most of the cost of reading a text is here.

use std::fmt;

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

    /// Bytes that are no UTF-8 are replaced: names are arbitrary, and only shown.
    pub(crate) fn to_text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
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
    /// Up to eight bytes: the bytes themselves, so that equality of words is equality of names.
    /// More: a hash.
    word: u64,
}

impl<'a> Key<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut word = [0; 8];
        let word = if bytes.len() <= 8 {
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        } else {
            hash(bytes)
        };
        Key { bytes, word }
    }

    /// The key of `text[start..end]`, where at least eight bytes of `text` follow `start`.
    #[inline]
    pub(crate) fn within(text: &'a [u8], start: usize, end: usize) -> Self {
        let bytes = &text[start..end];
        let len = bytes.len();
        let word = match len {
            0 => 0,
            1..=8 => load(text, start) & (u64::MAX >> (64 - 8 * len as u32)),
            _ => hash(bytes),
        };
        Key { bytes, word }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The number of a name that is an ASCII letter and a number without leading zeros, of up to
    /// seven digits.
    #[inline]
    fn number(&self) -> Option<usize> {
        let len = self.bytes.len() as u32;
        if !(2..=8).contains(&len) || !(self.word as u8).is_ascii_alphabetic() {
            return None;
        }
        // The digits become the high bytes, with zeros before them: eight digits in all.
        let digits = 8 * (len - 1);
        let text = self.word >> 8 << (64 - digits) | 0x3030_3030_3030_3030 >> digits;
        let values = text.wrapping_sub(0x3030_3030_3030_3030);
        let beyond = values | values.wrapping_add(0x7676_7676_7676_7676);
        if beyond & 0x8080_8080_8080_8080 != 0 {
            return None;
        }
        if len > 2 && self.word >> 8 & 0xff == u64::from(b'0') {
            return None;
        }
        let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
        Some(((fours * 10_000 + (fours >> 32)) & 0xffff_ffff) as usize)
    }

    #[inline]
    fn slot(&self) -> u64 {
        mix(self.word, self.bytes.len() as u64)
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

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
    (product >> 64) as u64 ^ product as u64
}

fn hash(bytes: &[u8]) -> u64 {
    let mut state = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        state = mix(state ^ load(chunk, 0), 0xa076_1d64_78bd_642f);
    }
    let mut tail = [0; 8];
    tail[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    mix(state ^ u64::from_le_bytes(tail), 0xe703_7ed1_a0b4_28db)
}

#[derive(Clone, Copy)]
struct Slot {
    word: u64,
    id: u32,
    /// The name's length and one; 0 marks the free slot.
    len1: u32,
}

const FREE: Slot = Slot {
    word: 0,
    id: 0,
    len1: 0,
};

/// An open-addressing table from names to numbers. It does not own the names: a closure gives the
/// name of a number, and is asked only where a name is longer than a word.
///
/// Most traces call their things `V0`, `V1`, `V2`. Such names, of one letter, are found in an
/// array, which is an eighth of the table's size: with hundreds of thousands of variables the cost
/// is in the cache misses.
pub(crate) struct Interner {
    slots: Vec<Slot>,
    used: usize,
    /// The letter; 0 while no such name has come.
    letter: u8,
    /// By the number in the name, the id and one; 0 where there is none.
    numbered: Vec<u32>,
    numbered_used: usize,
}

/// The array may be so many times as long as it has entries, and some: a few names with great
/// numbers do not make it long.
const SPARSE: usize = 4;
const SOME: usize = 1024;

impl Interner {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![FREE; 64],
            used: 0,
            letter: 0,
            numbered: Vec::new(),
            numbered_used: 0,
        }
    }

    #[inline]
    fn find<'n>(&self, key: &Key<'_>, name: impl Fn(u32) -> &'n [u8]) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let len1 = key.bytes.len() as u32 + 1;
        let mut at = key.slot() as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.len1 == 0 {
                return Err(at);
            }
            if slot.word == key.word
                && slot.len1 == len1
                && (len1 <= 9 || name(slot.id) == key.bytes)
            {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number in a name of the array's letter.
    #[inline]
    fn number(&self, key: &Key<'_>) -> Option<usize> {
        (key.word as u8 == self.letter).then(|| key.number())?
    }

    #[inline]
    pub(crate) fn get<'n>(&self, key: &Key<'_>, name: impl Fn(u32) -> &'n [u8]) -> Option<u32> {
        let numbered = self
            .number(key)
            .and_then(|number| self.numbered.get(number));
        if let Some(id) = numbered.and_then(|id1| id1.checked_sub(1)) {
            return Some(id);
        }
        self.find(key, name).ok().map(|at| self.slots[at].id)
    }

    /// The key must not be there yet.
    pub(crate) fn insert(&mut self, key: &Key<'_>, id: u32) {
        if self.letter == 0 && key.number().is_some() {
            self.letter = key.word as u8;
        }
        let end = (self.numbered_used * SPARSE + SOME).max(self.numbered.len());
        if let Some(number) = self.number(key).filter(|&number| number < end) {
            if number >= self.numbered.len() {
                self.numbered.resize(number + 1, 0);
            }
            self.numbered[number] = id + 1;
            self.numbered_used += 1;
            return;
        }
        if self.used * 2 >= self.slots.len() {
            let doubled = vec![FREE; self.slots.len() * 2];
            let old = std::mem::replace(&mut self.slots, doubled);
            for slot in old.into_iter().filter(|slot| slot.len1 != 0) {
                self.place(slot);
            }
        }
        self.used += 1;
        self.place(Slot {
            word: key.word,
            id,
            len1: key.bytes.len() as u32 + 1,
        });
    }

    fn home(&self, slot: &Slot) -> usize {
        mix(slot.word, u64::from(slot.len1 - 1)) as usize & (self.slots.len() - 1)
    }

    fn place(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = self.home(&slot);
        while self.slots[at].len1 != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Forgets a name; those that had to make way for it move up, so that no tombstones pile up.
    pub(crate) fn remove<'n>(
        &mut self,
        key: &Key<'_>,
        name: impl Fn(u32) -> &'n [u8],
    ) -> Option<u32> {
        let number = self.number(key);
        let id1 = number.and_then(|number| self.numbered.get_mut(number));
        if let Some(id) = id1.and_then(|id1| std::mem::take(id1).checked_sub(1)) {
            self.numbered_used -= 1;
            return Some(id);
        }
        let found = self.find(key, name).ok()?;
        let id = self.slots[found].id;
        let mask = self.slots.len() - 1;
        let (mut hole, mut at) = (found, found);
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.len1 == 0 {
                break;
            }
            let distance_from_home = at.wrapping_sub(self.home(&slot)) & mask;
            if distance_from_home >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = FREE;
        self.used -= 1;
        Some(id)
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
        let mut names: Vec<Name> = Vec::new();
        let mut table = Interner::new();
        for _ in 0..200_000 {
            let number = random() % 500;
            let text = if number % 2 == 0 {
                format!("V{number}")
            } else {
                format!("some.longer.name#{number}")
            };
            let key = Key::new(text.as_bytes());
            let name = |id: u32| names[id as usize].bytes();
            assert_eq!(table.get(&key, name), model.get(text.as_bytes()).copied());
            match random() % 3 {
                0 => assert_eq!(table.remove(&key, name), model.remove(text.as_bytes())),
                _ if !model.contains_key(text.as_bytes()) => {
                    let id = names.len() as u32;
                    names.push(Name::new(text.as_bytes()));
                    table.insert(&key, id);
                    model.insert(text.into_bytes(), id);
                }
                _ => {}
            }
        }
        assert_eq!(table.used + table.numbered_used, model.len());
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
        let mut table = Interner::new();
        for (id, name) in ["V9999999", "V5", "V8888888", "W3", "V1500"]
            .iter()
            .enumerate()
        {
            table.insert(&Key::new(name.as_bytes()), id as u32);
            assert_eq!(
                table.get(&Key::new(name.as_bytes()), |_| b""),
                Some(id as u32)
            );
        }
        assert!(table.numbered.len() < 2 * SOME);
        // What went into the table before the array reached it is still found there, once.
        for number in 0..400 {
            if number != 5 {
                table.insert(&Key::new(format!("V{number}").as_bytes()), 100 + number);
            }
        }
        table.insert(&Key::new(b"V1600"), 7);
        let key = Key::new(b"V1500");
        assert!(table.numbered.len() > 1500);
        assert_eq!(table.get(&key, |_| b""), Some(4));
        assert_eq!(table.remove(&key, |_| b""), Some(4));
        assert_eq!(table.get(&key, |_| b""), None);
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
