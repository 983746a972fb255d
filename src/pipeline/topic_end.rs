//! Reading a whole topic to the end it has now.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::engine::time::Timestamp;
use crate::stream::{Input, InputEvent, InputLimits, Lookup, RecordRef, StreamError, Topic, TopicStart};

use super::shard::ShardSettings;

/// How long the brokers may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Shows every record of a topic, up to the end when asked, to `each`; of one partition in the order of its log.
///
/// # Errors
/// The topic is missing or denied, or the brokers do not answer.
pub fn read_to_end(
    settings: &ShardSettings,
    topic: Topic,
    each: impl FnMut(&RecordRef<'_>),
) -> Result<(), StreamError> {
    read_since(settings, topic, Timestamp::default(), each)
}

/// The same of the records that were appended at or after a time.
///
/// # Errors
/// As [`read_to_end`].
pub(super) fn read_since(
    settings: &ShardSettings,
    topic: Topic,
    since: Timestamp,
    mut each: impl FnMut(&RecordRef<'_>),
) -> Result<(), StreamError> {
    let lookup = Lookup::open(&settings.kafka, &settings.names)?;
    let partitions = lookup.partitions(topic, PATIENCE)?;
    let first = match since.millis() {
        ..=0 => vec![Some(0); partitions as usize],
        since => lookup.at_time(topic, partitions, since, PATIENCE)?,
    };
    let (mut left, mut positions) = (BTreeMap::new(), Vec::new());
    for (partition, first) in (0..partitions).zip(first) {
        let held = lookup.held(topic, partition, PATIENCE)?;
        let from = first.unwrap_or(held.high).clamp(held.low, held.high);
        positions.push((partition, from));
        if held.high > from {
            left.insert(partition, held.high);
        }
    }
    let start = [TopicStart { topic, positions }];
    let input = Input::open(&settings.kafka, &settings.names, &start, InputLimits::default(), PATIENCE)?;
    let mut quiet = Stopwatch::start();
    while !left.is_empty() {
        match input.next(Duration::from_millis(100)) {
            InputEvent::Records(records) => {
                quiet = Stopwatch::start();
                for record in records.iter() {
                    each(&record);
                    left.retain(|partition, end| {
                        *partition != record.at.partition || record.at.offset + 1 < *end
                    });
                }
                for end in records.ends() {
                    left.retain(|partition, high| *partition != end.partition || end.position < *high);
                }
            }
            InputEvent::Problem(problem) if problem.stops => return Err(problem.error),
            InputEvent::Problem(_) | InputEvent::Idle if quiet.elapsed() > PATIENCE => {
                let (doing, reason) =
                    (format!("reading {topic} to its end"), "no more of its records came".to_owned());
                return Err(StreamError::Other { doing, reason });
            }
            InputEvent::Problem(_) | InputEvent::Idle => {}
        }
    }
    Ok(())
}
