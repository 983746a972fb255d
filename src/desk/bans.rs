//! The current ban of each entity: complete, in a plain map, as the topic of bans tells it.
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
    by_entity: HashMap<Entity, Ban>,
    by_kind: [usize; EntityKind::ALL.len()],
}

impl Bans {
    /// Applies a change; the last one on an entity holds.
    pub(super) fn apply(&mut self, change: BanChange) {
        let told = match change {
            BanChange::InForce(ban) => {
                self.insert(ban);
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

    fn insert(&mut self, ban: Ban) {
        let kind = ban.entity.kind;
        if self.by_entity.insert(ban.entity.clone(), ban).is_none() {
            self.by_kind[index(kind)] += 1;
        }
    }

    fn remove(&mut self, entity: &Entity) {
        if self.by_entity.remove(entity).is_some() {
            self.by_kind[index(entity.kind)] -= 1;
        }
    }

    /// The ban in force on an entity at a time.
    pub(super) fn in_force(&self, entity: &Entity, now: Timestamp) -> Option<&Ban> {
        self.by_entity.get(entity).filter(|ban| ban.expires_at.is_none_or(|end| now < end))
    }

    /// How many bans there are of a kind of entity, expired ones included until their end is told.
    pub(super) fn count(&self, kind: EntityKind) -> usize {
        self.by_kind[index(kind)]
    }
}

fn index(kind: EntityKind) -> usize {
    EntityKind::ALL.iter().position(|other| *other == kind).expect("all kinds are listed")
}
