//! From a violation to its report: every number becomes a name.

use std::collections::HashMap;

use super::pattern::Pattern;
use super::window::{self, Slice, Survey};
use super::{
    Access, Block, Edge, Extras, Frame, Object, Place, Report, SCHEMA, StrandNames, Tier,
    Transaction, schedule, words,
};
use crate::check::{self, Violation};
use crate::trace::{Names, ObjectId, Op, Owner};

impl Report {
    /// Resolves a violation. Reads no file; the names are asked for what the violation and the
    /// window mention.
    pub fn new(violation: &Violation, names: &dyn Names, extras: &Extras<'_>) -> Report {
        let survey = extras.window.map(window::Window::survey);
        let resolver = Resolver {
            violation,
            names,
            extras,
            survey: survey.as_ref(),
            strands: strands(violation, names, extras, survey.as_ref()),
            found: accesses(violation, extras.tier),
        };
        let (accesses, objects) = resolver.accesses();
        let mut report = Report {
            schema: SCHEMA,
            tier: extras.tier,
            message: String::new(),
            pattern: Pattern::Unknown,
            explanation: String::new(),
            chain: Vec::new(),
            schedule: resolver.schedule(&accesses),
            help: Vec::new(),
            event: violation.event,
            blame: violation
                .blame
                .min(violation.transactions.len().saturating_sub(1)),
            transactions: resolver.transactions(),
            edges: resolver.edges(),
            accesses,
            objects,
            test: extras.test.clone(),
            repeats: extras.repeats,
            excerpts: Vec::new(),
            window: resolver.window(),
        };
        report.pattern = Pattern::of(&report);
        words::tell(&mut report);
        report
    }
}

impl Report {
    /// Resolves a run that was cancelled half-way: the run and a complete one, with an edge between
    /// the last write that stays and the first that is missing, which is no reason for an order.
    pub(crate) fn cancelled(
        violation: &Violation,
        names: &dyn Names,
        extras: &Extras<'_>,
    ) -> Report {
        let mut report = Report::new(violation, names, extras);
        let ends = report.edges.first().copied();
        report.edges.clear();
        report.chain.clear();
        report.pattern = Pattern::Cancelled;
        if let Some(Edge { from, to }) = ends {
            words::tell_cancelled(&mut report, from, to);
        }
        report
    }
}

/// An event of a transaction.
fn event_of(violation: &Violation, transaction: usize) -> u64 {
    let leaves = violation
        .edges
        .get(transaction)
        .map(|edge| edge.from.position);
    let begin = violation.transactions[transaction].begin;
    begin.or(leaves).unwrap_or(violation.event)
}

fn strands<'a>(
    violation: &Violation,
    names: &'a dyn Names,
    extras: &Extras<'_>,
    survey: Option<&Survey<'_>>,
) -> StrandNames<'a> {
    let accesses = violation.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let accesses = accesses.map(|access| (access.strand, access.position));
    let transactions = violation.transactions.iter().enumerate();
    let transactions = transactions.map(|(i, it)| (it.strand, event_of(violation, i)));
    let window = survey.into_iter().flat_map(|survey| survey.strands.clone());
    let schedule = extras.schedule.iter().copied();
    let events = accesses.chain(transactions).chain(window).chain(schedule);
    StrandNames::new(names, events)
}

/// An access of a violation, and the index of its transaction.
type Found = (check::Access, usize);

/// The two accesses of each edge, each with its transaction.
fn ends(violation: &Violation) -> impl Iterator<Item = [Found; 2]> {
    let count = violation.transactions.len().max(1);
    let edges = violation.edges.iter().enumerate();
    edges.map(move |(i, edge)| [(edge.from, i), (edge.to, (i + 1) % count)])
}

fn is_same((a, of_a): &Found, (b, of_b): &Found) -> bool {
    a.position == b.position && of_a == of_b
}

/// The accesses in the order of the report. An event can stand in two edges; it is one access.
fn accesses(violation: &Violation, tier: Tier) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for end in ends(violation).flatten() {
        if !found.iter().any(|other| is_same(other, &end)) {
            found.push(end);
        }
    }
    // A prediction's edges are in the order of its schedule.
    if tier == Tier::Observed {
        found.sort_by_key(|(access, _)| access.position);
    }
    found
}

