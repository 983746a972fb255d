//! What can be typed after `weir backtest`.

use std::path::PathBuf;

use clap::Args;

use super::{ConfigArgs, EventFormat, FileOrStandard, Format, LabelKind, named_file, timestamp};
use crate::config;
use crate::engine::time::{Span, Timestamp};

pub(super) const HELP: &str = "\
The candidate (--policy) and those it is held against (--against) decide the same events in one pass, each with windows,
penalties and bans of its own, through the engine that runs live. Nothing is written to Kafka.

Without --policy the configured policy, else the standard one, is backtested; with --policy and without --against it is
held against that one.

A table is read with --map FIELD=COLUMN, as by `weir evaluate` (`weir map FILE.csv` guesses it). Files may be gzip or zstd.

--since and --until take part of the input, by append time; what lies before --since is applied untold to fill the
windows, over the longest window of the policies unless --warm-up says otherwise.

--fail-on ends with 3 when its condition holds or cannot be known, for a check in a pull request; without that it ends with
65 when nothing was decided, and with 1 when the input broke off:
  CONDITION is FIGURE < <= > >= == != NUMBER[%], joined by `and` and `or`; with % a figure counts as its share.
  Figures: decisions acted_on held undecided inexact accounts touched_accounts reviews_per_day; against another policy
  flips stronger weaker new_demotes new_challenges new_holds new_rejects new_blocks newly_acted_on newly_allowed
  newly_touched_accounts newly_touched_settled newly_touched_paying more_reviews_per_day; with labels precision recall
  false_positive_rate, and of both recall_change false_positive_rate_change.

--from reads the topic of interactions instead of a file, without joining a group and without committing anything, to the end
that it has at the start. Partitions are merged by effective time, as live merges each of its batches; --follow-journal takes
the very order of live, with operators' actions and feedback, from the journal. What was decided live is read beside it, and
the report says how many of the candidate's decisions are the same.

--checkpoints DIR, the state_dir of an instance or of `weir checkpoint import`, begins a range of a topic from the newest
checkpoint before it: each policy takes effect on it as a reload does live, and what came between the checkpoint and the range
is applied untold. One that was made by another version, seed or record limits, or of which the topic has lost what came after,
is passed over, and the report says why; when none fits, earlier events are read as without it.

Labels are seldom a fair sample: people look at what was acted on. The report says what share of the allowed and of the others
has one, and weighs them accordingly; for recall, have a random sample of allowed events labelled too.

--sample reads the file, or the range of the topic as it stood at the start, twice: once for what the sample touches, once for
the decisions. The report says what a sample cannot answer; figures are not scaled up.

--fixture prints what was decided of one event as a policy test: with what its user, target, device and address did before,
under other names.

Exit codes: 0 done, 1 not, 2 wrong use, 3 the condition of --fail-on holds, 65 nothing was decided, 78 the policy is wrong.

Examples:
  weir backtest --input events.jsonl
  weir backtest --input events.jsonl.zst --policy candidate --report out.html
  weir backtest --input events.jsonl --policy new --against live --against old --json out.json
  weir backtest --input day.jsonl --since 2026-05-04T00:00:00Z --until 2026-05-05T00:00:00Z
  weir backtest --input day.jsonl --policy new --markdown pr.md --fail-on 'new_holds > 0.1%'
  weir backtest --input month.jsonl.zst --policy new --sample 5%
  weir backtest --input log.csv.gz --map user=account,time=ts --action like --report out.html
  weir backtest --input day.jsonl --policy candidate --fixture e-4711
  weir backtest --from engagement.interactions.v1@2026-05-04T00:00:00Z.. --policy candidate
  weir backtest --from engagement.interactions.v1@2026-05-04T00:00:00Z.. --checkpoints state --policy candidate
  weir backtest --from engagement.interactions.v1 --follow-journal";

