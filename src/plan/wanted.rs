//! How much is to be explored, as tests and settings say it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::Name;

/// How a test wants to be explored, as far as somebody says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// How many schedules.
    pub(crate) schedules: Option<u64>,
    pub(crate) plan: Option<Name>,
    pub(crate) seed: Option<u64>,
    pub(crate) time: Option<Duration>,
    /// Whether the test is to panic.
    pub(crate) panics: bool,
}

impl Wanted {
    /// Nothing is said.
    pub(crate) const fn nothing() -> Self {
        Wanted {
            schedules: None,
            plan: None,
            seed: None,
            time: None,
            panics: false,
        }
    }

    /// What `self` says, and where it says nothing, what `other` says.
    pub(crate) fn or(self, other: Wanted) -> Wanted {
        Wanted {
            schedules: self.schedules.or(other.schedules),
            plan: self.plan.or(other.plan),
            seed: self.seed.or(other.seed),
            time: self.time.or(other.time),
            panics: self.panics || other.panics,
        }
    }
}

/// A time as it is written in settings: `5s`, `500ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

/// What is no [`Time`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeError(String);

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a time such as `5s` or `500ms`, found `{}`",
            self.0
        )
    }
}

impl FromStr for Time {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let (digits, unit) = match text.strip_suffix("ms") {
            Some(digits) => (digits, 1),
            None => (text.strip_suffix('s').unwrap_or(""), 1000),
        };
        let number: u32 = digits.parse().map_err(|_| TimeError(text.to_owned()))?;
        Ok(Time(Duration::from_millis(u64::from(number) * unit)))
    }
}
