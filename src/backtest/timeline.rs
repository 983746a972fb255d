//! Verdicts over time, in buckets whose width doubles when they get too many.

use std::collections::BTreeMap;

use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

/// Counts by verdict, weakest first.
pub(super) type Verdicts = [u64; Verdict::ALL.len()];

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timeline {
    width: i64,
    buckets: BTreeMap<i64, Verdicts>,
}

/// Buckets at most.
const BUCKETS_MAX: usize = 240;
/// The width at first, milliseconds.
const WIDTH: i64 = 1000;

impl Default for Timeline {
    fn default() -> Self {
        Self { width: WIDTH, buckets: BTreeMap::new() }
    }
}

impl Timeline {
    pub(super) fn count(&mut self, at: Timestamp, verdict: Verdict) {
        let bucket = at.millis().div_euclid(self.width);
        self.buckets.entry(bucket).or_default()[verdict as usize] += 1;
        while self.buckets.len() > BUCKETS_MAX {
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.width *= 2;
        for (bucket, counts) in std::mem::take(&mut self.buckets) {
            let sum = self.buckets.entry(bucket.div_euclid(2)).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Widens the buckets until they are as wide as those of another.
    pub(super) fn align(&mut self, other: &Timeline) {
        while self.width < other.width {
            self.widen();
        }
    }

    /// Width of a bucket.
    pub(super) fn width(&self) -> Span {
        Span::from_millis(self.width)
    }

    /// Begin of each bucket that is not empty, and its counts.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (Timestamp, &Verdicts)> {
        self.buckets.iter().map(|(bucket, counts)| (Timestamp::from_millis(bucket * self.width), counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_few_and_nothing_is_lost() {
        let mut line = Timeline::default();
        for second in 0..10_000 {
            line.count(Timestamp::from_millis(second * 1000), Verdict::Hold);
        }
        assert_eq!(line.width(), Span::from_secs(64));
        let counts: Vec<u64> = line.buckets().map(|(_, counts)| counts[Verdict::Hold as usize]).collect();
        assert!(counts.len() <= BUCKETS_MAX && counts[0] == 64, "{}", counts.len());
        assert_eq!(counts.iter().sum::<u64>(), 10_000);
        let mut other = Timeline::default();
        other.count(Timestamp::from_millis(65_000), Verdict::Allow);
        other.align(&line);
        assert_eq!(other.buckets().next().map(|(at, _)| at.millis()), Some(64_000));
    }
}
