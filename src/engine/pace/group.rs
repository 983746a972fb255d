//! The baseline of one action.

use super::histogram::{BINS, bin, quantile};
use super::{Noted, PaceSpec};

const HOUR: i64 = 3_600_000;
const HOURS_OF_WEEK: i64 = 168;
/// In so long, what was learnt counts half.
const HALF_LIFE: f64 = 24.0 * HOUR as f64;
/// What is usual grows so much in an hour, at the most (`log2` of 1.2).
const GROWTH: f64 = 0.263_034_405_833_793_8;
/// The same hour of the week is no more than so many times what is usual of late.
const HOUR_MOST: f64 = 2.0;
/// So many times as many keys as usual at once are an attack, or an accident.
const RUSH: f64 = 10.0;
/// Frozen for more than this share of the last time (a day at a stretch, or half of each day), the baseline thaws.
const THAWS_ABOVE: f64 = 0.5;
/// What is usual then grows in a day as much as otherwise in an hour.
const THAWING: f64 = GROWTH / 24.0;
/// A window says how things stand for so long at the most, milliseconds: silence is no attack.
const SPEAKS_FOR: f64 = HOUR as f64;
/// Keys beyond the threshold that say nothing of a share.
const FEW: u32 = 3;

/// See the module.
#[derive(Debug)]
pub(super) struct Group {
    /// The present window.
    pub(super) window: i64,
    /// How many keys have come to which count in it.
    pub(super) open: Vec<u32>,
    pub(super) keys: u32,
    /// Keys beyond the threshold.
    pub(super) beyond: u32,
    /// Windows that were learnt, the older the less.
    pub(super) learnt: Vec<f64>,
    pub(super) weight: f64,
    /// Keys in a window.
    pub(super) usual_keys: f64,
    /// What is usual of late, once enough was learnt.
    pub(super) level: Option<f64>,
    /// What the counts of the present window are held against.
    pub(super) threshold: Option<f64>,
    /// The last window looked like an attack.
    pub(super) is_frozen: bool,
    /// For which share of the last time windows did, the older the less.
    pub(super) frozen: f64,
    /// The hours of the week.
    pub(super) hours: Vec<Option<Hour>>,
}

/// One hour of the week, over the weeks; counts half as much with each week.
#[derive(Debug)]
pub(super) struct Hour {
    pub(super) week: i64,
    pub(super) counts: Vec<u32>,
}

impl Group {
    pub(super) fn new(window: i64) -> Self {
        Self {
            window,
            open: vec![0; BINS],
            keys: 0,
            beyond: 0,
            learnt: vec![0.0; BINS],
            weight: 0.0,
            usual_keys: 0.0,
            level: None,
            threshold: None,
            is_frozen: false,
            frozen: 0.0,
            hours: (0..HOURS_OF_WEEK).map(|_| None).collect(),
        }
    }

    /// Counts an event of a key in window `number`, or in the present one when that is newer.
    pub(super) fn note(&mut self, spec: &PaceSpec, cell: &mut [u32], number: i64) -> Noted {
        if number > self.window {
            self.turn(spec, number);
        }
        // Windows that have the same low bits lie further apart than a cell is kept.
        let tag = self.window as u32;
        let before = if cell[0] == tag { cell[1] } else { 0 };
        let count = before.saturating_add(1);
        (cell[0], cell[1]) = (tag, count);
        if before == 0 {
            self.keys = self.keys.saturating_add(1);
        } else {
            // What was counted in a cell that came from elsewhere may not be here.
            let place = &mut self.open[bin(before)];
            *place = place.saturating_sub(1);
        }
        let place = &mut self.open[bin(count)];
        *place = place.saturating_add(1);
        let Some(threshold) = self.threshold else { return Noted { pace: None, is_frozen: self.is_frozen } };
        if f64::from(before) <= threshold && f64::from(count) > threshold {
            self.beyond += 1;
        }
        Noted { pace: Some(f64::from(count) / threshold), is_frozen: self.is_frozen }
    }

    /// The present window is over.
    fn turn(&mut self, spec: &PaceSpec, number: i64) {
        let passed = (number - self.window) as f64 * spec.window.millis() as f64;
        let kept = libm::exp2(-passed / HALF_LIFE);
        self.is_frozen = self.is_attacked(spec);
        self.frozen *= kept;
        if self.is_frozen {
            self.frozen += 1.0 - libm::exp2(-passed.min(SPEAKS_FOR) / HALF_LIFE);
        }
        if self.keys > 0 && (!self.is_frozen || self.thaws()) {
            self.learn(spec);
        }
        self.learnt.iter_mut().for_each(|count| *count *= kept);
        self.weight *= kept;
        self.open.fill(0);
        (self.keys, self.beyond, self.window) = (0, 0, number);
        self.level = self.grown(spec, passed);
        self.threshold = self.usual(spec).map(|usual| (usual * spec.times).max(spec.least));
    }

    fn thaws(&self) -> bool {
        self.frozen > THAWS_ABOVE
    }

