//! Whether the reads of a schedule see what they saw.

use super::Reads;
use super::look::{Look, Path, is_read};
use super::told::Told;
use super::values::{Current, Writer};
use crate::dense::Dense;
use crate::predict::{Prediction, Run};
use crate::trace::{ObjectId, Op, StrandId};
use rustc_hash::FxHashMap;

/// What became of a schedule's reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// All that bind see what they saw.
    Believable,
    /// The same, but for one of a lock's content, at this position, which may decide.
    Depends(u64),
    /// The one at this position does not.
    Doubtful(u64),
    /// The strand of this access cannot know the object yet.
    Untold(u64),
    /// There were more accesses than room, or the schedules that were judged were too long.
    Unknown,
}

/// A strand of a schedule in the making.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// How far it has come.
    to: u64,
    path: Path,
    has_strayed: bool,
    /// A counter's result was another one, since a block began or ended.
    has_other_result: bool,
    /// What was seen of locks' contents since a block began or ended, and what on this run.
    contents: Vec<(ObjectId, u64, u64)>,
}

/// A schedule in the making, as far as values count.
pub(super) struct Replay<'a> {
    reads: &'a Reads,
    objects: FxHashMap<ObjectId, Current>,
    strands: Dense<StrandId, Progress>,
    /// By strand: the last access that the prediction is about.
    last: FxHashMap<StrandId, u64>,
    /// What the prediction is about.
    about: Vec<Option<ObjectId>>,
    told: Vec<Told>,
    /// The first read of a lock's content that may decide.
    depends: Option<u64>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(reads: &'a Reads, prediction: &Prediction) -> Replay<'a> {
        Replay {
            reads,
            objects: FxHashMap::default(),
            strands: Dense::new(),
            last: last_accesses(prediction),
            about: prediction
                .accesses
                .iter()
                .map(|it| it.access.object)
                .collect(),
            told: reads.told(prediction),
            depends: None,
        }
    }

    pub(super) fn run(mut self, schedule: &[Run]) -> Belief {
        for run in schedule {
            let from = self.strands.entry(run.strand).to;
            let looks = self.reads.looks(run.strand, from, run.to);
            let spent = self.reads.spent.get() + looks.len();
            self.reads.spent.set(spent);
            if spent > self.reads.budget() {
                return Belief::Unknown;
            }
            if let Some(untold) = self
                .told
                .iter()
                .find(|told| self.is_untold(told, *run, from))
            {
                return Belief::Untold(untold.at);
            }
            if let Some(doubtful) = looks.iter().find(|look| !self.step(run.strand, look)) {
                return Belief::Doubtful(doubtful.position);
            }
            self.strands[run.strand].to = run.to;
        }
        self.depends.map_or(Belief::Believable, Belief::Depends)
    }

    /// Whether a strand uses an object in this run, from a position on, that nobody can have told
    /// it of.
    fn is_untold(&self, told: &Told, run: Run, from: u64) -> bool {
        let has_told = |&(by, write): &(StrandId, u64)| {
            let progress = self.strands.get(by);
            progress.is_some_and(|progress| progress.to >= write)
        };
        let is_used = told.who == run.strand && (from + 1..=run.to).contains(&told.at);
        is_used && !told.by.iter().any(has_told)
    }

    /// Makes an access; false if it binds and sees something else.
    fn step(&mut self, id: StrandId, look: &Look) -> bool {
        let (event, position) = (look.event, look.position);
        let last = self.last.get(&id).copied().unwrap_or(u64::MAX);
        let initial = self.reads.objects[event.object()].initial;
        let current = self.objects.entry(event.object());
        let current = current.or_insert_with(|| Current::of(initial));
        let strand = &mut self.strands[id];
        let is_variable = self.reads.is_variable(event.object());
        if look.is_first {
            (strand.path, strand.has_other_result) = (Path::default(), false);
            strand.contents.clear();
        }
        let (seen, value) = (current.seen_by(event.op), current.value());
        let is_own = current.writer.is_some_and(|by| by.event.strand == id);
        let is_as_recorded = !strand.has_strayed && (!strand.has_other_result || look.is_counter());
        let is_known = is_as_recorded && current.unseen.is_none();
        let like = |by: &Writer| (by.event.op, by.event.site) == (event.op, event.site);
        let before = current.writer.filter(|by| !is_own && like(by));
        let is_taken = event.op != Op::Write && before.is_some_and(|by| self.reads.gives_back(by));
        let is_result = self.reads.is_result(look) || is_taken && look.is_counter();
        let is_same =
            (value == look.value || !is_result && seen == look.seen) && (is_own || is_known);
        if !is_variable {
            let mut before = strand.contents.iter().rev();
            let before = before.find(|(object, ..)| *object == event.object());
            let is_same_then = before.is_some_and(|&(_, _, then)| then == look.value);
            let is_same_now = before.is_some_and(|&(_, now, _)| now == value);
            let is_flag = self.reads.objects[event.object()].is_flag;
            let looks = is_flag || event.op == Op::ReadWrite || is_read(event.op);
            let differs = looks && is_same_then != is_same_now;
            if position <= last && differs && self.reads.is_compared(look) {
                return false;
            }
            // Before its last access, or in the section in which it goes on to write.
            let writes = |op| matches!(op, Op::Write | Op::ReadWrite);
            let is_last = position == last && (writes(look.next.0) || event.op == Op::ReadWrite);
            let goes_on = self.last.contains_key(&id) && position < last || is_last;
            let decides = if self.about.contains(&Some(event.object())) {
                is_same_then && differs
            } else {
                looks && position < last
            };
            let is_shown = || self.reads.is_shown(look, seen);
            if !is_same && goes_on && decides && self.depends.is_none() && !is_shown() {
                self.depends = Some(position);
            }
            strand.contents.push((event.object(), value, look.value));
        }
        // A setter after its like, or of which nobody has shown that it would still set.
        let is_again = is_variable && look.is_setter() && (strand.has_strayed || before.is_some());
        let binds = self.reads.binds(look, position < last) || position == last && is_again;
        if position <= last && !is_same && (binds || is_taken) {
            let path = if is_variable {
                strand.path
            } else {
                Path::default()
            };
            let is_shown = self.reads.shown.contains(&look.shown(seen, path))
                && self.reads.is_same_for_all(look);
            // An exchange expects what its own strand has seen.
            let is_exchange = event.op == Op::CompareExchange && !strand.has_strayed;
            if current.unseen.is_some() || !is_shown || is_exchange || is_result {
                return false;
            }
            strand.has_strayed = true;
        }
        strand.has_other_result |= look.is_counter() && value != look.value;
        if is_variable && event.op != Op::Write {
            strand.path = strand.path.then(look, value);
        }
        if !is_read(event.op) {
            let effect = (look.effect, value == look.value);
            current.write(Writer { event, position }, effect, strand.has_strayed);
        }
        true
    }
}

/// The last access of each strand that a prediction is about.
pub(in crate::predict) fn last_accesses(prediction: &Prediction) -> FxHashMap<StrandId, u64> {
    let mut last = FxHashMap::default();
    for step in &prediction.accesses {
        let position = last.entry(step.access.strand).or_insert(0_u64);
        *position = step.access.position.max(*position);
    }
    last
}