struct Resolver<'a> {
    violation: &'a Violation,
    names: &'a dyn Names,
    extras: &'a Extras<'a>,
    survey: Option<&'a Survey<'a>>,
    strands: StrandNames<'a>,
    found: Vec<Found>,
}

impl Resolver<'_> {
    fn schedule(&self, accesses: &[Access]) -> Vec<String> {
        let runs = self.extras.schedule.iter();
        let runs = runs.map(|&(strand, to)| (self.strands.name(strand, to), to));
        let runs: Vec<(String, u64)> = runs.collect();
        let runs: Vec<_> = runs.iter().map(|(strand, to)| (&**strand, *to)).collect();
        let accesses = accesses.iter().map(|it| (&*it.strand, it.position));
        schedule::lines(&runs, &accesses.collect::<Vec<_>>())
    }

    fn transactions(&self) -> Vec<Transaction> {
        let transactions = self.violation.transactions.iter().enumerate();
        transactions
            .map(|(i, transaction)| Transaction {
                block: transaction.block.map(|id| Block::of(id, self.names)),
                strand: self
                    .strands
                    .name(transaction.strand, event_of(self.violation, i)),
                begin: transaction.begin,
                place: Place::of(transaction.site, self.names),
                panicked: self.extras.panicked.contains(&i),
            })
            .collect()
    }

    fn edges(&self) -> Vec<Edge> {
        let number = |end: &Found| {
            let at = self.found.iter().position(|other| is_same(other, end));
            1 + at.unwrap_or(0)
        };
        ends(self.violation)
            .map(|[from, to]| Edge {
                from: number(&from),
                to: number(&to),
            })
            .collect()
    }

    fn accesses(&self) -> (Vec<Access>, Vec<Object>) {
        let mut objects: Vec<Object> = Vec::new();
        // By number and, for a former owner, the last event that can be its; 0 where it is not
        // known.
        let mut indices: HashMap<(ObjectId, Option<u64>), usize> = HashMap::new();
        let mut index = |id, op, position| {
            let (until, object) = self.object(id, op, position);
            *indices.entry((id, until)).or_insert_with(|| {
                objects.push(object);
                objects.len() - 1
            })
        };
        let accesses = self.found.iter().enumerate();
        let accesses = accesses
            .map(|(i, (access, transaction))| Access {
                number: i + 1,
                position: access.position,
                transaction: *transaction,
                strand: self.strands.name(access.strand, access.position),
                op: access.op,
                object: access
                    .object
                    .map(|id| index(id, access.op, access.position)),
                place: Place::of(access.site, self.names),
                backtrace: self.backtrace(access.position),
            })
            .collect();
        (accesses, objects)
    }

    fn object(&self, id: ObjectId, op: Op, position: u64) -> (Option<u64>, Object) {
        let is_recycled = || {
            self.survey
                .is_some_and(|survey| survey.was_recycled(id, position))
        };
        match self.names.owner_of_object(id, position) {
            Owner::Former { until, info } => (Some(until), Object::from_info(info, self.names)),
            Owner::Present if !is_recycled() => (None, Object::of(id, self.names)),
            _ => (Some(0), Object::gone(op)),
        }
    }

    fn backtrace(&self, position: u64) -> Vec<Frame> {
        let mut stacks = self.extras.backtraces.iter();
        let stack = stacks.find(|(of, _)| *of == position);
        let frames = stack.into_iter().flat_map(|(_, frames)| frames);
        frames.filter(|frame| frame.is_users()).cloned().collect()
    }

    fn window(&self) -> Option<Slice> {
        let limit = match self.extras.events {
            0 => window::EVENTS_IN_A_REPORT,
            events => events,
        };
        let accesses = self.found.iter().map(|(access, _)| access.position);
        let transactions = self.violation.transactions.iter();
        let begins = transactions.filter_map(|transaction| transaction.begin);
        let cycle: Vec<u64> = accesses
            .chain(begins)
            .chain([self.violation.event])
            .collect();
        let survey = self.survey?;
        Some(survey.slice(self.names, &self.strands, &cycle, limit))
    }
}
