//! From recorded events to predictions, in process and from a file alike.

use super::{AnalysisKind, Options, Predictions, Predictor};
use crate::check::{Lowering, Retries};
use crate::trace::{Event, Names, Semantics, Then};

/// Takes recorded events, and gives the predictor what counts under the semantics: what the checker
/// sees, and which exchanges succeeded.
///
/// Under `rust`, reads bind predicted schedules (see [`Reads`](super::Reads)). `paper` has the
/// papers' assumption that they do not.
pub struct Feed {
    /// Under `rust`.
    retries: Option<Retries<u64>>,
    lowering: Lowering,
    predictor: Predictor,
}

impl Feed {
    /// These analyses of a trace that is read under this semantics.
    pub fn new(semantics: Semantics, kinds: &[AnalysisKind], options: impl Into<Options>) -> Feed {
        let predictor = Predictor::with_rules(kinds, options);
        let (retries, predictor) = match semantics {
            Semantics::Rust => (
                Some(Retries::new().with_exchanges()),
                predictor.with_reads(),
            ),
            Semantics::Paper => (None, predictor),
        };
        Feed {
            retries,
            lowering: Lowering::new(semantics),
            predictor,
        }
    }

    /// Takes the next event of a well-formed trace. `names` are those at the event.
    #[inline]
    pub fn step(&mut self, event: Event, position: u64, names: &dyn Names) {
        let (lowering, predictor) = (&mut self.lowering, &mut self.predictor);
        let Some(retries) = &mut self.retries else {
            return lowering.lower(event, &mut |event| predictor.step(event, position, names));
        };
        let now = position;
        predictor.note(event, position);
        retries.take(event, position, &mut |event, position| {
            let then = Then { names, position };
            let names = if position == now { names } else { &then };
            lowering.lower(event, &mut |event| predictor.step(event, position, names));
        });
    }

    /// Takes the next events of a well-formed trace, the first of them at this position: the same
    /// as [`step`](Self::step) on each, in less time.
    pub fn steps(&mut self, mut events: &[Event], mut position: u64, names: &dyn Names) {
        while let Some(&event) = events.first() {
            // Under `paper`, reads and writes stand for themselves.
            let taken = match self.retries {
                None => self.predictor.plain_accesses(events, position),
                Some(_) => 0,
            };
            if taken == 0 {
                self.step(event, position, names);
            }
            let taken = taken.max(1);
            events = &events[taken..];
            position += taken as u64;
        }
    }

    /// There are no more events: what they predict, with numbers for names. `names` are those at
    /// the end.
    pub fn predictions(mut self, names: &dyn Names) -> Predictions {
        let (lowering, predictor) = (&mut self.lowering, &mut self.predictor);
        if let Some(retries) = &mut self.retries {
            retries.flush_all(&mut |event, position| {
                let then = Then { names, position };
                lowering.lower(event, &mut |event| predictor.step(event, position, &then));
            });
        }
        self.predictor.finish()
    }
}
