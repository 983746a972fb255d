//! The second kind of record on `risk.shadow.v1`: how the decisions of a candidate compare with the live ones in all. It is
//! what single disagreements are a share of, and the only trace of a candidate that never disagrees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::headers::Header;
use super::outgoing::Subject;
use super::quantity::EpochMillis;
use super::record;
use super::words::VerdictWord;

/// How what a candidate would have decided compares with what the live policy decided, since the two were first compared.
/// Each one counts all that earlier ones of the same policies, shard and `since` did: the one with most events holds. Told
/// apart from single events by `ce_type`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Shadow tally", deny_unknown_fields)]
pub struct ShadowTallyRecord {
    /// Content hash of the candidate.
    #[schemars(example = &"60303ae22b998861")]
    pub candidate: String,
    /// Content hash of the policy that was live.
    #[schemars(example = &"9f86d081884c7d65")]
    pub policy: String,
    /// The shard whose decisions are counted: the partition of the journal.
    #[schemars(example = 0)]
    pub shard: u32,
    /// As in the candidate's single disagreements: its state was a copy of the live one when the stream stood at this time.
    /// Absent where nothing had happened yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1_750_000_000_000_u64)]
    pub since: Option<EpochMillis>,
    /// When the earliest event counted that both decided. Absent while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1_750_000_001_000_u64)]
    pub first_event: Option<EpochMillis>,
    /// When the latest of them counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1_750_000_900_000_u64)]
    pub last_event: Option<EpochMillis>,
    /// Events that both decided.
    #[schemars(example = 250, extend("x-unit" = "decisions"))]
    pub decisions: u64,
    /// Those of them to which they gave different verdicts, by both verdicts; pairs that did not occur are left out. New holds
    /// are those with `would_be` hold.
    #[schemars(example = serde_json::json!([{ "actual_verdict": "reject", "would_be": "allow", "decisions": 50 }]))]
    pub disagreed: Vec<DisagreedRecord>,
    /// Events that the live policy alone decided, as where the candidate took one for a duplicate.
    #[schemars(example = 0, extend("x-unit" = "decisions"))]
    pub only_live: u64,
    /// Events that the candidate alone would have decided.
    #[schemars(example = 0, extend("x-unit" = "decisions"))]
    pub only_candidate: u64,
}

/// How often two verdicts differed in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DisagreedRecord {
    /// The verdict that was really given.
    pub actual_verdict: VerdictWord,
    /// What the candidate would have decided. Not to be enforced.
    pub would_be: VerdictWord,
    /// How often.
    #[schemars(example = 50, extend("x-unit" = "decisions"))]
    pub decisions: u64,
}

impl ShadowTallyRecord {
    /// The record key: the same for all tallies of two policies and a shard, so that the newest is the last of them.
    pub fn key(&self) -> String {
        format!("tally/{}/{}/{}", self.policy, self.candidate, self.shard)
    }

    /// All events that it counts.
    pub fn events(&self) -> u64 {
        self.decisions.saturating_add(self.only_live).saturating_add(self.only_candidate)
    }
}

/// Whether a record of the topic is a tally.
pub fn is_tally<'h>(headers: impl IntoIterator<Item = Header<'h>>) -> bool {
    let wanted = Subject::ShadowTally.event_type().as_bytes();
    headers.into_iter().any(|(name, value)| name == "ce_type" && value == Some(wanted))
}

/// The JSON of a tally.
pub fn encode(record: &ShadowTallyRecord) -> Vec<u8> {
    record::write(record)
}

/// Reads a tally.
///
/// # Errors
/// Whatever the JSON has wrong, with its place.
pub fn decode(value: Option<&[u8]>) -> Result<ShadowTallyRecord, DecodeError> {
    record::read(value)
}
