//! What can be typed after `weir evaluate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FileOrStandard, Format, PolicyArgs, ReadingArgs, named_file};

pub(super) const HELP: &str = "\
Labels are a CSV file with the columns event_id, user_id, label (honest or attack), group and scenario, and optionally
target_id and from (when an account was stolen). A row without an event_id labels the account; an event's own row wins.

A table of events is read with --map field=column. Fields are time, event_id, action, user, target, target_owner, ip,
device, user_agent, session, outcome, content_hash, plan, created_at, label, group, scenario, and device.NAME,
account.NAME and attributes.NAME. Times may be dates with the year first, UTC where no offset is told, or a number
since 1970, whose size tells whether it is of seconds, milli-, micro- or nanoseconds. Files may be gzip or zstd.

Examples:
  weir evaluate --events events.jsonl --labels labels.csv
  weir evaluate --events events.jsonl --labels labels.csv --report report.html --json figures.json
  weir evaluate --all --jobs 2                           every simulated scenario, against what must hold
  weir evaluate --scenario echo,campus --scale 0.1       quicker
  weir evaluate --events log.csv.gz --map user=account,time=ts --action like --label honest";

/// `weir evaluate`
#[derive(Clone, Debug, Args)]
pub struct EvaluateArgs {
    /// Events in the order in which they came; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present_any = ["all", "scenario"])]
    pub events: Option<FileOrStandard>,
    /// Their labels, as CSV
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub labels: Option<PathBuf>,
    /// What judges.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Form of the events [default: csv or tsv where the file is called so, packed or not, else jsonl]
    #[arg(long, value_enum)]
    pub format: Option<EventFormat>,
    /// How the events are read.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Write a report as one HTML file
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub report: Option<PathBuf>,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub json: Option<PathBuf>,
    /// Run every scenario of the simulator and hold it against what must hold; ends with 1 when something does not
    #[arg(long, conflicts_with_all = ["events", "labels"])]
    pub all: bool,
    /// The same for these scenarios
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["all", "events", "labels"])]
    pub scenario: Vec<String>,
    /// Seeds: each scenario counts by the worst of them
    #[arg(long, value_name = "FROM..TO", default_value = "101..105", value_parser = seeds)]
    pub seeds: Seeds,
    /// Size of the scenarios; 1 is full size
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = scale)]
    pub scale: f64,
    /// How many scenarios run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub jobs: u8,
    /// Run them again with each evidence family off in turn, then each family of crowd evidence, then crowds altogether, and
    /// tell what is lost
    #[arg(long)]
    pub ablate: bool,
    /// Form of what is printed
    #[arg(long = "print", value_enum, default_value_t)]
    pub print: Format,
}

/// Seeds, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

/// The most seeds of one call.
const SEEDS_MAX: u64 = 1000;

/// `101..105` (both ends included), or numbers with commas between.
fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| format!("`{text}` is no seed"));
    match text.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to)?);
            match to.checked_sub(from) {
                Some(more) if more < SEEDS_MAX => Ok(Seeds((from..=to).collect())),
                _ => Err(format!("write FROM..TO with at most {SEEDS_MAX} seeds, the smaller first")),
            }
        }
        None => text.split(',').map(number).collect::<Result<_, _>>().map(Seeds),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|_| format!("`{text}` is no number"))?;
    if (0.001..=100.0).contains(&number) { Ok(number) } else { Err("between 0.001 and 100".to_owned()) }
}

/// Forms of a file of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventFormat {
    /// One interaction as JSON a line
    Jsonl,
    /// A table with a line of column names, parted by commas, or else by semicolons or tabs
    Csv,
    /// A table parted by tabs
    Tsv,
}

/// What an event is in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabelKind {
    /// A person's
    Honest,
    /// Part of an attack
    Attack,
}
