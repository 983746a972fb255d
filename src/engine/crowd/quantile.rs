//! A quantile of a stream of counts, live: logarithmic buckets that fade, within 5 % of the value.
//!
//! It says nothing before [`Quantile::LEAST`] counts. What it says falls at once and rises by a fifth an hour at most, so
//! that nobody lifts a threshold in an afternoon. The sketch is DDSketch's (Masson, Rim and Lee, VLDB 2019).

use crate::engine::time::Timestamp;

/// Ratio of two neighbouring buckets.
const GROWTH: f64 = 1.1;
/// Buckets: up to 1.1^150, 1.6 million.
/// Its natural logarithm.
const LN_GROWTH: f64 = 0.095_310_179_804_324_93;
const BUCKETS: usize = 151;
/// With so many counts the older half of the weight is given up.
const FADE_AT: u32 = 1 << 17;
/// How often it is worked out anew, in counts.
const EVERY: u32 = 128;
/// Growth an hour, at most.
const RISE: f64 = 1.2;

/// The quantile of what was fed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantile {
    pub(super) buckets: Vec<u32>,
    pub(super) total: u32,
    pub(super) fed: u32,
    /// What it says, and since when.
    pub(super) held: Option<(f64, Timestamp)>,
}

impl Default for Quantile {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], total: 0, fed: 0, held: None }
    }
}

impl Quantile {
    /// Counts it needs before it says anything.
    pub(crate) const LEAST: u32 = 1000;

    /// Bytes it takes.
    pub(crate) const BYTES: u64 = 4 * BUCKETS as u64 + 64;

    /// Takes a count of 1 or more. `p` is the quantile wanted, above 0 and below 1.
    pub(crate) fn feed(&mut self, count: u64, p: f64, at: Timestamp) {
        self.buckets[bucket(count)] += 1;
        self.total += 1;
        self.fed = self.fed.saturating_add(1);
        if self.total >= FADE_AT {
            self.buckets.iter_mut().for_each(|n| *n /= 2);
            self.total = self.buckets.iter().sum();
        }
        if self.fed >= Self::LEAST && self.fed.is_multiple_of(EVERY) {
            self.hold(self.now(p), at);
        }
    }

    /// Whether it has all its buckets and no more counts than they hold.
    pub(super) fn is_whole(&self) -> bool {
        let total = self.buckets.iter().try_fold(0u32, |sum, n| sum.checked_add(*n));
        self.buckets.len() == BUCKETS && total == Some(self.total)
    }

    /// What it says; `None` while too little was fed.
    pub(crate) fn get(&self) -> Option<f64> {
        self.held.map(|(held, _)| held)
    }

    fn now(&self, p: f64) -> f64 {
        let rank = p * f64::from(self.total);
        let mut below = 0.0;
        for (number, n) in self.buckets.iter().enumerate() {
            below += f64::from(*n);
            if below >= rank {
                return libm::pow(GROWTH, number as f64);
            }
        }
        libm::pow(GROWTH, (BUCKETS - 1) as f64)
    }

    fn hold(&mut self, now: f64, at: Timestamp) {
        let most =
            |(held, since): (f64, Timestamp)| held * libm::pow(RISE, at.since(since).millis() as f64 / HOUR);
        self.held = Some((self.held.map_or(now, |held| now.min(most(held))), at));
    }
}

const HOUR: f64 = 3_600_000.0;

fn bucket(count: u64) -> usize {
    if count <= 1 {
        return 0;
    }
    let number = libm::round(libm::log(count as f64) / LN_GROWTH);
    (number as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + minutes * 60_000)
    }

    #[test]
    fn it_is_within_five_percent_of_the_sorted_list() {
        let mut quantile = Quantile::default();
        let counts: Vec<u64> = (0..4096u64).map(|n| 1 + n * 7919 % 400).collect();
        counts.iter().for_each(|count| quantile.feed(*count, 0.99, at(0)));
        let mut sorted = counts;
        sorted.sort_unstable();
        let exact = sorted[sorted.len() * 99 / 100] as f64;
        let said = quantile.get().expect("enough was fed");
        assert!((said / exact - 1.0).abs() <= 0.05, "{said} of {exact}");
    }

    #[test]
    fn it_says_nothing_of_little() {
        let mut quantile = Quantile::default();
        (0..900).for_each(|_| quantile.feed(5, 0.99, at(0)));
        assert_eq!(quantile.get(), None);
    }

    #[test]
    fn it_rises_by_a_fifth_an_hour_and_falls_at_once() {
        let mut quantile = Quantile::default();
        (0..1024).for_each(|_| quantile.feed(10, 0.99, at(0)));
        let before = quantile.get().expect("enough");
        (0..512).for_each(|_| quantile.feed(1000, 0.99, at(1)));
        assert!(quantile.get().expect("enough") <= before * 1.01, "a flood within a minute lifts nothing");
        (0..128).for_each(|_| quantile.feed(1000, 0.99, at(61)));
        let after = quantile.get().expect("enough");
        assert!((1.19..1.22).contains(&(after / before)), "{before} {after}");
        (0..200_000).for_each(|_| quantile.feed(2, 0.99, at(62)));
        assert!(quantile.get().expect("enough") < 3.0);
    }
}
