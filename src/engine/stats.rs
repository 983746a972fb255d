//! What the engine counts for its operators. It counts nothing that decides anything.

use super::Engine;
use super::crowd::{CrowdStats, Crowds};
use super::exceptions::Exceptions;
use super::recall::RecallStats;
use super::table::TableStats;

/// Counts since the start, by index of the policy that holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events on which each rule fired, whatever its mode.
    pub rule_hits: Vec<u64>,
    /// Events that each limit did not see because a field of its key was missing.
    pub skipped_empty: Vec<u64>,
}

/// The account of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAccount {
    /// The dimension, or `users`, `devices`, `addresses`.
    pub name: String,
    /// Entries, bytes, evictions.
    pub stats: TableStats,
}

impl Engine {
    /// What was counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The account of each table.
    pub fn accounts(&self) -> Vec<TableAccount> {
        let dimensions = self.policy.dimensions.iter().map(|dimension| dimension.name.to_string());
        let profiles = ["users", "devices", "addresses"].map(str::to_owned);
        let tables = self.tables.iter().chain([&self.users, &self.devices, &self.addresses]);
        dimensions
            .chain(profiles)
            .zip(tables)
            .map(|(name, t)| TableAccount { name, stats: t.stats() })
            .collect()
    }

    /// The account of decisions that may still be answered, and of revisions that are not told yet.
    pub fn remembered(&self) -> RecallStats {
        self.recall.stats()
    }

    /// The account of crowds; `None` when the policy watches none.
    pub fn crowds(&self) -> Option<CrowdStats> {
        self.crowds.as_ref().map(Crowds::stats)
    }

    /// What operators have asked rules not to do.
    pub fn exceptions(&self) -> &Exceptions {
        &self.exceptions
    }

    /// How many bans are in force.
    pub fn bans_in_force(&self) -> usize {
        self.bans.len()
    }
}
