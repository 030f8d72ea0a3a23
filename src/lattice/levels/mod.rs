//! The lattice of the states that the runs of a computation go through, level by level.
//!
//! A global state is a cut: how many events of each chain have happened. It is consistent when it
//! contains the causes of all its events; level `n` has the consistent cuts of `n` events, and a
//! run is a path from the empty cut to the full one. With each cut goes the set of monitor states
//! that the runs to it lead to, and for each of these the number of runs. The next level needs the
//! current one alone.
//!
//! *Violations* need more: the run to a state. Every level keeps the edges from the level before,
//! and the levels stay until all runs pass through one state again, or until [`Limits::history`] is
//! reached. From a violation the edges lead back to the observed run, which needs no explanation.
//!
//! *Bounds.* A level has at most [`Limits::width`] monitored states, and fewer where
//! [`Limits::comparisons`] says so: those found first, the observed run's before all others. Paths that lead out of these are given up; the runs that are
//! counted at the full cut are the runs that were explored.

mod level;

use super::computation::{Computation, Message, Relevant};
use super::graph::GraphBuilder;
use super::property::{Monitor, Span, Truths};
use super::{Counterexample, Limits, Outcome, Property, Step};
use level::{CutTable, Edge, Level, NONE};
use std::collections::VecDeque;

/// How many steps of the observed run are shown beside a counterexample at most.
const OBSERVED_STEPS: usize = 1_000;

/// After how many levels events that nothing can refer to are freed.
const RELEASE_EVERY: u64 = 64;

/// A counterexample that waits for the observed run to catch up with it.
#[derive(Debug)]
struct Pending {
    /// The cut of the violating state.
    cut: Vec<u32>,
    counterexample: Counterexample,
    complete: bool,
}

/// Arithmetic left `i64` in a state.
#[derive(Debug)]
pub(super) struct Overflow {
    pub(super) span: Span,
    pub(super) state: Vec<i64>,
}

/// The lattice under construction.
#[derive(Debug)]
pub(super) struct Levels {
    monitor: Monitor,
    limits: Limits,
    computation: Computation,
    /// The current level and those before it that a violation may need, the current one last.
    levels: VecDeque<Level>,
    /// How the observed run went from each of these levels to the next.
    observed: VecDeque<Step>,
    /// How many edges these levels have.
    kept: usize,
    /// The number of the current level.
    depth: u64,
    spare: Vec<Level>,
    table: CutTable,
    states: u64,
    /// Some level was wider than allowed.
    narrowed: bool,
    /// Some event came so late that runs in which it comes earlier were no longer to be had.
    late: bool,
    observed_broken: bool,
    pending: Vec<Pending>,
    graph: Option<GraphBuilder>,
    scratch: Vec<u32>,
}

impl Levels {
    pub(super) fn new(monitor: Monitor, limits: Limits) -> Levels {
        let graph = (limits.graph > 0).then(|| GraphBuilder::new(limits.graph));
        Levels {
            monitor,
            limits,
            computation: Computation::default(),
            levels: VecDeque::new(),
            observed: VecDeque::new(),
            kept: 0,
            depth: 0,
            spare: Vec::new(),
            table: CutTable::default(),
            states: 0,
            narrowed: false,
            late: false,
            observed_broken: false,
            pending: Vec::new(),
            graph,
            scratch: Vec::new(),
        }
    }

    /// How many events wait for their level.
    pub(super) fn waiting(&self) -> u64 {
        self.computation.received() - self.depth
    }

    pub(super) fn started(&self) -> bool {
        !self.levels.is_empty()
    }

    /// How many events are known to be missing: a later one of their chain has arrived.
    pub(super) fn missing(&self) -> u64 {
        self.computation.missing()
    }

    pub(super) fn insert(&mut self, message: Message) {
        // The event could have been the next one at the cut of its causes, which is in the level of
        // their number.
        self.late |= message.clock.total() <= self.depth;
        self.computation.insert(message);
    }

