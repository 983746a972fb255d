//! What was decided before and still binds: bans and penalty steps of the event's user, device and address.

use std::sync::Arc;

use super::Engine;
use super::address::Address;
use super::ban::Ban;
use super::bans::shows;
use super::decision::ReasonSource;
use super::entity::{Entity, EntityKind};
use super::event::Event;
use super::look::{Binding, Look};
use super::plan::{ADDRESS, DEVICE, USER, field_of};
use super::profile;
use super::time::Span;

/// A ban and the reason that decisions give for it.
type Shown<'b> = (&'b Ban, &'b Arc<ReasonSource>);

impl Engine {
    /// The strongest thing that binds the event.
    pub(super) fn binding(&self, event: &Event<'_>, look: &Look<'_>) -> Option<Binding> {
        let bans = self.bans_on(event, look).map(|(ban, source)| Binding {
            verdict: ban.verdict,
            source: Arc::clone(source),
            left: ban.expires_at.map(|end| end.since(look.at)),
        });
        let standing = [(&self.users, look.profiles.user), (&self.devices, look.profiles.device)]
            .into_iter()
            .filter_map(|(table, slot)| self.standing(table.cells(slot?), look));
        bans.into_iter().chain(standing).max_by_key(|b| (b.verdict, b.left.map_or(i64::MAX, Span::millis)))
    }

    fn bans_on(&self, event: &Event<'_>, look: &Look<'_>) -> Option<Shown<'_>> {
        if self.bans.is_empty() {
            return None;
        }
        let user =
            self.ban_on(EntityKind::User, look.hashes[USER], |value| event.user.as_deref() == Some(value));
        let device = self.ban_on(EntityKind::Device, look.hashes[DEVICE], |value| {
            event.device.id.as_deref() == Some(value)
        });
        let address = self.ban_on(EntityKind::Ip, look.hashes[ADDRESS], |value| {
            look.address.is_some_and(|address| address.to_string() == value)
        });
        [user, device, address].into_iter().flatten().max_by(|a, b| shows(a.0, b.0))
    }

    fn ban_on(&self, kind: EntityKind, hash: Option<u64>, is: impl Fn(&str) -> bool) -> Option<Shown<'_>> {
        self.bans.strongest(entity_key(kind, hash?), |entity| entity.kind == kind && is(&entity.value))
    }

    fn standing(&self, words: &[u32], look: &Look<'_>) -> Option<Binding> {
        let (step, until) = profile::standing(words, look.at)?;
        let step = self.policy.settings.penalties.steps.get(step)?;
        Some(Binding {
            verdict: step.verdict,
            source: Arc::clone(&step.info),
            left: Some(until.since(look.at)),
        })
    }

    /// An entity as the engine keys it: addresses in their normal form; `None` when the value is no address.
    pub(super) fn normalise(&self, entity: &Entity) -> Option<(u64, Entity)> {
        let hash = match entity.kind {
            EntityKind::Ip => return self.normalise_address(&entity.value),
            _ => self.seed.bytes(entity.value.as_bytes()),
        };
        Some((entity_key(entity.kind, hash), entity.clone()))
    }

    fn normalise_address(&self, value: &str) -> Option<(u64, Entity)> {
        let prefix = self.policy.settings.ipv6_prefix;
        let bare = value.strip_suffix(&format!("/{prefix}")).unwrap_or(value);
        let address = Address::parse(bare, prefix)?;
        let key = entity_key(EntityKind::Ip, self.seed.bytes(&address.key_bytes()));
        Some((key, Entity::new(EntityKind::Ip, address.to_string())))
    }
}

/// Whose an event is, with the key: the user's, else the device's, else the address's.
pub(super) fn actor(event: &Event<'_>, look: &Look<'_>) -> Option<(Entity, u64)> {
    let entity = match (&event.user, &event.device.id, look.address) {
        (Some(user), _, _) => Entity::new(EntityKind::User, user.as_ref()),
        (None, Some(device), _) => Entity::new(EntityKind::Device, device.as_ref()),
        (None, None, Some(address)) => Entity::new(EntityKind::Ip, address.to_string()),
        (None, None, None) => return None,
    };
    let hash = look.hashes[field_of(entity.kind)]?;
    let key = entity_key(entity.kind, hash);
    Some((entity, key))
}

/// Keys of entities of different kinds differ although their values may be the same.
pub(super) fn entity_key(kind: EntityKind, hash: u64) -> u64 {
    hash.rotate_left(8 * (kind as u32 + 1)) ^ 0x517c_c1b7_2722_0a95_u64.wrapping_mul(kind as u64 + 1)
}
