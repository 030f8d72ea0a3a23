//! The lattice as a graph to look at.

use super::computation::Relevant;
use super::render::strand;
use crate::trace::Names;
use std::fmt::Write;

/// A state of the lattice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphState {
    /// How many events lead to it.
    pub level: u64,
    /// The variables' values.
    pub values: Vec<i64>,
    /// Whether the observed run went through it.
    pub observed: bool,
    /// Whether some run breaks the property in it for the first time.
    pub violating: bool,
}

/// A step from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// An index into the states.
    pub from: usize,
    /// An index into the states.
    pub to: usize,
    /// The event.
    pub event: Relevant,
    /// Whether the observed run took it.
    pub observed: bool,
    /// Whether it is part of a run that breaks the property.
    pub violating: bool,
}

/// The lattice, as far as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The states, level by level.
    pub states: Vec<GraphState>,
    /// The steps between them.
    pub edges: Vec<GraphEdge>,
    /// Whether there were more states than asked for.
    pub truncated: bool,
}

impl Graph {
    /// The graph in the language of Graphviz: the observed run bold, runs that break the property
    /// red.
    pub fn dot(&self, property: &str, variables: &[String], names: &dyn Names) -> String {
        let mut text = String::from("digraph lattice {\n");
        let mut label = format!(
            "{property}\\nstates are ({})",
            escape(&variables.join(", "))
        );
        if self.truncated {
            let _ = write!(
                label,
                "\\nthe first {} states; there are more",
                self.states.len()
            );
        }
        label = label.replacen(property, &escape(property), 1);
        let _ = writeln!(
            text,
            "  label=\"{label}\";\n  labelloc=t;\n  node [shape=box, fontname=monospace];"
        );
        for (number, state) in self.states.iter().enumerate() {
            let values = state
                .values
                .iter()
                .map(i64::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            let bold = if state.observed { ", style=bold" } else { "" };
            let red = if state.violating {
                ", color=red, peripheries=2"
            } else {
                ""
            };
            let _ = writeln!(text, "  s{number} [label=\"({values})\"{bold}{red}];");
        }
        for edge in &self.edges {
            let strand = escape(&strand(&edge.event, names));
            let write = format!(
                "{} = {}",
                escape(&variables[edge.event.variable]),
                edge.event.value
            );
            let bold = if edge.observed { ", style=bold" } else { "" };
            let red = if edge.violating { ", color=red" } else { "" };
            let _ = writeln!(
                text,
                "  s{} -> s{} [label=\"{strand}: {write}\"{bold}{red}];",
                edge.from, edge.to
            );
        }
        text.push_str("}\n");
        text
    }
}

/// Text inside a quoted string of Graphviz.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Collects the lattice with its monitor states, in which alone it can be told which steps are part
/// of which runs.
#[derive(Debug)]
pub(super) struct GraphBuilder {
    graph: Graph,
    limit: usize,
    /// Where the states of the last level begin, and of the level before.
    states: (usize, usize),
    /// The same of the nodes.
    starts: (usize, usize),
    /// The state of each node, and whether its runs have broken the property.
    nodes: Vec<(usize, bool)>,
    /// From node to node.
    steps: Vec<(usize, usize, Relevant, bool)>,
    level: u64,
}

impl GraphBuilder {
    pub(super) fn new(limit: usize) -> GraphBuilder {
        GraphBuilder {
            graph: Graph::default(),
            limit,
            states: (0, 0),
            starts: (0, 0),
            nodes: Vec::new(),
            steps: Vec::new(),
            level: 0,
        }
    }

    /// Takes a level: its states, and its nodes as (state, broken). Returns whether it still has
    /// room.
    pub(super) fn level<'a>(
        &mut self,
        states: impl ExactSizeIterator<Item = &'a [i64]>,
        nodes: impl Iterator<Item = (u32, bool)>,
    ) -> bool {
        if self.graph.truncated || self.graph.states.len() + states.len() > self.limit {
            self.graph.truncated = true;
            return false;
        }
        self.states = (self.states.1, self.graph.states.len());
        self.starts = (self.starts.1, self.nodes.len());
        let level = self.level;
        let state = |values: &[i64]| GraphState {
            level,
            values: values.to_vec(),
            observed: false,
            violating: false,
        };
        self.graph.states.extend(states.map(state));
        // The observed run's state is the first of its level.
        self.graph.states[self.states.1].observed = true;
        self.nodes
            .extend(nodes.map(|(state, broken)| (self.states.1 + state as usize, broken)));
        self.level += 1;
        true
    }

    /// Takes a step from a node of the level before to one of the last level.
    pub(super) fn edge(&mut self, from: u32, to: u32, event: Relevant, observed: bool) {
        self.steps.push((
            self.starts.0 + from as usize,
            self.starts.1 + to as usize,
            event,
            observed,
        ));
    }

    pub(super) fn finish(mut self) -> Graph {
        // A step is part of a violating run where its end has broken the property or can come to
        // break it.
        let mut doomed: Vec<bool> = self.nodes.iter().map(|(_, broken)| *broken).collect();
        for (from, to, ..) in self.steps.iter().rev() {
            doomed[*from] |= doomed[*to];
        }
        for &(from, to, event, observed) in &self.steps {
            let ((source, was_broken), (target, broken)) = (self.nodes[from], self.nodes[to]);
            self.graph.states[target].violating |= broken && !was_broken;
            let edge = GraphEdge {
                from: source,
                to: target,
                event,
                observed,
                violating: doomed[to],
            };
            self.graph.edges.push(edge);
        }
        // Steps of different monitor states between the same states are one step of the lattice.
        self.graph.edges.sort_by_key(|edge| (edge.from, edge.to));
        self.graph.edges.dedup_by(|next, kept| {
            let same = (next.from, next.to) == (kept.from, kept.to);
            kept.observed |= same && next.observed;
            kept.violating |= same && next.violating;
            same
        });
        if let Some((state, true)) = self.nodes.first().copied() {
            self.graph.states[state].violating = true;
        }
        self.graph
    }
}
