//! The definitions, as they stand in the books, with no thought of cost.

use aerodrome::lattice::property::Formula;
use aerodrome::trace::{Event, Op};
use std::collections::{BTreeMap, HashMap};

/// A relevant event: its position in the trace from 1, its variable, its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) position: u64,
    pub(crate) variable: usize,
    pub(crate) value: i64,
}

/// The relevant events of a trace and their causal order, by its definition.
pub(crate) struct Order {
    pub(crate) writes: Vec<Write>,
    /// `before[a][b]`: write `a` causally precedes write `b`.
    pub(crate) before: Vec<Vec<bool>>,
}

fn reads(op: Op) -> bool {
    matches!(op, Op::Read | Op::AcquireShared | Op::ReleaseShared)
}

fn writes(op: Op) -> bool {
    matches!(
        op,
        Op::Write
            | Op::ReadWrite
            | Op::Update(_)
            | Op::Acquire
            | Op::Release
            | Op::Upgrade
            | Op::Downgrade
    )
}

/// A number, and how many had it before.
type Instance = (u32, u32);

/// An event: what was done, by which strand, to what.
type Step = (Op, Instance, Instance);

/// Whether a step comes before a later one, whatever there is between them.
fn directly((op, strand, target): Step, (later, later_strand, later_target): Step) -> bool {
    let access = |op| reads(op) || writes(op);
    let is_strand = |op| matches!(op, Op::Fork | Op::Join);
    strand == later_strand
        || op == Op::Fork && target == later_strand
        || later == Op::Join && later_target == strand
        // The strand in between did nothing.
        || (op, later) == (Op::Fork, Op::Join) && target == later_target
        || target == later_target
            && !is_strand(op)
            && !is_strand(later)
            && (access(op) && access(later) && (writes(op) || writes(later))
                || (op, later) == (Op::Signal, Op::Await)
                || (op, later) == (Op::Send, Op::Recv))
}

/// `all[a][b]`: step `a` causally precedes step `b`.
fn precedence(steps: &[Step]) -> Vec<Vec<bool>> {
    let mut all = vec![vec![false; steps.len()]; steps.len()];
    for b in 0..steps.len() {
        for a in (0..b).rev() {
            if !all[a][b] && directly(steps[a], steps[b]) {
                for (earlier, row) in all.iter_mut().enumerate().take(a + 1) {
                    row[b] |= earlier == a || row[a];
                }
            }
        }
    }
    all
}

impl Order {
    /// Objects below `relevant.len()` are variables, relevant where it says so, and born by a birth
    /// or their first write.
    pub(crate) fn new(trace: &[Event], relevant: &[bool]) -> Order {
        // Numbers that are given again name different things: each occurrence gets its instance.
        let mut strands: HashMap<u32, u32> = HashMap::new();
        let mut objects: HashMap<u32, u32> = HashMap::new();
        let mut values: HashMap<u32, i64> = HashMap::new();
        let mut born = vec![false; relevant.len()];
        let mut events = Vec::new();
        let mut relevant_events = Vec::new();
        for (event, position) in trace.iter().zip(1..) {
            let value = match event.op {
                Op::Value => {
                    values.insert(event.strand.0, event.value());
                    continue;
                }
                Op::Born => {
                    values.remove(&event.strand.0);
                    born[event.target as usize] = true;
                    continue;
                }
                _ if writes(event.op) => values.remove(&event.strand.0),
                _ => None,
            };
            let variable = event.target as usize;
            if writes(event.op) && variable < relevant.len() {
                if !std::mem::replace(&mut born[variable], true) && relevant[variable] {
                    continue;
                }
                if relevant[variable] {
                    let value = value.unwrap();
                    let write = Write {
                        position,
                        variable,
                        value,
                    };
                    relevant_events.push((events.len(), write));
                }
            }
            let strand = (event.strand.0, *strands.entry(event.strand.0).or_default());
            let other = match event.op {
                Op::Fork => {
                    let instance = strands.entry(event.target).or_default();
                    *instance += 1;
                    *instance
                }
                Op::Join => *strands.entry(event.target).or_default(),
                _ => *objects.entry(event.target).or_default(),
            };
            if matches!(event.op, Op::Retire | Op::Recv) {
                *objects.entry(event.target).or_default() += 1;
            }
            events.push((event.op, strand, (event.target, other)));
        }
        let all = precedence(&events);
        let numbers: Vec<usize> = relevant_events.iter().map(|(number, _)| *number).collect();
        let before = numbers
            .iter()
            .map(|&a| numbers.iter().map(|&b| all[a][b]).collect())
            .collect();
        Order {
            writes: relevant_events
                .into_iter()
                .map(|(_, write)| write)
                .collect(),
            before,
        }
    }

