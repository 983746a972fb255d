//! 150 accounts like one article and take it back, again and again, so that it stays among the newest liked.
//!
//! Each does so 20 to 60 times within an hour and a half, never three times a minute. Accounts and devices are
//! ordinary ones.

use super::super::act::outbox::Object;
use super::super::act::worker::{Task, Worker};
use super::super::dice::Dice;
use super::super::event::Action;
use super::super::world::articles::Article;
use super::super::world::names::Habit;
use super::super::world::rhythm::pause;
use super::super::world::{HOUR, MINUTE, SECOND};
use super::crowd::on;
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str = "150 accounts like an article and take it back, 20 to 60 times each";

const ACCOUNTS: u32 = 150;
const ORDER: Order = Order {
    bulk: (0.5, Bulk { batches: 10, oldest: 60.0, youngest: 2.0 }),
    devices: Devices::Own,
    exits: Exits::Ordinary,
    names: Habit::Ordinary,
    used: 0.5,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(15_000, 14.0, 4 * HOUR);
    let start = setting.about(0.4);
    let article = setting.ordinary(start, 6);
    let truth = setting.gang("like-unlike", on(article));
    let n = setting.sized(ACCOUNTS);
    for account in recruit(setting, truth, n, &ORDER) {
        let at = start + setting.dice.below_i64(20 * MINUTE);
        let tasks = toggling(article, at, &mut setting.dice);
        setting.script(Worker::new(account, tasks));
    }
}

fn toggling(article: Article, mut at: i64, dice: &mut Dice) -> Vec<Task> {
    let mut tasks = Vec::new();
    for _ in 0..dice.between(20, 60) {
        for action in [Action::Like, Action::Unlike] {
            tasks.push(Task::new(at, action, Object::Article(article)));
            at += 22 * SECOND + pause(dice, 12.0).min(2 * MINUTE);
        }
    }
    tasks
}
