//! What services learn about a decision later on, and the revision that comes of it.
//!
//! An answer belongs to the revision it names; a late label belongs to the event, whichever revision it names.
//! Passed: the event is allowed; nothing else is forgiven, since a pass can be bought. Failed: it is held for a person,
//! with the policy's timeout and default. Expired: the challenge stays as it was told, so the event stays uncounted;
//! an answer that comes after all still counts. A label settles it: abuse is rejected, honest is allowed.

use super::decision::{Decision, DecisionId, Judgement};
use super::event::{Arrival, Event};
use super::time::Timestamp;
use super::verdict::Verdict;

/// One thing learnt about one decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Identity; the same id twice counts once.
    pub id: String,
    /// The decision it is about.
    pub decision: DecisionId,
    /// What was learnt.
    pub result: FeedbackResult,
    /// Who says so.
    pub actor: String,
    /// When it was learnt.
    pub at: Timestamp,
    /// Why, for people.
    pub reason: Option<String>,
}

/// What was learnt about a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeedbackResult {
    /// Proof was asked for and given.
    ChallengePassed,
    /// Proof was asked for and not given, or wrong.
    ChallengeFailed,
    /// Proof was asked for and nothing came in time.
    ChallengeExpired,
    /// A late label: it was abuse.
    ConfirmedAbuse,
    /// A late label: it was honest.
    ConfirmedHonest,
}

impl FeedbackResult {
    /// All results.
    pub const ALL: [FeedbackResult; 5] = [
        FeedbackResult::ChallengePassed,
        FeedbackResult::ChallengeFailed,
        FeedbackResult::ChallengeExpired,
        FeedbackResult::ConfirmedAbuse,
        FeedbackResult::ConfirmedHonest,
    ];

    /// Whether it says what the event was, not how a challenge ended.
    pub const fn is_label(self) -> bool {
        matches!(self, FeedbackResult::ConfirmedAbuse | FeedbackResult::ConfirmedHonest)
    }

    /// Id of the reason that a revision gives for it.
    pub const fn name(self) -> &'static str {
        match self {
            FeedbackResult::ChallengePassed => "challenge-passed",
            FeedbackResult::ChallengeFailed => "challenge-failed",
            FeedbackResult::ChallengeExpired => "challenge-expired",
            FeedbackResult::ConfirmedAbuse => "confirmed-abuse",
            FeedbackResult::ConfirmedHonest => "confirmed-honest",
        }
    }

    /// The verdict that holds from then on; `None` when what was decided stays.
    pub const fn verdict(self) -> Option<Verdict> {
        match self {
            FeedbackResult::ChallengePassed | FeedbackResult::ConfirmedHonest => Some(Verdict::Allow),
            FeedbackResult::ChallengeFailed => Some(Verdict::Hold),
            FeedbackResult::ConfirmedAbuse => Some(Verdict::Reject),
            FeedbackResult::ChallengeExpired => None,
        }
    }

    /// Public text of the reason.
    pub(super) const fn text(self) -> &'static str {
        match self {
            FeedbackResult::ChallengePassed => "The proof asked for was given",
            FeedbackResult::ChallengeFailed => "The proof asked for was not given",
            FeedbackResult::ChallengeExpired => "The proof asked for did not come in time",
            FeedbackResult::ConfirmedAbuse => "It was found to be abuse",
            FeedbackResult::ConfirmedHonest => "It was found to be honest",
        }
    }
}

/// A decision that replaces an earlier one on the same event; owns all that is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The event, as far as decisions tell it.
    pub event: Event<'static>,
    /// Topic of the event's record.
    pub topic: String,
    /// When the log took the event.
    pub append_time: Timestamp,
    /// What holds now. `id.revision` is 1 or more, `supersedes` names the one replaced.
    pub judgement: Judgement,
}

impl Revision {
    /// The revision as a decision.
    pub fn decision(&self) -> Decision<'_> {
        let arrival = Arrival {
            topic: &self.topic,
            partition: self.judgement.id.partition,
            offset: self.judgement.id.offset,
            append_time: self.append_time,
        };
        Decision { event: &self.event, arrival, judgement: &self.judgement }
    }
}
