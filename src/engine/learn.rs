//! Learn: what feedback does to the decision it is about. The rules of it are in `feedback.rs`.

use super::Engine;
use super::decision::{Decision, Hold, Judgement, Reason, ReasonSource};
use super::duplicates::Seen;
use super::event::{Arrival, Event};
use super::feedback::{Feedback, FeedbackResult};
use super::input::{Outcome, Outputs};
use super::time::Timestamp;
use super::verdict::Verdict;

/// Family of the reason that a revision gives.
const FAMILY: &str = "feedback";

impl Engine {
    /// Remembers a decision that may be answered.
    pub(super) fn remember(&mut self, event: &Event<'_>, arrival: Arrival<'_>, judgement: &Judgement) {
        if matches!(judgement.verdict, Verdict::Challenge | Verdict::Hold) {
            let decision = Decision { event, arrival, judgement };
            self.recall.remember(&decision, self.now, self.policy.settings.retroactive_budget);
        }
    }

    /// Applies feedback at the time it was learnt, never after the log took it.
    pub(super) fn feedback(
        &mut self,
        feedback: &Feedback,
        arrival: &Arrival<'_>,
        out: &mut Outputs,
    ) -> Outcome {
        let at = feedback.at.min(arrival.append_time);
        self.advance(at, out);
        let key = self.seed.bytes(feedback.id.as_bytes());
        if self.answers.check_and_record(key, 0, at) != Seen::New {
            return Outcome::FeedbackRepeated;
        }
        let outcome = self.learn(feedback, at);
        self.recall.tell(Outputs::REVISIONS_MAX - out.revisions.len(), &mut out.revisions);
        outcome
    }

    fn learn(&mut self, feedback: &Feedback, at: Timestamp) -> Outcome {
        let result = feedback.result;
        let Some(known) = self.recall.find(&feedback.decision, self.now) else {
            return Outcome::FeedbackRefused;
        };
        let now = known.judgement();
        if known.was_answered_with(result) && feedback.decision.revision <= now.id.revision {
            return Outcome::FeedbackRepeated;
        }
        if !fits(feedback, &now) {
            return Outcome::FeedbackRefused;
        }
        let revised = result.verdict().filter(|verdict| *verdict != now.verdict);
        let revised = revised.map(|verdict| self.revised(now, result, verdict, at));
        self.recall.answer(&feedback.decision, result, revised);
        Outcome::FeedbackApplied
    }

    fn revised(
        &self,
        mut judgement: Judgement,
        result: FeedbackResult,
        verdict: Verdict,
        at: Timestamp,
    ) -> Judgement {
        let settings = &self.policy.settings;
        let hold = Hold { until: at.after(settings.hold_timeout), default: settings.hold_default };
        let revision = self.recall.next_revision(judgement.id.revision, judgement.effective_at, self.now);
        judgement.supersedes = Some(judgement.id.revised(revision - 1));
        judgement.id.revision = revision;
        judgement.verdict = verdict;
        judgement.hold = (verdict == Verdict::Hold).then_some(hold);
        judgement.retry_after = None;
        judgement.without.clear();
        // The newest answer stands for those before it: however often they change, a decision does not grow.
        judgement.reasons.retain(|reason| reason.source.family != FAMILY);
        judgement.reasons.insert(0, reason(result, verdict));
        judgement
    }
}

/// Whether feedback is about the decision as it stands: an answer is given to a challenge, and to the revision that
/// asked for it.
fn fits(feedback: &Feedback, now: &Judgement) -> bool {
    let named = feedback.decision.revision;
    match feedback.result.is_label() {
        true => named <= now.id.revision,
        false => named == now.id.revision && now.verdict == Verdict::Challenge,
    }
}

fn reason(result: FeedbackResult, verdict: Verdict) -> Reason {
    let source = ReasonSource {
        id: result.name().to_owned(),
        code: result.name().replace('-', "_").to_uppercase(),
        family: FAMILY.to_owned(),
        text: result.text().to_owned(),
        window: None,
    };
    Reason { verdict: Some(verdict), ..Reason::of(&source.into(), 0) }
}
