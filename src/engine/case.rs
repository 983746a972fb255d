//! The nouns of a case: one matter for people to look at, however many events belong to it.

use super::entity::Entity;
use super::time::Timestamp;

/// The state of a case after a change; complete in itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Identity: rule, entity and the time it was opened.
    pub id: String,
    /// What it is about.
    pub entity: Entity,
    /// The rule, limit or penalty step that opened it.
    pub rule: String,
    /// Public reason code.
    pub code: String,
    /// What is proposed, for people.
    pub proposal: String,
    /// Where it stands.
    pub status: CaseStatus,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it last grew.
    pub updated_at: Timestamp,
    /// Events that belong to it so far.
    pub events: u64,
    /// The first accounts that belong to it, in order of appearance; a bounded sample.
    pub accounts: Vec<String>,
    /// What is known of the crowd, when the case is about a campaign.
    pub campaign: Option<CampaignFacts>,
    /// What a person decided; with [`CaseStatus::Resolved`] only.
    pub resolution: Option<Resolution>,
}

/// What is known of an established crowd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CampaignFacts {
    /// Accounts that belong to it so far.
    pub members: u64,
    /// Earlier decisions on its members that were corrected so far.
    pub corrected: u64,
    /// The share of those who act on the target that two kinds of evidence agree was brought in, in percent.
    pub share: u8,
    /// Accounts by which it was judged last.
    pub judged: u32,
    /// What each kind of evidence says.
    pub evidence: Vec<CampaignEvidence>,
}

/// What one kind of evidence says of a crowd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignEvidence {
    /// Its name in policies, such as `crowd.age`.
    pub kind: String,
    /// The share of the crowd that it says was brought in, in percent.
    pub share: u8,
}

/// What a person decided about a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// What it was.
    pub outcome: CaseOutcome,
    /// Who decided.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// What could not be done about it, in words.
    pub undone: Option<String>,
}

/// What a case turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseOutcome {
    /// Abuse. What the machine did about it stays.
    Confirmed,
    /// Honest. The bans that its rule made are lifted, the penalty of its entity is forgotten.
    Cleared,
    /// It cannot be told. What the machine did stays.
    Inconclusive,
}

/// Where a case stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseStatus {
    /// New.
    Opened,
    /// More events belong to it now.
    Grown,
    /// Nothing was added for a day.
    Quiet,
    /// A person decided it.
    Resolved,
}