/// `weir backtest`
#[derive(Clone, Debug, Args)]
pub struct BacktestArgs {
    /// Events in the order in which they came; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub input: Option<FileOrStandard>,
    /// The topic of interactions instead, of a time range or whole
    #[arg(long, value_name = "TOPIC[@TIME..TIME]", value_parser = from, conflicts_with_all = ["input", "fixture", "since", "until"])]
    pub from: Option<FromTopic>,
    /// Take the events, and all else that went in, in the exact order of the journal
    #[arg(long, requires = "from", conflicts_with_all = ["input", "warm_up"])]
    pub follow_journal: bool,
    /// Begin the range from the newest checkpoint in this folder that lies before it, where one fits
    #[arg(long, value_name = "DIR", requires = "from", conflicts_with = "input")]
    pub checkpoints: Option<PathBuf>,
    /// Where the configuration is.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The candidate: folder of a policy [default: the configured one, else the standard policy]
    #[arg(long, value_name = "DIR")]
    pub policy: Option<PathBuf>,
    /// A policy that it is held against; several allowed [default: the configured one, else the standard policy]
    #[arg(long, value_name = "DIR", requires = "policy")]
    pub against: Vec<PathBuf>,
    /// Which part of the input counts.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Only this share of the actors, such as 5%, with those who share targets, addresses and devices with them
    #[arg(long, value_name = "P%", value_parser = share, conflicts_with_all = ["follow_journal", "fixture"])]
    pub sample: Option<u32>,
    /// Form of the events [default: csv or tsv where the file is called so, packed or not, else jsonl]
    #[arg(long, value_enum, conflicts_with = "from")]
    pub format: Option<EventFormat>,
    /// How the input is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Labels, as CSV: event_id,user_id,label,... as for `weir evaluate`
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub labels: Option<PathBuf>,
    /// Labels from the topics: resolved cases, and late labels that services sent as feedback
    #[arg(long, requires = "from", conflicts_with_all = ["labels", "input"])]
    pub topic_labels: bool,
    /// Write a report as one HTML file; `-` is stdout, and nothing else is printed
    #[arg(long, value_name = "FILE")]
    pub report: Option<FileOrStandard>,
    /// Write all findings as JSON; `-` is stdout, and nothing else is printed
    #[arg(long, value_name = "FILE")]
    pub json: Option<FileOrStandard>,
    /// Write a summary for a pull request; `-` is stdout, and nothing else is printed
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<FileOrStandard>,
    /// End with 3 when this holds, such as 'new_holds > 0.1%'
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Option<String>,
    /// Print an event, with what it may hang on, as a masked test for the candidate, and nothing else
    #[arg(long, value_name = "EVENT_ID", conflicts_with_all = [
        "against", "labels", "report", "json", "markdown", "fail_on", "since", "until", "warm_up", "unmask", "print",
        "label", "label_column", "attack_values",
    ])]
    pub fixture: Option<String>,
    /// Show addresses and devices in full
    #[arg(long)]
    pub unmask: bool,
    /// Form of what is printed
    #[arg(long = "print", value_enum, default_value_t)]
    pub print: Format,
}

/// A topic, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromTopic {
    /// Its name.
    pub topic: String,
    /// From when on.
    pub since: Option<Timestamp>,
    /// Until when, exclusive.
    pub until: Option<Timestamp>,
}

/// `5%`, in hundredths of a percent.
fn share(text: &str) -> Result<u32, String> {
    let words = "write a share such as 5%, above 0 and at most 100, with two decimals at most";
    let percent: f64 = text.strip_suffix('%').unwrap_or(text).trim().parse().map_err(|_| words.to_owned())?;
    let hundredths = percent * 100.0;
    if (1.0..=10_000.0).contains(&hundredths) && (hundredths - hundredths.round()).abs() < 1e-6 {
        Ok(hundredths.round() as u32)
    } else {
        Err(words.to_owned())
    }
}

/// `TOPIC`, `TOPIC@TIME..TIME`, `TOPIC@TIME..`, `TOPIC@..TIME`.
pub(super) fn from(text: &str) -> Result<FromTopic, String> {
    let (topic, range) = text.split_once('@').unwrap_or((text, ".."));
    let (since, until) =
        range.split_once("..").ok_or("write TOPIC@TIME..TIME, either time may be left out")?;
    let time = |text: &str| (!text.is_empty()).then(|| timestamp(text)).transpose();
    let (since, until) = (time(since)?, time(until)?);
    if topic.is_empty() || since.zip(until).is_some_and(|(since, until)| since >= until) {
        return Err("write TOPIC@TIME..TIME, the earlier time first".to_owned());
    }
    Ok(FromTopic { topic: topic.to_owned(), since, until })
}

impl BacktestArgs {
    /// Which part of the input counts, wherever it was typed.
    pub fn range(&self) -> RangeArgs {
        let from = self.from.as_ref();
        RangeArgs {
            since: from.and_then(|from| from.since).or(self.range.since),
            until: from.and_then(|from| from.until).or(self.range.until),
            warm_up: self.range.warm_up,
        }
    }
}

/// Which part of an input counts.
#[derive(Clone, Debug, Default, Args)]
pub struct RangeArgs {
    /// Only events appended at this time or later
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub since: Option<Timestamp>,
    /// Only events appended before this time
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub until: Option<Timestamp>,
    /// How long before --since events are applied untold [default: the longest window of the policies]
    #[arg(long, value_name = "SPAN", value_parser = config::duration)]
    pub warm_up: Option<Span>,
}

/// How a file of events is read.
#[derive(Clone, Debug, Default, Args)]
pub struct ReadingArgs {
    /// Which column of a table is which field
    #[arg(long, value_name = "FIELD=COLUMN", value_delimiter = ',')]
    pub map: Vec<String>,
    /// Columns that tell how often something was done; a row becomes as many events at invented times
    #[arg(long, value_name = "ACTION=COLUMN", value_delimiter = ',')]
    pub counts: Vec<String>,
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
}
