//! Schedules: a way for the strands to run that puts given accesses into a given order.
//!
//! This is the one answer to "is it feasible?": [`Realiser::realise`] looks for a schedule of a
//! prediction, replays it and asks whether its reads can be believed.
//!
//! The [`Skeleton`] has what can make a strand wait (locks, messages, forks and the like) and where
//! its transactions begin and end, but no accesses. From it a schedule is made in two parts. The
//! *base* runs every strand that matters to the last point before the transactions in question at
//! which it is in no transaction and holds no lock, in the recorded order; leaving out whole
//! critical sections from a valid order leaves a valid order. The *window* is what is left, and is
//! searched: of the possible steps only the acquires need a choice, because every other step, once
//! it is possible, takes nothing away from anybody. So the search sees one state for each
//! combination of acquires, remembers the states that failed, and is complete for the window unless
//! it hits its bound.
//!
//! Where the schedule that is found has a read that sees something else, another is looked for in
//! which the reads before the transactions in question come after the writes that they saw, then
//! one in which every read does that binds, and then one in which those of locks' contents do, too.

mod state;
mod window;

use super::reads::{Belief, Reads, last_accesses};
use super::{Context, Prediction, Skeleton, Step, Tier, event, replay};
use crate::trace::{Event, StrandId};
use rustc_hash::FxHashMap;
use window::Window;

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is a schedule, and it can be believed.
    Predicted,
    /// There is a schedule in which a read sees another value than it did, or may do so.
    Doubtful,
    /// There is none.
    Impossible,
    /// The search was given up.
    Bound,
    /// The trace has more lock and order events than the skeleton has room for.
    Window,
}

/// Finds the schedules of predictions, within bounds.
pub(super) struct Realiser<'a> {
    pub(super) now: &'a Context,
    /// So many schedules may yet be looked for.
    schedules: u64,
    /// So many interleavings are tried for one.
    states: usize,
    /// So many steps may yet be looked at, for all schedules together.
    work: usize,
}

impl<'a> Realiser<'a> {
    pub(super) fn new(now: &'a Context, schedules: u64, states: usize) -> Realiser<'a> {
        Realiser {
            now,
            schedules,
            states,
            work: WORK + 16 * now.skeleton.len(),
        }
    }

    /// Whether there was more to look for than the bound allows.
    pub(super) fn is_exhausted(&self) -> bool {
        self.schedules == 0 || self.work == 0
    }

    /// Looks for a schedule of a prediction in which the first access of each pair, given by their
    /// indices, comes before the second, and in which each of these strands comes to the position.
    /// Enters what it finds into the prediction.
    pub(super) fn realise(
        &mut self,
        prediction: &mut Prediction,
        pairs: &[(usize, usize)],
        ends: &[(StrandId, u64)],
    ) -> Answer {
        let point = |at: usize| Point::of(&prediction.accesses[at]);
        let pairs = pairs.iter().map(|&(a, b)| (point(a), point(b)));
        let goal = Goal {
            pairs: pairs.collect(),
            ends: ends.to_vec(),
        };
        let answer = self.answer(prediction, &goal);
        let (tier, note) = match answer {
            Answer::Predicted => (Tier::Predicted, None),
            Answer::Doubtful => (Tier::Hint, None),
            Answer::Impossible => return answer,
            Answer::Bound => (Tier::Potential, Some(GIVEN_UP)),
            Answer::Window => (Tier::Potential, Some(OVERFLOWN)),
        };
        // What was not looked at cannot be believed where values count.
        let is_blind = tier == Tier::Potential && self.now.reads.is_on();
        prediction.tier = if is_blind { Tier::Hint } else { tier };
        prediction.notes.extend(note.map(str::to_owned));
        answer
    }

    fn answer(&mut self, prediction: &mut Prediction, goal: &Goal) -> Answer {
        if self.now.skeleton.is_overflown() {
            return Answer::Window;
        }
        let belief = match self.attempt(prediction, goal, Bound::None) {
            Ok((shown, belief)) => {
                *prediction = shown;
                belief
            }
            Err(answer) => return answer,
        };
        if belief == Belief::Believable {
            return Answer::Predicted;
        }
        let mut depending = match belief {
            Belief::Depends(at) => Some((prediction.clone(), at)),
            _ => None,
        };
        for bound in [Bound::Before, Bound::All, Bound::Contents] {
            // Once nothing but a lock's content stands in the way, that alone is looked at.
            if depending.is_some() != (bound == Bound::Contents) {
                continue;
            }
            match self.attempt(prediction, goal, bound) {
                Ok((shown, Belief::Believable)) => {
                    *prediction = shown;
                    return Answer::Predicted;
                }
                Ok((shown, Belief::Depends(at))) => {
                    depending.get_or_insert((shown, at));
                }
                _ => {}
            }
        }
        if let Some((shown, at)) = depending {
            *prediction = shown;
            prediction.depends = self.now.reads.access_at(prediction, at);
            return Answer::Predicted;
        }
        prediction.notes.push(match belief {
            Belief::Untold(at) => format!(
                "event {at} would use what its thread may only have been told of on this run"
            ),
            Belief::Doubtful(at) => format!(
                "event {at} would see another value than on this run, \
                 and its thread may do something else"
            ),
            _ => "not checked: whether its reads would see the same values".to_owned(),
        });
        Answer::Doubtful
    }

    /// The prediction with a schedule, and whether that can be believed.
    fn attempt(
        &mut self,
        prediction: &Prediction,
        goal: &Goal,
        bound: Bound,
    ) -> Result<(Prediction, Belief), Answer> {
        if self.is_exhausted() {
            return Err(Answer::Bound);
        }
        self.schedules -= 1;
        let needs = Needs {
            skeleton: &self.now.skeleton,
            reads: (bound != Bound::None).then_some(&self.now.reads),
            contents: bound == Bound::Contents,
            until: match bound {
                Bound::Before => goal.begins(),
                _ => FxHashMap::default(),
            },
            last: last_accesses(prediction),
        };
        let window = Window::new(&needs, goal);
        let (found, work) = match &window {
            Some(window) => window.search(&needs, self.states),
            None => (Err(Answer::Bound), window::LONGEST),
        };
        self.work = self.work.saturating_sub(work);
        let (schedule, order) = found?;
        let mut shown = prediction.clone();
        shown.schedule = schedule;
        let place = |step: &Step| order.iter().position(|&at| at == step.access.position);
        shown.accesses.sort_by_key(place);
        if !replay::violates(&shown, self.now) {
            // The analyses take a vain update for a read, and what meets zero for an access, and
            // these commute with more than that.
            let Context { reads, zeros, .. } = self.now;
            let mut accesses = shown.accesses.iter().map(|step| &step.access);
            let is_more = accesses.any(|it| reads.vain(it).is_some() || zeros.has(it));
            return Err(if is_more {
                Answer::Impossible
            } else {
                Answer::Bound
            });
        }
        let belief = self.now.reads.judge(&shown);
        Ok((shown, belief))
    }
}

/// What the steps of schedules may be in all, beside a share for each event of the trace.
const WORK: usize = 8 << 20;
const GIVEN_UP: &str =
    "no schedule was looked for, or none found within the bound: locks and order allow it";
const OVERFLOWN: &str = "schedule not checked: window too small";

/// What a schedule is looked for.
struct Goal {
    /// The first comes before the second.
    pairs: Vec<(Point, Point)>,
    /// These strands come to the position.
    ends: Vec<(StrandId, u64)>,
}

/// Which reads come after the writes that they saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    None,
    /// Those before the transactions in question.
    Before,
    All,
    /// Those of locks' contents, too, as far as their strands go on.
    Contents,
}

