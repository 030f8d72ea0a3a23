//! Vector clocks that grow as strands appear.

use std::hash::{BuildHasherDefault, Hasher};

/// For each slot, the time of the latest event that is known. Slots that are not there have time 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u64>);

impl Clock {
    #[inline]
    pub(super) fn get(&self, slot: u32) -> u64 {
        self.0.get(slot as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, slot: u32, time: u64) {
        let at = slot as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = time;
    }

    /// Knows what either knew.
    pub(super) fn join(&mut self, other: &Clock) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Knows what either knew, except for what `other` knows of `slot`.
    pub(super) fn join_without(&mut self, other: &Clock, slot: u32) {
        let own = self.get(slot);
        self.join(other);
        if self.get(slot) != own {
            self.set(slot, own);
        }
    }

    /// `other` knows nothing that is news.
    pub(super) fn knows(&self, other: &Clock) -> bool {
        other
            .0
            .iter()
            .zip(0..)
            .all(|(&time, slot)| time <= self.get(slot))
    }
}

/// Numbers that are dense already: one multiplication spreads them.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberHasher(u64);

pub(super) type NumberHash = BuildHasherDefault<NumberHasher>;

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(26);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_knows_what_either_knew() {
        let mut a = Clock::default();
        a.set(0, 5);
        let mut b = Clock::default();
        b.set(0, 3);
        b.set(2, 7);
        let mut both = a.clone();
        both.join(&b);
        assert_eq!([0, 1, 2, 3].map(|slot| both.get(slot)), [5, 0, 7, 0]);
        assert!(both.knows(&a) && both.knows(&b) && !a.knows(&b));
        a.join_without(&b, 2);
        assert_eq!([0, 2].map(|slot| a.get(slot)), [5, 0]);
    }
}
