//! The decision as the contract has it: the fields of the record, what each means, and how a decision of the
//! engine becomes one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::decision::{Decision, Hold, Quality, Reason, Without, risk_percent};
use crate::engine::event::Text;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::wire::quantity::{EpochMillis, Millis};
use crate::wire::words::VerdictWord;

/// One decision on one interaction. Complete in itself: a later revision of it repeats all that a subscriber
/// needs. Writers send the fields of this schema only; readers skip fields they do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Decision", deny_unknown_fields)]
pub struct DecisionRecord {
    /// Identity: a function of the source coordinates, the event id and the revision, never random. Begins with
    /// the partition of the event.
    #[schemars(example = &"3-9-00c0ffee00c0ffee-0", regex(pattern = "^-?[0-9]+-[0-9]+-[0-9a-f]{16}-[0-9]+$"))]
    pub decision_id: String,
    /// Which revision of the decision on this event: 0 is the first; a higher one replaces all lower ones. Numbers are
    /// left out only where state began anew in between.
    #[schemars(example = 0)]
    pub revision: u32,
    /// The `decision_id` that this one replaces; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"3-9-00c0ffee00c0ffee-0")]
    pub supersedes: Option<String>,
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
    /// The acting address, normalised: IPv4, or the prefix of an IPv6 address; absent where none could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"198.51.100.7", example = &"2001:db8:1:2::/64")]
    pub ip: Option<String>,
    /// The acting device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"d-7f3a")]
    pub device_id: Option<String>,
    /// What to do with the event. `allow`: count it. `demote`: keep it, do not count it until confirmed.
    /// `challenge`: ask for proof. `hold`: a person decides. `reject`: refuse it. `block`: the entity is banned.
    /// A reader that meets a word it does not know takes `weaker_verdict`, and without one `allow`.
    pub verdict: VerdictWord,
    /// For a verdict newer than the first release of this version: the nearest weaker one that it had. Never
    /// written beside the six verdicts above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weaker_verdict: Option<VerdictWord>,
    /// Evidence in points of log-odds: 10 points double the odds. The sum of the points of all reasons.
    #[schemars(example = -100, example = 17, extend("x-unit" = "points: 10 double the odds"))]
    pub score: i32,
    /// The score as a probability, rounded, for people.
    #[schemars(range(min = 0, max = 100), example = 76, extend("x-unit" = "percent"))]
    pub risk: u8,
    /// Why, strongest first. Their points add up to the score.
    #[schemars(example = serde_json::json!([{
        "code": "REPEAT", "family": "volume", "text": "Same action on the same target again and again", "points": 0,
        "detail": { "id": "repeat-target", "value": 4.0, "threshold": 3.0, "window_ms": 60_000, "verdict": "reject" }
    }]))]
    pub reasons: Vec<ReasonRecord>,
    /// Which weaker verdict it would be without one evidence family: what the decision hangs on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!([{ "family": "device", "verdict": "allow" }]))]
    pub without: Vec<WithoutRecord>,
    /// For a refusal that time heals: how long to wait, from `effective_at`. Never 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 8000)]
    pub retry_after_ms: Option<Millis>,
    /// For the verdict `hold`: until when a person may decide, and what holds if nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "until": 1_750_003_600_000_u64, "default": "demote" }))]
    pub hold: Option<HoldRecord>,
    /// Content hash of the policy that judged.
    #[schemars(example = &"9f86d081884c7d65")]
    pub policy: String,
    /// Version of the engine that judged.
    #[schemars(example = &"0.1.0")]
    pub engine: String,
    /// What was not as exact or complete as usual; empty when all was.
    #[schemars(example = serde_json::json!([{ "code": "warming_up", "counter": "repeat-target" }]))]
    pub quality: Vec<QualityRecord>,
    /// Until then this decision may be revised; a reward is safe to pay after it.
    pub revisable_until: EpochMillis,
    /// Where the event's record stood.
    #[schemars(example = serde_json::json!({ "topic": "engagement.interactions.v1", "partition": 3, "offset": 9 }))]
    pub source: SourceRecord,
    /// When the event happened, by its producer's clock.
    pub occurred_at: EpochMillis,
    /// When the event counted: `occurred_at` held near the append time.
    pub effective_at: EpochMillis,
    /// When the log took the event.
    pub append_time: EpochMillis,
    /// When the decision was made. The only field that may differ when the same log is read again.
    pub decided_at: EpochMillis,
}

/// What a decision would be without one evidence family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WithoutRecord {
    /// The family.
    #[schemars(example = &"device")]
    pub family: String,
    /// The verdict without it.
    pub verdict: VerdictWord,
}

/// How long a held event waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HoldRecord {
    /// Until then (exclusive) a person may decide.
    pub until: EpochMillis,
    /// What holds from then on if nobody did.
    pub default: VerdictWord,
}

/// One reason of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReasonRecord {
    /// Public code, upper case.
    #[schemars(example = &"REPEAT")]
    pub code: String,
    /// Evidence family.
    #[schemars(example = &"volume")]
    pub family: String,
    /// Public text: says what, not the threshold.
    #[schemars(example = &"Same action on the same target again and again")]
    pub text: String,
    /// Points it adds to the score; 0 for a limit, ban, floor or cap.
    #[schemars(example = 12, extend("x-unit" = "points: 10 double the odds"))]
    pub points: i32,
    /// Internal: not to be shown to the one who acted.
    #[schemars(example = serde_json::json!({ "id": "repeat-target", "value": 4.0, "threshold": 3.0 }))]
    pub detail: ReasonDetail,
}

