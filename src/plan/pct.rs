//! Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010).
//!
//! Each strand has a random priority, and the ready one with the highest is next. At `depth - 1`
//! random steps of the run the strand that would be next falls below all others. A bug that shows
//! as soon as `d` steps come in a certain order has the depth `d`; most have 1 to 3. With `n`
//! strands and runs of `k` steps, one run finds it with a probability of at least
//! `1 / (n * k^(d - 1))`, whatever else the program does. Few other plans promise anything.
//!
//! A strand that yields falls below all others as well: otherwise one that spins until another has
//! done something would spin for ever. The length `k` is that of the longest run so far.

use super::random::Draw;
use super::{Action, Choice, End, Kind, Plan};

/// The steps of a run while none has been made.
const GUESS: usize = 32;

/// The plan `pct`. See the [module](self).
///
/// ```
/// use aerodrome::plan::{Pct, Plan};
///
/// let mut plan = Pct::new(7, 3);
/// assert!(plan.begin());
/// ```
#[derive(Debug)]
pub struct Pct {
    draw: Draw,
    depth: usize,
    longest: usize,
    /// The steps at which the next strand falls, in any order.
    changes: Vec<usize>,
    step: usize,
    /// By seat. Higher goes first.
    priorities: Vec<i64>,
    /// Below all priorities given so far.
    floor: i64,
    candidates: Vec<usize>,
}

impl Pct {
    /// A plan for bugs of that depth. The same seed gives the same schedules.
    pub fn new(seed: u64, depth: usize) -> Pct {
        Pct {
            draw: Draw::new(seed),
            depth,
            longest: GUESS,
            changes: Vec::new(),
            step: 0,
            priorities: Vec::new(),
            floor: 0,
            candidates: Vec::new(),
        }
    }

    fn fall(&mut self, seat: u32) {
        self.floor -= 1;
        self.priorities[seat as usize] = self.floor;
    }

    fn highest(&self, ready: &[Action]) -> usize {
        let priority = |index: &&usize| self.priorities[ready[**index].seat as usize];
        let highest = self.candidates.iter().max_by_key(priority);
        *highest.expect("ready is never empty")
    }
}

impl Plan for Pct {
    fn begin(&mut self) -> bool {
        self.draw.begin();
        self.changes.clear();
        for _ in 1..self.depth {
            self.changes.push(self.draw.random.below(self.longest));
        }
        self.priorities.clear();
        self.floor = 0;
        self.step = 0;
        true
    }

    fn choose(&mut self, ready: &[Action], _: &[Action]) -> Option<usize> {
        let seats = ready.iter().map(|action| action.seat as usize + 1).max();
        while self.priorities.len() < seats.unwrap_or(0) {
            // Never negative, so it is above all that fell.
            let priority = self.draw.random.next() >> 1;
            self.priorities.push(priority as i64);
        }
        self.draw.candidates(ready, &mut self.candidates);
        for _ in 0..self
            .changes
            .iter()
            .filter(|&&step| step == self.step)
            .count()
        {
            let index = self.highest(ready);
            self.fall(ready[index].seat);
        }
        let index = self.highest(ready);
        if ready[index].intent.kind == Kind::Yield {
            self.fall(ready[index].seat);
        }
        self.step += 1;
        Some(index)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        self.draw.pick(choice, n)
    }

    fn end(&mut self, _: End) {
        self.longest = if self.draw.runs() == 1 {
            self.step.max(1)
        } else {
            self.longest.max(self.step)
        };
    }
}
