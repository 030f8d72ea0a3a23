//! The findings of a [`Predictor`](crate::predict::Predictor) with the names behind their numbers:
//! as data, as JSON, as text; and as [reports](crate::report).

mod json;
mod report;
mod text;

use crate::check;
use crate::predict::{
    AnalysisKind, Directions, Feed, Hold, Prediction, Predictions, Step, Tier, Wait, word,
};
use crate::report::{Block, Object, Place, Report, StrandNames};
use crate::trace::Names;

/// What other schedules of a run would show. [`Display`](std::fmt::Display) is the text for whoever
/// has the trace, [`render`](Forecast::render) the one with source lines, [`json`](Forecast::json)
/// the same as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The version of this shape.
    pub schema: u32,
    /// Violations, the surest first.
    pub violations: Vec<ForecastViolation>,
    /// Potential deadlocks.
    pub deadlocks: Vec<ForecastDeadlock>,
    /// Races.
    pub races: Vec<ForecastRace>,
    /// What to know about the whole.
    pub notes: Vec<String>,
}

/// A violation that was not observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastViolation {
    /// Who says so.
    pub analysis: AnalysisKind,
    /// How sure it is.
    pub tier: Tier,
    /// "write, read, write".
    pub pattern: String,
    /// In the order of the schedule.
    pub accesses: Vec<ForecastAccess>,
    /// A read of a lock's content that would see another value than on this run, and may decide
    /// whether its thread comes to the accesses at all.
    pub depends: Option<ForecastAccess>,
    /// The schedule, where the analysis gives one.
    pub schedule: Vec<ForecastRun>,
    /// What confirms it in another run, where it is more than the papers' assumption.
    pub directions: Option<Directions>,
    /// What to know about it.
    pub notes: Vec<String>,
    /// How often the same was found.
    pub count: u64,
    /// The same as a report.
    pub report: Report,
}

/// An event of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastAccess {
    /// Its position in the trace.
    pub position: u64,
    /// What it does: "read", "write", "acquire".
    pub op: &'static str,
    /// The same as a sentence's predicate: "reads `x`".
    pub does: String,
    /// To what.
    pub object: Option<Object>,
    /// Who.
    pub strand: String,
    /// In which atomic block.
    pub block: Option<Block>,
    /// Where.
    pub place: Option<Place>,
    /// What the strand holds there, in the order of acquisition.
    pub locks: Vec<ForecastLock>,
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastLock {
    /// The lock.
    pub lock: Object,
    /// Shared with other readers.
    pub shared: bool,
}

/// A strand runs up to a position of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastRun {
    /// Who.
    pub strand: String,
    /// Through all its events up to this position.
    pub to: u64,
}

/// Two accesses that nothing keeps apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastRace {
    /// The two.
    pub accesses: [ForecastAccess; 2],
    /// How often it was found.
    pub count: u64,
}

/// Locks taken in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastDeadlock {
    /// Each wants what the next one holds, the last one what the first one holds.
    pub waits: Vec<ForecastWait>,
    /// How often the same sites made such a circle.
    pub count: u64,
}

/// A strand that would wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastWait {
    /// The acquire of what it holds.
    pub held: ForecastAccess,
    /// The acquire that would wait.
    pub wanted: ForecastAccess,
}

impl Feed {
    /// There are no more events: what they predict. `names` are those at the end.
    pub fn finish(self, names: &dyn Names) -> Forecast {
        Forecast::new(&self.predictions(names), names)
    }
}

impl Forecast {
    /// The version of the shape that this code writes.
    pub const SCHEMA: u32 = 1;

    /// Resolves a predictor's findings by the trace's names at its end.
    pub fn new(predictions: &Predictions, names: &dyn Names) -> Forecast {
        let names = predictions.names(names);
        let outcome = &predictions.outcome;
        let resolve = Resolve {
            // A predictor has renumbered strands so that each number has one owner.
            strands: StrandNames::new(&names, outcome.strands().map(|id| (id, u64::MAX))),
            names: &names,
        };
        let violations = outcome
            .predictions
            .iter()
            .map(|found| resolve.violation(found));
        let mut violations: Vec<ForecastViolation> = violations.collect();
        violations.sort_by_key(|violation| violation.tier);
        let deadlocks = outcome.deadlocks.iter().map(|found| ForecastDeadlock {
            waits: found.waits.iter().map(|wait| resolve.wait(wait)).collect(),
            count: found.count,
        });
        let races = outcome.races.iter().map(|race| ForecastRace {
            accesses: [resolve.step(&race.first), resolve.step(&race.second)],
            count: race.count,
        });
        let races = races.filter(|race| !predictions.is_brief || race.is_on_cell());
        Forecast {
            schema: Forecast::SCHEMA,
            violations,
            deadlocks: deadlocks.collect(),
            races: races.collect(),
            notes: outcome.notes.clone(),
        }
    }

