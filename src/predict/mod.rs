//! Prediction: from one run, what other schedules would show.
//!
//! A [`Predictor`] takes a trace's events one by one, like a [`Checker`](mod@crate::check), and
//! says at the end what schedules of the same events could have done: [`Outcome`]. It assumes what
//! the published analyses assume, that each strand does on the other schedule what it did on this
//! one.
//!
//! What all analyses need is worked out once, in the [`Context`]: which locks a strand holds
//! ([`Locks`]) and what fork, join, signals and messages order ([`Order`]). In the events that an
//! analysis sees, numbers are never given twice:
//! [`Ledger`] renumbers strands and objects, and remembers what the dead ones were called.

pub mod blocks;
mod deadlock;
mod directions;
mod feed;
mod hand_over;
mod locks;
mod minimal;
mod order;
mod predictor;
mod reads;
mod realise;
pub mod reduction;
mod replay;
mod skeleton;
mod zeros;

pub use crate::forecast::{
    Forecast, ForecastAccess, ForecastDeadlock, ForecastLock, ForecastRace, ForecastRun,
    ForecastViolation, ForecastWait,
};
pub use crate::trace::ledger::{Ledger, Resolved};
pub use deadlock::Deadlocks;
pub use directions::{Directions, Occurrence};
pub use feed::Feed;
pub use locks::{Hold, LockState, Locks};
pub use minimal::Minimal;
pub use order::{Order, Period};
pub use predictor::{Options, Predictions, Predictor};
pub use reads::{Belief, Reads};
pub use skeleton::Skeleton;
use zeros::Zeros;

use crate::check::{Access, Transaction};
use crate::dense::Dense;
use crate::trace::by_name::names;
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId, Update};

/// Which analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnalysisKind {
    /// Violations of two strands and one variable (Farzan, Madhusudan, Sorrentino, CAV 2009).
    Minimal,
    /// Violations of any number of transactions and variables (Wang and Stoller, RV 2003 and TSE
    /// 2006).
    Blocks,
    /// Transactions that are not reducible (the same papers), and races.
    Reduction,
    /// Locks taken in a circle.
    Deadlock,
}

names!(AnalysisKind, 4: Minimal = "minimal", Blocks = "blocks",
       Reduction = "reduction", Deadlock = "deadlock");

/// How much a prediction claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Some schedule has it, if control flow does not change; where there is a schedule, it has
    /// been replayed.
    Predicted,
    /// Some schedule may have it.
    Potential,
    /// Worth a look; may well be a false alarm.
    Hint,
}

/// A violation that another schedule of the same events would show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Who says so.
    pub analysis: AnalysisKind,
    /// How sure it is.
    pub tier: Tier,
    /// What it looks like, in words: "write, read, write".
    pub pattern: String,
    /// The accesses that make the violation, in the order in which the schedule has them.
    pub accesses: Vec<Step>,
    /// A schedule that realises it; empty where the analysis gives none.
    pub schedule: Vec<Run>,
    /// A read of a lock's content that would see another value than on this run, and may decide
    /// whether its strand comes to the accesses at all.
    pub depends: Option<Access>,
    /// What confirms it, where reads bind.
    pub directions: Option<Directions>,
    /// What to know about it, such as that the search was cut short.
    pub notes: Vec<String>,
    /// How often the same was found (same blocks, same sites), with other strands and objects.
    pub count: u64,
}

impl Prediction {
    /// The smaller, the surer it is.
    fn doubt(&self) -> (Tier, bool) {
        (self.tier, self.depends.is_some())
    }
}

/// An access of a [`Prediction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The event.
    pub access: Access,
    /// The transaction that it belongs to; nothing for an event outside any block.
    pub transaction: Option<Transaction>,
    /// The locks that its strand holds at it, in the order of acquisition.
    pub held: Vec<Hold>,
}

/// A piece of a schedule: a strand runs from where it is, through all its events up to a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Who.
    pub strand: StrandId,
    /// Up to this position of the recorded trace.
    pub to: u64,
}

impl Run {
    fn new(strand: StrandId, to: u64) -> Run {
        Run { strand, to }
    }
}

/// Two accesses that nothing keeps apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// One access; at least one of the two changes the object.
    pub first: Step,
    /// The other, of another strand.
    pub second: Step,
    /// How often it was found.
    pub count: u64,
}

/// Locks taken in a circle, each by another strand: a schedule may leave all of them waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// `waits[i]` wants the lock that `waits[i + 1]` holds, the last one what the first one holds.
    pub waits: Vec<Wait>,
    /// How often the same sites made such a circle.
    pub count: u64,
}

/// One strand of a [`Deadlock`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What it holds, and where it took it.
    pub held: Access,
    /// What it wants, and where.
    pub wanted: Access,
    /// All that it holds at that moment, in the order of acquisition.
    pub locks: Vec<Hold>,
}

