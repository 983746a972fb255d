//! An article goes viral elsewhere and brings 8,000 people who register within hours, like it, and look around.
//!
//! Three quarters of its crowd is minutes old. Their devices, ways and names are those of anybody. Those who are here
//! already like it too.

use super::super::world::articles::Trend;
use super::super::world::{HOUR, MINUTE};
use super::crowd::drawn_in;
use super::pace::rush;
use super::setting::Setting;

pub(super) const ABOUT: &str = "honest: an article that goes viral brings 8,000 newcomers in some hours";

const NEWCOMERS: u32 = 8_000;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 12.0, 6 * HOUR);
    let start = setting.about(0.3);
    let article = setting.ordinary(start, 2);
    let (rise, decay) = (10 * MINUTE, HOUR);
    setting.trend(Trend { article, from: start, rise, decay, share: (0.5, 0.12) });
    let n = setting.sized(NEWCOMERS);
    drawn_in(setting, n, &[article], |dice| start + rush(rise, decay, dice));
}
