//! Blast radius: how many accounts one rule may hold up, or one pool ban, within a time before it falls back by itself.
//!
//! Each budget counts, exactly, the accounts whose decisions its rule took part in above `allow`. Its window begins with
//! the first of them and lasts as stated; an account is counted once in it. The event that would hold up one account more
//! is decided again without the rule, or with no more than `hold` from it, and so is every event until the window ends.
//! That is told once: a case, a metric, a line in the log. Decisions name the guard for as long as the rule would have
//! acted on them.
//!
//! Windows follow each other, they do not slide: within a time of that length that lies across the end of one, a rule may
//! hold up twice as many accounts, its budget at the end of one and again at the beginning of the next.
//!
//! Memory: at most `ACCOUNTS_MAX` keys of 8 bytes for each budget.

mod active;
mod pool;
mod saved;

use std::collections::HashSet;
use std::sync::Arc;

use self::active::Active;
use super::Engine;
use super::binding::actor;
use super::decide::{Judged, decide};
use super::entity::Entity;
use super::event::Event;
use super::input::Outputs;
use super::key::Prehashed;
use super::look::Look;
use super::policy::{Budget, FallBack, Policy};
use super::time::{Span, Timestamp};

/// The most accounts that one budget may allow.
pub(crate) const ACCOUNTS_MAX: u64 = 100_000;

/// A rule has fallen back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FellBack {
    /// The rule, limit or pool.
    pub rule: Arc<str>,
    /// What it does from now on.
    pub then: FallBack,
    /// Accounts that it held up.
    pub accounts: u64,
    /// Until when (exclusive).
    pub until: Timestamp,
}

/// What the budgets of the policy have spent.
#[derive(Debug, Default)]
pub(crate) struct Blast {
    /// One for each budget of the policy.
    spent: Vec<Spent>,
    /// Accounts that are active, when a budget is a share of them.
    active: Option<Active>,
}

/// One budget in its present window.
#[derive(Debug, Default)]
struct Spent {
    begun: Timestamp,
    accounts: HashSet<u64, Prehashed>,
    over: bool,
}

impl Spent {
    fn runs(&self, budget: &Budget, at: Timestamp) -> bool {
        at < self.begun.after(budget.within)
    }

    /// A window that is over is forgotten.
    fn begin(&mut self, budget: &Budget, at: Timestamp) {
        if !self.runs(budget, at) {
            (self.begun, self.over) = (at, false);
            self.accounts.clear();
        }
    }
}

impl Blast {
    pub(super) fn new(policy: &Policy) -> Self {
        let budgets = &policy.blast.budgets;
        let by_share = budgets.iter().any(|budget| budget.share > 0.0);
        Self {
            spent: budgets.iter().map(|_| Spent::default()).collect(),
            active: by_share.then(Active::default),
        }
    }

    /// The same under another policy: windows go by the id of their rule; one whose budget was changed is no longer over
    /// it until it is again.
    pub(super) fn carry(self, old: &Policy, new: &Policy) -> Self {
        let mut carried = Self::new(new);
        let mut spent: Vec<Option<Spent>> = self.spent.into_iter().map(Some).collect();
        for (budget, place) in new.blast.budgets.iter().zip(&mut carried.spent) {
            let known = old.blast.budgets.iter().position(|known| known.rule == budget.rule);
            if let Some((number, mut before)) = known.and_then(|number| Some((number, spent[number].take()?)))
            {
                before.over &= old.blast.budgets[number].is_like(budget);
                *place = before;
            }
        }
        if let (Some(active), Some(before)) = (&mut carried.active, self.active) {
            *active = before;
        }
        carried
    }

    /// Notes that an account is active.
    pub(super) fn see(&mut self, user: Option<u64>, at: Timestamp) {
        if let (Some(active), Some(user)) = (&mut self.active, user) {
            active.see(user, at);
        }
    }

    /// What the rule of a budget does at `at`, when it has fallen back, and how many accounts it had held up.
    pub(super) fn fallen(
        &self,
        policy: &Policy,
        budget: Option<usize>,
        at: Timestamp,
    ) -> Option<(FallBack, u64)> {
        let number = budget?;
        let (spent, budget) = (&self.spent[number], &policy.blast.budgets[number]);
        (spent.over && spent.runs(budget, at)).then_some((budget.then, spent.accounts.len() as u64))
    }

    /// Whether the rule of a budget only tells at `at` what it would have done.
    pub(super) fn is_in_shadow(&self, policy: &Policy, budget: Option<usize>, at: Timestamp) -> bool {
        self.fallen(policy, budget, at).is_some_and(|(then, _)| then == FallBack::Shadow)
    }

    fn most(&self, budget: &Budget) -> u64 {
        let share = self.active.as_ref().map_or(0.0, |active| active.count() * budget.share);
        budget.accounts.max(share as u64).min(ACCOUNTS_MAX)
    }

    /// The budgets that one account more would overdraw: they are over from now on.
    fn overdrawn(&mut self, policy: &Policy, touched: &[usize], account: u64, at: Timestamp) -> Vec<usize> {
        let mut over = Vec::new();
        for &number in touched {
            let budget = &policy.blast.budgets[number];
            self.spent[number].begin(budget, at);
            let spent = &self.spent[number];
            let is_new = !spent.accounts.contains(&account);
            if is_new
                && spent.accounts.len() as u64 >= budget.accounts
                && spent.accounts.len() as u64 >= self.most(budget)
            {
                self.spent[number].over = true;
                over.push(number);
            }
        }
        over
    }
}

impl Engine {
    /// A decision that keeps within the budgets of the rules that made it: as it is, or made again.
    pub(super) fn within_budget(
        &mut self,
        event: &Event<'_>,
        look: &Look<'_>,
        mut judged: Judged,
        out: &mut Outputs,
    ) -> Judged {
        let Some((entity, account)) = actor(event, look) else { return judged };
        let policy = Arc::clone(&self.policy);
        loop {
            let over = self.blast.overdrawn(&policy, &judged.touched, account, look.at);
            if over.is_empty() {
                break;
            }
            over.iter().for_each(|number| self.fall_back(*number, &entity, event, look, out));
            judged = decide((&policy, &self.plan), &self.exceptions, &self.blast, event, look, judged);
        }
        for &number in &judged.touched {
            self.blast.spent[number].accounts.insert(account);
        }
        judged
    }

    fn fall_back(
        &mut self,
        number: usize,
        entity: &Entity,
        event: &Event<'_>,
        look: &Look<'_>,
        out: &mut Outputs,
    ) {
        let policy = Arc::clone(&self.policy);
        let (budget, spent) = (&policy.blast.budgets[number], &self.blast.spent[number]);
        let accounts = spent.accounts.len() as u64;
        let fell = FellBack {
            rule: Arc::clone(&budget.rule),
            then: budget.then,
            accounts,
            until: spent.begun.after(budget.within),
        };
        let proposal = proposal(&fell, budget.within);
        out.fell_back.push(fell);
        self.add_case(&budget.info, &proposal, entity.clone(), event, look, &mut out.cases);
    }
}

/// What is proposed to people about a rule that fell back.
pub(crate) fn proposal(fell: &FellBack, within: Span) -> String {
    format!(
        "The rule {} acted on {} accounts within {within} and is in {} until {}: if it is right, give it a larger \
         blast_radius, else correct it",
        fell.rule, fell.accounts, fell.then, fell.until
    )
}
