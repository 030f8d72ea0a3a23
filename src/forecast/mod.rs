//! The findings of a [`Predictor`](crate::predict::Predictor) with the names behind their numbers:
//! as data, as JSON, as text; and as [reports](crate::report).

mod json;
mod report;

use crate::check;
use crate::predict::{AnalysisKind, Feed, Hold, Prediction, Predictions, Step, Tier, Wait, word};
use crate::report::{Block, Object, Place, StrandNames};
use crate::trace::Names;
use std::fmt;

/// What other schedules of a run would show. [`Display`](fmt::Display) is the text for a reader,
/// [`json`](Forecast::json) the same as data.
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
    /// The schedule, where the analysis gives one.
    pub schedule: Vec<ForecastRun>,
    /// What to know about it.
    pub notes: Vec<String>,
    /// How often the same was found.
    pub count: u64,
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
        let mut violations = self.violations.iter();
        violations.any(|violation| match violation.analysis {
            AnalysisKind::Minimal => violation.tier != Tier::Hint,
            // Locksets alone do not tell whether a longer cycle is possible: what counts has a
            // schedule.
            AnalysisKind::Blocks => violation.tier == Tier::Predicted,
            _ => false,
        })
    }

    /// Is there nothing to tell at all?
    pub fn is_empty(&self) -> bool {
        self.violations.is_empty() && self.deadlocks.is_empty() && self.races.is_empty()
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
            schedule: schedule.collect(),
            notes: found.notes.clone(),
            count: found.count,
        }
    }

    fn step(&self, step: &Step) -> ForecastAccess {
        let block = step.transaction.as_ref().and_then(|it| it.block);
        let block = block.map(|id| self.names.block(id));
        ForecastAccess {
            block: block.map(|info| Block {
                name: info.name,
                place: Place::of(info.site, self.names),
            }),
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

impl fmt::Display for Forecast {
    /// The surest first, hints last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_sure = |violation: &ForecastViolation| violation.tier < Tier::Hint;
        let (violations, hints) = self
            .violations
            .split_at(self.violations.partition_point(is_sure));
        violations
            .iter()
            .try_for_each(|found| write!(f, "{found}"))?;
        self.deadlocks
            .iter()
            .try_for_each(|found| write!(f, "{found}"))?;
        self.races
            .iter()
            .try_for_each(|found| write!(f, "{found}"))?;
        hints.iter().try_for_each(|found| write!(f, "{found}"))?;
        self.notes
            .iter()
            .try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

impl fmt::Display for ForecastViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.accesses.first();
        let block = first.and_then(|access| access.block.as_ref());
        let block = block.filter(|block| !block.name.is_empty());
        let what = match (block, first) {
            (Some(block), _) => format!("`{}`", block.name),
            (None, Some(access)) => format!("an atomic block on thread `{}`", access.strand),
            (None, None) => "an atomic block".to_owned(),
        };
        match self.tier {
            Tier::Predicted => writeln!(
                f,
                "predicted, not observed: {what} is not atomic under another schedule of this run"
            )?,
            Tier::Potential => writeln!(f, "potential, not observed: {what} may not be atomic")?,
            Tier::Hint => writeln!(f, "hint: {what} may not be atomic")?,
        }
        writeln!(f, "  {} ({})", self.pattern, self.analysis.name())?;
        for (number, access) in (1..).zip(&self.accesses) {
            writeln!(f, "  ({number}) {access}")?;
        }
        if !self.schedule.is_empty() {
            writeln!(f, "  a schedule that shows it:")?;
        }
        let hidden = self.schedule.len().saturating_sub(LONGEST);
        if hidden > 0 {
            writeln!(f, "    threads take turns as on this run, {hidden} times")?;
        }
        for (at, run) in self.schedule.iter().enumerate().skip(hidden) {
            write!(f, "    thread `{}` runs up to event {}", run.strand, run.to)?;
            let mut earlier = self.schedule[..at].iter();
            let earlier = earlier.rfind(|other| other.strand == run.strand);
            let from = earlier.map_or(0, |other| other.to);
            let passed = (1..).zip(&self.accesses).filter(|(_, access)| {
                access.strand == run.strand && from < access.position && access.position <= run.to
            });
            let passed: Vec<String> = passed.map(|(number, _)| format!("({number})")).collect();
            let separator = if passed.is_empty() { "" } else { ": " };
            writeln!(f, "{separator}{}", passed.join(" "))?;
        }
        self.notes
            .iter()
            .try_for_each(|note| writeln!(f, "  note: {note}"))?;
        again(f, self.count)
    }
}

/// Of a longer schedule the end is shown, which is where it differs from the run.
const LONGEST: usize = 32;

/// The line that says how often, and the empty line after a finding.
fn again(f: &mut fmt::Formatter<'_>, count: u64) -> fmt::Result {
    if count > 1 {
        writeln!(f, "  found {count} times, with other threads and objects")?;
    }
    writeln!(f)
}

impl fmt::Display for ForecastAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread `{}` {}", self.strand, self.does)?;
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        write!(f, " (event {})", self.position)?;
        match &self.block {
            Some(block) if !block.name.is_empty() => {
                write!(f, ", in transaction `{}`", block.name)?
            }
            Some(_) => write!(f, ", in a transaction")?,
            None => {}
        }
        for (number, held) in self.locks.iter().enumerate() {
            let before = if number == 0 { ", holding " } else { ", " };
            let shared = if held.shared { " for reading" } else { "" };
            write!(f, "{before}{}{shared}", held.lock.label())?;
        }
        Ok(())
    }
}

impl fmt::Display for ForecastDeadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "potential deadlock, not observed: {} threads may wait for each other",
            self.waits.len()
        )?;
        for (number, wait) in (1..).zip(&self.waits) {
            writeln!(f, "  ({number}) {}", wait.held)?;
            writeln!(f, "      then {}", wait.wanted)?;
        }
        again(f, self.count)
    }
}

impl fmt::Display for ForecastRace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "race: nothing keeps these two apart")?;
        for (number, access) in (1..).zip(&self.accesses) {
            writeln!(f, "  ({number}) {access}")?;
        }
        again(f, self.count)
    }
}
