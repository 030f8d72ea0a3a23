//! A table by dense number that grows without moving and costs nothing where it is not used.

const PAGE: usize = 256;

/// Entries that were never touched are `T::default()`.
#[derive(Debug)]
pub(super) struct Paged<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

impl<T: Default + Copy> Paged<T> {
    pub(super) fn new() -> Paged<T> {
        Paged { pages: Vec::new() }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        let (page, entry) = (number as usize / PAGE, number as usize % PAGE);
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.add(page);
        }
        match &mut self.pages[page] {
            Some(page) => &mut page[entry],
            None => unreachable!("just added"),
        }
    }

    /// The entry, taken out of the table.
    #[inline]
    pub(super) fn take(&mut self, number: u32) -> T {
        match self.pages.get_mut(number as usize / PAGE) {
            Some(Some(page)) => std::mem::take(&mut page[number as usize % PAGE]),
            _ => T::default(),
        }
    }

    #[cold]
    fn add(&mut self, page: usize) {
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        // By way of a vector, so that the page is written once and in its place.
        self.pages[page] = vec![T::default(); PAGE].into_boxed_slice().try_into().ok();
    }
}
