//! Cycles of two transactions and of any number.

use super::Bounds;
use super::summary::{Summaries, Summary};
use crate::check::Access;
use crate::dense::Dense;
use crate::predict::locks::disjoint;
use crate::predict::realise::{Answer, Realiser};
use crate::predict::{
    AnalysisKind, Class, Context, Order, Part, Period, Prediction, Step, Tier, likeness,
};
use crate::trace::{ObjectId, Op, StrandId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The access of a summary, by index.
type Node = (usize, usize);

/// What a comparison asks of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    class: Class,
    strand: StrandId,
    period: Period,
    /// In which its transaction began.
    begin: Period,
}

/// The accesses of a variable that can conflict, sorted, and the kinds that are among them.
#[derive(Debug, Default)]
struct Candidates {
    all: Vec<(Node, Kind)>,
    kinds: Vec<Kind>,
}

/// One conflict of a cycle: the first access comes before the second.
type Hop = (Node, Node);

/// What the searches share: bounds, schedules, and the findings.
pub(super) struct Findings<'a> {
    pub(super) realiser: Realiser<'a>,
    pub(super) bounds: Bounds,
    /// Comparisons made so far.
    pub(super) compared: u64,
    pub(super) cut_short: bool,
    pub(super) predictions: Vec<Prediction>,
    known: FxHashMap<Vec<Part>, Known>,
}

/// What became of cycles that look the same to a reader.
#[derive(Debug, Default)]
struct Known {
    /// The surest of them, among the predictions.
    at: Option<usize>,
    /// For so many a schedule was looked for.
    tries: usize,
}

/// How many cycles that look the same are tried until one is predicted.
const TRIES: usize = 8;

/// So many accesses are compared whatever the trace's length, so that the time stays linear in it.
const COMPARISONS: u64 = 4 << 20;

