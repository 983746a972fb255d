//! Rates with how sure they are: exact for independent units, and by clusters.

use std::collections::HashMap;

use serde::Serialize;

use crate::evaluate::book::Account;
use crate::evaluate::interval::{Clustered, Interval, clopper_pearson, clustered};

/// A rate with its 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// How often.
    pub hits: u64,
    /// Of how many.
    pub of: u64,
    /// `hits / of`; `None` without any.
    pub value: Option<f64>,
    /// Clopper-Pearson: exact if all were independent.
    pub clopper_pearson: Interval,
    /// With accounts as clusters; `None` where an account is the unit.
    pub by_account: Option<Clustered>,
    /// With addresses as clusters: each account at the largest exit it was seen at.
    pub by_address: Option<Clustered>,
}

impl Rate {
    /// Without clusters.
    pub fn plain(hits: u64, of: u64) -> Self {
        let value = (of > 0).then(|| hits as f64 / of as f64);
        let clopper_pearson = clopper_pearson(hits, of);
        Self { hits, of, value, clopper_pearson, by_account: None, by_address: None }
    }

    /// Over accounts: `count` gives hits and units of each.
    pub fn over<'a>(
        accounts: &(impl Iterator<Item = &'a Account> + Clone),
        unit: Unit,
        count: impl Fn(&Account) -> (u64, u64),
    ) -> Self {
        let pairs = || accounts.clone().map(|account| (account.exit, count(account)));
        let (hits, of) = pairs().fold((0, 0), |(hits, of), (_, (h, n))| (hits + h, of + n));
        let by_account = match unit {
            Unit::Accounts => None,
            Unit::Events => clustered(pairs().map(|(_, pair)| pair)),
        };
        Self { by_account, by_address: by_address(pairs()), ..Self::plain(hits, of) }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Accounts.
    Accounts,
    /// Events.
    Events,
}

/// Accounts of one exit are one cluster; an account without an address is one of its own.
fn by_address(pairs: impl Iterator<Item = (Option<u32>, (u64, u64))>) -> Option<Clustered> {
    let mut exits: HashMap<u32, (u64, u64)> = HashMap::new();
    let mut alone = Vec::new();
    for (exit, (hits, of)) in pairs {
        match exit {
            None => alone.push((hits, of)),
            Some(exit) => {
                let sum = exits.entry(exit).or_default();
                *sum = (sum.0 + hits, sum.1 + of);
            }
        }
    }
    // Without any address there is nothing to say.
    if exits.is_empty() { None } else { clustered(exits.into_values().chain(alone)) }
}
