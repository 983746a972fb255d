//! What can be typed after `weir simulate`.

use std::path::PathBuf;

use clap::Args;

use super::{FileOrStandard, Format};

pub(super) const HELP: &str = "\
Events are one JSON object a line, in the order in which a log would take them; labels are CSV: one row an account, and
one for each event that the account's row does not speak for. The same name, seed and scale give the same bytes.

Examples:
  weir simulate --list
  weir simulate --scenario echo --seed 7 --output events.jsonl --labels labels.csv
  weir simulate --scenario campus --seed 1 --scale 0.1 --output - --labels labels.csv | weir replay --input - --output decisions.jsonl";

/// `weir simulate`
#[derive(Clone, Debug, Args)]
pub struct SimulateArgs {
    /// Which story is told; `--list` names them
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    pub scenario: Option<String>,
    /// Another number, other people; the same number, the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Multiplies honest people and attackers, 0.001 to 100
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = scale)]
    pub scale: f64,
    /// Events, one JSON object a line; `-` is stdout
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    pub output: Option<FileOrStandard>,
    /// The truth about them, as CSV
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    pub labels: Option<PathBuf>,
    /// List the scenarios
    #[arg(long)]
    pub list: bool,
    /// Form of the statistics on stderr, and of the list
    #[arg(long, value_enum, default_value_t)]
    pub stats: Format,
}

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "write a number such as 0.1".to_owned())?;
    if (0.001..=100.0).contains(&scale) { Ok(scale) } else { Err("it is from 0.001 to 100".to_owned()) }
}
