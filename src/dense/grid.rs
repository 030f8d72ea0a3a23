//! A table from pairs of numbers to numbers.

use super::Sparse;

/// How many cells a piece of a row has: a cache line.
const PIECE: u32 = 16;

/// From two `u32` to a `u32`. Cells of one row that follow each other are in one piece of memory,
/// so that a row of which much is used takes a fraction of a hash table's room in the cache.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    /// By row and place in it.
    pieces: Sparse,
    /// One more than the number; 0 is none.
    cells: Vec<[u32; PIECE as usize]>,
    unused: Vec<u32>,
}

/// The piece that has a cell, and where in it.
#[inline(always)]
fn place(row: u32, column: u32) -> (u64, usize) {
    let piece = u64::from(row) << 32 | u64::from(column / PIECE);
    (piece, (column % PIECE) as usize)
}

impl Grid {
    /// The number of a pair.
    #[inline]
    pub(crate) fn get(&self, row: u32, column: u32) -> Option<u32> {
        let (piece, at) = place(row, column);
        self.cells[self.pieces.get(piece)? as usize][at].checked_sub(1)
    }

    /// Gives a number to a pair.
    pub(crate) fn insert(&mut self, row: u32, column: u32, number: u32) {
        let (piece, at) = place(row, column);
        let cells = self.pieces.get(piece).unwrap_or_else(|| {
            let cells = self.unused.pop().unwrap_or_else(|| {
                self.cells.push([0; PIECE as usize]);
                self.cells.len() as u32 - 1
            });
            self.pieces.insert(piece, cells);
            cells
        });
        self.cells[cells as usize][at] = number + 1;
    }

    /// Forgets a pair.
    pub(crate) fn remove(&mut self, row: u32, column: u32) {
        let (piece, at) = place(row, column);
        let Some(cells) = self.pieces.get(piece) else {
            return;
        };
        let own = &mut self.cells[cells as usize];
        own[at] = 0;
        if own.iter().all(|&cell| cell == 0) {
            self.pieces.remove(piece);
            self.unused.push(cells);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_table_does_what_a_hash_map_does() {
        let mut random = crate::dense::random();
        let mut random = |below| random(below) as u32;
        let (mut table, mut model) = (Grid::default(), HashMap::new());
        for number in 0..100_000 {
            let (row, column) = (random(4), random(100));
            if random(2) == 0 {
                table.insert(row, column, number);
                model.insert((row, column), number);
            } else {
                table.remove(row, column);
                model.remove(&(row, column));
            }
            let other = (random(4), random(100));
            assert_eq!(table.get(other.0, other.1), model.get(&other).copied());
        }
        for (row, column) in model.into_keys() {
            table.remove(row, column);
        }
        assert_eq!(table.unused.len(), table.cells.len());
    }
}
