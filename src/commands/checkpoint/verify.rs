//! `weir checkpoint verify`: every byte of a checkpoint against its checksums.

use serde_json::{Value, json};

use super::Source;
use super::ask::Unanswered;
use super::list::megabytes;
use crate::cli::{Format, exit};
use crate::commands::table::visible;
use crate::commands::{Failure, print, tell};
use crate::state::StateError;

/// The bytes of a checkpoint's pages, or what is damaged and where; none when it is not there.
type Verified = Option<Result<u64, String>>;

/// Ends with 1 when one is damaged, or the one that was asked for is not there.
pub(super) fn verify(from: &Source, generation: Option<u64>, format: Format) -> Result<u8, Failure> {
    let generations = match generation {
        Some(generation) => vec![generation],
        None => from.generations()?,
    };
    let mut sound = true;
    let mut report = Vec::new();
    for &number in &generations {
        let (verified, missing) = verified(from, number)?;
        let verified = match verified {
            // Of those that were listed a running owner may have removed one.
            None if generation.is_none() => {
                tell(&format!("checkpoint {number} was removed meanwhile"));
                continue;
            }
            None => Err(missing),
            Some(verified) => verified,
        };
        sound &= verified.is_ok();
        match format {
            Format::Json => report.push(entry(number, &verified)),
            Format::Text => print(&line(number, &verified))?,
        }
    }
    match format {
        Format::Json => print(&format!("{:#}\n", json!({ "checkpoints": report })))?,
        Format::Text if generations.is_empty() => print(&format!("{}\n", from.none()))?,
        Format::Text => {}
    }
    Ok(if sound { exit::OK } else { exit::FAILURE })
}

/// With the words for one that is not there.
fn verified(from: &Source, generation: u64) -> Result<(Verified, String), Failure> {
    match from {
        Source::Files(archive) => Ok(match archive.verify(generation) {
            Err(error @ StateError::Missing { .. }) => (None, error.to_string()),
            verified => (Some(verified.map_err(|error| error.to_string())), String::new()),
        }),
        Source::Process(process, _) => match process.verify(generation) {
            Ok(verified) => Ok((Some(verified), String::new())),
            Err(Unanswered::Missing(why)) => Ok((None, why)),
            Err(Unanswered::Unreadable(why)) => Ok((Some(Err(why)), String::new())),
            Err(unanswered) => Err(unanswered.into()),
        },
    }
}

fn entry(generation: u64, verified: &Result<u64, String>) -> Value {
    match verified {
        Ok(bytes) => json!({ "generation": generation, "sound": true, "bytes": bytes }),
        Err(why) => json!({ "generation": generation, "sound": false, "why": why }),
    }
}

fn line(generation: u64, verified: &Result<u64, String>) -> String {
    match verified {
        Ok(bytes) => format!("checkpoint {generation} is sound: {} of state\n", megabytes(*bytes)),
        Err(why) => format!("checkpoint {generation} cannot be used: {}\n", visible(why)),
    }
}