impl<'a> Findings<'a> {
    pub(super) fn new(now: &'a Context, bounds: Bounds) -> Findings<'a> {
        let most = COMPARISONS + 32 * now.skeleton.len() as u64;
        Findings {
            realiser: Realiser::new(now, bounds.schedules, bounds.states),
            bounds: Bounds {
                comparisons: bounds.comparisons.min(most),
                ..bounds
            },
            compared: 0,
            cut_short: false,
            predictions: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// Counts comparisons; false when there were enough.
    fn compare(&mut self, count: usize) -> bool {
        self.compared += count as u64;
        self.cut_short |= self.compared > self.bounds.comparisons;
        !self.cut_short
    }

    /// Tries to find a schedule for a cycle and reports it. False if another may be surer.
    fn report(
        &mut self,
        hops: &[(Step, Step)],
        ends: &[(StrandId, u64)],
        pattern: impl FnOnce() -> String,
    ) -> bool {
        let steps = hops.iter().flat_map(|(a, b)| [a, b]).cloned();
        let mut accesses: Vec<Step> = steps.collect();
        accesses.sort_by_key(|step| step.access.position);
        accesses.dedup_by_key(|step| step.access.position);
        let known = self.known.entry(likeness(accesses.iter())).or_default();
        let surest = known.at.map(|at| &mut self.predictions[at]);
        let is_unsure = |it: &Prediction| it.tier == Tier::Hint || it.depends.is_some();
        let is_hint = surest.as_ref().is_none_or(|it| is_unsure(it));
        if let Some(surest) = surest {
            surest.count += 1;
        }
        // In brief the first one that may be possible is enough.
        let is_brief = self.bounds.is_brief();
        if !is_hint || is_brief && known.at.is_some() || known.tries == TRIES {
            return known.at.is_some();
        }
        known.tries += 1;
        let at = |step: &Step| {
            let position = step.access.position;
            accesses.partition_point(|step| step.access.position < position)
        };
        let pairs: Vec<(usize, usize)> = hops.iter().map(|(a, b)| (at(a), at(b))).collect();
        let mut prediction = Prediction {
            analysis: AnalysisKind::Blocks,
            tier: Tier::Potential,
            pattern: pattern(),
            accesses,
            schedule: Vec::new(),
            depends: None,
            directions: None,
            notes: Vec::new(),
            count: 1,
        };
        if self.realiser.realise(&mut prediction, &pairs, ends) == Answer::Impossible {
            return false;
        }
        let is_shown = !is_unsure(&prediction);
        match known.at.map(|at| &mut self.predictions[at]) {
            None => {
                known.at = Some(self.predictions.len());
                self.predictions.push(prediction);
            }
            Some(surest) if prediction.doubt() < surest.doubt() => {
                prediction.count = surest.count;
                *surest = prediction;
            }
            Some(_) => {}
        }
        is_shown || is_brief
    }
}

/// Any number of transactions (theorems 4 and 5): see [the module](super).
pub(super) struct Cycles<'a, 'b> {
    kept: &'a Summaries,
    order: &'a Order,
    nodes: FxHashMap<ObjectId, Rc<Candidates>>,
    /// For each strand its summaries with such accesses, by the last time that they happened.
    strand_summaries: Dense<StrandId, Vec<usize>>,
    findings: &'a mut Findings<'b>,
    hops: Vec<Hop>,
    strands: Vec<StrandId>,
    /// For the summary at hand: the pairs of accesses that are part of a cycle already.
    found: FxHashSet<(usize, usize)>,
    /// What [`can_follow`](Self::can_follow) last answered for each summary, and in which round.
    answers: Vec<(u64, bool)>,
    /// In each another question is asked.
    round: u64,
}

/// Where a cycle came back to its first transaction.
const BY_ORDER: usize = usize::MAX;

impl<'a, 'b> Cycles<'a, 'b> {
    pub(super) fn new(
        kept: &'a Summaries,
        now: &'a Context,
        findings: &'a mut Findings<'b>,
    ) -> Cycles<'a, 'b> {
        let mut nodes: FxHashMap<ObjectId, Candidates> = FxHashMap::default();
        let mut strand_summaries: Dense<StrandId, Vec<usize>> = Dense::new();
        for (at, summary) in kept.summaries.iter().enumerate() {
            let accesses = summary.shape.accesses.iter().enumerate();
            let contended =
                accesses.filter(|(_, (_, variable))| now.usage(*variable).is_contended());
            for (index, &(op, variable)) in contended {
                let kind = Kind {
                    class: Class::of(op),
                    strand: summary.strand,
                    period: summary.periods[index],
                    begin: summary.span.0,
                };
                let nodes = nodes.entry(variable).or_default();
                nodes.all.push(((at, index), kind));
                let own = strand_summaries.entry(summary.strand);
                if own.last() != Some(&at) {
                    own.push(at);
                }
            }
        }
        for own in strand_summaries.iter_mut() {
            own.sort_by_key(|&at| kept.summaries[at].last().begin);
        }
        let nodes = nodes.into_iter().map(|(variable, mut own)| {
            own.kinds = own.all.iter().map(|&(_, kind)| kind).collect();
            own.kinds.sort_unstable();
            own.kinds.dedup();
            (variable, Rc::new(own))
        });
        Cycles {
            kept,
            order: &now.order,
            nodes: nodes.collect(),
            strand_summaries,
            findings,
            hops: Vec::new(),
            strands: Vec::new(),
            found: FxHashSet::default(),
            answers: vec![(0, false); kept.summaries.len()],
            round: 0,
        }
    }

    /// Looks for short cycles first, so that a pair of accesses is reported with its shortest.
    pub(super) fn search(&mut self) {
        let mut found: FxHashMap<usize, FxHashSet<(usize, usize)>> = FxHashMap::default();
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
        let Some(nodes) = self.nodes.get(&variable).cloned() else {
            return;
        };
        let (class, period) = (Class::of(op), self.summary(out.0).periods[out.1]);
        let end = self.summary(start).span.1;
        let can_enter = |it: &Self, kind: &Kind| {
            class.conflicts(kind.class)
                && !it.strands.contains(&kind.strand)
                && !it.order.before(kind.period, period)
                && (left > 1 || it.order.before(kind.begin, end))
        };
        if !nodes.kinds.iter().any(|kind| can_enter(self, kind)) {
            self.findings.compare(nodes.all.len());
            return;
        }
        for &(into, ref kind) in &nodes.all {
            if !self.findings.compare(1) {
                return;
            }
            if can_enter(self, kind) {
                self.hops.push((out, into));
                self.strands.push(kind.strand);
                match left - 1 {
                    // The order that holds on every schedule leads back.
                    0 => self.close(BY_ORDER, start),
                    1 => self.go_back(into.0, start),
                    left => self.go_on(into.0, start, left),
                }
                self.strands.pop();
                self.hops.pop();
            }
        }
    }

    /// Follows the last conflict, which leads back to the first transaction.
    fn go_back(&mut self, at: usize, start: usize) {
        let first = self.hops[0].0.1;
        let backs = first + 1..self.summary(start).shape.accesses.len();
        self.round += 1;
        // From the transaction itself, then from those that come later.
        for direct in [true, false] {
            for back in backs.clone() {
                if self.found.contains(&(first, back)) {
                    continue;
                }
                let (op, variable) = self.access((start, back));
                let Some(nodes) = self.nodes.get(&variable).cloned() else {
                    continue;
                };
                let nodes = &nodes.all;
                let own = nodes.partition_point(|(own, _)| own.0 < at)
                    ..nodes.partition_point(|(own, _)| own.0 <= at);
                let candidates = if direct { own } else { 0..nodes.len() };
                let (class, period) = (Class::of(op), self.summary(start).periods[back]);
                for &(out, kind) in &nodes[candidates] {
                    if !self.findings.compare(1) {
                        return;
                    }
                    let possible = class.conflicts(kind.class)
                        && (direct || self.can_follow(at, out.0, start))
                        && !self.order.before(period, kind.period);
                    if possible {
                        self.hops.push((out, (start, back)));
                        self.close(back, start);
                        self.hops.pop();
                    }
                }
            }
        }
    }

    /// Follows the conflicts that lead out of a transaction and of those that come later.
    fn go_on(&mut self, at: usize, start: usize, left: usize) {
        for out in 0..self.summary(at).shape.accesses.len() {
            self.leave((at, out), start, left);
        }
        for strand in (0..self.strand_summaries.len() as u32).map(StrandId) {
            let is_own = self.summary(at).strand == strand;
            if !is_own && self.strands.contains(&strand) {
                continue;
            }
            // A strand's summaries that come later are the last ones.
            let own = &self.strand_summaries[strand];
            let earlier = own.partition_point(|&next| !self.is_later(at, next));
            for index in earlier..own.len() {
                if !self.findings.compare(1) {
                    return;
                }
                let next = self.strand_summaries[strand][index];
                if next == at || next == start {
                    continue;
                }
                self.strands.push(strand);
                for out in 0..self.summary(next).shape.accesses.len() {
                    self.leave((next, out), start, left);
                }
                self.strands.pop();
            }
        }
    }

    /// Does a summary come after another on every schedule?
    fn is_later(&self, at: usize, other: usize) -> bool {
        let (own, other) = (self.summary(at), self.summary(other));
        if own.strand == other.strand {
            other.last().begin > own.first.begin
        } else {
            self.order.before(own.span.0, other.span.1)
        }
    }

    /// The same for a summary that the cycle may go through before it comes back.
    #[inline]
    fn can_follow(&mut self, at: usize, next: usize, start: usize) -> bool {
        let (round, answer) = self.answers[next];
        if round == self.round {
            return answer;
        }
        let strand = self.summary(next).strand;
        let answer = next != at
            && next != start
            && (strand == self.summary(at).strand || !self.strands.contains(&strand))
            && self.is_later(at, next);
        self.answers[next] = (self.round, answer);
        answer
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
        let hops: Vec<(Step, Step)> = (0..self.hops.len()).map(|at| self.steps(at)).collect();
        let owners = self.hops.iter().flat_map(|(a, b)| [a.0, b.0]);
        let owners: FxHashSet<usize> = owners.collect();
        if owners.len() > self.findings.bounds.transactions {
            return;
        }
        // Where order on all schedules leads from one transaction to another, it need not do so
        // before the latter's end.
        let pairs = self.hops.windows(2);
        let by_order = pairs.filter(|pair| pair[0].1.0 != pair[1].0.0);
        let by_order = by_order.map(|pair| self.summary(pair[1].0.0));
        let ends = by_order.map(|summary| (summary.strand, summary.last().end));
        let mut ends: Vec<(StrandId, u64)> = ends.collect();
        if back == BY_ORDER {
            let summary = self.summary(start);
            ends.push((summary.strand, summary.first.end));
        }
        let pattern = || format!("a cycle of {} transactions", owners.len());
        if self.findings.report(&hops, &ends, pattern) {
            self.found.insert((first, back));
        }
    }

    /// If every other transaction is entered before it is left, then all of them lie between the
    /// two accesses of the first, and what is locked from the one to the other is locked for them
    /// (`heldmid` included).
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

    /// The accesses of a conflict.
    fn steps(&self, at: usize) -> (Step, Step) {
        let (out, into) = self.hops[at];
        // Where a strand came by its own order from one transaction to a later one, the later one
        // is the last of its like.
        let late = at > 0 && self.hops[at - 1].1.0 != out.0;
        (self.step(out, late), self.step(into, false))
    }

    fn step(&self, node: Node, late: bool) -> Step {
        let summary = self.summary(node.0);
        let occurrence = if late { summary.last() } else { &summary.first };
        let (op, object) = self.access(node);
        let (position, site) = occurrence.accesses[node.1];
        Step {
            access: Access {
                position,
                strand: summary.strand,
                op,
                object: Some(object),
                site,
            },
            transaction: summary.transaction(occurrence),
            held: summary.shape.held(node.1),
        }
    }
}
