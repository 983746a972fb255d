//! A ring of 600 accounts that pushes 30 articles over two weeks, with a part of its members each time.
//!
//! A push has 40 to 200 of them within ten to ninety minutes; members take part in a quarter of the pushes, some in
//! nearly all. Otherwise they live like anybody: visits, likes, follows, their own devices, homes. In a public
//! record of such a ring 96 % of its bursts had a third of their accounts from an earlier burst.

use super::super::act::outbox::Object;
use super::super::act::worker::Task;
use super::super::dice::Dice;
use super::super::world::articles::Article;
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

/// One order: an article to push.
struct Push {
    article: Article,
    at: i64,
    /// Some orders are large, some small.
    size: f64,
    decay: i64,
}

impl Push {
    /// What one member does for it.
    fn tasks(&self, dice: &mut Dice) -> Vec<Task> {
        let at = self.at + rush(2 * MINUTE, self.decay, dice);
        look_in(self.article, at, dice)
    }
}

pub(super) fn plan(setting: &mut Setting) {
    setting.background(BACKGROUND, 0.0, 14 * DAY);
    let pushes: Vec<Push> = (0..PUSHES).map(|push| one(setting, push)).collect();
    let targets = pushes.iter().map(|push| Object::Article(push.article)).collect();
    let truth = setting.gang("ring", targets);
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &ORDER);
    for account in accounts.clone() {
        let list = takes_part(&pushes, &mut setting.dice);
        setting.work(account, list);
    }
    setting.live_on(accounts);
}

/// What a member does: who takes part in none by zeal takes part in one, or would be no member.
fn takes_part(pushes: &[Push], dice: &mut Dice) -> Vec<Task> {
    let zeal = zeal(dice);
    let mut list = Vec::new();
    for push in pushes {
        if dice.chance(zeal * push.size) {
            list.extend(push.tasks(dice));
        }
    }
    if list.is_empty() {
        list = pushes[dice.below(PUSHES) as usize].tasks(dice);
    }
    list
}

/// Share of the pushes that a member takes part in: a fifth on average, most for few.
fn zeal(dice: &mut Dice) -> f64 {
    let share = dice.unit();
    0.04 + 0.5 * share * share
}

/// An article that is pushed: by day, from the first afternoon on.
fn one(setting: &mut Setting, push: u32) -> Push {
    let share = (f64::from(push) + setting.dice.unit()) / f64::from(PUSHES);
    let day = setting.moment(0.06 + 0.9 * share);
    let at = super::super::world::rhythm::next(&mut setting.dice, day, MINUTE as f64 * 30.0);
    let article = setting.ordinary(at, 1);
    let size = 0.4 + 1.2 * setting.dice.unit();
    let decay = 3 * MINUTE + setting.dice.below_i64(25 * MINUTE);
    Push { article, at, size, decay }
}
