//! A country where three in four come through four carriers with 250 people behind each address, on a day with news.
//!
//! Addresses are shared by hundreds who do not know each other, and change from visit to visit. At the news thousands
//! like one article within an hour.

use super::super::world::articles::Trend;
use super::super::world::people::Shape;
use super::super::world::{HOUR, MINUTE};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "honest: three in four behind carriers with 250 people an address, on a day with news";

pub(super) fn plan(setting: &mut Setting) {
    let shape = Shape { on_carrier: 0.75, behind_exit: 250.0, ..Shape::USUAL };
    setting.background_of(40_000, 9.0, 6 * HOUR, shape);
    let from = setting.about(0.4);
    let article = setting.ordinary(from, 0);
    setting.trend(Trend { article, from, rise: 5 * MINUTE, decay: HOUR, share: (0.4, 0.35) });
}
