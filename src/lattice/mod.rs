//! Properties over every run that is consistent with the observed one.
//!
//! From one execution follow others: events that neither caused the other could have come in the
//! other order. This module finds all of them (Rosu and Sen, *Instrumentation Technique for Online
//! Analysis of Multithreaded Programs*) and checks a [`Property`] on each: [`Causality`] extracts
//! the causal order of the relevant events, which are the writes of variables that the property
//! names; the lattice of the global states is then built level by level, with the set of
//! [`property::MonitorState`]s that the runs to each state lead to.
//!
//! # Variables and their values
//!
//! A variable of a property is the object that has its name
//! ([`ObjectInfo::name`](crate::trace::ObjectInfo::name)). An [`Op::Value`] gives the value that
//! its strand's next write stores. An [`Op::Born`], or where a trace has none the *first* write
//! with a value that an object gets, is its birth: it sets the initial value, and is neither a
//! relevant event nor ordered with anything, whoever recorded it. All writes after it are relevant
//! events. A variable that retires keeps its value; a later object of the same name continues it,
//! and its birth is an ordinary write. So it is with an object that gets another name. Two objects
//! of one name that live at the same time are an [error](Error).
//!
//! # Bounds
//!
//! A level is built when [`Limits::window`] later events have been seen, so memory does not grow
//! with the run. An event that is concurrent with more events than that is put where it still can
//! be, and the [`Outcome`] says that not all runs were explored; as it does when a level had more
//! than [`Limits::width`] states. Whatever is reported as violating is a consistent run in either
//! case.
//!
//! ```
//! use aerodrome::lattice::{Lattice, Limits, Property};
//! # use aerodrome::trace::*;
//! # let mut names = Tables::new();
//! # for (id, name) in (0..).zip(["landing", "approved", "radio"]) {
//! #     let info = ObjectInfo { name: Some(name.to_string()), ..ObjectInfo::default() };
//! #     names.define_object(ObjectId(id), &info);
//! # }
//! # let names = &names;
//! # let (landing, approved, radio) = (0, 1, 2);
//! # let event = |strand, op, target| Event::new(StrandId(strand), op, target, SiteId::NONE);
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

use crate::dense::Dense;
use crate::trace::{Event, Names, ObjectId, Op, StrandId};
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
    /// How much may be done for a level: each state costs the square of the number of chains of
    /// events, which is that of the threads that write at once, as a rule.
    pub comparisons: usize,
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
            comparisons: 1 << 22,
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
    /// Whether these come in the order that was observed; otherwise in another that is consistent
    /// with it.
    pub as_observed: bool,
    /// The state after them.
    pub start: Box<[i64]>,
    /// The run from there; the property is broken in the last state. Empty where it is broken from
    /// the start.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Relevance {
    /// No write has been seen.
    #[default]
    Unknown,
    Irrelevant,
    /// It has the name of the variable with this index.
    Variable(usize),
}

/// A variable of the property.
#[derive(Clone, Debug, Default)]
struct Variable {
    initial: Option<i64>,
    /// The object that is this variable now.
    object: Option<ObjectId>,
    /// That object is somebody else's: one of the trace's own takes its place.
    borrowed: bool,
    /// There is another to borrow.
    contested: bool,
    /// What was done to the objects that were this variable before.
    past: Clock,
    /// Where an object of the name was first written without a value, before any was born.
    unvalued: Option<u64>,
}

/// How many names an error about an unknown one lists.
const LISTED_NAMES: usize = 30;

