//! 3,000 accounts that were bought old like one article within a quarter of an hour.
//!
//! Half were registered in a dozen sittings one to three years ago, the others whenever people register; a third was
//! used for a time. Three device images, of which one to three attributes change; exits are homes of the same
//! country. Nothing is new about them.

use super::super::world::names::Habit;
use super::super::world::{HOUR, MINUTE};
use super::crowd::{on, visible};
use super::disguised::each_once;
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "3,000 accounts bought old, nearly equal devices, like one article in a quarter of an hour";

const ACCOUNTS: u32 = 3_000;
const ORDER: Order = Order {
    bulk: (0.5, Bulk { batches: 12, oldest: 1_100.0, youngest: 300.0 }),
    devices: Devices::Copies { images: 3, least: 1, most: 3 },
    exits: Exits::Homes,
    names: Habit::Ordinary,
    used: 0.35,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 12.0, 3 * HOUR);
    let start = setting.about(0.5);
    let article = setting.ordinary(start, 3);
    setting.trend(visible(article, start + MINUTE));
    let truth = setting.gang("aged-accounts", on(article));
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &ORDER);
    each_once(setting, accounts, article, (1, 8), |dice| start + dice.below_i64(15 * MINUTE));
}
