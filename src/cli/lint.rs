//! What can be typed after `weir lint` and `weir map`.

use clap::Args;

use super::{EventFormat, FileOrStandard, Format, PolicyArgs, ReadingArgs};

pub(super) const HELP: &str = "\
Only what is certain is told: rules that can never fire, rules and limits that another one makes needless, signals that
nothing reads; and the most that one account, device or address can do in a day and be allowed every time. With --input
the events go through the policy too: rules that stayed silent, and rules that only ever fired together.

Ends with 0; with --strict it ends with 1 when anything was found. What `weir check` tells is not told again.

Examples:
  weir lint
  weir lint --policy my-policy --strict
  weir lint --policy my-policy --input events.jsonl.zst --format json";

/// `weir lint`
#[derive(Clone, Debug, Args)]
pub struct LintArgs {
    /// What is looked at.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Events to try it on; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub input: Option<FileOrStandard>,
    /// End with 1 when anything was found
    #[arg(long)]
    pub strict: bool,
    /// Form of what is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Form of the events [default: csv or tsv where the file is called so, packed or not, else jsonl]
    #[arg(long, value_enum, value_name = "FORM", requires = "input")]
    pub events_format: Option<EventFormat>,
    /// How the events are read.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

pub(super) const MAP_HELP: &str = "\
The first 2,000 rows are looked at: names of columns, and what stands in them. Printed is what each column seems to be, and
the command of a first report. A guess is a guess: put right what is wrong in it with --map FIELD=COLUMN.

Examples:
  weir map likes.csv
  weir map likes.csv.gz --format json";

/// `weir map`
#[derive(Clone, Debug, Args)]
pub struct MapArgs {
    /// A table with a line of column names; may be gzip or zstd; `-` is stdin
    #[arg(value_name = "FILE")]
    pub file: FileOrStandard,
    /// Form of what is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
