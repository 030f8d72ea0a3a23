//! The `cargo aerodrome` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    aerodrome::cargo::main()
}
