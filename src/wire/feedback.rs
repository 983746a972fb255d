//! `risk.feedback.v1`: what services learn about a decision later on. The record key is the decision's id.
//!
//! Taken on decisions to challenge or hold, until their `revisable_until`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::moment::Moment;
use super::record::{self, invalid};
use super::text;
use crate::engine::decision::DecisionId;
use crate::engine::feedback::{Feedback, FeedbackResult};

/// The most bytes of an id, a name or a reason.
const TEXT_MAX: usize = 1024;

/// One thing learnt about one decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Feedback")]
pub struct FeedbackRecord {
    /// Identity; the same id twice counts once.
    #[schemars(length(min = 1, max = 1024), example = &"fb-01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub feedback_id: String,
    /// The decision it is about.
    #[schemars(example = &"3-9-00c0ffee00c0ffee-0", regex(pattern = "^-?[0-9]+-[0-9]+-[0-9a-f]{16}-[0-9]+$"))]
    pub decision_id: String,
    /// What was learnt.
    pub result: FeedbackWord,
    /// Who says so: a person or a service.
    #[schemars(length(min = 1, max = 1024), example = &"captcha-gateway")]
    pub actor: String,
    /// When it was learnt.
    pub at: Moment,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), example = &"chargeback received")]
    pub reason: Option<String>,
}

/// What was learnt about a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["challenge_passed"], "x-unit" = "word"))]
pub enum FeedbackWord {
    /// Proof was asked for and given: a revision allows the event.
    ChallengePassed,
    /// Proof was asked for and not given, or wrong: a revision holds the event for a person.
    ChallengeFailed,
    /// Proof was asked for and nothing came in time: the decision stays; an answer that comes after all still counts.
    ChallengeExpired,
    /// A late label: it was abuse. A revision rejects the event.
    ConfirmedAbuse,
    /// A late label: it was honest. A revision allows the event.
    ConfirmedHonest,
}

/// Reads feedback.
///
/// # Errors
/// The first thing found wrong, with its place.
pub fn decode(value: Option<&[u8]>) -> Result<Feedback, DecodeError> {
    let record: FeedbackRecord = record::read(value)?;
    text::required(&record.feedback_id, "feedback_id", TEXT_MAX)?;
    text::required(&record.actor, "actor", TEXT_MAX)?;
    let decision: Result<DecisionId, _> = record.decision_id.parse();
    Ok(Feedback {
        id: record.feedback_id,
        decision: decision.map_err(|error| invalid("decision_id", error.to_string()))?,
        result: record.result.into(),
        actor: record.actor,
        at: record.at.read("at")?,
        reason: record.reason.filter(|reason| !text::is_blank(reason)),
    })
}

/// The JSON of feedback.
pub fn encode(feedback: &Feedback) -> Vec<u8> {
    record::write(&FeedbackRecord {
        feedback_id: feedback.id.clone(),
        decision_id: feedback.decision.to_string(),
        result: feedback.result.into(),
        actor: feedback.actor.clone(),
        at: feedback.at.into(),
        reason: feedback.reason.clone(),
    })
}

impl From<FeedbackWord> for FeedbackResult {
    fn from(word: FeedbackWord) -> Self {
        match word {
            FeedbackWord::ChallengePassed => FeedbackResult::ChallengePassed,
            FeedbackWord::ChallengeFailed => FeedbackResult::ChallengeFailed,
            FeedbackWord::ChallengeExpired => FeedbackResult::ChallengeExpired,
            FeedbackWord::ConfirmedAbuse => FeedbackResult::ConfirmedAbuse,
            FeedbackWord::ConfirmedHonest => FeedbackResult::ConfirmedHonest,
        }
    }
}

impl From<FeedbackResult> for FeedbackWord {
    fn from(result: FeedbackResult) -> Self {
        match result {
            FeedbackResult::ChallengePassed => FeedbackWord::ChallengePassed,
            FeedbackResult::ChallengeFailed => FeedbackWord::ChallengeFailed,
            FeedbackResult::ChallengeExpired => FeedbackWord::ChallengeExpired,
            FeedbackResult::ConfirmedAbuse => FeedbackWord::ConfirmedAbuse,
            FeedbackResult::ConfirmedHonest => FeedbackWord::ConfirmedHonest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::input::DeadLetterReason;
    use crate::engine::time::Timestamp;

    fn feedback() -> Feedback {
        Feedback {
            id: "f1".into(),
            decision: DecisionId { partition: 3, offset: 9, digest: 0xc0ffee, revision: 0 },
            result: FeedbackResult::ChallengeFailed,
            actor: "gateway".into(),
            at: Timestamp::from_millis(1_750_000_000_000),
            reason: None,
        }
    }

    #[test]
    fn feedback_reads_back_as_written() {
        for result in FeedbackResult::ALL {
            let feedback = Feedback { result, ..feedback() };
            assert_eq!(decode(Some(&encode(&feedback))), Ok(feedback));
        }
    }

    #[test]
    fn feedback_on_nothing_is_refused() {
        let json = String::from_utf8(encode(&feedback())).expect("text").replace("3-9-", "3-");
        let error = decode(Some(json.as_bytes())).expect_err("no decision id");
        assert_eq!((error.reason, error.place.as_str()), (DeadLetterReason::InvalidField, "decision_id"));
    }
}
