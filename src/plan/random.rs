//! The random numbers of plans: the same in every process and every version.

use super::{Action, Choice, How, Kind};

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Schedules need nothing stronger, and its state is
/// one word, so each run has a generator of its own.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }

    /// A number below `n`, which is not 0. The bias of the multiplication is below 2^-32 for any
    /// number of strands.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        to_unit(self.next())
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// An index, drawn by weight. Without any weight it is uniform.
    pub(crate) fn weighted(&mut self, weights: &[f64]) -> usize {
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 {
            return self.below(weights.len());
        }
        let mut left = self.unit() * sum;
        for (index, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        // Rounding can leave a rest of nothing.
        weights
            .iter()
            .rposition(|&weight| weight > 0.0)
            .unwrap_or(0)
    }
}

fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// The finalizer of SplitMix64: a bijection without a visible pattern.
pub(crate) fn scramble(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A hash of two words that depends on their order.
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    scramble(left.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ scramble(right.wrapping_add(1)))
}

/// The weight of time-outs, spurious wake-ups and failures of weak exchanges, beside 1 for what
/// usually happens. Programs that need one are found in 4 to 14 schedules with 0.1, in 2 to 8 with
/// 0.25.
const SURPRISE: f64 = 0.15;

/// What random plans share: the run's random numbers, and how often something unusual happens.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    seed: u64,
    runs: u64,
    run_seed: u64,
    pub(crate) random: Random,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw {
            seed,
            runs: 0,
            run_seed: 0,
            random: Random::new(0),
        }
    }

    /// A run begins. What is drawn in it depends on the seed and the run's number alone.
    pub(crate) fn begin(&mut self) {
        self.run_seed = mix(self.seed, self.runs);
        self.random = Random::new(self.run_seed);
        self.runs += 1;
    }

    /// How many runs have begun.
    pub(crate) fn runs(&self) -> u64 {
        self.runs
    }

    /// Fills `candidates` with the indices of the ready actions that may be chosen: all but the
    /// surprises that this run has ruled out. It decides once for each wait, not at each choice, so
    /// that a strand that waits for long is not almost certain to be surprised.
    pub(crate) fn candidates(&self, ready: &[Action], candidates: &mut Vec<usize>) {
        candidates.clear();
        candidates.extend((0..ready.len()).filter(|&index| self.admits(&ready[index])));
        if candidates.is_empty() {
            // Time passes where nobody else can go on; nobody wakes up without a reason then.
            candidates.extend((0..ready.len()).filter(|&index| ready[index].how == How::Expire));
        }
        if candidates.is_empty() {
            candidates.extend(0..ready.len());
        }
    }

    fn admits(&self, action: &Action) -> bool {
        let wait = mix(action.path, u64::from(action.nth) << 2 | action.how as u64);
        !action.is_surprise() || to_unit(mix(self.run_seed, wait)) < SURPRISE
    }

    pub(crate) fn pick(&mut self, choice: Choice, n: usize) -> usize {
        match choice {
            Choice::Weak => usize::from(n > 1 && self.random.chance(SURPRISE)),
            Choice::Waiter | Choice::Arm => self.random.below(n),
        }
    }
}

impl Action {
    /// Whether it happens seldom: a time-out or a spurious wake-up. The end of a sleep is neither.
    pub(crate) fn is_surprise(&self) -> bool {
        self.how != How::Proceed && self.intent.kind != Kind::Sleep
    }
}
