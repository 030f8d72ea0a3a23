//! The default: what is most likely to find something next, from all that the other plans do.
//!
//! 1. The first run is partial order sampling. As it comes, without preemption, it would find a
//!    third as much.
//! 2. *Predictions* that were handed in, and each three accesses of that run by which a strand
//!    could be interrupted: forced once each, those in blocks first. Most atomicity violations need
//!    no more (Park, Lu, Zhou, "CTrigger", ASPLOS 2009).
//! 3. Each pair of a read and a write that could be what it sees, once: forced if no run has had
//!    it, the initial value first, and forbidden otherwise. In turn with them `surw`, because what
//!    needs several orders at once is found by chance alone.
//! 4. Then `rf` and `surw` in turn.
//!
//! As soon as `all` would end within the budget, it takes over, because nothing is left to chance
//! then. Whether it would is tried after the forced runs, and told by its estimate.

use super::known::{Known, triples};
use super::obligation::{Between, Guide, Obligation};
use super::random::Draw;
use super::rf::Pool;
use super::{Action, All, Choice, End, Plan, Surw};
use std::collections::VecDeque;

/// The plan `mix`. See the [module](self).
///
/// ```
/// use aerodrome::plan::{Between, Mix, Plan, Point};
///
/// let mut plan = Mix::new(7, 200);
/// plan.predict(Between { first: Point::Site(1), other: Point::Site(2), last: Point::Site(3) });
/// assert!(plan.begin());
/// ```
#[derive(Debug)]
pub struct Mix {
    draw: Draw,
    /// How many runs there will be.
    budget: u64,
    current: Source,
    guide: Guide,
    surw: Surw,
    all: All,
    /// Whether `all` may still end within the budget.
    hopes: bool,
    known: Known,
    pool: Pool,
    predictions: VecDeque<Between>,
    triples: VecDeque<Between>,
    /// Pairs that were forced or forbidden already.
    tried: usize,
    actions: Vec<Action>,
}

/// Who makes the current run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Partial order sampling, under obligations or not.
    Guide,
    /// The same, with obligations from the pool.
    Pool,
    Surw,
    All,
}

impl Mix {
    /// The same seed gives the same schedules of the same program. The budget is the number of
    /// runs that there will be at most.
    pub fn new(seed: u64, budget: u64) -> Mix {
        Mix {
            draw: Draw::new(seed),
            budget,
            current: Source::Guide,
            guide: Guide::default(),
            surw: Surw::new(seed),
            all: All::new(),
            hopes: true,
            known: Known::default(),
            pool: Pool::default(),
            predictions: VecDeque::new(),
            triples: VecDeque::new(),
            tried: 0,
            actions: Vec::new(),
        }
    }

    /// Forces this in one of the next runs.
    pub fn predict(&mut self, between: Between) {
        self.predictions.push_back(between);
    }

    /// Whether all schedules were explored.
    pub fn is_exhausted(&self) -> bool {
        self.all.is_exhausted()
    }

    /// The plan that explores all schedules, as far as it has come.
    pub fn all(&self) -> &All {
        &self.all
    }

    /// What is forced in the next run, if something is.
    fn force(&mut self) -> Option<Obligation> {
        let prediction = self.predictions.pop_front();
        let between = prediction.or_else(|| self.triples.pop_front())?;
        Some(Obligation::Between(between))
    }

    fn force_pair(&mut self) -> Option<Obligation> {
        let pair = *self.known.possible.get(self.tried)?;
        self.tried += 1;
        Some(match self.known.seen.contains(&pair) {
            true => Obligation::Avoids(pair),
            false => Obligation::Reads(pair),
        })
    }

    /// Who makes the next run.
    fn next(&mut self) -> Source {
        if self.draw.runs() == 1 {
            self.guide.begin(&[]);
            return Source::Guide;
        }
        if let Some(obligation) = self.force() {
            self.guide.begin(&[obligation]);
            return Source::Guide;
        }
        let runs = self.draw.runs();
        if self.hopes && self.fits() {
            if self.all.begin() {
                return Source::All;
            }
            self.hopes = false;
        }
        if runs % 3 == 0 {
            return Source::Surw;
        }
        if let Some(obligation) = self.force_pair() {
            self.guide.begin(&[obligation]);
            return Source::Guide;
        }
        if runs % 2 == 0 {
            return Source::Surw;
        }
        self.guide
            .begin(self.pool.draw(&self.known, &mut self.draw.random));
        Source::Pool
    }

    fn fits(&mut self) -> bool {
        self.hopes = self.all.left() <= self.budget.saturating_sub(self.draw.runs()) as f64;
        self.hopes
    }
}

impl Plan for Mix {
    fn begin(&mut self) -> bool {
        if self.all.is_exhausted() {
            return false;
        }
        self.draw.begin();
        self.actions.clear();
        self.current = self.next();
        if self.all.is_exhausted() {
            return false;
        }
        if self.current == Source::Surw {
            return self.surw.begin();
        }
        true
    }

    fn choose(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize> {
        let index = match self.current {
            Source::All => self.all.choose(ready, blocked)?,
            Source::Surw => self.surw.choose(ready, blocked)?,
            Source::Guide | Source::Pool => {
                self.guide.choose(ready, &mut self.draw, &self.known.rivals)
            }
        };
        self.actions.push(ready[index]);
        Some(index)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        match self.current {
            Source::All => self.all.pick(choice, n),
            Source::Surw => self.surw.pick(choice, n),
            Source::Guide | Source::Pool => self.draw.pick(choice, n),
        }
    }

    fn released(&mut self, object: u32) {
        if self.current == Source::All {
            self.all.released(object);
        }
    }

    fn stuck(&mut self, waking: &[Action], blocked: &[Action]) -> Option<usize> {
        match self.current {
            Source::All => self.all.stuck(waking, blocked),
            _ => None,
        }
    }

    fn end(&mut self, end: End) {
        match self.current {
            Source::All => self.all.end(end),
            Source::Surw => self.surw.end(end),
            _ => {}
        }
        let new = self.known.learn(&self.actions);
        if new && self.current == Source::Pool {
            self.pool.keep();
        }
        if self.draw.runs() == 1 {
            self.triples = triples(&self.actions).into();
            self.known.possible.sort_by_key(|pair| pair.write.is_some());
            self.surw.learn(&self.actions);
        }
    }
}
