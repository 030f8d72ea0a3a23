//! The command's arguments: its own options, and Cargo's, which are passed on as they are.

use std::ffi::{OsStr, OsString};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::plan::Name;

const AFTER: &str = "\
All other options are passed on to Cargo: `--package`, `--features`, `--release`, `--target`,
`--manifest-path` and so on, and what follows `--` to the test programs.

Marks come from here and from `aerodrome.toml` beside the workspace's Cargo.toml:

    atomic = [\"bank::Account::*\", \"cache::get_or_insert\"]
    not-atomic = [\"bank::Account::new\"]
    untracked = [\"arena\"]
    track = [\"moka\"]

A pattern is the end of a function's path; `*` stands for any part of one name.
Exit code: that of Cargo; 1 where a violation was found although Cargo saw no failure; 2 where
nothing could be run.";

#[derive(Debug, Parser)]
#[command(
    name = "cargo-aerodrome",
    bin_name = "cargo aerodrome",
    version,
    about = "Runs a project's tests with atomicity checking, without a change to its sources"
)]
struct Arguments {
    #[command(subcommand)]
    subcommand: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// `cargo test`, checked.
    #[command(after_help = AFTER)]
    Test(Options),
    /// `cargo run`, checked.
    #[command(after_help = AFTER)]
    Run(Options),
    /// `cargo nextest`, checked.
    #[command(after_help = AFTER)]
    Nextest(Options),
    /// Says which public methods behave atomically in the tests, and which do not.
    #[command(after_help = AFTER)]
    Suggest(Options),
    /// Adds aerodrome to a package, or to all of a workspace: two entries in Cargo.toml, a line in
    /// each root.
    Init(Init),
}

/// What can be asked of a run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Options {
    /// Marks the functions whose path ends so as atomic.
    #[arg(long, value_name = "PATTERN")]
    pub(super) atomic: Vec<String>,
    /// Takes functions out again.
    #[arg(long, value_name = "PATTERN")]
    pub(super) not_atomic: Vec<String>,
    /// Leaves a member of the workspace untracked, with the members that it depends on.
    #[arg(long, value_name = "PACKAGE")]
    pub(super) untracked: Vec<String>,
    /// Tracks dependencies as well, as if they were members of the workspace.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    pub(super) track: Vec<String>,
    /// Also says what other schedules of the same run would show; `=deny` fails the tests with it.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "warn")]
    pub(super) predict: Option<Predict>,
    #[command(flatten)]
    pub(super) explore: Explore,
    /// Writes the reports of all processes into one file below `target/aerodrome`.
    #[arg(long, value_name = "FORM")]
    pub(super) report: Option<Form>,
    /// Cargo's arguments.
    #[arg(skip)]
    pub(super) cargo: Vec<OsString>,
}

/// How tests are explored.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Explore {
    /// Explores each test: runs it on so many schedules, until one goes wrong.
    #[arg(long, value_name = "N")]
    schedules: Option<u64>,
    /// Which plan makes the schedules.
    #[arg(long, value_name = "PLAN")]
    plan: Option<Name>,
    /// What the schedules are drawn from; the same seed gives the same schedules.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// For how long each test is explored, such as `5s`.
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
}

impl Explore {
    /// The settings by which the test programs hear of it.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        let Explore {
            schedules,
            plan,
            seed,
            time,
        } = self;
        [
            ("AERODROME_SCHEDULES", schedules.map(|it| it.to_string())),
            ("AERODROME_PLAN", plan.map(|it| it.to_string())),
            ("AERODROME_SEED", seed.map(|it| it.to_string())),
            ("AERODROME_TIME", time.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Predict {
    Warn,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    Html,
    Json,
    Sarif,
}

#[derive(Debug, clap::Args)]
pub(super) struct Init {
    /// The Cargo.toml of the package, or of a workspace.
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    pub(super) manifest_path: std::path::PathBuf,
}

/// Which of Cargo's commands is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Test,
    Run,
    Nextest,
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Test => "test",
            Verb::Run => "run",
            Verb::Nextest => "nextest",
        }
    }

    /// Whether nothing is built but tests and what they need.
    pub(super) fn is_for_tests(self) -> bool {
        self != Verb::Run
    }
}

#[derive(Debug)]
pub(super) enum Command {
    Init(Init),
    Suggest(Options),
    Cargo(Verb, Options),
}

