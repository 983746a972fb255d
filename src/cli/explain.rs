//! What can be typed after `weir explain`.

use clap::Args;

use super::{EventsArgs, Format, PolicyArgs};

pub(super) const HELP: &str = "\
All events before it go through the engine that runs live; then that one is told: what was known before, each signal and
limit with value and threshold, each condition of each rule (true, false or unknown) with the values it reads, the
points that add up to the score, and what the verdict would be without each thing that acted. The events must begin early
enough for the windows of that one.

Examples:
  weir explain --event-id e-4711 --input events.jsonl
  weir explain --event-id e-4711 --user ann --input day.jsonl.zst --policy candidate --all
  weir explain --event-id e-4711 --from engagement.interactions.v1@2026-05-04T00:00:00Z..
  weir explain --event-id row-12 --input log.csv --map user=who,time=ts --action like";

/// `weir explain`
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// Which event; of several with this id the first that was decided
    #[arg(long, value_name = "ID")]
    pub event_id: String,
    /// Only an event of this user
    #[arg(long, value_name = "ID")]
    pub user: Option<String>,
    /// Where the events come from.
    #[command(flatten)]
    pub events: EventsArgs,
    /// What judges.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Show the conditions of all rules, of those that did not fire too
    #[arg(long)]
    pub all: bool,
    /// Form of the explanation
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
