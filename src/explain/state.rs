//! What was known of those who act before the event came.

use serde::Serialize;

use crate::engine::Engine;
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::event::Event;
use crate::engine::subject::Profile;
use crate::engine::time::Timestamp;

/// What is known of one entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct State {
    /// `user:ann`
    pub(super) entity: String,
    /// It was seen before.
    pub(super) known: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_seen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_seen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) registered: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) active_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) settled_accounts: Option<u64>,
    /// Bans in force, strongest first.
    pub(super) bans: Vec<String>,
}

/// The state of the event's user, device and address.
pub(super) fn before(engine: &Engine, event: &Event<'_>) -> Vec<State> {
    let entity = |kind, value: Option<&str>| value.map(|value| Entity::new(kind, value));
    let entities = [
        entity(EntityKind::User, event.user.as_deref()),
        entity(EntityKind::Device, event.device.id.as_deref()),
        entity(EntityKind::Ip, event.ip.as_deref()),
    ];
    entities
        .into_iter()
        .flatten()
        .filter_map(|entity| engine.profile(&entity))
        .map(|profile| state(&profile))
        .collect()
}

fn state(profile: &Profile) -> State {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let bans = profile.bans.iter().map(|ban| {
        let until = ban.expires_at.map_or("until lifted".to_owned(), |at| format!("until {at}"));
        format!("{} {until}: {}", ban.verdict, ban.reason)
    });
    State {
        entity: profile.entity.to_string(),
        known: profile.first_seen.is_some(),
        bans: bans.collect(),
        first_seen: time(profile.first_seen),
        last_seen: time(profile.last_seen),
        registered: time(profile.created_at),
        active_days: profile.active_days,
        penalty: profile.penalty,
        settled_accounts: profile.settled_accounts,
    }
}
