//! What one event tells of its actor that is worth comparing among many: age, time of registration, device, address.
//!
//! Values are kept as small numbers and short hashes. What the event did not say is zero, *unknown*: it is no bin of its
//! own and speaks neither for nor against anybody.

use crate::engine::event::{Event, Value};
use crate::engine::key::HashSeed;
use crate::engine::time::{Span, Timestamp};

/// The most device attributes that are compared.
pub(crate) const ATTRIBUTES_MAX: usize = 16;
/// Bins of [`Traits::age`], unknown included.
pub(crate) const AGES: usize = 8;
/// Bins of [`Traits::neighbours`], unknown included.
pub(crate) const NEIGHBOURS: usize = 5;
/// The bin of those who are alone on their address.
pub(crate) const ALONE: usize = 1;

/// Accounts behind one address that are counted, of a crowd and of ordinary actors: whom one exit brings together (a school,
/// a campus, a company) are one bunch, not so many people who have something in common by chance.
pub(crate) const COUNTED_BEHIND: u32 = 4;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// Where the bins of age end, milliseconds.
const AGE_ENDS: [i64; AGES - 2] = [HOUR, DAY, 7 * DAY, 30 * DAY, 180 * DAY, 730 * DAY];
/// Where the bins of people behind an address end.
const NEIGHBOUR_ENDS: [i64; NEIGHBOURS - 2] = [2, 4, 10];
/// Accounts younger than this are told apart by the hour of their registration, older ones by the day.
const YOUNG: i64 = 30 * DAY;
/// Marks a registration hour, so that no hour has the number of a day.
const HOURLY: u32 = 1 << 31;

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Hash of the user.
    pub(crate) user: u64,
    /// When the event counted.
    pub(crate) at: Timestamp,
    /// Bin of the account's age.
    pub(crate) age: u8,
    /// Bin of the people seen behind the address.
    pub(crate) neighbours: u8,
    /// Nothing says that the account cannot belong to a bought crowd: it is not paying, not trusted. Accounts that are
    /// settled are bought, too.
    pub(crate) can_join: bool,
    /// Hour or day of registration.
    pub(crate) cohort: u32,
    /// Short hash of the address.
    pub(crate) address: u32,
    /// Short hashes of device attributes and, last, of nickname and avatar where the policy compares them.
    pub(crate) device: [u16; ATTRIBUTES_MAX],
}

impl Traits {
    /// Whether the account is younger than a week.
    pub(crate) fn is_young(&self) -> bool {
        (1..=3).contains(&self.age)
    }
}

/// The bin of an account's age.
pub(crate) fn age_bin(age: Span) -> u8 {
    1 + AGE_ENDS.iter().filter(|end| age.millis() >= **end).count() as u8
}

/// The bin of so many people behind an address, the actor included.
pub(crate) fn neighbours_bin(people: i64) -> u8 {
    1 + NEIGHBOUR_ENDS.iter().filter(|end| people >= **end).count() as u8
}

/// The cohort of an account that was registered at `created`, at `at`; never 0.
pub(crate) fn cohort(created: Timestamp, at: Timestamp) -> u32 {
    let number = |unit: i64| created.millis().div_euclid(unit).clamp(1, i64::from(HOURLY) - 1) as u32;
    if at.since(created).millis() < YOUNG { number(HOUR) | HOURLY } else { number(DAY) }
}

/// Short hashes of the attributes of these names; 0 for those that the event does not have.
pub(crate) fn device(names: &[String], event: &Event<'_>, seed: HashSeed) -> [u16; ATTRIBUTES_MAX] {
    let attributes = &event.device.attributes;
    let mut hashes = [0; ATTRIBUTES_MAX];
    // Producers tell them in the same order mostly: each is looked for behind the last one found.
    let mut from = 0;
    for (hash, name) in hashes.iter_mut().zip(names) {
        let place = (from..attributes.len()).chain(0..from).find(|place| attributes[*place].0 == *name);
        if let Some(place) = place {
            *hash = short(&attributes[place].1, seed);
            from = place + 1;
        }
    }
    hashes
}

/// 16 bits of a value, never 0. A keyed hash, though a fast one: who finds two values that share it makes his devices
/// look more alike, not less.
pub(super) fn short(value: &Value<'_>, seed: HashSeed) -> u16 {
    match value {
        Value::Text(text) => short_of(text.as_bytes(), seed),
        Value::Bool(b) => short_of(&[1, u8::from(*b)], seed),
        Value::Int(i) => short_of(&i.to_le_bytes(), seed),
        Value::Double(d) => short_of(&d.to_bits().to_le_bytes(), seed),
    }
}

/// The same of the bytes of a text.
pub(super) fn short_of(bytes: &[u8], seed: HashSeed) -> u16 {
    let hash = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed.0);
    ((hash >> 48) as u16).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: HashSeed = HashSeed(3, 4);

    #[test]
    fn bins_begin_where_they_should() {
        let ages = [0, HOUR - 1, HOUR, DAY, 7 * DAY - 1, 7 * DAY, 30 * DAY, 180 * DAY, 730 * DAY, i64::MAX];
        assert_eq!(ages.map(|age| age_bin(Span::from_millis(age))), [1, 1, 2, 3, 3, 4, 5, 6, 7, 7]);
        assert_eq!([1, 2, 3, 4, 9, 10, 5000].map(neighbours_bin), [1, 2, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn young_accounts_go_by_the_hour_and_old_ones_by_the_day() {
        let at = Timestamp::from_millis(2_000 * DAY);
        let cohort = |age: i64| cohort(Timestamp::from_millis(2_000 * DAY - age), at);
        assert_ne!(cohort(HOUR), cohort(2 * HOUR));
        assert_eq!(cohort(90 * DAY), cohort(90 * DAY - HOUR));
        assert_eq!(cohort(90 * DAY), 1_910);
        assert_ne!(cohort(i64::MAX), 0);
    }

    #[test]
    fn attributes_are_found_in_any_order() {
        let names: Vec<String> = ["os", "gpu", "touch"].map(String::from).into();
        let text = |text: &'static str| Value::Text(text.into());
        let mut event = Event::default();
        event.device.attributes =
            vec![("os".into(), text("linux")), ("touch".into(), Value::Int(0)), ("gpu".into(), text("x"))];
        let told = device(&names, &event, SEED);
        event.device.attributes.reverse();
        assert_eq!(device(&names, &event, SEED), told);
        assert!(told[..3].iter().all(|hash| *hash != 0) && told[3..].iter().all(|hash| *hash == 0));
        event.device.attributes.pop();
        assert_eq!(device(&names, &event, SEED)[0], 0);
    }
}
