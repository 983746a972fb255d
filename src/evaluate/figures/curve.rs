//! Curves over the score: what a threshold of so many points would catch, and whom it would hurt.
//!
//! The score alone: floors of rules, limits and bans are not in it. An account counts with the highest score of its
//! events.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::evaluate::book::{Account, Events};
use crate::evaluate::label::Kind;

/// The curve of one unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// One point for each score that occurs, ascending.
    pub points: Vec<Point>,
    /// The chance that an attack has a higher score than an honest one, ties halved; `None` unless there are both.
    pub area_under_roc: Option<f64>,
}

/// What acting from this score on means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The threshold, in points.
    pub threshold: i32,
    /// Attacks at or above it.
    pub true_positives: u64,
    /// Honest ones at or above it.
    pub false_positives: u64,
    /// Attacks among all at or above it.
    pub precision: f64,
    /// Of the attacks; 0 when there are none.
    pub recall: f64,
    /// Of the honest; 0 when there are none.
    pub false_positive_rate: f64,
}

/// Honest and attacks, by score.
#[derive(Clone, Debug, Default)]
struct Histogram(BTreeMap<i32, [u64; 2]>);

/// The curve over accounts.
pub(super) fn of_accounts<'a>(accounts: impl Iterator<Item = &'a Account>) -> Curve {
    let mut histogram = Histogram::default();
    for account in accounts.filter(|account| account.is_user) {
        if let Some(score) = account.judged().top {
            histogram.add(score, account.kind());
        }
    }
    histogram.curve()
}

/// The curve over events, each with its last score.
pub(super) fn of_events(events: &Events) -> Curve {
    let mut histogram = Histogram::default();
    for word in events.iter() {
        histogram.add(i32::from(word.score), word.label.kind);
    }
    histogram.curve()
}

impl Histogram {
    fn add(&mut self, score: i32, kind: Kind) {
        self.0.entry(score).or_default()[kind as usize] += 1;
    }

    fn curve(&self) -> Curve {
        let total = |kind| self.0.values().map(|counts| counts[kind as usize]).sum::<u64>();
        let (honest, attacks) = (total(Kind::Honest), total(Kind::Attack));
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        let (mut caught, mut hurt, mut points) = (0, 0, Vec::new());
        for (threshold, counts) in self.0.iter().rev() {
            caught += counts[Kind::Attack as usize];
            hurt += counts[Kind::Honest as usize];
            points.push(Point {
                threshold: *threshold,
                true_positives: caught,
                false_positives: hurt,
                precision: share(caught, caught + hurt),
                recall: share(caught, attacks),
                false_positive_rate: share(hurt, honest),
            });
        }
        points.reverse();
        Curve { points, area_under_roc: self.area(honest, attacks) }
    }

    /// Mann and Whitney's count of pairs in the right order.
    fn area(&self, honest: u64, attacks: u64) -> Option<f64> {
        let (mut below, mut right) = (0.0, 0.0);
        for counts in self.0.values() {
            let [here, attacking] = counts.map(|count| count as f64);
            right += attacking * (below + here / 2.0);
            below += here;
        }
        (honest > 0 && attacks > 0).then(|| right / (honest as f64 * attacks as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Honest at -10, -10, 0; attacks at 0, 20. Of six pairs five are right and one is a tie: 5.5 of 6.
    #[test]
    fn a_curve_by_hand() {
        let mut histogram = Histogram::default();
        for (score, kind) in [
            (-10, Kind::Honest),
            (-10, Kind::Honest),
            (0, Kind::Honest),
            (0, Kind::Attack),
            (20, Kind::Attack),
        ] {
            histogram.add(score, kind);
        }
        let curve = histogram.curve();
        assert!((curve.area_under_roc.expect("there are both") - 5.5 / 6.0).abs() < 1e-12);
        let told: Vec<_> =
            curve.points.iter().map(|p| (p.threshold, p.true_positives, p.false_positives)).collect();
        assert_eq!(told, [(-10, 2, 3), (0, 2, 1), (20, 1, 0)]);
        let middle = curve.points[1];
        assert!((middle.precision - 2.0 / 3.0).abs() < 1e-12 && (middle.recall - 1.0).abs() < 1e-12);
        assert!((middle.false_positive_rate - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn without_attacks_there_is_no_area() {
        let mut histogram = Histogram::default();
        histogram.add(1, Kind::Honest);
        assert_eq!(histogram.curve().area_under_roc, None);
        assert_eq!(Histogram::default().curve(), Curve::default());
    }
}
