//! All analyses at once, fed with one trace.

use super::blocks::{Blocks, Bounds};
use super::deadlock::Deadlocks;
use super::hand_over::{self, HandOvers};
use super::minimal::Minimal;
use super::reduction::{Reduction, Rules};
use super::{
    Analysis, AnalysisKind, Context, Directions, Ledger, Outcome, Part, Prediction, Reads,
    Resolved, is_access, likeness,
};
use crate::trace::{Event, Names, ObjectId, Op};
use rustc_hash::FxHashMap;

/// Takes a lowered trace event by event, and says at the end what other schedules of it would show.
///
/// ```
/// use aerodrome::predict::{AnalysisKind, Predictor};
/// use aerodrome::trace::{Event, Op, SiteId, StrandId, Tables};
///
/// // One strand reads and writes in a transaction; then, in this run, another writes.
/// let transaction = [(0, Op::Begin, 1), (0, Op::Read, 5), (0, Op::Write, 5), (0, Op::End, 1)];
/// let run = transaction.into_iter().chain([(1, Op::Write, 5)]);
/// let mut predictor = Predictor::new(&[AnalysisKind::Minimal]);
/// for ((strand, op, target), position) in run.zip(1..) {
///     let event = Event { strand: StrandId(strand), target, site: SiteId::NONE, op };
///     predictor.step(event, position, &Tables::default());
/// }
/// let prediction = &predictor.finish().outcome.predictions[0];
/// assert_eq!(prediction.pattern, "read, write, write");
/// let positions: Vec<u64> = prediction.accesses.iter().map(|step| step.access.position).collect();
/// assert_eq!(positions, [2, 5, 3]);
/// ```
pub struct Predictor {
    ledger: Ledger,
    hand_overs: HandOvers,
    context: Context,
    analyses: Vec<Box<dyn Analysis + Send>>,
    /// So many accesses are shown to an analysis at a time.
    longest: usize,
    is_brief: bool,
}

/// So many events are analysed at a time.
const BATCH: usize = 64;

/// So many events of schedules are given to whoever confirms predictions.
const DIRECTIONS: usize = 4 << 20;

/// How analyses go about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What reduction leaves out.
    pub rules: Rules,
    /// All minimal violations, one for each three sites, and not one for each lock state.
    pub all: bool,
    /// What a test is told: no cycle of more than three transactions, of reduction races alone, and
    /// of these what may be a data race. So it is done within a time that nobody notices.
    pub brief: bool,
}

impl Options {
    /// See [`brief`](Self::brief).
    pub fn brief() -> Options {
        Options {
            brief: true,
            ..Options::default()
        }
    }
}

impl From<Rules> for Options {
    fn from(rules: Rules) -> Options {
        Options {
            rules,
            ..Options::default()
        }
    }
}

/// What a [`Predictor`] found, and what its numbers mean.
pub struct Predictions {
    /// The findings. Their strands and objects have the ledger's numbers; positions are the
    /// trace's.
    pub outcome: Outcome,
    /// The numbers.
    pub ledger: Ledger,
    /// By [`Options::brief`].
    pub(crate) is_brief: bool,
    /// Where the findings come from. To free it takes time, which a process that ends can save.
    _tables: (Vec<Box<dyn Analysis + Send>>, Context),
}

impl Predictions {
    /// Names for the outcome's numbers, given the trace's names at its end.
    pub fn names<'a>(&'a self, names: &'a dyn Names) -> Resolved<'a> {
        self.ledger.resolve(names)
    }
}

impl Predictor {
    /// With these analyses, each once.
    pub fn new(kinds: &[AnalysisKind]) -> Predictor {
        Predictor::with_rules(kinds, Rules::default())
    }

