//! Why a property could not be decided.

use super::levels::Overflow;
use super::property::{Property, Span, SyntaxError, point};
use std::fmt;

/// Why a property could not be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The property was not understood.
    Syntax(SyntaxError),
    /// The property names a variable that no write with a value had.
    UnknownVariable {
        /// The name.
        name: String,
        /// The names that there are, the first thirty.
        known: Vec<String>,
        /// Where the property names it first.
        span: Span,
        /// The property's text.
        source: String,
    },
    /// Two objects that live at the same time have the name.
    Ambiguous {
        /// The name.
        name: String,
        /// Where the property names it first.
        span: Span,
        /// The property's text.
        source: String,
    },
    /// A variable of the property was written or born, and the trace does not say with what value.
    NoValue {
        /// Its name.
        name: String,
        /// The position of the event; 0 where it came before the trace.
        position: u64,
    },
    /// Arithmetic of the property leaves `i64` in a state of some run.
    Overflow {
        /// The state: names and values.
        state: Vec<(String, i64)>,
        /// Where the arithmetic is.
        span: Span,
        /// The property's text.
        source: String,
    },
    /// Relevant events that must exist have not arrived.
    Missing {
        /// How many.
        events: u64,
    },
}

impl Error {
    pub(super) fn overflow(property: &Property, overflow: Overflow) -> Error {
        Error::Overflow {
            state: property
                .variables()
                .iter()
                .cloned()
                .zip(overflow.state)
                .collect(),
            span: overflow.span,
            source: property.source().to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Syntax(error) => error.fmt(f),
            Error::UnknownVariable {
                name,
                known,
                span,
                source,
            } => {
                write!(
                    f,
                    "expected the name of a variable whose values are known, found `{name}`"
                )?;
                point(f, source, *span)?;
                if known.is_empty() {
                    f.write_str("\n  = the trace has no other names with values")
                } else {
                    write!(f, "\n  = names that have values: {}", known.join(", "))
                }
            }
            Error::Ambiguous { name, span, source } => {
                write!(
                    f,
                    "expected one variable named `{name}`, found two that live at the same time"
                )?;
                point(f, source, *span)
            }
            Error::NoValue { name, position } => {
                match position {
                    0 => write!(
                        f,
                        "expected `{name}` to begin with a value, found none that was recorded"
                    )?,
                    _ => write!(
                        f,
                        "event {position} writes `{name}`: expected its value before it, found none"
                    )?,
                }
                f.write_str("\n  = only integers of i64 and truth values are recorded")
            }
            Error::Overflow {
                state,
                span,
                source,
            } => {
                f.write_str("the result is outside i64")?;
                point(f, source, *span)?;
                let state: Vec<_> = state
                    .iter()
                    .map(|(name, value)| format!("{name} = {value}"))
                    .collect();
                write!(f, "\n  = in the state {}", state.join(", "))
            }
            Error::Missing { events } => {
                write!(
                    f,
                    "expected all relevant events in the end, found {events} missing"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<SyntaxError> for Error {
    fn from(error: SyntaxError) -> Error {
        Error::Syntax(error)
    }
}