/// What an analysis found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Violations.
    pub predictions: Vec<Prediction>,
    /// Races.
    pub races: Vec<Race>,
    /// Potential deadlocks.
    pub deadlocks: Vec<Deadlock>,
    /// What to know about the whole: "not nested: may be incomplete".
    pub notes: Vec<String>,
}

impl Outcome {
    /// The strands of all findings.
    pub(crate) fn strands(&self) -> impl Iterator<Item = StrandId> {
        let accesses = self.predictions.iter().flat_map(|found| &found.accesses);
        let races = self.races.iter();
        let races = races.flat_map(|race| [&race.first, &race.second]);
        let waits = self.deadlocks.iter().flat_map(|found| &found.waits);
        let runs = self.predictions.iter().flat_map(|found| &found.schedule);
        let steps = accesses.chain(races).map(|step| step.access.strand);
        let waits = waits.map(|wait| wait.held.strand);
        steps.chain(waits).chain(runs.map(|run| run.strand))
    }

    /// Adds another analysis's findings.
    pub fn extend(&mut self, other: Outcome) {
        self.predictions.extend(other.predictions);
        self.races.extend(other.races);
        self.deadlocks.extend(other.deadlocks);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// How a variable has been used so far.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    first: Option<(StrandId, Op)>,
    /// A second strand has touched it.
    has_escaped: bool,
    is_changed: bool,
    /// Not all did the same to it.
    is_mixed: bool,
}

impl Usage {
    #[inline]
    fn note(&mut self, event: Event) {
        let (strand, op) = *self.first.get_or_insert((event.strand, event.op));
        self.has_escaped |= strand != event.strand;
        self.is_mixed |= op != event.op;
        self.is_changed |= event.op != Op::Read;
    }

    /// Does no further access change it?
    #[inline]
    fn is_settled(self) -> bool {
        self.has_escaped & self.is_changed & self.is_mixed
    }

    /// Can an access of it matter to another strand?
    fn is_contended(self) -> bool {
        self.has_escaped && self.is_changed
    }

    /// Does every access commute with everything: by one strand only, or read only, or updated by
    /// one kind only?
    fn is_harmless(self) -> bool {
        let is_updated = matches!(self.first, Some((_, Op::Update(_))));
        !self.is_contended() || is_updated && !self.is_mixed
    }
}

/// What is known at the current event, worked out once for all analyses.
#[derive(Debug, Default)]
pub struct Context {
    /// The locks of each strand, after the event.
    pub locks: Locks,
    /// The order of the strands' periods, after the event.
    pub order: Order,
    /// The lock and order events and the transactions so far, from which schedules are made.
    pub skeleton: Skeleton,
    /// What each access saw, where that binds schedules.
    pub reads: Reads,
    /// The variables whose zero counts.
    zeros: Zeros,
    /// The last event that is no access changed its strand's lock state.
    pub locks_changed: bool,
    /// It began a new period of its strand.
    pub period_changed: bool,
    /// The lock state of its strand before it.
    pub before: LockState,
    transactions: Dense<StrandId, Option<Transaction>>,
    usages: Dense<ObjectId, Usage>,
}

impl Context {
    /// Takes accesses, as [`step`](Self::step) does.
    fn accesses(&mut self, run: &[(Event, u64)]) {
        for &(event, _) in run {
            let usage = self.usages.entry(event.object());
            // Most have been used in every way.
            if !usage.is_settled() {
                usage.note(event);
            }
        }
    }

    /// Takes the next event of a lowered trace whose numbers are never given twice.
    #[inline]
    pub fn step(&mut self, event: Event, position: u64) {
        if is_access(event.op) {
            self.usages.entry(event.object()).note(event);
        } else {
            self.step_other(event, position);
        }
    }

    fn step_other(&mut self, event: Event, position: u64) {
        self.before = self.locks.state(event.strand);
        self.locks_changed = false;
        self.period_changed = false;
        match event.op {
            Op::Begin => {
                *self.transactions.entry(event.strand) = Some(Transaction {
                    strand: event.strand,
                    block: Some(event.block()),
                    begin: Some(position),
                    site: event.site,
                });
            }
            Op::End => {
                *self.transactions.entry(event.strand) = None;
            }
            _ => {
                self.locks_changed = self.locks.step(self.skeleton.lock_event(event), position);
                self.period_changed = self.order.step(event);
            }
        }
        let state = self.locks.state(event.strand);
        self.skeleton.step(event, position, state);
    }

    /// The strand notifies a `Condvar`.
    fn notify(&mut self, strand: StrandId) {
        let held = self.locks.held(self.locks.state(strand)).iter();
        self.reads.notify(strand, held.map(|hold| hold.lock));
    }