    /// Is there a violation that `minimal` or `blocks` predicts? Everything else is for the reader
    /// to judge.
    pub fn fails(&self) -> bool {
        self.violations.iter().any(ForecastViolation::fails)
    }

    /// Leaves only what [fails](Self::fails).
    pub fn retain_errors(&mut self) {
        self.violations.retain(ForecastViolation::fails);
        self.deadlocks.clear();
        self.races.clear();
        self.notes.clear();
    }

    /// Is there nothing to tell at all?
    pub fn is_empty(&self) -> bool {
        self.violations.is_empty() && self.deadlocks.is_empty() && self.races.is_empty()
    }
}

impl ForecastRace {
    /// Whether it may be a data race: accesses of an atomic never are, and a lock's content is
    /// touched under the lock. Only a cell's are as the program makes them.
    fn is_on_cell(&self) -> bool {
        let object = self.accesses[0].object.as_ref();
        let name = object.and_then(|object| object.type_name.as_deref());
        name.is_some_and(|name| name.starts_with("aerodrome::cell::"))
    }
}

impl ForecastViolation {
    /// Whether it is an error where predictions are denied.
    pub fn fails(&self) -> bool {
        match self.analysis {
            _ if self.depends.is_some() => false,
            AnalysisKind::Minimal => self.tier != Tier::Hint,
            // Locksets alone do not tell whether a longer cycle is possible: what counts has a
            // schedule.
            AnalysisKind::Blocks => self.tier == Tier::Predicted,
            _ => false,
        }
    }

    /// Whether it is more than a hint.
    fn is_sure(&self) -> bool {
        self.tier < Tier::Hint
    }

    /// The block that is not atomic, if it has a name.
    fn block(&self) -> Option<&Block> {
        let block = self.accesses.first()?.block.as_ref();
        block.filter(|block| !block.name.is_empty())
    }
}

struct Resolve<'a> {
    names: &'a dyn Names,
    strands: StrandNames<'a>,
}

impl Resolve<'_> {
    fn violation(&self, found: &Prediction) -> ForecastViolation {
        let accesses = found.accesses.iter().map(|step| self.step(step));
        let schedule = found.schedule.iter().map(|run| ForecastRun {
            strand: self.strands.name(run.strand, u64::MAX),
            to: run.to,
        });
        ForecastViolation {
            analysis: found.analysis,
            tier: found.tier,
            pattern: found.pattern.clone(),
            accesses: accesses.collect(),
            depends: found.depends.as_ref().map(|access| self.access(access)),
            schedule: schedule.collect(),
            directions: found.directions.clone(),
            notes: found.notes.clone(),
            count: found.count,
            report: found.report(self.names),
        }
    }

    fn step(&self, step: &Step) -> ForecastAccess {
        let block = step.transaction.as_ref().and_then(|it| it.block);
        ForecastAccess {
            block: block.map(|id| Block::of(id, self.names)),
            locks: self.locks(&step.held),
            ..self.access(&step.access)
        }
    }

    fn access(&self, access: &check::Access) -> ForecastAccess {
        let object = access.object.map(|id| Object::of(id, self.names));
        let label = object.as_ref().map(Object::label);
        ForecastAccess {
            position: access.position,
            op: word(access.op),
            does: access.op.does(label.as_deref().unwrap_or("it")),
            object,
            strand: self.strands.name(access.strand, u64::MAX),
            block: None,
            place: Place::of(access.site, self.names),
            locks: Vec::new(),
        }
    }

    fn locks(&self, held: &[Hold]) -> Vec<ForecastLock> {
        let lock = |hold: &Hold| ForecastLock {
            lock: Object::of(hold.lock, self.names),
            shared: hold.shared,
        };
        held.iter().map(lock).collect()
    }

    fn wait(&self, wait: &Wait) -> ForecastWait {
        ForecastWait {
            held: self.access(&wait.held),
            wanted: ForecastAccess {
                locks: self.locks(&wait.locks),
                ..self.access(&wait.wanted)
            },
        }
    }
}
