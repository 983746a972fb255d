//! Limits by their definition: a list of what was recorded, or the level of a bucket.

use super::calendar::Calendar;
use super::range::{Range, agreed};
use super::series::{Entry, Series};
use crate::engine::limit::{Algorithm, LimitSpec, Max};

/// What was recorded for one key of one limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Quota {
    series: Series,
    /// Least and most level of a bucket at its newest time, in events times milliseconds.
    level: (i128, i128),
    /// The largest maximum it ever had: a log keeps no more times than that.
    largest: u64,
}

/// What a limit says of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Whether it refuses; `None` where that depends on what the engine can still tell apart.
    pub(super) refused: Option<bool>,
    /// What counts before the event.
    pub(super) used: Range,
    /// The maximum.
    pub(super) max: u64,
    /// How long to wait, milliseconds; `None` when no wait helps.
    pub(super) wait: Option<Range>,
    /// Whether it is too old to be judged; `None` where that may be said or not.
    pub(super) backlog: Option<bool>,
}

/// The time at which an event is judged.
#[derive(Clone, Copy)]
struct When {
    at: i64,
    /// It is older than the grace allows, and judged at its own time.
    late: bool,
}

impl Quota {
    /// What a limit says of an event at `at` that weighs `cost`.
    pub(super) fn check(&self, spec: &LimitSpec, at: i64, cost: u64) -> Reading {
        let window = spec.algorithm.window().millis();
        let Max::AtMost(max) = spec.max else { return Reading::allowed(0) };
        let max = max.max(0).unsigned_abs();
        if max == 0 {
            let wait = Some(Range::whole(window));
            return Reading { refused: Some(true), used: Range::exact(0.0), max, wait, backlog: Some(false) };
        }
        let when = self.when(spec, at);
        let backlog = self.backlog(spec, when);
        if backlog == Some(true) {
            return Reading { backlog, ..Reading::allowed(max) };
        }
        let used = self.used(spec, when, max);
        if cost > max {
            return Reading {
                refused: if backlog.is_none() { None } else { Some(true) },
                used,
                max,
                wait: None,
                backlog,
            };
        }
        let over = |used: f64| used + cost as f64 > max as f64;
        let refused = agreed(over(used.lo), over(used.hi)).filter(|refused| !refused || backlog.is_some());
        let wait = (refused != Some(false)).then(|| self.wait(spec, when, max, max - cost));
        Reading { refused, used, max, wait, backlog }
    }

    /// Counts an event at `at` that weighs `cost`.
    pub(super) fn record(&mut self, spec: &LimitSpec, at: i64, cost: u64, sure: bool) {
        let Max::AtMost(max) = spec.max else { return };
        if cost == 0 {
            return;
        }
        let max = max.max(0).unsigned_abs();
        self.largest = self.largest.max(max);
        let when = self.when(spec, at);
        let backlog = self.backlog(spec, when);
        if backlog == Some(true) {
            return;
        }
        let sure = sure && backlog.is_some();
        let n = match spec.algorithm {
            Algorithm::SlidingLog { .. } => cost.min(self.largest),
            _ => cost.min(u64::from(u32::MAX)),
        };
        if let Some((scale, rate)) = bucket(spec, max) {
            self.fill(i128::from(max) * scale, scale, rate, when.at, cost, sure);
        }
        self.roughen(spec, when.at, n);
        self.series.add(Entry { at: when.at, n: i64::try_from(n).unwrap_or(i64::MAX), of: 0, sure });
    }

    /// A limit never goes back in time: within the grace an event counts at the key's newest time.
    fn when(&self, spec: &LimitSpec, at: i64) -> When {
        match self.series.newest() {
            Some(newest) if at < newest && newest - at <= spec.grace.millis() => {
                When { at: newest, late: false }
            }
            Some(newest) if at < newest => When { at, late: true },
            _ => When { at, late: false },
        }
    }

