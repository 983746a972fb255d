//! How many accounts are active in a day, about: HyperLogLog (Flajolet et al. 2007) over 1,024 registers, standard error
//! 3.3 %. The day before counts until today has more.

use crate::engine::cut::{Damaged, Reader, Saved, Writer};
use crate::engine::time::Timestamp;

const BITS: u32 = 10;
const REGISTERS: usize = 1 << BITS;
const DAY: i64 = 86_400_000;

#[derive(Debug)]
pub(super) struct Active {
    day: i64,
    registers: Box<[u8]>,
    /// Of the day before.
    before: f64,
}

impl Default for Active {
    fn default() -> Self {
        Self { day: 0, registers: vec![0; REGISTERS].into(), before: 0.0 }
    }
}

impl Active {
    /// Notes an account by its hash. What comes late counts to the present day.
    pub(super) fn see(&mut self, hash: u64, at: Timestamp) {
        let day = at.millis().div_euclid(DAY);
        if day > self.day {
            self.before = if day == self.day + 1 { self.today() } else { 0.0 };
            self.day = day;
            self.registers.fill(0);
        }
        let rank = ((hash << BITS) | (1 << (BITS - 1))).leading_zeros() as u8 + 1;
        let register = &mut self.registers[(hash >> (64 - BITS)) as usize];
        *register = (*register).max(rank);
    }

    /// Accounts of today, or of the day before when those were more.
    pub(super) fn count(&self) -> f64 {
        self.today().max(self.before)
    }

    fn today(&self) -> f64 {
        let m = REGISTERS as f64;
        let empty = self.registers.iter().filter(|rank| **rank == 0).count();
        let sum: f64 = self.registers.iter().map(|rank| libm::exp2(-f64::from(*rank))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        if raw <= 2.5 * m && empty > 0 { m * libm::log(m / empty as f64) } else { raw }
    }
}

impl Saved for Active {
    fn save(&self, to: &mut Writer) {
        self.day.save(to);
        self.registers.save(to);
        self.before.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let active =
            Self { day: Saved::load(from)?, registers: Saved::load(from)?, before: Saved::load(from)? };
        if active.registers.len() == REGISTERS { Ok(active) } else { Err(Damaged) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::key::HashSeed;

    fn day(active: &mut Active, day: i64, accounts: u32) {
        for account in 0..accounts {
            let hash = HashSeed(1, 2).bytes(&account.to_le_bytes());
            active.see(hash, Timestamp::from_millis(day * DAY + i64::from(account)));
        }
    }

    #[test]
    fn accounts_are_counted_once_a_day_and_those_of_the_day_before_hold_until_there_are_more() {
        let mut active = Active::default();
        for accounts in [100, 5_000, 50_000] {
            let mut fresh = Active::default();
            day(&mut fresh, 7, accounts);
            day(&mut fresh, 7, accounts);
            let off = fresh.count() / f64::from(accounts) - 1.0;
            assert!(off.abs() < 0.1, "{accounts}: {off}");
        }
        day(&mut active, 7, 20_000);
        day(&mut active, 8, 10);
        assert!((18_000.0..22_000.0).contains(&active.count()), "{}", active.count());
        day(&mut active, 9, 10);
        assert!(active.count() < 20.0, "{}", active.count());
    }
}
