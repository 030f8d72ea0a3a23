//! Cycles of transactions: one variable, two transactions, any number.

use super::Bounds;
use super::log::{Log, Point, Realised};
use super::summary::{Place, Summaries, Summary, disjoint};
use crate::check::{Access, Engine, Exact, Transaction};
use crate::predict::{
    AnalysisKind, Context, Hold, Map, Order, Prediction, Run, Set, Step, Tier, conflict, word,
};
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId};

/// The access of a summary, by index.
type Node = (usize, usize);

/// One conflict of a cycle: the first access comes before the second.
type Hop = (Node, Node);

/// What makes two findings the same: for each access its block, its operation and where it is.
type Key = Vec<(Option<BlockId>, Op, SiteId, Option<ObjectId>)>;

/// What the searches share: bounds, schedules, and the findings.
pub(super) struct Findings<'a> {
    pub(super) log: Option<&'a Log>,
    now: &'a Context,
    pub(super) bounds: Bounds,
    /// Comparisons made so far.
    pub(super) compared: u64,
    pub(super) cut_short: bool,
    pub(super) predictions: Vec<Prediction>,
    known: Map<Key, usize>,
    schedules: u64,
}

/// A member of a cycle, as a step of the report.
#[derive(Clone, Debug)]
struct Member {
    step: Step,
    begin: u64,
}

impl Member {
    fn point(&self) -> Point {
        let access = &self.step.access;
        let event = Event {
            strand: access.strand,
            target: access.object.map_or(0, |object| object.0),
            site: access.site,
            op: access.op,
        };
        Point {
            event,
            position: access.position,
            begin: self.begin,
        }
    }
}

impl<'a> Findings<'a> {
    pub(super) fn new(log: Option<&'a Log>, now: &'a Context, bounds: Bounds) -> Findings<'a> {
        Findings {
            log,
            now,
            bounds,
            compared: 0,
            cut_short: false,
            predictions: Vec::new(),
            known: Map::default(),
            schedules: 0,
        }
    }

    /// Counts a comparison; false when there were enough.
    fn compare(&mut self) -> bool {
        self.compared += 1;
        self.cut_short |= self.compared > self.bounds.comparisons;
        !self.cut_short
    }

    /// Tries to find a schedule for a cycle and reports it. False if there is none.
    fn report(
        &mut self,
        hops: &[(Member, Member)],
        ends: &[(StrandId, u64)],
        pattern: impl FnOnce() -> String,
    ) -> bool {
        let mut members: Vec<&Member> = hops.iter().flat_map(|(a, b)| [a, b]).collect();
        members.sort_by_key(|member| member.step.access.position);
        members.dedup_by_key(|member| member.step.access.position);
        let mut key: Key = members.iter().map(|member| key(&member.step)).collect();
        key.sort_unstable();
        if let Some(&at) = self.known.get(&key) {
            self.predictions[at].count += 1;
            return true;
        }
        let (tier, schedule, order, note) = match self.schedule(hops, ends) {
            Realised::No => return false,
            Realised::Yes(schedule, window) => {
                let order: Vec<u64> = window.iter().map(|&(_, position)| position).collect();
                (Tier::Predicted, schedule, order, None)
            }
            Realised::Unknown => {
                let note = "no schedule was looked for, or none found within the bound: locks and order allow it";
                (
                    Tier::Potential,
                    Vec::<Run>::new(),
                    Vec::new(),
                    Some(note.to_string()),
                )
            }
        };
        let place = |position: u64| order.iter().position(|&p| p == position);
        members.sort_by_key(|member| place(member.step.access.position));
        self.known.insert(key, self.predictions.len());
        self.predictions.push(Prediction {
            analysis: AnalysisKind::Blocks,
            tier,
            pattern: pattern(),
            accesses: members.iter().map(|member| member.step.clone()).collect(),
            schedule,
            notes: note.into_iter().collect(),
            count: 1,
        });
        true
    }

    fn schedule(&mut self, hops: &[(Member, Member)], ends: &[(StrandId, u64)]) -> Realised {
        let Some(log) = self.log else {
            return Realised::Unknown;
        };
        self.schedules += 1;
        if self.schedules > self.bounds.schedules {
            return Realised::Unknown;
        }
        let pairs: Vec<(Point, Point)> = hops.iter().map(|(a, b)| (a.point(), b.point())).collect();
        let realised = log.realise(&pairs, ends, self.bounds.states);
        match &realised {
            // What is claimed has been replayed.
            Realised::Yes(schedule, window) if !self.violates(schedule, window) => {
                Realised::Unknown
            }
            _ => realised,
        }
    }

    /// Does the trace allow the schedule, and does the exact engine see a violation in its window? Outside the window all
    /// transactions have ended.
    fn violates(&self, schedule: &[Run], window: &[(Event, u64)]) -> bool {
        let mut engine = Exact::new();
        let locks = |op| {
            matches!(
                op,
                Op::Acquire
                    | Op::Release
                    | Op::AcquireShared
                    | Op::ReleaseShared
                    | Op::Upgrade
                    | Op::Downgrade
            )
        };
        self.now.skeleton.allows(schedule, &self.now.locks)
            && window
                .iter()
                .filter(|(event, _)| !locks(event.op))
                .zip(1..)
                .any(|((event, _), position)| engine.step(*event, position).is_some())
    }
}

