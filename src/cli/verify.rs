//! What can be typed after `weir verify`.

use std::path::PathBuf;

use clap::Args;

use super::{ConfigArgs, Format};

pub(super) const HELP: &str = "\
It reads all topics from their beginning, into memory. It ends with 1 when something is wrong. Nothing should run
meanwhile: what is committed while it reads looks like a fault.

Examples:
  weir verify                                  that every input has one outcome, by the journal
  weir verify --model --format json            and that each decision is the one of the reference model";

/// `weir verify`
#[derive(Clone, Debug, Args)]
pub struct VerifyArgs {
    /// Where the configuration is.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Feed the reference model and compare every decision, ban and case; slow
    #[arg(long)]
    pub model: bool,
    /// Folder of a policy whose text is not in the topic of policies any more
    #[arg(long, value_name = "DIR")]
    pub policy: Option<PathBuf>,
    /// Form of the report
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
