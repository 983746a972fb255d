//! What honest accounts met: by verdict and by what it came from, and by the size of the exit they act from.

use serde::Serialize;

use super::rate::Rate;
use crate::engine::verdict::Verdict;
use crate::evaluate::book::{Account, Exits};
use crate::evaluate::cause::Cause;
use crate::evaluate::label::Kind;

/// Honest accounts, and what they met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Harm {
    /// Honest accounts.
    pub accounts: u64,
    /// Those with a last verdict above allow on any event.
    pub acted_on: Rate,
    /// Those with at least one event of this last verdict for this cause; an account may be in several.
    pub met: Vec<Met>,
    /// Those that were blocked by a ban of their own, by what it came from.
    pub banned: Vec<Met>,
    /// By the number of labelled accounts behind the largest exit they were seen at.
    pub exits: Vec<ExitHarm>,
}

/// Honest accounts that met one thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Met {
    /// The verdict.
    pub verdict: &'static str,
    /// What it came from.
    pub cause: Cause,
    /// How many accounts.
    pub accounts: u64,
    /// Of all honest accounts.
    pub share: f64,
    /// Upper end of the exact 95 % interval of that share.
    pub share_at_most: f64,
}

/// Honest accounts behind exits of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExitHarm {
    /// The least number of accounts behind the exit; 0: no address.
    pub from: u32,
    /// The most, `None` without a bound.
    pub to: Option<u32>,
    /// Acted on among the honest accounts there.
    pub acted_on: Rate,
}

/// Sizes of exits at which a class begins.
const CLASSES: [u32; 8] = [0, 1, 2, 4, 10, 50, 200, 1000];

/// What honest accounts met.
pub fn harm<'a>(accounts: impl Iterator<Item = &'a Account> + Clone, exits: &Exits) -> Harm {
    let honest = accounts.filter(|account| account.is_user && account.kind() == Kind::Honest);
    let is_acted_on = |account: &Account| u64::from(account.judged().at_least(Verdict::Demote) > 0);
    let all = honest.clone().count() as u64;
    let met = |verdict: Verdict, cause, accounts| {
        let rate = Rate::plain(accounts, all);
        let (share, share_at_most) = (rate.value.unwrap_or(0.0), rate.clopper_pearson.high);
        Met { verdict: verdict.name(), cause, accounts, share, share_at_most }
    };
    let cells = Verdict::ALL[1..].iter().flat_map(|verdict| Cause::ALL.map(|cause| (*verdict, cause)));
    let count = |(verdict, cause)| {
        honest.clone().filter(|account| account.judged().count(verdict, cause) > 0).count() as u64
    };
    let banned =
        |cause: Cause| honest.clone().filter(|account| account.banned[cause as usize]).count() as u64;
    Harm {
        accounts: all,
        acted_on: Rate::over(&honest, super::Unit::Accounts, |account| (is_acted_on(account), 1)),
        met: cells.map(|cell| met(cell.0, cell.1, count(cell))).collect(),
        banned: Cause::ALL.map(|cause| met(Verdict::Block, cause, banned(cause))).into(),
        exits: by_exit(honest.map(|account| (size(account, exits), is_acted_on(account)))),
    }
}

impl Harm {
    /// Accounts that met this for this cause.
    pub fn accounts_that_met(&self, verdict: Verdict, cause: Cause) -> u64 {
        let of = self.met.iter().find(|met| met.verdict == verdict.name() && met.cause == cause);
        of.map_or(0, |met| met.accounts)
    }

    /// Accounts that were banned for this cause.
    pub fn accounts_banned(&self, cause: Cause) -> u64 {
        self.banned.iter().find(|met| met.cause == cause).map_or(0, |met| met.accounts)
    }
}

fn size(account: &Account, exits: &Exits) -> u32 {
    account.exit.map_or(0, |exit| exits.size(exit))
}

fn by_exit(accounts: impl Iterator<Item = (u32, u64)>) -> Vec<ExitHarm> {
    let mut counts = [(0, 0); CLASSES.len()];
    for (size, acted_on) in accounts {
        let class = CLASSES.partition_point(|from| *from <= size).saturating_sub(1);
        counts[class] = (counts[class].0 + acted_on, counts[class].1 + 1);
    }
    let class = |(place, (hits, of)): (usize, &(u64, u64))| ExitHarm {
        from: CLASSES[place],
        to: CLASSES.get(place + 1).map(|next| next - 1),
        acted_on: Rate::plain(*hits, *of),
    };
    counts.iter().enumerate().filter(|(_, (_, of))| *of > 0).map(class).collect()
}
