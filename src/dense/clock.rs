//! Vector clocks.
//!
//! The times of the first chains are a plain list, which is all that most programs need. Those of
//! the others are in pages that clocks share until one of them changes: where there are thousands
//! of strands, a clock that was handed on differs from the one that it came from in few of them.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Id;

/// How many times a page has, and the plain list at most.
const PAGE: usize = 64;

type Page<T> = Arc<[T; PAGE]>;

/// A vector clock: a time for each chain of events; what is beyond its end is 0.
#[derive(Clone, Debug, Default)]
pub struct Clock<T = u32> {
    first: Vec<T>,
    /// The pages behind; one that is not there is all zeros.
    rest: Vec<Option<Page<T>>>,
}

impl<T: Copy + Ord + Default> Clock<T> {
    /// The time of one chain.
    #[inline]
    pub fn get(&self, chain: impl Id) -> T {
        let at = chain.index();
        match self.first.get(at) {
            Some(time) => *time,
            None if at < PAGE => T::default(),
            None => self.get_behind(at),
        }
    }

    fn get_behind(&self, at: usize) -> T {
        match self.rest.get(at / PAGE - 1) {
            Some(Some(page)) => page[at % PAGE],
            _ => T::default(),
        }
    }

    /// The times; what is beyond the end is 0.
    pub fn counts(&self) -> impl Iterator<Item = T> + '_ {
        let end = if self.rest.is_empty() {
            self.first.len()
        } else {
            PAGE * (1 + self.rest.len())
        };
        (0..end).map(|chain| self.get(chain))
    }

    pub(crate) fn set(&mut self, chain: impl Id, time: T) {
        let at = chain.index();
        if at < PAGE {
            if at >= self.first.len() {
                self.first.resize(at + 1, T::default());
            }
            self.first[at] = time;
            return;
        }
        let page = at / PAGE - 1;
        if page >= self.rest.len() {
            self.rest.resize(page + 1, None);
        }
        let page = self.rest[page].get_or_insert_with(|| Arc::new([T::default(); PAGE]));
        Arc::make_mut(page)[at % PAGE] = time;
    }

    /// Knows what either knew.
    pub(crate) fn join(&mut self, other: &Self) {
        if other.first.len() > self.first.len() {
            self.first.resize(other.first.len(), T::default());
        }
        for (mine, theirs) in self.first.iter_mut().zip(&other.first) {
            *mine = (*mine).max(*theirs);
        }
        if !other.rest.is_empty() {
            self.join_behind(other);
        }
    }

    #[inline(never)]
    fn join_behind(&mut self, other: &Self) {
        if other.rest.len() > self.rest.len() {
            self.rest.resize(other.rest.len(), None);
        }
        for (mine, theirs) in self.rest.iter_mut().zip(&other.rest) {
            match (&mut *mine, theirs) {
                (_, None) => {}
                (Some(mine), Some(theirs)) if knows(mine, theirs) => {}
                (Some(own), Some(theirs)) if !knows(theirs, own) => {
                    for (mine, theirs) in Arc::make_mut(own).iter_mut().zip(theirs.iter()) {
                        *mine = (*mine).max(*theirs);
                    }
                }
                _ => mine.clone_from(theirs),
            }
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
        let mut times = other.first.iter().enumerate();
        times.all(|(chain, &time)| time <= self.get(chain))
            && (other.rest.is_empty() || self.knows_behind(other))
    }

    #[inline(never)]
    fn knows_behind(&self, other: &Self) -> bool {
        let mut pages = other.rest.iter().enumerate();
        pages.all(|(at, theirs)| match (self.rest.get(at), theirs) {
            (_, None) => true,
            (Some(Some(mine)), Some(theirs)) => knows(mine, theirs),
            (_, Some(theirs)) => theirs.iter().all(|time| *time == T::default()),
        })
    }

    /// Whether no time but that of one chain is beyond these.
    #[inline]
    pub(crate) fn is_within(&self, times: &[T], but: usize) -> bool {
        let known = times.iter().enumerate();
        let mut first = self.first.iter().zip(known.clone());
        first.all(|(own, (chain, time))| own <= time || chain == but)
            && (self.rest.is_empty() || {
                let mut behind = known.skip(PAGE);
                behind.all(|(chain, time)| self.get(chain) <= *time || chain == but)
            })
    }

    /// Knows what `other` knew, in the memory that it has.
    pub(crate) fn assign(&mut self, other: &Self) {
        self.first.clone_from(&other.first);
        self.rest.clone_from(&other.rest);
    }
}