    /// The first level: the initial state.
    pub(super) fn start(&mut self, initial: &[i64]) -> Result<(), Overflow> {
        let mut level = Level::default();
        level.states.extend_from_slice(initial);
        let truths = self.truths(initial)?;
        level.truths.push(truths);
        level.first.push(NONE);
        let (monitor, holds) = self.monitor.first(truths);
        level.node(0, monitor, !holds, usize::MAX);
        level.nodes[0].runs = 1;
        level.observed = 0;
        self.states = 1;
        if let Some(graph) = &mut self.graph {
            graph.level([initial].into_iter(), [(0, !holds)].into_iter());
        }
        if !holds {
            self.observed_broken = true;
            let counterexample = Counterexample {
                before: 0,
                as_observed: true,
                start: initial.into(),
                ..Default::default()
            };
            self.pending.push(Pending {
                cut: Vec::new(),
                counterexample,
                complete: true,
            });
        }
        self.levels.push_back(level);
        Ok(())
    }

    fn truths(&self, state: &[i64]) -> Result<Truths, Overflow> {
        self.monitor.truths(state).map_err(|span| Overflow {
            span,
            state: state.to_vec(),
        })
    }

    /// Builds levels as long as more events than `waiting` wait for theirs.
    pub(super) fn advance(&mut self, waiting: u64) -> Result<(), Overflow> {
        while self.waiting() > waiting && self.missing() == 0 {
            self.expand()?;
        }
        Ok(())
    }

    /// Builds the next level. At least one event must wait, and none be missing.
    fn expand(&mut self) -> Result<(), Overflow> {
        let width = self.computation.chains();
        let mut level = self.levels.pop_back().expect("the first level was started");
        level.widen(width);
        let mut next = self.spare.pop().unwrap_or_default();
        next.clear(width);
        self.table.clear();
        let first = self.observed_next(&level);
        for cut in 0..level.len() {
            // The observed run goes first, so that its cut is number 0 and no bound can lose it.
            let leading = (cut == 0).then_some(first);
            for chain in leading
                .into_iter()
                .chain((0..width).filter(|chain| Some(*chain) != leading))
            {
                if let Some(event) = self.enabled(&level, cut, chain) {
                    self.follow(&level, cut, chain, event, leading == Some(chain), &mut next)?;
                }
            }
        }
        self.states += next.len() as u64;
        self.draw(&level, &next);
        let step = Step {
            event: self.event_of(&level, 0, first),
            state: next.state(0).into(),
        };
        self.observed_broken |= next.nodes[next.observed as usize].violated;
        self.catch_up(&step, next.cut(0));
        self.observed.push_back(step);
        self.levels.push_back(level);
        self.levels.push_back(next);
        self.depth += 1;
        self.forget();
        Ok(())
    }

    /// The chain of the observed run's next event: of all that may come next at its cut, the one
    /// that came first.
    fn observed_next(&self, level: &Level) -> usize {
        (0..level.width)
            .filter_map(|chain| Some((self.enabled(level, 0, chain)?.position, chain)))
            .min()
            .expect("a cut that is not the full one can be continued")
            .1
    }

    fn event_of(&self, level: &Level, cut: usize, chain: usize) -> Relevant {
        self.computation
            .event(chain, level.cut(cut)[chain])
            .expect("an event that waits is kept")
            .0
    }

    /// The chain's next event, where all its causes are in the cut.
    #[inline]
    fn enabled(&self, level: &Level, cut: usize, chain: usize) -> Option<Relevant> {
        let counts = level.cut(cut);
        let (event, clock) = self.computation.event(chain, counts[chain])?;
        clock.is_within(counts, chain).then_some(*event)
    }

    /// How many states a level of the present number of chains may have.
    fn width(&self) -> usize {
        let chains = self.computation.chains().max(1);
        let affordable = self.limits.comparisons / (chains * chains);
        self.limits.width.min(affordable.max(1))
    }

