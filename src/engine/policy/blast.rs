//! How many accounts a rule may hold up before it falls back by itself.

use std::fmt;
use std::sync::Arc;

use crate::engine::blast::ACCOUNTS_MAX;
use crate::engine::decision::ReasonSource;
use crate::engine::time::Span;

/// The budgets of the rules, limits and pools of a policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlastRadius {
    /// Those that have one.
    pub budgets: Vec<Budget>,
    /// Ids of rules, limits and pools that are said to need none.
    pub unlimited: Vec<String>,
}

/// The budget of one rule, limit or pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Its id.
    pub rule: Arc<str>,
    /// It may hold up, or ban, so many accounts ...
    pub accounts: u64,
    /// ... or this share (0 to 1) of those active in a day, if that is more; 0 where none is stated ...
    pub share: f64,
    /// ... in windows of this length, which begin with the first of them and do not overlap.
    pub within: Span,
    /// What it does from then on.
    pub then: FallBack,
    /// Public code and text.
    pub info: Arc<ReasonSource>,
}

/// From this share of all active accounts on, a budget stops nothing.
const MOST_SHARE: f64 = 0.5;
/// Windows that are shorter are over before anybody counts.
const SHORT: Span = Span::from_secs(60);

/// Why a budget of so many accounts, or this share, within a time will hardly ever stop anything, if that is so.
pub(crate) fn idle(accounts: u64, share: f64, within: Span) -> Option<String> {
    if share >= MOST_SHARE {
        let percent = share * 100.0;
        return Some(format!("{percent} percent of those active in a day is everybody, or nearly"));
    }
    let in_an_hour = u128::from(accounts) * 3_600_000 / u128::from(within.millis().unsigned_abs().max(1));
    let is_loose = within < SHORT || in_an_hour > u128::from(ACCOUNTS_MAX);
    is_loose
        .then(|| format!("{accounts} accounts within {within}, again and again, are {in_an_hour} in an hour"))
}

impl Budget {
    /// Why it will hardly ever stop its rule, if that is so.
    pub fn idle(&self) -> Option<String> {
        idle(self.accounts, self.share, self.within)
    }

    /// Whether it allows the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let numbers = |budget: &Self| (budget.accounts, budget.share.to_bits(), budget.within, budget.then);
        numbers(self) == numbers(other)
    }
}

/// What a rule does that has spent its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallBack {
    /// It only tells what it would have done.
    #[default]
    Shadow,
    /// It asks for `hold` at the most.
    Hold,
}

/// As written in a policy.
impl fmt::Display for FallBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FallBack::Shadow => "shadow",
            FallBack::Hold => "hold",
        })
    }
}
