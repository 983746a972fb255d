//! The founding incident: a bought crowd puts 40,000 likes on one ordinary article in ten minutes.
//!
//! 3,000 accounts, registered in bulk in the week before, one exit each, copies of one device with one or two
//! attributes changed, about 20 likes each of which 13.3 go to the article and the others hide them, at most ten likes
//! a minute from any address. Each account works for three to ten of the ten minutes at pauses like a person's. A
//! minute after the first likes honest people see the article too, because it has become visible.

use super::super::act::outbox::Object;
use super::super::act::worker::Task;
use super::super::dice::Dice;
use super::super::event::Action;
use super::super::world::articles::Trend;
use super::super::world::names::Habit;
use super::super::world::{HOUR, MINUTE, SECOND};
use super::recruit::{Age, Exit, Kit, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "the incident: 3,000 new accounts put 40,000 likes on one article in ten minutes";

const ACCOUNTS: u32 = 3_000;
const LIKES: u32 = 40_000;
const HIDING: u32 = 20_000;
const LENGTH: i64 = 10 * MINUTE;
const A_MINUTE: usize = 10;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 16.0, 3 * HOUR);
    let start = setting.moment(0.55) + setting.dice.below_i64(20 * MINUTE);
    let article = setting.ordinary(start, 5);
    setting.trend(visible(article, start + MINUTE));
    let truth = setting.gang("echo", Object::Article(article));
    let order = Order {
        age: Age::Bulk { batches: 40, oldest: 6.8, youngest: 0.5 },
        kit: Kit::Copies { least: 1, most: 2 },
        exit: Exit::Each,
        names: Habit::Bulk,
        used: 0.0,
    };
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &order);
    let pushed = quotas(setting.sized(LIKES), n, &mut setting.dice);
    let hiding = quotas(setting.sized(HIDING), n, &mut setting.dice);
    for (at, account) in accounts.enumerate() {
        let (articles, dice) = setting.articles_and_dice();
        let mut targets = vec![article; pushed[at] as usize];
        targets.extend((0..hiding[at]).map(|_| articles.any(start, dice)));
        dice.shuffle(&mut targets);
        let times = times(targets.len(), LENGTH, dice);
        let like = |(at, target)| Task::new(start + at, Action::Like, Object::Article(target));
        let tasks = times.into_iter().zip(targets).map(like).collect();
        setting.work(account, tasks);
    }
}

/// What is pushed is seen by others, too.
pub(super) fn visible(article: u32, from: i64) -> Trend {
    Trend { article, from, rise: 4 * MINUTE, decay: 40 * MINUTE, share: (0.03, 0.008) }
}

/// `n` moments from 0 to `length`, ascending, at a person's pauses and within the pace.
pub(super) fn times(n: usize, length: i64, dice: &mut Dice) -> Vec<i64> {
    let needed = (n / A_MINUTE + 1) as i64 * MINUTE;
    let shortest = (length * 3 / 10).max(needed).min(length);
    let span = shortest + dice.below_i64(length - shortest + 1);
    let begin = dice.below_i64(length - span + 1);
    let gaps: Vec<f64> = (0..=n).map(|_| dice.lognormal(1.0, 0.7)).collect();
    let unit = (span - SECOND).max(1) as f64 / gaps.iter().sum::<f64>();
    let mut at = begin as f64;
    let mut times: Vec<i64> = gaps[..n]
        .iter()
        .map(|gap| {
            at += gap * unit;
            at as i64
        })
        .collect();
    // What is too early after the like ten before is delayed.
    for i in A_MINUTE..times.len() {
        times[i] = times[i].max(times[i - A_MINUTE] + MINUTE + SECOND).max(times[i - 1]);
    }
    times
}

/// `total` shared out among `n`, equally but for a few moved from one to another.
pub(super) fn quotas(total: u32, n: u32, dice: &mut Dice) -> Vec<u32> {
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
