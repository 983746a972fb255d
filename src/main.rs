//! The `weir` command.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use weir::cli::{self, Cli, Command, exit};

fn main() -> ExitCode {
    let command = Cli::parse().command;
    ExitCode::from(match command {
        Command::Completions { shell } => written(cli::completions(shell, &mut std::io::stdout())),
        _ => written(write!(std::io::stderr(), "{}", Cli::command().render_help())).max(exit::USAGE),
    })
}

fn written(result: std::io::Result<()>) -> u8 {
    if result.is_ok() { exit::OK } else { exit::FAILURE }
}
