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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
        let (partition, offset) = (arrival.partition.to_le_bytes(), arrival.offset.to_le_bytes());
        let parts = [arrival.topic.as_bytes(), &[0], &partition, &offset, event_id.as_bytes()];
        Self { partition: arrival.partition, offset: arrival.offset, digest: digest(parts), revision: 0 }
    }

    /// The id of another revision of the same decision.
    #[must_use]
    pub fn revised(self, revision: u32) -> Self {
        Self { revision, ..self }
    }

    /// The id as text, without an allocation.
    pub fn text(&self) -> IdText {
        let mut text = IdText { bytes: [0; IdText::MOST], len: 0 };
        text.number(self.partition.into());
        text.push(b"-");
        text.number(self.offset);
        text.push(b"-");
        text.hex(self.digest);
        text.push(b"-");
        text.number(self.revision.into());
        text
    }
}

/// XXH3 of the parts one after the other. Short ones, which are the rule, are laid together first: the streaming hash
/// has a large state to set up.
fn digest(parts: [&[u8]; 5]) -> u64 {
    let mut short = [0; 256];
    let mut len = 0;
    for part in parts {
        let Some(place) = short.get_mut(len..len + part.len()) else { return long_digest(parts) };
        place.copy_from_slice(part);
        len += part.len();
    }
    xxhash_rust::xxh3::xxh3_64(&short[..len])
}

fn long_digest(parts: [&[u8]; 5]) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.digest()
}

/// A decision id as text.
#[derive(Clone, Copy, Debug)]
pub struct IdText {
    bytes: [u8; IdText::MOST],
    len: usize,
}

impl IdText {
    /// The longest: 11 + 20 + 16 + 10 digits with signs, and three hyphens.
    const MOST: usize = 60;

    /// ASCII: digits, lower-case hexadecimal digits and hyphens.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The same as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("digits and hyphens are ASCII")
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn number(&mut self, number: i64) {
        let (mut digits, mut start, mut rest) = ([0; 20], 20, number.unsigned_abs());
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            self.push(b"-");
        }
        self.push(&digits[start..]);
    }

    fn hex(&mut self, number: u64) {
        let digit = |index: usize| b"0123456789abcdef"[(number >> (60 - 4 * index)) as usize & 15];
        self.push(&std::array::from_fn::<u8, 16, _>(digit));
    }
}

/// `partition-offset-digest-revision`.
impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
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
    /// Which weaker verdict it would be without one evidence family; empty when no family alone makes a difference.
    pub without: Vec<Without>,
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

/// What a decision would be without one evidence family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Without {
    /// The family.
    pub family: Arc<str>,
    /// The verdict without it: weaker than the one given.
    pub verdict: Verdict,
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
    /// What is usual of the value (internal).
    pub baseline: Option<f64>,
    /// Accounts that value and baseline were measured on (internal).
    pub support: Option<u32>,
}

impl Reason {
    /// A reason that adds points, with nothing measured.
    pub fn of(source: &Arc<ReasonSource>, points: i32) -> Self {
        let source = Arc::clone(source);
        Self { source, points, verdict: None, value: None, threshold: None, baseline: None, support: None }
    }
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
    /// All of them, in the order of their numbers.
    pub const ALL: [QualityCode; 7] = [
        QualityCode::Late,
        QualityCode::Early,
        QualityCode::Backlog,
        QualityCode::Approximate,
        QualityCode::Evicted,
        QualityCode::WarmingUp,
        QualityCode::IdConflict,
    ];

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

    #[test]
    fn ids_print_digit_for_digit() {
        let id = |partition, offset, digest, revision| DecisionId { partition, offset, digest, revision };
        for (id, text) in [
            (id(0, 0, 0, 0), "0-0-0000000000000000-0"),
            (id(3, 9, 0x00c0_ffee_00c0_ffee, 10), "3-9-00c0ffee00c0ffee-10"),
            (
                id(i32::MIN, i64::MIN, u64::MAX, u32::MAX),
                "-2147483648--9223372036854775808-ffffffffffffffff-4294967295",
            ),
        ] {
            assert_eq!(id.to_string(), text);
        }
    }

    /// The digest does not depend on how it is computed.
    #[test]
    fn long_and_short_parts_give_one_digest() {
        for len in [0, 1, 16, 100, 239, 240, 255, 256, 1000] {
            let text = "x".repeat(len);
            for parts in [[text.as_bytes(), b"", b"", b"", b""], [b"", b"ab", text.as_bytes(), b"c", b""]] {
                assert_eq!(digest(parts), long_digest(parts), "{len}");
            }
        }
    }
}
