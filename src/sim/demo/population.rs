//! Who there is: accounts with their age, plan, devices and lines, honest ones and those that a campaign bought.
//!
//! What is measured and what is chosen:
//! - *Age.* Of ordinary follows on Twitter 21 % come from accounts younger than seven days (measured on public
//!   follower lists in follow order). Here 8 % of the active accounts are that young, two in five of them from one
//!   sign-up wave three days ago; some register just now; and newcomers follow about three times as often as others,
//!   which gives about that share. Older ages are log-normal around 500 days.
//! - *Lines.* Chosen: homes with one IPv4 address or one /64, shared by one to four people; carriers with thousands
//!   behind one IPv4 address; companies and a campus with hundreds; schools where pupils take turns at computers with
//!   one image. Real busy exits look like that: their commonest device has a share of 0.21 to 0.37 (TalkingData clicks).
//! - *Devices.* One in four has two; in one home of ten somebody borrows another's.
//!
//! The order of accounts says nothing: ids are scattered.

use super::super::device::{Device, Maker};
use super::super::dice::{Dice, Weights, scatter};
use super::super::event::Truth;
use super::address::{Line, Registry};

/// Days in milliseconds.
pub(super) const DAY: i64 = 86_400_000;
const HOUR: i64 = 3_600_000;
/// Younger than this counts as new.
pub(super) const NEW: i64 = 7 * DAY;

/// One account.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its id.
    pub id: String,
    /// When it was registered, milliseconds since the Unix epoch.
    pub created_at: i64,
    /// Its plan: `free`, `pro` or `business`.
    pub plan: &'static str,
    /// What it is in truth.
    pub truth: Truth,
    pub(super) access: Access,
    pub(super) second: Option<Access>,
}

/// A device on a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) device: u32,
    pub(super) line: Line,
}

/// All accounts and devices. Its device numbers are indices.
pub(super) struct Population {
    pub(super) accounts: Vec<Account>,
    pub(super) devices: Vec<Device>,
    pub(super) maker: Maker,
    pub(super) lines: Registry,
    start: i64,
    length: i64,
}

/// Share of the honest accounts by their way in, in thousandths.
const HOMES_V4: u32 = 380;
const HOMES_V6: u32 = 220;
const CARRIER_V4: u32 = 240;
const CARRIER_V6: u32 = 80;
const COMPANIES: u32 = 45;
const CAMPUS: u32 = 25;
/// The rest are schools: 10 thousandths.
const CARRIER_EXITS: u32 = 3;
const COMPANY_EXITS: u32 = 8;
const SCHOOL_EXITS: u32 = 3;
/// Pupils who take turns at one computer.
const PUPILS_A_COMPUTER: usize = 3;

impl Population {
    /// Honest accounts, `n` of them, that are active in the `length` from `start` on.
    pub(super) fn honest(n: u32, (start, length): (i64, i64), dice: &mut Dice) -> Self {
        let (accounts, devices) = (Vec::new(), Vec::new());
        let mut all =
            Self { accounts, devices, maker: Maker::new(), lines: Registry::default(), start, length };
        let share = |thousandths: u32| (u64::from(n) * u64::from(thousandths) / 1000) as u32;
        all.homes(share(HOMES_V4), Registry::v4, dice);
        all.homes(share(HOMES_V6), Registry::v6, dice);
        all.exits(share(CARRIER_V4), CARRIER_EXITS, dice);
        for _ in 0..share(CARRIER_V6) {
            let line = all.lines.v6();
            all.single(line, dice);
        }
        all.exits(share(COMPANIES), COMPANY_EXITS, dice);
        all.exits(share(CAMPUS), 1, dice);
        all.schools(n.saturating_sub(all.accounts.len() as u32), dice);
        all
    }

    /// Homes until they hold `n` accounts. One to four people each: shares after the household sizes of a
    /// European country (two in five live alone).
    fn homes(&mut self, n: u32, line: fn(&mut Registry) -> Line, dice: &mut Dice) {
        let sizes = Weights::new([400, 330, 150, 120]);
        let mut left = n;
        while left > 0 {
            let size = (dice.index(&sizes) as u32 + 1).min(left);
            let line = line(&mut self.lines);
            for person in 0..size {
                match self.accounts.last().map(|a| a.access) {
                    Some(access) if person > 0 && dice.chance(0.1) => self.add(access, dice),
                    _ => self.single(line, dice),
                }
            }
            left -= size;
        }
    }

    /// `n` accounts behind `exits` IPv4 addresses, each with a device of its own.
    fn exits(&mut self, n: u32, exits: u32, dice: &mut Dice) {
        let lines: Vec<_> = (0..exits).map(|_| self.lines.v4()).collect();
        for _ in 0..n {
            let line = *dice.pick(&lines);
            self.single(line, dice);
        }
    }

