//! `weir checkpoint list`.

use serde_json::json;

use super::none_in;
use crate::cli::{Format, exit};
use crate::commands::table::{columns, visible};
use crate::commands::{Failure, print};
use crate::engine::time::Timestamp;
use crate::state::{Archive, Generation, Skipped};

/// Prints what there is, the newest first; what is not complete comes after it.
pub(super) fn list(archive: &Archive, format: Format) -> Result<u8, Failure> {
    let (complete, skipped) = archive.list()?;
    match format {
        Format::Json => {
            let unusable = skipped.iter().map(|s| json!({ "generation": s.generation, "why": s.why }));
            let dir = archive.dir().display().to_string();
            let list = json!({
                "state_dir": dir,
                "checkpoints": complete,
                "unusable": unusable.collect::<Vec<_>>(),
            });
            print(&format!("{list:#}\n"))?;
        }
        Format::Text => print(&text(archive, &complete, &skipped))?,
    }
    Ok(exit::OK)
}

fn text(archive: &Archive, complete: &[Generation], skipped: &[Skipped]) -> String {
    let mut text = match complete {
        [] => format!("{}\n", none_in(archive)),
        _ => columns(["checkpoint", "made at", "line", "size", "policy"], &rows(complete)),
    };
    for Skipped { generation, why } in skipped {
        text += &format!("checkpoint {generation} cannot be used: {}\n", visible(why));
    }
    text
}

fn rows(complete: &[Generation]) -> Vec<[String; 5]> {
    let row = |one: &Generation| {
        [
            one.generation.to_string(),
            Timestamp::from_millis(one.created_at).to_string(),
            format!("{}/{}", one.lineage, one.seq),
            megabytes(one.bytes),
            one.policy.chars().take(12).collect(),
        ]
    };
    complete.iter().map(row).collect()
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
