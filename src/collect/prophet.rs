//! Prediction in process: one for each family, from its first event to its end.

use crate::check::Lowering;
use crate::predict::{AnalysisKind, Forecast, Predictor};
use crate::trace::{Event, Names, Op, Semantics};

/// Feeds a family's events to the predictor.
///
/// When the first strand has joined all others, everything so far comes before everything that follows, so nothing can be predicted
/// across that point: the forecast is made there, and the next one begins.
pub(super) struct Prophet {
    lowering: Lowering,
    predictor: Predictor,
    /// Strands forked and not joined.
    unjoined: u64,
    events: u64,
}

impl Prophet {
    pub(super) fn new(semantics: Semantics) -> Self {
        Self {
            lowering: Lowering::new(semantics),
            predictor: Predictor::new(&AnalysisKind::ALL),
            unjoined: 0,
            events: 0,
        }
    }

    pub(super) fn step(&mut self, event: Event, position: u64, names: &dyn Names) {
        match event.op {
            Op::Fork => self.unjoined += 1,
            Op::Join => self.unjoined = self.unjoined.saturating_sub(1),
            _ => {}
        }
        self.events += 1;
        let predictor = &mut self.predictor;
        self.lowering
            .lower(event, &mut |event| predictor.step(event, position, names));
    }

    /// Whether what follows comes after all that was.
    pub(super) fn is_at_rest(&self) -> bool {
        self.unjoined == 0
    }

    /// What other schedules of these events would show, if anything.
    pub(super) fn foretell(self, names: &dyn Names) -> Option<Forecast> {
        if self.events == 0 {
            return None;
        }
        let forecast = Forecast::new(&self.predictor.finish(), names);
        (!forecast.is_empty()).then_some(forecast)
    }
}

impl std::fmt::Debug for Prophet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prophet")
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}
