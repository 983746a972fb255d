//! A sample of accounts of bounded size: those with the smallest hashes (a bottom-k sketch).
//!
//! Which accounts are in it depends on their names alone, so two samples hold the same ones, and can be compared one by
//! one. An account that is in it at the end was in it from its first event on: what is kept of it is whole. While fewer
//! than `k` accounts came, the sample is all of them; then their number is estimated as `(k - 1) / h` with `h` the largest
//! hash kept, as a part of all hashes, whose relative standard error is `1 / sqrt(k - 2)`: 3.1 percent for 1,024. Of those
//! that are in one sample and not in another, the ones below both largest hashes are counted instead.

use std::collections::BTreeMap;

use crate::engine::Standing;
use crate::engine::time::Timestamp;

/// What is kept of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// When it first came.
    pub first: Timestamp,
    /// It was settled at some event.
    pub settled: bool,
    /// It was paying at some event.
    pub paying: bool,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    kept: BTreeMap<u64, Kept>,
    /// The largest hash that is kept, once it is full.
    largest: Option<u64>,
}

impl Sample {
    /// Accounts kept.
    pub const SIZE: usize = 1024;

    /// An account came.
    pub fn note(&mut self, hash: u64, at: Timestamp, standing: Standing) {
        if self.largest.is_some_and(|largest| hash > largest) {
            return;
        }
        let (settled, paying) = (standing.settled == Some(true), standing.paying == Some(true));
        let kept = self.kept.entry(hash).or_insert(Kept { first: at, settled: false, paying: false });
        kept.first = kept.first.min(at);
        kept.settled |= settled;
        kept.paying |= paying;
        if self.kept.len() > Self::SIZE {
            self.kept.pop_last();
        }
        if self.kept.len() == Self::SIZE {
            self.largest = self.kept.last_key_value().map(|(hash, _)| *hash);
        }
    }

    /// How many accounts came; an estimate unless [`Sample::is_exact`].
    pub fn accounts(&self) -> u64 {
        match self.largest {
            Some(largest) if largest > 0 => {
                let part = largest as f64 / u64::MAX as f64;
                (self.kept.range(..largest).count() as f64 / part) as u64
            }
            _ => self.kept.len() as u64,
        }
    }

    /// Whether all that came are kept.
    pub fn is_exact(&self) -> bool {
        self.largest.is_none()
    }

    /// The share of those with this; `None` when nobody came.
    pub fn share(&self, of: impl Fn(&Kept) -> bool) -> Option<f64> {
        let hits = self.kept.values().filter(|kept| of(kept)).count();
        (!self.kept.is_empty()).then(|| hits as f64 / self.kept.len() as f64)
    }

    /// What is kept of an account, if it is.
    pub fn get(&self, hash: u64) -> Option<&Kept> {
        self.kept.get(&hash)
    }

    /// Those that came here and not there; an estimate unless both are exact.
    pub fn without(&self, there: &Sample) -> Sample {
        let largest = [self.largest, there.largest].into_iter().flatten().min();
        let here = self.kept.range(..=largest.unwrap_or(u64::MAX));
        let only = here.filter(|(hash, _)| !there.kept.contains_key(hash));
        Sample { kept: only.map(|(hash, kept)| (*hash, *kept)).collect(), largest }
    }

    /// For the accounts in both: how many came here earlier, at the same time, and later than there; and the median of
    /// `there - here` in milliseconds.
    pub fn against(&self, other: &Sample) -> Against {
        let both = self.kept.iter().filter_map(|(hash, kept)| Some((kept.first, other.get(*hash)?.first)));
        let mut ahead: Vec<i64> =
            both.map(|(here, there)| there.millis().saturating_sub(here.millis())).collect();
        ahead.sort_unstable();
        let count = |of: fn(&i64) -> bool| ahead.iter().filter(|by| of(by)).count() as u64;
        Against {
            both: ahead.len() as u64,
            earlier: count(|by| *by > 0),
            later: count(|by| *by < 0),
            median_ms: ahead.get(ahead.len().saturating_sub(1) / 2).copied(),
        }
    }
}

/// How two samples compare over the accounts in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Against {
    /// Accounts in both.
    pub both: u64,
    /// Came here earlier.
    pub earlier: u64,
    /// Came here later.
    pub later: u64,
    /// How much earlier the middle one came here, milliseconds.
    pub median_ms: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_64;

    fn note(sample: &mut Sample, number: u64, at: i64) {
        let standing = Standing { settled: Some(number.is_multiple_of(4)), ..Standing::default() };
        sample.note(xxh3_64(&number.to_le_bytes()), Timestamp::from_millis(at), standing);
    }

    #[test]
    fn it_is_exact_until_it_is_full() {
        let mut sample = Sample::default();
        for number in 0..1000 {
            note(&mut sample, number, 5);
            note(&mut sample, number, 3);
        }
        assert_eq!((sample.accounts(), sample.is_exact()), (1000, true));
        assert_eq!(sample.share(|kept| kept.settled), Some(0.25));
        assert!(sample.kept.values().all(|kept| kept.first.millis() == 3));
    }

    /// Three standard errors are 9.4 percent.
    #[test]
    fn then_it_estimates_and_stays_as_large() {
        let mut sample = Sample::default();
        for number in 0..200_000 {
            note(&mut sample, number, 0);
        }
        assert_eq!((sample.kept.len(), sample.is_exact()), (Sample::SIZE, false));
        let off = sample.accounts() as f64 / 200_000.0 - 1.0;
        assert!(off.abs() < 0.094, "{off}");
        let settled = sample.share(|kept| kept.settled).expect("many came");
        assert!((settled - 0.25).abs() < 0.05, "{settled}");
    }

    /// Of 120,000 and 150,000 accounts 90,000 are the same: three standard errors of what is below both largest hashes are
    /// some 20 percent.
    #[test]
    fn those_in_one_and_not_in_the_other_are_counted() {
        let of = |numbers: std::ops::Range<u64>| {
            let mut sample = Sample::default();
            numbers.for_each(|number| note(&mut sample, number, 0));
            sample
        };
        let few = of(0..500).without(&of(200..900));
        assert_eq!((few.accounts(), few.is_exact()), (200, true));
        let many = of(0..120_000).without(&of(30_000..180_000));
        assert!((24_000..36_000).contains(&many.accounts()) && !many.is_exact(), "{}", many.accounts());
        assert_eq!(of(0..120_000).without(&of(0..120_000)).accounts(), 0);
    }

    #[test]
    fn accounts_in_both_are_compared_one_by_one() {
        let (mut here, mut there) = (Sample::default(), Sample::default());
        for (number, (a, b)) in [(10, 40), (20, 20), (30, 10)].into_iter().enumerate() {
            note(&mut here, number as u64, a);
            note(&mut there, number as u64, b);
        }
        note(&mut here, 9, 0);
        let against = here.against(&there);
        assert_eq!((against.both, against.earlier, against.later, against.median_ms), (3, 1, 1, Some(0)));
    }
}