    /// The same, reduction by these rules.
    pub fn with_rules(kinds: &[AnalysisKind], options: impl Into<Options>) -> Predictor {
        let Options { rules, all, brief } = options.into();
        let asks = |kind| kinds.contains(&kind);
        let (minimal, blocks) = (asks(AnalysisKind::Minimal), asks(AnalysisKind::Blocks));
        let mut analyses: Vec<Box<dyn Analysis + Send>> = Vec::new();
        // Blocks of one variable are what minimal finds.
        if minimal || blocks {
            analyses.push(Box::new(Minimal::told_by(minimal, blocks).with_all(all)));
        }
        if blocks {
            let bounds = if brief {
                Bounds::brief()
            } else {
                Bounds::default()
            };
            analyses.push(Box::new(Blocks::with(bounds)));
        }
        if asks(AnalysisKind::Reduction) {
            analyses.push(Box::new(Reduction::by(rules)));
        }
        if asks(AnalysisKind::Deadlock) {
            analyses.push(Box::new(Deadlocks::new()));
        }
        Predictor {
            ledger: Ledger::default(),
            hand_overs: HandOvers::default(),
            context: Context::default(),
            analyses,
            // Reduction asks at an access how the object was used up to there.
            longest: if asks(AnalysisKind::Reduction) {
                1
            } else {
                BATCH
            },
            is_brief: brief,
        }
    }

    /// A schedule is predicted only if its reads can be believed: see [`Reads`](super::Reads). To
    /// be called before the first event.
    #[must_use]
    pub fn with_reads(mut self) -> Predictor {
        self.context.reads.bind();
        self
    }

    /// Takes the next event as it was recorded, before the [rules](crate::check::Retries) of
    /// waiting and retrying: what led only to looking again says what a look decides.
    #[inline]
    pub fn note(&mut self, recorded: Event, position: u64) {
        if !matches!(recorded.op, Op::Reach | Op::Leave) {
            self.context.reads.note(recorded, position);
        }
    }

    /// Takes the next event. `names` are those at the event, for what dies with it.
    #[inline]
    pub fn step(&mut self, recorded: Event, position: u64, names: &dyn Names) {
        let Some((strand, target)) = self.ledger.renumber(recorded, names) else {
            return;
        };
        let (op, target) = match recorded.op {
            Op::CompareExchangeFailed | Op::Vain(_) if !self.context.reads.is_on() => {
                (Op::Read, target)
            }
            Op::Reach | Op::Leave => {
                let new = || self.ledger.new_object();
                let counter = ObjectId(target);
                let (op, zero) = self.context.zeros.meet(recorded.op, counter, new);
                self.context.reads.add_zero(zero);
                (op, zero.0)
            }
            op => (op, target),
        };
        // Made of its parts for whoever takes it: one event for all would be in memory, and to copy
        // it as a whole would have to wait until all of its parts are stored.
        let event = || Event {
            strand,
            target,
            op,
            site: recorded.site,
        };
        let what = || {
            let object = names.object(recorded.object());
            (object.kind, object.type_name)
        };
        self.context.reads.classify(event(), what);
        if let Some(held) = self.hand_overs.held_by_another(event()) {
            let message = self.ledger.new_object();
            self.context.skeleton.carry(message, held.1);
            self.hand_overs.hand_over(held, message, event(), position);
        }
        self.hand_overs.push(event(), position);
        if self.hand_overs.ready >= self.hand_overs.analysed + BATCH {
            self.analyse_ready();
        }
    }

    /// Takes events as long as they are plain reads and writes of what nobody else holds, where
    /// reads do not bind. Answers how many, at most [`BATCH`].
    pub(super) fn plain_accesses(&mut self, events: &[Event], position: u64) -> usize {
        let (ledger, hand_overs) = (&mut self.ledger, &mut self.hand_overs);
        let before = hand_overs.window.len();
        for (recorded, position) in events[..events.len().min(BATCH)].iter().zip(position..) {
            if !matches!(recorded.op, Op::Read | Op::Write) {
                break;
            }
            let (strand, target) = ledger.access(recorded);
            let event = Event {
                strand,
                target: target.0,
                ..*recorded
            };
            if hand_overs.held_by_another(event).is_some() {
                break;
            }
            hand_overs.window.push((event, position));
        }
        let taken = hand_overs.window.len() - before;
        hand_overs.update_ready();
        if hand_overs.ready >= hand_overs.analysed + BATCH {
            self.analyse_ready();
        }
        taken
    }

