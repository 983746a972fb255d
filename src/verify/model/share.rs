//! Whether a rule acts on an event, or only for others.

use sha2::{Digest, Sha256};

use super::look::Look;
use crate::engine::entity::EntityKind;
use crate::engine::event::Event;
use crate::engine::policy::Mode;
use crate::engine::rollout::Rollout;

/// A rule that is live acts, where it has a share for those whose name falls into it: the digest of `id`, a zero byte and
/// the name, as a fraction, lies below the share.
pub(super) fn in_force(
    mode: Mode,
    rollout: Option<Rollout>,
    id: &str,
    event: &Event<'_>,
    look: &Look,
) -> bool {
    let (Mode::Live, Some(rollout)) = (mode, rollout) else { return mode == Mode::Live };
    let name = match rollout.by {
        EntityKind::User => event.user.clone().map(std::borrow::Cow::into_owned),
        EntityKind::Device => event.device.id.clone().map(std::borrow::Cow::into_owned),
        EntityKind::Target => event.target.clone().map(std::borrow::Cow::into_owned),
        EntityKind::Ip => look.address.map(|address| address.to_string()),
    };
    let Some(name) = name else { return false };
    let digest = Sha256::digest(format!("{id}\0{name}"));
    let fraction = digest.iter().take(8).fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    fraction * 10_000 < u128::from(rollout.share) << 64
}
