//! The nouns of the engine as words of a cut.

use super::words::{Damaged, Reader, Saved, Writer, load_of, saved};
use crate::engine::ban::{Ban, Origin};
use crate::engine::case::{CampaignEvidence, CampaignFacts, Case, CaseOutcome, CaseStatus, Resolution};
use crate::engine::decision::DecisionId;
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::feedback::FeedbackResult;
use crate::engine::stats::Stats;
use crate::engine::timers::Timer;
use crate::engine::verdict::Verdict;

saved!(Entity { kind, value });
saved!(Ban { id, entity, verdict, origin, code, reason, issued_at, expires_at });
saved!(Case {
    id,
    entity,
    rule,
    code,
    proposal,
    status,
    opened_at,
    updated_at,
    events,
    accounts,
    campaign,
    resolution
});
saved!(CampaignFacts { members, corrected, share, judged, evidence });
saved!(CampaignEvidence { kind, share });
saved!(Resolution { outcome, actor, reason, at, undone });
saved!(DecisionId { partition, offset, digest, revision });
saved!(Stats { rule_hits, skipped_empty });

const STATUSES: [CaseStatus; 4] =
    [CaseStatus::Opened, CaseStatus::Grown, CaseStatus::Quiet, CaseStatus::Resolved];

const OUTCOMES: [CaseOutcome; 3] = [CaseOutcome::Confirmed, CaseOutcome::Cleared, CaseOutcome::Inconclusive];
const RESULTS: [FeedbackResult; 5] = [
    FeedbackResult::ChallengePassed,
    FeedbackResult::ChallengeFailed,
    FeedbackResult::ChallengeExpired,
    FeedbackResult::ConfirmedAbuse,
    FeedbackResult::ConfirmedHonest,
];

impl Saved for CaseOutcome {
    fn save(&self, to: &mut Writer) {
        to.push(*self as u32);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_of(&OUTCOMES, from)
    }
}

impl Saved for FeedbackResult {
    fn save(&self, to: &mut Writer) {
        to.push(*self as u32);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_of(&RESULTS, from)
    }
}

impl Saved for EntityKind {
    fn save(&self, to: &mut Writer) {
        to.push(*self as u32);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_of(&Self::ALL, from)
    }
}

impl Saved for Verdict {
    fn save(&self, to: &mut Writer) {
        to.push(*self as u32);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_of(&Self::ALL, from)
    }
}

impl Saved for CaseStatus {
    fn save(&self, to: &mut Writer) {
        to.push(*self as u32);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_of(&STATUSES, from)
    }
}

impl Saved for Origin {
    fn save(&self, to: &mut Writer) {
        let (tag, name) = match self {
            Self::Policy(id) => (0, id),
            Self::Actor(name) => (1, name),
        };
        to.push(tag);
        name.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        match from.word()? {
            0 => Ok(Self::Policy(Saved::load(from)?)),
            1 => Ok(Self::Actor(Saved::load(from)?)),
            _ => Err(Damaged),
        }
    }
}

impl Saved for Timer {
    fn save(&self, to: &mut Writer) {
        match self {
            Self::BanEnds { key, ban } => {
                to.push(0);
                key.save(to);
                ban.save(to);
            }
            Self::CaseQuiet { key } => {
                to.push(1);
                key.save(to);
            }
            Self::ExceptionEnds { key } => {
                to.push(2);
                key.save(to);
            }
            Self::CaseSettled { key } => {
                to.push(3);
                key.save(to);
            }
            Self::CrowdEnds { key } => {
                to.push(4);
                key.save(to);
            }
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        match from.word()? {
            0 => Ok(Self::BanEnds { key: Saved::load(from)?, ban: Saved::load(from)? }),
            1 => Ok(Self::CaseQuiet { key: Saved::load(from)? }),
            2 => Ok(Self::ExceptionEnds { key: Saved::load(from)? }),
            3 => Ok(Self::CaseSettled { key: Saved::load(from)? }),
            4 => Ok(Self::CrowdEnds { key: Saved::load(from)? }),
            _ => Err(Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_saved_under_its_place_in_the_list() {
        for (place, kind) in EntityKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
        for (place, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict as usize, place);
        }
        for (place, outcome) in OUTCOMES.into_iter().enumerate() {
            assert_eq!(outcome as usize, place);
        }
        for (place, result) in RESULTS.into_iter().enumerate() {
            assert_eq!(result as usize, place);
        }
        for (place, status) in STATUSES.into_iter().enumerate() {
            assert_eq!(status as usize, place);
        }
    }
}
