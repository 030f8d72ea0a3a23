//! Hash tables keyed by small numbers, which the predictors ask for every event.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map for keys that nobody outside chooses.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// The set that goes with [`Map`].
pub type Set<K> = HashSet<K, BuildHasherDefault<Mix>>;

/// Multiply and rotate: a few instructions a word. The keys are numbers that the predictors drew
/// themselves, so there is nothing to defend against.
#[derive(Clone, Copy, Default)]
pub struct Mix(u64);

impl Mix {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mix {
    #[inline]
    fn finish(&self) -> u64 {
        // The table takes its bucket from the low bits and its tag from the high ones; a product is
        // good only at the top.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.mix(u64::from(byte));
        }
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.mix(u64::from(word));
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }
}
