//! Writing an operator's command.

use std::hash::{BuildHasher, RandomState};

use crate::cli::{ConfigArgs, Signature, exit};
use crate::clock;
use crate::commands::{Failure, print, setup};
use crate::engine::address::Address;
use crate::engine::command::{Command, CommandAction};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::time::Timestamp;
use crate::stream::{OutBatch, Topic, TopicNames, post};
use crate::wire::command;
use crate::wire::headers::TraceContext;
use crate::wire::outgoing::{Subject, headers};

/// Writes the command and prints its id.
pub(super) fn give(action: CommandAction, who: &Signature, config: &ConfigArgs) -> Result<u8, Failure> {
    let at = clock::now();
    let id = fresh_id(at);
    let command = Command { id, actor: who.actor.clone(), at, reason: who.reason.clone(), action };
    let batch = record(&command)?;
    let config = setup::config(config)?;
    let names = TopicNames::with_prefix(&config.kafka.topic_prefix);
    post(&setup::kafka(&config), &names, &batch.get(0), setup::PATIENCE)?;
    print(&format!("{}\n", command.id))?;
    Ok(exit::OK)
}

/// The time, and 64 bits that no other process has: ids sort by time and do not repeat.
fn fresh_id(at: Timestamp) -> String {
    let random = RandomState::new().hash_one((at.millis(), std::process::id()));
    format!("cmd-{:011x}-{random:016x}", at.millis())
}

/// The record of a command, if the pipeline would take it.
fn record(command: &Command) -> Result<OutBatch, Failure> {
    if let CommandAction::Ban { entity, .. } | CommandAction::Unban { entity, .. } = &command.action
        && !can_be(entity)
    {
        return Err(Failure::of_usage(format!("`{}` is no address", entity.value)));
    }
    let value = command::encode(command);
    if let Err(error) = command::decode(Some(&value), &[]) {
        return Err(Failure::of_usage(format!("{}: {}", error.place, error.message)));
    }
    let mut batch = OutBatch::default();
    let record = batch.record(Topic::Commands).key_bytes(Some(command::key(command).as_bytes()));
    headers(Subject::Command, &command.id, &TraceContext::default())
        .fold(record.value_bytes(Some(&value)), |record, (name, value)| record.header(name, Some(value)))
        .finish();
    Ok(batch)
}

/// Any text may be an id, but not any text an address; a prefix length may follow it.
fn can_be(entity: &Entity) -> bool {
    let bare = entity.value.split_once('/').map_or(entity.value.as_str(), |(address, _)| address);
    entity.kind != EntityKind::Ip || Address::parse(bare, 128).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::verdict::Verdict;

    fn command(entity: &str, reason: &str) -> Command {
        let entity = entity.parse().expect("an entity");
        let at = Timestamp::from_millis(1_750_000_000_000);
        let action = CommandAction::Ban { entity, verdict: Verdict::Block, length: None };
        Command { id: fresh_id(at), actor: "ann".into(), at, reason: reason.into(), action }
    }

    #[test]
    fn a_command_is_a_record_that_reads_back() {
        for entity in ["user:u:1", "ip:2001:db8::/64", "ip:198.51.100.7"] {
            let command = command(entity, "ring");
            let batch = record(&command).expect("fine");
            let written = batch.get(0);
            assert_eq!((written.topic, written.key), (Topic::Commands, Some(entity.as_bytes())));
            assert_eq!(written.headers.last("ce_id"), Some(command.id.as_bytes()));
            assert_eq!(command::decode(written.value, &[]), Ok(command));
        }
    }

    #[test]
    fn what_the_pipeline_would_refuse_is_not_written() {
        for (entity, reason) in [("ip:campus", "x"), ("user:1", " "), ("user:1", &"x".repeat(2000))] {
            assert_eq!(record(&command(entity, reason)).err().map(|error| error.code), Some(exit::USAGE));
        }
    }

    #[test]
    fn ids_do_not_repeat() {
        let at = Timestamp::from_millis(1_750_000_000_000);
        let ids: std::collections::BTreeSet<String> = (0..1000).map(|_| fresh_id(at)).collect();
        assert_eq!(ids.len(), 1000);
    }
}
