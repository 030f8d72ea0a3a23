//! Reads-from fuzzing (Wolff, Shi, Duck, Mathur, Roychoudhury, ASPLOS 2024, "RFF").
//!
//! Most schedules differ in nothing that matters: each read sees the same write. So what is varied
//! here is that. A run is partial order sampling under a few obligations: *the read at this place
//! sees the write at that place*, or never does. They are drawn from the pairs that the runs so far
//! have shown to be possible. Obligations under which a run had a new pair are kept, and later runs
//! change them: one is added, left out, or turned into its opposite. No other published plan finds
//! as many of the benchmark programs.

use super::known::Known;
use super::obligation::{Guide, Obligation};
use super::random::{Draw, Random};
use super::{Action, Choice, End, Plan};

/// The obligations of a run.
const MOST: usize = 3;

/// The plan `rf`. See the [module](self).
///
/// ```
/// use aerodrome::plan::{Plan, Rf};
///
/// let mut plan = Rf::new(7);
/// assert!(plan.begin());
/// ```
#[derive(Debug)]
pub struct Rf {
    draw: Draw,
    guide: Guide,
    known: Known,
    pool: Pool,
    actions: Vec<Action>,
}

impl Rf {
    /// The same seed gives the same schedules of the same program.
    pub fn new(seed: u64) -> Rf {
        Rf {
            draw: Draw::new(seed),
            guide: Guide::default(),
            known: Known::default(),
            pool: Pool::default(),
            actions: Vec::new(),
        }
    }
}

impl Plan for Rf {
    fn begin(&mut self) -> bool {
        self.draw.begin();
        self.actions.clear();
        self.guide
            .begin(self.pool.draw(&self.known, &mut self.draw.random));
        true
    }

    fn choose(&mut self, ready: &[Action], _: &[Action]) -> Option<usize> {
        let index = self.guide.choose(ready, &mut self.draw, &self.known.rivals);
        self.actions.push(ready[index]);
        Some(index)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        self.draw.pick(choice, n)
    }

    fn end(&mut self, _: End) {
        if self.known.learn(&self.actions) {
            self.pool.keep();
        }
    }
}

/// Sets of obligations that have led to something new.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    kept: Vec<Vec<Obligation>>,
    current: Vec<Obligation>,
}

impl Pool {
    /// The obligations of the next run.
    pub(crate) fn draw(&mut self, known: &Known, random: &mut Random) -> &[Obligation] {
        self.current.clear();
        if known.possible.is_empty() {
            return &self.current;
        }
        if !self.kept.is_empty() && random.chance(0.5) {
            self.current = self.kept[random.below(self.kept.len())].clone();
            self.change(known, random);
        } else {
            for _ in 0..=random.below(MOST) {
                self.current.push(obligation(known, random));
            }
        }
        &self.current
    }

    fn change(&mut self, known: &Known, random: &mut Random) {
        let new = obligation(known, random);
        let at = random.below(self.current.len().max(1));
        match random.below(3) {
            0 if self.current.len() > 1 => drop(self.current.remove(at)),
            1 if !self.current.is_empty() => self.current[at] = opposite(self.current[at]),
            _ if self.current.len() >= MOST => self.current[at] = new,
            _ => self.current.push(new),
        }
    }

    /// The last run has shown something new.
    pub(crate) fn keep(&mut self) {
        if !self.current.is_empty() && !self.kept.contains(&self.current) {
            self.kept.push(self.current.clone());
        }
    }
}

fn obligation(known: &Known, random: &mut Random) -> Obligation {
    let pair = known.possible[random.below(known.possible.len())];
    match random.chance(0.5) {
        true => Obligation::Reads(pair),
        false => Obligation::Avoids(pair),
    }
}

fn opposite(obligation: Obligation) -> Obligation {
    match obligation {
        Obligation::Reads(pair) => Obligation::Avoids(pair),
        Obligation::Avoids(pair) => Obligation::Reads(pair),
        between => between,
    }
}
