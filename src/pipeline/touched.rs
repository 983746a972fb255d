//! Who was met above allow in a batch: what the readers of this process are told behind the commit.

use crate::engine::address::Address;
use crate::engine::decision::{Decision, DecisionId};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::subject::Profile;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

use super::score::Report;

/// Entities above allow of one batch that the readers of this process are told about; the rest are looked up when
/// somebody asks.
const TOUCHED_MAX: usize = 2_000;

/// What is known of an entity after a decision on it.
#[derive(Clone, Debug)]
pub struct Touched {
    /// What the engine remembers.
    pub profile: Option<Profile>,
    /// Newest decision on it in this batch, if any.
    pub verdict: Option<TouchedBy>,
}

/// A decision as readers of this process see it.
#[derive(Clone, Debug)]
pub struct TouchedBy {
    /// The decision.
    pub decision: DecisionId,
    /// When the event counted.
    pub at: Timestamp,
    /// What was done.
    pub action: String,
    /// The answer.
    pub verdict: Verdict,
    /// Points.
    pub score: i32,
    /// Public codes of its reasons.
    pub codes: Vec<String>,
}

/// Notes the subjects of a decision above allow for the readers of this process.
pub(super) fn touch(decision: &Decision<'_>, report: &mut Report) {
    let event = decision.event;
    let subjects = [
        (EntityKind::User, event.user.as_deref().map(str::to_owned)),
        (EntityKind::Device, event.device.id.as_deref().map(str::to_owned)),
        (EntityKind::Ip, decision.judgement.address.map(|address: Address| address.to_string())),
    ];
    for (kind, value) in subjects.into_iter().filter_map(|(kind, value)| Some((kind, value?))) {
        let entity = Entity::new(kind, value);
        if report.touched.len() < TOUCHED_MAX || report.touched.contains_key(&entity) {
            let verdict = Some(touched_by(decision));
            report.touched.insert(entity, Touched { profile: None, verdict });
        }
    }
}

fn touched_by(decision: &Decision<'_>) -> TouchedBy {
    let judgement = decision.judgement;
    TouchedBy {
        decision: judgement.id,
        at: judgement.effective_at,
        action: decision.event.action.clone().into_owned(),
        verdict: judgement.verdict,
        score: judgement.score,
        codes: judgement.reasons.iter().map(|reason| reason.source.code.clone()).collect(),
    }
}
