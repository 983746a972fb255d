//! Ordinary actors, by a sample: what the traits of a crowd are held against.
//!
//! A ring of rows, one a user, that spans an hour or so and thus moves with the time of day and with every wave of
//! registrations. Who is taken is decided by a keyed hash, which nobody outside can aim at. No minute and no target fills
//! more than a small part of it, no address more than a few rows, so that what floods in within minutes does not become what is usual; and nobody is taken
//! against whom his crowd speaks, or who is known to have been brought in.

use std::collections::{HashMap, HashSet};

use super::traits::{AGES, ATTRIBUTES_MAX, COUNTED_BEHIND, NEIGHBOURS, Traits};
use crate::engine::key::Prehashed;
use crate::engine::time::Timestamp;

/// Rows.
const ROWS: usize = 1024;
/// Rows of one target: a part of all.
const TARGET_PART: usize = 16;
/// Rows of one slot of time, and how long a slot is, milliseconds.
const SLOT_ROWS: u32 = 16;
const SLOT: i64 = 60_000;
/// With fewer rows than these every slot and every address may have as many as come.
const FEW: usize = ROWS / 2;
/// One in so many users is taken, at the most sparing.
const STRIDE_MAX: u64 = 4096;
/// A user is drawn anew in each period of this length, milliseconds.
const PERIOD: i64 = 600_000;
/// Counts of attribute values: two values may share one, which makes both look more usual.
const VALUES: usize = 4096;

/// Ordinary actors of one action.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// With the target's short hash each.
    pub(super) rows: Vec<(Traits, u32)>,
    pub(super) next: usize,
    pub(super) stride: u64,
    /// Rows of the slot that is under way, those that had no room included, and since when.
    pub(super) pace: (u32, Timestamp),
    counts: Counts,
}

/// Counts by short hash, or by cohort.
type Short = HashMap<u32, u32, Prehashed>;

/// What follows from the rows.
#[derive(Clone, Debug)]
struct Counts {
    users: HashSet<u64, Prehashed>,
    targets: Short,
    addresses: Short,
    cohorts: Short,
    /// Accounts of any cohort.
    of_cohorts: u32,
    ages: [u32; AGES],
    /// Of young accounts, and of others.
    neighbours: [[u32; NEIGHBOURS]; 2],
    /// By attribute and value.
    values: Box<[u16]>,
    known: [u32; ATTRIBUTES_MAX],
}

impl Sample {
    /// Bytes it may take.
    pub(crate) const BYTES: u64 =
        (ROWS * (size_of::<(Traits, u32)>() + 120) + ATTRIBUTES_MAX * VALUES * 2) as u64;

    pub(crate) fn new() -> Self {
        Self::of(Vec::new(), 0, 1, (0, Timestamp::default()))
    }

    fn of(rows: Vec<(Traits, u32)>, next: usize, stride: u64, pace: (u32, Timestamp)) -> Self {
        let mut counts = Counts::new();
        rows.iter().for_each(|row| counts.add(row));
        Self { rows, next, stride, pace, counts }
    }

    /// A sample that goes on from these rows; `None` when no sample could have them.
    pub(super) fn restored(
        rows: Vec<(Traits, u32)>,
        next: usize,
        stride: u64,
        pace: (u32, Timestamp),
    ) -> Option<Self> {
        let bins = |(traits, _): &(Traits, u32)| {
            usize::from(traits.age) < AGES && usize::from(traits.neighbours) < NEIGHBOURS
        };
        let fits = rows.len() <= ROWS && next < ROWS && stride > 0 && rows.iter().all(bins);
        fits.then(|| Self::of(rows, next, stride, pace))
    }

    /// Takes an ordinary actor, if he is drawn and `is_ordinary`. `target` is the hash of what he acted on.
    pub(crate) fn note(&mut self, traits: &Traits, target: u64, is_ordinary: impl Fn() -> bool) {
        if !self.is_drawn(traits) || self.counts.users.contains(&traits.user) || !is_ordinary() {
            return;
        }
        let row = (*traits, (target >> 32) as u32);
        let of_target = self.counts.targets.get(&row.1).copied().unwrap_or(0);
        let behind = self.counts.addresses.get(&traits.address).copied().unwrap_or(0);
        let is_full = of_target as usize >= (self.rows.len() / TARGET_PART).max(8)
            || (behind >= COUNTED_BEHIND && self.rows.len() >= FEW);
        if is_full || !self.has_slot(traits.at) {
            return;
        }
        if self.rows.len() < ROWS {
            self.rows.push(row);
        } else {
            self.counts.remove(&self.rows[self.next]);
            self.rows[self.next] = row;
            self.next = (self.next + 1) % ROWS;
        }
        self.counts.add(&row);
    }

