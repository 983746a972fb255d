//! The `weir` command.

use std::process::ExitCode;

use clap::Parser;
use weir::cli::{self, Cli, Command, exit};
use weir::commands::{self, Failure, finish};

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    cli::large_pages::ask(&command);
    ExitCode::from(match command {
        Command::Run(args) => weir::run::run(&args),
        Command::Demo(args) => weir::demo::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Backtest(args) => commands::backtest::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Lint(args) => commands::lint::run(&args),
        Command::Map(args) => commands::map::run(&args),
        Command::Suggest(args) => commands::suggest::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Test(args) => commands::test::run(&args),
        Command::Policy { action } => commands::promotion::run(&action),
        Command::Ban(args) => commands::ban::run(&args),
        Command::Topics(args) => commands::topics::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Checkpoint(args) => commands::checkpoint::run(&args),
        Command::Signals(args) => commands::signals::run(&args),
        Command::Completions { shell } => {
            let written = cli::completions(shell, &mut std::io::stdout());
            finish(written.map(|()| exit::OK).map_err(|error| Failure::of_output("stdout", &error)))
        }
    })
}
