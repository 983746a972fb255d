//! A university: 3,000 students behind six exits, and a noon at which 1,200 of them like one article.
//!
//! One student in four has registered in the last week, for term has begun. Devices are their own; on the way home
//! they come through carriers. The article is about the canteen, and nobody else cares.

use super::super::world::network::Class;
use super::super::world::people::Way;
use super::super::world::{DAY, HOUR, MINUTE, NEW};
use super::crowd::{any_age, flock, own, settle};
use super::pace::rush;
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "honest: 3,000 students behind six exits, 1,200 of whom like one article at noon";

const STUDENTS: u32 = 3_000;
const EXITS: u32 = 6;
const AT_NOON: u32 = 1_200;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 8.0, 6 * HOUR);
    let start = setting.about(0.5);
    let article = setting.ordinary(start, 1);
    let exits: Vec<Way> = {
        let (people, _) = setting.people_and_dice();
        (0..EXITS).map(|_| Way::Fixed(people.lines.v4(Class::Organisation))).collect()
    };
    let begin = setting.stretch().start;
    let n = setting.sized(STUDENTS);
    let students = settle(
        setting,
        n,
        &|people, dice| match dice.chance(0.25) {
            true => begin - dice.below_i64(NEW - DAY),
            false => any_age(people, dice),
        },
        &own,
        &|people, dice| {
            [*dice.pick(&exits), if dice.chance(0.5) { people.carrier(dice) } else { *dice.pick(&exits) }]
        },
    );
    setting.live_on(students.clone());
    let mut some: Vec<u32> = students.collect();
    some.retain(|at| setting.world().people.members[*at as usize].created_at < start);
    setting.dice.shuffle(&mut some);
    some.truncate(setting.sized(AT_NOON) as usize);
    flock(setting, some, article, |dice| start + rush(4 * MINUTE, 12 * MINUTE, dice));
}