    fn is_drawn(&self, traits: &Traits) -> bool {
        let period = traits.at.millis().div_euclid(PERIOD).cast_unsigned();
        let mixed =
            (traits.user ^ period.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 40).is_multiple_of(self.stride)
    }

    /// Whether the slot has room for one more row. At its end, users are drawn more sparingly when it had too little, and
    /// less so when it had too much.
    fn has_slot(&mut self, at: Timestamp) -> bool {
        let passed = at.since(self.pace.1).millis() / SLOT;
        if passed > 0 {
            match self.pace.0 {
                0..SLOT_ROWS => self.stride = (self.stride >> passed.min(12)).max(1),
                rows if rows > 2 * SLOT_ROWS => self.stride = (self.stride * 2).min(STRIDE_MAX),
                _ => {}
            }
            self.pace = (0, at);
        }
        self.pace.0 = self.pace.0.saturating_add(1);
        self.pace.0 <= SLOT_ROWS || self.rows.len() < FEW
    }

    /// From when on it tells who acts.
    pub(crate) fn since(&self) -> Timestamp {
        self.rows.iter().map(|(traits, _)| traits.at).min().unwrap_or_default()
    }

    /// Accounts by bin of age, unknown included.
    pub(crate) fn ages(&self) -> &[u32; AGES] {
        &self.counts.ages
    }

    /// Accounts by bin of people behind their address, unknown included; of young accounts or of the others. Whoever is new
    /// here comes from an address that is, too.
    pub(crate) fn neighbours(&self, young: bool) -> &[u32; NEIGHBOURS] {
        &self.counts.neighbours[usize::from(young)]
    }

    /// Accounts of a cohort.
    pub(crate) fn cohort(&self, cohort: u32) -> u32 {
        self.counts.cohorts.get(&cohort).copied().unwrap_or(0)
    }

    /// Accounts of any cohort.
    pub(crate) fn cohorts(&self) -> u32 {
        self.counts.of_cohorts
    }

    /// The usual share of a value of a device attribute, among the accounts of which it is known; never 0.
    pub(crate) fn share(&self, attribute: usize, value: u16) -> f64 {
        let count = self.counts.values[attribute * VALUES + usize::from(value) % VALUES];
        (f64::from(count) + 0.5) / (f64::from(self.counts.known[attribute]) + 1.0)
    }

    /// Who is in it.
    pub(crate) fn users(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|(traits, _)| traits.user)
    }

    /// Devices of all rows.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &[u16; ATTRIBUTES_MAX]> {
        self.rows.iter().map(|(traits, _)| &traits.device)
    }
}

impl Counts {
    fn new() -> Self {
        Self {
            users: HashSet::default(),
            targets: Short::default(),
            addresses: Short::default(),
            cohorts: Short::default(),
            of_cohorts: 0,
            ages: [0; AGES],
            neighbours: [[0; NEIGHBOURS]; 2],
            values: vec![0; ATTRIBUTES_MAX * VALUES].into(),
            known: [0; ATTRIBUTES_MAX],
        }
    }

    fn add(&mut self, (traits, target): &(Traits, u32)) {
        self.users.insert(traits.user);
        *self.targets.entry(*target).or_default() += 1;
        if traits.address != 0 {
            *self.addresses.entry(traits.address).or_default() += 1;
        }
        if traits.cohort != 0 {
            *self.cohorts.entry(traits.cohort).or_default() += 1;
            self.of_cohorts += 1;
        }
        self.ages[usize::from(traits.age)] += 1;
        self.neighbours[usize::from(traits.is_young())][usize::from(traits.neighbours)] += 1;
        for (attribute, value) in traits.device.iter().enumerate().filter(|(_, value)| **value != 0) {
            self.values[attribute * VALUES + usize::from(*value) % VALUES] += 1;
            self.known[attribute] += 1;
        }
    }

    fn remove(&mut self, (traits, target): &(Traits, u32)) {
        self.users.remove(&traits.user);
        take(&mut self.targets, *target);
        take(&mut self.addresses, traits.address);
        self.of_cohorts -= u32::from(take(&mut self.cohorts, traits.cohort));
        self.ages[usize::from(traits.age)] -= 1;
        self.neighbours[usize::from(traits.is_young())][usize::from(traits.neighbours)] -= 1;
        for (attribute, value) in traits.device.iter().enumerate().filter(|(_, value)| **value != 0) {
            self.values[attribute * VALUES + usize::from(*value) % VALUES] -= 1;
            self.known[attribute] -= 1;
        }
    }
}

