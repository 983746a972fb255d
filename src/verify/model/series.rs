//! A window as a plain list: what happened at which time, counted anew for every question.
//!
//! A list forgets nothing. An entry of which it is not known whether the engine recorded it is kept as *unsure*: it
//! counts for the upper bound only.

use std::collections::HashSet;

use super::range::Range;

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// When, milliseconds since 1970.
    pub(super) at: i64,
    /// How much it counts.
    pub(super) n: i64,
    /// Which value it carried, by number; for distinct counts.
    pub(super) of: u32,
    /// Whether the engine surely recorded it.
    pub(super) sure: bool,
}

/// What happened to one key, by time.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    entries: Vec<Entry>,
    /// More has been in it at once than the engine promises to count exactly, and not all of that has left.
    pub(super) coarse: bool,
}

impl Series {
    /// Puts an entry in its place; equal times stay in the order of arrival.
    pub(super) fn add(&mut self, entry: Entry) {
        let place = self.entries.partition_point(|known| known.at <= entry.at);
        self.entries.insert(place, entry);
    }

    /// The latest time of any entry.
    pub(super) fn newest(&self) -> Option<i64> {
        self.entries.last().map(|entry| entry.at)
    }

    /// The entries in `(after, upto]`, by time.
    pub(super) fn between(&self, after: i64, upto: i64) -> &[Entry] {
        let from = self.entries.partition_point(|entry| entry.at <= after);
        let to = self.entries.partition_point(|entry| entry.at <= upto);
        &self.entries[from..to.max(from)]
    }

    /// The sum over `(after, upto]`.
    pub(super) fn sum(&self, after: i64, upto: i64) -> Range {
        let mut range = Range::exact(0.0);
        for entry in self.between(after, upto) {
            let n = entry.n as f64;
            let bounds = if entry.sure { Range::exact(n) } else { Range { lo: n.min(0.0), hi: n.max(0.0) } };
            range = range.plus(bounds);
        }
        range
    }

    /// The sum over `(after, upto]`, when the engine may take in any part of what lies up to `before` ms earlier or
    /// less than `beyond` ms later.
    pub(super) fn sum_about(&self, after: i64, upto: i64, before: i64, beyond: i64) -> Range {
        let edge = |from: i64, to: i64| {
            let mut range = Range::exact(0.0);
            for entry in self.between(from, to) {
                let n = entry.n as f64;
                range = range.plus(Range { lo: n.min(0.0), hi: n.max(0.0) });
            }
            range
        };
        self.sum(after, upto).plus(edge(after - before, after)).plus(edge(upto, upto + beyond))
    }

    /// Distinct values in `(after, upto]`: surely there, and possibly there.
    pub(super) fn distinct(&self, after: i64, upto: i64) -> (usize, usize) {
        let entries = self.between(after, upto);
        let sure: HashSet<u32> = entries.iter().filter(|entry| entry.sure).map(|entry| entry.of).collect();
        let all = if entries.iter().all(|entry| entry.sure) {
            sure.len()
        } else {
            entries.iter().map(|entry| entry.of).collect::<HashSet<u32>>().len()
        };
        (sure.len(), all)
    }
}
