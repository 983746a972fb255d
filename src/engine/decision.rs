//! What the engine says about one event: verdict, score, and reasons that add up to the score.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::address::Address;
use super::event::{Arrival, Event};
use super::time::{Span, Timestamp};
use super::verdict::Verdict;

/// Identity of a decision: a function of the source coordinates, the event id and the revision, never random.
/// It begins with the source partition, so that a shard knows feedback on its own decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DecisionId {
    /// Partition of the event's record.
    pub partition: i32,
    /// Offset of the event's record.
    pub offset: i64,
    /// Digest of topic, partition, offset and event id.
    pub digest: u64,
    /// 0 for the first decision on an event.
    pub revision: u32,
}

impl DecisionId {
    /// The id of the first decision on an event.
    pub fn first(arrival: &Arrival<'_>, event_id: &str) -> Self {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(arrival.topic.as_bytes());
        hash.update(&[0]);
        hash.update(&arrival.partition.to_le_bytes());
        hash.update(&arrival.offset.to_le_bytes());
        hash.update(event_id.as_bytes());
        Self { partition: arrival.partition, offset: arrival.offset, digest: hash.digest(), revision: 0 }
    }
}

/// `partition-offset-digest-revision`.
impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:016x}-{}", self.partition, self.offset, self.digest, self.revision)
    }
}

impl FromStr for DecisionId {
    type Err = DecisionIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let mut parts = text.split('-');
            let id = DecisionId {
                partition: parts.next()?.parse().ok()?,
                offset: parts.next()?.parse().ok()?,
                digest: u64::from_str_radix(parts.next()?, 16).ok()?,
                revision: parts.next()?.parse().ok()?,
            };
            parts.next().is_none().then_some(id)
        };
        parse().ok_or_else(|| DecisionIdError(text.to_owned()))
    }
}

/// Text that is no decision id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no decision id: expected partition-offset-digest-revision")]
pub struct DecisionIdError(pub String);

/// One decision on one event, with the event it is about: what the wire encodes.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// The event, whole.
    pub event: &'a Event<'a>,
    /// Its source coordinates and append time.
    pub arrival: Arrival<'a>,
    /// What was decided.
    pub judgement: &'a Judgement,
}

/// What was decided on one event; borrows nothing, so that its room is used again for the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Identity.
    pub id: DecisionId,
    /// The decision this one replaces; `None` for the first.
    pub supersedes: Option<DecisionId>,
    /// The normalised address, where one could be read.
    pub address: Option<Address>,
    /// When the event counted: `occurred_at` held within `[append - grace, append + skew]`.
    pub effective_at: Timestamp,
    /// The answer.
    pub verdict: Verdict,
    /// Log-odds in points: 10 points double the odds. The sum of all reasons' points.
    pub score: i32,
    /// Why, strongest first; their points add up to `score`.
    pub reasons: Vec<Reason>,
    /// For a refusal that time heals: how long to wait from `effective_at`.
    pub retry_after: Option<Span>,
    /// For `hold`: until when a person may decide, and what holds if nobody does.
    pub hold: Option<Hold>,
    /// Content hash of the policy that judged.
    pub policy: Arc<str>,
    /// What was not as exact or complete as usual.
    pub quality: Vec<Quality>,
    /// Until then this decision may be revised: effective time + retroactive window.
    pub revisable_until: Timestamp,
}

/// How long a held event waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Until when (exclusive).
    pub until: Timestamp,
    /// What holds from then on.
    pub default: Verdict,
}

/// One reason of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The rule, limit, ban or guard that speaks.
    pub source: Arc<ReasonSource>,
    /// Log-odds points it adds; 0 for reasons that set a floor or a cap instead.
    pub points: i32,
    /// The verdict it asks for by itself, if any (limits, floors, bans).
    pub verdict: Option<Verdict>,
    /// Measured value (internal).
    pub value: Option<f64>,
    /// What it was held against (internal).
    pub threshold: Option<f64>,
}

/// What a reason comes from: fixed at policy load, shared by all decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonSource {
    /// Id of the rule, limit or guard in the policy (internal).
    pub id: String,
    /// Public code, upper case: `REPEAT`, `RATE_USER`, ...
    pub code: String,
    /// Evidence family.
    pub family: String,
    /// Public text: says what, not the threshold.
    pub text: String,
    /// Window it was measured over, if any.
    pub window: Option<Span>,
}

/// What was not as exact or complete as usual, with the counter concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Which shortcoming.
    pub code: QualityCode,
    /// The limit or signal concerned; `None` when it is the event itself.
    pub counter: Option<Arc<str>>,
}

/// The ways a decision can be less exact than usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QualityCode {
    /// `occurred_at` was before `append - grace`; held there.
    Late,
    /// `occurred_at` was after `append + skew`; held there.
    Early,
    /// Older than what the counter still holds: not recorded there.
    Backlog,
    /// A sketch, not an exact count.
    Approximate,
    /// State of this key was pushed out of its budget earlier.
    Evicted,
    /// The counter has not yet seen its whole window.
    WarmingUp,
    /// The same event id came with other content.
    IdConflict,
}

impl QualityCode {
    /// The name used on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            QualityCode::Late => "late",
            QualityCode::Early => "early",
            QualityCode::Backlog => "backlog",
            QualityCode::Approximate => "approximate",
            QualityCode::Evicted => "evicted",
            QualityCode::WarmingUp => "warming_up",
            QualityCode::IdConflict => "id_conflict",
        }
    }
}

/// Risk in percent, for people: the log-odds as a probability, rounded.
pub fn risk_percent(score: i32) -> u8 {
    let risk = 1.0 / (1.0 + libm::exp2(f64::from(score) / -10.0));
    libm::round(100.0 * risk) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start values of the ladder: -6, 9, 17, 25 points are 40, 65, 76 and 85 percent.
    #[test]
    fn points_are_log_odds_with_ten_to_the_doubling() {
        assert_eq!([-100, -6, 0, 9, 17, 25].map(risk_percent), [0, 40, 50, 65, 76, 85]);
        assert_eq!(risk_percent(i32::MIN), 0);
        assert_eq!(risk_percent(i32::MAX), 100);
    }

    #[test]
    fn ids_are_stable_and_read_back() {
        let arrival = Arrival { topic: "t", partition: 3, offset: 9, append_time: Timestamp::default() };
        let id = DecisionId::first(&arrival, "e");
        assert_eq!(id, DecisionId::first(&arrival, "e"));
        assert_ne!(id, DecisionId::first(&arrival, "f"));
        assert_eq!(id.to_string().parse::<DecisionId>(), Ok(id));
        assert!("3-9-xyz-0".parse::<DecisionId>().is_err());
    }
}
