//! Properties over every run that is consistent with the observed one.
//!
//! From one execution follow others: events that neither caused the other could have come in the other order. This module
//! finds all of them (Rosu and Sen, *Instrumentation Technique for Online Analysis of Multithreaded Programs*) and checks a
//! [`Property`] on each: [`Causality`] extracts the causal order of the relevant events, which are the writes of
//! variables that the property names; the lattice of the global states is then built level by level, with the set of
//! [`property::MonitorState`]s that the runs to each state lead to.
//!
//! # Variables and their values
//!
//! A variable of a property is the object that has its name ([`ObjectInfo::name`](crate::trace::ObjectInfo::name)). An
//! [`Op::Value`] gives the value that its strand's next write stores. The *first* write with a value that an object gets is
//! its birth: it sets the initial value, and is neither a relevant event nor ordered with anything, whoever recorded it.
//! All later ones are relevant events. A variable that retires keeps its value; a later object of the same name continues
//! it, and its birth is an ordinary write. Two objects of one name that live at the same time are an [error](Error).
//!
//! # Bounds
//!
//! A level is built when [`Limits::window`] later events have been seen, so memory does not grow with the run. An event
//! that is concurrent with more events than that is put where it still can be, and the [`Outcome`] says that not all runs
//! were explored; as it does when a level had more than [`Limits::width`] states. Whatever is reported as violating is a
//! consistent run in either case.
//!
//! ```
//! use aerodrome::lattice::{Lattice, Limits, Property};
//! # use aerodrome::trace::*;
//! # struct Example;
//! # impl Names for Example {
//! #     fn strand(&self, id: StrandId) -> StrandInfo { StrandInfo { name: format!("T{}", id.0) } }
//! #     fn object(&self, id: ObjectId) -> ObjectInfo {
//! #         let name = ["landing", "approved", "radio"][id.0 as usize].to_string();
//! #         ObjectInfo { kind: ObjectKind::Variable, name: Some(name), type_name: None, created: SiteId::NONE }
//! #     }
//! #     fn kind(&self, _: ObjectId) -> ObjectKind { ObjectKind::Variable }
//! #     fn site(&self, _: SiteId) -> Option<SiteInfo> { None }
//! #     fn block(&self, _: BlockId) -> BlockInfo { BlockInfo { name: String::new(), site: SiteId::NONE } }
//! # }
//! # let names = &Example;
//! # let (landing, approved, radio) = (0, 1, 2);
//! # let event = |strand, op, target| Event { strand: StrandId(strand), op, target, site: SiteId::NONE };
//! let write = |strand, object, value| [Event::of_value(StrandId(strand), value), event(strand, Op::Write, object)];
//!
//! let property: Property = "start(landing) -> [approved, !radio)".parse()?;
//! let mut lattice = Lattice::new(property, Limits::default());
//! let trace = [
//!     // What the variables are born with.
//!     write(0, landing, 0),
//!     write(0, approved, 0),
//!     write(0, radio, 1),
//!     // One strand lands after approval; then the radio goes down.
//!     write(1, approved, 1),
//!     write(1, landing, 1),
//!     write(2, radio, 0),
//! ];
//! for (event, position) in trace.as_flattened().iter().zip(1..) {
//!     lattice.step(event, position, names)?;
//! }
//! let outcome = lattice.finish()?;
//! assert_eq!((outcome.runs, outcome.violating, outcome.states), (3, 2, 6));
//! assert!(!outcome.observed_broken);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod computation;
mod error;
mod graph;
mod levels;
pub mod property;
mod render;

use crate::trace::{Event, Names, ObjectId, Op};
use std::collections::BTreeSet;

pub use clock::{Causality, Clock};
pub use computation::{Message, Relevant};
pub use error::Error;
pub use graph::{Graph, GraphEdge, GraphState};
use levels::Levels;
pub use property::Property;

/// How much is explored and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many states, each with one monitor state, a level may have.
    pub width: usize,
    /// How many relevant events are waited for before a level is built.
    pub window: u64,
    /// How many steps between states are kept to explain violations.
    pub history: usize,
    /// How many violating runs are written down; all are counted.
    pub counterexamples: usize,
    /// How many states of the lattice are kept to be drawn.
    pub graph: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            width: 10_000,
            window: 1 << 15,
            history: 1 << 17,
            counterexamples: 8,
            graph: 0,
        }
    }
}

/// An event of a run, and the state it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The event.
    pub event: Relevant,
    /// The variables' values from then on.
    pub state: Box<[i64]>,
}

