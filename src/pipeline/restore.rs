//! The bans in force as their topic tells them: read to its end before the first event, so that a restart frees nobody.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::engine::ban::{Ban, BanChange};
use crate::engine::entity::Entity;
use crate::stream::{Input, InputEvent, InputLimits, Lookup, StreamError, Topic, TopicStart};
use crate::wire::ban;

use super::shard::ShardSettings;

/// How long the brokers may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// All bans that the topic holds, by entity and strongest first, as it stood when asked. What cannot be read is left
/// out and told in the log.
///
/// # Errors
/// The topic is missing or denied, or the brokers do not answer.
pub fn read_bans(settings: &ShardSettings) -> Result<Vec<Ban>, StreamError> {
    let lookup = Lookup::open(&settings.kafka, &settings.names)?;
    let partitions = lookup.partitions(Topic::Bans, PATIENCE)?;
    let mut left = BTreeMap::new();
    let mut positions = Vec::new();
    for partition in 0..partitions {
        let held = lookup.held(Topic::Bans, partition, PATIENCE)?;
        positions.push((partition, held.low));
        if held.high > held.low {
            left.insert(partition, held.high);
        }
    }
    let start = [TopicStart { topic: Topic::Bans, positions }];
    let input = Input::open(&settings.kafka, &settings.names, &start, InputLimits::default(), PATIENCE)?;
    read_to(&input, &mut left)
}

/// Reads until no partition is `left` before its end.
fn read_to(input: &Input, left: &mut BTreeMap<i32, i64>) -> Result<Vec<Ban>, StreamError> {
    let mut current = BTreeMap::<Entity, Vec<Ban>>::new();
    let mut quiet = Stopwatch::start();
    while !left.is_empty() {
        match input.next(Duration::from_millis(100)) {
            InputEvent::Records(records) => {
                quiet = Stopwatch::start();
                for record in records.iter() {
                    note(&mut current, record.key, record.value);
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
                let reason = "no more of its records came".to_owned();
                return Err(StreamError::Other { doing: "reading the topic of bans".to_owned(), reason });
            }
            InputEvent::Problem(_) | InputEvent::Idle => {}
        }
    }
    Ok(current.into_values().flatten().collect())
}

fn note(current: &mut BTreeMap<Entity, Vec<Ban>>, key: Option<&[u8]>, value: Option<&[u8]>) {
    match ban::decode(key, value) {
        Ok(BanChange::InForce(bans)) => {
            if let Some(first) = bans.first() {
                current.insert(first.entity.clone(), bans);
            }
        }
        Ok(BanChange::Lifted { entity, .. } | BanChange::Gone(entity)) => {
            current.remove(&entity);
        }
        Err(error) => {
            tracing::warn!(%error, "a record of the topic of bans cannot be read and is passed over");
        }
    }
}