    fn is_attacked(&self, spec: &PaceSpec) -> bool {
        let share = f64::from(self.beyond) / f64::from(self.keys.max(1));
        let beyond = self.threshold.is_some() && self.beyond > FEW && share > spec.freeze_above;
        beyond
            || (self.level.is_some() && f64::from(self.keys) > RUSH * self.usual_keys.max(spec.keys / RUSH))
    }

    /// Adds the window to what is known; what lies beyond the threshold as the threshold. Of one that looks like an attack
    /// only those within it, unless they are the fewer: an attack on all keys is a change of what is usual.
    fn learn(&mut self, spec: &PaceSpec) {
        let most = self.threshold.map_or(BINS - 1, |threshold| bin(threshold as u32));
        let within = self.is_frozen && self.threshold.is_some() && self.beyond <= self.keys / 2;
        let bins = if within { most + 1 } else { BINS };
        let hours = self.window * spec.window.millis() / HOUR;
        let week = hours.div_euclid(HOURS_OF_WEEK);
        let place = &mut self.hours[hours.rem_euclid(HOURS_OF_WEEK) as usize];
        let hour = place.get_or_insert_with(|| Hour { week, counts: vec![0; BINS] });
        if hour.week < week {
            hour.counts.iter_mut().for_each(|count| *count >>= 1);
            hour.week = week;
        }
        let mut keys = 0.0;
        for (number, count) in self.open[..bins].iter().enumerate().filter(|(_, count)| **count > 0) {
            keys += f64::from(*count);
            let number = number.min(most);
            self.learnt[number] += f64::from(*count);
            hour.counts[number] = hour.counts[number].saturating_add(*count);
        }
        self.weight += keys;
        self.usual_keys += if self.usual_keys == 0.0 { keys } else { (keys - self.usual_keys) / 16.0 };
    }

    /// What is usual of late: the last value while too little is known.
    fn grown(&self, spec: &PaceSpec, passed: f64) -> Option<f64> {
        if self.weight < spec.keys {
            return self.level;
        }
        let now = quantile(self.learnt.iter().copied(), spec.quantile)?;
        let growth = if self.is_frozen { THAWING } else { GROWTH };
        let most = self.level.map(|level| level * libm::exp2(growth * passed / HOUR as f64));
        Some(most.map_or(now, |most| now.min(most)))
    }

