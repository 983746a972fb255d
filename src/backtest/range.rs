//! Which events count: those of a time range. What comes before warms the windows up, untold.
//!
//! An event belongs where its append time lies, as on a topic: from `since` (included) to `until` (not included).

use serde::Serialize;

use crate::engine::time::{Span, Timestamp};

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// From when on events count; `None`: from the first.
    pub since: Option<Timestamp>,
    /// From when on they no longer do; `None`: to the last.
    pub until: Option<Timestamp>,
    /// How long before `since` events are applied untold.
    pub warm_up: Span,
}

/// Where an event lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Before the warm-up: passed over.
    Before,
    /// Applied, and nothing of it counts.
    WarmUp,
    /// It counts.
    Inside,
    /// Passed over.
    After,
    /// Within the range and outside of the sample: applied, and nothing of it counts.
    Neighbour,
    /// Outside of the sample, and without anything to do with it: passed over.
    Stranger,
}

impl Range {
    /// Where an event with this append time lies.
    pub fn part(&self, at: Timestamp) -> Part {
        match (self.since, self.until) {
            (_, Some(until)) if at >= until => Part::After,
            (Some(since), _) if at >= since => Part::Inside,
            (Some(since), _) if at >= since.before(self.warm_up) => Part::WarmUp,
            (Some(_), _) => Part::Before,
            (None, _) => Part::Inside,
        }
    }

    /// The same, with all that is read before it as its warm-up.
    #[must_use]
    pub fn warmed_by_all(self) -> Self {
        Self { warm_up: Span::from_millis(i64::MAX), ..self }
    }

    /// Whether all that is read before it is its warm-up.
    pub fn is_warmed_by_all(&self) -> bool {
        self.warm_up.millis() == i64::MAX
    }

    /// How long the warm-up is, in words.
    pub fn warm_up_told(&self) -> String {
        match self.is_warmed_by_all() {
            true => "all that was read before".to_owned(),
            false => self.warm_up.to_string(),
        }
    }

    /// When the warm-up begins.
    pub fn begins(&self) -> Option<Timestamp> {
        self.since.map(|since| since.before(self.warm_up))
    }
}

/// How many records lay where, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Records read.
    pub read: u64,
    /// Passed over, before the warm-up.
    pub before: u64,
    /// Applied untold.
    pub warm_up: u64,
    /// Counted.
    pub inside: u64,
    /// Passed over, after the range.
    pub after: u64,
    /// Applied untold for the sake of a sample.
    pub neighbours: u64,
    /// Passed over, outside of a sample.
    pub strangers: u64,
    /// Append time of the earliest that was applied.
    #[serde(skip)]
    pub first_applied: Option<Timestamp>,
    /// Append times of the earliest and the latest that count.
    #[serde(skip)]
    pub span: Option<(Timestamp, Timestamp)>,
}

impl Passed {
    pub(super) fn count(&mut self, part: Part, at: Timestamp) {
        match part {
            Part::Before => self.before += 1,
            Part::WarmUp => self.warm_up += 1,
            Part::Inside => self.inside += 1,
            Part::After => self.after += 1,
            Part::Neighbour => self.neighbours += 1,
            Part::Stranger => self.strangers += 1,
        }
        if matches!(part, Part::WarmUp | Part::Inside | Part::Neighbour) {
            self.first_applied = Some(self.first_applied.map_or(at, |first| first.min(at)));
        }
        if part == Part::Inside {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
    }

    /// Days between the first and the last that count; a minute at least, so that there is something to divide by.
    pub fn days(&self) -> f64 {
        let millis = self.span.map_or(0, |(first, last)| last.since(first).millis());
        millis.max(60_000) as f64 / 86_400_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_half_open_and_warmed_up() {
        let at = |hour: i64| Timestamp::from_millis(1_750_000_000_000).after(Span::from_secs(3600 * hour));
        let range = Range { since: Some(at(10)), until: Some(at(12)), warm_up: Span::from_secs(7200) };
        let parts = [7, 8, 9, 10, 11, 12].map(|hour| range.part(at(hour)));
        let [before, warm, inside, after] = [Part::Before, Part::WarmUp, Part::Inside, Part::After];
        assert_eq!(parts, [before, warm, warm, inside, inside, after]);
        assert_eq!(range.begins(), Some(at(8)));
        assert_eq!(Range::default().part(at(0)), Part::Inside);
    }

    #[test]
    fn what_lies_where_is_counted() {
        let mut passed = Passed::default();
        let at = Timestamp::from_millis;
        for (part, time) in [(Part::Before, 1), (Part::WarmUp, 2), (Part::Inside, 4), (Part::Inside, 3)] {
            passed.count(part, at(time));
        }
        assert_eq!((passed.first_applied, passed.span), (Some(at(2)), Some((at(3), at(4)))));
        assert!((passed.days() - 1.0 / 1440.0).abs() < 1e-12);
    }
}
