//! Predictions as reports.

use crate::check::{Edge, Transaction, Violation};
use crate::predict::{Prediction, Step, Tier};
use crate::report::{self, Extras, Report};
use crate::trace::Names;

/// What the headline says of a prediction that depends on a lock's content.
pub(super) const DEPENDS: &str =
    "may not be atomic under another schedule of this run: what is found under a lock decides";

impl Prediction {
    /// The prediction as a report, for whatever shows reports. `names` are those of its numbers.
    ///
    /// Where its accesses are not a cycle of transactions, as in a hint, the report has no edges.
    pub fn report(&self, names: &dyn Names) -> Report {
        let violation = self.violation();
        let extras = Extras {
            tier: match self.tier {
                Tier::Predicted => report::Tier::Predicted,
                Tier::Potential | Tier::Hint => report::Tier::Potential,
            },
            repeats: self.count.saturating_sub(1),
            schedule: self
                .schedule
                .iter()
                .map(|run| (run.strand, run.to))
                .collect(),
            ..Extras::default()
        };
        let mut report = Report::new(&violation, names, &extras);
        if let Some(read) = &self.depends {
            let known = "is not atomic under another schedule of this run";
            report.message = report.message.replace(known, DEPENDS);
            let object = read
                .object
                .map(|object| report::Object::of(object, names).label());
            let does = read.op.does(object.as_deref().unwrap_or("it"));
            let place = report::Place::of(read.site, names);
            let place = place
                .map(|place| format!(" at {place}"))
                .unwrap_or_default();
            report.explanation += &format!(
                "; a thread of this schedule {does}{place} under a lock and would see another value \
                 than on this run: if it then does something else, the schedule is impossible"
            );
        }
        if violation.edges.is_empty() {
            report.explanation = format!("{}: {}", self.analysis.name(), self.pattern);
        }
        for note in &self.notes {
            report.explanation += &format!("; {note}");
        }
        report
    }

    /// The cycle that the schedule closes. It is in the order of the schedule, and begins and ends
    /// with the transaction that is interrupted.
    fn violation(&self) -> Violation {
        let mut runs: Vec<&[Step]> = self.accesses.chunk_by(in_one_transaction).collect();
        let closed = runs.len() > 1 && in_one_transaction(&runs[0][0], &runs[runs.len() - 1][0]);
        let edge = |pair: &[&[Step]]| Edge {
            from: pair[0][pair[0].len() - 1].access,
            to: pair[1][0].access,
        };
        let edges = if closed {
            runs.windows(2).map(edge).collect()
        } else {
            Vec::new()
        };
        if closed {
            runs.pop();
        }
        Violation {
            event: self.accesses.last().map_or(0, |step| step.access.position),
            transactions: runs.iter().map(|run| transaction(&run[0])).collect(),
            edges,
            blame: 0,
        }
    }
}

fn in_one_transaction(one: &Step, other: &Step) -> bool {
    one.transaction.is_some()
        && one.access.strand == other.access.strand
        && one.transaction == other.transaction
}

fn transaction(step: &Step) -> Transaction {
    step.transaction.clone().unwrap_or(Transaction {
        strand: step.access.strand,
        block: None,
        begin: None,
        site: step.access.site,
    })
}
