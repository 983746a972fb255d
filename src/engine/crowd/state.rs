//! All that is remembered of crowds, and the account of it.

use std::collections::{BTreeMap, VecDeque};

use super::bursts::Bursts;
use super::campaign::Campaign;
use super::earlier::Earlier;
use super::entry::Room;
use super::gate::WINDOWS_MAX;
use super::gathering::Gathering;
use super::quantile::Quantile;
use super::sample::Sample;
use super::trail::Trail;
use crate::engine::key::ByHash;
use crate::engine::policy::{Crowds as Watched, Policy};

/// Actions whose targets and actors are told apart; further ones share the last.
pub(super) const ACTIONS_MAX: usize = 8;
/// The most campaigns that are remembered.
pub(super) const CAMPAIGNS_MAX: usize = 1000;

/// Bytes of what is usual for one action.
const USUAL_BYTES: u64 = Sample::BYTES + WINDOWS_MAX as u64 * Quantile::BYTES;

/// What is remembered of crowds.
#[derive(Debug)]
pub(crate) struct Crowds {
    /// Open gates, by the key of their target.
    pub(super) open: ByHash<Gathering>,
    /// Established crowds, by the key of their target.
    pub(super) campaigns: BTreeMap<u64, Campaign>,
    /// Campaigns with a walk under way.
    pub(super) walking: Vec<u64>,
    /// Corrections that were told before state began anew and not made again, by the digest of their decision.
    pub(super) earlier: BTreeMap<u64, Earlier>,
    /// Those of them that are to be taken back.
    pub(super) taking_back: VecDeque<Earlier>,
    /// By action.
    pub(super) actions: BTreeMap<u64, Usual>,
    pub(super) trail: Trail,
    /// Who was in which crowd before.
    pub(super) bursts: Bursts,
    /// Bytes that open gates may take.
    pub(super) open_budget: u64,
    pub(super) open_bytes: u64,
    /// Open gates that were given up for want of room.
    pub(super) given_up: u64,
    /// Room that is used again.
    pub(super) room: Room,
}

/// What is usual for one action.
#[derive(Clone, Debug)]
pub(crate) struct Usual {
    /// By window.
    pub(super) busy: [Quantile; WINDOWS_MAX],
    pub(super) actors: Sample,
}

/// The account of what is remembered of crowds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrowdStats {
    /// Open gates.
    pub open: u64,
    /// Established crowds that are remembered.
    pub campaigns: u64,
    /// Bytes of everything but the trail.
    pub bytes: u64,
    /// Bytes of the trail, and of corrections that were told before state began anew.
    pub trail_bytes: u64,
    /// Open gates that were given up for want of room.
    pub given_up: u64,
}

impl Crowds {
    /// Nothing remembered yet; `None` when the policy watches no crowds.
    pub(crate) fn new(policy: &Policy) -> Option<Self> {
        let watched = policy.crowds.as_ref()?;
        Some(Self {
            open_budget: open_budget(watched),
            open: ByHash::default(),
            campaigns: BTreeMap::new(),
            walking: Vec::new(),
            earlier: BTreeMap::new(),
            taking_back: VecDeque::new(),
            actions: BTreeMap::new(),
            bursts: Bursts::new(watched.budget / 4),
            trail: Trail::new(policy.settings.retroactive_budget / 2),
            open_bytes: 0,
            given_up: 0,
            room: Room::default(),
        })
    }

    /// The account.
    pub(crate) fn stats(&self) -> CrowdStats {
        let usual = self.actions.len() as u64 * USUAL_BYTES;
        let campaigns: u64 = self.campaigns.values().map(Campaign::bytes).sum();
        CrowdStats {
            open: self.open.len() as u64,
            campaigns: self.campaigns.len() as u64,
            bytes: self.bursts.bytes() + self.open_bytes + usual + campaigns,
            trail_bytes: self.trail.bytes() + self.earlier_bytes(),
            given_up: self.given_up,
        }
    }
}

/// A quarter of the budget is for bursts. This is what is left once all samples are full, and room for campaigns is set aside.
fn open_budget(watched: &Watched) -> u64 {
    let usual = ACTIONS_MAX as u64 * USUAL_BYTES;
    (watched.budget / 4 * 3).saturating_sub(usual).saturating_mul(3).div_euclid(4).max(4 * Gathering::BYTES)
}

/// What is usual for an action.
pub(super) fn usual(actions: &mut BTreeMap<u64, Usual>, action: u64) -> &mut Usual {
    let is_known = actions.len() < ACTIONS_MAX || actions.contains_key(&action);
    let shared = || actions.last_key_value().map_or(action, |(last, _)| *last);
    let action = if is_known { action } else { shared() };
    actions.entry(action).or_insert_with(|| Usual { busy: Default::default(), actors: Sample::new() })
}
