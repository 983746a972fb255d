//! Confusion counts: what was acted on against what it was, per account and per event, at each level of verdict.

use serde::Serialize;

use super::rate::{Rate, Unit};
use crate::engine::verdict::Verdict;
use crate::evaluate::book::Account;
use crate::evaluate::label::Kind;

/// The counts at one level: positive is a last verdict of at least this.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confusion {
    /// The level.
    pub verdict: &'static str,
    /// Attacks that were acted on.
    pub true_positives: u64,
    /// Honest ones that were acted on.
    pub false_positives: u64,
    /// Attacks that were not.
    pub false_negatives: u64,
    /// Honest ones that were not.
    pub true_negatives: u64,
    /// Attacks among what was acted on.
    pub precision: Rate,
    /// Acted on among the attacks.
    pub recall: Rate,
    /// Acted on among the honest.
    pub false_positive_rate: Rate,
}

/// The counts at every level above allow, weakest first.
pub fn confusions<'a>(accounts: &(impl Iterator<Item = &'a Account> + Clone), unit: Unit) -> Vec<Confusion> {
    Verdict::ALL[1..].iter().map(|level| confusion(accounts, unit, *level)).collect()
}

/// The counts at one level, which is above allow.
pub fn confusion<'a>(
    accounts: &(impl Iterator<Item = &'a Account> + Clone),
    unit: Unit,
    level: Verdict,
) -> Confusion {
    let side = |account: &Account, kind| counted(account, unit, kind, level);
    let recall = Rate::over(accounts, unit, |account| side(account, Kind::Attack));
    let wrong = Rate::over(accounts, unit, |account| side(account, Kind::Honest));
    let precision = Rate::over(accounts, unit, |account| {
        let (hits, _) = side(account, Kind::Attack);
        (hits, hits + side(account, Kind::Honest).0)
    });
    Confusion {
        verdict: level.name(),
        true_positives: recall.hits,
        false_positives: wrong.hits,
        false_negatives: recall.of - recall.hits,
        true_negatives: wrong.of - wrong.hits,
        precision,
        recall,
        false_positive_rate: wrong,
    }
}

/// How many of an account's units of a kind reached the level, and how many there are.
fn counted(account: &Account, unit: Unit, kind: Kind, level: Verdict) -> (u64, u64) {
    let side = account.side(kind);
    match unit {
        Unit::Events => (u64::from(side.at_least(level)), u64::from(side.events)),
        Unit::Accounts if account.is_user && account.kind() == kind => {
            (u64::from(side.at_least(level) > 0), 1)
        }
        Unit::Accounts => (0, 0),
    }
}
