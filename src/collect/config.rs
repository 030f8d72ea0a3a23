//! Settings: from the environment when the program starts, or from code before the first tracked
//! operation.

use std::path::PathBuf;

use crate::check::EngineKind;
use crate::observe::Address;
use crate::trace::Semantics;

/// What becomes of a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The first strand of its family panics with the report.
    ///
    /// It does so when it next begins an outermost block, joins a thread or ends a scope, or at the
    /// end of [`#[aerodrome::test]`](crate::test) and [`check`](fn@crate::check). Nothing else
    /// panics, so nothing unwinds out of an allocator, a destructor or a C function that did not
    /// ask for it. Where it does none of these any more, the report is printed when the test's
    /// thread ends, and the process fails.
    #[default]
    Panic,
    /// The report goes to the handler ([`on_violation`](crate::on_violation)) or to standard error,
    /// and the program goes on.
    ///
    /// At the same places.
    Log,
    /// Nothing is recorded or checked.
    Off,
}

/// What becomes of a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Predict {
    /// No predictions are made.
    #[default]
    Off,
    /// They are printed at the end of the family's run.
    Warn,
    /// They fail the test as a violation does.
    Deny,
}

/// The settings, each as the environment has it or as the program sets it.
///
#[doc = include_str!("../../docs/settings.md")]
///
/// ```
/// use aerodrome::{Config, Mode};
///
/// // A violation in this program is to be logged, whatever the environment says.
/// Config::from_env().unwrap().mode(Mode::Log).install().unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings take effect with `install`"]
pub struct Config {
    pub(crate) mode: Mode,
    pub(crate) semantics: Semantics,
    pub(crate) engine: EngineKind,
    pub(crate) predict: Predict,
    pub(crate) cancelled: bool,
    pub(crate) trace: Option<PathBuf>,
    /// Whoever judges in place of this process.
    pub(crate) observer: Option<Address>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) window: usize,
    pub(crate) backtrace: bool,
    pub(crate) quiet: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            semantics: Semantics::default(),
            engine: EngineKind::default(),
            predict: Predict::default(),
            cancelled: true,
            trace: None,
            observer: None,
            report: None,
            window: crate::report::window::DEFAULT_BYTES,
            backtrace: false,
            quiet: false,
        }
    }
}

/// A setting has a value that it cannot have, or comes too late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub(super) String);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Reads a variable whose values are words.
fn word<T: Copy>(name: &str, known: &[(&str, T)], default: T) -> Result<T, ConfigError> {
    let Some(value) = std::env::var_os(name) else {
        return Ok(default);
    };
    let value = value.to_string_lossy();
    let wanted = match value.as_ref() {
        "" => return Ok(default),
        "0" | "false" => "off",
        "1" | "true" => "on",
        other => other,
    };
    known
        .iter()
        .find(|(word, _)| *word == wanted)
        .map(|&(_, meaning)| meaning)
        .ok_or_else(|| {
            let words: Vec<_> = known.iter().map(|(word, _)| format!("`{word}`")).collect();
            ConfigError(format!(
                "{name}: expected {}, found `{value}`",
                words.join(" or ")
            ))
        })
}

fn switch(name: &str, default: bool) -> Result<bool, ConfigError> {
    word(name, &[("on", true), ("off", false)], default)
}

/// Reads a variable that names a file or folder; empty is none.
fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Reads a variable that says where an observer listens; empty is nowhere.
fn observer(name: &str) -> Result<Option<Address>, ConfigError> {
    let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let address = value.to_string_lossy().parse();
    address
        .map(Some)
        .map_err(|error| ConfigError(format!("{name}: {error}")))
}

impl Config {
    /// The settings of the environment.
    ///
    /// # Errors
    ///
    /// Where a variable has a value that it cannot have; the error lists those that it can.
    pub fn from_env() -> Result<Self, ConfigError> {
        let default = Self::default();
        let engines: Vec<_> = EngineKind::ALL
            .iter()
            .map(|&kind| (kind.name(), kind))
            .collect();
        let window = match std::env::var_os("AERODROME_WINDOW") {
            Some(text) if !text.is_empty() => {
                crate::report::window::parse_bytes(&text.to_string_lossy())
                    .map_err(|error| ConfigError(format!("AERODROME_WINDOW: {error}")))?
            }
            _ => default.window,
        };
        // Not `1`: that is set everywhere, for panics, and this costs microseconds an access.
        let backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value == "full");
        Ok(Self {
            mode: word(
                "AERODROME",
                &[
                    ("panic", Mode::Panic),
                    ("log", Mode::Log),
                    ("off", Mode::Off),
                ],
                default.mode,
            )?,
            semantics: word(
                "AERODROME_SEMANTICS",
                &[("rust", Semantics::Rust), ("paper", Semantics::Paper)],
                default.semantics,
            )?,
            engine: word("AERODROME_ENGINE", &engines, default.engine)?,
            predict: word(
                "AERODROME_PREDICT",
                &[
                    ("off", Predict::Off),
                    ("warn", Predict::Warn),
                    ("deny", Predict::Deny),
                ],
                default.predict,
            )?,
            cancelled: switch("AERODROME_CANCELLED", default.cancelled)?,
            trace: path("AERODROME_TRACE"),
            observer: observer("AERODROME_OBSERVER")?,
            report: path("AERODROME_REPORT"),
            window,
            backtrace: switch("AERODROME_BACKTRACE", backtrace)?,
            quiet: switch("AERODROME_QUIET", default.quiet)?,
        })
    }

    /// What becomes of a violation.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// How operations are read.
    pub fn semantics(mut self, semantics: Semantics) -> Self {
        self.semantics = semantics;
        self
    }

    /// Which engine judges.
    pub fn engine(mut self, engine: EngineKind) -> Self {
        self.engine = engine;
        self
    }

    /// What becomes of predictions.
    pub fn predict(mut self, predict: Predict) -> Self {
        self.predict = predict;
        self
    }

    /// Whether runs of async blocks that were cancelled half-way are reported.
    pub fn cancelled(mut self, on: bool) -> Self {
        self.cancelled = on;
        self
    }

    /// Writes the events of this process into a file in `directory`.
    pub fn trace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.trace = Some(directory.into());
        self
    }

    /// Sends the events of this process to an observer, which judges them.
    pub fn observer(mut self, address: Address) -> Self {
        self.observer = Some(address);
        self
    }

    /// Appends reports to a file, as JSON.
    pub fn report(mut self, file: impl Into<PathBuf>) -> Self {
        self.report = Some(file.into());
        self
    }

    /// How many bytes of the past are kept for reports.
    pub fn window(mut self, bytes: usize) -> Self {
        self.window = bytes;
        self
    }

    /// Whether reports show stacks.
    pub fn backtrace(mut self, on: bool) -> Self {
        self.backtrace = on;
        self
    }

    /// Whether the summary at exit is left out.
    pub fn quiet(mut self, on: bool) -> Self {
        self.quiet = on;
        self
    }

    /// Puts the settings into force.
    ///
    /// # Errors
    ///
    /// After the first tracked operation: what was recorded under other settings cannot be judged
    /// under these.
    pub fn install(self) -> Result<(), ConfigError> {
        super::install(self)
    }
}
