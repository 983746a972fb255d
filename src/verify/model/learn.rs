//! What feedback makes of the decision it is about.

use super::expected::{Expected, ExpectedReason};
use super::{Answer, COMMAND_HORIZON, Model};
use crate::engine::decision::DecisionId;
use crate::engine::event::Arrival;
use crate::engine::feedback::{Feedback, FeedbackResult};
use crate::engine::input::Outcome;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

/// A decision that can be answered.
#[derive(Clone, Debug)]
pub(super) struct Answerable {
    id: DecisionId,
    /// As it stands.
    now: Expected,
    last: Option<FeedbackResult>,
}

impl Model {
    /// Challenges and holds can be answered until they are final.
    pub(super) fn remember(&mut self, id: DecisionId, expected: &Expected, told: bool) {
        if expected.followed > 0 && !told {
            self.guessed.insert(id.digest);
        }
        if matches!(expected.verdict, Verdict::Challenge | Verdict::Hold) {
            let now = Expected { shadow: Vec::new(), ..expected.clone() };
            self.answerable.insert(id.digest, Answerable { id, now, last: None });
        }
    }

    /// What was learnt about a decision.
    pub fn feedback(&mut self, feedback: &Feedback, arrival: Arrival<'_>) -> Answer {
        let at = feedback.at.min(arrival.append_time);
        let mut answer = Answer::of(Outcome::FeedbackRepeated);
        self.advance(at, &mut answer);
        if self.feedback.get(&feedback.id).is_some_and(|earlier| at.since(*earlier) < COMMAND_HORIZON) {
            return answer;
        }
        self.feedback.insert(feedback.id.clone(), at);
        answer.outcome = self.learn(feedback, at, &mut answer.expected);
        answer.unsure = self.guessed.contains(&feedback.decision.digest);
        answer
    }

    fn learn(&mut self, feedback: &Feedback, at: Timestamp, revised: &mut Option<Expected>) -> Outcome {
        let (now, settings) = (self.now, &self.policy.settings);
        let same = |known: &&mut Answerable| {
            (known.id.partition, known.id.offset) == (feedback.decision.partition, feedback.decision.offset)
                && now < known.now.revisable_until
        };
        let Some(known) = self.answerable.get_mut(&feedback.decision.digest).filter(same) else {
            return Outcome::FeedbackRefused;
        };
        let named = feedback.decision.revision;
        if known.last == Some(feedback.result) && named <= known.id.revision {
            return Outcome::FeedbackRepeated;
        }
        let label =
            matches!(feedback.result, FeedbackResult::ConfirmedAbuse | FeedbackResult::ConfirmedHonest);
        let fits = match label {
            true => named <= known.id.revision,
            false => named == known.id.revision && known.now.verdict == Verdict::Challenge,
        };
        if !fits {
            return Outcome::FeedbackRefused;
        }
        known.last = Some(feedback.result);
        let verdict = match feedback.result {
            FeedbackResult::ChallengePassed | FeedbackResult::ConfirmedHonest => Verdict::Allow,
            FeedbackResult::ChallengeFailed => Verdict::Hold,
            FeedbackResult::ConfirmedAbuse => Verdict::Reject,
            FeedbackResult::ChallengeExpired => known.now.verdict,
        };
        if verdict != known.now.verdict {
            let hold = (at.after(settings.hold_timeout), settings.hold_default);
            let anew = self.warmed_at.map(|warmed_at| (warmed_at, self.told_before));
            known.id.revision = next_revision(known, now, anew);
            known.revise(feedback.result, verdict, (verdict == Verdict::Hold).then_some(hold));
            *revised = Some(known.now.clone());
        }
        Outcome::FeedbackApplied
    }
}

/// One more; of what was decided up to when state that began anew was warm, at least the number of the second that has
/// begun since the event, and more than any number that was told before.
fn next_revision(known: &Answerable, now: Timestamp, anew: Option<(Timestamp, u32)>) -> u32 {
    let since = now.since(known.now.effective_at).millis().div_euclid(1000) + 1;
    let older = anew.filter(|(warmed_at, _)| known.now.effective_at <= *warmed_at);
    let least = older.map_or(0, |(_, told)| (since.clamp(1, u32::MAX.into()) as u32).max(told + 1));
    least.max(known.id.revision + 1)
}

impl Answerable {
    fn revise(&mut self, result: FeedbackResult, verdict: Verdict, hold: Option<(Timestamp, Verdict)>) {
        let answers: Vec<&str> = FeedbackResult::ALL.iter().map(|result| result.name()).collect();
        let reason = ExpectedReason {
            id: result.name().to_owned(),
            points: 0,
            verdict: Some(verdict),
            value: None,
            thresholds: Vec::new(),
        };
        self.now.id = self.id.to_string();
        self.now.verdict = verdict;
        self.now.hold = hold;
        self.now.retry_after = None;
        self.now.reasons.retain(|known| !answers.contains(&known.id.as_str()));
        self.now.reasons.insert(0, reason);
    }
}