    /// Takes all nodes of a cut over one event into the next level.
    fn follow(
        &mut self,
        level: &Level,
        cut: usize,
        chain: usize,
        event: Relevant,
        observed: bool,
        next: &mut Level,
    ) -> Result<(), Overflow> {
        let Some(target) = self.reach(level, cut, chain, event, next)? else {
            self.narrowed = true;
            return Ok(());
        };
        let truths = next.truths[target as usize];
        let mut at = level.first[cut];
        while at != NONE {
            let node = level.nodes[at as usize];
            let (monitor, holds) = if node.violated {
                (node.monitor, false)
            } else {
                self.monitor.next(node.monitor, truths)
            };
            let observed = observed && at == level.observed;
            let limit = match observed {
                true => usize::MAX,
                false => self.width(),
            };
            if let Some(reached) = next.node(target, monitor, !holds, limit) {
                let edge = next.edges.len() as u32;
                let reached_node = &mut next.nodes[reached as usize];
                reached_node.runs = reached_node.runs.saturating_add(node.runs);
                next.edges.push(Edge {
                    from: at,
                    chain: chain as u32,
                    next: reached_node.edges,
                });
                reached_node.edges = edge;
                if observed {
                    next.observed = reached;
                }
                if !holds && !node.violated && self.pending.len() < self.limits.counterexamples {
                    self.explain(level, at, chain, next.state(target as usize));
                }
            } else {
                self.narrowed = true;
            }
            at = node.next;
        }
        Ok(())
    }

    /// The cut after one event in the next level; nothing where there is no room for it.
    fn reach(
        &mut self,
        level: &Level,
        cut: usize,
        chain: usize,
        event: Relevant,
        next: &mut Level,
    ) -> Result<Option<u32>, Overflow> {
        self.scratch.clear();
        self.scratch.extend_from_slice(level.cut(cut));
        self.scratch[chain] += 1;
        let key = match self.table.find(next, &self.scratch) {
            Ok(target) => return Ok(Some(target)),
            Err(_) if next.nodes.len() >= self.width() => return Ok(None),
            Err(key) => key,
        };
        let target = next.len() as u32;
        self.table.insert(key, target);
        next.cuts.extend_from_slice(&self.scratch);
        let start = next.states.len();
        next.states.extend_from_slice(level.state(cut));
        next.states[start + event.variable] = event.value;
        let truths = self.truths(&next.states[start..])?;
        next.truths.push(truths);
        next.first.push(NONE);
        Ok(Some(target))
    }

    /// Writes down the runs that break the property with the chain's next event after the node.
    fn explain(&mut self, level: &Level, node: u32, chain: usize, state: &[i64]) {
        let cut = level.nodes[node as usize].cut as usize;
        let last = Step {
            event: self.event_of(level, cut, chain),
            state: state.into(),
        };
        let mut broken = level.cut(cut).to_vec();
        broken[chain] += 1;
        // Backwards, depth first, with a stack of edges to try: (levels back, node, steps so far).
        let mut steps: Vec<Step> = vec![last];
        let mut stack = vec![(0, node, 0, level.cut(cut).to_vec(), None)];
        while let Some((back, node, taken, cut, step)) = stack.pop() {
            steps.truncate(taken + usize::from(step.is_none()));
            steps.extend(step);
            let at = match back {
                0 => level,
                _ => &self.levels[self.levels.len() - back],
            };
            let found = &at.nodes[node as usize];
            let oldest = back == self.levels.len();
            let state: Box<[i64]> = at.state(found.cut as usize).into();
            if node == at.observed || oldest {
                let observed = self.observed.range(self.observed.len() - back..);
                let counterexample = Counterexample {
                    before: self.depth - back as u64,
                    as_observed: node == at.observed,
                    start: state,
                    steps: steps.iter().rev().cloned().collect(),
                    observed: observed.cloned().collect(),
                };
                self.pending.push(Pending {
                    cut: broken.clone(),
                    counterexample,
                    complete: false,
                });
                if self.pending.len() >= self.limits.counterexamples {
                    return;
                }
                continue;
            }
            let mut edge = found.edges;
            while edge != NONE {
                let Edge { from, chain, next } = at.edges[edge as usize];
                let mut earlier = cut.clone();
                earlier[chain as usize] -= 1;
                let (event, _) = self
                    .computation
                    .event(chain as usize, earlier[chain as usize])
                    .expect("the events of levels that are kept are kept");
                let step = Step {
                    event: *event,
                    state: state.clone(),
                };
                stack.push((back + 1, from, steps.len(), earlier, Some(step)));
                edge = next;
            }
        }
    }

