//! What is remembered of a user, a device or an address beside its windows: typed views over a record's words.
//!
//! Zeroed words are a profile never seen before. Times are milliseconds in two words; 0 is "not set", which no event
//! time is.

use super::time::{Span, Timestamp};

/// Words that user and device profiles share: first seen, penalty, standing verdict.
pub const DEVICE_WORDS: usize = 8;
/// Words of a user profile.
pub const USER_WORDS: usize = 12;
/// Words of an address profile before its window of settled accounts.
pub const ADDRESS_WORDS: usize = 2;

const FIRST_SEEN: usize = 0;
const PENALTY: usize = 2;
const PENALTY_AT: usize = 3;
const STANDING_UNTIL: usize = 5;
const STANDING_STEP: usize = 7;
const CREATED_AT: usize = 8;
/// The last day in the lower half, days of activity in the upper.
const DAYS: usize = 10;
/// A short hash of the familiar device; the day it was last seen is above the step that stands.
const FAMILIAR: usize = 11;
const STEP_BITS: u32 = 8;
/// A device that was not seen for so many days is no longer the familiar one.
const FAMILIAR_DAYS: u32 = 7;

const DAY_MILLIS: i64 = 86_400_000;

/// When the profile's owner was first seen here, if ever.
pub fn first_seen(words: &[u32]) -> Option<Timestamp> {
    time(words, FIRST_SEEN)
}

/// Notes a sighting: the earliest one stays.
pub fn see(words: &mut [u32], at: Timestamp) {
    if first_seen(words).is_none_or(|first| at < first) {
        set_time(words, FIRST_SEEN, Some(at));
    }
}

/// The registration time that was last told.
pub fn created_at(words: &[u32]) -> Option<Timestamp> {
    time(words, CREATED_AT)
}

/// Notes the registration time.
pub fn set_created_at(words: &mut [u32], created: Timestamp) {
    set_time(words, CREATED_AT, Some(created));
}

/// Distinct UTC days on which the user was seen here, in order of arrival: a late event of an older day adds none.
pub fn active_days(words: &[u32]) -> u32 {
    words[DAYS] >> 16
}

/// Notes activity on the day of `at`.
pub fn see_day(words: &mut [u32], at: Timestamp) {
    let (day, last, days) = (day_of(at), words[DAYS] & 0xffff, words[DAYS] >> 16);
    if day > last {
        words[DAYS] = day | (days + 1).min(0xffff) << 16;
    }
}

/// Notes a sighting of a user with a device (its short hash, if it told one), and tells whether that is his familiar one:
/// the first he was seen with, or, once that one was gone for a week, the next. A user without any is on familiar ground.
pub fn see_device(words: &mut [u32], device: Option<u32>, at: Timestamp) -> bool {
    let (known, since) = (words[FAMILIAR], words[STANDING_STEP] >> STEP_BITS);
    let Some(device) = device else { return known == 0 };
    let (device, day) = (device.max(1), day_of(at));
    if known != 0 && known != device && day < since + FAMILIAR_DAYS {
        return false;
    }
    words[FAMILIAR] = device;
    let day = if known == device { day.max(since) } else { day };
    words[STANDING_STEP] = step(words) as u32 | day << STEP_BITS;
    true
}

fn day_of(at: Timestamp) -> u32 {
    at.millis().div_euclid(DAY_MILLIS).clamp(0, 0xffff) as u32
}

/// Penalty points at `at`, halved every `half_life`.
pub fn penalty(words: &[u32], at: Timestamp, half_life: Span) -> f32 {
    let points = f32::from_bits(words[PENALTY]);
    match time(words, PENALTY_AT) {
        Some(since) if points > 0.0 => {
            points * libm::exp2f(-(at.since(since).millis() as f32) / half_life_ms(half_life))
        }
        _ => 0.0,
    }
}

/// Adds penalty points and returns the points before and after. An older event than the newest penalty adds at its
/// time: points never grow by going back.
pub fn add_penalty(words: &mut [u32], at: Timestamp, half_life: Span, points: f32) -> (f32, f32) {
    let at = time(words, PENALTY_AT).map_or(at, |newest| newest.max(at));
    let before = penalty(words, at, half_life);
    let after = before + points;
    words[PENALTY] = after.to_bits();
    set_time(words, PENALTY_AT, Some(at));
    (before, after)
}

