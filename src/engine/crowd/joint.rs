//! All traits of a crowd at once: how surely each account was brought in, and so how those are who were.
//!
//! One trait alone tells how large a part of a crowd is not as usual, but not who, save in its overfull bins. Begun with
//! those, expectation maximisation (Dempster, Laird and Rubin 1977) goes to and fro between how surely each account was
//! brought in and how those are who were. The crowd is a mixture of two kinds of people, in each of which traits are
//! independent; how usual people are is known and stays, and so does what the trait says that tells the two apart best. So
//! a trait that only half of those who were brought in have clears nobody who has it not, and what all of them have clears
//! everybody else.

use super::mixture::{MOST, Side};

/// Rounds to and fro, at most; it ends when nobody's probability changes by more than this.
const ROUNDS: usize = 12;
const STILL: f64 = 0.01;
/// Share of the crowd that was brought in, at least and at most.
const SHARE: (f64, f64) = (0.01, 0.95);

/// One trait of the accounts of a crowd.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The bin of each account, where it is known.
    pub(super) bins: Vec<Option<usize>>,
    /// The usual share of each bin.
    pub(super) usual: Vec<f64>,
    /// Which bins may speak against anybody.
    pub(super) side: Side,
    /// How much of what speaks against each account counts, 0 to 1.
    pub(super) counts: Vec<f64>,
    /// Evidence of each bin, in nats, where it stays what the trait alone says.
    pub(super) settled: Option<Vec<f64>>,
}

/// How surely each account was brought in, from how surely it seems so at first.
pub(super) fn brought(columns: &[Column], mut sure: Vec<f64>) -> Vec<f64> {
    for _ in 0..ROUNDS {
        let all: f64 = sure.iter().sum();
        let share = (all / sure.len().max(1) as f64).clamp(SHARE.0, SHARE.1);
        let mut odds = vec![libm::log(share / (1.0 - share)); sure.len()];
        for column in columns {
            let bins = column.odds(&sure);
            for (number, odds) in odds.iter_mut().enumerate() {
                let own = column.bins[number].map_or(0.0, |bin| bins[bin]);
                *odds += if own > 0.0 { own * column.counts[number] } else { own };
            }
        }
        let mut moved = 0.0_f64;
        for (sure, odds) in sure.iter_mut().zip(odds) {
            let now = 1.0 / (1.0 + libm::exp(-odds));
            moved = moved.max((now - *sure).abs());
            *sure = now;
        }
        if moved < STILL {
            break;
        }
    }
    sure
}

impl Column {
    /// How many of those who were brought in are in each bin.
    pub(super) fn count(&self, sure: &[f64]) -> Vec<f64> {
        let mut counts = vec![0.0; self.usual.len()];
        for (bin, sure) in self.bins.iter().zip(sure) {
            if let Some(bin) = bin {
                counts[*bin] += sure;
            }
        }
        counts
    }

    /// Evidence of each bin, in nats.
    fn odds(&self, sure: &[f64]) -> Vec<f64> {
        if let Some(settled) = &self.settled {
            return settled.clone();
        }
        let counts = self.count(sure);
        let all: f64 = counts.iter().sum();
        // As many as are usual stand for what was not seen yet.
        let of = |(number, (count, usual)): (usize, (&f64, &f64))| {
            let share = (count + usual) / (all + 1.0);
            let odds = libm::log(share / usual.max(1e-6)).clamp(-MOST, MOST);
            self.side.of(number, odds)
        };
        counts.iter().zip(&self.usual).enumerate().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(bins: impl Iterator<Item = usize>, usual: &[f64]) -> Column {
        let bins: Vec<Option<usize>> = bins.map(Some).collect();
        let counts = vec![1.0; bins.len()];
        Column { bins, usual: usual.to_vec(), side: Side::Any, counts, settled: None }
    }

    /// 90 of 120 have one device image, and 45 of those were registered on one day: all 90 are found, those who were
    /// registered on other days with them, and the 30 others are not.
    #[test]
    fn half_a_trait_clears_nobody_and_a_whole_one_does() {
        let device = column((0..120).map(|n| usize::from(n >= 90)), &[0.02, 0.98]);
        let day = column((0..120).map(|n| usize::from(n >= 45)), &[0.005, 0.995]);
        let core = (0..120).map(|n| if n < 45 { 0.98 } else { 0.0 }).collect();
        let sure = brought(&[device, day], core);
        assert!(sure[..90].iter().all(|sure| *sure > 0.9), "{:?}", &sure[40..95]);
        assert!(sure[90..].iter().all(|sure| *sure < 0.1), "{:?}", &sure[85..]);
    }

    /// 60 of 120 have one device image, all 120 are new: the 60 others are no part of it for being new.
    #[test]
    fn what_tells_them_apart_best_stays() {
        let mut device = column((0..120).map(|n| usize::from(n >= 60)), &[0.02, 0.98]);
        device.settled = Some(vec![3.0, -3.0]);
        let age = column((0..120).map(|_| 0), &[0.2, 0.8]);
        let core = (0..120).map(|n| if n < 60 { 0.98 } else { 0.0 }).collect();
        let sure = brought(&[device, age], core);
        assert!(sure[..60].iter().all(|sure| *sure > 0.9) && sure[60..].iter().all(|sure| *sure < 0.5));
    }

    /// What does not count against an account leaves it where its other traits put it.
    #[test]
    fn what_does_not_count_against_somebody_does_not_make_him_sure() {
        let mut device = column((0..100).map(|n| usize::from(n >= 80)), &[0.02, 0.98]);
        device.counts[..20].fill(0.0);
        let alone = column((0..100).map(|n| usize::from(!(20..80).contains(&n))), &[0.4, 0.6]);
        let core = (0..100).map(|n| if (20..80).contains(&n) { 0.9 } else { 0.0 }).collect();
        let sure = brought(&[device, alone], core);
        assert!(sure[20..80].iter().all(|sure| *sure > 0.9));
        assert!(sure[..20].iter().all(|sure| *sure < 0.5), "{:?}", &sure[..20]);
    }
}
