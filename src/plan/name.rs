//! The names of plans.

use super::{All, Mix, Pct, Plan, Pos, Rf, Surw, Walk};
use std::fmt;
use std::str::FromStr;

/// A plan by its name.
///
/// ```
/// use aerodrome::plan::Name;
///
/// assert_eq!("pos".parse(), Ok(Name::Pos));
/// assert_eq!(Name::Pos.to_string(), "pos");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A random walk.
    Walk,
    /// Random priorities of strands.
    Pct,
    /// Random priorities of operations.
    Pos,
    /// Strands weighted by what they have left.
    Surw,
    /// Obligations on what reads see.
    Rf,
    /// Every schedule, up to equivalence.
    All,
    /// What is best at the time.
    Mix,
}

impl Name {
    /// All of them.
    pub const ALL: [Name; 7] = [
        Name::Walk,
        Name::Pct,
        Name::Pos,
        Name::Surw,
        Name::Rf,
        Name::All,
        Name::Mix,
    ];

    /// All names, each with the letter that stands for it in a schedule.
    const ROWS: [(Name, &str, &str); 7] = [
        (Name::Walk, "walk", "w"),
        (Name::Pct, "pct", "c"),
        (Name::Pos, "pos", "p"),
        (Name::Surw, "surw", "s"),
        (Name::Rf, "rf", "r"),
        (Name::All, "all", "a"),
        (Name::Mix, "mix", "m"),
    ];

    fn row(self) -> (Name, &'static str, &'static str) {
        Name::ROWS[self as usize]
    }

    /// The plan of that name. `mix` gets to know how many runs there will be.
    pub fn plan(self, seed: u64, budget: u64) -> Box<dyn Plan + Send> {
        match self {
            Name::Walk => Box::new(Walk::new(seed)),
            Name::Pct => Box::new(Pct::new(seed, 3)),
            Name::Pos => Box::new(Pos::new(seed)),
            Name::Surw => Box::new(Surw::new(seed)),
            Name::Rf => Box::new(Rf::new(seed)),
            Name::All => Box::new(All::new()),
            Name::Mix => Box::new(Mix::new(seed, budget)),
        }
    }

    pub(crate) fn letter(self) -> &'static str {
        self.row().2
    }

    pub(crate) fn from_letter(letter: &str) -> Option<Name> {
        let row = Name::ROWS.iter().find(|row| row.2 == letter);
        row.map(|row| row.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Name, String> {
        let row = Name::ROWS.iter().find(|row| row.1 == text);
        row.map(|row| row.0).ok_or_else(|| {
            let names: Vec<_> = Name::ROWS.iter().map(|row| row.1).collect();
            format!("expected a plan ({}), found `{text}`", names.join(", "))
        })
    }
}