    /// Whether the window at a late time is not held as a whole any more.
    fn backlog(&self, spec: &LimitSpec, when: When) -> Option<bool> {
        let newest = self.series.newest().filter(|_| when.late);
        let Some(newest) = newest else { return Some(false) };
        match &spec.algorithm {
            Algorithm::SlidingLog { window } => {
                self.unheld(window.millis(), (when.at, newest), self.largest as f64)
            }
            Algorithm::SlidingWindow { window, .. } => {
                let most = if self.series.coarse { -1.0 } else { f64::INFINITY };
                self.unheld(window.millis(), (when.at, newest), most)
            }
            // A level has no history.
            Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket { .. } => Some(true),
            Algorithm::Calendar { window, zone } => {
                let calendar = Calendar::new(zone, window.millis());
                Some(calendar.window_of(when.at) < calendar.window_of(newest))
            }
        }
    }

    /// Of a key the newest window is held, and up to `most` times of it. A late event's own window is held when nothing
    /// was dropped from it; where something was dropped not long before, that need not be known any more.
    fn unheld(&self, window: i64, (at, newest): (i64, i64), most: f64) -> Option<bool> {
        let first = |entries: &[Entry]| entries.iter().find(|entry| entry.sure).map(|entry| entry.at);
        let held = self.series.between(newest - window, newest);
        let dropped = self.series.between(at - window, newest - window);
        let before = self.series.between(newest - 2 * window, newest - window);
        if at <= newest - window || first(dropped).is_some() || held.first().is_none_or(|first| first.at > at)
        {
            return Some(true);
        }
        let full = self.series.sum(newest - window, newest).hi > most;
        let sure = before.is_empty() && !full && first(held).is_some_and(|first| first <= at);
        sure.then_some(false)
    }

    fn used(&self, spec: &LimitSpec, when: When, max: u64) -> Range {
        let window = spec.algorithm.window().millis();
        match &spec.algorithm {
            Algorithm::SlidingLog { .. } => {
                let most = self.largest.max(max) as f64;
                let all = self.series.sum(when.at - window, when.at);
                Range { lo: all.lo.min(most), hi: all.hi.min(most) }
            }
            Algorithm::SlidingWindow { slots, .. } if self.series.coarse => {
                let slot = sub_window(window, *slots);
                self.series.sum_about(when.at - window, when.at, 2 * slot, slot)
            }
            Algorithm::SlidingWindow { .. } => self.series.sum(when.at - window, when.at),
            Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket { .. } => {
                let (scale, rate) = bucket(spec, max).expect("it is a bucket");
                let events = |level: i128| {
                    self.drained(level, rate, when.at).div_euclid(scale)
                        + i128::from(self.drained(level, rate, when.at).rem_euclid(scale) > 0)
                };
                Range { lo: events(self.level.0) as f64, hi: events(self.level.1) as f64 }
            }
            Algorithm::Calendar { zone, .. } => {
                let calendar = Calendar::new(zone, window);
                let now = calendar.window_of(when.at);
                let (from, to) = (when.at - window - 2 * DAY, when.at + window + 2 * DAY);
                let inside = self.series.between(from, to).iter();
                let inside = inside.filter(|entry| calendar.window_of(entry.at) == now);
                inside.fold(Range::exact(0.0), |sum, entry| {
                    sum.plus(Range { lo: if entry.sure { entry.n as f64 } else { 0.0 }, hi: entry.n as f64 })
                })
            }
        }
    }

