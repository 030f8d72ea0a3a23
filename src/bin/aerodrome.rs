//! The `aerodrome` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    aerodrome::cli::main()
}
