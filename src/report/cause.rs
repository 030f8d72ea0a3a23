//! Reports with one cause: a block that is not atomic shows it at many pairs of lines, and whoever
//! mends it wants to read of it once.
//!
//! The cause of a violation is taken to be the block to blame, the blocks it met (or the places of
//! single operations), and the classes of the objects. A guess: two bugs between the same two
//! blocks, on objects of the same types, are told as one until one of them is mended.

use std::collections::{BTreeSet, HashMap};

use super::{Access, Block, Object, Place, Report};

/// Reports with one cause.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The first, which is told.
    pub report: &'a Report,
    /// The others, which are counted.
    pub others: Vec<&'a Report>,
}

impl Group<'_> {
    /// How often it happened.
    pub fn count(&self) -> u64 {
        let others = self.others.iter().map(|report| report.repeats + 1);
        self.report.repeats + 1 + others.sum::<u64>()
    }
}

/// What is one cause to a user, where it can be compared.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cause {
    tier: &'static str,
    blamed: Option<Block>,
    met: BTreeSet<String>,
    objects: BTreeSet<String>,
}

/// Reports by their causes, each with its first, in the order of these.
pub fn groups<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known = HashMap::new();
    for report in reports {
        let next = groups.len();
        match *known.entry(Cause::of(report)).or_insert(next) {
            at if at < next => groups[at].others.push(report),
            _ => groups.push(Group {
                report,
                others: Vec::new(),
            }),
        }
    }
    groups
}

impl Cause {
    pub(crate) fn of(report: &Report) -> Cause {
        let block = |block: &Block| match &block.place {
            Some(place) => format!("{} {place}", block.name),
            None => block.name.clone(),
        };
        let places = |at: usize| {
            let accesses = report
                .accesses
                .iter()
                .filter(move |it| it.transaction == at);
            accesses.filter_map(|access| access.place.as_ref().map(Place::to_string))
        };
        let mut met = BTreeSet::new();
        for (at, transaction) in report.transactions.iter().enumerate() {
            match &transaction.block {
                _ if at == report.blame => {}
                Some(its) => drop(met.insert(block(its))),
                None => met.extend(places(at)),
            }
        }
        Cause {
            tier: report.tier.name(),
            blamed: report.blamed().and_then(|blamed| blamed.block.clone()),
            met,
            objects: report.objects.iter().map(class).collect(),
        }
    }
}

/// What objects of one kind have in common.
fn class(object: &Object) -> String {
    let name = object.type_name.as_ref().or(object.name.as_ref());
    name.cloned()
        .unwrap_or_else(|| format!("{:?}", object.kind))
}

/// Where the blamed transaction was left and entered again, which tells reports with one cause from
/// each other.
pub(crate) fn between(report: &Report) -> String {
    let count = report.edges.len().max(1);
    let edge = |at: usize| report.edges.get(at % count);
    let left = edge(report.blame).and_then(|edge| report.access(edge.from));
    let entered = edge(report.blame + count - 1).and_then(|edge| report.access(edge.to));
    let place = |access: &Access| match &access.place {
        Some(place) => place.to_string(),
        None => format!("event {}", access.position),
    };
    match (left.map(place), entered.map(place)) {
        (Some(left), Some(entered)) => format!("between {left} and {entered}"),
        (Some(place), None) | (None, Some(place)) => format!("at {place}"),
        (None, None) => format!("at event {}", report.event),
    }
}
