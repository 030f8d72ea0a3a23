//! Obligations: orders of accesses that a run is to have, and partial order sampling under them.
//!
//! An obligation holds strands back: a candidate that would break it is not chosen while there is
//! another. So an obligation cannot stop a run, and what it asks for may turn out to be impossible.

use super::priority::Priorities;
use super::random::Draw;
use super::{Action, How, Kind};
use rustc_hash::{FxHashMap, FxHashSet};

/// An access by what is known of it: a strand's step, or a place in the program.
///
/// ```
/// use aerodrome::plan::{Action, How, Intent, Kind, Point};
///
/// let intent = Intent { kind: Kind::Read, object: 0, site: 3 };
/// let action = Action { seat: 1, path: 9, nth: 4, block: 0, intent, how: How::Proceed };
/// assert!(Point::Step { path: 9, nth: 4 }.matches(&action));
/// assert!(!Point::Site(4).matches(&action));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// The strand's action of that number.
    Step {
        /// The strand.
        path: u64,
        /// How many actions come before it.
        nth: u32,
    },
    /// Any action there.
    Site(u32),
}

impl Point {
    /// Whether the action is the one that is meant.
    pub fn matches(&self, action: &Action) -> bool {
        match *self {
            Point::Step { path, nth } => (path, nth) == (action.path, action.nth),
            Point::Site(site) => site == action.intent.site,
        }
    }

    pub(crate) fn of(action: &Action) -> Point {
        Point::Step {
            path: action.path,
            nth: action.nth,
        }
    }
}

/// Another strand's access between two of a strand: a prediction, or a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Between {
    /// The strand's first access.
    pub first: Point,
    /// The other strand's.
    pub other: Point,
    /// The strand's second access.
    pub last: Point,
}

/// What a run is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Obligation {
    Between(Between),
    /// The read there sees what was written there, or the initial value.
    Reads(Pair),
    /// The read there never sees it.
    Avoids(Pair),
}

/// The sites of a read and of the write that it sees; none for the initial value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) read: u32,
    pub(crate) write: Option<u32>,
}

impl Pair {
    fn is(&self, action: &Action, last: Option<u32>) -> bool {
        reads(action) && action.intent.site == self.read && last == self.write
    }
}

/// Whether what it does depends on what was done to the object before.
pub(crate) fn reads(action: &Action) -> bool {
    !matches!(
        action.intent.kind,
        Kind::Write | Kind::Start | Kind::Fork | Kind::Exit
    ) && touches(action)
}

pub(crate) fn writes(action: &Action) -> bool {
    !action.intent.kind.only_reads() && action.how == How::Proceed && touches(action)
}

/// Whether it is an access: not a strand's life, which has one order only.
pub(crate) fn touches(action: &Action) -> bool {
    use Kind::{Exit, Fork, Join, Sleep, Start, Yield};
    !matches!(
        action.intent.kind,
        Exit | Fork | Join | Sleep | Start | Yield
    )
}

/// An obligation, and how far a run is with it.
#[derive(Clone, Copy, Debug)]
struct Duty {
    obligation: Obligation,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The strand that has made the first access.
    Begun(u32),
    Done,
}

impl Duty {
    /// Whether the action would break it.
    fn holds(&self, action: &Action, last: Option<u32>, rivals: &Rivals) -> bool {
        match (self.obligation, self.state) {
            (Obligation::Between(between), State::Open) => {
                between.other.matches(action) && !between.first.matches(action)
            }
            (Obligation::Between(between), State::Begun(seat)) => {
                action.seat == seat && between.last.matches(action)
            }
            (Obligation::Reads(pair), State::Open) => {
                if reads(action) && action.intent.site == pair.read {
                    return last != pair.write;
                }
                // Who would write in between waits for the read.
                writes(action) && last == pair.write && rivals.are(pair.read, action.intent.site)
            }
            (Obligation::Avoids(pair), _) => pair.is(action, last),
            _ => false,
        }
    }

    fn observe(&mut self, action: &Action, last: Option<u32>) {
        self.state = match (self.obligation, self.state) {
            (Obligation::Between(between), State::Open) if between.first.matches(action) => {
                State::Begun(action.seat)
            }
            (Obligation::Between(between), State::Begun(seat))
                if action.seat != seat && between.other.matches(action) =>
            {
                State::Done
            }
            (Obligation::Reads(pair), State::Open) if pair.is(action, last) => State::Done,
            (_, state) => state,
        };
    }
}

/// Which writes, by their sites, can be what a read sees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rivals(FxHashSet<(u32, u32)>);

impl Rivals {
    pub(crate) fn are(&self, read: u32, write: u32) -> bool {
        self.0.contains(&(read, write))
    }

    pub(crate) fn insert(&mut self, read: u32, write: u32) -> bool {
        self.0.insert((read, write))
    }
}

/// Partial order sampling under obligations.
#[derive(Debug, Default)]
pub(crate) struct Guide {
    duties: Vec<Duty>,
    priorities: Priorities,
    /// The site of each object's last write.
    written: FxHashMap<u32, u32>,
    candidates: Vec<usize>,
    free: Vec<usize>,
}

impl Guide {
    pub(crate) fn begin(&mut self, obligations: &[Obligation]) {
        self.priorities.clear();
        self.written.clear();
        let open = |&obligation: &Obligation| Duty {
            obligation,
            state: State::Open,
        };
        self.duties = obligations.iter().map(open).collect();
    }

    pub(crate) fn choose(&mut self, ready: &[Action], draw: &mut Draw, rivals: &Rivals) -> usize {
        draw.candidates(ready, &mut self.candidates);
        let last = |action: &Action| self.written.get(&action.intent.object).copied();
        let held = |action: &Action| {
            let holds = |duty: &Duty| duty.holds(action, last(action), rivals);
            self.duties.iter().any(holds)
        };
        self.free.clear();
        self.free.extend(
            self.candidates
                .iter()
                .filter(|&&index| !held(&ready[index])),
        );
        let candidates = match self.free.is_empty() {
            true => &self.candidates,
            false => &self.free,
        };
        let index = self.priorities.highest(ready, candidates, &mut draw.random);
        self.observe(&ready[index]);
        index
    }

    fn observe(&mut self, action: &Action) {
        self.priorities.performed(action);
        let last = self.written.get(&action.intent.object).copied();
        for duty in &mut self.duties {
            duty.observe(action, last);
        }
        if writes(action) {
            self.written
                .insert(action.intent.object, action.intent.site);
        }
    }
}
