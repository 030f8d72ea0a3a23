//! Selectively uniform random walk (Zhao, Wolff, Mathur, Roychoudhury, ASPLOS 2025, "SURW").
//!
//! If each strand is as likely to be next as it has operations left, all interleavings of straight
//! strands are equally likely. Those of all operations are too many, and most are equivalent. So
//! only the operations on one object count in a run: one strand at a time is *intended* for the
//! next of these, drawn by how many it has left, its unborn children's included. Others stop before
//! theirs, and everything else goes on at random. Each run takes another object that strands
//! conflict on. How many operations a strand has is what it had in the last run.

use super::known::by_object;
use super::obligation::touches;
use super::random::Draw;
use super::{Action, Choice, End, Kind, Plan};
use rustc_hash::{FxHashMap, FxHashSet};

/// The plan `surw`. See the [module](self).
///
/// ```
/// use aerodrome::plan::{Plan, Surw};
///
/// let mut plan = Surw::new(7);
/// assert!(plan.begin());
/// ```
#[derive(Debug)]
pub struct Surw {
    draw: Draw,
    profile: Profile,
    /// The sites of the object that counts in this run.
    sites: FxHashSet<u32>,
    /// By path, the operations left, and those of children that are not born yet.
    left: FxHashMap<u64, f64>,
    intended: Option<u64>,
    actions: Vec<Action>,
    candidates: Vec<usize>,
}

impl Surw {
    /// The same seed gives the same schedules of the same program.
    pub fn new(seed: u64) -> Surw {
        Surw {
            draw: Draw::new(seed),
            profile: Profile::default(),
            sites: FxHashSet::default(),
            left: FxHashMap::default(),
            intended: None,
            actions: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// Takes what is known of the program from a run of another plan.
    pub(crate) fn learn(&mut self, actions: &[Action]) {
        self.profile = Profile::of(actions);
    }

    fn counts(&self, action: &Action) -> bool {
        touches(action) && self.sites.contains(&action.intent.site)
    }

    /// Draws who is intended, among those that there are.
    fn intend(&mut self, ready: &[Action], blocked: &[Action]) {
        let mut paths: Vec<u64> = ready
            .iter()
            .chain(blocked)
            .map(|action| action.path)
            .collect();
        paths.dedup();
        let weight = |path: &u64| self.left.get(path).copied().unwrap_or(0.0);
        let weights: Vec<f64> = paths.iter().map(weight).collect();
        self.intended = Some(paths[self.draw.random.weighted(&weights)]);
    }

    /// Removes the candidates that wait for the intended strand.
    fn restrict(&self, ready: &[Action]) -> Vec<usize> {
        let goes = |index: &usize| {
            let action = &ready[*index];
            !self.counts(action) || Some(action.path) == self.intended
        };
        self.candidates.iter().copied().filter(goes).collect()
    }

    fn performed(&mut self, action: &Action) {
        if self.counts(action) {
            let left = self.left.entry(action.path).or_default();
            *left = (*left - 1.0).max(0.0);
            self.intended = None;
        }
        if action.intent.kind == Kind::Start {
            let own = self.profile.weight(action.path, &self.sites);
            let parent = self.profile.parents.get(&action.path).copied();
            if let Some(left) = parent.and_then(|parent| self.left.get_mut(&parent)) {
                *left = (*left - own).max(0.0);
            }
            self.left.insert(action.path, own);
            self.intended = None;
        }
    }
}

impl Plan for Surw {
    fn begin(&mut self) -> bool {
        self.draw.begin();
        self.actions.clear();
        self.intended = None;
        self.sites.clear();
        if !self.profile.shared.is_empty() {
            let object = self.draw.random.below(self.profile.shared.len());
            self.sites.extend(&self.profile.shared[object]);
        }
        self.left = self.profile.roots(&self.sites);
        true
    }

    fn choose(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize> {
        self.draw.candidates(ready, &mut self.candidates);
        if self.intended.is_none() {
            self.intend(ready, blocked);
        }
        let mut free = self.restrict(ready);
        if free.is_empty() {
            // The intended strand has to wait for one of the others.
            let waiting: Vec<Action> = self.candidates.iter().map(|&index| ready[index]).collect();
            self.intend(&waiting, &[]);
            free = self.restrict(ready);
        }
        let index = free[self.draw.random.below(free.len())];
        self.performed(&ready[index]);
        self.actions.push(ready[index]);
        Some(index)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        self.draw.pick(choice, n)
    }

    fn end(&mut self, _: End) {
        let actions = std::mem::take(&mut self.actions);
        self.learn(&actions);
        self.actions = actions;
    }
}

/// What a run says of the next one.
#[derive(Debug, Default)]
struct Profile {
    /// For each object that strands conflict on, the sites of its accesses.
    shared: Vec<Vec<u32>>,
    /// Who has forked whom.
    parents: FxHashMap<u64, u64>,
    /// The number of a strand's actions at a site.
    counts: FxHashMap<u64, FxHashMap<u32, u32>>,
    /// Those that nobody has forked.
    first: Vec<u64>,
}

impl Profile {
    fn of(actions: &[Action]) -> Profile {
        let mut profile = Profile::default();
        let mut forks: FxHashMap<u32, u64> = FxHashMap::default();
        for action in actions {
            match action.intent.kind {
                Kind::Fork => drop(forks.insert(action.intent.object, action.path)),
                Kind::Start => {
                    if let Some(&parent) = forks.get(&action.intent.object) {
                        profile.parents.insert(action.path, parent);
                    }
                }
                _ => {}
            }
            if touches(action) {
                let counts = profile.counts.entry(action.path).or_default();
                *counts.entry(action.intent.site).or_default() += 1;
            }
            if !profile.parents.contains_key(&action.path) && !profile.first.contains(&action.path)
            {
                profile.first.push(action.path);
            }
        }
        let objects = by_object(actions);
        let mut numbers: Vec<u32> = objects.keys().copied().collect();
        numbers.sort_unstable();
        for accesses in numbers.iter().map(|number| &objects[number]) {
            let conflict = |one: &&Action, other: &&Action| {
                one.seat != other.seat && one.intent.conflicts(&other.intent)
            };
            let shared = accesses
                .iter()
                .any(|one| accesses.iter().any(|other| conflict(one, other)));
            let mut sites: Vec<u32> = accesses.iter().map(|action| action.intent.site).collect();
            sites.sort_unstable();
            sites.dedup();
            // Objects with the same sites would make the same runs.
            if shared && !profile.shared.contains(&sites) {
                profile.shared.push(sites);
            }
        }
        profile
    }

    /// The operations of a strand and of its descendants that count.
    fn weight(&self, path: u64, sites: &FxHashSet<u32>) -> f64 {
        let counts = self.counts.get(&path).into_iter().flatten();
        let own: u32 = counts
            .filter(|(site, _)| sites.contains(site))
            .map(|(_, n)| n)
            .sum();
        let children = self.parents.iter().filter(|(_, parent)| **parent == path);
        f64::from(own)
            + children
                .map(|(child, _)| self.weight(*child, sites))
                .sum::<f64>()
    }

    fn roots(&self, sites: &FxHashSet<u32>) -> FxHashMap<u64, f64> {
        let weight = |&path: &u64| (path, self.weight(path, sites));
        self.first.iter().map(weight).collect()
    }
}
