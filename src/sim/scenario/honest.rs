//! An ordinary day of 100,000 accounts.

use super::super::world::DAY;
use super::setting::Setting;

pub(super) const ABOUT: &str = "an ordinary day of 100,000 accounts; nobody means ill";

pub(super) fn plan(setting: &mut Setting) {
    setting.background(100_000, 0.0, DAY);
}
