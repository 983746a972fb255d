//! Corrections that were told before state began anew, of campaigns with a case that a person may decide: whoever clears
//! it has them taken back, whether the campaign is found again, found in part, or not at all.
//!
//! They come from the topic of decisions, whole: a reversal tells what was decided at first. Bounded; what there is no room
//! for is for the caller to tell. One that is corrected again here belongs to its campaign from then on.

use std::collections::BTreeMap;

use super::correct::Weighed;
use super::entry::{Stand, Told};
use super::state::Crowds;
use crate::engine::Engine;
use crate::engine::case::Case;
use crate::engine::cut::saved;
use crate::engine::entity::EntityKind;
use crate::engine::feedback::Revision;
use crate::engine::recall::{Kept, bytes_of, revision_of};

/// The part of the budget of what may be revised that they may take.
const BUDGET_PART: u64 = 8;
/// What one costs beside its bytes.
const OVERHEAD: u64 = 112;

/// A correction that was told.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// What was decided at first, and on what.
    pub first: Revision,
    /// The number of the revision that holds.
    pub revision: u32,
    /// The target that the case of its campaign is about, where that is another one: the same accounts pushed both.
    pub part_of: Option<String>,
}

/// The same as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// Hash of the target that the case is about.
    pub(super) target: u64,
    pub(super) revision: u32,
    first: Box<[u8]>,
}

saved!(Earlier { target, revision, first });

impl Earlier {
    pub(super) fn bytes(&self) -> u64 {
        self.first.len() as u64 + OVERHEAD
    }
}

impl Engine {
    /// Targets with a case of a campaign that a person may decide; whether the campaign itself is known.
    pub fn campaign_cases(&self) -> BTreeMap<String, bool> {
        let (Some(watched), Some(crowds)) = (&self.policy.crowds, &self.crowds) else {
            return BTreeMap::new();
        };
        let id = &watched.campaign.info.id;
        let of_campaign = |case: &&Case| case.rule == *id && case.entity.kind == EntityKind::Target;
        let targets = self.cases.decidable().filter(of_campaign).map(|case| &case.entity.value);
        let is_known = |target: &str| crowds.has_campaign_on(self.seed.bytes(target.as_bytes()));
        targets.map(|target| (target.clone(), is_known(target))).collect()
    }

    /// Takes over corrections that were told before state began anew, the most wanted first. Returns for how many there was
    /// no room.
    pub fn restore_corrections(&mut self, corrections: &[Correction]) -> usize {
        let budget = self.policy.settings.retroactive_budget / BUDGET_PART;
        let Some(crowds) = &mut self.crowds else { return corrections.len() };
        let (mut refused, mut bytes) = (0, crowds.earlier_bytes());
        for Correction { first, revision, part_of } in corrections {
            let of = part_of.as_deref().or(first.event.target.as_deref()).unwrap_or_default();
            let target = self.seed.bytes(of.as_bytes());
            let earlier = Earlier { target, revision: *revision, first: bytes_of(&first.decision()) };
            if bytes + earlier.bytes() > budget {
                refused += 1;
            } else {
                bytes += earlier.bytes();
                crowds.earlier.insert(first.judgement.id.digest, earlier);
            }
        }
        refused
    }

    /// Takes a correction back that was told before state began anew, unless its decision is final or was revised since.
    pub(super) fn take_back_earlier(&mut self, earlier: &Earlier) {
        let Some(first) = revision_of(&earlier.first) else { return };
        let judgement = &first.judgement;
        let known = self.recall.find(&judgement.id, self.now).map(Kept::judgement);
        let is_newer = known.is_some_and(|known| known.id.revision > earlier.revision);
        if judgement.revisable_until <= self.now || is_newer {
            return;
        }
        let policy = std::sync::Arc::clone(&self.policy);
        let weighed = Weighed::cleared_to((&policy, &self.plan.prior), judgement.verdict, judgement.score);
        let stand = Stand { first: judgement.verdict, revision: earlier.revision, ..Stand::default() };
        let at = judgement.effective_at;
        let Revision { event, topic, append_time, judgement } = first;
        self.revise(&Told { id: judgement.id, topic, append_time, event }, stand, weighed, at);
    }
}

impl Crowds {
    pub(super) fn earlier_bytes(&self) -> u64 {
        self.earlier.values().chain(&self.taking_back).map(Earlier::bytes).sum()
    }

    fn has_campaign_on(&self, target: u64) -> bool {
        self.campaigns.values().any(|campaign| campaign.target == target)
    }

    /// Has those of a target taken back; false when there are none.
    pub(super) fn take_back_all(&mut self, target: u64) -> bool {
        let of: Vec<u64> = self
            .earlier
            .iter()
            .filter(|(_, earlier)| earlier.target == target)
            .map(|(key, _)| *key)
            .collect();
        self.taking_back.extend(of.iter().filter_map(|digest| self.earlier.remove(digest)));
        !of.is_empty()
    }
}
