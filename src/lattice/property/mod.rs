//! Properties: past-time temporal formulas over named variables.
//!
//! A property is a formula that must be true in every state of a run, the first one included. What
//! it says of the past it says of the states of that run so far.
//!
//! # Grammar
//!
//! From the loosest binding to the tightest; a name in quotes is a token:
//!
//! ```text
//! formula     = disjunction [ "->" formula ]                               right to left
//! disjunction = conjunction { "||" conjunction }
//! conjunction = since { "&&" since }
//! since       = prefix { "since" prefix }                                  left to right
//! prefix      = ( "previously" | "once" | "historically" ) prefix | comparison
//! comparison  = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum ]      does not chain
//! sum         = product { ( "+" | "-" ) product }
//! product     = unary { "*" unary }
//! unary       = ( "!" | "-" ) unary | primary
//! primary     = number | "true" | "false" | name | "(" formula ")"
//!             | "[" formula "," formula ")" | "start" "(" formula ")" | "end" "(" formula ")"
//! name        = letter or "_", then letters, digits, "_", "." and "::"; or anything between single quotes
//! ```
//!
//! A word of the temporal operators may also stand where a unary operator may: `!once p` is `!(once
//! p)`. `always` is another word for `historically`. `start` and `end` are operators before a
//! parenthesis and names elsewhere.
//!
//! # Meaning
//!
//! | formula | is true in a state when |
//! |---|---|
//! | `previously p` | `p` was true in the state before; in the first state, when `p` is true |
//! | `once p` | `p` is true or was in some earlier state |
//! | `historically p` | `p` is true and was in all earlier states |
//! | `p since q` | `q` is true or was once, and `p` has been true in all states after that one |
//! | `[p, q)` | `p` is true or was once, and `q` has been false in that state and ever since |
//! | `start(p)` | `p && !previously p` |
//! | `end(p)` | `!p && previously p` |
//!
//! The first state counts as if it had always been, so nothing starts or ends in it.
//!
//! Numbers are `i64`; arithmetic that leaves `i64` in some state is an
//! [error](crate::lattice::Error::Overflow), not a verdict. A variable is a number or a truth value
//! as its place asks: alone it means that it is not zero, and a `bool` is recorded as 0 or 1. `==`
//! and `!=` compare numbers with numbers and truth values with truth values.
//!
//! ```
//! use aerodrome::lattice::Property;
//!
//! let property: Property = "landing -> [approved, !radio)".parse().unwrap();
//! assert_eq!(property.variables(), ["landing", "approved", "radio"]);
//!
//! let error = "x > 0 -> [y == 0, y > z".parse::<Property>().unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "expected `)`, found the end of the property\n  |\n  | x > 0 -> [y == 0, y > z\n  |                        ^"
//! );
//! ```

mod formula;
mod lexer;
mod monitor;
mod parser;

use std::fmt;
use std::str::FromStr;

pub use formula::{Atom, Comparison, Expression, Formula};
pub use monitor::{MAX_ATOMS, MAX_OPERATORS, Monitor, MonitorState, Truths};

/// A part of a property's text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    fn to(self, other: Span) -> Span {
        Span {
            start: self.start,
            end: other.end,
        }
    }
}

/// A property that could not be understood: what was expected, what was found, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// The property's text.
    pub source: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        point(f, &self.source, self.span)
    }
}

impl std::error::Error for SyntaxError {}

/// Shows the part of a property's text that a message is about.
pub(crate) fn point(f: &mut fmt::Formatter<'_>, source: &str, span: Span) -> fmt::Result {
    // A property may be written over several lines; only the one in question is shown.
    let line_start = source[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = source[span.start..]
        .find('\n')
        .map_or(source.len(), |at| span.start + at);
    let before = source[line_start..span.start].chars();
    let marked = source[span.start..span.end.min(line_end).max(span.start)]
        .chars()
        .count()
        .max(1);
    let line: String = source[line_start..line_end]
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    write!(
        f,
        "\n  |\n  | {line}\n  | {}{}",
        " ".repeat(before.count()),
        "^".repeat(marked)
    )
}

/// A formula that was parsed, with the text it was parsed from.
#[derive(Clone, Debug)]
pub struct Property {
    source: String,
    formula: Formula,
    variables: Vec<String>,
    /// Where each variable occurs first.
    spans: Vec<Span>,
    monitor: Monitor,
}

impl Property {
    /// The text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The formula. It prints itself with the variables' names: see [`Formula::display`].
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// The names of its variables, each once, in the order of their first occurrence. A state is
    /// their values in this order.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Where the variable occurs first.
    pub(crate) fn span(&self, variable: usize) -> Span {
        self.spans[variable]
    }

    /// What decides the formula along a run.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }
}

impl FromStr for Property {
    type Err = SyntaxError;

    fn from_str(source: &str) -> Result<Property, SyntaxError> {
        let error = |(message, span)| SyntaxError {
            message,
            span,
            source: source.to_string(),
        };
        let parsed = parser::parse(source).map_err(error)?;
        let monitor = Monitor::new(&parsed.formula).map_err(|message| {
            error((
                message,
                Span {
                    start: 0,
                    end: source.trim_end().len(),
                },
            ))
        })?;
        Ok(Property {
            source: source.to_string(),
            formula: parsed.formula,
            variables: parsed.variables,
            spans: parsed.spans,
            monitor,
        })
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.formula.display(&self.variables).fmt(f)
    }
}
