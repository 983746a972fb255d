//! Where the text of an earlier policy is found: beside the folder, else on the topic of policies.

use std::collections::BTreeMap;

use super::{Place, failed, short};
use crate::commands::{Failure, setup, tell};
use crate::config::policy_versions::Files;
use crate::engine::policy::load::content_hash;
use crate::stream::{Input, InputEvent, InputLimits, Lookup, StreamError, Topic, TopicNames, TopicStart};
use crate::wire::policy;

/// Hash, texts and origin of the only policy whose hash begins so.
pub(super) fn find(place: &Place, wanted: &str) -> Result<(String, Files, String), Failure> {
    let kept = place.versions.hashes().map_err(|error| failed(place.versions.folder(), &error))?;
    let here: Vec<&String> = kept.iter().filter(|hash| hash.starts_with(wanted)).collect();
    if let Some(hash) = only(&here, wanted)? {
        let files = place.versions.read(hash).map_err(|error| failed(place.versions.folder(), &error))?;
        if content_hash(&files) == **hash {
            return Ok(((*hash).clone(), files, place.versions.folder().display().to_string()));
        }
        tell(&format!(
            "warning: {} was changed: it is sought on the topic",
            place.versions.folder().join(hash).display()
        ));
    }
    let names = TopicNames::with_prefix(&place.config.kafka.topic_prefix);
    let topic = names.get(Topic::Policies).to_owned();
    let mut told = on_topic(place, &names).map_err(|error| Failure {
        text: format!("{} begins no version in {}; {error}", wanted, place.versions.folder().display()),
        ..error.into()
    })?;
    let there: Vec<&String> = told.keys().filter(|hash| hash.starts_with(wanted)).collect();
    let Some(hash) = only(&there, wanted)?.map(|hash| (*hash).clone()) else {
        let all: Vec<&str> = kept.iter().chain(told.keys()).map(|hash| short(hash)).collect();
        return Err(Failure::new(format!(
            "no policy has a hash that begins with {wanted}; there are: {}",
            all.join(", ")
        )));
    };
    let files = told.remove(&hash).unwrap_or_default();
    Ok((hash, files, topic))
}

fn only<'h, 'l>(hashes: &'l [&'h String], wanted: &str) -> Result<Option<&'l &'h String>, Failure> {
    match hashes {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => Err(Failure::of_usage(format!(
            "{} policies begin with {wanted}: give more of the hash",
            several.len()
        ))),
    }
}

/// The policies that the topic holds, up to its end when asked.
fn on_topic(place: &Place, names: &TopicNames) -> Result<BTreeMap<String, Files>, StreamError> {
    let settings = setup::kafka(&place.config);
    let lookup = Lookup::open(&settings, names)?;
    let (mut positions, mut left) = (Vec::new(), BTreeMap::new());
    for partition in 0..lookup.partitions(Topic::Policies, setup::PATIENCE)? {
        let held = lookup.held(Topic::Policies, partition, setup::PATIENCE)?;
        if held.low < held.high {
            positions.push((partition, held.low));
            left.insert(partition, held.high);
        }
    }
    let mut found = BTreeMap::new();
    if left.is_empty() {
        return Ok(found);
    }
    let start = TopicStart { topic: Topic::Policies, positions };
    let input = Input::open(&settings, names, &[start], InputLimits::default(), setup::PATIENCE)?;
    while !left.is_empty() {
        match input.next(setup::PATIENCE) {
            InputEvent::Records(batch) => {
                for record in batch.iter() {
                    match policy::decode(record.value) {
                        Ok((hash, files)) => drop(found.insert(hash, files)),
                        Err(error) => tell(&format!(
                            "warning: a record of {} is passed over: {error}",
                            names.get(Topic::Policies)
                        )),
                    }
                    left.retain(|partition, end| {
                        *partition != record.at.partition || record.at.offset + 1 < *end
                    });
                }
                for end in batch.ends() {
                    left.retain(|partition, high| *partition != end.partition || end.position < *high);
                }
                input.recycle(batch);
            }
            InputEvent::Problem(problem) if problem.stops => return Err(problem.error),
            InputEvent::Problem(_) => {}
            InputEvent::Idle => {
                let doing = "reading the policies".to_owned();
                return Err(StreamError::Other { doing, reason: "no answer from Kafka".to_owned() });
            }
        }
    }
    Ok(found)
}
