//! Lists that are kept once, however often they occur.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Numbered lists, one after the other in memory. Number 0 is the empty one.
#[derive(Debug)]
pub(crate) struct Lists<T> {
    items: Vec<T>,
    /// Where each list ends in `items`; the next one begins there.
    ends: Vec<u32>,
    /// The hash of a list and its number, in the slot of its hash or, where that was taken, in the
    /// next free one. At least half of them are free: those with number 0.
    slots: Vec<(u32, u32)>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            ends: vec![0],
            slots: vec![(0, 0); 2],
        }
    }
}

impl<T: Copy + Eq + Hash> Lists<T> {
    /// The number of a list, and whether it is new.
    pub(crate) fn intern(&mut self, list: &[T]) -> (u32, bool) {
        if list.is_empty() {
            return (0, false);
        }
        let mut hasher = FxHasher::default();
        list.iter().for_each(|item| item.hash(&mut hasher));
        let hash = (hasher.finish() >> 16) as u32;
        let mut slot = self.home(hash);
        while self.slots[slot].1 != 0 {
            let (known, id) = self.slots[slot];
            if known == hash && self.get(id) == list {
                return (id, false);
            }
            slot = self.next(slot);
        }
        let id = u32::try_from(self.ends.len()).expect("fewer than 2^32 lists");
        self.items.extend_from_slice(list);
        let end = u32::try_from(self.items.len());
        self.ends.push(end.expect("fewer than 2^32 items in lists"));
        self.slots[slot] = (hash, id);
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        (id, true)
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let more = vec![(0, 0); self.slots.len() * 2];
        for (hash, id) in std::mem::replace(&mut self.slots, more) {
            if id != 0 {
                let mut slot = self.home(hash);
                while self.slots[slot].1 != 0 {
                    slot = self.next(slot);
                }
                self.slots[slot] = (hash, id);
            }
        }
    }

    /// The list of a number.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> &[T] {
        &self.items[self.stretch(id)]
    }

    /// Where the list is among all items.
    #[inline]
    pub(crate) fn stretch(&self, id: u32) -> Range<usize> {
        let start = id.checked_sub(1).map_or(0, |id| self.ends[id as usize]);
        start as usize..self.ends[id as usize] as usize
    }

    /// The items of all lists, one list after the other.
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Lists;

    #[test]
    fn a_list_has_one_number_and_leads_back_to_its_items() {
        let mut lists = Lists::default();
        assert_eq!(lists.intern(&[]), (0, false));
        // Every list of up to four items out of three, twice.
        let all = || {
            (0..=4_u32).flat_map(|len| {
                (0..3_u32.pow(len)).map(move |code| {
                    let items = (0..len).map(|at| code / 3_u32.pow(at) % 3);
                    items.collect::<Vec<u32>>()
                })
            })
        };
        let numbers: Vec<u32> = all().map(|list| lists.intern(&list).0).collect();
        for (list, number) in all().zip(numbers) {
            assert_eq!(lists.intern(&list), (number, false));
            assert_eq!(lists.get(number), list);
        }
        assert_eq!(lists.len(), all().count());
    }
}
