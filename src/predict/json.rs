//! Forecasts as JSON.

use super::{
    AnalysisKind, Forecast, ForecastAccess, ForecastDeadlock, ForecastLock, ForecastRace,
    ForecastRun, ForecastViolation, ForecastWait, Tier,
};
use crate::json::{ToJson, object, to_string};

impl Forecast {
    /// The forecast as one JSON object, without a line's end. What is absent is not known.
    pub fn json(&self) -> String {
        to_string(self)
    }
}

impl ToJson for Forecast {
    fn write(&self, out: &mut String) {
        object(
            out,
            &[
                ("schema", &self.schema),
                ("violations", &self.violations),
                ("deadlocks", &self.deadlocks),
                ("races", &self.races),
                ("notes", &self.notes),
            ],
        );
    }
}

impl ToJson for ForecastViolation {
    fn write(&self, out: &mut String) {
        object(
            out,
            &[
                ("analysis", &self.analysis),
                ("tier", &self.tier),
                ("pattern", &self.pattern),
                ("accesses", &self.accesses),
                ("schedule", &self.schedule),
                ("notes", &self.notes),
                ("count", &self.count),
            ],
        );
    }
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

impl ToJson for ForecastAccess {
    fn write(&self, out: &mut String) {
        object(
            out,
            &[
                ("position", &self.position),
                ("op", &self.op),
                ("does", &self.does),
                ("object", &self.object),
                ("strand", &self.strand),
                ("block", &self.block),
                ("place", &self.place),
                ("locks", &self.locks),
            ],
        );
    }
}

impl ToJson for ForecastLock {
    fn write(&self, out: &mut String) {
        object(out, &[("lock", &self.lock), ("shared", &self.shared)]);
    }
}

impl ToJson for ForecastRun {
    fn write(&self, out: &mut String) {
        object(out, &[("strand", &self.strand), ("to", &self.to)]);
    }
}

impl ToJson for ForecastRace {
    fn write(&self, out: &mut String) {
        object(out, &[("accesses", &self.accesses), ("count", &self.count)]);
    }
}

impl ToJson for ForecastDeadlock {
    fn write(&self, out: &mut String) {
        object(out, &[("waits", &self.waits), ("count", &self.count)]);
    }
}

impl ToJson for ForecastWait {
    fn write(&self, out: &mut String) {
        object(out, &[("held", &self.held), ("wanted", &self.wanted)]);
    }
}