    /// Shows the observed run's step to the counterexamples that wait for it.
    fn catch_up(&mut self, step: &Step, cut: &[u32]) {
        for pending in self.pending.iter_mut().filter(|pending| !pending.complete) {
            pending.counterexample.observed.push(step.clone());
            let reached = pending
                .cut
                .iter()
                .zip(cut)
                .all(|(broken, observed)| broken <= observed);
            pending.complete = reached || pending.counterexample.observed.len() >= OBSERVED_STEPS;
        }
    }

    /// Frees the levels that no counterexample will need.
    fn forget(&mut self) {
        let current = self.levels.back().expect("a level was just built");
        let single = current.nodes.len() == 1;
        self.kept += current.edges.len();
        while self.levels.len() > 1 && (single || self.kept > self.limits.history) {
            let level = self.levels.pop_front().expect("there is more than one");
            self.kept -= level.edges.len();
            self.observed.pop_front();
            self.spare.push(level);
        }
        if self.depth % RELEASE_EVERY == 0 {
            self.spare.truncate(2);
            let oldest = &self.levels[0];
            for chain in 0..oldest.width {
                let below = (0..oldest.len())
                    .map(|cut| oldest.cut(cut)[chain])
                    .min()
                    .unwrap_or(0);
                self.computation.release(chain, below);
            }
        }
    }

    fn draw(&mut self, level: &Level, next: &Level) {
        let Some(mut graph) = self.graph.take() else {
            return;
        };
        let states = (0..next.len()).map(|cut| next.state(cut));
        let nodes = next.nodes.iter().map(|node| (node.cut, node.violated));
        if graph.level(states, nodes) {
            for (to, node) in next.nodes.iter().enumerate() {
                let mut edge = node.edges;
                while edge != NONE {
                    let Edge {
                        from,
                        chain,
                        next: following,
                    } = next.edges[edge as usize];
                    let cut = level.nodes[from as usize].cut as usize;
                    let observed = from == level.observed && to as u32 == next.observed && cut == 0;
                    graph.edge(
                        from,
                        to as u32,
                        self.event_of(level, cut, chain as usize),
                        observed,
                    );
                    edge = following;
                }
            }
        }
        self.graph = Some(graph);
    }

    /// Builds all levels that are left: what was found of the property.
    pub(super) fn finish(
        mut self,
        property: &Property,
        initial: Vec<i64>,
    ) -> Result<Outcome, Overflow> {
        self.advance(0)?;
        let last = self.levels.back().expect("the first level was started");
        let sum = |violated: bool| {
            let chosen = last.nodes.iter().filter(|node| !violated || node.violated);
            chosen.fold(0_u128, |sum, node| sum.saturating_add(node.runs))
        };
        let pending = self.pending.into_iter();
        Ok(Outcome {
            property: property.source().to_string(),
            variables: property.variables().to_vec(),
            initial,
            events: self.depth,
            states: self.states,
            runs: sum(false),
            violating: sum(true),
            observed_broken: self.observed_broken,
            narrowed: self.narrowed,
            late: self.late,
            counterexamples: pending.map(|it| it.counterexample).collect(),
            graph: self.graph.map(GraphBuilder::finish),
        })
    }
}
