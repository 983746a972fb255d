//! Reading the bans in force from their compacted topic.
//!
//! The topic is read from its beginning to the end that it had at the start. Of each entity the newest record counts;
//! `expires_at` binds whether or not a tombstone has come yet. A record that cannot be read is told and passed over.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cli::{ConfigArgs, Format, exit};
use crate::clock::{self, Stopwatch};
use crate::commands::policy::counted;
use crate::commands::table::{columns, visible};
use crate::commands::{Failure, print, setup, tell};
use crate::config::Config;
use crate::engine::ban::{Ban, BanChange, Origin};
use crate::engine::entity::EntityKind;
use crate::engine::time::Timestamp;
use crate::stream::{Input, InputEvent, InputLimits, Lookup, RecordBatch, Topic, TopicNames, TopicStart};
use crate::wire::ban;

/// The newest record of each entity, by its text.
type Newest = BTreeMap<String, Vec<Ban>>;

/// Partitions still to be read, and the offset up to which.
type Left = BTreeMap<i32, i64>;

/// Prints the bans in force.
pub(super) fn list(kind: Option<EntityKind>, format: Format, config: &ConfigArgs) -> Result<u8, Failure> {
    let config = setup::config(config)?;
    let now = clock::now();
    let bans = read(&config)?.into_values().flatten();
    let bans: Vec<Ban> = bans.filter(|ban| holds(ban, kind, now)).collect();
    match format {
        Format::Json => {
            let entries: Vec<Entry> = bans.iter().map(Entry::from).collect();
            let text = serde_json::to_string_pretty(&entries).expect("text and numbers can be written");
            print(&format!("{text}\n"))?;
        }
        Format::Text if bans.is_empty() => print("no bans are in force\n")?,
        Format::Text => {
            print(&table(&bans))?;
            print(&format!("{}\n", counted(bans.len(), "ban")))?;
        }
    }
    Ok(exit::OK)
}

fn holds(ban: &Ban, kind: Option<EntityKind>, now: Timestamp) -> bool {
    ban.expires_at.is_none_or(|end| now < end) && kind.is_none_or(|kind| ban.entity.kind == kind)
}

fn read(config: &Config) -> Result<Newest, Failure> {
    let settings = setup::kafka(config);
    let names = TopicNames::with_prefix(&config.kafka.topic_prefix);
    let lookup = Lookup::open(&settings, &names)?;
    let (mut positions, mut left) = (Vec::new(), Left::new());
    for partition in 0..lookup.partitions(Topic::Bans, setup::PATIENCE)? {
        let held = lookup.held(Topic::Bans, partition, setup::PATIENCE)?;
        if held.low < held.high {
            positions.push((partition, held.low));
            left.insert(partition, held.high);
        }
    }
    if left.is_empty() {
        return Ok(Newest::new());
    }
    let start = TopicStart { topic: Topic::Bans, positions };
    let input = Input::open(&settings, &names, &[start], InputLimits::default(), setup::PATIENCE)?;
    gather(&input, left)
}

fn gather(input: &Input, mut left: Left) -> Result<Newest, Failure> {
    let mut newest = Newest::new();
    let mut silent = Stopwatch::start();
    while !left.is_empty() {
        match input.next(setup::PATIENCE) {
            InputEvent::Records(batch) => {
                take(&batch, &mut newest, &mut left);
                input.recycle(batch);
                silent = Stopwatch::start();
            }
            InputEvent::Problem(problem) if problem.stops => return Err(problem.error.into()),
            InputEvent::Problem(_) | InputEvent::Idle if silent.elapsed() < setup::PATIENCE => {}
            InputEvent::Problem(problem) => return Err(problem.error.into()),
            InputEvent::Idle => {
                let text = "error: no answer from Kafka while reading the bans".to_owned();
                return Err(Failure { code: exit::KAFKA, text });
            }
        }
    }
    Ok(newest)
}

fn take(batch: &RecordBatch, newest: &mut Newest, left: &mut Left) {
    for record in batch.iter() {
        let at = record.at;
        match ban::decode(record.key, record.value) {
            Ok(BanChange::InForce(bans)) => {
                if let Some(first) = bans.first() {
                    newest.insert(first.entity.to_string(), bans);
                }
            }
            Ok(BanChange::Lifted { entity, .. } | BanChange::Gone(entity)) => {
                newest.remove(&entity.to_string());
            }
            Err(error) => {
                let error = visible(&error.to_string());
                tell(&format!("warning: {}/{} offset {}: {error}", at.topic, at.partition, at.offset));
            }
        }
        left.retain(|partition, end| *partition != at.partition || at.offset + 1 < *end);
    }
    for end in batch.ends() {
        left.retain(|partition, wanted| *partition != end.partition || end.position < *wanted);
    }
}

