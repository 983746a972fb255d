//! What can be typed after `weir policy`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::backtest::from;
use super::{
    BacktestArgs, ConfigArgs, EventFormat, FileOrStandard, Format, FromTopic, RangeArgs, ReadingArgs,
    Signature, named_file,
};

pub(super) const HELP: &str = "\
The folder of the policy is what counts: `weir run` loads what is in it within seconds. These commands change the folder in one
step, and keep each version beside it in FOLDER.versions, with a log of who put which one there, when and why.

promote first decides the given events by the candidate and by the policy in place. Over the budget it is refused, with 3;
--force REASON puts it in place all the same, and the log says so. rollback takes a version that is kept, or the text of any
policy that ever took effect from the topic of policies.

--from-shadow judges a candidate that ran beside the live policy (`weir run --candidate`) by what it would have decided since its
state was copied last, instead of other events or besides. Of these only verdicts are known: figures of accounts are not.

Examples:
  weir policy promote --candidate new --from engagement.interactions.v1 --reason 'case 12'
  weir policy promote --candidate new --input day.jsonl --reason r --budget 'new_blocks > 0'
  weir policy promote --candidate new --from-shadow --reason 'a week beside the live one'
  weir policy list
  weir policy rollback 9f86d081884c --reason 'too many held'";

/// From where on a candidate is refused, unless told otherwise.
const BUDGET: &str =
    "new_holds > 0.1% or new_rejects > 0.1% or new_blocks > 0.02% or newly_touched_paying > 0.1%";

/// `weir policy promote|rollback|list`
#[derive(Clone, Debug, Subcommand)]
pub enum PolicyAction {
    /// Put a candidate in place, unless it acts on more than its budget allows
    Promote(Box<PromoteArgs>),
    /// Put an earlier policy in place
    Rollback(RollbackArgs),
    /// List the versions that are kept, and who put them in place
    List(VersionsArgs),
}

/// Which folder is changed.
#[derive(Clone, Debug, Args)]
pub struct VersionsArgs {
    /// Where the configuration is.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Folder of the policy in place [default: the configured one]
    #[arg(long, value_name = "DIR", env = "WEIR_POLICY")]
    pub policy: Option<PathBuf>,
    /// Form of what is printed
    #[arg(long = "print", value_enum, default_value_t)]
    pub print: Format,
}

/// `weir policy promote`
#[derive(Clone, Debug, Args)]
pub struct PromoteArgs {
    /// Folder of the candidate
    #[arg(long, value_name = "DIR")]
    pub candidate: PathBuf,
    /// Which folder is changed.
    #[command(flatten)]
    pub versions: VersionsArgs,
    /// Events to judge it by; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present_any = ["from", "from_shadow"])]
    pub input: Option<FileOrStandard>,
    /// The topic of interactions instead, of a time range or whole
    #[arg(long, value_name = "TOPIC[@TIME..TIME]", value_parser = from, conflicts_with_all = ["input", "since", "until"])]
    pub from: Option<FromTopic>,
    /// Judge it, too, by what the topic of shadow says it would have decided beside the policy in place
    #[arg(long)]
    pub from_shadow: bool,
    /// Which part of the input counts.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Form of the events, as for `weir backtest`
    #[arg(long, value_enum)]
    pub format: Option<EventFormat>,
    /// How the input is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Refused when this holds: a condition as of `weir backtest --fail-on`
    #[arg(long, value_name = "CONDITION", default_value = BUDGET)]
    pub budget: String,
    /// Put it in place over its budget, for this reason
    #[arg(long, value_name = "REASON", value_parser = NonEmptyStringValueParser::new())]
    pub force: Option<String>,
    /// Why, and by whom.
    #[command(flatten)]
    pub who: Signature,
    /// Write the report of the backtest as one HTML file
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub report: Option<PathBuf>,
}

/// `weir policy rollback`
#[derive(Clone, Debug, Args)]
pub struct RollbackArgs {
    /// Content hash of the policy; its beginning is enough where it is the only one
    #[arg(value_name = "HASH")]
    pub hash: String,
    /// Which folder is changed.
    #[command(flatten)]
    pub versions: VersionsArgs,
    /// Why, and by whom.
    #[command(flatten)]
    pub who: Signature,
}

impl PromoteArgs {
    /// The backtest that it is judged by; `against` is the policy in place, `None` the standard one.
    pub fn backtest(&self, against: Option<PathBuf>) -> BacktestArgs {
        BacktestArgs {
            input: self.input.clone(),
            from: self.from.clone(),
            follow_journal: false,
            checkpoints: None,
            config: self.versions.config.clone(),
            policy: Some(self.candidate.clone()),
            against: against.into_iter().collect(),
            range: self.range.clone(),
            sample: None,
            format: self.format,
            reading: self.reading.clone(),
            labels: None,
            topic_labels: false,
            report: self.report.clone().map(FileOrStandard::File),
            json: None,
            markdown: None,
            fail_on: Some(self.budget.clone()),
            fixture: None,
            unmask: false,
            print: self.versions.print,
        }
    }
}
