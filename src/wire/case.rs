//! `risk.cases.v1`: one matter for people to look at, compacted by its id. Each record tells the whole case.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::quantity::EpochMillis;
use super::record;
use super::words::EntityText;
use crate::engine::case::{CampaignEvidence, CampaignFacts, Case, CaseOutcome, CaseStatus, Resolution};

/// The state of a case after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Case", deny_unknown_fields)]
pub struct CaseRecord {
    /// Identity: rule, entity and the time it was opened. The record key is the same text.
    #[schemars(example = &"newcomer-crowd/target:post-9/1750000000000")]
    pub case_id: String,
    /// What it is about.
    pub entity: EntityText,
    /// Id of the rule, limit or penalty step that opened it.
    #[schemars(example = &"newcomer-crowd")]
    pub rule: String,
    /// Public reason code, upper case.
    #[schemars(example = &"NEWCOMER_CROWD")]
    pub code: String,
    /// What is proposed, for people.
    #[schemars(example = &"Look at the accounts and take their likes off the count")]
    pub proposal: String,
    /// Where it stands.
    pub status: CaseWord,
    /// When it was opened.
    pub opened_at: EpochMillis,
    /// When it last changed.
    pub updated_at: EpochMillis,
    /// Events that belong to it so far.
    #[schemars(example = 40_000, extend("x-unit" = "events"))]
    pub events: u64,
    /// The first accounts that belong to it, in order of appearance; a bounded sample.
    #[schemars(example = serde_json::json!(["u-1", "u-2"]))]
    pub accounts: Vec<String>,
    /// What is known of the crowd, when the case is about a campaign: those who act on one target together and were
    /// brought in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({
        "members": 2_913, "corrected": 310, "share": 88, "judged": 512,
        "evidence": [{ "kind": "crowd.age", "share": 94 }, { "kind": "crowd.device", "share": 88 }]
    }))]
    pub campaign: Option<CampaignRecord>,
    /// What a person decided; with status `resolved` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({
        "outcome": "cleared", "actor": "alice@example.org", "reason": "a village fair", "at": 1_750_000_000_000_i64
    }))]
    pub resolution: Option<ResolutionRecord>,
}

/// What is known of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CampaignRecord {
    /// Accounts that belong to it so far.
    #[schemars(example = 2_913, extend("x-unit" = "accounts"))]
    pub members: u64,
    /// Earlier decisions on its members that were corrected so far.
    #[schemars(example = 310, extend("x-unit" = "decisions"))]
    pub corrected: u64,
    /// The share of those who act on the target that two kinds of evidence agree was brought in.
    #[schemars(range(min = 0, max = 100), example = 88, extend("x-unit" = "percent"))]
    pub share: u8,
    /// Accounts by which it was judged last.
    #[schemars(example = 512, extend("x-unit" = "accounts"))]
    pub judged: u32,
    /// What each kind of evidence says.
    #[schemars(example = serde_json::json!([{ "kind": "crowd.age", "share": 94 }]))]
    pub evidence: Vec<CampaignEvidenceRecord>,
}

/// What one kind of evidence says of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CampaignEvidenceRecord {
    /// Its name in policies.
    #[schemars(example = &"crowd.age")]
    pub kind: String,
    /// The share of the crowd that it says was brought in.
    #[schemars(range(min = 0, max = 100), example = 94, extend("x-unit" = "percent"))]
    pub share: u8,
}

/// What a person decided about a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ResolutionRecord {
    /// What it was.
    pub outcome: CaseOutcomeWord,
    /// A person or a service.
    #[schemars(example = &"alice@example.org")]
    pub actor: String,
    /// Why, for people.
    #[schemars(example = &"a village fair")]
    pub reason: String,
    /// When.
    pub at: EpochMillis,
    /// What could not be done about it, for people: where decisions that a campaign changed stand although its case was
    /// cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"no decision was taken back: the campaign is not known any more")]
    pub undone: Option<String>,
}

/// What a case turned out to be. Readers take a word they do not know for `inconclusive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["cleared"], "x-unit" = "word"))]
pub enum CaseOutcomeWord {
    /// Abuse.
    Confirmed,
    /// Honest.
    Cleared,
    /// It cannot be told.
    #[serde(other)]
    Inconclusive,
}

/// Where a case stands. Readers take a word they do not know for `grown`: still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["opened"], "x-unit" = "word"))]
pub enum CaseWord {
    /// New.
    Opened,
    /// Nothing was added for a day.
    Quiet,
    /// A person decided it.
    Resolved,
    /// More events belong to it now.
    #[serde(other)]
    Grown,
}

/// The JSON of a case; the record key is its id.
pub fn encode(case: &Case) -> Vec<u8> {
    record::write(&CaseRecord::from(case))
}

/// Reads a case.
///
/// # Errors
/// Whatever the JSON has wrong.
pub fn decode(value: Option<&[u8]>) -> Result<Case, DecodeError> {
    record::read::<CaseRecord>(value).map(Case::from)
}