fn until(ban: &Ban) -> String {
    ban.expires_at.map_or_else(|| "lifted".to_owned(), |end| end.to_string())
}

fn by(ban: &Ban) -> String {
    match &ban.origin {
        Origin::Policy(name) => format!("policy {name}"),
        Origin::Actor(name) => name.clone(),
    }
}

fn table(bans: &[Ban]) -> String {
    let cells = |ban: &Ban| {
        let verdict = ban.verdict.name().to_owned();
        [
            ban.entity.to_string(),
            verdict,
            ban.issued_at.to_string(),
            until(ban),
            by(ban),
            ban.id.clone(),
            ban.reason.clone(),
        ]
    };
    let rows: Vec<[String; 7]> = bans.iter().map(cells).collect();
    columns(["ENTITY", "VERDICT", "SINCE", "UNTIL", "BY", "ID", "REASON"], &rows)
}

/// One ban as data: times in milliseconds since 1970, as in the topic.
#[derive(Serialize)]
struct Entry<'a> {
    entity: String,
    ban_id: &'a str,
    verdict: &'static str,
    origin: &'static str,
    origin_name: &'a str,
    code: &'a str,
    reason: &'a str,
    issued_at: i64,
    expires_at: Option<i64>,
}

impl<'a> From<&'a Ban> for Entry<'a> {
    fn from(ban: &'a Ban) -> Self {
        let (origin, origin_name) = match &ban.origin {
            Origin::Policy(name) => ("policy", name),
            Origin::Actor(name) => ("actor", name),
        };
        Self {
            entity: ban.entity.to_string(),
            ban_id: &ban.id,
            verdict: ban.verdict.name(),
            origin,
            origin_name,
            code: &ban.code,
            reason: &ban.reason,
            issued_at: ban.issued_at.millis(),
            expires_at: ban.expires_at.map(Timestamp::millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entity::Entity;
    use crate::engine::verdict::Verdict;
    use crate::stream::{Coordinates, PartitionEnd, Timestamp as Stamp};

    fn ban(user: &str, expires_at: Option<i64>) -> Ban {
        Ban {
            id: format!("b-{user}"),
            entity: Entity::new(EntityKind::User, user),
            verdict: Verdict::Block,
            origin: Origin::Actor("ann".into()),
            code: "OPERATOR".into(),
            reason: "ring".into(),
            issued_at: Timestamp::from_millis(1_750_000_000_000),
            expires_at: expires_at.map(Timestamp::from_millis),
        }
    }

    fn push(batch: &mut RecordBatch, offset: i64, change: &BanChange) {
        let at = Coordinates { topic: Topic::Bans, partition: 0, offset };
        let (key, value) = (ban::key(change), ban::encode(change));
        batch.push(at, Stamp::Create(0), Some(key.as_bytes()), value.as_deref());
    }

    #[test]
    fn the_newest_record_of_an_entity_counts() {
        let mut batch = RecordBatch::default();
        push(&mut batch, 0, &BanChange::InForce(vec![ban("gone", None)]));
        push(&mut batch, 1, &BanChange::InForce(vec![ban("stays", None)]));
        push(&mut batch, 2, &BanChange::Gone(Entity::new(EntityKind::User, "gone")));
        let (mut newest, mut left) = (Newest::new(), Left::from([(0, 5)]));
        take(&batch, &mut newest, &mut left);
        assert_eq!(newest.keys().collect::<Vec<_>>(), ["user:stays"]);
        assert_eq!(left, Left::from([(0, 5)]), "offsets 3 and 4 may be markers");
        batch.clear();
        batch.push_end(PartitionEnd { topic: Topic::Bans, partition: 0, position: 5 });
        take(&batch, &mut newest, &mut left);
        assert!(left.is_empty());
    }

    #[test]
    fn a_record_that_cannot_be_read_is_passed_over() {
        let mut batch = RecordBatch::default();
        let at = Coordinates { topic: Topic::Bans, partition: 0, offset: 0 };
        batch.push(at, Stamp::Create(0), Some(b"user:1"), Some(b"{"));
        let (mut newest, mut left) = (Newest::new(), Left::from([(0, 1)]));
        take(&batch, &mut newest, &mut left);
        assert!(newest.is_empty() && left.is_empty());
    }

    #[test]
    fn a_ban_holds_until_its_end_and_not_at_it() {
        let at = Timestamp::from_millis;
        assert!(holds(&ban("u", None), None, at(i64::MAX)));
        assert!(holds(&ban("u", Some(10)), Some(EntityKind::User), at(9)));
        assert!(!holds(&ban("u", Some(10)), None, at(10)));
        assert!(!holds(&ban("u", None), Some(EntityKind::Ip), at(0)));
    }
}
