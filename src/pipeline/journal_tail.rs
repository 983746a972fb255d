//! The newest record of a shard's journal.

use std::time::Duration;

use crate::clock::Stopwatch;
use crate::stream::{Input, InputEvent, InputLimits, Lookup, StreamError, Topic, TopicStart};
use crate::wire::journal::{self, JournalRecord};

use super::logs::FollowError;
use super::shard::ShardSettings;

/// How long the brokers may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Offsets before the end that are looked at first: one record and the marker of its transaction are two.
const NEAR: i64 = 16;

/// The newest committed record of the journal; `None` when it holds none.
///
/// # Errors
/// The brokers do not answer, or the record cannot be read.
pub(super) fn newest(settings: &ShardSettings) -> Result<Option<JournalRecord>, FollowError> {
    Ok(newest_at(settings)?.map(|(_, record)| record))
}

/// The same, with its offset.
///
/// # Errors
/// See [`newest`].
pub(super) fn newest_at(settings: &ShardSettings) -> Result<Option<(i64, JournalRecord)>, FollowError> {
    let lookup = Lookup::open(&settings.kafka, &settings.names)?;
    let held = lookup.held(Topic::Journal, settings.shard.cast_signed(), PATIENCE)?;
    if held.low >= held.high {
        return Ok(None);
    }
    let mut back = NEAR;
    loop {
        let from = held.high.saturating_sub(back).max(held.low);
        // Markers and aborted records may fill the end: then it is looked for further back.
        match last_from(settings, from, held.high)? {
            None if from > held.low => back = back.saturating_mul(16),
            found => return Ok(found),
        }
    }
}

fn last_from(
    settings: &ShardSettings,
    from: i64,
    end: i64,
) -> Result<Option<(i64, JournalRecord)>, FollowError> {
    let start = [TopicStart { topic: Topic::Journal, positions: vec![(settings.shard.cast_signed(), from)] }];
    let input = Input::open(&settings.kafka, &settings.names, &start, InputLimits::default(), PATIENCE)?;
    let (mut next, mut last, watch) = (from, None, Stopwatch::start());
    while next < end {
        match input.next(Duration::from_millis(100)) {
            InputEvent::Records(records) => {
                for record in records.iter() {
                    let offset = record.at.offset;
                    let unreadable = |error| FollowError::Unreadable { offset, error };
                    last = Some((offset, journal::decode(record.value).map_err(unreadable)?));
                    next = offset + 1;
                }
                next = records.ends().iter().map(|end| end.position).fold(next, i64::max);
            }
            InputEvent::Problem(problem) if problem.stops => return Err(FollowError::Input(problem)),
            InputEvent::Problem(_) | InputEvent::Idle if watch.elapsed() > PATIENCE => {
                let (doing, reason) =
                    ("reading the end of the journal".to_owned(), "it did not come".to_owned());
                return Err(StreamError::Other { doing, reason }.into());
            }
            InputEvent::Problem(_) | InputEvent::Idle => {}
        }
    }
    Ok(last)
}