fn key(step: &Step) -> (Option<BlockId>, Op, SiteId, Option<ObjectId>) {
    let block = step
        .transaction
        .as_ref()
        .and_then(|transaction| transaction.block);
    let access = &step.access;
    // Where sites are not known, objects tell findings apart.
    let object = if access.site == SiteId::NONE {
        access.object
    } else {
        None
    };
    (block, access.op, access.site, object)
}

/// One variable (theorem 3): an access of one transaction between two of another, in conflict with both.
pub(super) fn one_variable(kept: &Summaries, order: &Order, findings: &mut Findings<'_>) {
    let mut variables: Vec<_> = kept
        .variables
        .iter()
        .filter(|(_, shared)| shared.contended())
        .collect();
    variables.sort_unstable_by_key(|(object, _)| **object);
    for (&object, shared) in variables {
        let mut gaps: Vec<_> = shared.gaps.iter().collect();
        gaps.sort_unstable_by_key(|(_, (early, late))| (early.position, late.position));
        let mut points: Vec<_> = shared.points.iter().collect();
        points.sort_unstable_by_key(|(_, place)| place.position);
        let mut done = Set::default();
        for (gap, (early, late)) in gaps {
            for (point, place) in &points {
                if !findings.compare() {
                    return;
                }
                if point.strand == gap.strand
                    || !conflict(gap.early, point.access)
                    || !conflict(point.access, gap.late)
                    || !kept.locksets.disjoint(gap.held, point.held)
                    || order.before(point.period, gap.periods.0)
                    || order.before(gap.periods.1, point.period)
                {
                    continue;
                }
                // Another pair of strands or locks, but the same three places.
                let at = |place: &Place| {
                    if place.site == SiteId::NONE {
                        place.position
                    } else {
                        u64::from(place.site.0)
                    }
                };
                let here = (
                    gap.early,
                    gap.late,
                    point.access,
                    at(early),
                    at(late),
                    at(place),
                );
                if done.contains(&here) {
                    continue;
                }
                let member = |strand: StrandId, op: Op, place: &Place, held: &[Hold]| {
                    let access = Access {
                        position: place.position,
                        strand,
                        op,
                        object: Some(object),
                        site: place.site,
                    };
                    let begin = place
                        .owner
                        .as_ref()
                        .and_then(|owner| owner.begin)
                        .unwrap_or(place.position);
                    Member {
                        step: Step {
                            access,
                            transaction: place.owner.clone(),
                            held: held.to_vec(),
                        },
                        begin,
                    }
                };
                let through = kept.locksets.holds(gap.held);
                let first = member(gap.strand, gap.early, early, through);
                let middle = member(
                    point.strand,
                    point.access,
                    place,
                    kept.locksets.holds(point.held),
                );
                let last = member(gap.strand, gap.late, late, through);
                let hops = [(first, middle.clone()), (middle, last)];
                let pattern = || {
                    format!(
                        "{}, {}, {}",
                        word(gap.early),
                        word(point.access),
                        word(gap.late)
                    )
                };
                if findings.report(&hops, &[], pattern) {
                    done.insert(here);
                }
            }
        }
    }
}

/// Any number of transactions (theorems 4 and 5): see [the module](super).
pub(super) struct Cycles<'a, 'b> {
    kept: &'a Summaries,
    order: &'a Order,
    /// For each variable the accesses that can conflict.
    nodes: Map<ObjectId, Vec<Node>>,
    /// Summaries that come later on every schedule, filled when asked for.
    later: Map<usize, Vec<usize>>,
    findings: &'a mut Findings<'b>,
    hops: Vec<Hop>,
    strands: Vec<StrandId>,
    /// For the summary at hand: the pairs of accesses that are part of a cycle already.
    found: Set<(usize, usize)>,
}