/// A run that breaks the property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counterexample {
    /// How many events come before those shown.
    pub before: u64,
    /// Whether these come in the order that was observed; otherwise in another that is consistent with it.
    pub as_observed: bool,
    /// The state after them.
    pub start: Box<[i64]>,
    /// The run from there; the property is broken in the last state. Empty where it is broken from the start.
    pub steps: Vec<Step>,
    /// What was observed instead, until all events of `steps` had happened.
    pub observed: Vec<Step>,
}

/// What the runs have in common, and those that break the property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The property's text.
    pub property: String,
    /// The names of its variables.
    pub variables: Vec<String>,
    /// The initial state.
    pub initial: Vec<i64>,
    /// How many relevant events there are.
    pub events: u64,
    /// How many global states were explored.
    pub states: u64,
    /// How many runs were explored; `u128::MAX` stands for any larger number.
    pub runs: u128,
    /// How many of these break the property.
    pub violating: u128,
    /// Whether the observed run is one of those.
    pub observed_broken: bool,
    /// Some level had more states than [`Limits::width`].
    pub narrowed: bool,
    /// Some event was concurrent with more than [`Limits::window`] others.
    pub late: bool,
    /// The violating runs that were found first.
    pub counterexamples: Vec<Counterexample>,
    /// The lattice, where [`Limits::graph`] asks for it.
    pub graph: Option<Graph>,
}

impl Outcome {
    /// Whether every run that was explored has the property.
    pub fn holds(&self) -> bool {
        self.violating == 0 && !self.observed_broken && self.counterexamples.is_empty()
    }

    /// Whether every consistent run was explored.
    pub fn complete(&self) -> bool {
        !self.narrowed && !self.late
    }
}

/// What is known of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relevance {
    /// No write has been seen, or none since it got a name.
    Unknown,
    Irrelevant,
    /// The variable with this index.
    Variable(usize),
}

/// A variable of the property.
#[derive(Clone, Copy, Debug, Default)]
struct Variable {
    initial: Option<i64>,
    /// The object that is this variable now.
    object: Option<ObjectId>,
}

/// How many names an error about an unknown one lists.
const LISTED_NAMES: usize = 30;

/// Checks a property on all runs that are consistent with the trace it is fed; see [the module's page](self).
#[derive(Debug)]
pub struct Lattice {
    property: Property,
    limits: Limits,
    causality: Causality,
    relevance: Vec<Relevance>,
    variables: Vec<Variable>,
    /// The value of each strand's next write.
    values: Vec<Option<i64>>,
    /// The names that writes with values had.
    known: BTreeSet<String>,
    levels: Levels,
}

impl Lattice {
    /// Checks this property.
    pub fn new(property: Property, limits: Limits) -> Lattice {
        let limits = Limits {
            width: limits.width.max(1),
            ..limits
        };
        let variables = vec![Variable::default(); property.variables().len()];
        let levels = Levels::new(property.monitor().clone(), limits);
        Lattice {
            property,
            limits,
            causality: Causality::default(),
            relevance: Vec::new(),
            variables,
            values: Vec::new(),
            known: BTreeSet::new(),
            levels,
        }
    }

    /// Takes the next event of a well-formed trace, as it was recorded: blocks order nothing here, and a forked strand is
    /// always a strand of its own.
    ///
    /// After an error nothing more can be learnt; the error is the verdict.
    pub fn step(&mut self, event: &Event, position: u64, names: &dyn Names) -> Result<(), Error> {
        let written = match event.op {
            Op::Value => {
                let strand = event.strand.0 as usize;
                if self.values.len() <= strand {
                    self.values.resize(strand + 1, None);
                }
                self.values[strand] = Some(event.value());
                return Ok(());
            }
            Op::Write | Op::ReadWrite | Op::Update(_) => {
                let value = self
                    .values
                    .get_mut(event.strand.0 as usize)
                    .and_then(Option::take);
                match self.written(event.object(), value, position, names)? {
                    Written::Birth => return Ok(()),
                    Written::Irrelevant => None,
                    Written::Variable(index, value) => Some((index, value)),
                }
            }
            Op::Retire => {
                self.retire(event.object());
                None
            }
            _ => None,
        };
        let message = self.causality.step(event, written.is_some());
        if let (Some((chain, clock)), Some((variable, value))) = (message, written) {
            let event = Relevant {
                position,
                strand: event.strand,
                site: event.site,
                variable,
                value,
            };
            self.receive(Message {
                event,
                chain,
                clock,
            })?;
        }
        Ok(())
    }

    /// Tells of an object that was born before the trace began, and has this value.
    pub fn born(&mut self, object: ObjectId, value: i64, names: &dyn Names) -> Result<(), Error> {
        self.written(object, Some(value), 0, names).map(|_| ())
    }

