//! A rule that acts for a share of all entities only; for the others it stands in shadow.
//!
//! The share is cut by SHA-256 over the rule's id, a zero byte and the entity's value, read as a fraction: anybody can
//! work it out, it is the same after a restart, a reload and on another machine, each rule cuts another sample, and who is
//! within a share is within every larger one. It is not secret: who knows a rule's id can find a name outside of its
//! share.

use sha2::{Digest, Sha256};

use super::address::Address;
use super::entity::EntityKind;
use super::event::Event;
use super::policy::{LimitRule, Mode, Rule};

/// The share, of entities of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// What kind. An event that does not name one is not within the share.
    pub by: EntityKind,
    /// Hundredths of a percent, 1 to [`Rollout::ALL`].
    pub share: u32,
}

impl Rollout {
    /// Everybody.
    pub const ALL: u32 = 10_000;

    /// Whether an entity is within the share of a rule.
    pub fn covers(&self, rule: &str, entity: &str) -> bool {
        let hash = Sha256::new().chain_update(rule).chain_update([0]).chain_update(entity).finalize();
        let mut head = [0; 8];
        head.copy_from_slice(&hash[..8]);
        u128::from(u64::from_be_bytes(head)) * u128::from(Self::ALL) < u128::from(self.share) << 64
    }

    /// Whether the event's entity is within the share.
    fn takes(&self, rule: &str, event: &Event<'_>, address: Option<Address>) -> bool {
        let covers = |entity: &str| self.covers(rule, entity);
        match self.by {
            EntityKind::User => event.user.as_deref().is_some_and(covers),
            EntityKind::Device => event.device.id.as_deref().is_some_and(covers),
            EntityKind::Target => event.target.as_deref().is_some_and(covers),
            EntityKind::Ip => address.is_some_and(|address| covers(&address.to_string())),
        }
    }
}

/// `10 % by user`.
impl std::fmt::Display for Rollout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} % by {}", f64::from(self.share) / 100.0, self.by)
    }
}

impl Rule {
    /// Whether it acts on an event; else it is in shadow or off.
    pub fn acts(&self, event: &Event<'_>, address: Option<Address>) -> bool {
        acts(self.mode, self.rollout, &self.info.id, event, address)
    }
}

impl LimitRule {
    /// Whether it acts on an event; else it is in shadow or off.
    pub fn acts(&self, event: &Event<'_>, address: Option<Address>) -> bool {
        acts(self.mode, self.rollout, &self.info.id, event, address)
    }
}

fn acts(mode: Mode, rollout: Option<Rollout>, id: &str, event: &Event<'_>, address: Option<Address>) -> bool {
    mode == Mode::Live && rollout.is_none_or(|rollout| rollout.takes(id, event, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(share: u32, rule: &str, entity: &str) -> bool {
        Rollout { by: EntityKind::User, share }.covers(rule, entity)
    }

    /// By hand: `printf 'newcomers\0ann' | sha256sum` begins with the given digits; the first 16, over 2^64.
    #[test]
    fn the_share_is_what_sha256sum_says() {
        // 1fa16a541c69d537 is 12.3556..., 4a348fbfdfa90b53 is 28.9864..., and for `other` it is df6fdf0c805bd1b1, 87.28...
        assert!(!covers(1_235, "newcomers", "ann") && covers(1_236, "newcomers", "ann"));
        assert!(!covers(2_898, "newcomers", "eve") && covers(2_899, "newcomers", "eve"));
        assert!(!covers(8_728, "other", "ann") && covers(8_729, "other", "ann"));
    }

    #[test]
    fn a_larger_share_only_adds_and_two_rules_cut_other_samples() {
        let names: Vec<String> = (0..2_000).map(|n| format!("user-{n}")).collect();
        let within = |share: u32, rule: &str| -> Vec<bool> {
            names.iter().map(|name| covers(share, rule, name)).collect()
        };
        let mut before = within(1, "a");
        for share in [100, 1_000, 5_000, Rollout::ALL] {
            let now = within(share, "a");
            assert!(before.iter().zip(&now).all(|(before, now)| !before || *now), "{share}");
            before = now;
        }
        assert!(before.iter().all(|all| *all));
        let (a, b) = (within(1_000, "a"), within(1_000, "b"));
        let both = a.iter().zip(&b).filter(|(a, b)| **a && **b).count();
        let of = |list: &[bool]| list.iter().filter(|within| **within).count();
        // A tenth is 200 of 2,000, give or take four standard deviations of 13; a tenth of those are in both.
        assert!((146..=254).contains(&of(&a)) && (146..=254).contains(&of(&b)), "{} {}", of(&a), of(&b));
        assert!(both <= 40, "{both} in both");
    }
}
