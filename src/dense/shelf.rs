//! A list that grows without its items moving.

/// Items in a piece.
const PIECE: usize = 32;

/// Items in pieces of memory that are never copied.
#[derive(Debug)]
pub(crate) struct Shelf<T> {
    pieces: Vec<Vec<T>>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T> Shelf<T> {
    /// Adds an item, and says how many there are now.
    pub(crate) fn push(&mut self, item: T) -> u32 {
        if self.pieces.last().is_none_or(|last| last.len() == PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let before = (self.pieces.len() - 1) * PIECE;
        let last = self.pieces.last_mut().expect("a piece with room");
        last.push(item);
        u32::try_from(before + last.len()).expect("fewer than 2^32 items")
    }

    pub(crate) fn get(&self, at: u32) -> &T {
        &self.pieces[at as usize / PIECE][at as usize % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_by_their_place_in_the_order() {
        let mut shelf = Shelf::default();
        for item in 0..100 {
            assert_eq!(shelf.push(item), item + 1);
        }
        assert!((0..100).all(|at| *shelf.get(at) == at));
    }
}
