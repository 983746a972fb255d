//! A match: 6,000 people at one venue, behind twelve exits of carriers and four of the house, act as one at three goals.
//!
//! At each goal a third of them likes the picture of it within two minutes, among thousands elsewhere who watch.
//! Most hold phones, and phones are alike.

use super::super::world::articles::Trend;
use super::super::world::network::Class;
use super::super::world::people::Way;
use super::super::world::{HOUR, MINUTE, SECOND};
use super::crowd::{any_age, flock, own, settle};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "honest: 6,000 people at one venue, behind sixteen exits, act as one at three goals";

const SPECTATORS: u32 = 6_000;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 15.0, 5 * HOUR);
    let (people, dice) = setting.people_and_dice();
    let cells = Way::Pool(people.pool(12, Class::Mobile, dice));
    let house = Way::Pool(people.pool(4, Class::Organisation, dice));
    let n = setting.sized(SPECTATORS);
    let crowd = settle(setting, n, &any_age, &own, &|_, dice| {
        if dice.chance(0.7) { [cells; 2] } else { [house, cells] }
    });
    setting.live_on(crowd.clone());
    for goal in 0..3 {
        let at = setting.moment(0.4) + goal * 35 * MINUTE + setting.dice.below_i64(10 * MINUTE);
        let article = setting.ordinary(at, 0);
        let (rise, decay) = (MINUTE, 10 * MINUTE);
        setting.trend(Trend { article, from: at, rise, decay, share: (0.2, 0.2) });
        let mut some: Vec<u32> = crowd.clone().collect();
        some.retain(|account| setting.world().people.members[*account as usize].created_at < at);
        setting.dice.shuffle(&mut some);
        some.truncate(n as usize / 3);
        flock(setting, some, article, |dice| at + (dice.lognormal(45.0, 0.7) * SECOND as f64) as i64);
    }
}
