//! `risk.shadow.v1`: what rules in shadow would have said of an event. It has no verdict of its own, so that it
//! can never be enforced by mistake.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::{ReasonRecord, SourceRecord};
use super::error::DecodeError;
use super::quantity::EpochMillis;
use super::record;
use super::words::VerdictWord;
use crate::engine::decision::{Decision, Reason};

/// What rules in shadow would have said of one event.
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
    /// What the rules and limits in shadow would have added.
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
    })
}

/// Reads what shadow would have said.
///
/// # Errors
/// Whatever the JSON has wrong, with its place.
pub fn decode(value: Option<&[u8]>) -> Result<ShadowRecord, DecodeError> {
    record::read(value)
}
