//! Tables by dense numbers, and vector clocks, which are such tables.

mod clock;
mod grid;
mod lists;
mod shelf;
mod sparse;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::trace::{BlockId, ObjectId, StrandId};
pub use clock::Clock;
pub(crate) use grid::Grid;
pub(crate) use lists::Lists;
pub(crate) use shelf::Shelf;
pub(crate) use sparse::Sparse;

/// A number that is dense: tables are indexed by it.
pub trait Id: Copy {
    /// The index of its entry.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($id:ident),*) => {
        $(impl Id for $id {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

ids!(StrandId, ObjectId, BlockId);

impl Id for u32 {
    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

impl Id for usize {
    #[inline]
    fn index(self) -> usize {
        self
    }
}

/// A table that grows to hold whatever entry is asked for; one that was never touched is
/// `T::default()`.
pub(crate) struct Dense<I, T> {
    entries: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Id, T> Dense<I, T> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            id: PhantomData,
        }
    }

    /// The entry, if the table has grown that far.
    #[inline]
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())
    }

    /// The entry, if the table has grown that far.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())
    }

    /// How far the table has grown.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries, from number 0 on.
    #[cfg(feature = "check")]
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// The entries, from number 0 on.
    #[inline]
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }
}

impl<I: Id, T: Default> Dense<I, T> {
    /// The entry; the table grows to hold it.
    #[inline]
    pub(crate) fn entry(&mut self, id: I) -> &mut T {
        let at = id.index();
        if at >= self.entries.len() {
            self.grow(at);
        }
        &mut self.entries[at]
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        // Most are the next in number.
        if at == self.entries.len() {
            self.entries.push(T::default());
        } else {
            self.entries.resize_with(at + 1, T::default);
        }
    }

    /// The entry, taken out of the table.
    #[inline]
    pub(crate) fn take(&mut self, id: I) -> T {
        self.get_mut(id).map(std::mem::take).unwrap_or_default()
    }
}

impl<I, T> Default for Dense<I, T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            id: PhantomData,
        }
    }
}

impl<I, T: Clone> Clone for Dense<I, T> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            id: PhantomData,
        }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for Dense<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.fmt(f)
    }
}

impl<I: Id, T> Index<I> for Dense<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Dense<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

/// Brings a value into the cache without waiting for it.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86_64 has the instruction, and it reads nothing that the program could
        // see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Spreads what tells values apart over all bits.
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ value >> 29
}

/// Numbers below a bound that seem random, and are the same every time.
#[cfg(test)]
fn random() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_grows_to_what_is_asked_for() {
        let mut table: Dense<StrandId, u8> = Dense::new();
        *table.entry(StrandId(3)) = 7;
        assert_eq!((table[StrandId(0)], table[StrandId(3)]), (0, 7));
        assert_eq!(table.get(StrandId(4)), None);
        assert_eq!((table.take(StrandId(3)), table.take(StrandId(9))), (7, 0));
    }
}
