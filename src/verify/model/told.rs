//! What was told of one event, whether it comes from the engine itself or is read back from its topic.

use crate::engine::decision::{Judgement, Reason};
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;
use crate::wire::decision::{DecisionRecord, ReasonRecord};

/// A decision as it was told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its identity, as text.
    pub id: String,
    /// The answer.
    pub verdict: Verdict,
    /// Log-odds points.
    pub score: i32,
    /// Why, strongest first.
    pub reasons: Vec<ToldReason>,
    /// What shadow would have said; `None` where nobody looked.
    pub shadow: Option<Vec<ToldReason>>,
    /// How long to wait.
    pub retry_after: Option<Span>,
    /// Until when a person may decide, and what holds then.
    pub hold: Option<(Timestamp, Verdict)>,
    /// When the event counted.
    pub effective_at: Timestamp,
    /// Until when it may be revised.
    pub revisable_until: Timestamp,
    /// Content hash of the policy.
    pub policy: String,
    /// The normalised address.
    pub address: Option<String>,
    /// Code and counter of each shortcoming.
    pub quality: Vec<(String, Option<String>)>,
}

/// One reason as it was told.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldReason {
    /// Id of the rule, limit, ban or guard.
    pub id: String,
    /// Points it adds.
    pub points: i32,
    /// The verdict it asks for.
    pub verdict: Option<Verdict>,
    /// Measured value.
    pub value: Option<f64>,
    /// What it was held against.
    pub threshold: Option<f64>,
}

impl Told {
    /// What the engine just said.
    pub fn by_engine(judgement: &Judgement, shadow: &[Reason]) -> Self {
        let counter = |counter: &Option<std::sync::Arc<str>>| counter.as_deref().map(str::to_owned);
        Self {
            id: judgement.id.to_string(),
            verdict: judgement.verdict,
            score: judgement.score,
            reasons: judgement.reasons.iter().map(ToldReason::from).collect(),
            shadow: Some(shadow.iter().map(ToldReason::from).collect()),
            retry_after: judgement.retry_after,
            hold: judgement.hold.map(|hold| (hold.until, hold.default)),
            effective_at: judgement.effective_at,
            revisable_until: judgement.revisable_until,
            policy: judgement.policy.to_string(),
            address: judgement.address.map(|address| address.to_string()),
            quality: judgement
                .quality
                .iter()
                .map(|q| (q.code.name().to_owned(), counter(&q.counter)))
                .collect(),
        }
    }

    /// What a record of the topic says.
    pub fn by_record(record: &DecisionRecord) -> Self {
        let hold = record.hold.as_ref().map(|hold| (hold.until.into(), hold.default.or_weaker(None)));
        Self {
            id: record.decision_id.clone(),
            verdict: record.verdict(),
            score: record.score,
            reasons: record.reasons.iter().map(ToldReason::from).collect(),
            shadow: None,
            retry_after: record.retry_after_ms.map(Span::from),
            hold,
            effective_at: record.effective_at.into(),
            revisable_until: record.revisable_until.into(),
            policy: record.policy.clone(),
            address: record.ip.clone(),
            quality: record.quality.iter().map(|q| (q.code.clone(), q.counter.clone())).collect(),
        }
    }

    /// Whether a shortcoming was told, with a counter or of the whole event.
    pub fn says(&self, code: &str) -> bool {
        self.quality.iter().any(|(told, _)| told == code)
    }

    /// Whether a limit, rule or guard is among the reasons, in shadow or not.
    pub(super) fn names(&self, id: &str) -> bool {
        let shadow = self.shadow.as_deref().unwrap_or_default();
        self.reasons.iter().chain(shadow).any(|reason| reason.id == id)
    }
}

impl From<&Reason> for ToldReason {
    fn from(reason: &Reason) -> Self {
        Self {
            id: reason.source.id.clone(),
            points: reason.points,
            verdict: reason.verdict,
            value: reason.value.filter(|value| value.is_finite()),
            threshold: reason.threshold.filter(|value| value.is_finite()),
        }
    }
}

impl From<&ReasonRecord> for ToldReason {
    fn from(reason: &ReasonRecord) -> Self {
        Self {
            id: reason.detail.id.clone(),
            points: reason.points,
            verdict: reason.detail.verdict.as_ref().map(|verdict| verdict.or_weaker(None)),
            value: reason.detail.value,
            threshold: reason.detail.threshold,
        }
    }
}
