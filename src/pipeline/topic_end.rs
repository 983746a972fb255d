//! Reading a whole topic to the end it has now.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Stopwatch;
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
    mut each: impl FnMut(&RecordRef<'_>),
) -> Result<(), StreamError> {
    let lookup = Lookup::open(&settings.kafka, &settings.names)?;
    let (mut left, mut positions) = (BTreeMap::new(), Vec::new());
    for partition in 0..lookup.partitions(topic, PATIENCE)? {
        let held = lookup.held(topic, partition, PATIENCE)?;
        positions.push((partition, held.low));
        if held.high > held.low {
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