/// Whether no time of the other page is later.
fn knows<T: Ord>(page: &Page<T>, other: &Page<T>) -> bool {
    Arc::ptr_eq(page, other) || page.iter().zip(other.iter()).all(|(own, time)| time <= own)
}

impl Clock<u32> {
    /// How many relevant events are in the past that this clock describes.
    pub fn total(&self) -> u64 {
        self.counts().map(u64::from).sum()
    }
}

impl<T: Copy + Ord + Default> PartialEq for Clock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.knows(other) && other.knows(self)
    }
}

impl<T: Copy + Ord + Default> Eq for Clock<T> {}

impl<T: Copy + Ord + Default> PartialOrd for Clock<T> {
    /// The order by components.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (other.knows(self), self.knows(other)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn a_clock_that_is_handed_on_costs_a_page() {
        let mut clock = Clock::<u64>::default();
        let handed_on: Vec<Clock<u64>> = (0..1000_u32)
            .map(|strand| {
                clock.set(strand, 1);
                clock.clone()
            })
            .collect();
        let pages = handed_on.iter().flat_map(|clock| &clock.rest).flatten();
        let mut pages: Vec<*const _> = pages.map(Arc::as_ptr).collect();
        pages.sort_unstable();
        pages.dedup();
        assert!(pages.len() <= 1000, "{}", pages.len());
        let mut last = Clock::default();
        handed_on.iter().for_each(|clock| last.join(clock));
        assert!(
            last.rest
                .iter()
                .zip(&clock.rest)
                .all(|(a, b)| match (a, b) {
                    (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                    _ => false,
                })
        );
    }

    /// Times of chains, few of them far apart.
    fn times() -> impl Strategy<Value = Vec<(usize, u32)>> {
        prop::collection::vec(
            (
                prop_oneof![0..4_usize, 60..70_usize, 0..300_usize],
                0..4_u32,
            ),
            0..8,
        )
    }

    fn clock(times: &[(usize, u32)]) -> (Clock, Vec<u32>) {
        let (mut clock, mut plain) = (Clock::default(), vec![0; 300]);
        for &(chain, time) in times {
            clock.set(chain, time);
            plain[chain] = time;
        }
        (clock, plain)
    }

    fn plain(clock: &Clock) -> Vec<u32> {
        let mut times: Vec<u32> = clock.counts().collect();
        assert!(times[times.len().min(300)..].iter().all(|time| *time == 0));
        times.resize(300, 0);
        times
    }

    proptest! {
        /// A clock against a list of all times.
        #[test]
        fn a_clock_is_as_good_as_a_list(a in times(), b in times(), but in 0..300_usize) {
            let ((a, list_a), (b, list_b)) = (clock(&a), clock(&b));
            prop_assert_eq!(plain(&a), &list_a[..]);
            prop_assert_eq!(a.total(), list_a.iter().map(|it| u64::from(*it)).sum::<u64>());
            let pairs = || list_a.iter().zip(&list_b);
            prop_assert_eq!(a.knows(&b), pairs().all(|(a, b)| a >= b));
            prop_assert_eq!(a == b, list_a == list_b);
            let within = pairs().enumerate().all(|(chain, (a, b))| a <= b || chain == but);
            prop_assert_eq!(a.is_within(&list_b, but), within);
            let mut joined: Vec<u32> = pairs().map(|(a, b)| *a.max(b)).collect();
            let mut both = a.clone();
            both.join(&b);
            prop_assert_eq!(plain(&both), &joined[..]);
            let mut without = a.clone();
            without.join_without(&b, but);
            joined[but] = list_a[but];
            prop_assert_eq!(plain(&without), joined);
            both.assign(&a);
            prop_assert_eq!(plain(&both), list_a);
            prop_assert_eq!(plain(&b), list_b);
        }
    }
}
