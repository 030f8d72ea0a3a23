//! Partial order sampling (Yuan, Yang, Gu, CAV 2018).
//!
//! Each pending operation has a random priority, and the ready one with the highest is next. When
//! it has been performed, those that conflict with it draw again. A random walk makes some orders
//! of conflicting operations exponentially more likely than others, because operations that
//! conflict with nothing count as much as the rest. Here the order of two operations that race is
//! decided by one comparison, however many others come between them.

use super::priority::Priorities;
use super::random::Draw;
use super::{Action, Choice, End, Plan};

/// The plan `pos`. See the [module](self).
///
/// ```
/// use aerodrome::plan::{Plan, Pos};
///
/// let mut plan = Pos::new(7);
/// assert!(plan.begin());
/// ```
#[derive(Debug)]
pub struct Pos {
    draw: Draw,
    priorities: Priorities,
    candidates: Vec<usize>,
}

impl Pos {
    /// The same seed gives the same schedules.
    pub fn new(seed: u64) -> Pos {
        Pos {
            draw: Draw::new(seed),
            priorities: Priorities::default(),
            candidates: Vec::new(),
        }
    }
}

impl Plan for Pos {
    fn begin(&mut self) -> bool {
        self.draw.begin();
        self.priorities.clear();
        true
    }

    fn choose(&mut self, ready: &[Action], _: &[Action]) -> Option<usize> {
        self.draw.candidates(ready, &mut self.candidates);
        let random = &mut self.draw.random;
        let chosen = self.priorities.highest(ready, &self.candidates, random);
        self.priorities.performed(&ready[chosen]);
        Some(chosen)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        self.draw.pick(choice, n)
    }

    fn end(&mut self, _: End) {}
}
