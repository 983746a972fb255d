//! A ring of 600 accounts that pushes 30 articles over two weeks, with a part of its members each time.
//!
//! A push has 40 to 200 of them within ten to ninety minutes; members take part in a quarter of the pushes, some in
//! nearly all. Otherwise they live like anybody: visits, likes, follows, their own devices, homes. In a public
//! record of such a ring 96 % of its bursts had a third of their accounts from an earlier burst.

use super::super::act::outbox::Object;
use super::super::act::worker::Task;
use super::super::dice::Dice;
use super::super::world::names::Habit;
use super::super::world::{DAY, MINUTE};
use super::background::look_in;
use super::pace::rush;
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "a ring of 600 accounts pushes 30 articles over two weeks, a part of it each time";

const ACCOUNTS: u32 = 600;
const PUSHES: u32 = 30;
const BACKGROUND: u32 = 8_000;
const ORDER: Order = Order {
    bulk: (0.6, Bulk { batches: 25, oldest: 400.0, youngest: 5.0 }),
    devices: Devices::Own,
    exits: Exits::Ordinary,
    names: Habit::Ordinary,
    used: 0.5,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(BACKGROUND, 0.0, 14 * DAY);
    let pushes: Vec<(u32, i64)> = (0..PUSHES).map(|push| one(setting, push)).collect();
    let targets = pushes.iter().map(|(article, _)| Object::Article(*article)).collect();
    let truth = setting.gang("ring", targets);
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &ORDER);
    let zeal: Vec<f64> = accounts.clone().map(|_| zeal(&mut setting.dice)).collect();
    let mut lists: Vec<Vec<Task>> = vec![Vec::new(); zeal.len()];
    for (article, at) in pushes {
        // Some orders are large, some small.
        let order = 0.4 + 1.2 * setting.dice.unit();
        let decay = 3 * MINUTE + setting.dice.below_i64(25 * MINUTE);
        for (zeal, list) in zeal.iter().zip(&mut lists) {
            let dice = &mut setting.dice;
            if dice.chance(zeal * order) {
                let at = at + rush(2 * MINUTE, decay, dice);
                list.extend(look_in(article, at, dice));
            }
        }
    }
    for (account, list) in accounts.clone().zip(lists) {
        setting.work(account, list);
    }
    setting.live_on(accounts);
}

/// Share of the pushes that a member takes part in: a fifth on average, most for few.
fn zeal(dice: &mut Dice) -> f64 {
    let share = dice.unit();
    0.04 + 0.5 * share * share
}

/// An article that is pushed, and from when: by day, from the first afternoon on.
fn one(setting: &mut Setting, push: u32) -> (u32, i64) {
    let share = (f64::from(push) + setting.dice.unit()) / f64::from(PUSHES);
    let day = setting.moment(0.06 + 0.9 * share);
    let at = super::super::world::rhythm::next(&mut setting.dice, day, MINUTE as f64 * 30.0);
    (setting.ordinary(at, 1), at)
}
