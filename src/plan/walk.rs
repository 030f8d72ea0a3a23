//! A random walk: each of the ready strands is equally likely to be next.
//!
//! It is the baseline of all papers. A strand's operation that has to be delayed until others have
//! made many steps is delayed with a probability that falls exponentially with their number, so
//! deep bugs are out of its reach. Its merit is that nothing is systematically out of its reach.

use super::random::Draw;
use super::{Action, Choice, End, Plan};

/// The plan `walk`. See the [module](self).
///
/// ```
/// use aerodrome::plan::{Action, How, Intent, Kind, Plan, Walk};
///
/// let intent = Intent { kind: Kind::Read, object: 0, site: 0 };
/// let of = |seat| Action { seat, path: seat.into(), nth: 0, block: 0, intent, how: How::Proceed };
/// let (mut one, mut other) = (Walk::new(7), Walk::new(7));
/// assert!(one.begin() && other.begin());
/// let ready = [of(0), of(1), of(2)];
/// assert_eq!(one.choose(&ready, &[]), other.choose(&ready, &[]));
/// ```
#[derive(Debug)]
pub struct Walk {
    draw: Draw,
    candidates: Vec<usize>,
}

impl Walk {
    /// A random walk. The same seed walks the same way.
    pub fn new(seed: u64) -> Walk {
        Walk {
            draw: Draw::new(seed),
            candidates: Vec::new(),
        }
    }
}

impl Plan for Walk {
    fn begin(&mut self) -> bool {
        self.draw.begin();
        true
    }

    fn choose(&mut self, ready: &[Action], _: &[Action]) -> Option<usize> {
        self.draw.candidates(ready, &mut self.candidates);
        let index = self.draw.random.below(self.candidates.len());
        Some(self.candidates[index])
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        self.draw.pick(choice, n)
    }

    fn end(&mut self, _: End) {}
}
