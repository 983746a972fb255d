//! `weir checkpoint verify`: every byte of a checkpoint against its checksums.

use serde_json::{Value, json};

use super::list::megabytes;
use super::none_in;
use crate::cli::{Format, exit};
use crate::commands::table::visible;
use crate::commands::{Failure, print};
use crate::state::{Archive, StateError};

/// Ends with 1 when one is damaged, or the one that was asked for is not there.
pub(super) fn verify(archive: &Archive, generation: Option<u64>, format: Format) -> Result<u8, Failure> {
    let generations = match generation {
        Some(generation) => vec![generation],
        None => archive.generations()?,
    };
    let mut sound = true;
    let mut report = Vec::new();
    for generation in generations {
        let verified = archive.verify(generation);
        sound &= verified.is_ok();
        match format {
            Format::Json => report.push(entry(generation, &verified)),
            Format::Text => print(&line(generation, &verified))?,
        }
    }
    match format {
        Format::Json => print(&format!("{:#}\n", json!({ "checkpoints": report })))?,
        Format::Text if generation.is_none() && archive.generations()?.is_empty() => {
            print(&format!("{}\n", none_in(archive)))?;
        }
        Format::Text => {}
    }
    Ok(if sound { exit::OK } else { exit::FAILURE })
}

fn entry(generation: u64, verified: &Result<u64, StateError>) -> Value {
    match verified {
        Ok(bytes) => json!({ "generation": generation, "sound": true, "bytes": bytes }),
        Err(error) => json!({ "generation": generation, "sound": false, "why": error.to_string() }),
    }
}

fn line(generation: u64, verified: &Result<u64, StateError>) -> String {
    match verified {
        Ok(bytes) => format!("checkpoint {generation} is sound: {} of state\n", megabytes(*bytes)),
        Err(error) => format!("checkpoint {generation} cannot be used: {}\n", visible(&error.to_string())),
    }
}