/// The penalty step that stands at `at`, and until when.
pub fn standing(words: &[u32], at: Timestamp) -> Option<(usize, Timestamp)> {
    let until = time(words, STANDING_UNTIL)?;
    (at < until).then(|| (step(words), until))
}

/// Sets the penalty step that stands until `until`.
pub fn set_standing(words: &mut [u32], step: usize, until: Timestamp) {
    let step = step.min((1 << STEP_BITS) - 1) as u32;
    words[STANDING_STEP] = words[STANDING_STEP] >> STEP_BITS << STEP_BITS | step;
    set_time(words, STANDING_UNTIL, Some(until));
}

/// Forgets penalty points and what stands because of them.
pub fn pardon(words: &mut [u32]) {
    words[PENALTY] = 0;
    set_time(words, PENALTY_AT, None);
    set_time(words, STANDING_UNTIL, None);
    words[STANDING_STEP] = words[STANDING_STEP] >> STEP_BITS << STEP_BITS;
}

fn step(words: &[u32]) -> usize {
    (words[STANDING_STEP] & ((1 << STEP_BITS) - 1)) as usize
}

fn half_life_ms(half_life: Span) -> f32 {
    half_life.millis().max(1) as f32
}

fn time(words: &[u32], index: usize) -> Option<Timestamp> {
    let millis = u64::from(words[index]) | (u64::from(words[index + 1]) << 32);
    (millis != 0).then(|| Timestamp::from_millis(millis.cast_signed()))
}

fn set_time(words: &mut [u32], index: usize, at: Option<Timestamp>) {
    let millis = at.map_or(0, |at| at.millis().cast_unsigned());
    words[index] = millis as u32;
    words[index + 1] = (millis >> 32) as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + secs * 1000)
    }

    #[test]
    fn penalty_points_halve_every_half_life() {
        let mut words = [0; USER_WORDS];
        let hour = Span::from_secs(3600);
        assert_eq!(penalty(&words, at(0), hour), 0.0);
        assert_eq!(add_penalty(&mut words, at(0), hour, 4.0), (0.0, 4.0));
        assert_eq!(penalty(&words, at(3600), hour), 2.0);
        assert_eq!(penalty(&words, at(7200), hour), 1.0);
        assert_eq!(add_penalty(&mut words, at(3600), hour, 1.0), (2.0, 3.0));
        assert_eq!(add_penalty(&mut words, at(0), hour, 1.0), (3.0, 4.0));
        pardon(&mut words);
        assert_eq!(penalty(&words, at(3600), hour), 0.0);
    }

    #[test]
    fn a_standing_verdict_ends_at_its_end() {
        let mut words = [0; DEVICE_WORDS];
        assert_eq!(standing(&words, at(0)), None);
        set_standing(&mut words, 2, at(60));
        assert_eq!(standing(&words, at(59)), Some((2, at(60))));
        assert_eq!(standing(&words, at(60)), None);
    }

    #[test]
    fn first_sighting_registration_and_days_are_kept() {
        let mut words = [0; USER_WORDS];
        see(&mut words, at(10));
        see(&mut words, at(5));
        see(&mut words, at(20));
        assert_eq!(first_seen(&words), Some(at(5)));
        assert_eq!(created_at(&words), None);
        set_created_at(&mut words, at(-86_400));
        assert_eq!(created_at(&words), Some(at(-86_400)));
        for day in [0, 0, 1, 0, 2] {
            see_day(&mut words, at(day * 86_400));
        }
        assert_eq!(active_days(&words), 3);
    }

    #[test]
    fn the_first_device_is_familiar_until_it_is_gone_for_a_week() {
        let mut words = [0; USER_WORDS];
        let day = |n: i64| at(n * 86_400);
        assert!(see_device(&mut words, None, day(0)));
        assert!(see_device(&mut words, Some(5), day(0)));
        set_standing(&mut words, 2, day(30));
        assert!(!see_device(&mut words, Some(6), day(1)) && !see_device(&mut words, None, day(1)));
        assert!(see_device(&mut words, Some(5), day(3)));
        assert!(!see_device(&mut words, Some(6), day(9)));
        assert!(see_device(&mut words, Some(6), day(10)) && !see_device(&mut words, Some(5), day(10)));
        assert_eq!(standing(&words, day(10)), Some((2, day(30))));
        pardon(&mut words);
        assert!(see_device(&mut words, Some(6), day(11)));
    }
}
