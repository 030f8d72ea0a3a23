//! Formulas as data, and their text.

use super::Span;
use super::lexer::is_plain_name;
use std::fmt;

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the operators")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

/// A number computed from a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Number(i64),
    /// The value of the variable with this index.
    Variable(usize),
    /// `-a`
    Negative(Box<Expression>),
    /// `a + b`
    Sum(Box<Expression>, Box<Expression>),
    /// `a - b`
    Difference(Box<Expression>, Box<Expression>),
    /// `a * b`
    Product(Box<Expression>, Box<Expression>),
}

impl Expression {
    /// The number, or nothing where the arithmetic leaves `i64`.
    pub fn evaluate(&self, state: &[i64]) -> Option<i64> {
        match self {
            Expression::Number(number) => Some(*number),
            Expression::Variable(index) => Some(state[*index]),
            Expression::Negative(a) => a.evaluate(state)?.checked_neg(),
            Expression::Sum(a, b) => a.evaluate(state)?.checked_add(b.evaluate(state)?),
            Expression::Difference(a, b) => a.evaluate(state)?.checked_sub(b.evaluate(state)?),
            Expression::Product(a, b) => a.evaluate(state)?.checked_mul(b.evaluate(state)?),
        }
    }
}

/// What is true or false of one state alone.
#[derive(Clone, Debug)]
pub enum Atom {
    /// The variable is not zero.
    True(usize),
    /// Two numbers compare so. Equality of atoms does not look at the place.
    Compare(Comparison, Expression, Expression, Span),
}

impl PartialEq for Atom {
    fn eq(&self, other: &Atom) -> bool {
        match (self, other) {
            (Atom::True(a), Atom::True(b)) => a == b,
            (Atom::Compare(a, b, c, _), Atom::Compare(x, y, z, _)) => (a, b, c) == (x, y, z),
            _ => false,
        }
    }
}

impl Eq for Atom {}

impl Atom {
    /// Whether it is true in a state; where the arithmetic leaves `i64`, the place instead.
    pub fn evaluate(&self, state: &[i64]) -> Result<bool, Span> {
        match self {
            Atom::True(index) => Ok(state[*index] != 0),
            Atom::Compare(comparison, a, b, span) => {
                let (a, b) = a.evaluate(state).zip(b.evaluate(state)).ok_or(*span)?;
                Ok(comparison.holds(a, b))
            }
        }
    }
}

/// A past-time temporal formula; [the module's page](super) says what each means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the operators")]
pub enum Formula {
    Constant(bool),
    Atom(Atom),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Implies(Box<Formula>, Box<Formula>),
    /// `p == q` of two truth values.
    Same(Box<Formula>, Box<Formula>),
    /// `p != q` of two truth values.
    Differ(Box<Formula>, Box<Formula>),
    Previously(Box<Formula>),
    Once(Box<Formula>),
    Historically(Box<Formula>),
    Since(Box<Formula>, Box<Formula>),
    /// `[p, q)`
    Interval(Box<Formula>, Box<Formula>),
    Start(Box<Formula>),
    End(Box<Formula>),
}

/// How tightly a printed part binds; the levels of the grammar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Implication,
    Disjunction,
    Conjunction,
    Since,
    Prefix,
    Comparison,
    Sum,
    Product,
    Unary,
    Primary,
}

impl Formula {
    /// The formula as text that parses to it again, given the variables' names.
    pub fn display<'a>(&'a self, names: &'a [String]) -> impl fmt::Display + 'a {
        Shown {
            formula: self,
            names,
        }
    }

    fn level(&self) -> Level {
        match self {
            Formula::Implies(..) => Level::Implication,
            Formula::Or(..) => Level::Disjunction,
            Formula::And(..) => Level::Conjunction,
            Formula::Since(..) => Level::Since,
            Formula::Previously(_) | Formula::Once(_) | Formula::Historically(_) => Level::Prefix,
            Formula::Same(..) | Formula::Differ(..) | Formula::Atom(Atom::Compare(..)) => {
                Level::Comparison
            }
            Formula::Not(_) => Level::Unary,
            Formula::Constant(_)
            | Formula::Atom(Atom::True(_))
            | Formula::Interval(..)
            | Formula::Start(_)
            | Formula::End(_) => Level::Primary,
        }
    }
}

struct Shown<'a> {
    formula: &'a Formula,
    names: &'a [String],
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.formula(f, self.formula, Level::Implication)
    }
}

