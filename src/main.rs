//! The `weir` command.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use weir::cli::{self, Cli, Command, exit};
use weir::commands::{self, Failure, finish, tell};

fn main() -> ExitCode {
    ExitCode::from(match Cli::parse().command {
        Command::Run(_) => unfinished("run"),
        Command::Demo(args) => weir::demo::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Test(args) => commands::test::run(&args),
        Command::Ban(args) => commands::ban::run(&args),
        Command::Topics(args) => commands::topics::run(&args),
        Command::Signals(args) => commands::signals::run(&args),
        Command::Completions { shell } => {
            let written = cli::completions(shell, &mut std::io::stdout());
            finish(written.map(|()| exit::OK).map_err(|error| Failure::of_output("stdout", &error)))
        }
    })
}

/// Shows the help of a command that is not wired yet.
fn unfinished(name: &str) -> u8 {
    let help = Cli::command().find_subcommand_mut(name).map(|command| command.render_help().to_string());
    tell(&help.unwrap_or_default());
    exit::USAGE
}
