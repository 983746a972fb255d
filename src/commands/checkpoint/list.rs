//! `weir checkpoint list`.

use serde_json::json;

use super::Source;
use crate::cli::{Format, exit};
use crate::commands::table::{columns, visible};
use crate::commands::{Failure, print};
use crate::engine::time::Timestamp;
use crate::state::{Generation, Owned, Skipped};

/// Prints what there is, the newest first; what is not complete comes after it.
pub(super) fn list(from: &Source, format: Format) -> Result<u8, Failure> {
    match from {
        Source::Files(archive) => {
            let (complete, skipped) = archive.list()?;
            print(&match format {
                Format::Json => {
                    let dir = archive.dir().display().to_string();
                    let list = json!({ "state_dir": dir, "checkpoints": complete, "unusable": skipped });
                    format!("{list:#}\n")
                }
                Format::Text if complete.is_empty() => format!("{}\n{}", from.none(), unusable(&skipped)),
                Format::Text => {
                    let rows: Vec<_> = complete.iter().map(row).collect();
                    columns(HEADS, &rows) + &unusable(&skipped)
                }
            })?;
        }
        Source::Process(_, list) => {
            let held = &list.held;
            print(&match format {
                Format::Json => {
                    let list = json!({
                        "state_dir": list.state_dir,
                        "checkpoints": held.checkpoints,
                        "unusable": held.unusable,
                        "writing": held.writing,
                    });
                    format!("{list:#}\n")
                }
                Format::Text if held.checkpoints.is_empty() => {
                    format!("{}\n{}", from.none(), unusable(&held.unusable))
                }
                Format::Text => {
                    let [a, b, c, d, e] = HEADS;
                    let rows: Vec<_> = held.checkpoints.iter().map(owned).collect();
                    columns([a, b, c, d, e, "in the journal"], &rows) + &unusable(&held.unusable)
                }
            })?;
        }
    }
    Ok(exit::OK)
}

const HEADS: [&str; 5] = ["checkpoint", "made at", "line", "size", "policy"];

fn unusable(skipped: &[Skipped]) -> String {
    let line = |Skipped { generation, why }: &Skipped| {
        format!("checkpoint {generation} cannot be used: {}\n", visible(why))
    };
    skipped.iter().map(line).collect()
}

fn row(one: &Generation) -> [String; 5] {
    [
        one.generation.to_string(),
        Timestamp::from_millis(one.created_at).to_string(),
        format!("{}/{}", one.lineage, one.seq),
        megabytes(one.bytes),
        one.policy.chars().take(12).collect(),
    ]
}

fn owned(one: &Owned) -> [String; 6] {
    let [a, b, c, d, e] = row(&one.generation);
    [a, b, c, d, e, if one.confirmed { "yes" } else { "not looked up" }.to_owned()]
}

/// In megabytes of a million bytes, with one decimal.
pub(super) fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_a_tenth_of_a_megabyte() {
        let shown = [0, 1, 100_000, 1_234_567, 480_000_000].map(megabytes);
        assert_eq!(shown, ["0.0 MB", "0.1 MB", "0.1 MB", "1.3 MB", "480.0 MB"]);
    }
}
