//! The budget of an observation pool: whom it bans counts, as whom a rule holds up does.
//!
//! With its budget spent a pool bans nobody, and shadow tells whom it would have; or, if it falls back to `hold`, it has
//! them held for as long. Penalty steps have none of their own: they follow from limits, and a limit that has fallen back
//! costs no points, so the budgets of limits bound them.

use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::decide::Judged;
use crate::engine::decision::{DecisionId, Reason};
use crate::engine::entity::Entity;
use crate::engine::event::Event;
use crate::engine::input::Outputs;
use crate::engine::look::Look;
use crate::engine::plan::field_of;
use crate::engine::policy::FallBack;
use crate::engine::verdict::Verdict;

impl Engine {
    /// What comes of the ban that a pool asks for.
    pub(in crate::engine) fn ban_by_pool(
        &mut self,
        number: usize,
        entity: &Entity,
        (event, id): (&Event<'_>, DecisionId),
        look: &Look<'_>,
        out: &mut Outputs,
    ) {
        let policy = Arc::clone(&self.policy);
        let pool = &policy.observations[number];
        if self.bannable(look, entity, &pool.info).is_none() {
            return;
        }
        let then = self.spend_on_ban(number, entity, event, look, out);
        if then.is_some() {
            self.scratch.fallen.push(number);
        }
        let held = look.binding.as_ref().is_some_and(|binding| binding.verdict >= Verdict::Hold);
        let verdict = match then {
            None => Verdict::Block,
            Some(FallBack::Hold) if !held => Verdict::Hold,
            Some(FallBack::Hold | FallBack::Shadow) => return,
        };
        self.ban(look, entity, &pool.info, (verdict, pool.ban), id, out);
    }

    /// Counts a ban against the budget of its pool; what the pool does instead where that is spent.
    fn spend_on_ban(
        &mut self,
        number: usize,
        entity: &Entity,
        event: &Event<'_>,
        look: &Look<'_>,
        out: &mut Outputs,
    ) -> Option<FallBack> {
        let policy = Arc::clone(&self.policy);
        let budget = policy.observations[number].budget?;
        let account = look.hashes[field_of(entity.kind)]?;
        if let Some((then, _)) = self.blast.fallen(&policy, Some(budget), look.at) {
            return Some(then);
        }
        if self.blast.overdrawn(&policy, &[budget], account, look.at).is_empty() {
            self.blast.spent[budget].accounts.insert(account);
            return None;
        }
        self.fall_back(budget, entity, event, look, out);
        Some(policy.blast.budgets[budget].then)
    }

    /// Names the guard in a decision after which a pool would have banned, and tells shadow.
    pub(in crate::engine) fn tell_fallen_pools(&mut self, judged: &mut Judged) {
        for number in std::mem::take(&mut self.scratch.fallen) {
            let pool = &self.policy.observations[number];
            let Some(budget) = pool.budget else { continue };
            let (spent, budget) = (&self.blast.spent[budget], &self.policy.blast.budgets[budget]);
            let reason = Reason {
                value: Some(spent.accounts.len() as f64),
                threshold: Some(budget.accounts as f64),
                ..Reason::of(&budget.info, 0)
            };
            // The prior stays the last.
            judged.reasons.insert(judged.reasons.len().saturating_sub(1), reason);
            if budget.then == FallBack::Shadow {
                judged.shadow.push(Reason { verdict: Some(Verdict::Block), ..Reason::of(&pool.info, 0) });
            }
        }
    }

    /// Whether a limit costs penalty points: not while it has fallen back, to whatever.
    pub(in crate::engine) fn costs_points(&self, limit: usize, look: &Look<'_>) -> bool {
        self.blast.fallen(&self.policy, self.policy.limits[limit].budget, look.at).is_none()
    }
}
