//! A crowd of which it is established that it was brought in: who belongs to it, and how far its corrections have come.

use std::collections::{BTreeMap, HashSet};

use super::composition::Composition;
use super::evidence::Kind;
use super::trail::Place;
use super::traits::Traits;
use crate::engine::case::{CampaignEvidence, CampaignFacts};
use crate::engine::key::Prehashed;
use crate::engine::time::Timestamp;

/// Accounts by the hour or day of their registration.
pub(super) type Cohorts = BTreeMap<u32, u32>;

/// An established crowd.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Campaign {
    /// Hash of the target.
    pub(super) target: u64,
    /// The target.
    pub(super) name: String,
    /// The gate of the campaign that it is a part of: the same accounts pushed that one's target before. One matter is one
    /// case.
    pub(super) part_of: Option<u64>,
    /// What it was judged to be last.
    pub(super) composition: Composition,
    /// Hashes of the accounts that belong to it.
    pub(super) members: HashSet<u64, Prehashed>,
    /// How many of them were registered in which hour or on which day.
    pub(super) cohorts: Cohorts,
    /// When it last grew.
    pub(super) grown_at: Timestamp,
    /// What its case tells.
    pub(super) facts: CampaignFacts,
    /// A person said that it is honest: nothing is held against anybody before this.
    pub(super) cleared_until: Option<Timestamp>,
    /// The walk along the trail that is under way.
    pub(super) walk: Option<Walk>,
    /// Accounts that had come when the last walk began, and when that was.
    pub(super) walked: (u64, Timestamp),
}

/// A walk back along the trail of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// The next entry.
    pub(super) at: Place,
    /// Entries before this are final.
    pub(super) until: Timestamp,
    /// Whether corrections are taken back.
    pub(super) back: bool,
}

impl Campaign {
    /// The most members that are told apart.
    pub(super) const MEMBERS_MAX: usize = 20_000;

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> u64 {
        4096 + self.members.len() as u64 * 24 + self.cohorts.len() as u64 * 16
    }

    /// Notes a member.
    pub(super) fn join(&mut self, traits: &Traits, at: Timestamp) {
        self.grown_at = self.grown_at.max(at);
        if self.members.len() < Self::MEMBERS_MAX && self.members.insert(traits.user) && traits.cohort != 0 {
            *self.cohorts.entry(traits.cohort).or_default() += 1;
        }
        self.facts.members = self.members.len() as u64;
    }

    /// Whether it is held against an account that it belongs to it.
    pub(super) fn holds(&self, user: u64, at: Timestamp) -> bool {
        !self.is_cleared(at) && self.members.contains(&user)
    }

    /// Takes what the crowd was judged to be.
    pub(super) fn judged(&mut self, composition: &Composition) {
        self.composition = composition.clone();
        let facts = &mut self.facts;
        (facts.share, facts.judged) = (percent(composition.suspect), composition.users);
        let names = Kind::ALL.map(Kind::name).into_iter().chain(["crowd.repeats"]);
        let found = names.zip(composition.shares).filter(|(_, share)| *share > 0.0);
        facts.evidence = found
            .map(|(kind, share)| CampaignEvidence { kind: kind.to_owned(), share: percent(share) })
            .collect();
    }

    /// Whether half of these accounts, or more, belong to it.
    pub(super) fn has_most_of(&self, accounts: &BTreeMap<u64, Traits>) -> bool {
        accounts.keys().filter(|account| self.members.contains(account)).count() * 2 >= accounts.len()
    }

    /// Whether a person has said that it is honest.
    pub(super) fn is_cleared(&self, at: Timestamp) -> bool {
        self.cleared_until.is_some_and(|until| at < until)
    }
}

fn percent(share: f64) -> u8 {
    libm::round(100.0 * share).clamp(0.0, 100.0) as u8
}
