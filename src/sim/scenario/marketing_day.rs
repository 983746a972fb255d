//! A campaign on the platform's own behalf: 15,000 people register in one day and like what is recommended to them.
//!
//! They come in three pushes of notifications and in between. What is recommended to newcomers are six articles, so
//! that most of their first likes go there. On such a day half of all actions come from new accounts.

use super::super::world::HOUR;
use super::super::world::rhythm::next;
use super::crowd::drawn_in;
use super::pace::rush;
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "honest: 15,000 people register on one day and like what is recommended to them";

const NEWCOMERS: u32 = 15_000;
const RECOMMENDED: u32 = 6;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 7.0, 14 * HOUR);
    let start = setting.moment(0.12);
    let articles: Vec<u32> = (0..RECOMMENDED).map(|_| setting.ordinary(start, 3)).collect();
    let n = setting.sized(NEWCOMERS);
    drawn_in(setting, n / 2, &articles, |dice| next(dice, start, 3.0 * HOUR as f64));
    for push in 0..3 {
        let at = start + push * 3 * HOUR;
        drawn_in(setting, n / 6, &articles, |dice| at + rush(HOUR / 12, HOUR / 2, dice));
    }
}
