//! Where the events of a command come from.

use clap::Args;

use super::backtest::from;
use super::{ConfigArgs, EventFormat, FileOrStandard, FromTopic, ReadingArgs};

/// A file of events, or the topic of interactions.
#[derive(Clone, Debug, Args)]
pub struct EventsArgs {
    /// Events in the order in which they came; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub input: Option<FileOrStandard>,
    /// The topic of interactions instead, of a time range or whole
    #[arg(long, value_name = "TOPIC[@TIME..TIME]", value_parser = from, conflicts_with = "input")]
    pub from: Option<FromTopic>,
    /// Where the configuration is.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Form of the events [default: csv or tsv where the file is called so, packed or not, else jsonl]
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "from")]
    pub events_format: Option<EventFormat>,
    /// How the events are read.
    #[command(flatten)]
    pub reading: ReadingArgs,
}
