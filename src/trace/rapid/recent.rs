//! Short fields that have come before.

use std::ops::Range;

use crate::trace::intern::load;

/// What short fields stand for, those that have come lately.
///
/// A few threads and places have most of the lines, and to compare a field with one that is known
/// takes a third of the instructions that reading it takes. A field shares its slot with others,
/// and the last of them has it.
pub(super) struct Recent {
    slots: Box<[Slot; SLOTS]>,
}

#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    value: u32,
}

const BITS: u32 = 10;
const SLOTS: usize = 1 << BITS;

/// The key of nothing: no field ends with this byte.
const NOTHING: u64 = u64::MAX;

impl Default for Recent {
    fn default() -> Self {
        let nothing = Slot {
            key: NOTHING,
            value: 0,
        };
        Self {
            slots: Box::new([nothing; SLOTS]),
        }
    }
}

impl Recent {
    /// What the field stands for, if it is known. At least eight bytes of the text follow its start.
    #[inline(always)]
    pub(super) fn get(&self, text: &[u8], field: &Range<usize>) -> Option<u32> {
        let key = key(text, field);
        let slot = &self.slots[place(key)];
        (slot.key == key).then_some(slot.value)
    }

    /// The field stands for this.
    pub(super) fn set(&mut self, text: &[u8], field: &Range<usize>, value: u32) {
        let key = key(text, field);
        if key != 0 {
            self.slots[place(key)] = Slot { key, value };
        }
    }
}

/// The field's bytes and the one that ends it, with zeros behind them; 0 where they are more than
/// eight.
#[inline(always)]
fn key(text: &[u8], field: &Range<usize>) -> u64 {
    match field.end.wrapping_sub(field.start) {
        length @ 0..8 => load(text, field.start) & (u64::MAX >> (56 - 8 * length)),
        _ => 0,
    }
}

#[inline(always)]
fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_apart_by_all_their_bytes() {
        let fields: [&[u8]; 8] = [
            b"",
            b"1",
            b"12",
            b"1\0",
            b"\x001",
            b"1234567",
            b"12345678",
            b"123456789",
        ];
        let mut recent = Recent::default();
        for (value, field) in (0..).zip(fields) {
            let text = [field, b"|        "].concat();
            let field = 0..field.len();
            assert_eq!(recent.get(&text, &field), None);
            recent.set(&text, &field, value);
            let known = (field.len() < 8).then_some(value);
            assert_eq!(recent.get(&text, &field), known);
        }
    }

    #[test]
    fn a_field_is_known_until_another_has_its_slot() {
        let mut recent = Recent::default();
        let mut found = 0;
        for number in 0..2 * SLOTS as u32 {
            let text = format!("{number}\n        ");
            let field = 0..number.to_string().len();
            recent.set(text.as_bytes(), &field, number);
            assert_eq!(recent.get(text.as_bytes(), &field), Some(number));
        }
        for number in 0..2 * SLOTS as u32 {
            let text = format!("{number}\n        ");
            let field = 0..number.to_string().len();
            let known = recent.get(text.as_bytes(), &field);
            assert!(known.is_none_or(|known| known == number));
            found += usize::from(known.is_some());
        }
        assert!((SLOTS / 2..=SLOTS).contains(&found), "{found}");
    }
}
