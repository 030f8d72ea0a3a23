//! A hash table from words to numbers, whose entries can be fetched ahead.

use super::prefetch;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// From `u64` to `u32`. Unlike a `HashMap`, it keeps a key and its number in one cache line, which
/// can be prefetched, and is cleared in constant time.
#[derive(Debug)]
pub(crate) struct Sparse {
    /// A key is in the slot of its hash or, where that was taken, in the next free one. At least
    /// half of them are free.
    slots: Vec<Slot>,
    len: usize,
    /// Slots of any other round are free.
    round: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    /// 0 is none.
    round: u32,
    number: u32,
}

impl Default for Sparse {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            len: 0,
            round: 1,
        }
    }
}

impl Sparse {
    /// The slot of the key's hash, where there are slots.
    #[inline]
    fn home(&self, key: u64) -> usize {
        FxBuildHasher.hash_one(key) as usize & (self.slots.len() - 1)
    }

    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    fn is_taken(&self, slot: usize) -> bool {
        self.slots[slot].round == self.round
    }

    /// The slot of the key, or the one that it would get, where there are slots.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mut slot = self.home(key);
        while self.is_taken(slot) && self.slots[slot].key != key {
            slot = self.next(slot);
        }
        slot
    }

    /// The key's number.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slot(key);
        self.is_taken(slot).then(|| self.slots[slot].number)
    }

    /// Brings the slot of a key into the cache.
    #[inline]
    pub(crate) fn fetch(&self, key: u64) {
        if !self.slots.is_empty() {
            prefetch(&self.slots[self.home(key)]);
        }
    }

    /// Gives a number to a key that has none.
    pub(crate) fn insert(&mut self, key: u64, number: u32) {
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            let more = vec![Slot::default(); (self.len * 2).next_power_of_two()];
            for old in std::mem::replace(&mut self.slots, more) {
                if old.round == self.round {
                    let slot = self.slot(old.key);
                    self.slots[slot] = old;
                }
            }
        }
        let (slot, round) = (self.slot(key), self.round);
        self.slots[slot] = Slot { key, round, number };
    }

    /// Gives a number to a key, whatever it had before.
    pub(crate) fn set(&mut self, key: u64, number: u32) {
        match self.get(key) {
            Some(_) => {
                let slot = self.slot(key);
                self.slots[slot].number = number;
            }
            None => self.insert(key, number),
        }
    }

    /// The key's number, which is this one from now on if it had none.
    pub(crate) fn get_or_insert(&mut self, key: u64, number: u32) -> u32 {
        self.get(key).unwrap_or_else(|| {
            self.insert(key, number);
            number
        })
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: u64) {
        if self.get(key).is_none() {
            return;
        }
        let mut hole = self.slot(key);
        let mut slot = self.next(hole);
        let mask = self.slots.len() - 1;
        while self.is_taken(slot) {
            let away = |from: usize| slot.wrapping_sub(from) & mask;
            // A key can go where it would have been found before.
            if away(self.home(self.slots[slot].key)) >= away(hole) {
                self.slots[hole] = self.slots[slot];
                hole = slot;
            }
            slot = self.next(slot);
        }
        self.slots[hole].round = 0;
        self.len -= 1;
    }

    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.slots.clear();
            1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_table_does_what_a_hash_map_does() {
        let mut random = crate::dense::random();
        let (mut table, mut model) = (Sparse::default(), HashMap::new());
        // Near the end of the rounds, so that they begin again.
        table.round = u32::MAX - 20;
        for number in 0..200_000 {
            let key = random(300) << 40;
            match random(5_000) {
                0 => {
                    table.clear();
                    model.clear();
                }
                1..1_500 if !model.contains_key(&key) => {
                    table.insert(key, number);
                    model.insert(key, number);
                }
                1..2_500 => {
                    table.set(key, number);
                    model.insert(key, number);
                }
                _ => {
                    table.remove(key);
                    model.remove(&key);
                }
            }
            let other = random(300) << 40;
            table.fetch(other);
            assert_eq!(table.get(other), model.get(&other).copied());
        }
    }
}
