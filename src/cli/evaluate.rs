//! What can be typed after `weir evaluate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FileOrStandard, Format, PolicyArgs, timestamp};
use crate::engine::time::Timestamp;

pub(super) const HELP: &str = "\
Labels are a CSV file with the columns event_id, user_id, label (honest or attack), group and scenario, and optionally
target_id and from (when an account was stolen). A row without an event_id labels the account; an event's own row wins.

A table of events is read with --map field=column. Fields are time, event_id, action, user, target, target_owner, ip,
device, user_agent, session, outcome, content_hash, plan, created_at, label, group, scenario, and device.NAME,
account.NAME and attributes.NAME. Times may be RFC 3339, seconds or milliseconds since 1970. Files may be gzip.

Examples:
  weir evaluate --events events.jsonl --labels labels.csv
  weir evaluate --events events.jsonl --labels labels.csv --json figures.json
  weir evaluate --events log.csv.gz --map user=account,target=object,time=ts --action like --label honest";

/// `weir evaluate`
#[derive(Clone, Debug, Args)]
pub struct EvaluateArgs {
    /// Events in the order in which they came; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub events: FileOrStandard,
    /// Their labels, as CSV
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// What judges.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Form of the events [default: csv where the file is called .csv or .csv.gz, else jsonl]
    #[arg(long, value_enum)]
    pub format: Option<EventFormat>,
    /// Which column of a table is which field
    #[arg(long, value_name = "FIELD=COLUMN", value_delimiter = ',')]
    pub map: Vec<String>,
    /// The action of rows that tell none
    #[arg(long, value_name = "NAME")]
    pub action: Option<String>,
    /// The column that labels rows; the same as --map label=COLUMN
    #[arg(long, value_name = "COLUMN")]
    pub label_column: Option<String>,
    /// Values of that column that mean attack; all others mean honest [default: attack, 1, true, yes]
    #[arg(long, value_name = "VALUE", value_delimiter = ',')]
    pub attack_values: Vec<String>,
    /// The label of events that have none
    #[arg(long, value_enum)]
    pub label: Option<LabelKind>,
    /// No event is taken to have been appended after this [default: now]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub as_of: Option<Timestamp>,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Form of what is printed
    #[arg(long = "print", value_enum, default_value_t)]
    pub print: Format,
}

/// Forms of a file of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventFormat {
    /// One interaction as JSON a line
    Jsonl,
    /// A table with a line of column names
    Csv,
}

/// What an event is in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabelKind {
    /// A person's
    Honest,
    /// Part of an attack
    Attack,
}
