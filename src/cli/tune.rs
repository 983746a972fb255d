//! What can be typed after `weir suggest` and `weir sweep`.

use std::path::PathBuf;

use clap::Args;

use super::{
    EventFormat, EventsArgs, FileOrStandard, Format, PolicyArgs, RangeArgs, ReadingArgs, named_file,
};

pub(super) const SUGGEST_HELP: &str = "\
The events go through the policy, and the values of each of its counts are gathered, for all and for each hour of the week
(UTC). Suggested is 1.5 and 2 times the highest P99. The patch is a policy file of rules in shadow, written with --patch (what
is printed is for people, and no policy file): lay it beside the policy, look at whom it touches, and only then let it act. What is usual of days with an attack includes the attack: choose ordinary
days. The input is read twice, so it must be a file or a topic.

Examples:
  weir suggest --input events.jsonl
  weir suggest --from engagement.interactions.v1@2026-04-01T00:00:00Z..2026-05-01T00:00:00Z
  weir suggest --input month.jsonl.zst --policy my-policy --patch my-policy/suggested.yaml";

/// `weir suggest`
#[derive(Clone, Debug, Args)]
pub struct SuggestArgs {
    /// Where the events come from.
    #[command(flatten)]
    pub events: EventsArgs,
    /// Whose signals.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Write the patch to this file instead of printing it
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub patch: Option<PathBuf>,
    /// Form of what is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

pub(super) const SWEEP_HELP: &str = "\
Each value of each parameter makes a policy, one parameter changed at a time; all decide the same events in one pass beside
the policy as it is. A parameter is named by where it stands: ID.FIELD of a limit or rule, ID.WINDOW.FIELD of one of a
limit's spans (user-burst.1s.max), NAME.FIELD of a signal, RULE.SIGNAL for the number that a rule compares a signal with, or a path such as score.ladder.hold.

Examples:
  weir sweep --input events.jsonl --set user-minute.max=20,30,45
  weir sweep --input events.jsonl --labels labels.csv --set score.ladder.hold=9,13,17,21
  weir sweep --input day.jsonl --set pace.window=30s,1m,2m --set busy.acts_10m=20,30 --report s.html";

/// `weir sweep`
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// Events in the order in which they came; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub input: FileOrStandard,
    /// What is changed.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// A parameter and its values; several allowed
    #[arg(long, value_name = "NAME=VALUE,...", required = true)]
    pub set: Vec<String>,
    /// Labels, as CSV: event_id,user_id,label,... as for `weir evaluate`
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub labels: Option<PathBuf>,
    /// Which part of the input counts.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Write a report as one HTML file
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub report: Option<PathBuf>,
    /// Form of what is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Form of the events [default: csv or tsv where the file is called so, packed or not, else jsonl]
    #[arg(long, value_enum, value_name = "FORM")]
    pub events_format: Option<EventFormat>,
    /// How the events are read.
    #[command(flatten)]
    pub reading: ReadingArgs,
}
