//! Monitors: a formula decided along a run, state by state.
//!
//! Every temporal operator has a recursive definition over the state before and the state now, so
//! one bit each is all that a run's past can mean to the formula (Havelund and Rosu, *Synthesizing
//! Monitors for Safety Properties*). A step computes every subformula once, operands first.

use super::Span;
use super::formula::{Atom, Formula};

/// How many temporal operators a property may have.
pub const MAX_OPERATORS: usize = 128;

/// How many different comparisons and variables used as truth values a property may have.
pub const MAX_ATOMS: usize = 128;

/// What a run so far means to a formula: one bit for each temporal operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonitorState(u128);

impl MonitorState {
    fn get(self, bit: u8) -> bool {
        self.0 >> bit & 1 != 0
    }

    fn set(&mut self, bit: u8, value: bool) {
        self.0 |= u128::from(value) << bit;
    }
}

/// The atoms that are true in one state: one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truths(u128);

/// One subformula. Operands are the numbers of earlier ones; the `u8` is the operator's bit.
#[derive(Clone, Copy, Debug)]
enum Instruction {
    Constant(bool),
    Atom(u8),
    Not(usize),
    And(usize, usize),
    Or(usize, usize),
    Implies(usize, usize),
    Same(usize, usize),
    Previously(usize, u8),
    Once(usize, u8),
    Historically(usize, u8),
    Since(usize, usize, u8),
    Interval(usize, usize, u8),
    Start(usize, u8),
    End(usize, u8),
}

/// Decides one formula along any number of runs: what it remembers of a run is a [`MonitorState`].
#[derive(Clone, Debug)]
pub struct Monitor {
    atoms: Vec<Atom>,
    instructions: Vec<Instruction>,
    operators: u8,
    values: Vec<bool>,
}

impl Monitor {
    pub(super) fn new(formula: &Formula) -> Result<Monitor, String> {
        let mut monitor = Monitor {
            atoms: Vec::new(),
            instructions: Vec::new(),
            operators: 0,
            values: Vec::new(),
        };
        monitor.compile(formula)?;
        monitor.values = vec![false; monitor.instructions.len()];
        Ok(monitor)
    }

    /// Appends the formula's instructions; the last one's number is the formula's.
    fn compile(&mut self, formula: &Formula) -> Result<usize, String> {
        let instruction = match formula {
            Formula::Constant(value) => Instruction::Constant(*value),
            Formula::Atom(atom) => Instruction::Atom(self.atom(atom)?),
            Formula::Not(a) => Instruction::Not(self.compile(a)?),
            Formula::And(a, b) => Instruction::And(self.compile(a)?, self.compile(b)?),
            Formula::Or(a, b) => Instruction::Or(self.compile(a)?, self.compile(b)?),
            Formula::Implies(a, b) => Instruction::Implies(self.compile(a)?, self.compile(b)?),
            Formula::Same(a, b) => Instruction::Same(self.compile(a)?, self.compile(b)?),
            Formula::Differ(a, b) => {
                let same = Instruction::Same(self.compile(a)?, self.compile(b)?);
                Instruction::Not(self.push(same))
            }
            Formula::Previously(a) => Instruction::Previously(self.compile(a)?, self.operator()?),
            Formula::Once(a) => Instruction::Once(self.compile(a)?, self.operator()?),
            Formula::Historically(a) => {
                Instruction::Historically(self.compile(a)?, self.operator()?)
            }
            Formula::Since(a, b) => {
                Instruction::Since(self.compile(a)?, self.compile(b)?, self.operator()?)
            }
            Formula::Interval(a, b) => {
                Instruction::Interval(self.compile(a)?, self.compile(b)?, self.operator()?)
            }
            Formula::Start(a) => Instruction::Start(self.compile(a)?, self.operator()?),
            Formula::End(a) => Instruction::End(self.compile(a)?, self.operator()?),
        };
        Ok(self.push(instruction))
    }

    fn push(&mut self, instruction: Instruction) -> usize {
        self.instructions.push(instruction);
        self.instructions.len() - 1
    }

    fn operator(&mut self) -> Result<u8, String> {
        if usize::from(self.operators) == MAX_OPERATORS {
            return Err(format!(
                "expected at most {MAX_OPERATORS} temporal operators, found more"
            ));
        }
        self.operators += 1;
        Ok(self.operators - 1)
    }

    fn atom(&mut self, atom: &Atom) -> Result<u8, String> {
        let index = self
            .atoms
            .iter()
            .position(|known| known == atom)
            .unwrap_or(self.atoms.len());
        if index == MAX_ATOMS {
            return Err(format!(
                "expected at most {MAX_ATOMS} different comparisons, found more"
            ));
        }
        if index == self.atoms.len() {
            self.atoms.push(atom.clone());
        }
        Ok(index as u8)
    }

    /// Which atoms are true in a state; where arithmetic leaves `i64`, the place instead. All atoms
    /// are computed, whatever the others are.
    pub fn truths(&self, state: &[i64]) -> Result<Truths, Span> {
        let mut truths = 0;
        for (bit, atom) in self.atoms.iter().enumerate() {
            truths |= u128::from(atom.evaluate(state)?) << bit;
        }
        Ok(Truths(truths))
    }

    /// A run's first state: what is to be remembered, and whether the formula is true.
    pub fn first(&mut self, truths: Truths) -> (MonitorState, bool) {
        self.advance(None, truths)
    }

    /// A run's next state: what is to be remembered, and whether the formula is true.
    pub fn next(&mut self, past: MonitorState, truths: Truths) -> (MonitorState, bool) {
        self.advance(Some(past), truths)
    }

    #[inline]
    fn advance(&mut self, past: Option<MonitorState>, truths: Truths) -> (MonitorState, bool) {
        let mut now = MonitorState(0);
        let mut value = true;
        for (index, instruction) in self.instructions.iter().enumerate() {
            let values = &self.values;
            let past = |bit| past.map(|past| past.get(bit));
            value = match *instruction {
                Instruction::Constant(value) => value,
                Instruction::Atom(bit) => truths.0 >> bit & 1 != 0,
                Instruction::Not(a) => !values[a],
                Instruction::And(a, b) => values[a] && values[b],
                Instruction::Or(a, b) => values[a] || values[b],
                Instruction::Implies(a, b) => !values[a] || values[b],
                Instruction::Same(a, b) => values[a] == values[b],
                Instruction::Previously(a, bit) => {
                    now.set(bit, values[a]);
                    past(bit).unwrap_or(values[a])
                }
                Instruction::Start(a, bit) => {
                    now.set(bit, values[a]);
                    values[a] && !past(bit).unwrap_or(true)
                }
                Instruction::End(a, bit) => {
                    now.set(bit, values[a]);
                    !values[a] && past(bit).unwrap_or(false)
                }
                Instruction::Once(a, bit) => {
                    let value = values[a] || past(bit).unwrap_or(false);
                    now.set(bit, value);
                    value
                }
                Instruction::Historically(a, bit) => {
                    let value = values[a] && past(bit).unwrap_or(true);
                    now.set(bit, value);
                    value
                }
                Instruction::Since(a, b, bit) => {
                    let value = values[b] || values[a] && past(bit).unwrap_or(false);
                    now.set(bit, value);
                    value
                }
                Instruction::Interval(a, b, bit) => {
                    let value = !values[b] && (values[a] || past(bit).unwrap_or(false));
                    now.set(bit, value);
                    value
                }
            };
            self.values[index] = value;
        }
        (now, value)
    }
}