/// Reads the arguments; prints the help or an error and ends the process where that is asked for.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Command {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    // Cargo gives a subcommand its own name first.
    if arguments.get(1).is_some_and(|name| name == "aerodrome") {
        arguments.remove(1);
    }
    let rest = arguments.split_off(arguments.len().min(2));
    let is_init = arguments.get(1).is_some_and(|name| name == "init");
    let (own, cargo) = if is_init {
        (rest, Vec::new())
    } else {
        partition(rest)
    };
    arguments.extend(own);
    let with_cargo = |mut options: Options| {
        options.cargo = cargo;
        options
    };
    match Arguments::parse_from(arguments).subcommand {
        Subcommands::Test(options) => Command::Cargo(Verb::Test, with_cargo(options)),
        Subcommands::Run(options) => Command::Cargo(Verb::Run, with_cargo(options)),
        Subcommands::Nextest(options) => Command::Cargo(Verb::Nextest, with_cargo(options)),
        Subcommands::Suggest(options) => Command::Suggest(with_cargo(options)),
        Subcommands::Init(options) => Command::Init(options),
    }
}

/// The command's own options, and everything else, in which their order is kept.
fn partition(arguments: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let command = Arguments::command();
    let test = command.find_subcommand("test").expect("declared above");
    let (mut own, mut cargo) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            cargo.push(argument);
            cargo.extend(arguments);
            break;
        }
        match long_name(&argument) {
            _ if argument == "-h" || argument == "--help" => own.push(argument),
            Some((name, has_value)) => {
                let known = test
                    .get_arguments()
                    .find(|known| known.get_long() == Some(&name));
                let Some(known) = known else {
                    cargo.push(argument);
                    continue;
                };
                own.push(argument);
                let takes_next = !has_value && !known.is_require_equals_set();
                own.extend(takes_next.then(|| arguments.next()).flatten());
            }
            None => cargo.push(argument),
        }
    }
    (own, cargo)
}

/// The name of a long option, and whether its value is in the same argument.
fn long_name(argument: &OsStr) -> Option<(String, bool)> {
    let text = argument.to_str()?.strip_prefix("--")?;
    Some(match text.split_once('=') {
        Some((name, _)) => (name.to_owned(), true),
        None => (text.to_owned(), false),
    })
}

/// Cargo's arguments with more of Cargo's options, which go before what is for the programs.
pub(super) fn with_options(arguments: &[OsString], more: Vec<OsString>) -> Vec<OsString> {
    let end = arguments.iter().position(|argument| argument == "--");
    let (own, programs) = arguments.split_at(end.unwrap_or(arguments.len()));
    [own, &more, programs].concat()
}

/// The value of one of Cargo's options, given as `--name value` or `--name=value`.
pub(super) fn value_of(arguments: &[OsString], option: &str) -> Option<OsString> {
    let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        if argument == option {
            return arguments.next().cloned();
        }
        let text = argument.to_str().unwrap_or_default();
        if let Some(value) = text
            .strip_prefix(option)
            .and_then(|text| text.strip_prefix('='))
        {
            return Some(value.into());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Command, Verb, parse, value_of};

    fn arguments(line: &str) -> Vec<std::ffi::OsString> {
        line.split(' ').map(Into::into).collect()
    }

    #[test]
    fn own_options_are_found_among_cargos() {
        let line = "cargo-aerodrome aerodrome test -p bank --atomic bank::* --release \
                    --track bb8,moka --track=lasso --predict=deny --features=a,b name \
                    -- --atomic --nocapture";
        let Command::Cargo(Verb::Test, options) = parse(arguments(line)) else {
            panic!("no test");
        };
        assert_eq!(options.atomic, ["bank::*"]);
        assert_eq!(options.track, ["bb8", "moka", "lasso"]);
        assert!(options.predict.is_some() && options.report.is_none());
        let cargo = arguments("-p bank --release --features=a,b name -- --atomic --nocapture");
        assert_eq!(options.cargo, cargo);
    }

    #[test]
    fn a_prediction_takes_no_argument_that_is_cargos() {
        let Command::Cargo(Verb::Nextest, options) =
            parse(arguments("cargo-aerodrome nextest run --predict --release"))
        else {
            panic!("no nextest");
        };
        assert!(options.predict.is_some());
        assert_eq!(options.cargo, arguments("run --release"));
    }

    #[test]
    fn values_of_cargos_options_are_found_in_either_form() {
        let both = arguments("--target x --manifest-path=a/Cargo.toml -- --package q");
        assert_eq!(value_of(&both, "--target"), Some("x".into()));
        assert_eq!(
            value_of(&both, "--manifest-path"),
            Some("a/Cargo.toml".into())
        );
        assert_eq!(value_of(&both, "--package"), None);
    }
}
