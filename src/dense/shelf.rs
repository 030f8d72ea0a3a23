//! A list that grows without its items moving.

/// Items in a piece.
const PIECE: usize = 32;

/// Items in pieces of memory that are never copied.
#[derive(Debug)]
pub(crate) struct Shelf<T> {
    full: Vec<Vec<T>>,
    /// The last piece.
    last: Vec<T>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            full: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl<T> Shelf<T> {
    /// Adds an item.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.last.len() == self.last.capacity() {
            self.begin_piece();
        }
        self.last.push(item);
    }

    #[cold]
    fn begin_piece(&mut self) {
        let piece = std::mem::replace(&mut self.last, Vec::with_capacity(PIECE));
        self.full.extend((!piece.is_empty()).then_some(piece));
    }

    /// The items in the order in which they came.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.full.iter().flatten().chain(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_in_their_order() {
        let mut shelf = Shelf::default();
        (0..100).for_each(|item| shelf.push(item));
        assert!(shelf.iter().copied().eq(0..100));
        assert!(shelf.iter().rev().copied().eq((0..100).rev()));
    }
}
