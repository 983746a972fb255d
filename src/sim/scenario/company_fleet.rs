//! A company: 2,000 people on laptops of one image, and a morning at which 900 of them like the company's article.
//!
//! Three in five sit in the office behind three exits; two in five work at home, each behind an address of its own:
//! one image behind hundreds of exits, as a proxy pool has it. Accounts are old; what they do otherwise is what people
//! do.

use super::super::world::network::Class;
use super::super::world::people::Way;
use super::super::world::{HOUR, MINUTE};
use super::crowd::{any_age, flock, settle};
use super::pace::rush;
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "honest: 900 people of one company, on one laptop image, half at home, like one article";

const PEOPLE: u32 = 2_000;
const IN_THE_MORNING: u32 = 900;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 6.0, 6 * HOUR);
    let start = setting.about(0.5);
    let article = setting.ordinary(start, 1);
    let (people, dice) = setting.people_and_dice();
    let offices: Vec<Way> = (0..3).map(|_| Way::Fixed(people.lines.v4(Class::Organisation))).collect();
    let (model, locale) = (people.maker.desktop_model(dice), people.maker.locale(dice));
    let image = people.maker.make(dice, model, locale);
    let n = setting.sized(PEOPLE);
    let staff = settle(
        setting,
        n,
        &any_age,
        &|people, dice| {
            // Two generations of the image are about.
            let changes = u32::from(dice.chance(0.3));
            let laptop = people.maker.disguise(dice, (model, locale), &image, changes);
            let laptop = people.device(laptop);
            let phone = people.own(dice)[0];
            [laptop, if dice.chance(0.3) { phone } else { laptop }]
        },
        &|people, dice| match dice.chance(0.6) {
            true => [*dice.pick(&offices); 2],
            false => [Way::Fixed(people.lines.v4(Class::Home)); 2],
        },
    );
    setting.live_on(staff.clone());
    let mut some: Vec<u32> = staff.collect();
    some.retain(|at| setting.world().people.members[*at as usize].created_at < start);
    setting.dice.shuffle(&mut some);
    some.truncate(setting.sized(IN_THE_MORNING) as usize);
    flock(setting, some, article, |dice| start + rush(3 * MINUTE, 15 * MINUTE, dice));
}
