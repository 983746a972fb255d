//! 2,000 likes that drip onto one article over eight hours: four a minute, one an account.
//!
//! Accounts of one to three weeks, copies of two images with one to three attributes changed, one exit each. Nothing
//! bursts; the crowd is only unlike other crowds.

use super::super::world::names::Habit;
use super::super::world::{DAY, HOUR};
use super::crowd::on;
use super::disguised::each_once;
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "2,000 likes over eight hours on one article, one an account, nearly equal devices";

const ACCOUNTS: u32 = 2_000;
const ORDER: Order = Order {
    bulk: (1.0, Bulk { batches: 60, oldest: 20.0, youngest: 1.0 }),
    devices: Devices::Copies { images: 2, least: 1, most: 3 },
    exits: Exits::World,
    names: Habit::Bulk,
    used: 0.2,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(25_000, 6.0, DAY / 2);
    let start = setting.about(0.2);
    let article = setting.ordinary(start, 1);
    let truth = setting.gang("slow-drip", on(article));
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &ORDER);
    each_once(setting, accounts, article, (2, 8), |dice| start + dice.below_i64(8 * HOUR));
}
