//! 1,500 accounts that exist for one like each: they register, like, and are never seen again.
//!
//! A third registers minutes before, the others within four days before, in no sittings. Devices are those of the market,
//! exits are one each. Likes come over six hours, most of them in the first. In public records of bought stars from such accounts
//! (StarScout) lockstep saw 0.04 % of them: they meet nowhere else.

use super::super::act::outbox::Object;
use super::super::act::worker::Task;
use super::super::event::Action;
use super::super::world::names::Habit;
use super::super::world::rhythm::pause;
use super::super::world::{DAY, HOUR};
use super::crowd::on;
use super::pace::rush;
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str = "1,500 accounts with one like each on one article and nothing else, ever";

const ACCOUNTS: u32 = 1_500;
const ORDER: Order = Order {
    bulk: (1.0, Bulk { batches: 2_000, oldest: 4.0, youngest: 0.0 }),
    devices: Devices::Own,
    exits: Exits::World,
    names: Habit::Ordinary,
    used: 0.0,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(25_000, 10.0, DAY / 2);
    let start = setting.about(0.25);
    let article = setting.ordinary(start, 2);
    let truth = setting.gang("throwaway", on(article));
    let n = setting.sized(ACCOUNTS);
    for account in recruit(setting, truth, n, &ORDER) {
        let at = start + rush(HOUR / 4, HOUR, &mut setting.dice).min(6 * HOUR);
        let mut tasks = vec![Task::new(at, Action::Like, Object::Article(article))];
        if setting.dice.chance(0.33) {
            let born = at - pause(&mut setting.dice, 90.0) - pause(&mut setting.dice, 20.0);
            setting.world_mut().people.members[account as usize].created_at = born;
            tasks.push(Task::new(born, Action::SignUp, Object::Nothing));
        }
        setting.work(account, tasks);
    }
}