    /// What is usual in the present window.
    fn usual(&self, spec: &PaceSpec) -> Option<f64> {
        let level = self.level?;
        let hours = self.window * spec.window.millis() / HOUR;
        let hour = self.hours[hours.rem_euclid(HOURS_OF_WEEK) as usize].as_ref();
        let counts = hour.map(|hour| hour.counts.iter().map(|count| f64::from(*count)));
        let counts = counts.filter(|counts| counts.clone().sum::<f64>() >= spec.keys);
        let of_hour = counts.and_then(|counts| quantile(counts, spec.quantile));
        // What was learnt while it thawed is no more than it has grown to.
        let most = if self.thaws() { level } else { level * HOUR_MOST };
        Some(of_hour.map_or(level, |usual| usual.min(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::time::Span;

    const SPEC: PaceSpec = PaceSpec {
        window: Span::from_secs(60),
        quantile: 0.99,
        times: 2.0,
        least: 3.0,
        keys: 200.0,
        freeze_above: 0.02,
    };

    /// One window in which each key does so much.
    fn window(group: &mut Group, number: i64, counts: impl Iterator<Item = u32>) -> Vec<Option<f64>> {
        let key = |count| {
            let mut cell = [0; PaceSpec::WORDS];
            (0..count).map(|_| group.note(&SPEC, &mut cell, number).pace).last().flatten()
        };
        counts.map(key).collect()
    }

    fn learnt(windows: i64) -> Group {
        let mut group = Group::new(0);
        (0..windows).for_each(|number| drop(window(&mut group, number, std::iter::repeat_n(5, 100))));
        group
    }

    #[test]
    fn nothing_is_said_until_enough_keys_were_learnt_from() {
        let mut group = Group::new(0);
        for number in 0..2 {
            assert!(window(&mut group, number, std::iter::repeat_n(5, 100)).iter().all(Option::is_none));
        }
        // After three windows of 100, less what has decayed, 200 are known.
        assert!(window(&mut group, 2, [5].into_iter())[0].is_none());
        window(&mut group, 2, std::iter::repeat_n(5, 100));
        assert_eq!(window(&mut group, 3, [5, 50].into_iter()), [Some(0.5), Some(5.0)]);
    }

    #[test]
    fn a_window_in_which_many_are_beyond_the_threshold_is_not_learnt_from() {
        let mut group = learnt(5);
        let mut attacked = |number| {
            let counts = std::iter::repeat_n(5, 100).chain(std::iter::repeat_n(50, 30));
            window(&mut group, number, counts).last().copied().flatten()
        };
        let paces: Vec<Option<f64>> = (5..55).map(&mut attacked).collect();
        assert!(paces.iter().all(|pace| *pace == Some(5.0)), "{paces:?}");
        assert!(group.is_frozen);
        // A few are learnt as the threshold: a hundredth of all does not move it.
        for number in 55..105 {
            let counts = std::iter::repeat_n(5, 300).chain([50, 50]);
            let paces = window(&mut group, number, counts);
            assert_eq!(paces.last(), Some(&Some(5.0)));
        }
        assert!(!group.is_frozen);
    }

    #[test]
    fn what_is_usual_grows_by_a_fifth_an_hour_at_the_most() {
        let mut group = learnt(5);
        let first = group.level.expect("learnt");
        // Everybody stays below the threshold, and so does not look like an attack.
        for number in 5..125 {
            let count = group.threshold.map_or(5, |threshold| threshold as u32);
            window(&mut group, number, std::iter::repeat_n(count, 100));
        }
        let grown = group.level.expect("learnt") / first;
        assert!((1.2..=1.2 * 1.2 * 1.01).contains(&grown), "{grown} in two hours");
    }

    #[test]
    fn ten_times_as_many_as_usual_at_once_are_not_learnt_from() {
        let mut group = learnt(5);
        window(&mut group, 5, std::iter::repeat_n(9, 2_500));
        window(&mut group, 6, std::iter::repeat_n(5, 100));
        assert!(group.is_frozen);
    }

    const TEN_MINUTES: i64 = 10;
    const DAY: i64 = 24 * 60;

    /// The threshold after each of so many days, of which a window in ten is seen.
    fn days(group: &mut Group, from: i64, days: i64, counts: impl Fn(i64) -> Vec<u32>) -> Vec<Option<f64>> {
        let mut day = |day: i64| {
            for minute in (0..DAY).step_by(TEN_MINUTES as usize) {
                window(group, from + day * DAY + minute, counts(minute).into_iter());
            }
            group.threshold
        };
        (0..days).map(&mut day).collect()
    }

    #[test]
    fn an_attack_that_never_ends_is_never_usual_and_honest_habits_are_followed_meanwhile() {
        let mut group = learnt(5);
        let attacked = |honest: u32| move |_| [vec![honest; 100], vec![50; 30]].concat();
        let thresholds = days(&mut group, 5, 20, attacked(5));
        assert_eq!(thresholds, [Some(10.0); 20]);
        // From 5 to 8, of which 30 attackers are no part: within days, by a fifth a day at the most.
        let thresholds = days(&mut group, 5 + 20 * DAY, 6, attacked(8));
        assert_eq!((thresholds[0].map(|most| most <= 12.1), thresholds[5]), (Some(true), Some(16.0)));
        assert!(group.is_frozen, "and it is said all the while");
    }

    #[test]
    fn what_lasts_and_is_done_by_most_becomes_usual_after_a_day_by_a_fifth_a_day() {
        let mut group = learnt(5);
        let thresholds = days(&mut group, 5, 5, |_| vec![15; 100]);
        let held = thresholds[0].expect("known");
        assert!(held < 10.1, "{held} after a day: it might be an attack");
        // 10 * 1.2^n passes 15 with the third day of thawing; then nobody is beyond it.
        assert!(thresholds[2].is_some_and(|threshold| threshold < 15.0), "{thresholds:?}");
        assert_eq!((thresholds[4], group.is_frozen), (Some(30.0), false), "{thresholds:?}");
    }

    #[test]
    fn an_attack_of_less_than_half_of_each_day_teaches_nothing() {
        let mut group = learnt(5);
        let each_night = |minute: i64| vec![if minute < 11 * 60 { 50 } else { 5 }; 100];
        assert_eq!(days(&mut group, 5, 12, each_night), [Some(10.0); 12]);
    }

    #[test]
    fn ten_times_as_many_keys_are_usual_once_they_have_lasted() {
        let mut group = learnt(5);
        let thresholds = days(&mut group, 5, 2, |_| vec![5; 1_100]);
        assert_eq!((thresholds, group.is_frozen), (vec![Some(10.0); 2], false));
    }

    /// Noon of one day of the week is three times as busy as the rest of it: that is usual then, up to twice the rest.
    #[test]
    fn the_same_hour_of_the_week_counts_where_it_is_known() {
        let mut group = Group::new(0);
        for hour in 0..2 * HOURS_OF_WEEK {
            let count = if hour % HOURS_OF_WEEK == 12 { 9 } else { 5 };
            for minute in [0, 20, 40] {
                window(&mut group, hour * 60 + minute, std::iter::repeat_n(count, 100));
            }
        }
        let at = |group: &mut Group, hour: i64| {
            window(group, (2 * HOURS_OF_WEEK + hour) * 60 + 20, [5].into_iter());
            group.threshold
        };
        assert_eq!(
            (at(&mut group, 11), at(&mut group, 12), at(&mut group, 14)),
            (Some(10.0), Some(18.0), Some(10.0))
        );
    }
}
