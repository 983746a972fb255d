//! Bans and cases as their topics tell them: whatever happened to a state, a restart frees nobody and closes no case.

use std::collections::BTreeMap;

use crate::engine::ban::{Ban, BanChange};
use crate::engine::case::Case;
use crate::engine::entity::Entity;
use crate::stream::{RecordRef, StreamError, Topic};
use crate::wire::{ban, case};

use super::shard::ShardSettings;
use super::topic_end::read_to_end;

/// All bans that the topic holds, by entity and strongest first, as it stood when asked. What cannot be read is left
/// out and told in the log.
///
/// # Errors
/// The topic is missing or denied, or the brokers do not answer.
pub fn read_bans(settings: &ShardSettings) -> Result<BTreeMap<Entity, Vec<Ban>>, StreamError> {
    let mut current = BTreeMap::new();
    read_to_end(settings, Topic::Bans, |record| note(&mut current, record))?;
    Ok(current)
}

/// Every case that the topic holds, by id, as it was told last. What cannot be read is left out and told in the log.
///
/// # Errors
/// The topic is missing or denied, or the brokers do not answer.
pub(super) fn read_cases(settings: &ShardSettings) -> Result<BTreeMap<String, Case>, StreamError> {
    let mut current = BTreeMap::new();
    read_to_end(settings, Topic::Cases, |record| match case::decode(record.value) {
        Ok(case) => drop(current.insert(case.id.clone(), case)),
        Err(error) => {
            tracing::warn!(%error, "a record of the topic of cases cannot be read and is passed over");
        }
    })?;
    Ok(current)
}

fn note(current: &mut BTreeMap<Entity, Vec<Ban>>, record: &RecordRef<'_>) {
    match ban::decode(record.key, record.value) {
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
