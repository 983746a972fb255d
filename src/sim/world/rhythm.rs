//! When people are awake.
//!
//! Two harmonics over the day, fitted to the hours of 219,000 public posts of one country (CooRTweet package, German
//! set): quiet from midnight to three, 1.5 times the mean before noon, a second rise in the late afternoon.

use super::super::dice::Dice;
use super::{DAY, MINUTE};

/// The most that [`activity`] gives.
const PEAK: f64 = 1.75;

/// How busy people are at `at` (UTC), around 1.
pub(in crate::sim) fn activity(at: i64) -> f64 {
    let turn = std::f64::consts::TAU * at.rem_euclid(DAY) as f64 / DAY as f64;
    let hours = |h: f64| std::f64::consts::TAU * h / 24.0;
    let day = 0.66 * libm::cos(turn - hours(12.5));
    let twice = 0.28 * libm::cos(2.0 * (turn - hours(9.0)));
    (1.0 + day + twice).max(0.1)
}

/// The next time somebody comes by who does so every `gap` milliseconds on average.
pub(in crate::sim) fn next(dice: &mut Dice, after: i64, gap: f64) -> i64 {
    let mut at = after as f64;
    loop {
        at += dice.exponential(gap / PEAK).max(1.0);
        if dice.chance(activity(at as i64) / PEAK) {
            return at as i64;
        }
    }
}

/// A person's pause around `median` seconds: log-normal, at least 0.6 s, at most ten minutes.
pub(in crate::sim) fn pause(dice: &mut Dice, median: f64) -> i64 {
    ((dice.lognormal(median, 0.9) * 1000.0) as i64).clamp(600, 10 * MINUTE)
}

#[cfg(test)]
mod tests {
    use super::super::super::dice::Stream;
    use super::super::HOUR;
    use super::*;

    /// Posts by hour of the day, in shares of the mean, read off the public set at four hours.
    #[test]
    fn the_day_has_the_measured_shape() {
        for (hour, share) in [(1, 0.12), (10, 1.49), (13, 1.33), (16, 1.45), (22, 0.34)] {
            let told = activity(hour * HOUR + 30 * MINUTE);
            assert!((told - share).abs() < 0.32, "{hour}: {told} for {share}");
        }
        let mean = (0..24).map(|h| activity(h * HOUR)).sum::<f64>() / 24.0;
        assert!((0.97..1.05).contains(&mean), "{mean}");
        assert!((0..24).all(|h| activity(h * HOUR) <= PEAK));
    }

    #[test]
    fn people_come_as_often_as_they_do() {
        let mut dice = Dice::new(1, Stream::Ordinary);
        let (mut at, mut visits) = (0, 0);
        while at < 100 * DAY {
            at = next(&mut dice, at, 3.0 * HOUR as f64);
            visits += 1;
        }
        assert!((740..860).contains(&visits), "800 in a hundred days, not {visits}");
    }
}
