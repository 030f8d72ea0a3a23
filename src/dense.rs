//! Tables by dense numbers, and vector clocks, which are such tables.

mod grid;
mod lists;
mod shelf;
mod sparse;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::trace::{BlockId, ObjectId, StrandId};
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

/// A vector clock: a time for each chain of events; what is beyond its end is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock<T = u32>(Vec<T>);

impl<T: Copy + Ord + Default> Clock<T> {
    /// The time of one chain.
    #[inline]
    pub fn get(&self, chain: impl Id) -> T {
        self.0.get(chain.index()).copied().unwrap_or_default()
    }

    /// The times; what is beyond the end is 0.
    #[inline]
    pub fn counts(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn set(&mut self, chain: impl Id, time: T) {
        let at = chain.index();
        if at >= self.0.len() {
            self.0.resize(at + 1, T::default());
        }
        self.0[at] = time;
    }

    /// Knows what either knew.
    pub(crate) fn join(&mut self, other: &Self) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), T::default());
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Knows what either knew, except for what `other` knows of `chain`.
    pub(crate) fn join_without(&mut self, other: &Self, chain: impl Id) {
        let own = self.get(chain);
        self.join(other);
        if self.get(chain) != own {
            self.set(chain, own);
        }
    }

    /// `other` knows nothing that is news.
    pub(crate) fn knows(&self, other: &Self) -> bool {
        let mut times = other.0.iter().enumerate();
        times.all(|(chain, &time)| time <= self.get(chain))
    }

    /// Knows what `other` knew, in the memory that it has.
    pub(crate) fn assign(&mut self, other: &Self) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }
}

impl Clock<u32> {
    /// How many relevant events are in the past that this clock describes.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&count| u64::from(count)).sum()
    }
}

impl<T: Copy + Ord + Default> PartialOrd for Clock<T> {
    /// The order by components.
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match (other.knows(self), self.knows(other)) {
            (true, true) => Some(Equal),
            (true, false) => Some(Less),
            (false, true) => Some(Greater),
            (false, false) => None,
        }
    }
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

    #[test]
    fn a_join_knows_what_either_knew() {
        let mut a: Clock = Clock::default();
        a.set(0_u32, 5);
        let mut b = Clock::default();
        b.set(0_u32, 3);
        b.set(2_u32, 7);
        let mut both = a.clone();
        both.join(&b);
        assert_eq!([0, 1, 2, 3_u32].map(|slot| both.get(slot)), [5, 0, 7, 0]);
        assert!(both > a && both > b && a.partial_cmp(&b).is_none());
        a.join_without(&b, 2_u32);
        assert_eq!([0, 2_u32].map(|slot| a.get(slot)), [5, 0]);
    }
}
