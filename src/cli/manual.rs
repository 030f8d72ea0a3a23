//! `aerodrome completions` and `aerodrome man`: the command for shells and for manuals.

use clap::{Args, CommandFactory};

use super::{Arguments, Failure, Verdict, print};

/// Write a completion script for a shell
#[derive(Args)]
#[command(after_help = "\
Example:
  aerodrome completions fish > ~/.config/fish/completions/aerodrome.fish")]
pub(super) struct Completions {
    /// For which shell
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

/// Write a manual page, of the command or of one of its commands
#[derive(Args)]
#[command(after_help = "\
Example:
  aerodrome man check | man -l -")]
pub(super) struct Man {
    /// Of which command
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

pub(super) fn completions(arguments: &Completions) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "aerodrome",
        &mut script,
    );
    print(&String::from_utf8_lossy(&script))
}

pub(super) fn page(arguments: &Man) -> Result<Verdict, Failure> {
    let mut command = Arguments::command();
    command.build();
    let command = match &arguments.command {
        None => command,
        Some(name) => command
            .find_subcommand(name)
            .ok_or_else(|| {
                let known = command.get_subcommands().map(clap::Command::get_name);
                let known: Vec<&str> = known.collect();
                let known = known.join(", ");
                Failure::Usage(format!("expected one of {known}, found `{name}`"))
            })?
            .clone(),
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::Output("the manual page".to_owned(), error))?;
    print(&String::from_utf8_lossy(&page))
}
