//! The current bans of each entity: complete, in a plain map, as the topic of bans tells it.
//!
//! `expires_at` binds readers: a ban that has run out is no longer in force, whether or not its end was told yet.

use std::collections::HashMap;

use crate::engine::ban::{Ban, BanChange};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::time::Timestamp;
use crate::metrics;

/// All current bans.
#[derive(Debug, Default)]
pub(super) struct Bans {
    by_entity: HashMap<Entity, Vec<Ban>>,
    by_kind: [usize; EntityKind::ALL.len()],
}

impl Bans {
    /// Applies a change; the last one on an entity holds.
    pub(super) fn apply(&mut self, change: BanChange) {
        let told = match change {
            BanChange::InForce(bans) => {
                self.insert(bans);
                "in_force"
            }
            BanChange::Lifted { entity, .. } => {
                self.remove(&entity);
                "lifted"
            }
            BanChange::Gone(entity) => {
                self.remove(&entity);
                "gone"
            }
        };
        metrics::ban_changes(told, 1);
    }

    fn insert(&mut self, bans: Vec<Ban>) {
        let Some(entity) = bans.first().map(|ban| ban.entity.clone()) else { return };
        let kind = entity.kind;
        if self.by_entity.insert(entity, bans).is_none() {
            self.by_kind[index(kind)] += 1;
        }
    }

    fn remove(&mut self, entity: &Entity) {
        if self.by_entity.remove(entity).is_some() {
            self.by_kind[index(entity.kind)] -= 1;
        }
    }

    /// The bans in force on an entity at a time, strongest first.
    pub(super) fn in_force(&self, entity: &Entity, now: Timestamp) -> Vec<Ban> {
        let bans = self.by_entity.get(entity).into_iter().flatten();
        bans.filter(|ban| ban.expires_at.is_none_or(|end| now < end)).cloned().collect()
    }

    /// How many entities of a kind are banned, those whose ban has run out included until its end is told.
    pub(super) fn count(&self, kind: EntityKind) -> usize {
        self.by_kind[index(kind)]
    }
}

fn index(kind: EntityKind) -> usize {
    EntityKind::ALL.iter().position(|other| *other == kind).expect("all kinds are listed")
}
