//! 3,000 new accounts whose fingerprints are jittered: two to five attributes of each are another device's.
//!
//! Eight images are the origin. A like once each within ten minutes, and some other acts, as in the idempotent form
//! of the incident.

use super::super::world::names::Habit;
use super::super::world::{HOUR, MINUTE};
use super::crowd::{on, visible};
use super::disguised::each_once;
use super::recruit::{Devices, FRESH, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "3,000 new accounts, one like each, fingerprints jittered by two to five attributes";

const ACCOUNTS: u32 = 3_000;
const ORDER: Order =
    Order { devices: Devices::Copies { images: 8, least: 2, most: 5 }, names: Habit::Ordinary, ..FRESH };

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 15.0, 3 * HOUR);
    let start = setting.about(0.5);
    let article = setting.ordinary(start, 5);
    setting.trend(visible(article, start + MINUTE));
    let truth = setting.gang("spoofed-devices", on(article));
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &ORDER);
    each_once(setting, accounts, article, (3, 10), |dice| start + dice.below_i64(10 * MINUTE));
}
