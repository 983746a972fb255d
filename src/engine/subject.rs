//! What the engine knows of one entity, for people who ask: read at a batch boundary, never on the road of an event.

use super::Engine;
use super::ban::Ban;
use super::entity::{Entity, EntityKind};
use super::profile;
use super::time::Timestamp;

/// What is known of a user, device or address.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Whom it is about; addresses in their normal form.
    pub entity: Entity,
    /// When first seen here.
    pub first_seen: Option<Timestamp>,
    /// When last seen here.
    pub last_seen: Option<Timestamp>,
    /// Registration time, for users that told it.
    pub created_at: Option<Timestamp>,
    /// Distinct days on which a user was seen here.
    pub active_days: Option<u32>,
    /// Penalty points now.
    pub penalty: Option<f32>,
    /// Distinct settled accounts seen behind an address within a day.
    pub settled_accounts: Option<u64>,
    /// Bans in force, strongest first.
    pub bans: Vec<Ban>,
}

impl Engine {
    /// The profile of an entity; `None` when its value cannot be one (no address).
    pub fn profile(&self, entity: &Entity) -> Option<Profile> {
        let (key, entity) = self.normalise(entity)?;
        let bans = self.bans.of(key, &entity);
        let mut told = Profile {
            first_seen: None,
            last_seen: None,
            created_at: None,
            active_days: None,
            penalty: None,
            settled_accounts: None,
            bans,
            entity,
        };
        self.fill_profile(&mut told);
        Some(told)
    }

    fn fill_profile(&self, told: &mut Profile) {
        let table = match told.entity.kind {
            EntityKind::User => &self.users,
            EntityKind::Device => &self.devices,
            EntityKind::Ip => &self.addresses,
            EntityKind::Target => return,
        };
        let Some(slot) = self.profile_key(&told.entity).and_then(|key| table.find(key, self.now)) else {
            return;
        };
        let words = table.cells(slot);
        told.first_seen = profile::first_seen(words);
        told.last_seen = Some(table.touched(slot));
        let half_life = self.policy.settings.penalties.half_life;
        match told.entity.kind {
            EntityKind::User => {
                told.created_at = profile::created_at(words);
                told.active_days = Some(profile::active_days(words));
                told.penalty = Some(profile::penalty(words, self.now, half_life));
            }
            EntityKind::Device => told.penalty = Some(profile::penalty(words, self.now, half_life)),
            EntityKind::Ip => {
                let cell = &words[profile::ADDRESS_WORDS..];
                told.settled_accounts = Some(self.settled_accounts.read(cell, table.spill(), self.now).count);
            }
            EntityKind::Target => {}
        }
    }

    fn profile_key(&self, entity: &Entity) -> Option<u64> {
        let prefix = self.policy.settings.ipv6_prefix;
        match entity.kind {
            EntityKind::Ip => {
                let bare = entity.value.split('/').next()?;
                Some(self.seed.bytes(&super::address::Address::parse(bare, prefix)?.key_bytes()))
            }
            _ => Some(self.seed.bytes(entity.value.as_bytes())),
        }
    }
}