    /// `n` pupils at computers with one image a school, one exit a school.
    fn schools(&mut self, n: u32, dice: &mut Dice) {
        let numbers: Vec<_> = (0..n).collect();
        for class in numbers.chunks((n / SCHOOL_EXITS).max(1) as usize) {
            let line = self.lines.v4();
            let locale = self.maker.locale(dice);
            let image = self.maker.desktop(dice, locale);
            for computer in class.chunks(PUPILS_A_COMPUTER) {
                let device = self.maker.copy(dice, &image);
                let access = self.own(device, line);
                computer.iter().for_each(|_| self.add(access, dice));
            }
        }
    }

    /// An account with its own device on this line.
    fn single(&mut self, line: Line, dice: &mut Dice) {
        let locale = self.maker.locale(dice);
        let device = self.maker.any(dice, locale);
        let access = self.own(device, line);
        self.add(access, dice);
        if dice.chance(0.25) {
            let device = self.maker.any(dice, locale);
            let second = self.own(device, line);
            if let Some(account) = self.accounts.last_mut() {
                account.second = Some(second);
            }
        }
    }

    /// Takes a device in.
    pub(super) fn own(&mut self, device: Device, line: Line) -> Access {
        self.devices.push(device);
        Access { device: (self.devices.len() - 1) as u32, line }
    }

    fn add(&mut self, access: Access, dice: &mut Dice) {
        let created_at = self.start - self.honest_age(dice);
        let young = self.start - created_at < NEW;
        let plan = match dice.below(1000) {
            0..90 if !young => "pro",
            90..120 if !young => "business",
            _ => "free",
        };
        self.push(access, created_at, plan, Truth::Honest);
    }

    /// Adds an account; its number is an index.
    pub(super) fn push(&mut self, access: Access, created_at: i64, plan: &'static str, truth: Truth) -> u32 {
        let number = self.accounts.len() as u32;
        let id = format!("u{:08}", scatter(u64::from(number) + 1, 26));
        self.accounts.push(Account { id, created_at, plan, truth, access, second: None });
        number
    }

    /// Age of an honest account at the start, in milliseconds; negative when it registers only later.
    fn honest_age(&self, dice: &mut Dice) -> i64 {
        match dice.unit() {
            ..0.003 => -dice.below_i64(self.length),
            ..0.035 => 3 * DAY + dice.below_i64(12 * HOUR),
            ..0.08 => dice.below_i64(NEW),
            _ => (dice.lognormal(500.0, 1.2).clamp(7.0, 4_400.0) * DAY as f64) as i64,
        }
    }

    pub(super) fn is_new(&self, account: u32) -> bool {
        self.start - self.accounts[account as usize].created_at < NEW
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::dice::Stream;
    use super::*;
    use std::collections::BTreeMap;

    const START: i64 = 1_750_000_000_000;

    fn some(n: u32) -> Population {
        Population::honest(n, (START, 900_000), &mut Dice::new(3, Stream::Population))
    }

    #[test]
    fn it_has_the_asked_size_and_shares_of_newcomers() {
        let all = some(20_000);
        assert_eq!(all.accounts.len(), 20_000);
        let new = (0..20_000).filter(|n| all.is_new(*n)).count();
        assert!((1500..1700).contains(&new), "8 % are new, not {new}");
        let mut ids: Vec<_> = all.accounts.iter().map(|a| &a.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 20_000);
        assert!(all.accounts.iter().all(|a| a.created_at < START + 900_000 && a.truth == Truth::Honest));
        let registering = all.accounts.iter().filter(|a| a.created_at > START).count();
        assert!((35..90).contains(&registering), "0.3 % register meanwhile, not {registering}");
    }

    #[test]
    fn exits_are_shared_as_real_ones_are() {
        let all = some(26_000);
        let mut behind: BTreeMap<Line, u32> = BTreeMap::new();
        for account in &all.accounts {
            *behind.entry(account.access.line).or_default() += 1;
        }
        let mut sizes: Vec<_> = behind.into_values().collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        assert!(sizes[..3].iter().all(|n| (1900..2300).contains(n)), "carriers {:?}", &sizes[..3]);
        assert_eq!(sizes[3], 650, "the campus");
        assert!(sizes[4..12].iter().all(|n| (100..200).contains(n)), "companies {:?}", &sizes[4..12]);
        assert!(sizes[12..15].iter().all(|n| (80..95).contains(n)), "schools {:?}", &sizes[12..15]);
        assert!(sizes[15] <= 4, "homes");
    }
}
