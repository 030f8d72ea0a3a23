//! `cargo aerodrome`: Cargo's `test`, `run` and `nextest run` with every member of the workspace
//! compiled as if `std` were aerodrome, and no line of it changed.
//!
//! Cargo runs `RUSTC_WORKSPACE_WRAPPER` in place of rustc for the members of the workspace, and for
//! them alone; where dependencies are tracked, `RUSTC_WRAPPER` for everything. The wrapper is this
//! same program: it adds `--extern std=..` and the like to the arguments and runs rustc. The steps:
//!
//! | module | step |
//! |---|---|
//! | `project` | asks Cargo for the members, and which mirrored crates they depend on |
//! | `pattern`, `marks` | which functions are marked, and where the attribute goes |
//! | `library` | builds aerodrome and the mirrors, once for each compiler |
//! | `sources` | makes copies of the sources with marks |
//! | `plan` | writes down what the wrapper needs, in a folder that is named after its content |
//! | `wrapper` | is run by Cargo in place of rustc and rustdoc |
//! | `run`, `summary` | runs Cargo, and sums up what the processes of the run said |
//!
//! The folder's name is part of the wrapper's path, and Cargo keeps what it compiles for members
//! with one wrapper apart from what it compiles with another. So a second run compiles nothing,
//! other marks or another aerodrome compile the members anew, and dependencies are shared with
//! plain builds. Dependencies that are tracked have a number of codegen units that nobody else has,
//! which does the same for them.

mod arguments;
mod init;
mod library;
mod marks;
mod pattern;
mod plan;
mod project;
mod run;
mod settings;
mod sources;
mod suggest;
mod summary;
mod wrapper;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use self::arguments::Command;

/// Why the command gave up: what was expected, what was found, and where.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    fn new(message: impl Into<String>) -> Self {
        Failure(message.into())
    }

    /// What is wrong with the file or folder at `path`.
    fn at<E: fmt::Display>(path: &Path) -> impl Fn(E) -> Self {
        move |error| Failure(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The exit code of a run that could not be made; Cargo's own is 101.
const FAILED: u8 = 2;

/// The command, and the wrapper that it has Cargo run.
pub fn main() -> ExitCode {
    if let Some(call) = wrapper::Call::of_this_process() {
        return call.run();
    }
    let outcome = match arguments::parse(std::env::args_os()) {
        Command::Init(options) => init::run(&options),
        Command::Suggest(options) => suggest::run(&options),
        Command::Cargo(verb, options) => run::run(verb, &options),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        ExitCode::from(FAILED)
    })
}
