//! Forecasts as JSON.

use super::{
    Forecast, ForecastAccess, ForecastDeadlock, ForecastLock, ForecastRace, ForecastRun,
    ForecastViolation, ForecastWait,
};
use crate::json::{ToJson, objects, to_string};
use crate::predict::{AnalysisKind, Tier};

impl Forecast {
    /// The forecast as one JSON object, without a line's end. What is absent is not known.
    pub fn json(&self) -> String {
        to_string(self)
    }
}

objects! {
    Forecast { schema, violations, deadlocks, races, notes }
    ForecastViolation { analysis, tier, pattern, accesses, depends, schedule, notes, count }
    ForecastAccess { position, op, does, object, strand, block, place, locks }
    ForecastLock { lock, shared }
    ForecastRun { strand, to }
    ForecastRace { accesses, count }
    ForecastDeadlock { waits, count }
    ForecastWait { held, wanted }
}

impl ToJson for AnalysisKind {
    fn write(&self, out: &mut String) {
        self.name().write(out);
    }
}

impl ToJson for Tier {
    fn write(&self, out: &mut String) {
        let name = match self {
            Tier::Predicted => "predicted",
            Tier::Potential => "potential",
            Tier::Hint => "hint",
        };
        name.write(out);
    }
}