    /// How long until at most `room` counts, if nothing else happens.
    fn wait(&self, spec: &LimitSpec, when: When, max: u64, room: u64) -> Range {
        let window = spec.algorithm.window().millis();
        let range = match &spec.algorithm {
            Algorithm::SlidingLog { .. } => self.leave(when.at, window, room),
            Algorithm::SlidingWindow { slots, .. } => {
                let exact = self.leave(when.at, window, room);
                let slack = if self.series.coarse { 2 * sub_window(window, *slots) } else { 0 };
                Range { lo: exact.lo, hi: self.leave(when.at, window + slack, room).hi.max(exact.hi) }
            }
            Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket { .. } => {
                let (scale, rate) = bucket(spec, max).expect("it is a bucket");
                let wait = |level: i128| {
                    let over = (self.drained(level, rate, when.at) - i128::from(room) * scale).max(0);
                    (over + rate - 1).div_euclid(rate)
                };
                Range { lo: wait(self.level.0) as f64, hi: wait(self.level.1) as f64 }
            }
            Algorithm::Calendar { zone, .. } => {
                Range::whole(Calendar::new(zone, window).end(when.at) - when.at)
            }
        };
        let lo = range.lo.max(1.0);
        Range { lo, hi: range.hi.max(lo) }
    }

    /// How long until all but `room` of what lies in the window have left it.
    fn leave(&self, now: i64, window: i64, room: u64) -> Range {
        let entries = self.series.between(now - window, now);
        let wait = |unsure: bool| {
            let counted: Vec<&Entry> = entries.iter().filter(|entry| entry.sure || unsure).collect();
            let mut left: i64 = counted.iter().map(|entry| entry.n).sum();
            let mut wait = 0;
            for entry in counted {
                if left <= i64::try_from(room).unwrap_or(i64::MAX) {
                    break;
                }
                left -= entry.n;
                wait = entry.at + window - now;
            }
            wait as f64
        };
        Range { lo: wait(false), hi: wait(true) }
    }

    /// A level at `now`, which is not before the newest time.
    fn drained(&self, level: i128, rate: i128, now: i64) -> i128 {
        let since = self.series.newest().map_or(0, |newest| now - newest);
        (level - rate * i128::from(since)).max(0)
    }

    fn fill(&mut self, full: i128, scale: i128, rate: i128, now: i64, cost: u64, sure: bool) {
        let pour = |level: i128| (level + i128::from(cost) * scale).min(full.max(level));
        let (lo, hi) = (self.drained(self.level.0, rate, now), self.drained(self.level.1, rate, now));
        self.level = (if sure { pour(lo) } else { lo }, pour(hi));
    }

    /// Notes whether a sliding window holds more than is surely counted exactly.
    fn roughen(&mut self, spec: &LimitSpec, at: i64, n: u64) {
        let Algorithm::SlidingWindow { window, slots } = spec.algorithm else { return };
        let (window, slot) = (window.millis(), sub_window(window.millis(), slots));
        roughen(&mut self.series, at, n, window, slot, u64::from(slots) / 2);
    }
}

impl Reading {
    fn allowed(max: u64) -> Self {
        Self { refused: Some(false), used: Range::exact(0.0), max, wait: None, backlog: Some(false) }
    }
}

const DAY: i64 = 86_400_000;

/// A series becomes coarse when it would hold more than `most`, and exact again when all has left.
pub(super) fn roughen(series: &mut Series, at: i64, n: u64, held: i64, slot: i64, most: u64) {
    if series.newest().is_none_or(|newest| at - newest > held + 3 * slot) {
        series.coarse = false;
    }
    let now = series.newest().unwrap_or(at).max(at);
    let inside = series.sum(now - held, now).hi;
    series.coarse |= inside + n as f64 > most as f64;
}

/// The length of a sub-window: their number is made even.
pub(super) fn sub_window(window: i64, slots: u32) -> i64 {
    let slots = i64::from(slots.clamp(2, 100).next_multiple_of(2));
    (window + slots - 1) / slots
}

/// Units of one event, and units that drain in a millisecond.
fn bucket(spec: &LimitSpec, max: u64) -> Option<(i128, i128)> {
    match spec.algorithm {
        Algorithm::TokenBucket { refill, per } => Some((i128::from(per.millis()), i128::from(refill))),
        Algorithm::LeakyBucket { window } => Some((i128::from(window.millis()), i128::from(max))),
        _ => None,
    }
}