/// The internal side of a reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReasonDetail {
    /// Id of the rule, limit, ban or guard.
    #[schemars(example = &"repeat-target")]
    pub id: String,
    /// Measured value, in the unit of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 4.0)]
    pub value: Option<f64>,
    /// What it was held against, in the unit of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 3.0)]
    pub threshold: Option<f64>,
    /// What is usual of the value, for evidence of crowds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.21)]
    pub baseline: Option<f64>,
    /// Accounts that value and baseline were measured on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 2913, extend("x-unit" = "accounts"))]
    pub support: Option<u32>,
    /// Window it was measured over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<Millis>,
    /// The verdict it asks for by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictWord>,
}

/// One way in which a decision was less exact than usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct QualityRecord {
    /// Which: `late`, `early` (held near the append time), `backlog` (too old for the counter), `approximate` (a
    /// sketch), `evicted` (state was pushed out), `warming_up` (the window is not full yet), `id_conflict` (the
    /// same event id with other content). Readers meet others as unknown shortcomings.
    #[schemars(example = &"warming_up")]
    pub code: String,
    /// The limit or signal concerned; absent when it is the event itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"repeat-target")]
    pub counter: Option<String>,
}

/// Where a record stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SourceRecord {
    /// Topic, or name of the file.
    #[schemars(example = &"engagement.interactions.v1")]
    pub topic: String,
    /// Partition; 0 for a file.
    #[schemars(example = 3)]
    pub partition: i32,
    /// Offset; for a file the line, from 0.
    #[schemars(example = 9)]
    pub offset: i64,
}

impl DecisionRecord {
    /// The record that [`encode`](super::encode) writes, as a value.
    pub fn of(decision: &Decision<'_>, decided_at: Timestamp, engine_version: &str) -> Self {
        let event = decision.event;
        let text = |text: &Option<Text<'_>>| text.as_deref().map(str::to_owned);
        let arrival = decision.arrival;
        Self {
            decision_id: decision.judgement.id.to_string(),
            revision: decision.judgement.id.revision,
            supersedes: decision.judgement.supersedes.map(|id| id.to_string()),
            event_id: event.id.clone().into_owned(),
            action: event.action.clone().into_owned(),
            user_id: text(&event.user),
            target_id: text(&event.target),
            target_owner_id: text(&event.target_owner),
            ip: decision.judgement.address.map(|address| address.to_string()),
            device_id: text(&event.device.id),
            verdict: decision.judgement.verdict.into(),
            weaker_verdict: None,
            score: decision.judgement.score,
            risk: risk_percent(decision.judgement.score),
            reasons: decision.judgement.reasons.iter().map(ReasonRecord::from).collect(),
            without: decision.judgement.without.iter().map(WithoutRecord::from).collect(),
            retry_after_ms: decision.judgement.retry_after.map(Millis::from),
            hold: decision.judgement.hold.map(HoldRecord::from),
            policy: decision.judgement.policy.to_string(),
            engine: engine_version.to_owned(),
            quality: decision.judgement.quality.iter().map(QualityRecord::from).collect(),
            revisable_until: decision.judgement.revisable_until.into(),
            source: SourceRecord {
                topic: arrival.topic.to_owned(),
                partition: arrival.partition,
                offset: arrival.offset,
            },
            occurred_at: event.occurred_at.into(),
            effective_at: decision.judgement.effective_at.into(),
            append_time: arrival.append_time.into(),
            decided_at: decided_at.into(),
        }
    }

    /// The verdict to act on; a word of a later minor version is read as the weaker one told beside it.
    pub fn verdict(&self) -> Verdict {
        self.verdict.or_weaker(self.weaker_verdict.as_ref())
    }
}

impl From<Hold> for HoldRecord {
    fn from(hold: Hold) -> Self {
        Self { until: hold.until.into(), default: hold.default.into() }
    }
}

impl From<&Reason> for ReasonRecord {
    fn from(reason: &Reason) -> Self {
        let source = &reason.source;
        Self {
            code: source.code.clone(),
            family: source.family.clone(),
            text: source.text.clone(),
            points: reason.points,
            detail: ReasonDetail {
                id: source.id.clone(),
                value: finite(reason.value),
                threshold: finite(reason.threshold),
                baseline: finite(reason.baseline),
                support: reason.support,
                window_ms: source.window.map(Millis::from),
                verdict: reason.verdict.map(VerdictWord::from),
            },
        }
    }
}

impl From<&Without> for WithoutRecord {
    fn from(without: &Without) -> Self {
        Self { family: without.family.to_string(), verdict: without.verdict.into() }
    }
}

impl From<&Quality> for QualityRecord {
    fn from(quality: &Quality) -> Self {
        Self { code: quality.code.name().to_owned(), counter: quality.counter.as_deref().map(str::to_owned) }
    }
}

/// JSON has no word for what is not finite: it is left out.
pub(super) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}
