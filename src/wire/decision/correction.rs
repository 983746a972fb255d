//! A correction that a campaign made, as it is taken over where state begins anew: the journal carries it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DecisionRecord, SourceRecord};
use crate::engine::crowd::Correction;
use crate::engine::decision::Judgement;
use crate::engine::event::{Device, Event, Text};
use crate::engine::feedback::Revision;
use crate::wire::quantity::EpochMillis;
use crate::wire::words::VerdictWord;

/// A decision that a campaign corrected, as it was made at first: what a reversal of it tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CorrectionRecord {
    /// Identity of the first decision.
    #[schemars(example = &"3-9-00c0ffee00c0ffee-0")]
    pub decision_id: String,
    /// The revision that holds.
    #[schemars(example = 1)]
    pub revision: u32,
    /// The event's own id.
    #[schemars(example = &"01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub event_id: String,
    /// What was done.
    #[schemars(example = &"like")]
    pub action: String,
    /// Who acted, where it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"u-1")]
    pub user_id: Option<String>,
    /// What it was done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"post-9")]
    pub target_id: Option<String>,
    /// Whom the target belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"u-7")]
    pub target_owner_id: Option<String>,
    /// The acting address, as decisions tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"198.51.100.7")]
    pub ip: Option<String>,
    /// The acting device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"d-7f3a")]
    pub device_id: Option<String>,
    /// The first verdict.
    pub verdict: VerdictWord,
    /// The first score.
    #[schemars(example = -100, extend("x-unit" = "points: 10 double the odds"))]
    pub score: i32,
    /// Until then the decision may be revised.
    pub revisable_until: EpochMillis,
    /// Where the event's record stood.
    #[schemars(example = serde_json::json!({ "topic": "engagement.interactions.v1", "partition": 3, "offset": 9 }))]
    pub source: SourceRecord,
    /// When the event happened, by its producer's clock.
    pub occurred_at: EpochMillis,
    /// When the event counted.
    pub effective_at: EpochMillis,
    /// When the log took the event.
    pub append_time: EpochMillis,
    /// The target that the campaign's case is about, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"post-8")]
    pub part_of: Option<String>,
}

impl CorrectionRecord {
    /// Of the first decision and the number of the revision that holds.
    pub fn of(first: DecisionRecord, revision: u32) -> Self {
        Self {
            verdict: first.verdict().into(),
            decision_id: first.decision_id,
            revision,
            event_id: first.event_id,
            action: first.action,
            user_id: first.user_id,
            target_id: first.target_id,
            target_owner_id: first.target_owner_id,
            ip: first.ip,
            device_id: first.device_id,
            score: first.score,
            revisable_until: first.revisable_until,
            source: first.source,
            occurred_at: first.occurred_at,
            effective_at: first.effective_at,
            append_time: first.append_time,
            part_of: None,
        }
    }

    /// The correction; `None` when the id of the decision is none.
    pub fn read(&self) -> Option<Correction> {
        let told = self;
        let text = |text: &Option<String>| -> Option<Text<'static>> { text.clone().map(Cow::Owned) };
        // The prefix of an address is told with its length, which is not part of it.
        let address = told.ip.as_ref().and_then(|ip| ip.split('/').next()).map(str::to_owned);
        let event = Event {
            id: told.event_id.clone().into(),
            occurred_at: told.occurred_at.into(),
            action: told.action.clone().into(),
            user: text(&told.user_id),
            target: text(&told.target_id),
            target_owner: text(&told.target_owner_id),
            ip: address.map(Cow::Owned),
            device: Device { id: text(&told.device_id), ..Device::default() },
            ..Event::default()
        };
        let judgement = Judgement {
            id: told.decision_id.parse().ok()?,
            supersedes: None,
            address: None,
            effective_at: told.effective_at.into(),
            verdict: told.verdict.or_weaker(None),
            score: told.score,
            reasons: Vec::new(),
            without: Vec::new(),
            retry_after: None,
            hold: None,
            policy: "".into(),
            quality: Vec::new(),
            revisable_until: told.revisable_until.into(),
        };
        let (topic, append_time) = (told.source.topic.clone(), told.append_time.into());
        let first = Revision { event, topic, append_time, judgement };
        Some(Correction { first, revision: self.revision, part_of: self.part_of.clone() })
    }
}
