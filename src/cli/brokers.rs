//! `--brokers`, and whether somebody typed it: the variable stands for all commands, those that need no broker too.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

const NAME: &str = "brokers";

/// How Kafka is reached, where that was given.
#[derive(Clone, Debug, Default)]
pub struct Brokers {
    /// `host:port`, several with commas between.
    pub hosts: Option<String>,
    /// It comes from the command line, not from the environment.
    pub is_typed: bool,
}

impl FromArgMatches for Brokers {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_typed = matches.value_source(NAME) == Some(ValueSource::CommandLine);
        Ok(Self { hosts: matches.get_one::<String>(NAME).cloned(), is_typed })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Brokers {
    fn augment_args(command: Command) -> Command {
        let brokers = Arg::new(NAME).long(NAME).value_name("HOSTS").env("WEIR_BROKERS");
        command.arg(brokers.help("Kafka: host:port, several with commas between"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