/// Where a cycle came back to its first transaction.
const BY_ORDER: usize = usize::MAX;

impl<'a, 'b> Cycles<'a, 'b> {
    pub(super) fn new(
        kept: &'a Summaries,
        order: &'a Order,
        findings: &'a mut Findings<'b>,
    ) -> Cycles<'a, 'b> {
        let mut nodes: Map<ObjectId, Vec<Node>> = Map::default();
        for (at, summary) in kept.summaries.iter().enumerate() {
            for (index, (_, variable)) in summary.shape.accesses.iter().enumerate() {
                if kept
                    .variables
                    .get(variable)
                    .is_some_and(|shared| shared.contended())
                {
                    nodes.entry(*variable).or_default().push((at, index));
                }
            }
        }
        Cycles {
            kept,
            order,
            nodes,
            later: Map::default(),
            findings,
            hops: Vec::new(),
            strands: Vec::new(),
            found: Set::default(),
        }
    }

    /// Looks for short cycles first, so that a pair of accesses is reported with its shortest.
    pub(super) fn search(&mut self) {
        let mut found: Map<usize, Set<(usize, usize)>> = Map::default();
        for conflicts in 1..=self.findings.bounds.conflicts {
            for start in 0..self.kept.summaries.len() {
                // A unary transaction is never left and entered again.
                if self.kept.summaries[start].block.is_none() {
                    continue;
                }
                self.found = found.remove(&start).unwrap_or_default();
                self.strands.push(self.kept.summaries[start].strand);
                for out in 0..self.kept.summaries[start].shape.accesses.len() {
                    self.leave((start, out), start, conflicts);
                }
                self.strands.clear();
                found.insert(start, std::mem::take(&mut self.found));
                if self.findings.cut_short {
                    return;
                }
            }
        }
    }