impl From<&Case> for CaseRecord {
    fn from(case: &Case) -> Self {
        Self {
            case_id: case.id.clone(),
            entity: EntityText(case.entity.clone()),
            rule: case.rule.clone(),
            code: case.code.clone(),
            proposal: case.proposal.clone(),
            status: match case.status {
                CaseStatus::Opened => CaseWord::Opened,
                CaseStatus::Grown => CaseWord::Grown,
                CaseStatus::Quiet => CaseWord::Quiet,
                CaseStatus::Resolved => CaseWord::Resolved,
            },
            opened_at: case.opened_at.into(),
            updated_at: case.updated_at.into(),
            events: case.events,
            accounts: case.accounts.clone(),
            campaign: case.campaign.as_ref().map(CampaignRecord::from),
            resolution: case.resolution.as_ref().map(ResolutionRecord::from),
        }
    }
}

impl From<CaseRecord> for Case {
    fn from(record: CaseRecord) -> Self {
        Self {
            id: record.case_id,
            entity: record.entity.0,
            rule: record.rule,
            code: record.code,
            proposal: record.proposal,
            status: match record.status {
                CaseWord::Opened => CaseStatus::Opened,
                CaseWord::Grown => CaseStatus::Grown,
                CaseWord::Quiet => CaseStatus::Quiet,
                CaseWord::Resolved => CaseStatus::Resolved,
            },
            opened_at: record.opened_at.into(),
            updated_at: record.updated_at.into(),
            events: record.events,
            accounts: record.accounts,
            campaign: record.campaign.map(CampaignFacts::from),
            resolution: record.resolution.map(Resolution::from),
        }
    }
}

impl From<&CampaignFacts> for CampaignRecord {
    fn from(facts: &CampaignFacts) -> Self {
        let evidence = |evidence: &CampaignEvidence| CampaignEvidenceRecord {
            kind: evidence.kind.clone(),
            share: evidence.share,
        };
        Self {
            members: facts.members,
            corrected: facts.corrected,
            share: facts.share,
            judged: facts.judged,
            evidence: facts.evidence.iter().map(evidence).collect(),
        }
    }
}

impl From<CampaignRecord> for CampaignFacts {
    fn from(record: CampaignRecord) -> Self {
        let evidence = |evidence: CampaignEvidenceRecord| CampaignEvidence {
            kind: evidence.kind,
            share: evidence.share,
        };
        Self {
            members: record.members,
            corrected: record.corrected,
            share: record.share,
            judged: record.judged,
            evidence: record.evidence.into_iter().map(evidence).collect(),
        }
    }
}

impl From<&Resolution> for ResolutionRecord {
    fn from(resolution: &Resolution) -> Self {
        Self {
            outcome: match resolution.outcome {
                CaseOutcome::Confirmed => CaseOutcomeWord::Confirmed,
                CaseOutcome::Cleared => CaseOutcomeWord::Cleared,
                CaseOutcome::Inconclusive => CaseOutcomeWord::Inconclusive,
            },
            actor: resolution.actor.clone(),
            reason: resolution.reason.clone(),
            at: resolution.at.into(),
            undone: resolution.undone.clone(),
        }
    }
}

impl From<ResolutionRecord> for Resolution {
    fn from(record: ResolutionRecord) -> Self {
        Self {
            outcome: match record.outcome {
                CaseOutcomeWord::Confirmed => CaseOutcome::Confirmed,
                CaseOutcomeWord::Cleared => CaseOutcome::Cleared,
                CaseOutcomeWord::Inconclusive => CaseOutcome::Inconclusive,
            },
            actor: record.actor,
            reason: record.reason,
            at: record.at.into(),
            undone: record.undone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::entity::{Entity, EntityKind};
    use crate::engine::time::Timestamp;

    fn case(status: CaseStatus) -> Case {
        Case {
            id: "newcomer-crowd/target:t1/1750000000000".into(),
            entity: Entity::new(EntityKind::Target, "t1"),
            rule: "newcomer-crowd".into(),
            code: "NEWCOMER_CROWD".into(),
            proposal: "look".into(),
            status,
            opened_at: Timestamp::from_millis(1_750_000_000_000),
            updated_at: Timestamp::from_millis(1_750_000_600_000),
            events: 40_000,
            accounts: vec!["u1".into(), "ü2".into()],
            campaign: (status == CaseStatus::Grown).then(|| CampaignFacts {
                members: 2_913,
                corrected: 310,
                share: 88,
                judged: 512,
                evidence: vec![CampaignEvidence { kind: "crowd.age".into(), share: 94 }],
            }),
            resolution: (status == CaseStatus::Resolved).then(|| Resolution {
                outcome: CaseOutcome::Cleared,
                actor: "ann".into(),
                reason: "a fair".into(),
                at: Timestamp::from_millis(1_750_000_600_000),
                undone: Some("nothing was taken back".into()),
            }),
        }
    }

    #[test]
    fn cases_read_back_as_written() {
        for status in [CaseStatus::Opened, CaseStatus::Grown, CaseStatus::Quiet, CaseStatus::Resolved] {
            assert_eq!(decode(Some(&encode(&case(status)))), Ok(case(status)));
        }
    }

    #[test]
    fn a_status_not_known_here_is_still_open() {
        let json = String::from_utf8(encode(&case(CaseStatus::Opened)))
            .expect("text")
            .replace("opened\"", "escalated\"");
        let grown = Case { campaign: None, ..case(CaseStatus::Grown) };
        assert_eq!(decode(Some(json.as_bytes())), Ok(grown));
    }
}
