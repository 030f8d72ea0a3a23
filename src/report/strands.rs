//! The names of strands in a report.

use std::collections::HashMap;

use crate::trace::{Names, Owner, StrandId};

/// The names of a report's strands, no two of them alike: many threads have no name, others share
/// one, and numbers have had several owners.
pub(crate) struct StrandNames<'a> {
    names: &'a dyn Names,
    /// By number and, for a former owner, the last event that can be its.
    unique: HashMap<(StrandId, Option<u64>), String>,
}

impl<'a> StrandNames<'a> {
    /// Names the strands that had these numbers at these events.
    pub(crate) fn new(
        names: &'a dyn Names,
        events: impl IntoIterator<Item = (StrandId, u64)>,
    ) -> StrandNames<'a> {
        let mut unique = HashMap::new();
        for (id, position) in events {
            match names.owner_of_strand(id, position) {
                Owner::Present => unique
                    .entry((id, None))
                    .or_insert_with(|| names.strand(id).name),
                Owner::Former { until, info } => {
                    unique.entry((id, Some(until))).or_insert(info.name)
                }
                Owner::Forgotten => unique.entry((id, Some(0))).or_default(),
            };
        }
        let mut owners: HashMap<String, usize> = HashMap::new();
        for name in unique.values() {
            *owners.entry(name.clone()).or_default() += 1;
        }
        for ((id, until), name) in &mut unique {
            if name.is_empty() || owners[name] > 1 {
                let space = if name.is_empty() { "" } else { " " };
                *name += &format!("{space}#{}", id.0);
                match until {
                    None => {}
                    Some(0) => *name += " (an earlier one)",
                    Some(until) => *name += &format!(" (until event {until})"),
                }
            }
        }
        StrandNames { names, unique }
    }

    /// The strand that had the number at the event.
    pub(crate) fn name(&self, id: StrandId, position: u64) -> String {
        let until = match self.names.owner_of_strand(id, position) {
            Owner::Present => None,
            Owner::Former { until, .. } => Some(until),
            Owner::Forgotten => Some(0),
        };
        let name = self.unique.get(&(id, until)).cloned();
        name.unwrap_or_else(|| format!("#{}", id.0))
    }
}
