//! Rows of a file whose time is far ahead of all others: all that stands behind one is late by that row alone.
//!
//! On a topic the time of arrival bounds how far ahead an event may be. A file tells none, so that one wrong time carries
//! the whole clock along. To mend it one has to know which row it is.

use super::odd::Oddity;
use crate::engine::time::{Span, Timestamp};

/// So far ahead of its neighbours is a row that leads.
const AHEAD: Span = Span::from_secs(86_400);
/// Leaders that are told.
const TOLD: usize = 5;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Leaders {
    present: Option<Leader>,
    /// The latest of all rows.
    latest: Option<Timestamp>,
    past: Vec<Leader>,
}

/// A row far ahead of those before it, or the first of all.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leader {
    at: Timestamp,
    place: String,
    /// The latest of the others: what would be late without the leader is late by more than the leader.
    before: Option<Timestamp>,
    /// Rows that only the leader makes late, and the first of them.
    late: u64,
    first: String,
    /// Rows that would be late without it.
    otherwise: u64,
}

impl Leaders {
    /// One row, as it was taken.
    pub(super) fn note(&mut self, at: Timestamp, place: &impl Fn() -> String) {
        let before = self.latest;
        self.latest = before.max(Some(at));
        if before.is_none_or(|before| before.after(AHEAD) < at) {
            let leader = Leader { at, place: place(), before, late: 0, first: String::new(), otherwise: 0 };
            self.past.extend(self.present.replace(leader).filter(Leader::is_told));
        } else if let Some(leader) = self.present.as_mut().filter(|leader| at.after(AHEAD) < leader.at) {
            leader.behind(at, place);
        }
    }

    /// Those that made others late; `at` tells the place of one to people.
    pub(super) fn told(&self, at: impl Fn(&str) -> String) -> Vec<Oddity> {
        let leaders = self.past.iter().chain(self.present.iter().filter(|leader| leader.is_told()));
        leaders.take(TOLD).map(|leader| leader.oddity(&at(&leader.place))).collect()
    }
}

impl Leader {
    fn behind(&mut self, at: Timestamp, place: &impl Fn() -> String) {
        match self.before {
            Some(before) if at < before => self.otherwise += 1,
            _ => {
                if self.late == 0 {
                    self.first = place();
                }
                self.late += 1;
            }
        }
        // Another row that is as far ahead is no measure for the others.
        if self.before.is_none_or(|before| at <= before.after(AHEAD)) {
            self.before = self.before.max(Some(at));
        }
    }

    /// An input that is in no order at all, or newest first, is not the fault of one row.
    fn is_told(&self) -> bool {
        self.late > self.otherwise
    }

    fn oddity(&self, place: &str) -> Oddity {
        let Self { at, late, first, .. } = self;
        let message = format!(
            "stand behind {place}, whose time {at} is far ahead of theirs: by that row alone they are late, and counted otherwise \
             than live, or not at all (mend its time, or leave it out)"
        );
        Oddity { kind: "time_ahead", count: *late, first: first.clone(), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    /// Count, first late row and leader, of rows at these seconds.
    fn told(seconds: impl IntoIterator<Item = i64>) -> Vec<(u64, String, String)> {
        let mut leaders = Leaders::default();
        for (row, second) in (1..).zip(seconds) {
            let at = Timestamp::from_millis(1_750_000_000_000 + second * 1000);
            leaders.note(at, &|| format!("row {row}"));
        }
        let leader = |odd: Oddity| {
            let message = odd.message.strip_prefix("stand behind ").expect("the leader").to_owned();
            (odd.count, odd.first, message.split(',').next().unwrap_or_default().to_owned())
        };
        leaders.told(str::to_owned).into_iter().map(leader).collect()
    }

    fn one(count: u64, first: &str, leader: &str) -> Vec<(u64, String, String)> {
        vec![(count, first.to_owned(), leader.to_owned())]
    }

    #[test]
    fn the_row_that_makes_all_others_late_is_named() {
        assert_eq!(told([0, 10, 400 * DAY, 20, 30, 40]), one(3, "row 4", "row 3"));
        assert_eq!(told([400 * DAY, 0, 10, 20]), one(3, "row 2", "row 1"), "the first of all");
        assert_eq!(told([0, 400 * DAY, 10, 300 * DAY, 20, 30]), one(4, "row 3", "row 2"), "two of them");
    }

    #[test]
    fn a_gap_a_step_back_and_another_order_are_no_leaders() {
        assert_eq!(told([0, 10, 3 * DAY, 3 * DAY + 1, 3 * DAY - 300, 7 * DAY]), []);
        assert_eq!(told((0..50).rev().map(|row| row * DAY)), [], "newest first");
        assert_eq!(told((0..50).rev().map(|row| row * 3600)), [], "newest first, by the hour");
        assert_eq!(told((0..300).map(|row| row * 7919 % 100 * DAY)), [], "no order");
    }
}
