//! What could not be read: the first of each kind with their places, and how many.

use std::collections::BTreeMap;

use serde::Serialize;

/// Faults of one kind that are kept for people.
const KEPT: usize = 5;

/// One fault with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// `file:line:column`, as far as there is one.
    pub at: String,
    /// What kind, one word.
    pub kind: &'static str,
    /// What is wrong.
    pub message: String,
}

/// All faults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// The first of each kind, in the order in which they were met.
    pub first: Vec<Fault>,
    /// How many of each kind.
    pub counts: BTreeMap<&'static str, u64>,
}

impl Faults {
    /// Notes one.
    pub fn note(&mut self, kind: &'static str, at: impl FnOnce() -> String, message: impl Into<String>) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count as usize <= KEPT {
            self.first.push(Fault { at: at(), kind, message: message.into() });
        }
    }

    /// Whether the input, or a partition of it, could not be read to its end.
    pub fn broke_off(&self) -> bool {
        ["file broken off", "partition broken off"].iter().any(|kind| self.count(kind) > 0)
    }

    /// Faults of one kind.
    pub fn count(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }
}
