//! `risk.bans.v1`: the bans of an entity, compacted by `kind:value`.
//!
//! Each record is complete: whoever has the newest record of every key has all bans. No value (a tombstone)
//! means that nothing binds the entity. `expires_at` binds readers whether or not a tombstone has come yet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::quantity::EpochMillis;
use super::record::{self, invalid};
use super::words::{EntityText, VerdictWord};
use crate::engine::ban::{Ban, BanChange, Origin};
use crate::engine::entity::Entity;
use crate::engine::time::Timestamp;

/// The bans of one entity. The fields at the top are those of the strongest ban; `others` has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Ban", deny_unknown_fields)]
pub struct BanRecord {
    /// Whom it binds; the record key is the same text.
    pub entity: EntityText,
    /// `in_force`: act on it. `lifted`: a person has lifted all bans, and a tombstone follows; the fields tell
    /// what was in force.
    pub status: BanStatus,
    /// Identity of the strongest ban: of the command, or of the decision, that made it.
    #[schemars(example = &"cmd-01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub ban_id: String,
    /// What to do with what the entity does. A reader that meets a word it does not know takes
    /// `weaker_verdict`, and without one `allow`.
    pub verdict: VerdictWord,
    /// For a verdict newer than the first release of this version: the nearest weaker one that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weaker_verdict: Option<VerdictWord>,
    /// Who issued it.
    #[schemars(example = serde_json::json!({ "by": "policy", "name": "penalty-100" }))]
    pub origin: OriginRecord,
    /// Public reason code, upper case.
    #[schemars(example = &"PENALTY_BAN")]
    pub code: String,
    /// Why, for people.
    #[schemars(example = &"Too many refusals within a day")]
    pub reason: String,
    /// From when, inclusive.
    pub issued_at: EpochMillis,
    /// Until when, exclusive; absent until lifted. Binding on readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochMillis>,
    /// Who lifted it; with status `lifted` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "actor": "alice@example.org", "reason": "appeal", "at": 1_750_000_000_000_i64 }))]
    pub lifted: Option<LiftRecord>,
    /// Further bans in force, weaker or as strong; empty for most. When the strongest expires, the next holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!([]))]
    pub others: Vec<BanEntry>,
}

/// Where a ban stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["in_force"], "x-unit" = "word"))]
pub enum BanStatus {
    /// It holds until `expires_at`.
    InForce,
    /// A person has lifted it.
    Lifted,
}

/// Who issued a ban.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OriginRecord {
    /// The policy by itself, or an operator.
    pub by: OriginWord,
    /// The rule, limit or penalty step; or the operator.
    #[schemars(example = &"penalty-100", example = &"alice@example.org")]
    pub name: String,
}

/// What kind of issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["policy"], "x-unit" = "word"))]
pub enum OriginWord {
    /// A rule, limit or penalty step.
    Policy,
    /// A person or a service.
    Actor,
}

/// Who lifted a ban.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiftRecord {
    /// A person or a service.
    #[schemars(example = &"alice@example.org")]
    pub actor: String,
    /// Why, for people.
    #[schemars(example = &"appeal")]
    pub reason: String,
    /// When.
    pub at: EpochMillis,
}

/// One further ban.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BanEntry {
    /// Identity: of the command, or of the decision, that made it.
    #[schemars(example = &"cmd-01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub ban_id: String,
    /// What to do with what the entity does.
    pub verdict: VerdictWord,
    /// For a verdict newer than the first release of this version: the nearest weaker one that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weaker_verdict: Option<VerdictWord>,
    /// Who issued it.
    #[schemars(example = serde_json::json!({ "by": "actor", "name": "alice@example.org" }))]
    pub origin: OriginRecord,
    /// Public reason code, upper case.
    #[schemars(example = &"OPERATOR")]
    pub code: String,
    /// Why, for people.
    #[schemars(example = &"confirmed bot ring")]
    pub reason: String,
    /// From when, inclusive.
    pub issued_at: EpochMillis,
    /// Until when, exclusive; absent until lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochMillis>,
}

/// The record key: `kind:value`.
pub fn key(change: &BanChange) -> String {
    match change {
        BanChange::InForce(bans) => bans.first().map(|ban| ban.entity.to_string()).unwrap_or_default(),
        BanChange::Lifted { entity, .. } | BanChange::Gone(entity) => entity.to_string(),
    }
}

/// The value: JSON, or `None` for a tombstone.
pub fn encode(change: &BanChange) -> Option<Vec<u8>> {
    match change {
        BanChange::Gone(_) => None,
        BanChange::InForce(bans) => BanRecord::in_force(bans).map(|record| record::write(&record)),
        BanChange::Lifted { ban, actor, reason, at, .. } => {
            let lift = LiftRecord { actor: actor.clone(), reason: reason.clone(), at: (*at).into() };
            Some(record::write(&BanRecord::of(ban, &[], Some(lift))))
        }
    }
}

