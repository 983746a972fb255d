//! Recovery: where a replica begins to follow. The journal's nearest reset, or none: then state begins anew.

use std::time::Duration;

use crate::wire::journal::JournalKind;

use super::follow::{Follower, Foundry};
use super::logs::{FollowError, Logs};

/// Records of the journal that are looked through for a reset at most: about an hour and a half of batches.
const SEARCHED: i64 = 100_000;

/// Where to begin.
pub enum Start {
    /// From here on.
    Follow(Box<Follower>),
    /// Nothing can be restored; why, in words.
    Anew(String),
}

/// Finds where to begin.
///
/// # Errors
/// The brokers do not answer, or the journal cannot be read.
pub fn start(foundry: &Foundry, logs: &mut impl Logs) -> Result<Start, FollowError> {
    let (low, high) = logs.journal_held()?;
    if low >= high {
        return Ok(Start::Anew("the journal is empty".to_owned()));
    }
    from_reset(foundry, logs, low, high)
}

/// A replica without state at the first reset that the journal holds; later ones are met on the way.
fn from_reset(foundry: &Foundry, logs: &mut impl Logs, low: i64, high: i64) -> Result<Start, FollowError> {
    let mut next = low;
    while next < high.min(low.saturating_add(SEARCHED)) {
        let page = logs.journal(next, Duration::from_millis(100))?;
        for (offset, record) in &page.records {
            if record.kind != JournalKind::Reset {
                continue;
            }
            return match foundry.at_reset(record, logs) {
                Ok(replica) => Ok(Start::Follow(Box::new(Follower::new(replica, *offset)))),
                Err(error) if error.needs_reset() => Ok(Start::Anew(error.to_string())),
                Err(error) => Err(error),
            };
        }
        next = page.next;
    }
    Ok(Start::Anew("the journal no longer holds the beginning of its line of state".to_owned()))
}
