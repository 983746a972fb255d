//! The `weir` command.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use weir::cli::{self, Cli, Command, exit};

fn main() -> ExitCode {
    let ended = match Cli::parse().command {
        Command::Completions { shell } => cli::completions(shell, &mut std::io::stdout()).map(|()| exit::OK),
        _ => write!(std::io::stderr(), "{}", Cli::command().render_help()).map(|()| exit::USAGE),
    };
    ExitCode::from(ended.unwrap_or(exit::FAILURE))
}