/// Checks a property on all runs that are consistent with the trace it is fed; see [the module's
/// page](self).
#[derive(Debug)]
pub struct Lattice {
    property: Property,
    limits: Limits,
    causality: Causality,
    relevance: Dense<ObjectId, Relevance>,
    variables: Vec<Variable>,
    /// The value of each strand's next write.
    values: Dense<StrandId, Option<i64>>,
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
            relevance: Dense::new(),
            variables,
            values: Dense::new(),
            known: BTreeSet::new(),
            levels,
        }
    }

    /// Takes the next event of a well-formed trace, as it was recorded: blocks order nothing here,
    /// and a forked strand is always a strand of its own.
    ///
    /// After an error nothing more can be learnt; the error is the verdict.
    pub fn step(&mut self, event: &Event, position: u64, names: &dyn Names) -> Result<(), Error> {
        let written = match event.op {
            Op::Value => {
                *self.values.entry(event.strand) = Some(event.value());
                return Ok(());
            }
            op if op.changes_value() => {
                let value = self.values.take(event.strand);
                match self.written(event.object(), value, position, names)? {
                    Written::Birth => return Ok(()),
                    Written::Irrelevant => None,
                    Written::Variable(index, value) => Some((index, value)),
                }
            }
            Op::Born => {
                let value = self.values.take(event.strand);
                match self.birth(event.object(), value, position, names)? {
                    // In the place of another object, it is the variable's next value.
                    Written::Variable(index, value) => Some((index, value)),
                    _ => return Ok(()),
                }
            }
            Op::Retire => {
                self.retire(event.object());
                None
            }
            // A read that predictions know the value of.
            Op::Read | Op::Vain(_) | Op::CompareExchangeFailed => {
                self.values.take(event.strand);
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

    /// The property that is checked.
    pub fn property(&self) -> &Property {
        &self.property
    }

    /// Tells of an object that was born before the trace began, and has this value, or one that was
    /// not recorded.
    pub fn born(
        &mut self,
        object: ObjectId,
        value: Option<i64>,
        names: &dyn Names,
    ) -> Result<(), Error> {
        self.birth(object, value, 0, names).map(|_| ())
    }

    /// Tells of an object that was born outside of the trace, and has this value: it is the
    /// variable of its name for as long as the trace has no such object itself.
    pub fn borrow(&mut self, object: ObjectId, value: Option<i64>, names: &dyn Names) {
        let Relevance::Variable(index) = self.resolve(object, value.is_some(), names) else {
            return;
        };
        let variable = &mut self.variables[index];
        if variable.object.is_none() && (variable.borrowed || variable.initial.is_none()) {
            variable.initial = value;
            variable.object = Some(object);
            variable.borrowed = true;
        } else if variable.borrowed {
            variable.contested |= variable.object != Some(object);
        }
    }

    /// Tells that the trace touches an object that was born outside of it, and has this value: from
    /// here on it is the trace's own.
    pub fn adopt(
        &mut self,
        object: ObjectId,
        value: Option<i64>,
        names: &dyn Names,
    ) -> Result<(), Error> {
        match self.relevance.get(object) {
            Some(Relevance::Irrelevant) => Ok(()),
            Some(&Relevance::Variable(index)) if self.is_own(index, object) => Ok(()),
            _ => self.born(object, value, names),
        }
    }

    /// Takes a relevant event with its clock, in any order: for an observer that is told of
    /// relevant events alone.
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
        let initial = self.variables.iter().filter_map(|it| it.initial).collect();
        self.levels
            .finish(&self.property, initial)
            .map_err(|overflow| Error::overflow(&self.property, overflow))
    }

    /// Builds the first level, where that has not been done: every variable must have a value by
    /// now.
    fn start(&mut self) -> Result<(), Error> {
        if self.levels.started() {
            return Ok(());
        }
        let mut initial = Vec::with_capacity(self.variables.len());
        for (index, variable) in self.variables.iter().enumerate() {
            if variable.borrowed && variable.contested {
                return Err(self.ambiguous(index));
            }
            let Some(value) = variable.initial else {
                let name = &self.property.variables()[index];
                if let Some(position) = variable.unvalued {
                    return Err(Error::NoValue {
                        name: name.clone(),
                        position,
                    });
                }
                return Err(Error::UnknownVariable {
                    name: name.clone(),
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
        let relevance = match self.relevance.get(object) {
            Some(&known) if known != Relevance::Unknown => known,
            _ => self.resolve(object, value.is_some(), names),
        };
        let Relevance::Variable(index) = relevance else {
            return Ok(Written::Irrelevant);
        };
        let variable = &mut self.variables[index];
        if value.is_none() && variable.initial.is_none() {
            // A text has the name from the beginning, the program may have given it later: values
            // are known from the birth on, if there is one.
            variable.unvalued.get_or_insert(position);
            return Ok(Written::Irrelevant);
        }
        self.take(index, object, value, position)
    }

    /// What the birth of an object is: that of one which has got another name makes it another
    /// variable, under the same one it changes nothing.
    fn birth(
        &mut self,
        object: ObjectId,
        value: Option<i64>,
        position: u64,
        names: &dyn Names,
    ) -> Result<Written, Error> {
        let before = self.relevance.get(object).copied();
        let Relevance::Variable(index) = self.resolve(object, value.is_some(), names) else {
            self.leave(before, object);
            return Ok(Written::Irrelevant);
        };
        if self.is_own(index, object) {
            return Ok(Written::Irrelevant);
        }
        self.leave(before, object);
        self.take(index, object, value, position)
    }

    /// Whether the object is this variable now, and the trace's own.
    fn is_own(&self, index: usize, object: ObjectId) -> bool {
        let variable = &self.variables[index];
        variable.object == Some(object) && !variable.borrowed
    }

    /// The object, which is this variable or becomes it, gets a value.
    fn take(
        &mut self,
        index: usize,
        object: ObjectId,
        value: Option<i64>,
        position: u64,
    ) -> Result<Written, Error> {
        let Some(value) = value else {
            return Err(Error::NoValue {
                name: self.property.variables()[index].clone(),
                position,
            });
        };
        if self.is_own(index, object) {
            return Ok(Written::Variable(index, value));
        }
        let started = self.levels.started();
        let variable = &mut self.variables[index];
        if variable.object.is_some() && !variable.borrowed {
            return Err(self.ambiguous(index));
        }
        let first = variable.initial.is_none() || variable.borrowed && !started;
        variable.object = Some(object);
        variable.borrowed = false;
        if first {
            variable.initial = Some(value);
            return Ok(Written::Birth);
        }
        let past = std::mem::take(&mut variable.past);
        self.causality.follow(object, &past);
        Ok(Written::Variable(index, value))
    }

    fn ambiguous(&self, index: usize) -> Error {
        Error::Ambiguous {
            name: self.property.variables()[index].clone(),
            span: self.property.span(index),
            source: self.property.source().to_string(),
        }
    }

    /// Finds out whether the object has the name of a variable. One without a name has it until a
    /// birth tells of one.
    fn resolve(&mut self, object: ObjectId, has_value: bool, names: &dyn Names) -> Relevance {
        let mut relevance = Relevance::Irrelevant;
        if let Some(name) = names.object(object).name {
            let mut variables = self.property.variables().iter();
            if let Some(index) = variables.position(|variable| *variable == name) {
                relevance = Relevance::Variable(index);
            }
            if has_value && self.known.len() < LISTED_NAMES {
                self.known.insert(name);
            }
        }
        *self.relevance.entry(object) = relevance;
        relevance
    }

    /// The object is no longer the variable that it may have been.
    fn leave(&mut self, relevance: Option<Relevance>, object: ObjectId) {
        let Some(Relevance::Variable(index)) = relevance else {
            return;
        };
        let variable = &mut self.variables[index];
        if variable.object == Some(object) {
            variable.object = None;
            variable.past = self.causality.past(object);
        }
    }

    fn retire(&mut self, object: ObjectId) {
        if let Some(relevance) = self.relevance.get_mut(object) {
            let relevance = std::mem::replace(relevance, Relevance::Unknown);
            self.leave(Some(relevance), object);
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