impl Shown<'_> {
    fn formula(
        &self,
        f: &mut fmt::Formatter<'_>,
        formula: &Formula,
        at_least: Level,
    ) -> fmt::Result {
        if formula.level() < at_least {
            f.write_str("(")?;
            self.formula(f, formula, Level::Implication)?;
            return f.write_str(")");
        }
        let mut two = |a: &Formula, left: Level, word: &str, b: &Formula, right: Level| {
            self.formula(f, a, left)?;
            write!(f, " {word} ")?;
            self.formula(f, b, right)
        };
        match formula {
            Formula::Implies(a, b) => two(a, Level::Disjunction, "->", b, Level::Implication),
            Formula::Or(a, b) => two(a, Level::Disjunction, "||", b, Level::Conjunction),
            Formula::And(a, b) => two(a, Level::Conjunction, "&&", b, Level::Since),
            Formula::Since(a, b) => two(a, Level::Since, "since", b, Level::Prefix),
            Formula::Same(a, b) => self.truth_values(f, a, "==", b),
            Formula::Differ(a, b) => self.truth_values(f, a, "!=", b),
            Formula::Previously(a) => self.prefix(f, "previously ", a, Level::Prefix),
            Formula::Once(a) => self.prefix(f, "once ", a, Level::Prefix),
            Formula::Historically(a) => self.prefix(f, "historically ", a, Level::Prefix),
            Formula::Not(a) => self.prefix(f, "!", a, Level::Unary),
            Formula::Constant(value) => write!(f, "{value}"),
            Formula::Atom(Atom::True(index)) => self.name(f, *index),
            Formula::Atom(Atom::Compare(comparison, a, b, _)) => {
                self.number(f, a, Level::Sum)?;
                write!(f, " {} ", comparison.symbol())?;
                self.number(f, b, Level::Sum)
            }
            Formula::Interval(a, b) => {
                f.write_str("[")?;
                self.formula(f, a, Level::Implication)?;
                f.write_str(", ")?;
                self.formula(f, b, Level::Implication)?;
                f.write_str(")")
            }
            Formula::Start(a) => self.call(f, "start", a),
            Formula::End(a) => self.call(f, "end", a),
        }
    }

    /// `a == b` of two variables would compare their numbers: one of them is shown so that it is a
    /// truth value.
    fn truth_values(
        &self,
        f: &mut fmt::Formatter<'_>,
        a: &Formula,
        word: &str,
        b: &Formula,
    ) -> fmt::Result {
        let variable = |formula: &Formula| matches!(formula, Formula::Atom(Atom::True(_)));
        if variable(a) && variable(b) {
            f.write_str("!!")?;
        }
        self.formula(f, a, Level::Sum)?;
        write!(f, " {word} ")?;
        self.formula(f, b, Level::Sum)
    }

    fn prefix(
        &self,
        f: &mut fmt::Formatter<'_>,
        word: &str,
        a: &Formula,
        at_least: Level,
    ) -> fmt::Result {
        f.write_str(word)?;
        self.formula(f, a, at_least)
    }

    fn call(&self, f: &mut fmt::Formatter<'_>, word: &str, a: &Formula) -> fmt::Result {
        write!(f, "{word}(")?;
        self.formula(f, a, Level::Implication)?;
        f.write_str(")")
    }

    fn name(&self, f: &mut fmt::Formatter<'_>, index: usize) -> fmt::Result {
        let name = &self.names[index];
        if is_plain_name(name) {
            f.write_str(name)
        } else {
            write!(f, "'{name}'")
        }
    }

    fn number(
        &self,
        f: &mut fmt::Formatter<'_>,
        expression: &Expression,
        at_least: Level,
    ) -> fmt::Result {
        let level = match expression {
            Expression::Sum(..) | Expression::Difference(..) => Level::Sum,
            Expression::Product(..) => Level::Product,
            Expression::Negative(_) => Level::Unary,
            Expression::Number(_) | Expression::Variable(_) => Level::Primary,
        };
        if level < at_least {
            f.write_str("(")?;
            self.number(f, expression, Level::Sum)?;
            return f.write_str(")");
        }
        let mut two = |a, left, word: &str, b, right| {
            self.number(f, a, left)?;
            write!(f, " {word} ")?;
            self.number(f, b, right)
        };
        match expression {
            Expression::Sum(a, b) => two(a, Level::Sum, "+", b, Level::Product),
            Expression::Difference(a, b) => two(a, Level::Sum, "-", b, Level::Product),
            Expression::Product(a, b) => two(a, Level::Product, "*", b, Level::Unary),
            Expression::Negative(a) => {
                f.write_str("-")?;
                // `-` before digits is a negative number, not a negation.
                let digits = matches!(**a, Expression::Number(number) if number >= 0);
                if digits {
                    self.parenthesised(f, a)
                } else {
                    self.number(f, a, Level::Unary)
                }
            }
            Expression::Number(number) => write!(f, "{number}"),
            Expression::Variable(index) => self.name(f, *index),
        }
    }

    fn parenthesised(&self, f: &mut fmt::Formatter<'_>, expression: &Expression) -> fmt::Result {
        f.write_str("(")?;
        self.number(f, expression, Level::Sum)?;
        f.write_str(")")
    }
}
