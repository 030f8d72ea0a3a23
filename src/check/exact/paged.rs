//! A table by dense number that grows without moving and costs nothing where it is not used.

use crate::dense::prefetch;

const PAGE: usize = 256;

/// A table of fewer pages is in the cache anyway.
const FEW: usize = 32;

/// Entries that were never touched are `T::default()`.
#[derive(Debug)]
pub(super) struct Paged<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

impl<T: Default + Copy> Paged<T> {
    pub(super) fn new() -> Paged<T> {
        Paged { pages: Vec::new() }
    }

    /// The entry; nothing where its whole page was never touched.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match self.pages.get_mut(number as usize / PAGE) {
            Some(Some(page)) => Some(&mut page[number as usize % PAGE]),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn entry(&mut self, number: u32) -> &mut T {
        let (page, entry) = (number as usize / PAGE, number as usize % PAGE);
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.add(number);
        }
        match &mut self.pages[page] {
            Some(page) => &mut page[entry],
            None => unreachable!("just added"),
        }
    }

    /// The entry, taken out of the table.
    #[inline]
    pub(super) fn take(&mut self, number: u32) -> T {
        self.get_mut(number).map_or_else(T::default, std::mem::take)
    }

    /// The entries of all pages that were ever touched.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten().flat_map(|page| page.iter())
    }

    /// Makes room for the entry.
    #[cold]
    pub(super) fn add(&mut self, number: u32) {
        let page = number as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        // By way of a vector, so that the page is written once and in its place.
        self.pages[page] = vec![T::default(); PAGE].into_boxed_slice().try_into().ok();
    }

    /// The entry will be asked for soon.
    #[inline]
    pub(super) fn prefetch(&self, number: u32) {
        if self.pages.len() <= FEW {
            return;
        }
        if let Some(Some(page)) = self.pages.get(number as usize / PAGE) {
            prefetch(&page[number as usize % PAGE]);
        }
    }
}