    /// How a variable has been used so far.
    fn usage(&self, variable: ObjectId) -> Usage {
        self.usages.get(variable).copied().unwrap_or_default()
    }

    /// The strand's open transaction.
    #[inline]
    pub fn transaction(&self, strand: StrandId) -> Option<&Transaction> {
        self.transactions.get(strand)?.as_ref()
    }
}

/// An analysis: takes the events of a lowered trace (no splits and restarts, no nested blocks, no
/// number given twice), and says at the end what it found.
pub trait Analysis {
    /// These events come next: what they need can be fetched from memory.
    fn fetch(&mut self, _events: &[(Event, u64)]) {}
    /// Takes some accesses of one strand, the next ones of those that were
    /// [fetched](Self::fetch). `now` has taken all of them already.
    fn accesses(&mut self, run: &[(Event, u64)], now: &mut Context) {
        for &(event, position) in run {
            self.step(event, position, now);
        }
    }
    /// Takes the next event. `now` has taken it already.
    fn step(&mut self, event: Event, position: u64, now: &mut Context);
    /// There are no more events.
    fn finish(&mut self, now: &mut Context) -> Outcome;
}

/// The two operations cannot change places: at least one of them changes the object, and they are
/// no updates of one kind.
///
/// ```
/// use aerodrome::{predict::conflict, trace::{Op, Update}};
///
/// assert!(conflict(Op::Read, Op::Write));
/// assert!(!conflict(Op::Read, Op::Read));
/// assert!(!conflict(Op::Update(Update::Add), Op::Update(Update::Add)));
/// assert!(conflict(Op::Update(Update::Add), Op::Update(Update::Or)));
/// assert!(!conflict(Op::Acquire, Op::Write), "only accesses conflict");
/// ```
#[inline]
pub fn conflict(a: Op, b: Op) -> bool {
    is_access(a) && is_access(b) && Class::of(a).conflicts(Class::of(b))
}

/// Accesses that conflict with the same accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Read,
    Change,
    Update(Update),
}

impl Class {
    #[inline]
    fn of(op: Op) -> Class {
        match op {
            Op::Read => Class::Read,
            Op::Update(kind) => Class::Update(kind),
            _ => Class::Change,
        }
    }

    #[inline]
    fn conflicts(self, other: Class) -> bool {
        self != other || self == Class::Change
    }
}

/// Reads or changes an object's content.
#[inline]
pub fn is_access(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::ReadWrite | Op::Update(_))
}

/// Takes, gives back or converts a lock.
#[inline]
fn changes_lock(op: Op) -> bool {
    takes_lock(op) || matches!(op, Op::Release | Op::ReleaseShared | Op::Downgrade)
}

/// Waits until it has a lock.
#[inline]
fn takes_lock(op: Op) -> bool {
    matches!(op, Op::Acquire | Op::AcquireShared | Op::Upgrade)
}

/// What a reader would call the same access: block, operation and site; where there is no site, the
/// object tells accesses apart.
type Part = (Option<BlockId>, Op, SiteId, Option<ObjectId>);

/// The accesses of a finding, as far as they tell it from others, sorted.
fn likeness<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<Part> {
    let part = |step: &Step| {
        let block = step.transaction.as_ref().and_then(|it| it.block);
        let is_nowhere = step.access.site == SiteId::NONE;
        let object = step.access.object.filter(|_| is_nowhere);
        (block, step.access.op, step.access.site, object)
    };
    let mut parts: Vec<Part> = steps.map(part).collect();
    parts.sort_unstable();
    parts
}

/// Locksets tell exactly whether a finding is possible only where there are no deadlocks. Elsewhere
/// what has no schedule is doubtful.
fn doubt(found: &[Prediction], now: &Context) -> Option<String> {
    let is_potential = found.iter().any(|found| found.tier == Tier::Potential);
    let note = "some locks are taken in either order, so that deadlocks are possible; what has no \
                schedule may be a false alarm";
    (is_potential && now.locks.taken_in_either_order()).then(|| note.to_owned())
}

/// The access that an event makes.
pub fn access(event: Event, position: u64) -> Access {
    Access {
        position,
        strand: event.strand,
        op: event.op,
        object: event.its_object(),
        site: event.site,
    }
}

/// The event that made an access.
fn event(access: &Access) -> Event {
    Event {
        strand: access.strand,
        target: access.object.map_or(0, |object| object.0),
        site: access.site,
        op: access.op,
    }
}

/// What an operation does, in a word.
pub fn word(op: Op) -> &'static str {
    match op {
        Op::ReadWrite => "read+write",
        Op::Update(_) => "update",
        Op::AcquireShared => "shared acquire",
        Op::ReleaseShared => "release",
        Op::Recv => "receive",
        _ => op.row().report,
    }
}