impl Goal {
    /// By strand: where the first of its transactions in question begins.
    fn begins(&self) -> FxHashMap<StrandId, u64> {
        let mut begins = FxHashMap::default();
        for point in self.pairs.iter().flat_map(|(a, b)| [a, b]) {
            let begin = begins.entry(point.event.strand).or_insert(point.begin);
            *begin = point.begin.min(*begin);
        }
        begins
    }
}

/// What a strand has to wait for.
struct Needs<'a> {
    skeleton: &'a Skeleton,
    /// Where reads come after the writes that they saw.
    reads: Option<&'a Reads>,
    /// Of locks' contents as well.
    contents: bool,
    /// By strand: up to here they do; where nothing is said, to its end.
    until: FxHashMap<StrandId, u64>,
    /// By strand: its last access that counts.
    last: FxHashMap<StrandId, u64>,
}

impl Needs<'_> {
    /// What a strand's reads between two positions, the later one included, have to come after:
    /// `need(read, writer, write)` for each.
    fn sources(
        &self,
        strand: StrandId,
        (from, to): (u64, u64),
        need: impl FnMut(u64, StrandId, u64),
    ) {
        if let Some(reads) = self.reads {
            let of = |table: &FxHashMap<StrandId, u64>| table.get(&strand).copied();
            let to = of(&self.until).unwrap_or(u64::MAX).min(to);
            let last = of(&self.last).unwrap_or(u64::MAX);
            reads.sources(strand, (from, to), last, self.contents, need);
        }
    }

    /// The same of all its events, by order as well.
    fn waits(&self, strand: StrandId, range: (u64, u64), mut need: impl FnMut(u64, StrandId, u64)) {
        self.skeleton.waits(strand, range, &mut need);
        self.sources(strand, range, need);
    }
}

/// An access that a schedule must contain.
#[derive(Clone, Copy, Debug)]
struct Point {
    event: Event,
    position: u64,
    /// Where its transaction began; its own position where it is in none.
    begin: u64,
}

impl Point {
    fn of(step: &Step) -> Point {
        let position = step.access.position;
        let begin = step.transaction.as_ref().and_then(|it| it.begin);
        Point {
            event: event(&step.access),
            position,
            begin: begin.unwrap_or(position),
        }
    }
}
