//! Lists that are kept once, however often they occur.

use super::Sparse;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Numbered lists, one after the other in memory. Number 0 is the empty one.
#[derive(Debug)]
pub(crate) struct Lists<T> {
    items: Vec<T>,
    /// Where each list ends in `items`; the next one begins there.
    ends: Vec<u32>,
    /// By the hash of a list, or one of the next numbers.
    ids: Sparse,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            ends: vec![0],
            ids: Sparse::default(),
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
        let mut hash = hasher.finish();
        while let Some(id) = self.ids.get(hash) {
            if self.get(id) == list {
                return (id, false);
            }
            hash = hash.wrapping_add(1);
        }
        let id = u32::try_from(self.ends.len()).expect("fewer than 2^32 lists");
        self.items.extend_from_slice(list);
        let end = u32::try_from(self.items.len());
        self.ends.push(end.expect("fewer than 2^32 items in lists"));
        self.ids.insert(hash, id);
        (id, true)
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
