//! Blast radius: the accounts that each rule held up, as lists.

use std::collections::{BTreeMap, BTreeSet};

use super::act::Hand;
use super::expected::{Expected, ExpectedReason};
use super::judge::{Judged, adds};
use super::range::Range;
use super::{Answer, Hint, Model};
use crate::engine::blast::{FellBack, proposal};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::policy::{Budget, FallBack, Policy};
use crate::engine::time::Timestamp;

/// What the rules have held up, by rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Radius {
    windows: BTreeMap<String, Window>,
}

/// One rule since the first account of its window.
#[derive(Clone, Debug, Default)]
struct Window {
    begun: Timestamp,
    accounts: BTreeSet<String>,
    over: bool,
    /// Whom it held up, or when that began, cannot be said: what was told is followed.
    unsure: bool,
}

impl Window {
    fn runs(&self, budget: &Budget, at: Timestamp) -> bool {
        at.since(self.begun) < budget.within
    }
}

impl Radius {
    /// What the rule of a budget does instead, and of how many accounts it is said.
    pub(super) fn fallen(&self, budget: &Budget, at: Timestamp, hint: Hint<'_>) -> Option<(FallBack, f64)> {
        let window = self.windows.get(&*budget.rule)?;
        if window.unsure
            && let Some(told) = hint.told
        {
            let reason = told.reasons.iter().find(|reason| reason.id == budget.info.id)?;
            return Some((budget.then, reason.value.unwrap_or_default()));
        }
        (window.over && window.runs(budget, at)).then_some((budget.then, window.accounts.len() as f64))
    }

    /// Whether one account more is more than a budget allows: then its rule has fallen back. `guessed`: whether it was held
    /// up is not known.
    fn overdrawn(&mut self, budget: &Budget, account: &Entity, hand: &Hand<'_>, guessed: bool) -> bool {
        let window = self.windows.entry(budget.rule.to_string()).or_default();
        if !window.runs(budget, hand.look.at) {
            *window = Window { begun: hand.look.at, unsure: window.unsure, ..Window::default() };
        }
        window.unsure |= guessed;
        let full = window.accounts.len() as u64 >= budget.accounts;
        let is_new = !window.accounts.contains(&account.to_string());
        // How many are active is an estimate that only the engine has.
        let follows = window.unsure || (budget.share > 0.0 && full);
        let over = if follows { hand.hint.names(&budget.info.id) } else { full && is_new };
        window.over |= over;
        over
    }

    fn note(&mut self, budget: &Budget, account: &Entity) {
        let window = self.windows.entry(budget.rule.to_string()).or_default();
        window.accounts.insert(account.to_string());
    }

    /// Another policy: windows go by rule, and are open again where the budget is another one.
    pub(super) fn carry(&mut self, old: &Policy, new: &Policy) {
        let of = |policy: &Policy, rule: &str| {
            policy.blast.budgets.iter().find(|budget| *budget.rule == *rule).cloned()
        };
        self.windows.retain(|rule, _| of(old, rule).is_some() && of(new, rule).is_some());
        for (rule, window) in &mut self.windows {
            if let (Some(old), Some(new)) = (of(old, rule), of(new, rule)) {
                let same = (old.accounts, old.within, old.then) == (new.accounts, new.within, new.then);
                window.over &= same && old.share.to_bits() == new.share.to_bits();
            }
        }
    }
}

impl Model {
    /// Notes whom a decision held up; true when a rule has just fallen back, and the decision is to be made again.
    pub(super) fn spend(&mut self, hand: &Hand<'_>, judged: &Judged, answer: &mut Answer) -> bool {
        let policy = std::sync::Arc::clone(&self.policy);
        let budgets: Vec<&Budget> =
            judged.touched.iter().map(|number| &policy.blast.budgets[*number]).collect();
        let Some(account) = account(hand) else { return false };
        let guessed = judged.expected.followed > 0 && hand.hint.told.is_none();
        let mut fell = budgets.clone();
        fell.retain(|budget| self.radius.overdrawn(budget, &account, hand, guessed));
        if fell.is_empty() {
            budgets.into_iter().for_each(|budget| self.radius.note(budget, &account));
            return false;
        }
        fell.into_iter().for_each(|budget| self.fall_back(budget, &account, hand, answer));
        true
    }

    /// Notes whom a pool bans; what it does instead, when its budget is spent, and then its guard is named.
    pub(super) fn spend_on_ban(
        &mut self,
        budget: &Budget,
        whom: &Entity,
        hand: &Hand<'_>,
        expected: &mut Expected,
        answer: &mut Answer,
    ) -> Option<FallBack> {
        let guessed = expected.followed > 0 && hand.hint.told.is_none();
        if self.radius.fallen(budget, hand.look.at, hand.hint).is_none() {
            if !self.radius.overdrawn(budget, whom, hand, guessed) {
                self.radius.note(budget, whom);
                return None;
            }
            self.fall_back(budget, whom, hand, answer);
        }
        let (then, accounts) = self.radius.fallen(budget, hand.look.at, hand.hint)?;
        let (value, thresholds) = (Some(Range::exact(accounts)), vec![budget.accounts as f64]);
        let reason = ExpectedReason { value, thresholds, ..adds(&budget.info.id, 0) };
        expected.reasons.insert(expected.reasons.len().saturating_sub(1), reason);
        Some(then)
    }

    /// Tells that a rule has fallen back.
    fn fall_back(&mut self, budget: &Budget, account: &Entity, hand: &Hand<'_>, answer: &mut Answer) {
        let Some(window) = self.radius.windows.get(&*budget.rule) else { return };
        let (until, accounts) = (window.begun.after(budget.within), window.accounts.len() as u64);
        let fell = FellBack { rule: budget.rule.clone(), then: budget.then, accounts, until };
        let proposal = proposal(&fell, budget.within);
        self.add_case(&budget.info, &proposal, account.clone(), hand, answer);
    }
}

/// Who is counted: the user, else the device, else the address.
fn account(hand: &Hand<'_>) -> Option<Entity> {
    let (event, address) = (hand.event, hand.look.address.map(|address| address.to_string()));
    let user = event.user.as_deref().map(|user| Entity::new(EntityKind::User, user));
    let device = || event.device.id.as_deref().map(|device| Entity::new(EntityKind::Device, device));
    user.or_else(device).or_else(|| address.map(|address| Entity::new(EntityKind::Ip, address)))
}
