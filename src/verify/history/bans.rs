//! The topic of bans, read to its end: who is banned, and whether each ban has an end or a person behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::Lines;
use super::outcomes::Found;
use super::record::History;
use super::verdict::{Place, Verdict};
use crate::engine::ban::{Ban, BanChange, Origin};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::time::Timestamp;
use crate::wire::ban;

/// What the topic says.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// By entity: its bans, strongest first, and where that was told; none after a tombstone.
    pub(super) newest: BTreeMap<Entity, (Place, Vec<Ban>)>,
    /// Ids of all bans that were ever told.
    pub(super) ids: BTreeSet<String>,
}

/// Reads the topic and checks each record and the end of it.
pub(super) fn read(history: &History, lines: &Lines, found: &Found, verdict: &mut Verdict) -> Told {
    let mut told = Told { ids: found.reasons.clone(), ..Told::default() };
    let mut lifted = BTreeMap::<Entity, Place>::new();
    for record in &history.bans {
        verdict.count("changes of bans", 1);
        let place = record.place();
        match ban::decode(record.key.as_deref(), record.value.as_deref()) {
            Ok(BanChange::InForce(bans)) => {
                bans.iter().for_each(|ban| endless(ban, &place, verdict));
                told.ids.extend(bans.iter().map(|ban| ban.id.clone()));
                if let Some(first) = bans.first() {
                    lifted.remove(&first.entity);
                    told.newest.insert(first.entity.clone(), (place, bans));
                }
            }
            Ok(BanChange::Lifted { entity, .. }) => {
                told.newest.insert(entity.clone(), (place.clone(), Vec::new()));
                lifted.insert(entity, place);
            }
            Ok(BanChange::Gone(entity)) => {
                lifted.remove(&entity);
                told.newest.insert(entity, (place, Vec::new()));
            }
            Err(error) => verdict.violate("ban unreadable", place, error.to_string()),
        }
    }
    for (entity, place) in lifted {
        verdict.violate(
            "tombstone missing",
            place,
            format!("the bans of {entity} are lifted and no tombstone follows"),
        );
    }
    expired(&told, newest_time(lines, found), verdict);
    told
}

/// What binds until lifted was issued by a person, and no address or target by the machine.
fn endless(ban: &Ban, place: &Place, verdict: &mut Verdict) {
    let machine = matches!(ban.origin, Origin::Policy(_));
    if machine && ban.expires_at.is_none() {
        let text = format!("ban {} of {} was issued by the machine and has no end", ban.id, ban.entity);
        verdict.violate("ban without end", place.clone(), text);
    }
    if machine && matches!(ban.entity.kind, EntityKind::Ip | EntityKind::Target) {
        let text = format!("ban {} of {} was issued by the machine", ban.id, ban.entity);
        verdict.violate("ban by the machine", place.clone(), text);
    }
    if ban.expires_at.is_some_and(|end| end <= ban.issued_at) {
        let text = format!("ban {} of {} ends before it begins", ban.id, ban.entity);
        verdict.violate("ban without length", place.clone(), text);
    }
}

/// The latest time that the engine surely came to: of ticks, and of events that counted.
fn newest_time(lines: &Lines, found: &Found) -> Timestamp {
    let records = lines.shards.values().flatten();
    let ticks = records.flat_map(|(_, record)| &record.ticks).map(|tick| Timestamp::from(*tick));
    ticks.max().unwrap_or_default().max(found.newest)
}

/// What has come to its end is gone.
fn expired(told: &Told, now: Timestamp, verdict: &mut Verdict) {
    for (entity, (place, bans)) in &told.newest {
        for ban in bans {
            verdict.count("bans in force", 1);
            if let Some(end) = ban.expires_at.filter(|end| *end <= now) {
                let text = format!("ban {} of {entity} ended at {end} and still stands at {now}", ban.id);
                verdict.violate("ban expiry missed", place.clone(), text);
            }
        }
    }
}
