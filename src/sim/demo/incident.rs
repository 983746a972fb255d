//! The founding incident: a bought crowd puts 40,000 likes on one ordinary article in ten minutes.
//!
//! 3,000 accounts, registered in bulk in the week before, one proxy exit each, copies of one device image with one or
//! two attributes changed, about 20 likes each of which 13.3 go to the article and the others hide them on popular
//! ones, at most ten likes a minute from any address. Each account works for three to ten of the ten minutes at pauses
//! like a person's. No limit by account or address sees anything; the crowd does not look like a crowd of people.

use super::super::dice::Dice;
use super::super::event::{Action, Truth};
use super::content::{Catalogue, PUSHED};
use super::plan::Plan;
use super::population::{DAY, NEW, Population};

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;

/// The size of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Accounts that take part.
    pub accounts: u32,
    /// Likes on the article, all together.
    pub likes: u32,
    /// Likes on other articles, all together.
    pub camouflage: u32,
    /// Most likes from one address in any 60 s.
    pub likes_a_minute: usize,
    /// From the start of the simulation to the first likes, milliseconds.
    pub from_ms: i64,
    /// How long it lasts, milliseconds.
    pub for_ms: i64,
}

impl Incident {
    /// The incident at full size: from minute 3, for ten minutes.
    pub const FULL: Incident = Incident {
        accounts: 3_000,
        likes: 40_000,
        camouflage: 20_000,
        likes_a_minute: 10,
        from_ms: 3 * MINUTE,
        for_ms: 10 * MINUTE,
    };

    /// Registers the accounts as campaign `campaign`; returns the number of the first.
    pub(super) fn recruit(
        &self,
        population: &mut Population,
        start: i64,
        campaign: u32,
        dice: &mut Dice,
    ) -> u32 {
        let first = population.accounts.len() as u32;
        let locale = population.maker.locale(dice);
        let image = population.maker.desktop(dice, locale);
        let batches: Vec<i64> = (0..40).map(|_| dice.below_i64(NEW - 2 * DAY)).collect();
        for _ in 0..self.accounts {
            let changes = dice.between(1, 2);
            let device = population.maker.near_copy(dice, &image, changes);
            let line = population.lines.v4();
            let access = population.own(device, line);
            let age = DAY + *dice.pick(&batches) + dice.below_i64(20 * MINUTE);
            population.push(access, start - age, "free", Truth::Attacker { campaign });
        }
        first
    }

    /// Plans the likes of the accounts from number `first` on.
    pub(super) fn plan(
        &self,
        plan: &mut Plan,
        population: &Population,
        content: &Catalogue,
        (start, first): (i64, u32),
        dice: &mut Dice,
    ) {
        let pushed = quotas(self.likes, self.accounts, dice);
        let hiding = quotas(self.camouflage, self.accounts, dice);
        for (n, account) in (first..first + self.accounts).enumerate() {
            let session = plan.session(account, population.accounts[account as usize].access, dice);
            let mut targets: Vec<u32> = vec![PUSHED; pushed[n] as usize];
            targets.extend((0..hiding[n]).map(|_| content.other(dice)));
            shuffle(&mut targets, dice);
            let times = self.times(targets.len(), dice);
            for (target, at) in targets.into_iter().zip(times) {
                plan.add(session, start + self.from_ms + at, Action::Like, Some(target));
            }
        }
    }

    /// `n` moments from 0 to the incident's end, ascending, at a person's pauses and within the pace.
    fn times(&self, n: usize, dice: &mut Dice) -> Vec<i64> {
        let needed = (n / self.likes_a_minute.max(1) + 1) as i64 * MINUTE;
        let shortest = (self.for_ms * 3 / 10).max(needed).min(self.for_ms);
        let length = shortest + dice.below_i64(self.for_ms - shortest + 1);
        let begin = dice.below_i64(self.for_ms - length + 1);
        let gaps: Vec<f64> = (0..=n).map(|_| dice.lognormal(1.0, 0.7)).collect();
        let unit = (length - SECOND).max(1) as f64 / gaps.iter().sum::<f64>();
        let mut at = begin as f64;
        let mut times: Vec<i64> = gaps[..n]
            .iter()
            .map(|gap| {
                at += gap * unit;
                at as i64
            })
            .collect();
        self.pace(&mut times);
        times
    }

    /// Delays what is too early after the like `likes_a_minute` before it.
    fn pace(&self, times: &mut [i64]) {
        for i in self.likes_a_minute..times.len() {
            let earliest = times[i - self.likes_a_minute] + MINUTE + 1;
            times[i] = times[i].max(earliest).max(times[i - 1]);
        }
    }
}

/// `total` shared out among `n`, equally but for a few moved from one to another.
fn quotas(total: u32, n: u32, dice: &mut Dice) -> Vec<u32> {
    if n == 0 {
        return Vec::new();
    }
    let mut shares: Vec<u32> = (0..n).map(|i| total / n + u32::from(i < total % n)).collect();
    for _ in 0..n.saturating_mul(2) {
        let (from, to) = (dice.below(n) as usize, dice.below(n) as usize);
        if shares[from] > total / n / 2 && shares[to] < total / n * 3 / 2 {
            shares[from] -= 1;
            shares[to] += 1;
        }
    }
    shares
}

fn shuffle(items: &mut [u32], dice: &mut Dice) {
    for i in (1..items.len()).rev() {
        items.swap(i, dice.below(i as u32 + 1) as usize);
    }
}