    fn summary(&self, at: usize) -> &'a Summary {
        &self.kept.summaries[at]
    }

    fn access(&self, (summary, index): Node) -> (Op, ObjectId) {
        self.summary(summary).shape.accesses[index]
    }

    /// Follows every conflict that leads out of an access, with so many conflicts left.
    fn leave(&mut self, out: Node, start: usize, left: usize) {
        let (op, variable) = self.access(out);
        let Some(nodes) = self.nodes.get(&variable) else {
            return;
        };
        // Borrowed for the whole walk: taken out, put back.
        let nodes = nodes.clone();
        for into in nodes {
            if !self.findings.compare() {
                return;
            }
            let other = self.summary(into.0);
            if self.strands.contains(&other.strand)
                || !conflict(op, self.access(into).0)
                || self
                    .order
                    .before(other.periods[into.1], self.summary(out.0).periods[out.1])
            {
                continue;
            }
            self.hops.push((out, into));
            self.strands.push(other.strand);
            self.pass(into, start, left - 1);
            self.strands.pop();
            self.hops.pop();
        }
    }

    /// From a transaction that was entered: back to the first one, or on.
    fn pass(&mut self, into: Node, start: usize, left: usize) {
        self.go(into.0, start, left);
        let later = self.later(into.0);
        for &next in &later {
            if next == start {
                // The order that holds on every schedule leads back.
                if left == 0 {
                    self.close(BY_ORDER, start);
                }
                continue;
            }
            let strand = self.summary(next).strand;
            if strand != self.summary(into.0).strand {
                if self.strands.contains(&strand) {
                    continue;
                }
                self.strands.push(strand);
                self.go(next, start, left);
                self.strands.pop();
            } else {
                self.go(next, start, left);
            }
        }
        if !later.is_empty() {
            self.later.insert(into.0, later);
        }
    }

    fn go(&mut self, summary: usize, start: usize, left: usize) {
        let accesses = &self.summary(summary).shape.accesses;
        if left == 0 {
            return;
        }
        for out in 0..accesses.len() {
            if left > 1 {
                self.leave((summary, out), start, left);
                continue;
            }
            // The last conflict leads back to the first transaction.
            let (op, variable) = accesses[out];
            let first = self.hops[0].0.1;
            for back in first + 1..self.summary(start).shape.accesses.len() {
                let (other, same) = self.summary(start).shape.accesses[back];
                if !self.findings.compare() {
                    return;
                }
                if variable == same
                    && conflict(op, other)
                    && !self.order.before(
                        self.summary(start).periods[back],
                        self.summary(summary).periods[out],
                    )
                {
                    self.hops.push(((summary, out), (start, back)));
                    self.close(back, start);
                    self.hops.pop();
                }
            }
        }
    }

    /// The summaries that come after one on every schedule.
    fn later(&mut self, at: usize) -> Vec<usize> {
        if let Some(known) = self.later.remove(&at) {
            return known;
        }
        let own = self.summary(at);
        let mut later = Vec::new();
        for (other, summary) in self.kept.summaries.iter().enumerate() {
            if other == at || !self.findings.compare() {
                continue;
            }
            let after = if summary.strand == own.strand {
                last(summary).begin > own.first.begin
            } else {
                self.order.before(own.span.0, summary.span.1)
            };
            if after {
                later.push(other);
            }
        }
        later
    }

    /// A cycle: is it possible, and is it new?
    fn close(&mut self, back: usize, start: usize) {
        let first = self.hops[0].0.1;
        if self.found.contains(&(first, back)) {
            return;
        }
        // The one-variable test has seen this one.
        if self.hops.len() == 2 && self.hops[0].1 == self.hops[1].0 {
            return;
        }
        if back != BY_ORDER && !self.plausible(start, first, back) {
            return;
        }
        let hops: Vec<(Member, Member)> = (0..self.hops.len()).map(|at| self.members(at)).collect();
        let mut owners: Vec<usize> = self.hops.iter().flat_map(|(a, b)| [a.0, b.0]).collect();
        owners.sort_unstable();
        owners.dedup();
        // Where order on all schedules leads from one transaction to another, it need not do so before the latter's end.
        let mut ends = Vec::new();
        for pair in self
            .hops
            .windows(2)
            .filter(|pair| pair[0].1.0 != pair[1].0.0)
        {
            let summary = self.summary(pair[1].0.0);
            ends.push((summary.strand, last(summary).end));
        }
        if back == BY_ORDER {
            let summary = self.summary(start);
            ends.push((summary.strand, summary.first.end));
        }
        let pattern = || format!("a cycle of {} transactions", owners.len());
        if self.findings.report(&hops, &ends, pattern) {
            self.found.insert((first, back));
        }
    }

    /// If every other transaction is entered before it is left, then all of them lie between the two accesses of the first, and
    /// what is locked from the one to the other is locked for them (`heldmid` included).
    fn plausible(&self, start: usize, first: usize, back: usize) -> bool {
        let through = self.summary(start).shape.held_throughout(first, back);
        if through.is_empty() {
            return true;
        }
        let passages = self.hops.windows(2).map(|pair| (pair[0].1, pair[1].0));
        let inside = |(into, out): (Node, Node)| into.0 != out.0 || into.1 <= out.1;
        if !passages.clone().all(inside) {
            return true;
        }
        passages.clone().all(|(into, out)| {
            let (a, b) = (&self.summary(into.0).shape, &self.summary(out.0).shape);
            disjoint(&through, &a.held(into.1))
                && disjoint(&through, &b.held(out.1))
                && (into.0 != out.0 || disjoint(&through, &a.held_between(into.1, out.1)))
        })
    }

    fn members(&self, at: usize) -> (Member, Member) {
        let (out, into) = self.hops[at];
        // Where a strand came by its own order from one transaction to a later one, the later one is the last of its like.
        let late = at > 0 && self.hops[at - 1].1.0 != out.0;
        (self.member(out, late), self.member(into, false))
    }

    fn member(&self, node: Node, late: bool) -> Member {
        let summary = self.summary(node.0);
        let occurrence = if late { last(summary) } else { &summary.first };
        let (op, object) = self.access(node);
        let (position, site) = occurrence.accesses[node.1];
        let access = Access {
            position,
            strand: summary.strand,
            op,
            object: Some(object),
            site,
        };
        let transaction = summary.block.map(|block| Transaction {
            strand: summary.strand,
            block: Some(block),
            begin: Some(occurrence.begin),
            site: occurrence.site,
        });
        let held = summary.shape.held(node.1);
        Member {
            step: Step {
                access,
                transaction,
                held,
            },
            begin: occurrence.begin,
        }
    }
}

fn last(summary: &Summary) -> &super::summary::Occurrence {
    summary.last.as_ref().unwrap_or(&summary.first)
}
