//! One event with what was decided of it.

use crate::engine::verdict::Verdict;
use crate::wire::decision::DecisionRecord;

/// What was decided of an event; with revisions, the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The verdict that holds.
    pub verdict: Verdict,
    /// The verdict before any revision, where that is known.
    pub first_verdict: Option<Verdict>,
    /// Points.
    pub score: i32,
    /// Which revision it is.
    pub revision: u32,
    /// The public codes of its reasons, strongest first, a space between.
    pub codes: String,
    /// Content hash of the policy that judged.
    pub policy: String,
}

impl Told {
    /// From a decision; of a revision the first verdict is not known yet.
    pub fn of(decision: &DecisionRecord) -> Self {
        let codes: Vec<&str> = decision.reasons.iter().map(|reason| reason.code.as_str()).collect();
        Self {
            verdict: decision.verdict(),
            first_verdict: (decision.revision == 0).then(|| decision.verdict()),
            score: decision.score,
            revision: decision.revision,
            codes: codes.join(" "),
            policy: decision.policy.clone(),
        }
    }

    /// What holds of two decisions on one event: the higher revision, with the first verdict of both.
    #[must_use]
    pub fn with(self, other: Told) -> Told {
        let first_verdict = self.first_verdict.or(other.first_verdict);
        let last = if other.revision > self.revision { other } else { self };
        Told { first_verdict, ..last }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it stood; a file is partition 0, and its lines count from 0.
    pub partition: i32,
    /// The same.
    pub offset: i64,
    /// The event as a line of JSON.
    pub line: String,
    /// What was decided, where that is known.
    pub told: Option<Told>,
}
