//! Quantiles of counts in bounded room: exact below 64, to 5 percent above.

use std::collections::BTreeMap;

/// Values below this are kept as they are.
const EXACT: f64 = 64.0;
/// One bucket is so much wider than the one before.
const WIDER: f64 = 1.05;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    buckets: BTreeMap<u32, u64>,
    count: u64,
}

impl Quantiles {
    /// One value; what is negative counts as 0.
    pub fn note(&mut self, value: f64) {
        *self.buckets.entry(bucket(value)).or_default() += 1;
        self.count += 1;
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value that at least this part of all does not exceed, rounded up to the end of its bucket; `None`
    /// without any.
    pub fn at(&self, part: f64) -> Option<f64> {
        let wanted = (libm::ceil(part * self.count as f64) as u64).max(1);
        let mut sum = 0;
        for (bucket, count) in &self.buckets {
            sum += count;
            if sum >= wanted {
                return Some(end(*bucket));
            }
        }
        None
    }

    /// Adds another one's values.
    pub fn add(&mut self, other: &Quantiles) {
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
        self.count += other.count;
    }
}

fn bucket(value: f64) -> u32 {
    if value < EXACT {
        return libm::ceil(value.max(0.0)) as u32;
    }
    EXACT as u32 + libm::floor(libm::log(value / EXACT) / libm::log(WIDER)) as u32
}

/// The largest value of a bucket.
fn end(bucket: u32) -> f64 {
    match bucket {
        exact if f64::from(exact) < EXACT => f64::from(exact),
        wide => libm::floor(EXACT * libm::pow(WIDER, f64::from(wide) - EXACT + 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_small_counts_are_exact_and_of_large_ones_close() {
        let mut small = Quantiles::default();
        (1..=50).for_each(|value| small.note(f64::from(value)));
        assert_eq!((small.at(0.5), small.at(0.95), small.at(0.99)), (Some(25.0), Some(48.0), Some(50.0)));
        let mut large = Quantiles::default();
        (1..=100_000).for_each(|value| large.note(f64::from(value)));
        let p99 = large.at(0.99).expect("there are values");
        assert!((99_000.0..=99_000.0 * 1.06).contains(&p99), "{p99}");
        assert_eq!(Quantiles::default().at(0.5), None);
        small.add(&large);
        assert_eq!(small.count(), 100_050);
    }
}
