//! What a verdict comes from: suspicion, a limit, or a person.
//!
//! A limit counts; so does a penalty, which only refusals by limits earn. Everything else that the policy does is
//! suspicion: evidence that adds up, a rule's floor, an observation pool, a group. A ban passes on what it came from.
//! Where a limit and suspicion ask for the same verdict, the limit would have done it alone, and it counts as its
//! doing.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::engine::ban::{Ban, Origin};
use crate::engine::decision::{Judgement, Reason};
use crate::engine::policy::Policy;

/// What a verdict comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Evidence, a rule's floor, an observation pool, a group.
    Suspicion,
    /// A limit, or the penalty for refusals by limits.
    Limit,
    /// A ban by a person or service.
    Person,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 3] = [Cause::Suspicion, Cause::Limit, Cause::Person];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Suspicion => "suspicion",
            Cause::Limit => "limit",
            Cause::Person => "person",
        }
    }
}

/// Knows what the reasons of decisions come from: the limits of the policy by their ids, and the bans so far by theirs.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    limits: HashSet<String>,
    bans: HashMap<String, Cause>,
}

impl Causes {
    /// The causes of a policy.
    pub fn of(policy: &Policy) -> Self {
        let limits = policy.limits.iter().map(|limit| &limit.info.id);
        let steps = policy.settings.penalties.steps.iter().map(|step| &step.info.id);
        Self { limits: limits.chain(steps).cloned().collect(), bans: HashMap::new() }
    }

    /// What the verdict of a decision comes from.
    pub fn judgement(&self, judgement: &Judgement) -> Cause {
        let asking = || judgement.reasons.iter().filter(|reason| reason.verdict == Some(judgement.verdict));
        if asking().any(|reason| self.limits.contains(&reason.source.id)) {
            return Cause::Limit;
        }
        asking().find_map(|reason| self.of_ban(reason)).unwrap_or(Cause::Suspicion)
    }

    /// Notes a ban, and says what it comes from.
    pub fn ban(&mut self, ban: &Ban) -> Cause {
        let cause = match &ban.origin {
            Origin::Actor(_) => Cause::Person,
            Origin::Policy(id) if self.limits.contains(id) => Cause::Limit,
            Origin::Policy(_) => Cause::Suspicion,
        };
        self.bans.insert(ban.id.clone(), cause);
        cause
    }

    fn of_ban(&self, reason: &Reason) -> Option<Cause> {
        self.bans.get(&reason.source.id).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::standard;
    use crate::engine::decision::{DecisionId, ReasonSource};
    use crate::engine::entity::{Entity, EntityKind};
    use crate::engine::policy::load::load;
    use crate::engine::time::Timestamp;
    use crate::engine::verdict::Verdict;

    fn causes() -> (Causes, String) {
        let policy = load(&standard::files()).expect("the standard policy loads").policy;
        (Causes::of(&policy), policy.limits[0].info.id.clone())
    }

    fn judgement(verdict: Verdict, reasons: &[(&str, Option<Verdict>)]) -> Judgement {
        let reason = |(id, verdict): &(&str, Option<Verdict>)| {
            let source = ReasonSource {
                id: (*id).to_owned(),
                code: "C".into(),
                family: "f".into(),
                text: "t".into(),
                window: None,
            };
            Reason { verdict: *verdict, ..Reason::of(&Arc::new(source), 0) }
        };
        Judgement {
            id: DecisionId { partition: 0, offset: 0, digest: 0, revision: 0 },
            supersedes: None,
            address: None,
            effective_at: Timestamp::default(),
            verdict,
            score: 0,
            reasons: reasons.iter().map(reason).collect(),
            without: Vec::new(),
            retry_after: None,
            hold: None,
            policy: "p".into(),
            quality: Vec::new(),
            revisable_until: Timestamp::default(),
        }
    }

    #[test]
    fn a_limit_that_asks_for_the_verdict_is_its_cause() {
        let (causes, limit) = causes();
        let both =
            judgement(Verdict::Hold, &[("some-rule", Some(Verdict::Hold)), (&limit, Some(Verdict::Hold))]);
        assert_eq!(causes.judgement(&both), Cause::Limit);
        let weaker = judgement(Verdict::Hold, &[("x", Some(Verdict::Hold)), (&limit, Some(Verdict::Demote))]);
        assert_eq!(causes.judgement(&weaker), Cause::Suspicion);
        assert_eq!(causes.judgement(&judgement(Verdict::Demote, &[])), Cause::Suspicion);
    }

    #[test]
    fn a_ban_passes_on_what_it_came_from() {
        let (mut causes, limit) = causes();
        let mut ban = |id: &str, origin| {
            causes.ban(&Ban {
                id: id.to_owned(),
                entity: Entity::new(EntityKind::User, "u"),
                verdict: Verdict::Block,
                origin,
                code: "C".into(),
                reason: "r".into(),
                issued_at: Timestamp::default(),
                expires_at: None,
            })
        };
        assert_eq!(ban("1", Origin::Policy(limit)), Cause::Limit);
        assert_eq!(ban("2", Origin::Policy("proxy-worker".into())), Cause::Suspicion);
        assert_eq!(ban("3", Origin::Actor("ann".into())), Cause::Person);
        let blocked = |id| causes.judgement(&judgement(Verdict::Block, &[(id, Some(Verdict::Block))]));
        assert_eq!(["1", "2", "3"].map(blocked), [Cause::Limit, Cause::Suspicion, Cause::Person]);
    }
}
