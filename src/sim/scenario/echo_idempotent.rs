//! The incident where a like counts once: 3,000 accounts like one article once each within ten minutes.
//!
//! The accounts, devices and exits are those of the incident. Each does four to twelve other things around its like,
//! so that nothing is repeated and nothing is the only thing.

use super::super::world::{HOUR, MINUTE};
use super::crowd::{on, visible};
use super::disguised::each_once;
use super::recruit::{FRESH, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str = "the incident with one like a user and target, among innocuous acts";

const ACCOUNTS: u32 = 3_000;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 9.0, 3 * HOUR);
    let start = setting.about(0.55);
    let article = setting.ordinary(start, 5);
    setting.trend(visible(article, start + MINUTE));
    let truth = setting.gang("echo-idempotent", on(article));
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &FRESH);
    each_once(setting, accounts, article, (4, 12), |dice| start + dice.below_i64(10 * MINUTE));
}
