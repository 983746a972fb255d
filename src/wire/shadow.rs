//! `risk.shadow.v1`: what rules in shadow would have said of an event, or a whole candidate policy. It has no verdict of
//! its own, so that it can never be enforced by mistake.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::{DecisionRecord, QualityRecord, ReasonRecord, SourceRecord};
use super::error::DecodeError;
use super::quantity::EpochMillis;
use super::record;
use super::words::VerdictWord;
use crate::engine::decision::{Decision, Reason};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

/// What rules in shadow would have said of one event; or, with `candidate`, what a whole policy that runs beside the live
/// one made of it. Of a candidate only what it would have decided otherwise is told; how often both agree is in
/// the tally, and a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Shadow", deny_unknown_fields)]
pub struct ShadowRecord {
    /// The decision that was really made.
    #[schemars(example = &"3-9-00c0ffee00c0ffee-0")]
    pub decision_id: String,
    /// The event's own id.
    #[schemars(example = &"01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub event_id: String,
    /// The verdict that was really given.
    pub actual_verdict: VerdictWord,
    /// What the rules and limits in shadow would have added. Empty beside `candidate`.
    #[schemars(example = serde_json::json!([]))]
    pub would_add: Vec<ReasonRecord>,
    /// Content hash of the policy that judged.
    #[schemars(example = &"9f86d081884c7d65")]
    pub policy: String,
    /// Where the event's record stood.
    #[schemars(example = serde_json::json!({ "topic": "engagement.interactions.v1", "partition": 3, "offset": 9 }))]
    pub source: SourceRecord,
    /// When the event counted.
    pub effective_at: EpochMillis,
    /// What the candidate would have decided. Absent where rules in shadow speak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({
        "policy": "60303ae22b998861", "since": 1_750_000_000_000_u64, "would_be": "hold", "score": 17, "reasons": [], "quality": []
    }))]
    pub candidate: Option<CandidateRecord>,
}

/// What a candidate policy would have decided of one event, otherwise than the live one. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CandidateRecord {
    /// Content hash of the candidate.
    #[schemars(example = &"60303ae22b998861")]
    pub policy: String,
    /// Its state was a copy of the live one when the stream stood at this time, and has been its own since: a start of the
    /// process, or of another candidate after one that failed, begins it anew. Absent where nothing had happened yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1_750_000_000_000_u64)]
    pub since: Option<EpochMillis>,
    /// What it would have decided. Not to be enforced.
    pub would_be: VerdictWord,
    /// Its score.
    #[schemars(example = 17, extend("x-unit" = "points: 10 double the odds"))]
    pub score: i32,
    /// Why, strongest first.
    #[schemars(example = serde_json::json!([]))]
    pub reasons: Vec<ReasonRecord>,
    /// What was not as exact or complete as usual: counters that the live policy does not have say `warming_up` until their
    /// window has passed.
    #[schemars(example = serde_json::json!([{ "code": "warming_up", "counter": "repeat-target" }]))]
    pub quality: Vec<QualityRecord>,
}

/// The JSON of what shadow would have said; the record key is that of the decision.
pub fn encode(decision: &Decision<'_>, shadow: &[Reason]) -> Vec<u8> {
    let (judgement, arrival) = (decision.judgement, decision.arrival);
    record::write(&ShadowRecord {
        decision_id: judgement.id.to_string(),
        event_id: decision.event.id.clone().into_owned(),
        actual_verdict: judgement.verdict.into(),
        would_add: shadow.iter().map(ReasonRecord::from).collect(),
        policy: judgement.policy.to_string(),
        source: SourceRecord {
            topic: arrival.topic.to_owned(),
            partition: arrival.partition,
            offset: arrival.offset,
        },
        effective_at: judgement.effective_at.into(),
        candidate: None,
    })
}

/// What a candidate made of an event: `theirs` is its decision, under the policy that is live it was `actual`.
pub fn of_candidate(
    theirs: DecisionRecord,
    actual: Verdict,
    live: &str,
    since: Option<Timestamp>,
) -> ShadowRecord {
    let candidate = CandidateRecord {
        policy: theirs.policy,
        since: since.map(Into::into),
        would_be: theirs.verdict,
        score: theirs.score,
        reasons: theirs.reasons,
        quality: theirs.quality,
    };
    ShadowRecord {
        decision_id: theirs.decision_id,
        event_id: theirs.event_id,
        actual_verdict: actual.into(),
        would_add: Vec::new(),
        policy: live.to_owned(),
        source: theirs.source,
        effective_at: theirs.effective_at,
        candidate: Some(candidate),
    }
}

/// The JSON of what a candidate made of an event.
pub fn encode_candidate(record: &ShadowRecord) -> Vec<u8> {
    record::write(record)
}

/// Reads what shadow would have said.
///
/// # Errors
/// Whatever the JSON has wrong, with its place.
pub fn decode(value: Option<&[u8]>) -> Result<ShadowRecord, DecodeError> {
    record::read(value)
}