    /// Takes a relevant event with its clock, in any order: for an observer that is told of relevant events alone.
    pub fn receive(&mut self, message: Message) -> Result<(), Error> {
        self.levels.insert(message);
        if self.levels.waiting() > self.limits.window {
            self.start()?;
            self.levels
                .advance(self.limits.window)
                .map_err(|overflow| self.overflow(overflow))?;
            if self.levels.missing() > 0 && self.levels.waiting() > 2 * self.limits.window {
                return Err(Error::Missing {
                    events: self.levels.missing(),
                });
            }
        }
        Ok(())
    }

    /// Sets a variable's initial value, for an observer that is told of relevant events alone.
    ///
    /// # Panics
    ///
    /// Where the property has no variable with this index.
    pub fn initial(&mut self, variable: usize, value: i64) {
        self.variables[variable].initial = Some(value);
    }

    /// The trace is over: explores what is left.
    pub fn finish(mut self) -> Result<Outcome, Error> {
        self.start()?;
        if self.levels.missing() > 0 {
            return Err(Error::Missing {
                events: self.levels.missing(),
            });
        }
        let property = self.property;
        let initial = self
            .variables
            .iter()
            .filter_map(|variable| variable.initial)
            .collect();
        let explored = self
            .levels
            .finish()
            .map_err(|overflow| Error::overflow(&property, overflow))?;
        Ok(Outcome {
            property: property.source().to_string(),
            variables: property.variables().to_vec(),
            initial,
            events: explored.events,
            states: explored.states,
            runs: explored.runs,
            violating: explored.violating,
            observed_broken: explored.observed_broken,
            narrowed: explored.narrowed,
            late: explored.late,
            counterexamples: explored.counterexamples,
            graph: explored.graph,
        })
    }

    /// Builds the first level, where that has not been done: every variable must have a value by now.
    fn start(&mut self) -> Result<(), Error> {
        if self.levels.started() {
            return Ok(());
        }
        let mut initial = Vec::with_capacity(self.variables.len());
        for (index, variable) in self.variables.iter().enumerate() {
            let Some(value) = variable.initial else {
                return Err(Error::UnknownVariable {
                    name: self.property.variables()[index].clone(),
                    known: self.known.iter().cloned().collect(),
                    span: self.property.span(index),
                    source: self.property.source().to_string(),
                });
            };
            initial.push(value);
        }
        self.levels
            .start(&initial)
            .map_err(|overflow| self.overflow(overflow))
    }

    fn overflow(&self, overflow: levels::Overflow) -> Error {
        Error::overflow(&self.property, overflow)
    }

    /// What a write of an object is.
    fn written(
        &mut self,
        object: ObjectId,
        value: Option<i64>,
        position: u64,
        names: &dyn Names,
    ) -> Result<Written, Error> {
        let at = object.0 as usize;
        if self.relevance.len() <= at {
            self.relevance.resize(at + 1, Relevance::Unknown);
        }
        if self.relevance[at] == Relevance::Unknown {
            self.relevance[at] = self.resolve(object, value.is_some(), names)?;
        }
        let Relevance::Variable(index) = self.relevance[at] else {
            return Ok(Written::Irrelevant);
        };
        let Some(value) = value else {
            return Err(Error::NoValue {
                name: self.property.variables()[index].clone(),
                position,
            });
        };
        if self.variables[index].initial.is_none() {
            self.variables[index].initial = Some(value);
            return Ok(Written::Birth);
        }
        Ok(Written::Variable(index, value))
    }

    /// Whether the object is a variable of the property.
    fn resolve(
        &mut self,
        object: ObjectId,
        has_value: bool,
        names: &dyn Names,
    ) -> Result<Relevance, Error> {
        // An object without a name may get one later.
        let Some(name) = names.object(object).name else {
            return Ok(Relevance::Unknown);
        };
        if has_value && self.known.len() < LISTED_NAMES {
            self.known.insert(name.clone());
        }
        if let Some(index) = self
            .property
            .variables()
            .iter()
            .position(|variable| *variable == name)
        {
            if self.variables[index].object.is_some() {
                return Err(Error::Ambiguous {
                    name,
                    span: self.property.span(index),
                    source: self.property.source().to_string(),
                });
            }
            self.variables[index].object = Some(object);
            return Ok(Relevance::Variable(index));
        }
        Ok(Relevance::Irrelevant)
    }

    fn retire(&mut self, object: ObjectId) {
        if let Some(relevance) = self.relevance.get_mut(object.0 as usize) {
            if let Relevance::Variable(index) = *relevance {
                self.variables[index].object = None;
            }
            *relevance = Relevance::Unknown;
        }
    }
}

/// What a write is to a property.
enum Written {
    Irrelevant,
    /// The value that a variable is born with.
    Birth,
    /// A relevant event: the variable and its value.
    Variable(usize, i64),
}