    /// Every linear extension, as indices of writes.
    pub(crate) fn runs(&self) -> Vec<Vec<usize>> {
        let mut runs = Vec::new();
        self.extend(&mut Vec::new(), &mut runs);
        runs
    }

    fn extend(&self, run: &mut Vec<usize>, runs: &mut Vec<Vec<usize>>) {
        if run.len() == self.writes.len() {
            runs.push(run.clone());
        }
        for next in 0..self.writes.len() {
            let ready = (0..self.writes.len())
                .all(|other| !self.before[other][next] || run.contains(&other));
            if ready && !run.contains(&next) {
                run.push(next);
                self.extend(run, runs);
                run.pop();
            }
        }
    }

    /// The states of a run, the initial one (all 0) first.
    pub(crate) fn states(&self, run: &[usize], variables: usize) -> Vec<Vec<i64>> {
        let mut states = vec![vec![0; variables]];
        for &write in run {
            let mut state = states.last().unwrap().clone();
            state[self.writes[write].variable] = self.writes[write].value;
            states.push(state);
        }
        states
    }

    /// Every global state: the set of writes that have happened, and the values.
    pub(crate) fn global_states(&self, variables: usize) -> BTreeMap<Vec<usize>, Vec<i64>> {
        let mut found = BTreeMap::new();
        for run in self.runs() {
            for (length, state) in self.states(&run, variables).into_iter().enumerate() {
                let mut happened = run[..length].to_vec();
                happened.sort_unstable();
                found.insert(happened, state);
            }
        }
        found
    }
}

/// Whether the formula is true in the last of these states, by its definition over all of them.
pub(crate) fn holds(formula: &Formula, states: &[Vec<i64>]) -> bool {
    let (now, last) = (states.last().unwrap(), states.len());
    let at = |formula: &Formula, length: usize| holds(formula, &states[..length]);
    let before = if last == 1 { 1 } else { last - 1 };
    match formula {
        Formula::Constant(value) => *value,
        Formula::Atom(atom) => atom.evaluate(now).unwrap(),
        Formula::Not(a) => !holds(a, states),
        Formula::And(a, b) => holds(a, states) && holds(b, states),
        Formula::Or(a, b) => holds(a, states) || holds(b, states),
        Formula::Implies(a, b) => !holds(a, states) || holds(b, states),
        Formula::Same(a, b) => holds(a, states) == holds(b, states),
        Formula::Differ(a, b) => holds(a, states) != holds(b, states),
        Formula::Previously(a) => at(a, before),
        Formula::Start(a) => at(a, last) && !at(a, before),
        Formula::End(a) => !at(a, last) && at(a, before),
        Formula::Once(a) => (1..=last).any(|i| at(a, i)),
        Formula::Historically(a) => (1..=last).all(|i| at(a, i)),
        Formula::Since(a, b) => (1..=last).any(|j| at(b, j) && (j + 1..=last).all(|i| at(a, i))),
        Formula::Interval(a, b) => (1..=last).any(|j| at(a, j) && (j..=last).all(|i| !at(b, i))),
    }
}

/// The length of the run's shortest prefix in whose last state the formula is false.
pub(crate) fn first_violation(formula: &Formula, states: &[Vec<i64>]) -> Option<usize> {
    (1..=states.len())
        .find(|length| !holds(formula, &states[..*length]))
        .map(|length| length - 1)
}
