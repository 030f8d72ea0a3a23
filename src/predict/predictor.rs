//! All analyses at once, fed with one trace.

use super::blocks::Blocks;
use super::deadlock::Deadlocks;
use super::minimal::Minimal;
use super::reduction::{Reduction, Rules};
use super::{Analysis, AnalysisKind, Context, Ledger, Outcome, Resolved};
use crate::trace::{Event, Names, Op};

/// Takes a lowered trace event by event, and says at the end what other schedules of it would show.
///
/// ```
/// use aerodrome::predict::{AnalysisKind, Predictor};
/// use aerodrome::trace::{self, Event, Names, Op, SiteId, StrandId};
/// # struct Nameless;
/// # impl Names for Nameless {
/// #     fn strand(&self, id: StrandId) -> trace::StrandInfo { trace::StrandInfo { name: format!("{}", id.0) } }
/// #     fn object(&self, _: trace::ObjectId) -> trace::ObjectInfo {
/// #         let kind = trace::ObjectKind::Variable;
/// #         trace::ObjectInfo { kind, name: None, type_name: None, created: SiteId::NONE }
/// #     }
/// #     fn kind(&self, _: trace::ObjectId) -> trace::ObjectKind { trace::ObjectKind::Variable }
/// #     fn site(&self, _: SiteId) -> Option<trace::SiteInfo> { None }
/// #     fn block(&self, _: trace::BlockId) -> trace::BlockInfo {
/// #         trace::BlockInfo { name: String::new(), site: SiteId::NONE }
/// #     }
/// # }
/// # let names = Nameless;
/// let event = |strand, op, target| Event { strand: StrandId(strand), target, site: SiteId::NONE, op };
/// // One strand reads and writes in a transaction; then, in this run, another writes.
/// let run = [
///     event(0, Op::Begin, 1),
///     event(0, Op::Read, 5),
///     event(0, Op::Write, 5),
///     event(0, Op::End, 1),
///     event(1, Op::Write, 5),
/// ];
/// let mut predictor = Predictor::new(&[AnalysisKind::Minimal]);
/// for (event, position) in run.into_iter().zip(1..) {
///     predictor.step(event, position, &names);
/// }
/// let predictions = predictor.finish();
/// let prediction = &predictions.outcome.predictions[0];
/// assert_eq!(prediction.pattern, "read, write, write");
/// assert_eq!(prediction.accesses.iter().map(|step| step.access.position).collect::<Vec<_>>(), [2, 5, 3]);
/// ```
pub struct Predictor {
    ledger: Ledger,
    context: Context,
    analyses: Vec<Box<dyn Analysis + Send>>,
}

/// What a [`Predictor`] found, and what its numbers mean.
pub struct Predictions {
    /// The findings. Their strands and objects have the ledger's numbers; positions are the trace's.
    pub outcome: Outcome,
    /// The numbers.
    pub ledger: Ledger,
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
    pub fn with_rules(kinds: &[AnalysisKind], rules: Rules) -> Predictor {
        let analyses = AnalysisKind::ALL
            .into_iter()
            .filter(|kind| kinds.contains(kind))
            .map(|kind| start(kind, rules))
            .collect();
        Predictor {
            ledger: Ledger::default(),
            context: Context::default(),
            analyses,
        }
    }

    /// Takes the next event. `names` are those at the event, for what dies with it.
    #[inline]
    pub fn step(&mut self, event: Event, position: u64, names: &dyn Names) {
        let Some(mut event) = self.ledger.renumber(event, names) else {
            return;
        };
        // A vain update has read, for all that the analyses tell apart.
        if let Op::Vain(_) = event.op {
            event.op = Op::Read;
        }
        self.context.step(event, position);
        for analysis in &mut self.analyses {
            analysis.step(event, position, &mut self.context);
        }
    }

    /// There are no more events: what was found?
    pub fn finish(mut self) -> Predictions {
        let mut outcome = Outcome::default();
        for analysis in self.analyses {
            outcome.extend(analysis.finish(&mut self.context));
        }
        Predictions {
            outcome,
            ledger: self.ledger,
        }
    }
}

fn start(kind: AnalysisKind, rules: Rules) -> Box<dyn Analysis + Send> {
    match kind {
        AnalysisKind::Minimal => Box::new(Minimal::new()),
        AnalysisKind::Deadlock => Box::new(Deadlocks::new()),
        AnalysisKind::Blocks => Box::new(Blocks::new()),
        AnalysisKind::Reduction => Box::new(Reduction::offline().by(rules)),
    }
}