/// Takes one of a value away; false when there was none.
fn take(counts: &mut Short, key: u32) -> bool {
    let Some(count) = counts.get_mut(&key) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(&key);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(user: u64, secs: i64) -> Traits {
        let mut device = [0; ATTRIBUTES_MAX];
        device[0] = 1 + (user % 4) as u16;
        Traits {
            user: user.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            at: Timestamp::from_millis(1_750_000_000_000 + secs * 1000),
            age: 1 + (user % 7) as u8,
            neighbours: 1,
            can_join: true,
            cohort: (user % 50) as u32,
            address: 0,
            device,
        }
    }

    #[test]
    fn counts_are_those_of_the_rows_however_often_they_went_round() {
        let mut sample = Sample::new();
        for user in 0..30_000 {
            sample.note(&traits(user, user as i64), user << 32, || true);
        }
        assert_eq!(sample.rows.len(), ROWS);
        let again = Sample::of(sample.rows.clone(), sample.next, sample.stride, sample.pace);
        assert_eq!(again.counts.users.len(), ROWS);
        assert_eq!((again.ages(), again.cohorts()), (sample.ages(), sample.cohorts()));
        assert_eq!(again.counts.values, sample.counts.values);
        let oldest = sample.rows.iter().map(|(row, _)| row.at).min().expect("rows");
        let span = traits(29_999, 29_999).at.since(oldest).millis() / 60_000;
        assert!((10..120).contains(&span), "the ring spans {span} minutes");
        assert!((sample.share(0, 1) - 0.25).abs() < 0.05);
    }

    #[test]
    fn one_target_is_a_sixteenth_at_most() {
        let mut sample = Sample::new();
        for user in 0..20_000 {
            let target = if user % 10 == 0 { user << 32 } else { 7 << 32 };
            sample.note(&traits(user, user as i64 / 4), target, || true);
        }
        let of_seven = sample.rows.iter().filter(|(_, target)| *target == 7).count();
        assert!(of_seven <= sample.rows.len() / TARGET_PART + 8, "{of_seven} of {}", sample.rows.len());
    }

    /// An hour of one act a second, then ten minutes of a hundred a second by others.
    #[test]
    fn what_floods_in_within_minutes_is_not_what_is_usual() {
        let mut sample = Sample::new();
        for user in 0..3600 {
            sample.note(&traits(user, user as i64), user << 32, || true);
        }
        let before = sample.rows.len();
        for n in 0..60_000u64 {
            let flood = Traits { age: 1, ..traits(10_000 + n, 3600 + n as i64 / 100) };
            sample.note(&flood, n << 32, || true);
        }
        let of_flood = sample.rows.iter().filter(|(row, _)| row.at >= traits(0, 3600).at).count();
        assert!(before > FEW && of_flood <= 11 * SLOT_ROWS as usize, "{of_flood} of {}", sample.rows.len());
    }

    #[test]
    fn nobody_is_taken_who_is_not_ordinary() {
        let mut sample = Sample::new();
        (0..500).for_each(|user| sample.note(&traits(user, user as i64), user << 32, || user % 2 == 0));
        assert!(!sample.rows.is_empty());
        assert!(sample.rows.iter().all(|(row, _)| row.cohort.is_multiple_of(2)));
    }

    #[test]
    fn one_exit_is_a_few_rows_however_many_are_behind_it() {
        let mut sample = Sample::new();
        for user in 0..40_000 {
            let address = if user % 2 == 0 { 9 } else { 100 + user as u32 };
            sample.note(&Traits { address, ..traits(user, user as i64) }, user << 32, || true);
        }
        let behind = sample.rows.iter().filter(|(row, _)| row.address == 9).count();
        assert_eq!((behind, sample.rows.len()), (COUNTED_BEHIND as usize, ROWS));
    }

    #[test]
    fn nobody_is_in_it_twice() {
        let mut sample = Sample::new();
        (0..5000).for_each(|n| sample.note(&traits(n % 300, n as i64), n << 32, || true));
        assert_eq!(sample.rows.len(), sample.counts.users.len());
        assert!(sample.rows.len() <= 300);
    }
}