    #[inline(never)]
    fn analyse_ready(&mut self) {
        let window = std::mem::take(&mut self.hand_overs.window);
        let ready = self.hand_overs.analysed..self.hand_overs.ready;
        for batch in window[ready].chunks(BATCH) {
            self.analyses.iter_mut().for_each(|it| it.fetch(batch));
            let mut rest = batch;
            while let Some(&(first, position)) = rest.first() {
                let is_next = |event: &Event| is_access(event.op) && event.strand == first.strand;
                let next = rest.iter().take(self.longest);
                let count = next.take_while(|(event, _)| is_next(event)).count();
                if count == 0 {
                    self.analyse(first, position);
                } else {
                    self.analyse_accesses(&rest[..count]);
                }
                rest = &rest[count.max(1)..];
            }
        }
        self.hand_overs.window = window;
        self.hand_overs.set_analysed();
    }

    /// Accesses of one strand. They change nothing of what analyses ask for, but for how objects
    /// are used.
    fn analyse_accesses(&mut self, run: &[(Event, u64)]) {
        self.context.reads.accesses(run);
        self.context.accesses(run);
        for analysis in &mut self.analyses {
            analysis.accesses(run, &mut self.context);
        }
    }

    fn analyse(&mut self, mut event: Event, position: u64) {
        // A lock that is handed over is no step of the program.
        if self.context.skeleton.carried(event).is_none() {
            self.context.reads.step(event, position);
        }
        match event.op {
            Op::CompareExchange => event.op = Op::ReadWrite,
            Op::Vain(_) => event.op = Op::Read,
            // What an exchange answers for: no access.
            Op::CompareExchangeFailed => return,
            Op::Notify => return self.context.notify(event.strand),
            _ => {}
        }
        self.context.step(event, position);
        for analysis in &mut self.analyses {
            analysis.step(event, position, &mut self.context);
        }
    }

    /// There are no more events: what was found?
    pub fn finish(mut self) -> Predictions {
        self.hand_overs.ready = self.hand_overs.window.len();
        self.analyse_ready();
        let mut outcome = Outcome::default();
        for analysis in &mut self.analyses {
            outcome.extend(analysis.finish(&mut self.context));
        }
        if self.is_brief {
            let is_hint = |found: &Prediction| found.analysis == AnalysisKind::Reduction;
            outcome.predictions.retain(|found| !is_hint(found));
        }
        for step in outcome
            .predictions
            .iter_mut()
            .flat_map(|it| &mut it.accesses)
        {
            self.context.zeros.name(&mut step.access);
        }
        outcome.predictions = told_once(outcome.predictions);
        let mut room = DIRECTIONS;
        for found in &mut outcome.predictions {
            found.directions = Directions::of(found, &self.context, &mut room);
        }
        if self.context.reads.is_incomplete() {
            outcome.notes.push(format!(
                "more than {} accesses, or too many to look at for each schedule: \
                 what was not checked is a hint",
                Reads::ROOM
            ));
        }
        if self.hand_overs.is_late() {
            outcome.notes.push(format!(
                "a guard went to another thread more than {} events after its last use: \
                 may be incomplete",
                hand_over::WINDOW
            ));
        }
        Predictions {
            outcome,
            ledger: self.ledger,
            is_brief: self.is_brief,
            _tables: (self.analyses, self.context),
        }
    }
}

/// What a reader would call the same is told once, by the surest of those who found it: the same
/// operations of the same blocks at the same places in the source, whatever the strands and the
/// order.
fn told_once(mut predictions: Vec<Prediction>) -> Vec<Prediction> {
    // Stable: of the equally sure, the first analysis tells it.
    predictions.sort_by_key(Prediction::doubt);
    let mut known: FxHashMap<(bool, Vec<Part>), usize> = FxHashMap::default();
    let mut told: Vec<Prediction> = Vec::new();
    for found in predictions {
        let mut parts = likeness(found.accesses.iter());
        parts.dedup();
        let is_hint = found.analysis == AnalysisKind::Reduction;
        let at = *known.entry((is_hint, parts)).or_insert(told.len());
        match told.get_mut(at) {
            Some(same) if is_hint => same.count += found.count,
            Some(same) => same.count = same.count.max(found.count),
            None => told.push(found),
        }
    }
    told
}