/// Reads a record of the topic; no value is a tombstone.
///
/// # Errors
/// A key that names no entity or another one than the value, and whatever the JSON has wrong.
pub fn decode(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<BanChange, DecodeError> {
    let key = key.and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default();
    let entity: Entity = key.parse().map_err(|_| invalid("key", "names no entity as `kind:value`"))?;
    if value.is_none() {
        return Ok(BanChange::Gone(entity));
    }
    let record: BanRecord = record::read(value)?;
    if record.entity.0 != entity {
        return Err(invalid("entity", "is another one than the key's"));
    }
    Ok(record.into_change())
}

impl BanRecord {
    /// The record of an entity's bans, strongest first; `None` when there are none.
    pub fn in_force(bans: &[Ban]) -> Option<Self> {
        let (strongest, others) = bans.split_first()?;
        Some(Self::of(strongest, others, None))
    }

    /// The bans of the entity, strongest first; none when they were lifted.
    pub fn into_bans(self) -> Vec<Ban> {
        match self.into_change() {
            BanChange::InForce(bans) => bans,
            BanChange::Lifted { .. } | BanChange::Gone(_) => Vec::new(),
        }
    }

    fn of(strongest: &Ban, others: &[Ban], lifted: Option<LiftRecord>) -> Self {
        let top = BanEntry::from(strongest);
        Self {
            entity: EntityText(strongest.entity.clone()),
            status: if lifted.is_some() { BanStatus::Lifted } else { BanStatus::InForce },
            ban_id: top.ban_id,
            verdict: top.verdict,
            weaker_verdict: None,
            origin: top.origin,
            code: top.code,
            reason: top.reason,
            issued_at: top.issued_at,
            expires_at: top.expires_at,
            lifted,
            others: others.iter().map(BanEntry::from).collect(),
        }
    }

    fn into_change(self) -> BanChange {
        let entity = self.entity.0;
        let top = BanEntry {
            ban_id: self.ban_id,
            verdict: self.verdict,
            weaker_verdict: self.weaker_verdict,
            origin: self.origin,
            code: self.code,
            reason: self.reason,
            issued_at: self.issued_at,
            expires_at: self.expires_at,
        };
        let top = top.into_ban(&entity);
        match (self.status, self.lifted) {
            (BanStatus::Lifted, lift) => lifted(entity, top, lift),
            (BanStatus::InForce, _) => {
                let others = self.others.into_iter().map(|other| other.into_ban(&entity));
                BanChange::InForce(std::iter::once(top).chain(others).collect())
            }
        }
    }
}

fn lifted(entity: Entity, ban: Ban, lift: Option<LiftRecord>) -> BanChange {
    let (actor, reason, at) = lift.map_or((String::new(), String::new(), ban.issued_at), |lift| {
        (lift.actor, lift.reason, lift.at.into())
    });
    BanChange::Lifted { entity, ban: Box::new(ban), actor, reason, at }
}

impl BanEntry {
    fn into_ban(self, entity: &Entity) -> Ban {
        Ban {
            id: self.ban_id,
            entity: entity.clone(),
            verdict: self.verdict.or_weaker(self.weaker_verdict.as_ref()),
            origin: match self.origin.by {
                OriginWord::Policy => Origin::Policy(self.origin.name),
                OriginWord::Actor => Origin::Actor(self.origin.name),
            },
            code: self.code,
            reason: self.reason,
            issued_at: self.issued_at.into(),
            expires_at: self.expires_at.map(Timestamp::from),
        }
    }
}

impl From<&Ban> for BanEntry {
    fn from(ban: &Ban) -> Self {
        let (by, name) = match &ban.origin {
            Origin::Policy(name) => (OriginWord::Policy, name),
            Origin::Actor(name) => (OriginWord::Actor, name),
        };
        Self {
            ban_id: ban.id.clone(),
            verdict: ban.verdict.into(),
            weaker_verdict: None,
            origin: OriginRecord { by, name: name.clone() },
            code: ban.code.clone(),
            reason: ban.reason.clone(),
            issued_at: ban.issued_at.into(),
            expires_at: ban.expires_at.map(EpochMillis::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entity::EntityKind;
    use crate::engine::input::DeadLetterReason;
    use crate::engine::verdict::Verdict;

    fn ban(id: &str, origin: Origin, expires_at: Option<i64>) -> Ban {
        Ban {
            id: id.into(),
            entity: Entity::new(EntityKind::Ip, "2001:db8::/64"),
            verdict: Verdict::Reject,
            origin,
            code: "OPERATOR".into(),
            reason: "ring".into(),
            issued_at: Timestamp::from_millis(1_750_000_000_000),
            expires_at: expires_at.map(Timestamp::from_millis),
        }
    }

    fn read_back(change: &BanChange) -> Result<BanChange, DecodeError> {
        decode(Some(key(change).as_bytes()), encode(change).as_deref())
    }

    #[test]
    fn every_change_reads_back_as_written() {
        let first = || ban("b1", Origin::Actor("alice".into()), None);
        let second = || ban("b2", Origin::Policy("penalty-100".into()), Some(1_750_000_060_000));
        for change in [
            BanChange::InForce(vec![second()]),
            BanChange::InForce(vec![first(), second()]),
            BanChange::Lifted {
                entity: first().entity,
                ban: Box::new(first()),
                actor: "bob".into(),
                reason: "appeal".into(),
                at: Timestamp::from_millis(1_750_000_030_000),
            },
            BanChange::Gone(first().entity),
        ] {
            assert_eq!(read_back(&change), Ok(change.clone()));
            assert_eq!(key(&change), "ip:2001:db8::/64");
        }
        assert_eq!(encode(&BanChange::Gone(first().entity)), None);
    }

    #[test]
    fn a_key_that_disagrees_is_refused() {
        let value = encode(&BanChange::InForce(vec![ban("b1", Origin::Actor("a".into()), None)]));
        for (key, place) in [("user:1", "entity"), ("nonsense", "key")] {
            let error = decode(Some(key.as_bytes()), value.as_deref()).expect_err(key);
            assert_eq!((error.reason, error.place.as_str()), (DeadLetterReason::InvalidField, place));
        }
    }
}
