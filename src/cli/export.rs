//! What can be typed after `weir export`.

use std::path::PathBuf;

use clap::Args;

use super::backtest::from;
use super::{ConfigArgs, EventFormat, FileOrStandard, FromTopic, RangeArgs, ReadingArgs, named_file};

pub(super) const HELP: &str = "\
One row an interaction: partition, offset, times, who did what to whom, the verdict that holds (and the first one, where it
was revised), score, public codes, policy; and the event as a line of JSON, from which every command that takes a file of events
reads it back: `weir backtest --input day.parquet` decides as on the lines it came from. Of a topic the events are in the order
in which `weir backtest --from` takes them. What cannot be read is told with its place, counted, and left out of a topic; lines
of a file are kept as they are.

Needs a build with the cargo feature `parquet`. Memory: some 200 bytes for each event of the topic of decisions.

Examples:
  weir export --from engagement.interactions.v1@2026-05-04T00:00:00Z.. --to day.parquet
  weir export --input day.jsonl.zst --decisions decisions.jsonl --to day.parquet
  duckdb -c \"select verdict, count(*) from 'day.parquet' group by 1\"";

/// `weir export`
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// The topic of interactions, of a time range or whole; decisions are those of the topic of decisions
    #[arg(long, value_name = "TOPIC[@TIME..TIME]", value_parser = from, required_unless_present = "input")]
    pub from: Option<FromTopic>,
    /// Events of a file instead; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub input: Option<FileOrStandard>,
    /// What `weir replay` decided of that file
    #[arg(long, value_name = "FILE", requires = "input", conflicts_with = "from", value_parser = named_file)]
    pub decisions: Option<PathBuf>,
    /// The file to be written
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub to: PathBuf,
    /// Where the configuration is.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Form of the events, as for `weir backtest`
    #[arg(long, value_enum, conflicts_with = "from")]
    pub format: Option<EventFormat>,
    /// How the input is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

impl ExportArgs {
    /// Which part of the topic.
    pub fn range(&self) -> RangeArgs {
        let from = self.from.as_ref();
        RangeArgs {
            since: from.and_then(|from| from.since),
            until: from.and_then(|from| from.until),
            warm_up: None,
        }
    }
}
